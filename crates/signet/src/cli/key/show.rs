//! `signet key show`: every key in plain words.

use std::fmt::Write as _;

use serde_json::{Value, json};
use signet_audit::visible;
use signet_proto::keys::{SealSecret, fingerprint};

use super::super::ask::{print_json, text};
use super::{Failure, open, print};
use crate::home::Home;
use crate::keystore::{
    self, AUDIT, Algorithm, CONTROL, Keys, NEXT_ROOT, ROOT, SEALING, SIGNING, read_secret,
    read_signing_key,
};

pub(super) fn run(home: &Home, json: bool) -> Result<(), Failure> {
    let (_, keys) = open(home)?;
    let mut rows = vec![signing(&keys), sealing(&keys), root(home, &keys)];
    rows.push(next_root(home, &keys));
    rows.extend(person(home, &keys));
    for old in keystore::kept(home)? {
        rows.push(json!({
            "key": format!("old {}", old.kind),
            "what": old_use(old.kind),
            "serial": old.serial,
            "secret": format!("keys/{}", old.path.file_name().unwrap_or_default().display()),
            "destroyed": old.until.map(|until| until.to_string()),
        }));
    }
    let waiting = keystore::is_waiting(home);
    let request = home.key_file("request").exists();
    let shown = json!({
        "agent": keys.certificate.agent.as_str(),
        "principal": keys.certificate.principal.as_str(),
        "keys": rows,
        "change-waits": waiting,
        "request-waits": request,
    });
    if json {
        print_json(&shown)
    } else {
        print(&page(&shown))
    }
}

fn signing(keys: &Keys) -> Value {
    let certificate = &keys.certificate;
    json!({
        "key": "signing",
        "what": "signs the agent's messages",
        "id": certificate.signing_key.id().to_string(),
        "serial": certificate.serial,
        "not-before": certificate.not_before.to_string(),
        "not-after": certificate.not_after.to_string(),
        "secret": format!("keys/{SIGNING}"),
    })
}

fn sealing(keys: &Keys) -> Value {
    json!({
        "key": "sealing",
        "what": "opens what is sealed for the agent; the daemon makes a new one monthly",
        "id": keys.statement.sealing_key.to_string(),
        "serial": keys.statement.serial,
        "not-after": keys.statement.not_after.to_string(),
        "secret": format!("keys/{SEALING}"),
    })
}

fn root(home: &Home, keys: &Keys) -> Value {
    let root = &keys.certificate.root;
    let here = read_signing_key(&home.key_file(ROOT)).is_ok_and(|key| key.public() == root);
    json!({
        "key": "root",
        "what": "certifies this person's agents",
        "id": root.id().to_string(),
        "fingerprint": fingerprint(root),
        "secret": here.then(|| format!("keys/{ROOT}")),
        "move": here,
    })
}

fn next_root(home: &Home, keys: &Keys) -> Value {
    let file = read_signing_key(&home.key_file(NEXT_ROOT));
    let here = file.is_ok_and(|key| keystore::is_next_root(key.public(), &keys.certificate));
    json!({
        "key": "next root",
        "what": "takes over when the root key is rotated; only its hash is known",
        "hash": keys.certificate.next_root.to_string(),
        "secret": here.then(|| format!("keys/{NEXT_ROOT}")),
        "move": here,
    })
}

fn person(home: &Home, keys: &Keys) -> Vec<Value> {
    let Some(control) = &keys.control else {
        let missing = "there is none yet; make both with: signet key rotate control";
        return vec![
            json!({"key": "control", "what": missing}),
            json!({"key": "audit", "what": missing}),
        ];
    };
    let signs = read_signing_key(&home.key_file(CONTROL))
        .is_ok_and(|key| *key.public() == control.control_key);
    let reads = read_secret(&home.key_file(AUDIT), Algorithm::X25519)
        .is_ok_and(|secret| SealSecret::of(secret).public() == control.audit_key);
    let row = |key: &str, what: &str, id: String, here: bool, file: &str| {
        json!({
            "key": key,
            "what": what,
            "id": id,
            "serial": control.serial,
            "not-before": control.not_before.to_string(),
            "not-after": control.not_after.to_string(),
            "secret": here.then(|| format!("keys/{file}")),
            "move": here,
        })
    };
    let id = control.control_key.id().to_string();
    vec![
        row(
            "control",
            "approves, pauses and resumes",
            id,
            signs,
            CONTROL,
        ),
        row(
            "audit",
            "reads sealed messages in the log",
            control.audit_key.to_string(),
            reads,
            AUDIT,
        ),
    ]
}

fn old_use(kind: &str) -> &'static str {
    match kind {
        "sealing" => "opens what was sealed before",
        "signing" => "signs receipts in sessions that it opened",
        "audit" => "reads older sealed messages in the log; keep it",
        _ => "good for nothing any more",
    }
}

fn page(shown: &Value) -> String {
    let mut page = format!("{} of {}\n", text(shown, "agent"), text(shown, "principal"));
    for row in shown
        .get("keys")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "\n{}: {}", text(row, "key"), text(row, "what"));
        for name in ["id", "hash", "fingerprint"] {
            if row.get(name).is_some() {
                let _ = writeln!(page, "  {name:<11} {}", text(row, name));
            }
        }
        if let Some(serial) = row.get("serial") {
            let _ = writeln!(page, "  serial      {serial}{}", span(row));
        }
        let _ = writeln!(page, "  secret      {}", place(row));
    }
    if shown.get("change-waits").and_then(Value::as_bool) == Some(true) {
        page.push_str("\nA change of keys waits to be adopted: signet key adopt\n");
    }
    if shown.get("request-waits").and_then(Value::as_bool) == Some(true) {
        page.push_str("\nA request waits for its answer: signet key install answer.json\n");
    }
    page.lines()
        .map(|line| format!("{}\n", visible(line)))
        .collect()
}

fn span(row: &Value) -> String {
    let time = |name: &str| row.get(name).and_then(Value::as_str);
    match (time("not-before"), time("not-after"), time("destroyed")) {
        (Some(from), Some(to), _) => format!(", from {from} to {to}"),
        (None, Some(to), _) => format!(", until {to}"),
        (_, _, Some(end)) => format!(", destroyed after {end}"),
        _ => String::new(),
    }
}

fn place(row: &Value) -> String {
    let moving = row.get("move").and_then(Value::as_bool) == Some(true);
    match row.get("secret").and_then(Value::as_str) {
        Some(file) if moving => format!("{file}: move it to a safe place off this machine"),
        Some(file) => file.to_owned(),
        None => "not here".to_owned(),
    }
}
