//! Tiers 3 and 4 from end to end: who can read them, and who cannot.

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::certificate::{KEYS_LIFE, KeyStatement};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{Did, DraftLine, Entry, Verdict};
use signet_proto::envelope::{Form, Message, Method};
use signet_proto::headers::Tier;
use signet_proto::ids::Version;
use signet_proto::keys::SealSecret;
use signet_proto::node::{Accepted, Content, Effect, LocalError, Sending, State};
use signet_proto::policy::Policy;
use signet_proto::reject::Reason;
use signet_proto::seal::{self, Opened};
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use crate::forge;
use crate::household::forger::hear;
use crate::household::net::{Net, message_of};
use crate::household::sealing::{MARKER, agent, introduce, secret, talking};
use crate::household::{Agent, START, audit_secret, identity, key, published, reread, rng};

/// Nothing that was written, sent or could be printed holds the words.
fn assert_nothing_leaked(net: &Net) {
    let silent = |what: &str, text: &str| assert!(!text.contains(MARKER), "{what}: {text}");
    for agent in &net.agents {
        for (_, entry) in &agent.log {
            let mut line = Vec::new();
            entry.write(&mut line);
            silent("line", &String::from_utf8(line).unwrap());
            silent("entry", &format!("{entry:?}"));
            assert_eq!(&reread(entry), entry, "written as it was read");
        }
        silent("node", &format!("{:?}", agent.node));
    }
    for (_, _, bytes) in &net.sent {
        silent("wire", &String::from_utf8_lossy(bytes));
    }
    silent("effects", &format!("{:?}", net.effects));
}

fn delivered(net: &Net, who: usize) -> Accepted {
    let of = |(to, effect): &(usize, Effect)| match effect {
        Effect::Deliver(accepted) | Effect::Answer(accepted) if *to == who => {
            Some(accepted.clone())
        }
        _ => None,
    };
    net.effects.iter().rev().find_map(of).unwrap()
}

fn sealed_verdicts(agent: &Agent) -> Vec<(&Verdict, &Message)> {
    let entries = agent.log.iter();
    entries
        .filter_map(|(_, entry)| match entry {
            Entry::Message(verdict) => Some((verdict, &**verdict.message()?)),
            _ => None,
        })
        .filter(|(_, message)| message.sealed.is_some())
        .collect()
}

fn draft_line(agent: &Agent) -> &DraftLine {
    let mut drafts = agent.log.iter().filter_map(|(_, entry)| match entry {
        Entry::Draft(line) => Some(line),
        _ => None,
    });
    drafts.next().unwrap()
}

fn body_of(opened: &Opened) -> Option<&Value> {
    opened.body.as_ref()
}

#[test]
fn request_and_answer_are_read_by_the_two_agents_and_by_their_persons_alone() {
    let mut net = talking();
    let request = net.send(0, 1, Sending::Request(secret()));
    net.run_for(1_000);
    let asked = delivered(&net, 1);
    assert_eq!(
        body_of(asked.opened().unwrap()),
        Some(&json!({"what": MARKER}))
    );
    let answer = json!(format!("{MARKER} is wrong"));
    let content = Content {
        body: answer.clone(),
        ..Content::default()
    };
    net.answer(1, request, Ok(content));
    net.run_for(1_000);
    let answered = delivered(&net, 0);
    assert_eq!(answered.message().headers.data_tier, Tier::Sensitive);
    assert_eq!(body_of(answered.opened().unwrap()), Some(&answer));
    for (who, mine, other) in [(0, "alice", "bob"), (1, "bob", "alice")] {
        let verdicts = sealed_verdicts(&net.agents[who]);
        assert_eq!(verdicts.len(), 2);
        for (verdict, message) in verdicts {
            let copy = verdict.copy.as_ref().unwrap();
            let (opened, _) = seal::open(copy, &audit_secret(mine), message).unwrap();
            assert!(opened.body.unwrap().to_string().contains(MARKER));
            let verdict = seal::open(copy, &audit_secret(other), message);
            assert_eq!(verdict.map(|_| ()), Err(Reason::Unsealable));
        }
    }
    assert_nothing_leaked(&net);
}

