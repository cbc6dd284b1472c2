//! Chains of mandates, and words about tasks: for each rule of docs/protocol.md, section 14, an input that breaks it alone,
//! beside the chains and words that are taken.

use serde_json::{Value, json};
use signet_json::canonical;
use signet_proto::draft::Identity;
use signet_proto::envelope::{Method, Unverified};
use signet_proto::handoff::Limits;
use signet_proto::ids::{Digest, SessionId};
use signet_proto::keys::Purpose;
use signet_proto::node::{Handing, Sending};
use signet_proto::reject::Reason;

use super::faults::{DAY, Fault, Faults, NOW, set};
use super::histories::alice_under;
use super::late::time;
use super::published::Input;
use super::stages::{self, Log, World, then};
use crate::forge::{envelope, id, in_session, read, recipient, sign as sign_message};
use crate::household::people::{announce, revocation};
use crate::household::tasks::sign;
use crate::household::{at, identity, identity_under, identity_with, key};

const HOUR: i64 = 3_600_000;

/// What inputs need to know of the pasts with tasks.
pub struct Begun {
    /// The task that Bob gave to Alice, and the message-id of his handoff.
    pub task: String,
    pub offer: String,
    /// The same, where Bob knows Carol too.
    pub beside_carol: String,
}

/// A chain that is honest, and what is changed of it.
struct Steps(Vec<(Identity, Value)>);

impl Steps {
    /// A step of each of these to the next, and of the last to Bob.
    fn of(givers: Vec<Identity>, task: &str) -> Self {
        let names = givers.iter().map(|giver| giver.agent().to_string());
        let to: Vec<String> = names.skip(1).chain(["agent-bob".to_owned()]).collect();
        let depth = givers.len();
        let steps = givers.into_iter().zip(to).enumerate();
        let steps = steps.map(|(place, (giver, to))| {
            let mandate = json!({
                "type": "handoff", "task": task, "from": giver.agent().as_str(), "to": to,
                "capabilities": ["calendar.read"], "tier": 2, "depth": depth - place,
                "not-after": time(DAY), "issued-at": time(NOW),
            });
            (giver, mandate)
        });
        Self(steps.collect())
    }

    /// The chain, each mandate changed before it is signed and named by the next.
    fn signed(self, change: impl Fn(usize, &mut Value)) -> Vec<Value> {
        let mut links: Vec<Value> = Vec::new();
        for (place, (giver, mut mandate)) in self.0.into_iter().enumerate() {
            if let Some(before) = links.last() {
                let hash = Digest::of(&[&canonical(&before["mandate"])]);
                mandate["parent"] = hash.to_string().into();
            }
            change(place, &mut mandate);
            let mandate = sign(mandate, &giver.signing, Purpose::Handoff);
            let certificate = giver.certificate.to_value();
            links.push(json!({"mandate": mandate, "certificate": certificate}));
        }
        links
    }
}

fn alice() -> Identity {
    identity("agent-alice", "alice")
}

fn sister() -> Identity {
    identity("agent-alice-2", "alice")
}

/// Alice's second agent gives to her first, and that one to Bob.
fn two() -> Steps {
    Steps::of(vec![sister(), alice()], &id("task").to_string())
}

/// Alice's handoff to Bob in a session, under that number.
fn handed(of: &Identity, place: (SessionId, u64), chain: Vec<Value>) -> Value {
    let method = Method::Handoff;
    // A second handoff in the session needs another name than the first: otherwise it would be refused as a reused
    // message-id.
    let name = if place.1 == 2 { "input" } else { "again" };
    let mut value = in_session(of, "agent-bob", method, name, NOW, Some(place));
    let task = chain.last().unwrap()["mandate"]["task"].clone();
    set("conversation-id", task.clone())(&mut value);
    set("expires-at", time(DAY))(&mut value);
    let body = json!({"task": task, "goal": "Find an evening", "chain": chain});
    envelope(&mut value).insert("body".into(), body);
    value
}

/// Alice's word in a session of hers with Bob about a task that he gave her.
fn report(session: SessionId, ms: i64, task: &str, state: &str) -> Value {
    let (from, place) = (alice(), Some((session, 2)));
    let method = Method::Notification;
    let mut value = in_session(&from, "agent-bob", method, "input", ms, place);
    set("capability", "signet.task")(&mut value);
    let body = json!({"task": task, "state": state});
    envelope(&mut value).insert("body".into(), body);
    value
}

