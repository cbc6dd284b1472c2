//! `signet prove`: pages of the sample logs, checked as they are, and after somebody edited them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use data_encoding::BASE64;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use signet::keystore::read_seal_secret;
use signet_audit::{CheckpointKeys, Log};
use signet_proto::entry::{Entry, TrustChange};
use zeroize::Zeroizing;

use crate::audit_open;

const APPROVED: &str = "01a20aa4-a0ca-7b67-9028-a9c7ef35df78";
const DINNER: &str = "dinner-2026-48";

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

fn sample(agent: &str) -> String {
    let log = root().join("audit/sample").join(agent);
    log.to_str().unwrap().to_owned()
}

fn signet(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.args(args).env_clear().output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A page of Alice's sample log, in a folder of its own.
struct Made {
    dir: tempfile::TempDir,
    page: PathBuf,
    said: Output,
}

impl Made {
    fn of(args: &[&str]) -> Self {
        Self::from(&sample("agent-alice-001"), args)
    }

    fn from(log: &str, args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let page = dir.path().join("proof.html");
        let output = page.to_str().unwrap();
        let all = [&["prove", "--log", log, "--output", output], args].concat();
        let said = signet(&all);
        Self { dir, page, said }
    }

    fn html(&self) -> String {
        let said = text(&self.said.stderr);
        fs::read_to_string(&self.page).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    fn bundles(&self) -> Vec<String> {
        let html = self.html();
        let parts = html.split("class=\"bundle\">").skip(1);
        let texts = parts.map(|part| part.split_once("</script>").unwrap().0);
        texts
            .map(|part| text(&BASE64.decode(part.as_bytes()).unwrap()))
            .collect()
    }

    /// What `--check` says of the page when it is this.
    fn check(&self, html: &str) -> (Option<i32>, String) {
        let edited = self.dir.path().join("edited.html");
        fs::write(&edited, html).unwrap();
        let output = signet(&["prove", "--check", edited.to_str().unwrap()]);
        (
            output.status.code(),
            text(&output.stdout) + &text(&output.stderr),
        )
    }

    fn holds(&self) -> String {
        let (code, said) = self.check(&self.html());
        assert_eq!(code, Some(0), "{said}");
        said
    }
}

/// The lines of the log in a bundle, by their kind.
fn kinds(bundle: &str) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for line in bundle.lines().filter(|line| line.starts_with("{\"v\":")) {
        let value: Value = serde_json::from_str(line).unwrap();
        let kind = value["kind"].as_str().unwrap().to_owned();
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

#[test]
fn one_message_is_proven_with_its_receipt_and_what_its_person_decided() {
    let made = Made::of(&[APPROVED]);
    let said = made.holds();
    assert!(
        said.starts_with("OK: the page is the one that this signet writes"),
        "{said}"
    );
    assert!(
        said.contains("2 lines about agent-bob-001 stand in the log of agent-alice-001"),
        "{said}"
    );
    let bundles = made.bundles();
    let kinds = kinds(&bundles[0]);
    assert_eq!((kinds["draft"], kinds["approval"]), (1, 1), "{kinds:?}");
    assert!(bundles[0].contains("\"method\":\"agent.receipt\""));
    assert!(
        !bundles[0].contains("Asks for free evenings"),
        "another message is in it"
    );
}

#[test]
fn a_conversation_is_proven_whole_and_by_the_peers_log_as_well() {
    let bob = sample("agent-bob-001");
    let made = Made::of(&["--conversation", DINNER, "--with", &bob]);
    made.holds();
    let bundles = made.bundles();
    assert_eq!(bundles.len(), 2);
    for bundle in &bundles {
        let said = bundle
            .matches(&format!("\"conversation\":\"{DINNER}\""))
            .count();
        assert_eq!(said, 5, "{bundle}");
        assert!(!bundle.contains("cat-2027"));
    }
    let days = Made::of(&[
        "--from",
        "2026-11-23",
        "--to",
        "2026-11-24",
        "--peer",
        "agent-bob-001",
    ]);
    assert!(days.holds().contains("82 lines about agent-bob-001"));
}

#[test]
fn what_cannot_be_proven_is_told_and_leaves_no_file() {
    for (args, said) in [
        (
            vec!["01a20aa4-ffff-7b67-9028-a9c7ef35df78"],
            "no line of the log is about that",
        ),
        (
            vec!["--from", "2026-11-23", "--to", "2026-11-24"],
            "agent-bob-001, agent-carol-001",
        ),
        (vec!["--from", "2026-11-23"], "--to"),
        (vec![], "required"),
        (
            vec![APPROVED, "--conversation", DINNER],
            "cannot be used with",
        ),
        (vec![APPROVED, "--check", "x"], "cannot be used with"),
    ] {
        let made = Made::of(&args);
        assert_eq!(made.said.status.code(), Some(2), "{args:?}");
        let stderr = text(&made.said.stderr);
        assert!(stderr.contains(said), "{args:?}: {stderr}");
        assert!(!made.page.exists(), "{args:?}");
    }
    let made = Made::of(&[APPROVED]);
    let before = made.html();
    let page = made.page.to_str().unwrap();
    let again = signet(&[
        "prove",
        "--log",
        &sample("agent-alice-001"),
        "--output",
        page,
        APPROVED,
    ]);
    assert!(!again.status.success());
    assert_eq!(
        made.html(),
        before,
        "a page that is there is not overwritten"
    );
}

#[test]
fn attack_a_page_is_edited_in_its_words_its_script_or_its_policy() {
    let made = Made::of(&[APPROVED]);
    let html = made.html();
    let edits: [(&str, &str, &str); 6] = [
        (
            "<main id=\"page\">",
            "<main id=\"page\">It holds",
            "edited around its script",
        ),
        (
            "default-src 'none'",
            "default-src *",
            "edited around its script",
        ),
        (
            "<html lang=\"en\">",
            "<html lang=\"en\" class=\"x\">",
            "edited around its script",
        ),
        ("<script>", "<script>/**/", "has another script"),
        (
            "</body>",
            "<img src=x>\n</body>",
            "edited around its script",
        ),
        ("class=\"bundle\">", "class=\"bundle\" >", "has no evidence"),
    ];
    for (from, to, said) in edits {
        assert!(html.contains(from), "{from}");
        let (code, told) = made.check(&html.replacen(from, to, 1));
        assert_ne!(code, Some(0), "{to}: {told}");
        assert!(told.contains(said), "{to}: {told}");
    }
    let appended = html.clone() + "<script>document.body.textContent = 'It holds'</script>";
    let (code, told) = made.check(&appended);
    assert_eq!(code, Some(1), "{told}");
}

#[test]
fn attack_the_data_of_a_page_are_edited() {
    let made = Made::of(&[APPROVED]);
    let html = made.html();
    let bundle = &made.bundles()[0];
    let with = |other: &str| {
        html.replacen(
            &BASE64.encode(bundle.as_bytes()),
            &BASE64.encode(other.as_bytes()),
            1,
        )
    };
    for (from, to, said) in [
        (
            "\"decision\":\"approved\"",
            "\"decision\":\"refused\"",
            "does not lead to the checkpoint",
        ),
        (
            "\"data-tier\":4",
            "\"data-tier\":3",
            "does not lead to the checkpoint",
        ),
        ("\"path\":[", "\"pfad\":[", "the proof is malformed"),
        (
            "\"agent\":\"agent-alice-001\"",
            "\"agent\":\"agent-eve-001\"",
            "not one of this agent",
        ),
        (
            "\"peer\":\"agent-bob-001\"",
            "\"peer\":\"agent-eve-001\"",
            "not one with the peer",
        ),
    ] {
        assert!(bundle.contains(from), "{from}");
        let (code, told) = made.check(&with(&bundle.replacen(from, to, 1)));
        assert_eq!(code, Some(1), "{to}: {told}");
        assert!(told.contains(said), "{to}: {told}");
    }
    // Without the draft the approval decides about nothing, and the proof fails. Without both the message is still
    // proven, and no approval is told.
    let lines: Vec<&str> = bundle.lines().collect();
    let without = |kinds: &[&str]| {
        let mut kept = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let is_one = |line: &&str| {
                kinds.iter().any(|kind| {
                    line.contains(&format!("\"kind\":\"{kind}\"")) && line.starts_with("{\"v\":2")
                })
            };
            let next = lines.get(at + 1).is_some_and(is_one);
            if !is_one(line) && !next {
                kept.push(*line);
            }
        }
        kept.join("\n") + "\n"
    };
    let (code, told) = made.check(&with(&without(&["draft"])));
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("a draft of which no line stands before it"),
        "{told}"
    );
    let (code, told) = made.check(&with(&without(&["approval"])));
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("without the approval that its draft asks for"),
        "{told}"
    );
    let (code, told) = made.check(&with(&without(&["draft", "approval"])));
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn garbage_is_no_page_and_kills_nothing() {
    let made = Made::of(&[APPROVED]);
    for html in [
        "",
        "<script>",
        "class=\"bundle\">",
        "<script type=\"text/plain\" class=\"bundle\">!!</script>\n",
    ] {
        let (code, told) = made.check(html);
        assert_eq!(code, Some(2), "{html}: {told}");
    }
    let nowhere = signet(&["prove", "--check", "/nonexistent/proof.html"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", text(&nowhere.stderr));
    let json = signet(&["prove", "--json", "--check", made.page.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&report["holds"], &report["page"]),
        (&true.into(), &true.into()),
        "{report}"
    );
    assert_eq!(report["script"], report["script-of-this-signet"]);
}

#[test]
fn the_policy_of_the_page_names_its_script_and_its_style_and_allows_nothing_else() {
    let page = Made::of(&[APPROVED]).html();
    let hash = |begin: &str, end: &str| {
        let (_, inside) = page.rsplit_once(begin).unwrap();
        let (inside, _) = inside.split_once(end).unwrap();
        BASE64.encode(&Sha256::digest(inside))
    };
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash("<script>", "</script>"),
        hash("<style>", "</style>"),
    );
    assert!(page.contains(&policy), "{policy}");
    for address in ["http:", "https:", "src=", "url(", "@import"] {
        let (head, _) = page.split_once("<script").unwrap();
        assert!(!head.contains(address), "{address}");
    }
    let bare = include_str!("../../src/cli/audit/prove/page.html");
    assert!(bare.len() < 250 * 1024, "{}", bare.len());
}

/// A log with one message that is sealed, and its copy for whoever has the key.
fn sealed(dir: &Path, key: &Path) -> String {
    let now = signet::clock::now();
    let secret = read_seal_secret(key).unwrap();
    let genesis = Entry::Genesis(audit_open::certificate());
    let custody = CheckpointKeys::new(dir.join("keys"), || Ok(Zeroizing::new([5; 32])));
    let log = dir.join("log");
    let mut writer = Log::open_with(&log, now, &genesis, custody).unwrap();
    let bob = Entry::trust(TrustChange::Bound, audit_open::bob());
    for entry in [bob, audit_open::sealed(secret.public(), audit_open::WORDS)] {
        writer
            .append(now.saturating_add(Duration::from_millis(1)), &entry)
            .unwrap();
    }
    writer.commit().unwrap();
    writer.checkpoint().unwrap();
    log.to_str().unwrap().to_owned()
}

#[test]
fn what_is_sealed_stays_sealed_unless_a_key_is_named_and_then_the_page_says_whose_words_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let mine = audit_open::key_file(dir.path(), "mine");
    let other = audit_open::key_file(dir.path(), "other");
    let log = sealed(dir.path(), &mine);
    let id = audit_open::ID;
    let shut = Made::from(&log, &[id]);
    assert!(!shut.bundles()[0].contains(audit_open::WORDS));
    assert!(!shut.html().contains("class=\"opened\""));
    let said = shut.holds();
    assert!(!said.contains("opened words"), "{said}");

    let open = Made::from(&log, &[id, "--open", mine.to_str().unwrap()]);
    let told = text(&open.said.stderr);
    assert!(
        told.contains("whoever gets the page reads 1 sealed message in it"),
        "{told}"
    );
    let html = open.html();
    let (_, opened) = html.split_once("class=\"opened\">").unwrap();
    let (opened, _) = opened.split_once('<').unwrap();
    assert!(text(&BASE64.decode(opened.as_bytes()).unwrap()).contains(audit_open::WORDS));
    assert!(
        !open.bundles()[0].contains(audit_open::WORDS),
        "the evidence itself stays sealed"
    );
    assert!(open.holds().contains("no signature covers them"));

    let wrong = Made::from(&log, &[id, "--open", other.to_str().unwrap()]);
    assert_eq!(
        wrong.said.status.code(),
        Some(1),
        "{}",
        text(&wrong.said.stderr)
    );
    assert!(!wrong.page.exists());
}

/// Both verifiers on the same bundles: twenty that hold and every forgery of the TypeScript package's tests.
#[test]
fn the_typescript_verifier_says_of_every_bundle_what_audit_verify_says() {
    let client = root().join("clients/typescript");
    let command = client.join("dist/proof/command.js");
    if !command.exists() || Command::new("node").arg("--version").output().is_err() {
        eprintln!(
            "NOT RUN: there is no node, or no client that it could run; scripts/typescript builds it"
        );
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let write = client.join("tests/proof/write.mjs");
    let written = Command::new("node")
        .arg(write)
        .arg(dir.path())
        .output()
        .unwrap();
    assert!(written.status.success(), "{}", text(&written.stderr));
    let mut files: Vec<PathBuf> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 80, "{}", files.len());
    let mut args: Vec<&str> = vec!["--all"];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    let theirs = Command::new("node")
        .arg(&command)
        .args(&args)
        .output()
        .unwrap();
    let ours: String = files
        .iter()
        .map(|file| text(&signet(&["audit", "verify", "--all", file.to_str().unwrap()]).stdout))
        .collect();
    // Compare only the place of a line that is no JSON: the two readers' parsers word the reason differently.
    let plain = |text: String| -> Vec<String> {
        let lines = text
            .lines()
            .map(|line| match line.split_once("not a line of JSON: ") {
                Some((place, _)) => format!("{place}not a line of JSON"),
                None => line.to_owned(),
            });
        lines.collect()
    };
    assert_eq!(plain(text(&theirs.stdout)), plain(ours));
    assert_eq!(theirs.status.code(), Some(1));
}
