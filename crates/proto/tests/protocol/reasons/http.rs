//! Bodies that are posted to the inbox of Bob's agent: one message or an array of them, and polls with what is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use signet_proto::carrier::CarrierId;
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::envelope::{Method, Unverified};
use signet_proto::ids::{MessageId, Version};
use signet_proto::node::{Disposition, Judged, Outcome};

use super::faults::{Faults, NOW, set};
use super::published::said;
use super::stages::{self, World};
use crate::forge::{headers, id, message, read, reason, sign};
use crate::household::keeper::Keeper;
use crate::household::{Agent, at, identity};

/// When the recipient's agent was started, before which no poll is taken.
const STARTED: i64 = 5_000;
/// In the files: no agent takes an array of more messages than this.
const MOST: usize = 128;

/// One body, and what has to come of it.
struct Post {
    ms: i64,
    body: Vec<u8>,
    /// The messages in it; `None` when it is too much.
    cut: Option<Vec<Vec<u8>>>,
    /// What is said of each.
    judged: Vec<Value>,
    /// The messages of the response; `None` when it has no body.
    answer: Option<Vec<Value>>,
}

/// Several bodies one after another, what is kept before, and what it is about.
struct Exchange {
    about: &'static str,
    log: &'static str,
    kept: Vec<Vec<u8>>,
    posts: Vec<Post>,
}

fn accepted() -> Value {
    json!({"verdict": "accepted"})
}

fn rejected(reason: &str) -> Value {
    json!({"verdict": "rejected", "reason": reason})
}

/// Over a budget, or a poll that is not taken: no line, and nothing in the response.
fn counted() -> Value {
    json!({"verdict": "counted"})
}

fn served(after: Option<MessageId>) -> Value {
    let after = after.map(|after| after.to_string());
    json!({"verdict": "served", "after": after})
}

/// One message by itself.
fn one(ms: i64, body: Vec<u8>, judged: Value) -> Post {
    Post {
        ms,
        cut: Some(vec![body.clone()]),
        body,
        judged: vec![judged],
        answer: None,
    }
}

/// Text around these messages.
fn framed(text: &str, messages: &[&[u8]], judged: Vec<Value>) -> Post {
    let mut body = text.to_owned();
    for bytes in messages {
        body = body.replacen('%', std::str::from_utf8(bytes).unwrap(), 1);
    }
    Post {
        ms: NOW,
        body: body.into_bytes(),
        cut: Some(messages.iter().map(|bytes| bytes.to_vec()).collect()),
        judged,
        answer: None,
    }
}

fn answered(post: Post, kept: &[Vec<u8>]) -> Post {
    let answer = kept
        .iter()
        .map(|bytes| String::from_utf8(bytes.clone()).unwrap());
    Post {
        answer: Some(answer.map(Value::from).collect()),
        ..post
    }
}

/// A poll of that agent's for Bob's, changed and signed again.
fn poll(
    of: &Identity,
    ms: i64,
    last: Option<MessageId>,
    change: impl FnOnce(&mut Value),
) -> Vec<u8> {
    let body = match last {
        Some(last) => json!({"after": last.to_string()}),
        None => json!({}),
    };
    let mut draft = Draft::call(
        Method::Poll,
        "agent-bob".parse().unwrap(),
        id(&format!("poll {ms}")),
        body,
    );
    draft.life = std::time::Duration::from_secs(60);
    let stamp = Stamp {
        now: at(ms).now,
        session: None,
        sequence: None,
        audit_head: None,
        version: Version::CURRENT,
    };
    let mut value = read(draft.sign(of, stamp).unwrap().bytes());
    change(&mut value);
    sign(value, &of.signing)
}

/// What Bob's agent said to that peer: this is kept when the peer can only dial out.
fn of_bob(to: &str, name: &str) -> Vec<u8> {
    let bob = identity("agent-bob", "bob");
    sign(
        message(&bob, to, Method::Notification, name, 0),
        &bob.signing,
    )
}

fn name_of(bytes: &[u8]) -> MessageId {
    Unverified::parse(bytes)
        .unwrap()
        .claims()
        .headers
        .message_id
}

/// Every exchange by its name, as its file has it.
pub fn exchanges(world: &World) -> BTreeMap<&'static str, Value> {
    let all = all(world).into_iter();
    all.map(|(name, exchange)| (name, described(&exchange)))
        .collect()
}

