//! What docs/releasing.md says of versions and workflows is so.

use std::path::Path;

use super::{pages, text};

const PAGE: &str = "docs/releasing.md";

/// The number of the release, as the workspace has it.
fn version() -> String {
    let manifest = text("Cargo.toml");
    let (_, package) = manifest.split_once("[workspace.package]").unwrap();
    let (_, version) = package.split_once("\nversion = \"").unwrap();
    version.split('"').next().unwrap().to_owned()
}

#[test]
fn every_file_that_has_the_number_of_the_release_has_the_same() {
    let page = text(PAGE);
    let (_, listed) = page.split_once("<!-- version -->").unwrap();
    let (listed, _) = listed.split_once("<!-- /version -->").unwrap();
    let files: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    assert!(files.len() >= 5, "{files:?}");
    let version = version();
    for file in files {
        assert!(text(file).contains(&version), "{file} lacks {version}");
    }
}

/// Steps that say `uses:` in every workflow.
fn uses() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/workflows");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let workflow = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let steps = workflow
            .lines()
            .filter_map(|line| line.split_once("uses: "));
        found.extend(steps.map(|(_, action)| action.to_owned()));
    }
    assert!(!found.is_empty());
    found
}

/// A tag can be moved to other code by whoever takes over an action; a commit cannot.
fn is_pinned(action: &str) -> bool {
    let (named, version) = action.split_once(" # v").unwrap_or((action, ""));
    let hash = named.split_once('@').map_or("", |(_, hash)| hash);
    hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit()) && !version.is_empty()
}

#[test]
fn an_action_whose_tag_somebody_moves_runs_in_no_workflow() {
    let loose: Vec<String> = uses()
        .into_iter()
        .filter(|action| !is_pinned(action))
        .collect();
    assert!(loose.is_empty(), "{loose:?}");
    assert!(!is_pinned("actions/checkout@v7") && !is_pinned("actions/checkout"));
    let hash = "0123456789abcdef0123456789abcdef01234567";
    assert!(!is_pinned(&format!("actions/checkout@{hash}")));
    assert!(is_pinned(&format!("actions/checkout@{hash} # v7.0.1")));
}

#[test]
fn a_workflow_has_no_right_but_those_that_its_jobs_name() {
    let workflow = text(".github/workflows/test.yml");
    assert!(workflow.contains("\npermissions: {}\n"), "{workflow}");
    assert!(!workflow.contains(": write"), "{workflow}");
    assert!(!workflow.contains("secrets."), "{workflow}");
    assert!(!workflow.contains("pull_request_target"), "{workflow}");
}

/// The name in this line that a registry would be asked for, and that begins as ours do.
fn asked_of_a_registry(line: &str) -> Option<&str> {
    let installs = [
        "pip install ",
        "pipx install ",
        "uv tool install ",
        "npm install ",
        "cargo install ",
        "apt-get install ",
        "apt install ",
        "brew install ",
    ];
    let runs = ["npx ", "uvx ", "pipx run "];
    let words = |phrase: &str| {
        let behind = line.split_once(phrase)?.1;
        let command = behind.split(['`', ';', '&', '#', ')', ',']).next()?;
        let words = command.split_whitespace();
        Some(words.filter(|word| !word.starts_with('-')))
    };
    let is_ours = |word: &&str| {
        let files = [".gz", ".tgz", ".whl", ".deb"];
        let is_file = word.contains('/') || files.iter().any(|end| word.ends_with(end));
        word.trim_start_matches('@').starts_with("signet") && !is_file
    };
    let mut installed = installs.into_iter().filter_map(words).flatten();
    let mut run = runs
        .into_iter()
        .filter_map(words)
        .filter_map(|mut words| words.next());
    installed.find(is_ours).or_else(|| run.find(is_ours))
}

/// These names belong to other people, or to nobody yet. Somebody who registers one would have their code run wherever such
/// a line is pasted.
#[test]
fn a_package_of_a_name_that_anybody_may_take_is_installed_by_no_document() {
    for (file, page) in pages::documents() {
        for (number, line) in (1..).zip(page.lines()) {
            let name = asked_of_a_registry(line);
            assert_eq!(name, None, "{file}:{number}: {line}");
        }
    }
    for line in [
        "pip install signet",
        "`uv tool install signet-daemon`",
        "cargo install --locked signet",
        "npx signet mcp",
    ] {
        assert!(asked_of_a_registry(line).is_some(), "{line}");
    }
    for line in [
        "pip install ./clients/python",
        "npm install signet-agent-0.1.0.tgz",
        "npx @modelcontextprotocol/inspector --cli signet mcp",
        "cargo build --release -p signet",
    ] {
        assert_eq!(asked_of_a_registry(line), None, "{line}");
    }
}
