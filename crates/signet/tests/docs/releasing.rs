//! What docs/releasing.md says of versions and workflows is so.

use std::process::Command;

use super::{pages, text};

const PAGE: &str = "docs/releasing.md";

/// The number of the release, as the workspace has it.
pub fn version() -> String {
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

/// Every workflow, by its file.
fn workflows() -> Vec<(String, String)> {
    let found = pages::files_in(".github/workflows", "yml");
    assert!(found.len() >= 2, "{}", found.len());
    found
}

/// A tag can be moved to other code by whoever takes over an action; a commit cannot, and a file of ours is of this one.
fn is_pinned(action: &str) -> bool {
    let (named, version) = action.split_once(" # v").unwrap_or((action, ""));
    let hash = named.split_once('@').map_or("", |(_, hash)| hash);
    let is_commit = hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit());
    action.starts_with("./.github/workflows/") || is_commit && !version.is_empty()
}

#[test]
fn an_action_whose_tag_somebody_moves_runs_in_no_workflow() {
    for (file, workflow) in workflows() {
        let mut used = 0;
        for (_, action) in workflow
            .lines()
            .filter_map(|line| line.split_once("uses: "))
        {
            assert!(is_pinned(action), "{file}: {action}");
            used += 1;
        }
        assert!(used > 0, "{file}");
    }
    assert!(!is_pinned("actions/checkout@v7") && !is_pinned("actions/checkout"));
    let hash = "0123456789abcdef0123456789abcdef01234567";
    assert!(!is_pinned(&format!("actions/checkout@{hash}")));
    assert!(is_pinned(&format!("actions/checkout@{hash} # v7.0.1")));
}

#[test]
fn a_workflow_has_no_right_but_those_that_its_jobs_name() {
    for (file, workflow) in workflows() {
        assert!(workflow.contains("\npermissions: {}\n"), "{file}");
        for word in ["write-all", "secrets.", "secrets:", "pull_request_target"] {
            assert!(!workflow.contains(word), "{file}: {word}");
        }
    }
    let tests = text(".github/workflows/test.yml");
    assert!(!tests.contains(": write"), "{tests}");
}

const RELEASE: &str = ".github/workflows/release.yml";

/// A job of a release, from its name to the next one.
fn jobs() -> Vec<String> {
    let workflow = text(RELEASE);
    let (_, jobs) = workflow.split_once("\njobs:\n").unwrap();
    let mut found: Vec<String> = Vec::new();
    for line in jobs.lines() {
        let is_name = line.starts_with("  ") && line.ends_with(':') && !line.starts_with("   ");
        if is_name {
            found.push(String::new());
        }
        let job = found.last_mut().unwrap();
        job.push_str(line);
        job.push('\n');
    }
    found
}

/// A build runs programs of many authors: whatever one of them does, it signs and publishes nothing.
#[test]
fn a_job_of_a_release_that_runs_code_of_the_repository_may_only_read() {
    let jobs = jobs();
    let writing: Vec<_> = jobs.iter().filter(|job| job.contains(": write")).collect();
    assert_eq!((jobs.len(), writing.len()), (4, 2), "{jobs:#?}");
    for job in writing {
        for word in ["actions/checkout", "uses: ./", "make ", "sudo "] {
            assert!(!job.contains(word), "{word}: {job}");
        }
    }
}

/// The step that looks before anything is built, played in a checkout that has this `Makefile`.
fn looks(tag: &str, makefile: &str) -> (bool, String) {
    let jobs = jobs();
    let mut steps = jobs.iter().flat_map(|job| job.split("\n      - "));
    let step = steps.find(|step| step.starts_with("name: The tag names the version"));
    let (_, script) = step.unwrap().split_once("run: |\n").unwrap();
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("Cargo.toml"), text("Cargo.toml")).unwrap();
    std::fs::write(place.path().join("Makefile"), makefile).unwrap();
    let mut shell = Command::new("bash");
    let shell = shell.args(["-e", "-c", script]).current_dir(place.path());
    let ended = shell.env("GITHUB_REF_NAME", tag).output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    (ended.status.success(), said)
}