#[test]
fn without_a_person_s_audit_key_the_line_has_no_copy() {
    let mut agents = vec![
        Agent::with(|| {
            let mut identity = identity("agent-alice", "alice");
            identity.control = None;
            (identity, Policy::default())
        }),
        agent("agent-bob", "bob"),
    ];
    introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.send(0, 1, Sending::Notification(secret()));
    assert_eq!(draft_line(&net.agents[0]).copy, None);
    net.run_for(10_000);
    assert_eq!(sealed_verdicts(&net.agents[0])[0].0.copy, None);
    assert!(sealed_verdicts(&net.agents[1])[0].0.copy.is_some());
    assert_nothing_leaked(&net);
}

#[test]
fn a_draft_waits_sealed_and_is_sealed_anew_when_there_is_a_session() {
    let mut net = Net::new(
        vec![agent("agent-alice", "alice"), agent("agent-bob", "bob")],
        1,
    );
    introduce(&mut net.agents);
    net.send(0, 1, Sending::Request(secret()));
    net.restart(0);
    let line = draft_line(&net.agents[0]).clone();
    let stored = Draft::parse(line.message.clone(), Duration::from_secs(line.life)).unwrap();
    let copy = line.copy.as_ref().unwrap();
    let (opened, _) = seal::open(copy, &audit_secret("alice"), stored.message()).unwrap();
    assert_eq!(opened.body, Some(json!({"what": MARKER})));
    net.run_for(10_000);
    let asked = delivered(&net, 1);
    assert_eq!(
        body_of(asked.opened().unwrap()),
        Some(&json!({"what": MARKER}))
    );
    assert_ne!(asked.message().sealed, line.sealed());
    assert_nothing_leaked(&net);
}

/// Alice's agent, which finds another sealing key at every start: the old secret is destroyed.
fn forgetful() -> Agent {
    let starts = Cell::new(0_u64);
    Agent::with(move || {
        starts.set(starts.get() + 1);
        let mut identity = identity("agent-alice", "alice");
        rotate(&mut identity, starts.get());
        let policy = Policy {
            tier: Tier::Restricted,
            ..Policy::default()
        };
        (identity, policy)
    })
}

fn rotate(identity: &mut Identity, serial: u64) {
    let secret = SealSecret::of(Zeroizing::new([serial as u8; 32]));
    let until = Timestamp::from_millis(START).saturating_add(KEYS_LIFE);
    let signing = key("signing key 1 of agent-alice");
    let agent = identity.agent().clone();
    identity.keys = KeyStatement::sign(&agent, secret.public(), serial, until, &signing).unwrap();
    identity.secrets = vec![secret];
}

#[test]
fn a_draft_whose_secret_is_destroyed_ends_and_says_why() {
    let mut net = Net::new(vec![forgetful(), agent("agent-bob", "bob")], 1);
    introduce(&mut net.agents);
    let name = net.send(0, 1, Sending::Request(secret()));
    let open = net.ask(0, 1);
    net.restart(0);
    let refused = State::RefusedHere("unsealable".into());
    let settled = |net: &Net| {
        let ends = net.effects.iter().filter(|(_, effect)| {
            matches!(effect, Effect::Settle { message_id, state, .. }
                if *message_id == name && *state == refused)
        });
        ends.count()
    };
    assert_eq!(settled(&net), 1);
    let ended = net.agents[0].log.iter().filter(|(_, entry)| {
        matches!(entry, Entry::Outcome(line)
            if line.message_id == name && line.what == Did::DraftRefused)
    });
    assert_eq!(ended.count(), 1);
    net.restart(0);
    assert_eq!(settled(&net), 1, "once is enough");
    net.run_for(10_000);
    let asked = delivered(&net, 1).message().headers.message_id;
    assert_eq!(asked, open, "what was never sealed goes on");
}

#[test]
fn what_was_sealed_to_a_destroyed_key_is_listed_and_stays_shut() {
    let mut net = Net::new(vec![forgetful(), agent("agent-bob", "bob")], 1);
    introduce(&mut net.agents);
    let sent = net.send(1, 0, Sending::Request(secret()));
    let told = net.send(0, 1, Sending::Notification(secret()));
    net.run_for(10_000);
    let node = &net.agents[0].node;
    let item = node.inbox().after(0).next().unwrap();
    assert!(node.opened(&item.message).is_some());
    net.restart(0);
    let node = &net.agents[0].node;
    let item = node.inbox().after(0).next().unwrap();
    assert_eq!(item.message.headers.message_id, sent);
    assert_eq!(node.opened(&item.message), None);
    let refused = net.effects.iter().any(|(_, effect)| {
        matches!(effect, Effect::Settle { message_id, state: State::RefusedHere(_), .. }
            if *message_id == told)
    });
    assert!(
        !refused,
        "its draft cannot be opened, and need not: it was sent"
    );
    net.answer(0, sent, Err(MARKER.to_owned()));
    net.run_for(10_000);
    assert_nothing_leaked(&net);
}

