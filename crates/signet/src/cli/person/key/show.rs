//! `signet key show`: every key in plain words.

use std::fmt::Write as _;

use serde::Serialize;
use signet_proto::keys::{SealSecret, fingerprint};

use super::{CliError, open};
use crate::cli::print::{print_as, visible_lines};
use crate::hint;
use crate::home::Home;
use crate::keystore::{
    self, AUDIT, AgentKeys, Algorithm, CONTROL, NEXT_ROOT, ROOT, RetiredKey, SEALING, SIGNING,
    read_secret, read_signing_key,
};

/// Every key of an agent and its person.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct ShownKeys {
    agent: String,
    principal: String,
    keys: Vec<KeyRow>,
    change_waits: bool,
    request_waits: bool,
}

/// One key.
#[derive(Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct KeyRow {
    key: String,
    what: &'static str,
    /// The command that makes the key, where it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after: Option<String>,
    /// Absent where there is no such key.
    #[serde(flatten)]
    place: Option<KeyPlace>,
    /// When the secret is destroyed; only old keys have an end.
    #[serde(flatten)]
    end: Option<KeyEnd>,
}

/// Where a secret is.
#[derive(Serialize)]
struct KeyPlace {
    /// The file in the home; null where it is elsewhere.
    secret: Option<String>,
    /// Of a person's key, whether it should be taken off this machine.
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    moves: Option<bool>,
}

#[derive(Serialize)]
struct KeyEnd {
    /// When the daemon destroys it; null for never.
    destroyed: Option<String>,
}

impl KeyPlace {
    /// The place of a key that the agent itself needs.
    fn own(file: &str) -> Self {
        Self {
            secret: Some(format!("keys/{file}")),
            moves: None,
        }
    }

    /// The place of a key that belongs to the person, and should be kept off this machine.
    fn persons(file: &str, here: bool) -> Self {
        Self {
            secret: here.then(|| format!("keys/{file}")),
            moves: Some(here),
        }
    }
}

pub(super) fn run(home: &Home, json: bool) -> Result<(), CliError> {
    let (_, keys) = open(home)?;
    let mut rows = vec![signing(&keys), sealing(&keys), root(home, &keys)];
    rows.push(next_root(home, &keys));
    rows.extend(person(home, &keys));
    rows.extend(keystore::kept(home)?.iter().map(old));
    let shown = ShownKeys {
        agent: keys.certificate.agent.to_string(),
        principal: keys.certificate.principal.to_string(),
        keys: rows,
        change_waits: keystore::is_waiting(home),
        request_waits: home.key_file("request").exists(),
    };
    print_as(json, &shown, || page(&shown))
}

fn signing(keys: &AgentKeys) -> KeyRow {
    let certificate = &keys.certificate;
    KeyRow {
        key: "signing".to_owned(),
        what: "signs the agent's messages",
        id: Some(certificate.signing_key.id().to_string()),
        serial: Some(certificate.serial),
        not_before: Some(certificate.not_before.to_string()),
        not_after: Some(certificate.not_after.to_string()),
        place: Some(KeyPlace::own(SIGNING)),
        ..KeyRow::default()
    }
}

fn sealing(keys: &AgentKeys) -> KeyRow {
    KeyRow {
        key: "sealing".to_owned(),
        what: "opens what is sealed for the agent; the daemon makes a new one monthly",
        id: Some(keys.statement.sealing_key.to_string()),
        serial: Some(keys.statement.serial),
        not_after: Some(keys.statement.not_after.to_string()),
        place: Some(KeyPlace::own(SEALING)),
        ..KeyRow::default()
    }
}

fn root(home: &Home, keys: &AgentKeys) -> KeyRow {
    let root = &keys.certificate.root;
    let here = read_signing_key(&home.key_file(ROOT)).is_ok_and(|key| key.public() == root);
    KeyRow {
        key: "root".to_owned(),
        what: "certifies this person's agents",
        id: Some(root.id().to_string()),
        fingerprint: Some(fingerprint(root)),
        place: Some(KeyPlace::persons(ROOT, here)),
        ..KeyRow::default()
    }
}