#[test]
fn a_tag_of_another_version_or_a_commit_without_make_dist_releases_nothing() {
    let tag = format!("v{}", version());
    assert_eq!(looks(&tag, "dist: build\n"), (true, String::new()));
    let (is_taken, said) = looks("v999.0.0", "dist: build\n");
    assert!(!is_taken && said.contains("nothing is released"), "{said}");
    let (is_taken, said) = looks(&tag, "deb: build\n");
    assert!(!is_taken && said.contains("has no 'make dist'"), "{said}");
}

/// Packages of others that a document may tell people to install. Ours are none: nothing is published yet.
const OTHERS: [&str; 3] = ["pynacl", "nats-py", "@modelcontextprotocol/inspector"];

/// The names in this line that a registry would be asked for.
fn asked_of_a_registry(line: &str) -> Vec<&str> {
    let installs = [
        "pip install ",
        "pipx install ",
        "uv tool install ",
        "uv pip install ",
        "uv add ",
        "npm install ",
        "npm i ",
        "pnpm add ",
        "yarn add ",
        "bun add ",
        "cargo install ",
        "cargo binstall ",
        "cargo add ",
        "go install ",
        "apt-get install ",
        "apt install ",
        "brew install ",
        "docker pull ",
        "podman pull ",
    ];
    let runs = [
        "npx ",
        "uvx ",
        "pipx run ",
        "npm exec ",
        "docker run ",
        "podman run ",
    ];
    let words = |phrase: &str| {
        let behind = line.split_once(phrase)?.1;
        let command = behind.split(['`', ';', '&', '#', ')', ',']).next()?;
        // With `--no-index` pip takes only files from the disk, so its words are no names in a registry.
        let words = command.split_whitespace();
        let is_asked = !command.contains("--no-index");
        Some(words.filter(move |word| is_asked && !word.starts_with('-')))
    };
    let is_name = |word: &&str| {
        let files = [".gz", ".tgz", ".whl", ".deb"];
        let is_path = word.contains('/') && !word.starts_with('@');
        !is_path && !files.iter().any(|end| word.ends_with(end))
    };
    let installed = installs.into_iter().filter_map(words).flatten();
    let run = runs.into_iter().filter_map(words);
    let run = run.filter_map(|mut words| words.next());
    installed.chain(run).filter(is_name).collect()
}

/// The first name in this line that is no package of others which stands here.
fn unknown_package(line: &str) -> Option<&str> {
    let asked = asked_of_a_registry(line).into_iter();
    asked
        .filter(|name| !OTHERS.contains(name))
        .find(|name| !name.is_empty())
}

/// These names belong to other people, or to nobody yet. Somebody who registers one would have their code run wherever such
/// a line is pasted.
#[test]
fn a_package_of_a_name_that_anybody_may_take_is_installed_by_no_document() {
    let mut seen = 0;
    for (file, page) in pages::documents() {
        for (number, line) in (1..).zip(page.lines()) {
            seen += asked_of_a_registry(line).len();
            let name = unknown_package(line);
            assert_eq!(name, None, "{file}:{number}: {line}");
        }
    }
    assert!(seen >= OTHERS.len(), "{seen}");
    for line in [
        "pip install signet",
        "`uv tool install signet-daemon`",
        "cargo install --locked signet",
        "npx signet mcp",
        "npm install @signet/agent",
        "pip install pynacl nats-pi",
        "docker run --rm signet",
    ] {
        assert!(unknown_package(line).is_some(), "{line}");
    }
    for line in [
        "pip install ./clients/python",
        "pip install --no-index --find-links dist signet-daemon",
        "npm install signet-agent-0.1.0.tgz",
        "npx @modelcontextprotocol/inspector --cli signet mcp",
        "as `pip install` and `npm install` take them",
        "cargo build --release -p signet",
    ] {
        assert_eq!(unknown_package(line), None, "{line}");
    }
}
