//! The adversary's tools: messages taken apart, changed, and signed again with any key.

use blake2::digest::consts::U24;
use blake2::{Blake2b, Digest as _};
use crypto_box::SalsaBox;
use crypto_box::aead::Aead as _;
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value, json};
use signet_json::{Limits, canonical, parse};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{Entry, Verdict};
use signet_proto::envelope::Method;
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId, Version};
use signet_proto::keys::{Purpose, SealSecret, SigningKey};
use signet_proto::reject::Reason;
use signet_proto::schema;
use signet_proto::statement::{PauseStatement, Revocation};

use crate::household::{self, at};

/// A message-id that a test names.
pub fn id(name: &str) -> MessageId {
    let random = Digest::of(&[name.as_bytes()]).0;
    MessageId::from_parts(
        u64::try_from(crate::household::START).unwrap(),
        random[..10].try_into().unwrap(),
    )
}

pub fn read(bytes: &[u8]) -> Value {
    parse(bytes, Limits::MESSAGE).unwrap()
}

/// The envelope of any of the three forms.
pub fn envelope(message: &mut Value) -> &mut Map<String, Value> {
    let place = ["/params", "/result", "/error/data"]
        .into_iter()
        .find(|place| message.pointer(place).is_some())
        .unwrap();
    message.pointer_mut(place).unwrap().as_object_mut().unwrap()
}

pub fn headers(message: &mut Value) -> &mut Map<String, Value> {
    envelope(message)["headers"].as_object_mut().unwrap()
}

/// Signs what stands there, whatever it is, for a message.
pub fn sign(message: Value, key: &SigningKey) -> Vec<u8> {
    sign_as(message, key, Purpose::Message)
}

pub fn sign_as(mut message: Value, key: &SigningKey, purpose: Purpose) -> Vec<u8> {
    envelope(&mut message).remove("signature");
    let signature = key.sign(purpose, &[&canonical(&message)]);
    let text = BASE64URL_NOPAD.encode(&signature);
    envelope(&mut message).insert("signature".into(), text.into());
    canonical(&message)
}

/// A well-made message of `from` at `ms`, outside any session.
pub fn message(from: &Identity, to: &str, method: Method, name: &str, ms: i64) -> Value {
    in_session(from, to, method, name, ms, None)
}

/// A well-made message, in a session under a number when there is one.
pub fn in_session(
    from: &Identity,
    to: &str,
    method: Method,
    name: &str,
    ms: i64,
    place: Option<(SessionId, u64)>,
) -> Value {
    let body = decree(from.certificate.principal.as_str(), method);
    let body = body.or_else(|| example(method));
    let body = body.unwrap_or_else(|| json!({"week": "2026-W07"}));
    let mut draft = Draft::call(method, recipient(to), id(name), body);
    draft.in_reply_to = (method == Method::Progress).then(|| id("asked"));
    draft.summary = Some("Asks for free evenings".into());
    let stamp = Stamp {
        now: at(ms).now,
        session: place.map(|(session, _)| session),
        sequence: place.map(|(_, sequence)| sequence),
        audit_head: Some(Digest([9; 32])),
        version: Version::CURRENT,
    };
    let signed = draft.sign(from, stamp);
    let unfit =
        |reason| panic!("{method:?}: {reason}: give the schema of its body an example that fits");
    read(signed.unwrap_or_else(unfit).bytes())
}

/// The first example that the schema of its body has.
fn example(method: Method) -> Option<Value> {
    let schema: Value = serde_json::from_str(schema::text(method.body().schema()?)?).unwrap();
    schema["examples"].get(0).cloned()
}

/// The body of a revocation of the person's `agent-lost`, or of a pause or resume.
pub fn decree(principal: &str, method: Method) -> Option<Value> {
    let now = at(0).now;
    let paused = match method {
        Method::Revoke => {
            let (person, agent) = (principal.parse().unwrap(), recipient("agent-lost"));
            let root = household::key(&format!("root of {principal}"));
            let revoked = Revocation::sign(&person, &agent, 7, "lost", now, &root).unwrap();
            return Some(json!({ "revocation": revoked.to_value() }));
        }
        Method::Pause => true,
        Method::Resume => false,
        _ => return None,
    };
    let control = household::control(principal);
    let key = household::key(&format!("control of {principal}"));
    let said = PauseStatement::sign(paused, 1, now, &control, &key).unwrap();
    Some(json!({"statement": said.to_value(), "control": control.to_value()}))
}

pub fn recipient(name: &str) -> AgentId {
    name.parse().unwrap()
}

/// A box under an ephemeral key of the maker's choice, of which it knows no secret; where the key is of
/// low order it needs none, and the recipient's arithmetic would give the same.
pub fn box_under(ephemeral: [u8; 32], to: &SealSecret, plaintext: &[u8]) -> Vec<u8> {
    box_shown(ephemeral, ephemeral, to, plaintext)
}

/// A box that shows one ephemeral key, and is computed with another.
pub fn box_shown(
    ephemeral: [u8; 32],
    with: [u8; 32],
    to: &SealSecret,
    plaintext: &[u8],
) -> Vec<u8> {
    let mut hash = Blake2b::<U24>::new();
    hash.update(ephemeral);
    hash.update(to.public().as_bytes());
    let (theirs, ours) = (
        crypto_box::PublicKey::from_bytes(with),
        crypto_box::SecretKey::from_bytes(*to.expose()),
    );
    let sealed = SalsaBox::new(&theirs, &ours).encrypt(&hash.finalize(), plaintext);
    [&ephemeral[..], &sealed.unwrap()].concat()
}

/// The paths of all values that hold no others, and of empty arrays and objects.
pub fn leaves(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(value, String::new(), &mut |path, value| {
        let inner = match value {
            Value::Object(members) => members.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        if inner == 0 {
            found.push(path.to_owned());
        }
    });
    found
}

/// The paths of all objects, the document itself first.
pub fn objects(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(value, String::new(), &mut |path, value| {
        if value.is_object() {
            found.push(path.to_owned());
        }
    });
    found
}

fn walk(value: &Value, path: String, visit: &mut impl FnMut(&str, &Value)) {
    visit(&path, value);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                walk(member, format!("{path}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, format!("{path}/{index}"), visit);
            }
        }
        _ => {}
    }
}

/// The verdict among entries, when there is one.
pub fn verdict(entries: &[Entry]) -> Option<&Verdict> {
    entries.iter().find_map(|entry| match entry {
        Entry::Message(verdict) => Some(verdict),
        _ => None,
    })
}

/// The reason of the first verdict; `None` when it was accepted.
pub fn reason(entries: &[Entry]) -> Option<Reason> {
    verdict(entries)
        .expect("every input has a verdict")
        .reason()
}
