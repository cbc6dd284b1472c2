//! `signet audit open`: what a person's key shows of a log, and what another's does not.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use serde_json::{Value, json};
use signet::keystore::read_seal_secret;
use signet_audit::Log;
use signet_proto::certificate::{
    Certificate, CertificateRequest, ControlRequest, KEYS_LIFE, KeyStatement,
};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{Direction, DraftLine, Entry, Evidence, Ruling, Verdict};
use signet_proto::envelope::Method;
use signet_proto::headers::{Layers, Tier};
use signet_proto::ids::{Digest, MessageId, SessionId, Version};
use signet_proto::keys::{SealKey, SealSecret, SigningKey};
use zeroize::Zeroizing;

pub(crate) const WORDS: &str = "the diagnosis";
const EVIL: &str =
    "\u{1b}[2J\u{1b}]0;owned\u{7}\r\nline 9 accepted\n\u{2028}\u{202e}txt.exe\u{200b}\u{9b}31m";

fn key(name: &str) -> SigningKey {
    SigningKey::from_seed(&Zeroizing::new(Digest::of(&[name.as_bytes()]).0)).unwrap()
}

pub(crate) fn certificate() -> Certificate {
    let now = signet::clock::now();
    CertificateRequest {
        agent: "agent-alice".parse().unwrap(),
        principal: "alice".parse().unwrap(),
        signing_key: key("signing").public().clone(),
        layers: Layers::of(&[0, 1, 2, 3]),
        versions: vec![Version::CURRENT],
        serial: 1,
        not_before: now,
        not_after: now.saturating_add(Duration::from_secs(3600)),
        next_root: Digest([0; 32]),
    }
    .sign(&key("root"))
    .unwrap()
}

/// Alice's agent, whose person reads its log with `audit_key`.
fn alice(audit_key: SealKey) -> Identity {
    let certificate = certificate();
    let own = SealSecret::of(Zeroizing::new([7; 32]));
    let agent = certificate.agent.clone();
    let until = signet::clock::now().saturating_add(KEYS_LIFE);
    let signing = key("signing");
    let control = ControlRequest {
        principal: certificate.principal.clone(),
        control_key: key("control").public().clone(),
        audit_key,
        serial: 1,
        not_before: certificate.not_before,
        not_after: certificate.not_after,
        next_root: Digest([0; 32]),
    };
    Identity {
        keys: KeyStatement::sign(&agent, own.public(), 1, until, &signing).unwrap(),
        signing,
        layers: Layers::of(&[0, 1, 2, 3]),
        secrets: vec![own],
        former: Vec::new(),
        control: Some(control.sign(&key("root")).unwrap()),
        certificate,
    }
}

/// The message-id of the sealed message.
pub(crate) const ID: &str = "00000000-0001-7101-8101-010101010101";

/// Bob's certificate.
pub(crate) fn bob() -> Certificate {
    let mine = certificate();
    let request = CertificateRequest {
        agent: "agent-bob".parse().unwrap(),
        principal: "bob".parse().unwrap(),
        signing_key: key("bob").public().clone(),
        layers: mine.layers,
        versions: mine.versions,
        serial: 1,
        not_before: mine.not_before,
        not_after: mine.not_after,
        next_root: Digest([0; 32]),
    };
    request.sign(&key("bob's root")).unwrap()
}

fn restricted(words: &str) -> Draft {
    let mut draft = Draft::call(
        Method::Request,
        "agent-bob".parse().unwrap(),
        MessageId::from_parts(1, [1; 10]),
        json!({ "what": words }),
    );
    draft.summary = Some(words.to_owned());
    draft.data_tier = Tier::Restricted;
    draft
}

/// A sealed message that says `words`, with its copy for the person.
pub(crate) fn sealed(audit_key: SealKey, words: &str) -> Entry {
    let alice = alice(audit_key);
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let stamp = Stamp {
        now: signet::clock::now(),
        session: Some(SessionId(Digest([3; 32]))),
        sequence: Some(1),
        audit_head: None,
        version: Version::CURRENT,
    };
    let bob = SealSecret::of(Zeroizing::new([8; 32])).public();
    let draft = restricted(words);
    let (signed, copy) = draft.seal_and_sign(&alice, stamp, bob, &mut rng).unwrap();
    Entry::Message(Verdict {
        direction: Direction::Out,
        ruling: Ruling::Sent,
        bytes: signed.bytes().len() as u64,
        hash: signed.message().hash(),
        evidence: Evidence::Whole(signed.message().clone()),
        copy,
    })
}

/// A log with a sealed draft and a sealed message, which say `words`; the message also, whether or not
/// it was refused, in a second line without a copy.
fn write_log(dir: &Path, audit_key: SealKey, words: &str) {
    let alice = alice(audit_key);
    let now = signet::clock::now();
    let draft = restricted(words);
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let (message, copy) = draft.to_value(&alice, now, &mut rng).unwrap();
    let waits = Entry::Draft(DraftLine {
        peer: draft.recipient.clone(),
        message_id: draft.message_id,
        life: 60,
        approve: None,
        message,
        copy,
        client_key: None,
    });
    let sent = sealed(audit_key, words);
    let Entry::Message(verdict) = sent.clone() else {
        panic!("a message");
    };
    let again = Entry::Message(Verdict {
        copy: None,
        ..verdict
    });
    let mut log = Log::open(dir, now, &Entry::Genesis(certificate())).unwrap();
    for entry in [waits, sent, again] {
        log.append(now, &entry).unwrap();
    }
    log.commit().unwrap();
}