fn described(exchange: &Exchange) -> Value {
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    let post = |post: &Post| {
        let mut value = json!({"now": at(post.ms).now.to_string(), "body": text(&post.body)});
        let status = match (&post.cut, &post.answer) {
            (None, _) => 413,
            (_, Some(_)) => 200,
            _ => 202,
        };
        value["expect"] = json!({"status": status});
        if let Some(cut) = &post.cut {
            value["expect"]["messages"] = cut.iter().map(text).collect();
            value["expect"]["judged"] = post.judged.clone().into();
        }
        if let Some(answer) = &post.answer {
            value["expect"]["answer"] = answer.clone().into();
        }
        value
    };
    json!({
        "about": exchange.about,
        "knowledge": exchange.log,
        "started": at(STARTED).now.to_string(),
        "kept": exchange.kept.iter().map(text).collect::<Vec<_>>(),
        "posts": exchange.posts.iter().map(post).collect::<Vec<_>>(),
    })
}

fn all(world: &World) -> Vec<(&'static str, Exchange)> {
    let mut all = framing(world);
    all.push(("poll-and-what-is-kept", what_is_kept()));
    all.extend(polls(world));
    all
}

fn framing(world: &World) -> Vec<(&'static str, Exchange)> {
    let session = world.private_session;
    let said = |n: u64| {
        said(session, Method::Notification, 1, |value| {
            headers(value).insert("sequence".into(), n.into());
            let name = id(&format!("message {n}")).to_string();
            set("message-id", name)(value);
        })
        .bytes
    };
    let [two, three] = [2, 3].map(said);
    let texts = super::published::said(session, Method::Notification, 1, |value| {
        value["params"]["body"] = json!({"a, ]}": "b\", [{\\", "c": [["],"], {}]});
    })
    .bytes;
    let faults = Faults::of(world);
    let misled = faults.request(set("recipient-id", "agent-carol"));
    let mut forged = two.clone();
    let place = forged.len() - 20;
    forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
    let exchange = |about, posts| Exchange {
        about,
        log: "private",
        kept: Vec::new(),
        posts,
    };
    let ok = accepted;
    vec![
        (
            "one-message",
            exchange(
                "its bytes are the body's, and a copy is told nothing else",
                vec![
                    one(NOW, two.clone(), ok()),
                    one(NOW, two.clone(), rejected("duplicate")),
                ],
            ),
        ),
        (
            "an-array-of-two",
            exchange(
                "framing and no batch: each is judged by itself, in its order; white space around them is nothing",
                vec![framed(" [%,\n %\t]\r\n", &[&two, &three], vec![ok(), ok()])],
            ),
        ),
        (
            "an-array-of-one-whose-texts-look-like-its-end",
            exchange(
                "commas, brackets and quotes in texts are text",
                vec![framed("[%]", &[&texts], vec![ok()])],
            ),
        ),
        (
            "an-array-of-nothing",
            exchange("nobody is judged", vec![framed("[ ]", &[], Vec::new())]),
        ),
        (
            "an-array-with-one-that-is-forged",
            exchange(
                "the others are judged all the same, and the response says nothing of it",
                vec![framed(
                    "[%,%]",
                    &[&forged, &three],
                    vec![rejected("signature-invalid"), ok()],
                )],
            ),
        ),
        (
            "an-array-in-an-array",
            exchange(
                "an element that is an array is no message",
                vec![framed(
                    "[%]",
                    &[&[b"[", &two[..], b"]"].concat()],
                    vec![rejected("batch-unsupported")],
                )],
            ),
        ),
        (
            "an-array-that-is-cut-off",
            exchange(
                "what is whole is judged, and the rest is an element that is none",
                vec![framed(
                    "[%,%",
                    &[&two, b"{\"jsonrpc\":"],
                    vec![ok(), rejected("malformed-json")],
                )],
            ),
        ),
        (
            "an-array-with-something-behind-it",
            exchange(
                "the rest is an element that is none",
                vec![framed(
                    "[%] %",
                    &[&two, b"null,null"],
                    vec![ok(), rejected("malformed-json")],
                )],
            ),
        ),
        (
            "an-array-that-begins-with-a-comma",
            exchange(
                "nothing is no message, and hides none",
                vec![framed(
                    "[%,%]",
                    &[b"", &two],
                    vec![rejected("malformed-json"), ok()],
                )],
            ),
        ),
        (
            "an-array-of-a-hundred-and-twenty-nine",
            exchange(
                "more than one body holds: none of it is judged",
                vec![Post {
                    ms: NOW,
                    body: format!("[{}{{}}]", "{},".repeat(MOST)).into_bytes(),
                    cut: None,
                    judged: Vec::new(),
                    answer: None,
                }],
            ),
        ),
        (
            "a-message-for-another-agent",
            exchange(
                "it is refused, and the response is that of one that is taken",
                vec![one(NOW, misled, rejected("wrong-recipient"))],
            ),
        ),
        (
            "a-message-of-a-stranger",
            exchange(
                "the response is the same",
                vec![one(
                    NOW,
                    faults.request(set("agent-id", "agent-zoe")),
                    rejected("agent-unknown"),
                )],
            ),
        ),
    ]
}