/// Alice's answer to Bob's handoff.
fn decision(session: SessionId, offer: &str, body: Value) -> Value {
    let (from, place) = (alice(), Some((session, 2)));
    let mut value = in_session(&from, "agent-bob", Method::Request, "input", NOW, place);
    set("message-type", "response")(&mut value);
    set("in-reply-to", offer)(&mut value);
    set("hops", 2)(&mut value);
    let mut inner = value["params"].take();
    inner["body"] = body;
    inner.as_object_mut().unwrap().remove("summary");
    json!({"jsonrpc": "2.0", "id": offer, "result": inner})
}

/// The pasts, and what inputs need to know of them.
pub fn build(
    session_log: &Log,
    session: SessionId,
    two_peers: &Log,
) -> (Vec<(&'static str, Log)>, Begun) {
    let newer = || identity_with("agent-alice-2", "alice", 2, |_| {});
    let bound = |log: &Log, of: Identity| {
        then(log.clone(), |bob| {
            bob.node.turn(at(2)).people().bind(&of.certificate).unwrap()
        })
    };
    let withdrawn = |log: Log| {
        then(log, |bob| {
            bob.node
                .turn(at(3))
                .people()
                .withdraw(&recipient("agent-alice-2"))
                .unwrap()
        })
    };
    let known = bound(session_log, sister());
    let revoked = then(known.clone(), |bob| {
        let lost = revocation("alice", "agent-alice-2", 1);
        bob.node.turn(at(3)).people().revoke(&lost).unwrap()
    });
    let refused = then(session_log.clone(), |bob| {
        let flight = announce(sister, bob, 0);
        bob.hear(at(0), &flight);
        let agent = recipient("agent-alice-2");
        bob.node.turn(at(0)).people().refuse(&agent, None).unwrap()
    });
    let renewed = bound(&known, newer());
    let given = hears(
        session_log,
        sign_message(
            handed(&alice(), (session, 2), given_at(1_000)),
            &alice().signing,
        ),
    );
    let declined = then(given.clone(), |bob| {
        let task = bob.node.tasks().iter().next().unwrap().id();
        bob.node
            .turn(at(3_000))
            .tasks()
            .decline(task, "Not today.".into())
            .unwrap()
            .1
    });
    let (begun, task, offer) = begins(session_log);
    let ended = hears(
        &begun,
        sign_message(report_before(session, &task), &alice().signing),
    );
    let (beside_carol, of_alice, _) = begins(two_peers);
    let logs = vec![
        ("sister-known", known.clone()),
        ("sister-revoked", revoked),
        ("sister-withdrawn", withdrawn(known)),
        ("sister-renewed", bound(session_log, newer())),
        ("sister-known-and-renewed", renewed.clone()),
        ("sister-renewed-and-withdrawn", withdrawn(renewed)),
        ("sister-refused", refused),
        (
            "two-of-alice",
            bound(&stages::knows(&alice().certificate), sister()),
        ),
        ("task-given", given),
        ("task-declined", declined),
        ("task-begun", begun),
        ("task-ended", ended),
        ("task-begun-beside-carol", beside_carol),
    ];
    let begun = Begun {
        task,
        offer,
        beside_carol: of_alice,
    };
    (logs, begun)
}

/// The chain by which the task was given at that moment.
fn given_at(ms: i64) -> Vec<Value> {
    two().signed(|_, mandate| mandate["issued-at"] = time(ms).into())
}

fn report_before(session: SessionId, task: &str) -> Value {
    report(session, 4_000, task, "completed")
}

/// What Alice said before.
fn hears(log: &Log, bytes: Vec<u8>) -> Log {
    let mut bob = stages::bob(log);
    let ms = 5_000;
    bob.hear(at(ms), &bytes);
    assert_eq!(bob.refusals(), Vec::<&str>::new());
    log.iter().cloned().chain(bob.log).collect()
}

/// Bob gives Alice a task, for a day and within calendar.read.
fn begins(log: &Log) -> (Log, String, String) {
    let mut bob = stages::bob(log);
    let handing = Handing {
        goal: "Find an evening".into(),
        limits: Limits {
            capabilities: crate::household::tasks::names(&["calendar.read"]),
            tier: Some(2),
            ..Limits::default()
        },
        ..Handing::default()
    };
    let sending = Sending::Handoff(Box::new(handing));
    let sent = bob
        .node
        .turn(at(3))
        .sent()
        .send(&recipient("agent-alice"), sending)
        .unwrap();
    let (offer, outcome) = (sent.id, sent.outcome);
    bob.keep(at(3), outcome);
    let task = bob.node.tasks().iter().next().unwrap().id().to_string();
    let log = log.iter().cloned().chain(bob.log).collect();
    (log, task, offer.to_string())
}

fn input(name: &'static str, about: &'static str, log: &'static str, bytes: Vec<u8>) -> Input {
    Input {
        name,
        about,
        log,
        bytes,
        opened: None,
        follows: Vec::new(),
    }
}

/// What is taken.
pub fn accepted(world: &World) -> Vec<Input> {
    let (session, hers) = (world.session, alice().signing);
    let number = |n| (session, n);
    let taken = |chain, place| sign_message(handed(&alice(), place, chain), &hers);
    let begun = &world.begun;
    let word = |task: &str, state: &str| sign_message(report(session, NOW, task, state), &hers);
    let yes = json!({"task": begun.task, "decision": "accepted"});
    let old_and_new = alice_under(2, 2);
    vec![
        input(
            "handoff-of-one-step",
            "who began the task gives it",
            "session",
            taken(one().signed(|_, _| {}), number(2)),
        ),
        input(
            "handoff-of-two-steps",
            "Alice's second agent, whom nobody knows, gives to her first, and that one to Bob",
            "session",
            taken(two().signed(|_, _| {}), number(2)),
        ),
        input(
            "handoff-of-three-steps",
            "each gives less than it has",
            "two-peers",
            sign_message(
                handed(
                    &alice(),
                    (world.more.with_alice, 2),
                    three().signed(|_, _| {}),
                ),
                &hers,
            ),
        ),
        input(
            "handoff-that-gives-less",
            "fewer capabilities, a lower tier, a nearer end",
            "session",
            sign_message(less(number(2)), &hers),
        ),
        input(
            "handoff-under-an-older-certificate-that-is-known",
            "the newest is another, and this one is known as well",
            "sister-known-and-renewed",
            taken(two().signed(|_, _| {}), number(2)),
        ),
        input(
            "handoff-under-the-key-that-signed-the-message",
            "Alice's second key signed both",
            "two-keys",
            sign_message(
                handed(
                    &old_and_new,
                    (world.more.of_second_key, 2),
                    Steps::of(vec![alice_under(2, 2)], &id("task").to_string()).signed(|_, _| {}),
                ),
                &old_and_new.signing,
            ),
        ),
        input(
            "handoff-after-the-one-before-was-declined",
            "the same task by a later mandate",
            "task-declined",
            taken(given_at(6_000), number(3)),
        ),
        input(
            "handoff-accepted",
            "the success takes the task",
            "task-begun",
            sign_message(decision(session, &begun.offer, yes), &hers),
        ),
        input(
            "report-on-a-task",
            "its holder tells its giver how it goes",
            "task-begun",
            word(&begun.task, "working"),
        ),
    ]
}

/// Alice gives a task to Bob.
fn one() -> Steps {
    Steps::of(vec![alice()], &id("task").to_string())
}

/// Carol's agent gives to Alice's second, that one to her first, and that one to Bob.
fn three() -> Steps {
    Steps::of(
        vec![identity("agent-carol", "carol"), sister(), alice()],
        &id("task").to_string(),
    )
}

fn less(place: (SessionId, u64)) -> Value {
    let chain = two().signed(|step, mandate| {
        if step == 1 {
            mandate["capabilities"] = json!([]);
            mandate["tier"] = 1.into();
            mandate["depth"] = 0.into();
            mandate["not-after"] = time(HOUR).into();
        }
    });
    let mut value = handed(&alice(), place, chain);
    set("expires-at", time(HOUR))(&mut value);
    value
}

impl Faults<'_> {
    /// One rule of a chain each, by the rule's number.
    pub fn in_chains(&mut self) {
        self.chains_that_say_otherwise();
        self.chains_of_whom_nobody_knows();
        self.chains_out_of_time();
        self.chains_badly_linked();
        self.chains_used_before();
        self.words_about_tasks();
    }

    fn chain(
        &mut self,
        name: &'static str,
        log: &'static str,
        chain: Vec<Value>,
        about: &'static str,
    ) -> &mut Fault {
        let value = handed(&alice(), (self.world.session, 2), chain);
        let input = sign_message(value, &self.alice.signing);
        self.add(name, Reason::MandateInvalid, log, input, about)
    }

    fn chains_that_say_otherwise(&mut self) {
        for (name, about, change) in [
            (
                "v12-handoff-with-a-member-too-many",
                "rule 1: the body fits its schema",
                &(|value: &mut Value| envelope(value)["body"]["note"] = 1.into())
                    as &dyn Fn(&mut Value),
            ),
            (
                "v12-handoff-whose-body-names-another-task",
                "rule 1: it is the task of the last mandate",
                &|value| envelope(value)["body"]["task"] = id("another task").to_string().into(),
            ),
            (
                "v12-handoff-in-another-conversation",
                "rule 1: the conversation is the task",
                &|value| set("conversation-id", "dinner-1")(value),
            ),
        ] {
            let mut value = handed(&alice(), (self.world.session, 2), two().signed(|_, _| {}));
            change(&mut value);
            let input = sign_message(value, &self.alice.signing);
            self.add(name, Reason::MandateInvalid, "session", input, about);
        }
        let twin = identity_with("agent-alice-2", "alice", 1, |request| {
            request.signing_key = alice().signing.public().clone();
        });
        let of_twin = Identity {
            signing: alice().signing,
            ..twin
        };
        let chain = Steps::of(vec![of_twin], &id("task").to_string()).signed(|_, _| {});
        self.chain(
            "v12-handoff-given-by-the-sender-s-sister",
            "session",
            chain,
            "rule 2: her second agent has the same key, and the mandate is not the sender's",
        );
        let chain = Steps::of(vec![alice_under(1, 1)], &id("task").to_string()).signed(|_, _| {});
        let value = handed(
            &alice_under(2, 2),
            (self.world.more.of_second_key, 2),
            chain,
        );
        let input = sign_message(value, &alice_under(2, 2).signing);
        self.add(
            "v12-handoff-under-another-key-than-the-message",
            Reason::MandateInvalid,
            "two-keys",
            input,
            "rule 2: Alice's older key signed the mandate, and is known still",
        );
    }

    fn chains_of_whom_nobody_knows(&mut self) {
        let first = |giver: Identity| {
            Steps::of(vec![giver, alice()], &id("task").to_string()).signed(|_, _| {})
        };
        let mut forged = two().signed(|_, _| {});
        forged[0]["certificate"]["layers"] = json!([0]);
        self.chain(
            "v12-handoff-by-a-certificate-that-was-forged",
            "session",
            forged,
            "rule 3: the root's signature does not hold",
        );
        self.chain(
            "v12-handoff-by-an-agent-of-an-unknown-person",
            "session",
            first(identity("agent-dave", "dave")),
            "rule 3: nobody knows Dave's root key",
        );
        self.chain(
            "v12-handoff-by-an-agent-under-another-root",
            "session",
            first(identity_under(
                "root of eve",
                "agent-alice-2",
                "alice",
                1,
                |_| {},
            )),
            "rule 3: Alice is known, with another root key",
        );
        let taken = first(identity_under(
            "root of alice",
            "agent-carol",
            "alice",
            9,
            |_| {},
        ));
        let value = handed(&alice(), (self.world.more.with_alice, 2), taken);
        let input = sign_message(value, &self.alice.signing);
        self.add(
            "v12-handoff-by-an-agent-id-that-is-another-person-s",
            Reason::MandateInvalid,
            "two-peers",
            input,
            "rule 3: Alice's root key certifies it, and it is known as Carol's",
        );
        for (name, log, about) in [
            (
                "v12-handoff-by-an-agent-that-was-revoked",
                "sister-revoked",
                "rule 3: its root key took it back",
            ),
            (
                "v12-handoff-by-an-agent-that-was-withdrawn",
                "sister-withdrawn",
                "rule 3: nobody here trusts it any more",
            ),
            (
                "v12-handoff-by-an-agent-that-was-refused",
                "sister-refused",
                "rule 3: the person refused it under this root key",
            ),
            (
                "v12-handoff-by-an-older-certificate",
                "sister-renewed",
                "rule 3: only the newer one is known",
            ),
            (
                "v12-handoff-by-a-known-certificate-of-an-agent-that-was-withdrawn",
                "sister-renewed-and-withdrawn",
                "rule 3: an older certificate that is known helps no agent that nobody trusts any more",
            ),
        ] {
            self.chain(name, log, two().signed(|_, _| {}), about);
        }
    }

    fn chains_out_of_time(&mut self) {
        let told = |step: usize, member: &'static str, ms: i64| {
            two().signed(move |place, mandate| {
                if place == step {
                    mandate[member] = time(ms).into();
                }
            })
        };
        self.chain(
            "v12-handoff-issued-before-its-certificate",
            "session",
            told(1, "issued-at", -2 * HOUR),
            "rule 4: the certificate begins an hour later",
        );
        self.chain(
            "v12-handoff-issued-a-minute-and-a-moment-ahead",
            "session",
            told(1, "issued-at", NOW + 60_001),
            "rule 4: somebody's clock is wrong",
        );
        self.chain("v12-handoff-whose-first-mandate-is-over", "session", told(0, "not-after", NOW + 5_000),
            "rule 4: what it comes from has ended; that the second lasts longer, which rule 9 refuses, is said later")
            .ms = NOW + 6_000;
        let mut value = handed(&alice(), (self.world.session, 2), two().signed(|_, _| {}));
        set("expires-at", time(DAY + 1))(&mut value);
        let input = sign_message(value, &self.alice.signing);
        self.add(
            "v12-handoff-that-lives-longer-than-its-mandate",
            Reason::MandateInvalid,
            "session",
            input,
            "rule 4: nobody may take the task after its end",
        );
        let wide = two().signed(|place, mandate| {
            if place == 1 {
                mandate["tier"] = 3.into();
            }
        });
        let mut value = handed(&alice(), (self.world.session, 2), wide);
        set("expires-at", time(DAY + 1))(&mut value);
        let input = sign_message(value, &self.alice.signing);
        self.add(
            "v12-handoff-that-widens-and-lives-longer-than-its-mandate",
            Reason::MandateInvalid,
            "session",
            input,
            "two faults: rules 1 to 8 speak before rule 9",
        );
        let long = one().signed(|_, mandate| mandate["not-after"] = time(31 * DAY).into());
        self.chain(
            "v12-handoff-of-one-mandate-of-thirty-one-days",
            "session",
            long,
            "a mandate lasts thirty days at most",
        );
        let chain = one().signed(|_, mandate| {
            mandate["issued-at"] = time(NOW + 30_000).into();
            mandate["not-after"] = time(NOW + 20_000).into();
        });
        let mut value = handed(&alice(), (self.world.session, 2), chain);
        set("expires-at", time(NOW + 15_000))(&mut value);
        let input = sign_message(value, &self.alice.signing);
        self.add(
            "v12-handoff-of-a-mandate-that-ends-before-it-begins",
            Reason::MandateInvalid,
            "session",
            input,
            "a mandate ends after it was signed",
        );
    }

    fn chains_badly_linked(&mut self) {
        let mut other = two().signed(|_, _| {});
        let brother = identity_with("agent-alice-3", "alice", 1, |request| {
            request.signing_key = sister().signing.public().clone();
        });
        other[0]["certificate"] = brother.certificate.to_value();
        self.chain(
            "v12-handoff-with-the-certificate-of-another-agent",
            "session",
            other,
            "rule 5: the key is the same, and the certificate names another agent",
        );
        for (name, step, about) in [
            (
                "v12-handoff-whose-first-mandate-another-key-signed",
                0,
                "rule 5: every signature of the chain is verified",
            ),
            (
                "v12-handoff-whose-last-mandate-another-key-signed",
                1,
                "rule 5: the last one too",
            ),
        ] {
            let mut steps = two();
            let signing = key("signing key 1 of agent-alice-3");
            let honest = steps.0[step].0.certificate.clone();
            steps.0[step].0 = Identity {
                certificate: honest,
                signing,
                ..identity("agent-alice", "alice")
            };
            self.chain(name, "session", steps.signed(|_, _| {}), about);
        }
        let first = |member: &'static str, value: Value| {
            two().signed(move |place, mandate| {
                if place == 0 {
                    mandate[member] = value.clone();
                }
            })
        };
        self.chain(
            "v12-handoff-whose-first-mandate-has-a-parent",
            "session",
            first("parent", "A".repeat(43).into()),
            "rule 6: whoever began the task has it from nobody",
        );
        let orphan = two().signed(|place, mandate| {
            if place == 1 {
                mandate.as_object_mut().unwrap().remove("parent");
            }
        });
        self.chain(
            "v12-handoff-whose-second-mandate-has-no-parent",
            "session",
            orphan,
            "rule 6: only the first has none",
        );
        self.chain(
            "v12-handoff-whose-first-mandate-is-for-another-agent",
            "session",
            first("to", "agent-carol".into()),
            "rule 7: who gives on was given it",
        );
        self.chain(
            "v12-handoff-whose-first-mandate-is-of-another-task",
            "session",
            first("task", id("another task").to_string().into()),
            "rule 7: all mandates are of one task",
        );
        let bob = identity("agent-bob", "bob");
        let task = id("task").to_string();
        let back = Steps::of(vec![bob, alice()], &task).signed(|_, _| {});
        self.chain(
            "v12-handoff-of-what-the-recipient-gave-away",
            "session",
            back,
            "rule 8: it does not come back as somebody else's",
        );
        let round = Steps::of(vec![alice(), sister(), alice()], &task).signed(|_, _| {});
        self.chain(
            "v12-handoff-that-went-in-a-circle",
            "session",
            round,
            "rule 8: nobody stands in it twice",
        );
    }

    fn chains_used_before(&mut self) {
        let key = alice().signing;
        let mut later = |name, log, chain, about| {
            let value = handed(&alice(), (self.world.session, 3), chain);
            let input = sign_message(value, &key);
            self.add(name, Reason::MandateInvalid, log, input, about);
        };
        later(
            "v12-handoff-of-a-task-that-is-open",
            "task-given",
            given_at(6_000),
            "rule 10: it was given, and has not ended",
        );
        later(
            "v12-handoff-by-a-mandate-that-was-used",
            "task-declined",
            given_at(1_000),
            "rule 10: a later mandate may give the task again, and not the same one",
        );
        let task = self.world.begun.task.clone();
        let chain = Steps::of(vec![sister(), alice()], &task).signed(|_, _| {});
        self.chain(
            "v12-handoff-of-a-task-that-the-recipient-began",
            "task-begun",
            chain,
            "rule 10: nobody else gives what it began itself",
        );
    }

    fn words_about_tasks(&mut self) {
        let (session, begun) = (self.world.session, &self.world.begun);
        let (task, offer) = (begun.task.clone(), begun.offer.clone());
        let key = alice().signing;
        let unknown = Reason::TaskUnknown;
        let mut misfit = report(session, NOW, &task, "working");
        envelope(&mut misfit)["body"]["percent"] = 50.into();
        self.add(
            "v12-report-with-a-member-too-many",
            unknown,
            "task-begun",
            sign_message(misfit, &key),
            "its body has its own schema",
        );
        let again = report(session, NOW, &task, "working");
        let mut again = read(&sign_message(again, &key));
        set("sequence", 3)(&mut again);
        let name = id("again").to_string();
        set("message-id", name)(&mut again);
        self.add(
            "v12-report-on-a-task-that-has-ended",
            unknown,
            "task-ended",
            sign_message(again, &key),
            "nothing follows what is completed",
        );
        self.add(
            "v12-report-after-the-mandate-s-end",
            unknown,
            "task-begun",
            sign_message(report(session, 25 * HOUR, &task, "working"), &key),
            "its time was a day",
        )
        .ms = 25 * HOUR;
        let carol = identity("agent-carol", "carol");
        let place = Some((self.world.more.with_carol, 2));
        let method = Method::Notification;
        let mut foreign = in_session(&carol, "agent-bob", method, "input", NOW, place);
        set("capability", "signet.task")(&mut foreign);
        let of_alice = self.world.begun.beside_carol.clone();
        envelope(&mut foreign).insert("body".into(), json!({"task": of_alice, "state": "working"}));
        self.add(
            "v12-report-by-somebody-else",
            unknown,
            "task-begun-beside-carol",
            sign_message(foreign, &carol.signing),
            "Alice holds the task, and Carol reports",
        );
        let other = json!({"task": task, "decision": "perhaps"});
        let input = sign_message(decision(session, &offer, other), &key);
        assert!(Unverified::parse(&input).is_ok());
        self.add(
            "v12-handoff-answered-by-another-body",
            unknown,
            "task-begun",
            input,
            "neither accepted nor declined: the offer stays open",
        );
    }
}
