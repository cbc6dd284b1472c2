# signet: what one types. `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# How long each fuzz target runs, in seconds.
FUZZ_SECONDS ?= 60

.PHONY: help demo test lint ci bench torture fuzz mutants clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build signet and watch two agents meet, exchange and prove it
	@server=$$(scripts/nats-server) && cargo build --release --locked -p signet \
		&& NATS_SERVER=$$server "$${CARGO_TARGET_DIR:-target}/release/signet" demo

test: ## run every test (needs Rust; fetches a NATS server if there is none)
	@server=$$(scripts/nats-server) && export NATS_SERVER=$$server \
		&& cargo test --workspace --locked \
		&& cargo test --locked -p signet-proto --features unify-preserve-order --test json --test json_attacks \
		&& cargo test --locked -p signet-proto --features unify-arbitrary-precision --test json --test json_attacks

lint: ## formatting, clippy, licences and sources, arrows, documentation
	@.ci/run lint

ci: ## everything that the merge of a change asks for
	@.ci/run

bench: ## measure
	@server=$$(scripts/nats-server) && NATS_SERVER=$$server cargo bench --workspace --locked

torture: ## the long and cruel tests, which `make test` leaves out
	@server=$$(scripts/nats-server) && NATS_SERVER=$$server \
		cargo test --workspace --locked --release -- --ignored --test-threads 1

fuzz: ## each fuzz target for FUZZ_SECONDS (needs nightly Rust and cargo-fuzz)
	@set -e; for target in $$(cargo +nightly fuzz list); do \
		echo "== $$target"; \
		cargo +nightly fuzz run "$$target" -- -max_total_time=$(FUZZ_SECONDS); \
	done

mutants: ## which changes of the code no test notices (needs cargo-mutants; hours)
	@server=$$(scripts/nats-server) && NATS_SERVER=$$server cargo mutants --workspace

clean: ## remove what was built and fetched
	@cargo clean && rm -rf .tools