fn what_is_kept() -> Exchange {
    let alice = identity("agent-alice", "alice");
    let [first, second] = ["first", "second"].map(|name| of_bob("agent-alice", name));
    let foreign = of_bob("agent-carol", "for another");
    let ask =
        |ms: i64, last: Option<MessageId>| one(ms, poll(&alice, ms, last, |_| {}), served(last));
    let (all, rest) = ([first.clone(), second.clone()], [second.clone()]);
    let (one_of_two, both) = (name_of(&first), name_of(&second));
    let again = one(NOW + 1_000, poll(&alice, NOW, None, |_| {}), counted());
    let unknown = id("nobody's");
    Exchange {
        about: "a poll takes nothing away, a copy of one is given nothing, and `after` takes away what it names and those \
                before it; what is kept for another peer is for that one alone",
        log: "acquainted",
        kept: vec![first, foreign, second],
        posts: vec![
            answered(ask(NOW, None), &all),
            again,
            answered(ask(NOW + 2_000, None), &all),
            answered(ask(NOW + 3_000, Some(unknown)), &all),
            answered(ask(NOW + 4_000, Some(one_of_two)), &rest),
            ask(NOW + 5_000, Some(both)),
            ask(NOW + 6_000, Some(one_of_two)),
        ],
    }
}

