# signet: what one types. `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

.PHONY: help build install uninstall deb dist interop demo test lint ci docs generated bench instructions fuzz older mutants torture sample clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the programs that are handed to others
	@cargo build --release --locked -p signet && cargo build --release --locked -p signet-gateway && cargo build --release --locked -p signet-desk \
		&& cargo build --release --locked -p signet-view

install: ## put programs, units, pages, recipes and clients in place (PREFIX=/usr/local DESTDIR= SIGNET=target/release/signet)
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' SIGNET='$(SIGNET)' scripts/install install

uninstall: ## take away what `make install` put there, with the same PREFIX and DESTDIR
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install uninstall

deb: build ## a package for Debian and its kin, in target/debian (needs cargo-deb; fetched where missing)
	@{ scripts/typescript || [ $$? = 3 ]; } && scripts/deb

dist: ## all that a release hands out, in dist/, from what is committed (fetches zig and others; half an hour)
	@scripts/dist

interop: ## install, upgrade and remove as make and dpkg do it (needs root and Debian), and drive MCP by its own clients; minutes
	@cargo build --locked -p signet && cargo build --locked -p signet-gateway \
		&& cargo build --locked -p signet-desk && cargo build --locked -p signet-view \
		&& cargo build --locked -p signet-gateway --features conformance --example conformance \
		&& scripts/try-install "$${CARGO_TARGET_DIR:-target}/debug/signet" \
		&& scripts/try-deb "$${CARGO_TARGET_DIR:-target}/debug/signet" \
		&& cargo build --locked -p signet-desk && cargo build --locked -p signet-view \
		&& scripts/try-packing "$${CARGO_TARGET_DIR:-target}/debug" \
		&& scripts/try-mcp "$${CARGO_TARGET_DIR:-target}/debug/signet" \
		&& scripts/try-a2a "$${CARGO_TARGET_DIR:-target}/debug/signet" \
		&& scripts/try-handlers "$${CARGO_TARGET_DIR:-target}/debug/signet-gateway" \
		&& for version in newest 2.10; do \
			server=$$(env -u NATS_SERVER scripts/nats-server $$version) || exit 1; \
			NATS_SERVER=$$server SIGNET_SITES=all \
				cargo test --workspace --locked --test daemons -- sites:: --nocapture || exit 1; \
		done \
		&& { scripts/try-proof "$${CARGO_TARGET_DIR:-target}/debug/signet" || [ $$? = 3 ]; } \
		&& { scripts/try-view "$${CARGO_TARGET_DIR:-target}/debug/signet" || [ $$? = 3 ]; } \
		&& { scripts/try-metrics || [ $$? = 3 ]; } \
		&& scripts/try-descriptions

demo: ## build signet and watch four agents meet, exchange, be attacked and prove it
	@server=$$(scripts/nats-server) && cargo build --profile demo --locked -p signet \
		&& NATS_SERVER=$$server "$${CARGO_TARGET_DIR:-target}/demo/signet" demo

test: ## run every test (needs Rust; fetches NATS servers, jq, strace, libfaketime, PyNaCl and nats-py where missing)
	@scripts/jq && { scripts/strace || true; } && { scripts/faketime || true; } \
		&& server=$$(scripts/nats-server) && export NATS_SERVER=$$server \
		&& python=$$(scripts/pynacl) && export PYNACL=$$python && { scripts/typescript || [ $$? = 3 ]; } \
		&& scripts/tests \
		&& cargo test --workspace --locked --test protocol -- --ignored pynacl::

lint: ## formatting, clippy, licences and sources, arrows, documentation
	@.ci/run lint

docs: ## show the documents as pages with search, in target/book (compiles mdBook, once)
	@scripts/book

generated: ## write everything that is made from the code: schemas, descriptions, tables, the types of clients
	@scripts/generated

ci: ## everything that the merge of a change asks for
	@.ci/run

bench: ## measure what is handed out, on a machine that does nothing else (builds releases first; half an hour)
	@{ scripts/typescript || [ $$? = 3 ]; } && server=$$(scripts/nats-server newest) && NATS_SERVER=$$server scripts/bench

instructions: ## count what a message, a handshake, a call and a start take, and hold it against scripts/instructions.limits (fetches valgrind and gungraun-runner)
	@scripts/instructions

fuzz: ## feed every reader of bytes from outside junk (SECONDS=60 each; needs a C++ compiler, fetches cargo-fuzz; not part of ci)
	@scripts/fuzz '$(or $(SECONDS),60)'

older: ## let daemons of this release and of those before talk (builds those, once; not part of ci)
	@server=$$(scripts/nats-server) && export NATS_SERVER=$$server && programs=$$(scripts/older) \
		&& while read -r program; do \
			printf 'older: %s\n' "$$program" \
			&& SIGNET_OLDER=$$program cargo test --workspace --locked --test daemons -- --ignored older:: </dev/null \
			|| exit 1; \
		done <<<"$$programs"

mutants: ## which changes of the protocol and the log no test notices (hours; GROUP=… for one group; not part of ci)
	@scripts/mutants $(GROUP)

torture: ## kill, fill up and break everything, at every step and by chance (hours; not part of ci)
	@server=$$(scripts/nats-server) && NATS_SERVER=$$server scripts/torture

sample: ## play the log in audit/sample anew, and its answers (read what changed before you commit it)
	@scripts/jq && server=$$(scripts/nats-server) \
		&& NATS_SERVER=$$server cargo test --workspace --locked --test cli -- --ignored make_the_sample

clean: ## remove what was built and fetched
	@cargo clean && rm -rf .tools dist