fn signet(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.args(args).env_clear().output().unwrap()
}

/// The sealing key of a new home: a key file as a person has one.
pub(crate) fn key_file(dir: &Path, name: &str) -> PathBuf {
    let home = dir.join(name);
    let agent = format!("agent-{name}");
    let home_text = home.to_str().unwrap();
    let args = [
        "init",
        "--agent",
        &agent,
        "--principal",
        name,
        "--home",
        home_text,
    ];
    assert!(signet(&args).status.success());
    home.join("keys").join("sealing.pem")
}

struct Scene {
    dir: tempfile::TempDir,
    mine: PathBuf,
}

impl Scene {
    fn of(words: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mine = key_file(dir.path(), "mine");
        let key = read_seal_secret(&mine).unwrap().public();
        write_log(&dir.path().join("log"), key, words);
        Self { dir, mine }
    }

    fn open(&self, key: &Path, more: &[&str]) -> Output {
        let log = self.dir.path().join("log");
        let (key, log) = (key.to_str().unwrap(), log.to_str().unwrap());
        signet(&[&["audit", "open", "--key", key, log], more].concat())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_persons_key_opens_messages_and_drafts() {
    let scene = Scene::of(WORDS);
    let opened = scene.open(&scene.mine, &[]);
    assert_eq!(opened.status.code(), Some(0));
    let said = text(&opened.stdout);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.lines()
            .all(|line| line.contains(WORDS) && line.contains("(sealed)")),
        "{said}"
    );
    let warned = text(&opened.stderr);
    assert!(warned.contains("1 sealed line has no copy"), "{warned}");
    let json = scene.open(&scene.mine, &["--json"]);
    let lines: Vec<Value> = text(&json.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (line, kind) in lines.iter().zip(["draft", "message"]) {
        assert_eq!(line["body"], json!({"what": WORDS}));
        assert_eq!((&line["kind"], &line["dir"]), (&json!(kind), &json!("out")));
        assert_eq!(
            (&line["summary"], &line["peer"]),
            (&json!(WORDS), &json!("agent-bob"))
        );
    }
}

#[test]
fn somebody_elses_key_opens_nothing_and_is_told_for_how_many_lines() {
    let scene = Scene::of(WORDS);
    let theirs = key_file(scene.dir.path(), "theirs");
    let opened = scene.open(&theirs, &[]);
    assert_eq!(opened.status.code(), Some(1));
    assert!(opened.stdout.is_empty());
    let said = text(&opened.stderr);
    assert!(
        said.contains("the key does not fit 2 sealed lines"),
        "{said}"
    );
    assert!(!said.contains(WORDS));
}

#[test]
fn a_file_that_is_no_such_key_is_named() {
    let scene = Scene::of(WORDS);
    let signing = scene.mine.with_file_name("signing.pem");
    let opened = scene.open(&signing, &[]);
    assert_eq!(opened.status.code(), Some(2));
    assert!(text(&opened.stderr).contains("signing.pem"));
    let opened = scene.open(&scene.dir.path().join("none.pem"), &[]);
    assert_eq!(opened.status.code(), Some(2));
}

#[test]
fn sealed_text_neither_forges_a_line_nor_drives_the_terminal() {
    let scene = Scene::of(EVIL);
    for more in [&[][..], &["--json"]] {
        let said = text(&scene.open(&scene.mine, more).stdout);
        assert_eq!(said.lines().count(), 2, "{said:?}");
        let hidden =
            |c: char| c != '\n' && (c.is_control() || "\u{2028}\u{202e}\u{200b}".contains(c));
        assert!(!said.contains(hidden), "{said:?}");
    }
    let json = text(&scene.open(&scene.mine, &["--json"]).stdout);
    let line: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(line["body"], json!({"what": EVIL}));
}

#[test]
fn a_box_that_was_moved_to_another_line_is_damage() {
    let scene = Scene::of(WORDS);
    let log = scene.dir.path().join("log");
    let file = std::fs::read_dir(&log)
        .unwrap()
        .map(|file| file.unwrap().path());
    let file = file
        .into_iter()
        .find(|file| file.extension().is_some_and(|e| e == "jsonl"));
    let file = file.unwrap();
    let old = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = old
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let copy = |line: &Value| line["copy"]["box"].as_str().unwrap().to_owned();
    let waits = lines.iter().find(|line| line["kind"] == "draft").unwrap();
    let sent = lines.iter().find(|line| line["kind"] == "message").unwrap();
    std::fs::write(&file, old.replace(&copy(sent), &copy(waits))).unwrap();
    let opened = scene.open(&scene.mine, &[]);
    assert_eq!(opened.status.code(), Some(1));
    let said = text(&opened.stderr);
    assert!(said.contains("seal-mismatch"), "{said}");
}
