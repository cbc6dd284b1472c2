//! What else is taken, and what comes of it: receipts that settle or do not fit, flights that end a handshake, answers that
//! no grant concerns.

use serde_json::{Map, Value, json};
use signet_proto::draft::Identity;
use signet_proto::entry::Entry;
use signet_proto::envelope::{Form, Method, Unverified};
use signet_proto::ids::{Digest, MessageId};
use signet_proto::node::{Effect, State};

use super::faults::{Faults, NOW, body, set};
use super::histories::{alice_under, carol_of_another_version, receipt};
use super::published::{Input, asked_in, hash_of, knowledge, said};
use super::singles::{flight_of_another_version, revocation_of_alice_by_eve};
use super::stages::{self, Log, World};
use crate::forge::{envelope, headers, message, read, sign};
use crate::household::{Agent, at, identity};

/// The body of the receipt that follows a numbered message becomes a member of `expect`.
pub fn note_receipt(expect: &mut Value, log: &Log, ms: i64, input: &[u8]) {
    let Ok(message) = Unverified::parse(input) else {
        return;
    };
    let headers = &message.claims().headers;
    if headers.sequence.is_none() {
        return;
    }
    let mut bob = stages::bob(log);
    let mut effects = bob.hear(at(ms), input);
    for wait in [20, 1_100] {
        effects.extend(bob.tick(at(ms + wait)));
    }
    let receipt = effects.iter().find_map(|effect| match effect {
        Effect::Publish(signed) => {
            let message = signed.message();
            let is_receipt = matches!(message.form, Form::Call(Method::Receipt))
                && message.headers.session == headers.session;
            message.body().cloned().filter(|_| is_receipt)
        }
        _ => None,
    });
    if let Some(receipt) = receipt {
        expect["receipt"] = receipt;
    }
}

/// What came of an input that Bob's agent took, by the name of a member of `expect`.
pub fn what_follows(name: &str, log: &Log, bob: &Agent) -> Value {
    let before = stages::bob(log);
    let changed = |id: MessageId| {
        let state = |agent: &Agent| agent.node.sent().status(id).map(|out| out.state);
        let now = state(bob);
        now.filter(|now| Some(now) != state(&before).as_ref())
    };
    match name {
        "settles" => {
            let sent = sent_in(log).into_iter();
            let settled = sent.filter_map(|id| Some((id.to_string(), settled(&changed(id)?)?)));
            Value::Object(settled.collect::<Map<_, _>>())
        }
        "ended" => drafts_of(log)
            .into_iter()
            .filter_map(changed)
            .find_map(|state| settled(&state)?.get("reason").cloned())
            .unwrap_or(Value::Null),
        "session" => {
            let peer = "agent-carol".parse().unwrap();
            let session = bob.node.standing(&peer, at(NOW).now).session;
            session.map_or(Value::Null, |session| session.to_string().into())
        }
        _ => panic!("{name} is no member of expect"),
    }
}

fn settled(state: &State) -> Option<Value> {
    match state {
        State::Received => Some(json!({"state": "received"})),
        State::Unknown(_) => Some(json!({"state": "unknown"})),
        State::Refused(reason) | State::RefusedHere(reason) => {
            Some(json!({"state": "refused", "reason": reason}))
        }
        _ => None,
    }
}

/// The names of Bob's numbered messages.
fn sent_in(log: &Log) -> Vec<MessageId> {
    let known = knowledge(log);
    let history = known["history"].as_array().unwrap().iter();
    let sent = history.filter_map(|item| item.get("sent"));
    let headers = sent.map(|message| message["params"]["headers"].clone());
    let numbered = headers.filter(|headers| headers.get("sequence").is_some());
    numbered
        .map(|headers| headers["message-id"].as_str().unwrap().parse().unwrap())
        .collect()
}

fn drafts_of(log: &Log) -> Vec<MessageId> {
    let drafts = log.iter().filter_map(|(_, entry)| match entry {
        Entry::Draft(draft) => Some(draft.message_id),
        _ => None,
    });
    drafts.collect()
}

pub fn all(world: &World) -> Vec<Input> {
    let mut all = Vec::new();
    receipts(world, &mut all);
    flights(world, &mut all);
    answers(world, &mut all);
    others(world, &mut all);
    all
}