/// Each breaks one rule; the next honest one is served.
fn polls(world: &World) -> Vec<(&'static str, Exchange)> {
    let alice = identity("agent-alice", "alice");
    let carol = identity("agent-carol", "carol");
    let eve = identity("agent-eve", "eve");
    let kept = of_bob("agent-alice", "kept");
    let honest = |ms: i64| {
        let post = one(ms, poll(&alice, ms, None, |_| {}), served(None));
        answered(post, std::slice::from_ref(&kept))
    };
    let exchange = |about, posts: Vec<Post>| Exchange {
        about,
        log: "acquainted",
        kept: vec![kept.clone()],
        posts: posts.into_iter().chain([honest(NOW + 10_000)]).collect(),
    };
    let changed = |change: &dyn Fn(&mut Value)| poll(&alice, NOW, None, |value| change(value));
    let until = |ms: i64| at(ms).now.to_string();
    let mut all = Vec::new();
    for (name, about, input) in [
        (
            "poll-in-a-session",
            "a poll is in no session",
            changed(&|value| set("session", "A".repeat(43))(value)),
        ),
        (
            "poll-with-a-number",
            "it uses up none",
            changed(&|value| set("sequence", 1)(value)),
        ),
        (
            "poll-of-tier-3",
            "there is nothing to seal",
            changed(&|value| set("data-tier", 3)(value)),
        ),
        (
            "poll-of-a-minute-and-a-moment",
            "it lives 60 s at most",
            changed(&|value| set("expires-at", until(NOW + 60_001))(value)),
        ),
        (
            "poll-that-ends-when-it-begins",
            "it lives longer than no time",
            changed(&|value| {
                set("timestamp", until(NOW + 2))(value);
                set("expires-at", until(NOW + 2))(value);
            }),
        ),
        (
            "poll-that-is-over",
            "its end has come",
            changed(&|value| {
                set("timestamp", until(NOW - 1_000))(value);
                set("expires-at", until(NOW))(value);
            }),
        ),
        (
            "poll-from-a-minute-and-a-moment-ahead",
            "somebody's clock is wrong",
            changed(&|value| {
                set("timestamp", until(NOW + 60_001))(value);
                set("expires-at", until(NOW + 60_002))(value);
            }),
        ),
        (
            "poll-from-before-the-start",
            "what was polled before the start is not remembered: it may be a copy",
            poll(&alice, STARTED, None, |_| {}),
        ),
    ] {
        all.push((name, exchange(about, vec![one(NOW, input, counted())])));
    }
    let mut late = vec![honest(NOW + 1)];
    late.push(one(NOW + 2, poll(&alice, NOW, None, |_| {}), counted()));
    all.push((
        "poll-from-before-the-last",
        exchange("timestamps of polls rise", late),
    ));
    for (name, about, input, reason) in [
        (
            "poll-by-eve",
            "Alice's names and key-id, Eve's key",
            sign(read(&poll(&alice, NOW, None, |_| {})), &eve.signing),
            "signature-invalid",
        ),
        (
            "poll-of-a-stranger",
            "nothing is kept for whom nobody knows",
            poll(&carol, NOW, None, |_| {}),
            "agent-unknown",
        ),
        (
            "poll-for-another-agent",
            "who keeps for Alice elsewhere is asked there",
            changed(&|value| set("recipient-id", "agent-carol")(value)),
            "wrong-recipient",
        ),
        (
            "poll-that-says-more",
            "its body has `after` or nothing",
            changed(&|value| value["params"]["body"] = json!({"limit": 9})),
            "invalid-shape",
        ),
    ] {
        let post = one(NOW, input, rejected(reason));
        all.push((name, exchange(about, vec![post])));
    }
    let ask = poll(&alice, NOW, None, |_| {});
    let in_array = framed("[%]", &[&ask], vec![served(None)]);
    let beside = Faults::of(world).request(|_| {});
    let beside = framed(
        "[%,%]",
        &[&beside, &ask],
        vec![rejected("handshake-required"), served(None)],
    );
    let about = "it is taken, and gets nothing: what is kept is the answer to a poll alone";
    all.push(("poll-beside-another-message", exchange(about, vec![beside])));
    let about = "an array of one is that one";
    let in_array = answered(in_array, std::slice::from_ref(&kept));
    all.push(("poll-in-an-array", exchange(about, vec![in_array])));
    all
}

/// What Bob's agent says of a message that came by HTTP.
fn judge(bob: &mut Agent, ms: i64, bytes: &[u8]) -> (Value, Outcome) {
    let judged = Judged::of(bytes, bob.node.trust()).by(CarrierId::HTTP);
    let outcome = bob.node.turn(at(ms)).handle_inbound(judged);
    let said = match (&outcome.polled, outcome.ruled) {
        (Some(polled), _) => served(polled.after),
        (None, Some(Disposition::Counted)) => counted(),
        (None, Some(Disposition::Accepted)) => accepted(),
        (None, _) => rejected(reason(&outcome.entries).unwrap().name()),
    };
    (said, outcome)
}

#[test]
fn what_is_posted_is_judged_and_answered_as_the_files_say() {
    let world = stages::build();
    for (name, exchange) in all(&world) {
        let mut bob = stages::bob(&world.logs[exchange.log]);
        let outcome = bob.node.turn(at(STARTED)).resume();
        bob.keep(at(STARTED), outcome);
        let mut keeper = Keeper::default();
        for bytes in &exchange.kept {
            let message = Unverified::parse(bytes).unwrap();
            let headers = &message.claims().headers;
            keeper.put(
                &headers.recipient_id,
                headers.message_id,
                Arc::from(&bytes[..]),
            );
        }
        for (n, post) in exchange.posts.iter().enumerate() {
            let mut given = Vec::new();
            let messages = post.cut.iter().flatten();
            let judged = messages.map(|bytes| {
                let (said, outcome) = judge(&mut bob, post.ms, bytes);
                given = outcome
                    .polled
                    .as_ref()
                    .map_or_else(Vec::new, |polled| keeper.give(polled));
                bob.keep(at(post.ms), outcome);
                said
            });
            assert_eq!(judged.collect::<Vec<_>>(), post.judged, "{name}: {n}");
            if post.cut.iter().flatten().count() != 1 {
                given.clear();
            }
            let given = given
                .iter()
                .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap().into());
            let expected = post.answer.clone().unwrap_or_default();
            assert_eq!(given.collect::<Vec<Value>>(), expected, "{name}: {n}");
        }
    }
}
