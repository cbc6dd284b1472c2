//! The documents say what signet does: their transcripts are run and compared, their commands exist, their
//! defaults are those of the code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

// Include the bench harness, so that its unit tests run here; they start benches in processes of their own.
#[path = "../../../testkit/src/bench.rs"]
mod bench;
mod book;
mod defaults;
mod examples;
mod glossary;
mod layout;
mod masks;
mod named_tests;
mod pages;
mod performance;
mod quickstart;
mod readme;
mod releasing;
mod rows;
mod shell;
mod transcript;
mod troubleshooting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use shell::Shell;
use signet_testkit::Server;
use signet_testkit::server::MAILBOXES;
use transcript::{Run, Step, steps};

const README: &str = "README.md";
const BY_HAND: &str = "docs/by-hand.md";
const OPERATIONS: &str = "docs/operations.md";
const AGENTS: &str = "docs/agents.md";
const PERSON: &str = "docs/person.md";
const DISK: &str = "docs/disk.md";
const AUDIT: &str = "audit/README.md";
const AGENT_API: &str = "docs/agent-api.md";

/// The text of a document of the repository.
fn text(page: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(page)).unwrap()
}

fn perform(page: &str) -> usize {
    let server = Server::start(MAILBOXES);
    let place = tempfile::tempdir().unwrap();
    let mut run = Run::new(Shell::new(place.path(), &server.url()));
    let page = text(page);
    let steps = steps(&page);
    for step in &steps {
        run.perform(step);
    }
    let is_transcript = |step: &&Step<'_>| matches!(step, Step::Transcript(_));
    steps.iter().filter(is_transcript).count()
}

/// The types of TypeScript, and the values and refusals of Python.
#[test]
fn what_the_clients_have_of_the_schema_is_what_it_says() {
    let generator = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/generate.py");
    let checked = Command::new("python3")
        .args([generator, "--check"])
        .output();
    let checked = checked.unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}

#[test]
fn every_transcript_of_the_steps_by_hand_is_what_happens() {
    assert!(perform(BY_HAND) >= 7);
}

/// A newcomer pastes what is shown, and a comment is not shown.
#[test]
fn the_steps_by_hand_need_nothing_that_only_a_comment_says() {
    let page = text(BY_HAND);
    assert!(!page.contains("<!-- before"), "{page}");
    let (begun, pinged) = page.split_once(" ping agent-bob-001").unwrap();
    assert!(begun.contains("signet run") && !pinged.is_empty());
}

/// What stands in the block is all that a newcomer does before the first ping: where it ends, both daemons answer and have
/// their mailboxes.
#[test]
fn when_the_first_block_of_the_steps_by_hand_has_ended_both_agents_can_be_reached() {
    let server = Server::start(MAILBOXES);
    let place = tempfile::tempdir().unwrap();
    let mut shell = Shell::new(place.path(), &server.url());
    let page = text(BY_HAND);
    let block = steps(&page).into_iter().find_map(|step| match step {
        Step::Commands(lines) => Some(lines.join("\n")),
        Step::Before(_) | Step::Transcript(_) => None,
    });
    shell.done(&block.unwrap());
    for home in ["alice", "bob"] {
        let said = shell.done(&format!("signet --home {home} status"));
        let is_reached = said.iter().any(|line| line.ends_with("with a mailbox"));
        assert!(is_reached, "{home}: {said:#?}");
    }
}

/// The tests of clusters take their configuration from the file.
#[test]
fn a_configuration_of_a_server_on_a_page_is_the_file_that_the_tests_use() {
    let page = text("docs/scale.md");
    let files = [
        "cluster",
        "websocket",
        "hub",
        "leaf",
        "n1",
        "accounts",
        "thin-hub",
        "thin-leaf",
    ]
    .map(|name| text(&format!("docs/scale/{name}.conf")));
    assert_eq!(page.matches("```conf\n").count(), files.len());
    for file in files {
        assert!(page.contains(&format!("```conf\n{file}```\n")), "{file}");
    }
}

#[test]
fn every_transcript_of_the_operations_is_what_happens() {
    assert!(perform(OPERATIONS) >= 1);
}

#[test]
fn every_transcript_for_who_writes_agents_is_what_happens() {
    assert!(perform(AGENTS) >= 1);
}

#[test]
fn every_transcript_for_the_person_is_what_happens() {
    assert!(perform(PERSON) >= 1);
}