fn input(
    (name, about): (&'static str, &'static str),
    log: &'static str,
    (value, from): (Value, &Identity),
    follows: Vec<(&'static str, Value)>,
) -> Input {
    Input {
        name,
        about,
        log,
        bytes: sign(value, &from.signing),
        opened: None,
        follows,
    }
}

/// The hash of what Bob said under that number.
fn hash_under(log: &Log, number: u64) -> String {
    let known = knowledge(log);
    let history = known["history"].as_array().unwrap().iter();
    let mut sent = history.filter_map(|item| item.get("sent"));
    let found = sent.find(|message| message["params"]["headers"]["sequence"] == number);
    hash_of(found.unwrap().to_string().as_bytes()).to_string()
}

fn receipts(world: &World, all: &mut Vec<Input>) {
    let (more, alice) = (&world.more, identity("agent-alice", "alice"));
    let log = &world.logs["spoken"];
    let [first, second, third] = [0, 1, 2].map(|n| more.said[n].to_string());
    let hash = |number| hash_under(log, number);
    let received = json!({"state": "received"});
    let unknown = json!({"state": "unknown"});
    let refused = json!({"state": "refused", "reason": "capability-not-granted"});
    let lost = json!({&first: unknown, &second: unknown, &third: unknown});
    let another = Digest::of(&[b"another"]).to_string();
    let named = "capability-not-granted";
    for (name, past, ms, said, settles, about) in [
        (
            "receipt-of-everything",
            "spoken",
            NOW,
            json!({"through": 3, "hash": hash(3), "floor": 2}),
            json!({&first: received, &second: received, &third: received}),
            "every number up to `through` is settled",
        ),
        (
            "receipt-that-names-a-refusal",
            "spoken",
            NOW,
            json!({"through": 2, "hash": hash(2), "floor": 2, "except": [{"sequence": 1, "reason": named}]}),
            json!({&first: refused, &second: received}),
            "the exception has its reason, and the third message goes on waiting",
        ),
        (
            "receipt-beyond-what-was-sent",
            "spoken",
            NOW,
            json!({"through": 4, "hash": another, "floor": 2}),
            lost.clone(),
            "it does not fit: one side was restored from an old copy",
        ),
        (
            "receipt-of-another-message",
            "spoken",
            NOW,
            json!({"through": 2, "hash": another, "floor": 2}),
            lost.clone(),
            "it does not fit: another message had the number",
        ),
        (
            "receipt-whose-exception-is-of-another-message",
            "spoken",
            NOW,
            json!({"through": 3, "hash": hash(3), "floor": 2,
                   "except": [{"sequence": 2, "reason": "sequence-reuse", "hash": another}]}),
            lost,
            "it does not fit: under the second number another message was taken",
        ),
        (
            "receipt-that-falls",
            "receipted",
            NOW,
            json!({"through": 1, "hash": hash(1), "floor": 2}),
            json!({&third: unknown}),
            "it does not fit: an earlier receipt said more",
        ),
        (
            "receipt-from-before-the-last",
            "receipted",
            4_000,
            json!({"through": 3, "hash": hash(3), "floor": 2}),
            json!({}),
            "one that is not later than the last changes nothing",
        ),
    ] {
        let value = receipt(more.spoken, ms, &said);
        all.push(input(
            (name, about),
            past,
            (value, &alice),
            vec![("settles", settles)],
        ));
    }
    let renewed = alice_under(2, 2);
    let mut value = receipt(more.of_first_key, NOW, &json!({"through": 0, "floor": 2}));
    set("key-id", renewed.signing.public().id().to_string())(&mut value);
    let about = "of the session of an earlier key: the newest is taken as well";
    let name = "receipt-under-the-newest-key";
    all.push(input(
        (name, about),
        "two-keys",
        (value, &renewed),
        Vec::new(),
    ));
    let mut value = receipt(
        world.private_session,
        NOW,
        &json!({"through": 0, "floor": 2}),
    );
    set("expires-at", at(NOW - 1).now.to_string())(&mut value);
    set("timestamp", at(NOW - 2).now.to_string())(&mut value);
    let about = "a receipt does not expire";
    all.push(input(
        ("receipt-that-is-over", about),
        "private",
        (value, &alice),
        Vec::new(),
    ));
}

fn flights(world: &World, all: &mut Vec<Input>) {
    let (more, carol) = (&world.more, identity("agent-carol", "carol"));
    let session = session_of(&world.logs["flight-3-sent"], &more.trust);
    all.push(input(
        ("flight-4", "the session is the hash of all four flights"),
        "flight-3-sent",
        (more.trust.clone(), &carol),
        vec![("session", session)],
    ));
    let mut refusing = more.trust.clone();
    body("decision", "refused")(&mut refusing);
    all.push(input(
        (
            "flight-4-that-refuses",
            "B decides; what waited at A is refused",
        ),
        "flight-3-sent",
        (refusing, &carol),
        vec![("ended", json!("peer-refused")), ("session", Value::Null)],
    ));
    let newer = carol_of_another_version();
    all.push(input(
        (
            "flight-2-without-a-common-version",
            "the handshake ends on both sides",
        ),
        "announced-to-a-newer-agent",
        (flight_of_another_version(&more.verify), &newer),
        vec![
            ("ended", json!("version-unsupported")),
            ("session", Value::Null),
        ],
    ));
    all.push(input(
        ("flight-2", "the choice is the best common version"),
        "announced",
        (world.verify.clone(), &carol),
        Vec::new(),
    ));
    let alice = identity("agent-alice", "alice");
    all.push(input(
        (
            "flight-1-of-the-lower-agent-id",
            "both announced: the lower agent-id goes on as A, and the other answers as B",
        ),
        "announced-to-a-lower-id",
        (world.announce.clone(), &alice),
        Vec::new(),
    ));
    let crossing = |ms: i64| {
        let mut value = read(&super::late::crossing(
            &carol,
            &Faults::of(world).announce(|_| {}),
        ));
        set("timestamp", at(ms).now.to_string())(&mut value);
        value
    };
    all.push(input(
        (
            "flight-1-of-a-peer-that-lost-its-half",
            "later than its flight 2, which was taken: it begins anew, and is answered",
        ),
        "flight-3-sent",
        (crossing(5_000), &carol),
        Vec::new(),
    ));
    all.push(input(
        (
            "flight-1-of-an-agent-that-another-person-revoked",
            "a root key takes back certificates of its own principal alone",
        ),
        "carol-revoked-by-alice",
        (crossing(5_000), &carol),
        Vec::new(),
    ));
    let mut with_revocation = world.announce.clone();
    body("revocations", json!([revocation_of_alice_by_eve()]))(&mut with_revocation);
    all.push(input(
        (
            "flight-1-with-a-revocation-by-another-root",
            "one that does not count is passed over, and the flight judged as if it were absent",
        ),
        "acquainted",
        (with_revocation, &alice),
        Vec::new(),
    ));
}

/// H4 of the flights that Bob's log has, and this last one.
fn session_of(log: &Log, last: &Value) -> Value {
    let known = knowledge(log);
    let history = known["history"].as_array().unwrap().iter();
    let flights = history.filter_map(|item| item.get("came").or(item.get("sent")));
    let mut running = Digest::of(&[b"signet/1 handshake"]);
    for flight in flights.chain([last]) {
        let hash = hash_of(flight.to_string().as_bytes());
        running = Digest::of(&[running.as_bytes(), hash.as_bytes()]);
    }
    running.to_string().into()
}

/// An answer to what Bob asked in that past, changed and signed again.
fn answer(world: &World, past: &'static str, change: impl FnOnce(&mut Value)) -> Value {
    let asked = asked_in(&world.logs[past]);
    let session = match past {
        "public-only" => world.public_session,
        _ => world.private_session,
    };
    let call = said(session, Method::Request, 2, |value| {
        set("message-type", "response")(value);
        set("in-reply-to", asked.clone())(value);
        change(value);
    });
    let mut value = read(&call.bytes);
    let inner = value.as_object_mut().unwrap().remove("params").unwrap();
    json!({"jsonrpc": "2.0", "id": asked, "result": inner})
}

fn answers(world: &World, all: &mut Vec<Input>) {
    let alice = identity("agent-alice", "alice");
    let value = answer(world, "private", set("hops", 12));
    all.push(input(
        ("answer-of-the-twelfth-hop", "eight hops are for calls"),
        "private",
        (value, &alice),
        Vec::new(),
    ));
    let value = answer(world, "private", set("capability", "door.open"));
    all.push(input(
        (
            "answer-that-names-a-capability",
            "what was asked needs no grant to be answered",
        ),
        "private",
        (value, &alice),
        Vec::new(),
    ));
    let value = answer(world, "public-only", |_| {});
    all.push(input(
        ("answer-above-the-grant", "a grant's tier is for calls"),
        "public-only",
        (value, &alice),
        Vec::new(),
    ));
    let mut value = answer(world, "private", set("skill-layers-loaded", json!([0])));
    let mut inner = value.as_object_mut().unwrap().remove("result").unwrap();
    let members = inner.as_object_mut().unwrap();
    members.retain(|name, _| !matches!(name.as_str(), "body" | "summary"));
    members.insert("reason".into(), "declined".into());
    value["error"] = json!({"code": -32091, "message": "Not today.", "data": inner});
    all.push(input(
        (
            "answer-declined-with-layer-0-loaded",
            "an error asks for no layers",
        ),
        "private",
        (value, &alice),
        Vec::new(),
    ));
}

fn others(world: &World, all: &mut Vec<Input>) {
    let alice = identity("agent-alice", "alice");
    let ping = said(world.private_session, Method::Request, 1, |value| {
        set("capability", "signet.ping")(value);
        envelope(value).remove("summary");
    });
    let name = "ping";
    let about = "signet.ping needs no grant";
    all.push(Input {
        name,
        about,
        ..ping
    });
    let order = message(&alice, "agent-bob", Method::Revoke, "order", NOW);
    all.push(input(
        (
            "revocation-of-an-agent-that-nobody-knows",
            "kept all the same: it may come later",
        ),
        "acquainted",
        (order, &alice),
        Vec::new(),
    ));
    let after_gap = said(world.more.spoken, Method::Notification, 1, |value| {
        headers(value).insert("sequence".into(), 5.into());
    });
    let name = "number-after-a-gap";
    let about = "numbers 2 to 4 are missing, and the receipt stays below them";
    all.push(Input {
        name,
        about,
        log: "spoken",
        ..after_gap
    });
    let after_given_up = said(world.more.spoken, Method::Notification, 1, |value| {
        headers(value).insert("sequence".into(), 5.into());
    });
    let name = "number-after-those-given-up";
    let about = "numbers 2 to 4 were given up, and the receipt says that they never came";
    all.push(Input {
        name,
        about,
        log: "skipped",
        ..after_given_up
    });
}