fn next_root(home: &Home, keys: &AgentKeys) -> KeyRow {
    let file = read_signing_key(&home.key_file(NEXT_ROOT));
    let here = file.is_ok_and(|key| keystore::is_next_root(key.public(), &keys.certificate));
    KeyRow {
        key: "next root".to_owned(),
        what: "takes over when the root key is rotated; only its hash is known",
        hash: Some(keys.certificate.next_root.to_string()),
        place: Some(KeyPlace::persons(NEXT_ROOT, here)),
        ..KeyRow::default()
    }
}

fn person(home: &Home, keys: &AgentKeys) -> [KeyRow; 2] {
    let Some(control) = &keys.control else {
        return ["control", "audit"].map(|key| KeyRow {
            key: key.to_owned(),
            what: "there is none yet",
            next: Some(hint::typed(
                "signet key rotate control  # makes the control and the audit key",
            )),
            ..KeyRow::default()
        });
    };
    let signs = read_signing_key(&home.key_file(CONTROL))
        .is_ok_and(|key| *key.public() == control.control_key);
    let reads = read_secret(&home.key_file(AUDIT), Algorithm::X25519)
        .is_ok_and(|secret| SealSecret::of(secret).public() == control.audit_key);
    let certified = || KeyRow {
        serial: Some(control.serial),
        not_before: Some(control.not_before.to_string()),
        not_after: Some(control.not_after.to_string()),
        ..KeyRow::default()
    };
    let control_key = KeyRow {
        key: "control".to_owned(),
        what: "approves, pauses and resumes",
        id: Some(control.control_key.id().to_string()),
        place: Some(KeyPlace::persons(CONTROL, signs)),
        ..certified()
    };
    let audit_key = KeyRow {
        key: "audit".to_owned(),
        what: "reads sealed messages in the log",
        id: Some(control.audit_key.to_string()),
        place: Some(KeyPlace::persons(AUDIT, reads)),
        ..certified()
    };
    [control_key, audit_key]
}

fn old(old: &RetiredKey) -> KeyRow {
    let file = old.path.file_name().unwrap_or_default().display();
    KeyRow {
        key: format!("old {}", old.kind),
        what: old_use(old.kind),
        serial: Some(old.serial),
        place: Some(KeyPlace::own(&file.to_string())),
        end: Some(KeyEnd {
            destroyed: old.until.map(|until| until.to_string()),
        }),
        ..KeyRow::default()
    }
}

fn old_use(kind: &str) -> &'static str {
    match kind {
        "sealing" => "opens what was sealed before",
        "signing" => "signs receipts in sessions that it opened",
        "audit" => "reads older sealed messages in the log; keep it",
        _ => "good for nothing any more",
    }
}

fn page(shown: &ShownKeys) -> String {
    let mut page = format!("{} of {}\n", shown.agent, shown.principal);
    for row in &shown.keys {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "\n{}: {}", row.key, row.what);
        if let Some(next) = &row.next {
            let _ = writeln!(page, "  next: {next}");
        }
        for (name, value) in [
            ("id", &row.id),
            ("hash", &row.hash),
            ("words", &row.fingerprint),
        ] {
            if let Some(value) = value {
                let _ = writeln!(page, "  {name:<11} {value}");
            }
        }
        if let Some(serial) = row.serial {
            let _ = writeln!(page, "  serial      {serial}{}", span(row));
        }
        let _ = writeln!(page, "  secret      {}", place(row));
    }
    if shown.change_waits {
        page.push_str("\nA change of keys waits to be adopted\n  next: signet key adopt\n");
    }
    if shown.request_waits {
        page.push_str("\nA request waits for its answer\n  next: signet key install answer.json\n");
    }
    visible_lines(&page)
}

fn span(row: &KeyRow) -> String {
    let end = row.end.as_ref().and_then(|end| end.destroyed.as_ref());
    match (&row.not_before, &row.not_after, end) {
        (Some(from), Some(to), _) => format!(", from {from} to {to}"),
        (None, Some(to), _) => format!(", until {to}"),
        (_, _, Some(end)) => format!(", destroyed after {end}"),
        _ => String::new(),
    }
}

fn place(row: &KeyRow) -> String {
    let place = row.place.as_ref();
    let secret = place.and_then(|place| Some((place.secret.as_ref()?, place.moves)));
    match secret {
        Some((file, Some(true))) => format!("{file}: move it to a safe place off this machine"),
        Some((file, _)) => file.clone(),
        None => "not here".to_owned(),
    }
}