#[test]
fn every_call_of_the_agent_has_an_example_that_is_what_happens() {
    assert!(perform(AGENT_API) >= 10);
    let page = text(AGENT_API);
    let shown = |method: &str| {
        let mut asks = page.lines().filter_map(|line| line.strip_prefix("$ ask "));
        asks.any(|asked| asked.split_whitespace().nth(1) == Some(method))
    };
    let agents = signet_api::Call::METHODS
        .iter()
        .filter(|method| method.whose == signet_api::Role::Agent);
    let missing: Vec<_> = agents.filter(|method| !shown(method.name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A program reads the reason of an error as a type: every name that the node gives is one of its own, or one of
/// the protocol's.
#[test]
fn every_name_of_an_error_of_the_node_is_one_that_the_api_knows() {
    let source = text("crates/proto/src/node/local_error.rs");
    let names = source.split_once("pub const fn name(&self)").unwrap().1;
    let names = names.split_once("\n    }\n").unwrap().0;
    let names: BTreeSet<&str> = names.split('"').skip(1).step_by(2).collect();
    assert!(names.len() >= 20, "{names:?}");
    let wire: BTreeSet<&str> = signet_proto::reject::Reason::ALL
        .iter()
        .map(|reason| reason.name())
        .collect();
    let known = |name: &&&str| signet_api::Reason::OWN.contains(name) || wire.contains(**name);
    let unknown: Vec<_> = names.iter().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// `--help` of a command, by its words.
fn help(words: &[&str], known: &mut BTreeMap<String, String>) -> String {
    let name = words.join(" ");
    let print = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
        let command = command
            .args(words)
            .arg("--help")
            .env_clear()
            .stdin(Stdio::null());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    known.entry(name).or_insert_with(print).clone()
}

/// Every command line `signet …` in blocks and in backticks.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in page.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            let line = line.trim_start_matches("$ ").trim();
            found.extend(line.starts_with("signet ").then(|| line.to_owned()));
        }
    }
    let mut prose = String::new();
    let mut fenced = false;
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        if !fenced && !line.starts_with("```") {
            prose.push_str(line);
            prose.push(' ');
        }
    }
    let inline = prose.split('`').skip(1).step_by(2);
    found.extend(
        inline
            .filter(|text| text.starts_with("signet "))
            .map(str::to_owned),
    );
    found
}

/// `[--send|--receive]` names two options.
fn alternatives(token: &str) -> Vec<&str> {
    match token.contains("--") {
        true => token.split('|').collect(),
        false => vec![token],
    }
}

#[test]
fn every_command_and_option_in_the_documents_exists() {
    let mut known = BTreeMap::new();
    let mut seen = 0;
    for page in [
        README,
        BY_HAND,
        OPERATIONS,
        AGENTS,
        PERSON,
        DISK,
        quickstart::PAGE,
        AUDIT,
        AGENT_API,
        "docs/concepts.md",
        "docs/troubleshooting.md",
        "docs/releasing.md",
        "docs/scale.md",
        "examples/notify/README.md",
        "docs/doctor.md",
        "docs/mcp.md",
        "docs/view.md",
        "docs/gateway.md",
        "docs/metrics.md",
        "keys/README.md",
        "clients/python/README.md",
        "clients/typescript/README.md",
        "examples/python/README.md",
    ] {
        for command in commands(&text(page)) {
            let own = command.split([';', '#', '>']).next().unwrap();
            let own = own
                .split(" | ")
                .next()
                .unwrap()
                .split(" -- ")
                .next()
                .unwrap();
            let mut words: Vec<&str> = Vec::new();
            let mut options = Vec::new();
            for token in own.split_whitespace().skip(1).flat_map(alternatives) {
                let token = token.trim_matches(['[', ']', '(', ')', ',', '.', '"']);
                if let Some(option) = token.strip_prefix("--") {
                    options.push(option.split('=').next().unwrap());
                    continue;
                }
                let listed = help(&words, &mut known);
                let names = signet_testkit::listed_commands(&listed);
                if names.iter().any(|name| name == token) {
                    words.push(token);
                }
            }
            assert!(
                !words.is_empty()
                    || options
                        .iter()
                        .any(|option| ["help", "version"].contains(option)),
                "no such command: {command}"
            );
            let text = help(&words, &mut known);
            for option in options.iter().filter(|option| !option.is_empty()) {
                let option = format!("--{option}");
                let has = text
                    .split_whitespace()
                    .any(|word| word.trim_matches([',', '[', ']', '.']) == option);
                assert!(has, "signet {} has no {option}: {command}", words.join(" "));
            }
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}
