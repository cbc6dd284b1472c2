//! What docs/releasing.md says of versions and workflows is so.

use std::path::Path;

use super::text;

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