#[test]
fn the_words_that_decline_a_sealed_request_are_sealed_too() {
    let mut net = talking();
    let request = net.send(0, 1, Sending::Request(secret()));
    net.run_for(1_000);
    net.answer(1, request, Err(format!("not with {MARKER}")));
    net.run_for(1_000);
    let declined = delivered(&net, 0);
    let Form::Failure {
        message, reason, ..
    } = &declined.message().form
    else {
        panic!("a failure")
    };
    assert_eq!(
        (message.as_str(), reason.as_str()),
        (Reason::Declined.text(), "declined")
    );
    let opened = declined.opened().unwrap();
    assert_eq!(opened.summary, Some(format!("not with {MARKER}")));
    assert_eq!(opened.body, None);
    assert_nothing_leaked(&net);
}

#[test]
fn a_daemon_s_error_about_a_sealed_request_carries_nothing() {
    let mut net = talking();
    let (alice, bob) = (net.agents[0].id(), identity("agent-bob", "bob"));
    let standing = net.agents[0].node.standing(bob.agent(), net.at(0).now);
    let stamp = Stamp {
        now: net.at(0).now,
        session: standing.session,
        sequence: Some(100),
        audit_head: None,
        version: Version::CURRENT,
    };
    let mut draft = Draft::call(Method::Request, alice, forge::id("m"), json!(MARKER));
    draft.data_tier = Tier::Sensitive;
    let carol = identity("agent-carol", "carol").keys.sealing_key;
    let (signed, _) = draft.seal_and_sign(&bob, stamp, carol, &mut rng()).unwrap();
    let (reason, effects) = hear(&mut net, 0, signed.bytes());
    assert_eq!(reason, Some("unsealable"));
    let (_, error) = published(&effects).remove(0);
    let message = message_of(&error);
    assert!(matches!(&message.form, Form::Failure { reason, .. } if reason == "unsealable"));
    assert_eq!(message.headers.data_tier, Tier::Sensitive);
    assert!(!message.has_body() && message.sealed.is_none() && message.summary.is_none());
    assert_nothing_leaked(&net);
}

#[test]
fn a_message_that_only_sealing_makes_too_large_is_refused_at_once() {
    for (length, fits) in [(170_000, true), (200_000, false)] {
        for connected in [true, false] {
            let mut net = talking();
            if !connected {
                net.agents[0] = agent("agent-alice", "alice");
                introduce(&mut net.agents);
            }
            let content = Content {
                body: "x".repeat(length).into(),
                ..secret()
            };
            let (at, bob) = (net.at(0), net.agents[1].id());
            let node = &mut net.agents[0].node;
            let sent = node
                .turn(at)
                .sent()
                .send(&bob, Sending::Notification(content));
            let told = sent.map(|_| ());
            let refused = Err(LocalError::Message(Reason::TooLarge));
            assert_eq!(told, if fits { Ok(()) } else { refused });
        }
    }
}

#[test]
fn nothing_with_content_prints_it() {
    let (content, alice) = (secret(), identity("agent-alice", "alice"));
    let mut draft = Draft::call(
        Method::Request,
        "agent-bob".parse().unwrap(),
        forge::id("m"),
        json!(MARKER),
    );
    draft.summary = Some(MARKER.into());
    draft.data_tier = Tier::Sensitive;
    let mut clear = forge::in_session(&alice, "agent-bob", Method::Request, "m", 0, None);
    clear["params"]["body"] = MARKER.into();
    forge::headers(&mut clear).insert("data-tier".into(), 4.into());
    let clear = message_of(&forge::sign(clear, &alice.signing));
    let opened = Opened {
        summary: Some(MARKER.into()),
        body: Some(MARKER.into()),
    };
    let sending = Sending::Request(content.clone());
    let printed = format!("{content:?} {sending:?} {draft:?} {clear:?} {opened:?}");
    assert!(!printed.contains(MARKER), "{printed}");
}
