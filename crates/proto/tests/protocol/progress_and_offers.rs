//! What version 1.1.0 brought, and attacks on it: progress on requests, and capabilities that programs
//! offer for a while.

use crate::household::net::{Net, message_of, resign};
use crate::household::people::remembered;
use crate::household::{Agent, identity_with};
use serde_json::{Value, json};
use signet_proto::draft::{Draft, Stamp};
use signet_proto::entry::{Did, Direction, Entry, Ruling};
use signet_proto::envelope::{Form, Method};
use signet_proto::headers::Tier;
use signet_proto::ids::{MessageId, Version};
use signet_proto::node::{
    Content, Declining, Effect, LocalError, Node, OfferFault, OfferedTo, Program, Sending, State,
    Way,
};
use signet_proto::policy::{BodySchema, Capability, PeerRule, Policy};
use signet_proto::progress::{Part, Progress, ProgressState, WAITS_FOR_A_PERSON};

pub(crate) const ALICE: usize = 0;
pub(crate) const BOB: usize = 1;
pub(crate) const CAROL: usize = 2;
pub(crate) const PROGRAM: Program = Program {
    connection: 1,
    user: 1000,
};

pub(crate) fn speaking(
    name: &'static str,
    principal: &'static str,
    versions: &[Version],
    policy: Policy,
) -> Agent {
    let versions = versions.to_vec();
    Agent::with(move || {
        let identity = identity_with(name, principal, 1, |request| {
            request.versions = versions.clone();
        });
        (identity, policy.clone())
    })
}

/// Alice, Bob and Carol, who speak 1.1.0 and have met.
pub(crate) fn talking_with(policy: Policy) -> Net {
    let mut agents = vec![
        speaking("agent-alice", "alice", &Version::SPOKEN, Policy::default()),
        speaking("agent-bob", "bob", &Version::SPOKEN, policy),
        speaking("agent-carol", "carol", &Version::SPOKEN, Policy::default()),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(ALICE, BOB);
    net.ask(ALICE, CAROL);
    net.ask(CAROL, BOB);
    net.run_for(10_000);
    net
}

fn talking() -> Net {
    talking_with(Policy::default())
}

/// Bob, who lets programs offer lamps.
fn with_lamps() -> Net {
    talking_with(Policy {
        offerable: vec!["lamp.*".parse().unwrap()],
        capabilities: vec![Capability::new("door.open".parse().unwrap(), Tier::Public)],
        ..Policy::default()
    })
}

fn between(ours: &[Version], theirs: &[Version]) -> Net {
    let mut agents = vec![
        speaking("agent-alice", "alice", ours, Policy::default()),
        speaking("agent-bob", "bob", theirs, Policy::default()),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(ALICE, BOB);
    net.run_for(10_000);
    net
}

fn version_of(net: &Net, who: usize, to: usize) -> Version {
    let (at, peer) = (net.at(who), net.agents[to].id());
    net.agents[who]
        .node
        .peers()
        .session(&peer, at.now)
        .unwrap()
        .version
}

pub(crate) fn try_tell(
    net: &mut Net,
    who: usize,
    request: MessageId,
    progress: &Progress,
) -> Result<MessageId, LocalError> {
    let at = net.at(who);
    let told = net.agents[who]
        .node
        .turn(at)
        .sent()
        .progress(None, request, progress);
    told.map(|(name, outcome)| {
        let effects = net.agents[who].keep(at, outcome);
        net.perform(who, effects);
        name
    })
}

/// The progress that an agent was told of, and what it said.
fn heard(net: &Net, who: usize) -> Vec<Value> {
    let told = |(at, effect): &(usize, Effect)| match effect {
        Effect::Progress(accepted) if *at == who => {
            let opened = accepted.opened().and_then(|opened| opened.body.clone());
            opened.or_else(|| accepted.message().body().cloned())
        }
        _ => None,
    };
    net.effects.iter().filter_map(told).collect()
}

pub(crate) fn offer(
    net: &mut Net,
    who: usize,
    program: Program,
    capability: Capability,
) -> Result<(), LocalError> {
    offer_to(net, who, (program, None), capability)
}

/// The same of a program that has to do with these peers alone.
pub(crate) fn offer_to(
    net: &mut Net,
    who: usize,
    program: (Program, OfferedTo),
    capability: Capability,
) -> Result<(), LocalError> {
    let at = net.at(who);
    let outcome = net.agents[who]
        .node
        .turn(at)
        .offers()
        .offer(program.0, program.1, capability)?;
    let effects = net.agents[who].keep(at, outcome);
    net.perform(who, effects);
    Ok(())
}

pub(crate) fn offer_end(net: &mut Net, who: usize, connection: u64) {
    let at = net.at(who);
    let outcome = net.agents[who].node.turn(at).offers().end(connection);
    let effects = net.agents[who].keep(at, outcome);
    net.perform(who, effects);
}

pub(crate) fn lamp(tier: u8) -> Capability {
    Capability::new("lamp.switch".parse().unwrap(), Tier::parse(tier).unwrap())
}

pub(crate) fn ask_for(net: &mut Net, name: &str, body: Value) -> Result<MessageId, LocalError> {
    let content = Content {
        body,
        capability: Some(name.parse().unwrap()),
        ..Content::default()
    };
    crate::household::allowed::try_send(net, ALICE, BOB, content)
}

pub(crate) fn offered_to_alice(net: &Net) -> Vec<String> {
    let peer = net.agents[BOB].id();
    let session = net.agents[ALICE]
        .node
        .peers()
        .session(&peer, net.at(ALICE).now);
    let offered = session.unwrap().offered.iter();
    offered.map(|offer| offer.name.to_string()).collect()
}

/// The newest message with that method between an agent and Alice, or of hers, as it was sent.
pub(crate) fn sent_last(net: &Net, who: usize, method: Method) -> std::sync::Arc<[u8]> {
    let sent = net.sent.iter().rev();
    let found = sent.filter(|(_, from, _)| *from == who);
    let alice = net.agents[ALICE].id();
    let mut found = found.filter(|(_, _, bytes)| {
        let message = message_of(bytes);
        let hers = who == ALICE || message.headers.recipient_id == alice;
        hers && message.form == Form::Call(method)
    });
    std::sync::Arc::clone(&found.next().unwrap().2)
}

/// What an agent says of bytes that it is handed: the newest reason, `None` when they were accepted.
pub(crate) fn judged(net: &mut Net, who: usize, bytes: &[u8]) -> Option<&'static str> {
    let at = net.at(who);
    let effects = net.agents[who].hear(at, bytes);
    net.perform(who, effects);
    let lines = net.agents[who].log.iter().rev();
    let verdicts = lines.filter_map(|(_, entry)| match entry {
        Entry::Message(verdict) if verdict.direction == Direction::In => Some(verdict),
        _ => None,
    });
    verdicts
        .map(|verdict| verdict.reason().map(|reason| reason.name()))
        .next()
        .unwrap()
}

/// A message of `who`'s as only it can sign it: the next number in its session with Alice.
pub(crate) fn forged(
    net: &Net,
    who: usize,
    like: &[u8],
    change: impl FnOnce(&mut Draft, &mut Stamp),
) -> std::sync::Arc<[u8]> {
    let at = net.at(who);
    let alice = net.agents[ALICE].id();
    let session = net.agents[who]
        .node
        .peers()
        .session(&alice, at.now)
        .unwrap();
    let (id, next, version) = (session.id, session.ledger.next(), session.version);
    let identity = net.agents[who].node.identity();
    resign(identity, &message_of(like), |draft, stamp| {
        draft.recipient = alice.clone();
        draft.message_id = MessageId::from_parts(7, [9; 10]);
        stamp.now = at.now;
        (stamp.session, stamp.sequence, stamp.version) = (Some(id), next, version);
        change(draft, stamp);
    })
}

#[test]
fn the_session_has_the_highest_version_that_both_certificates_list() {
    let (old, both) = ([Version::CURRENT], Version::SPOKEN);
    for (ours, theirs, agreed) in [
        (&both[..], &both[..], Version::PROGRESS),
        (&both[..], &old[..], Version::CURRENT),
        (&old[..], &both[..], Version::CURRENT),
        (&old[..], &old[..], Version::CURRENT),
    ] {
        let net = between(ours, theirs);
        assert_eq!(version_of(&net, ALICE, BOB), agreed);
        assert_eq!(version_of(&net, BOB, ALICE), agreed);
        assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
    }
}

#[test]
fn an_upgraded_home_goes_on_in_a_session_of_the_newer_version() {
    let versions = std::rc::Rc::new(std::cell::RefCell::new(vec![Version::CURRENT]));
    let (listed, serial) = (
        std::rc::Rc::clone(&versions),
        std::rc::Rc::new(std::cell::Cell::new(1)),
    );
    let renewed = std::rc::Rc::clone(&serial);
    let bob = Agent::with(move || {
        let identity = identity_with("agent-bob", "bob", renewed.get(), |request| {
            request.versions = listed.borrow().clone();
        });
        (identity, Policy::default())
    });
    let mut agents = vec![
        speaking("agent-alice", "alice", &Version::SPOKEN, Policy::default()),
        bob,
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    let first = net.ask(ALICE, BOB);
    net.run_for(10_000);
    assert_eq!(version_of(&net, ALICE, BOB), Version::CURRENT);
    *versions.borrow_mut() = Version::SPOKEN.to_vec();
    serial.set(2);
    net.restart(BOB);
    net.run_for(60_000);
    assert_eq!(version_of(&net, ALICE, BOB), Version::PROGRESS);
    try_tell(&mut net, BOB, first, &Progress::working()).unwrap();
    net.run_for(1_000);
    assert_eq!(
        heard(&net, ALICE).len(),
        1,
        "the request of the old session goes on"
    );
}

#[test]
fn progress_reaches_whoever_asked_and_settles_nothing() {
    let mut net = talking();
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    let asked = &net.agents[ALICE].node;
    assert_eq!(
        asked.sent().is_taken(request),
        Some(false),
        "received, and nobody has taken it"
    );
    let progress = Progress {
        state: ProgressState::InputRequired,
        note: Some("Which week?".into()),
        part: Some(Part {
            index: 0,
            last: false,
            name: None,
            body: Some(json!(["Tue"])),
        }),
    };
    try_tell(&mut net, BOB, request, &progress).unwrap();
    net.run_for(1_000);
    assert_eq!(heard(&net, ALICE), [progress.to_value()]);
    for node in [&net.agents[ALICE].node, &net.agents[ALICE].retold()] {
        assert_eq!(node.sent().is_taken(request), Some(true));
        let told = node.sent().progress_of(request).unwrap();
        assert_eq!(told.state, Some(ProgressState::InputRequired));
        assert_eq!(told.note.as_deref(), Some("Which week?"));
        assert_eq!(node.sent().status(request).unwrap().state, State::Received);
        assert!(node.inbox().is_empty());
    }
    net.reply(BOB, request);
    net.run_for(1_000);
    assert_eq!(
        net.agents[ALICE].node.sent().status(request).unwrap().state,
        State::Answered
    );
    assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
}

#[test]
fn progress_on_a_sealed_request_travels_sealed_and_stands_nowhere_in_clear() {
    let mut net = talking();
    let (at, bob) = (net.at(ALICE), net.agents[BOB].id());
    let secret = crate::household::sealing::secret();
    let sent = net.agents[ALICE]
        .node
        .turn(at)
        .sent()
        .send(&bob, Sending::Request(secret));
    let sent = sent.unwrap();
    let (request, outcome) = (sent.id, sent.outcome);
    let effects = net.agents[ALICE].keep(at, outcome);
    net.perform(ALICE, effects);
    net.run_for(1_000);
    let progress = Progress {
        note: Some(crate::household::sealing::MARKER.into()),
        ..Progress::working()
    };
    try_tell(&mut net, BOB, request, &progress).unwrap();
    net.run_for(1_000);
    assert_eq!(heard(&net, ALICE), [progress.to_value()]);
    let told = net.agents[ALICE].node.sent().progress_of(request).unwrap();
    assert_eq!((told.state, &told.note), (None, &None));
    let now = net.at(ALICE).now;
    let rows = net.agents[ALICE].node.snapshot(now).rows();
    assert!(
        rows.iter()
            .all(|row| !row.value.contains(crate::household::sealing::MARKER))
    );
    for (_, _, bytes) in &net.sent {
        assert!(!String::from_utf8_lossy(bytes).contains(crate::household::sealing::MARKER));
    }
}

#[test]
fn whoever_asked_hears_that_a_person_has_to_look_and_nothing_of_why() {
    let mut net = talking();
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    let alice = net.agents[ALICE].id();
    for _ in 0..5 {
        let at = net.at(BOB);
        let node = &mut net.agents[BOB].node;
        let (_, failed) = node
            .turn(at)
            .inbox()
            .fail(&alice, request, "exit status 7")
            .unwrap();
        let effects = net.agents[BOB].keep(at, failed);
        net.perform(BOB, effects);
    }
    net.run_for(1_000);
    let told = json!({"state": "working", "note": WAITS_FOR_A_PERSON});
    assert_eq!(heard(&net, ALICE), [told]);
    let kept = net.agents[ALICE].node.sent().progress_of(request).unwrap();
    assert_eq!(kept.note.as_deref(), Some(WAITS_FOR_A_PERSON));
    assert_eq!(
        net.agents[BOB]
            .node
            .inbox()
            .quarantine()
            .named(request)
            .count(),
        1
    );
    // The person drops the request from the quarantine: that answers it, and so ends its progress at Alice.
    let at = net.at(BOB);
    let dropped = net.agents[BOB]
        .node
        .turn(at)
        .inbox()
        .drop_shelved(None, request)
        .unwrap();
    let effects = net.agents[BOB].keep(at, dropped);
    net.perform(BOB, effects);
    net.run_for(1_000);
    assert!(
        net.agents[ALICE].node.sent().progress_of(request).is_none(),
        "it is answered"
    );
}

#[test]
fn what_never_began_is_no_try() {
    let mut net = talking();
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    let alice = net.agents[ALICE].id();
    for _ in 0..7 {
        let at = net.at(BOB);
        let node = &mut net.agents[BOB].node;
        let (tries, mut outcome) = node.turn(at).inbox().start(&alice, request).unwrap();
        assert_eq!(tries, Some(1));
        let given_back = node
            .turn(at)
            .inbox()
            .unbegun(&alice, request, "cannot be run")
            .unwrap();
        outcome.entries.extend(given_back.entries);
        net.agents[BOB].keep(at, outcome);
    }
    assert_eq!(net.agents[BOB].node.inbox().quarantine().iter().count(), 0);
    // The log line of a failure has the number of the try before, which is 0 here: so a start counts no try either.
    let log = net.agents[BOB].log.iter();
    let failed = log.filter_map(|(_, entry)| match entry {
        Entry::Outcome(line) if line.what == Did::Failed => Some(line.tries),
        _ => None,
    });
    assert_eq!(failed.collect::<Vec<_>>(), [0; 7]);
    remembered(&net);
    let at = net.at(BOB);
    let (tries, _) = net.agents[BOB]
        .node
        .turn(at)
        .inbox()
        .start(&alice, request)
        .unwrap();
    assert_eq!(tries, Some(1));
}

#[test]
fn what_a_refusal_says_for_programs_arrives_and_is_sealed_with_its_words() {
    let (old, both) = ([Version::CURRENT], Version::SPOKEN);
    let sides = [
        (&both[..], &both[..]),
        (&old[..], &both[..]),
        (&both[..], &old[..]),
    ];
    for (tier, (ours, theirs)) in [1, 3]
        .into_iter()
        .flat_map(|tier| sides.map(|two| (tier, two)))
    {
        let mut net = between(ours, theirs);
        let content = Content {
            data_tier: Tier::parse(tier).ok(),
            ..Content::default()
        };
        let request = net.send(ALICE, BOB, Sending::Request(content));
        net.run_for(1_000);
        let (at, alice) = (net.at(BOB), net.agents[ALICE].id());
        let more = json!({"state": "input-required", "parts": [{"text": "which week?"}]});
        let body =
            signet_json::parse(more.to_string().as_bytes(), signet_json::Limits::MESSAGE).unwrap();
        let node = &mut net.agents[BOB].node;
        let declined = Declining {
            why: "which week?".to_owned(),
            body: Some(body),
        };
        let (_, outcome) = node
            .turn(at)
            .sent()
            .reply(Some(&alice), request, Err(declined))
            .unwrap();
        let effects = net.agents[BOB].keep(at, outcome);
        net.perform(BOB, effects);
        net.run_for(1_000);
        let answer = net
            .effects
            .iter()
            .rev()
            .find_map(|(who, effect)| match effect {
                Effect::Answer(accepted) if *who == ALICE => Some(accepted),
                _ => None,
            });
        let answer = answer.unwrap();
        let opened = answer.opened().and_then(|opened| opened.body.clone());
        let body = opened.or_else(|| answer.message().body().cloned()).unwrap();
        assert_eq!(json!(body), more, "tier {tier}");
        let clear = String::from_utf8_lossy(answer.message().canonical()).contains("which week?");
        assert_eq!(clear, tier == 1);
        assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
    }
}

#[test]
fn progress_by_a_third_agent_is_refused() {
    let mut net = talking();
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    try_tell(&mut net, BOB, request, &Progress::working()).unwrap();
    let like = sent_last(&net, BOB, Method::Progress);
    let bytes = forged(&net, CAROL, &like, |_, _| {});
    assert_eq!(
        judged(&mut net, ALICE, &bytes),
        Some("response-unsolicited")
    );
}

#[test]
fn progress_after_the_answer_is_refused() {
    let mut net = talking();
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    try_tell(&mut net, BOB, request, &Progress::working()).unwrap();
    let like = sent_last(&net, BOB, Method::Progress);
    net.reply(BOB, request);
    net.run_for(1_000);
    assert!(matches!(
        try_tell(&mut net, BOB, request, &Progress::working()),
        Err(LocalError::NotWaiting(_))
    ));
    let bytes = forged(&net, BOB, &like, |_, _| {});
    assert_eq!(
        judged(&mut net, ALICE, &bytes),
        Some("response-unsolicited")
    );
    assert_eq!(
        net.agents[ALICE].node.sent().status(request).unwrap().state,
        State::Answered
    );
}

#[test]
fn a_flood_of_progress_is_stopped_by_the_budget_and_leaves_the_request_open() {
    let mut agents = vec![
        speaking(
            "agent-alice",
            "alice",
            &Version::SPOKEN,
            Policy {
                messages_per_minute: Some(10),
                ..Policy::default()
            },
        ),
        speaking("agent-bob", "bob", &Version::SPOKEN, Policy::default()),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    let request = net.ask(ALICE, BOB);
    net.run_for(10_000);
    let told = (0..20).map(|_| try_tell(&mut net, BOB, request, &Progress::working()));
    let told: Vec<_> = told.collect();
    assert!(
        told.iter()
            .any(|told| matches!(told, Err(LocalError::OverBudget { .. })))
    );
    // If Bob's node does not count its own messages, Alice's budget for him stops the flood.
    let like = sent_last(&net, BOB, Method::Progress);
    let mut refused = 0;
    for number in 0..30_u8 {
        let bytes = forged(&net, BOB, &like, |draft, stamp| {
            draft.message_id = MessageId::from_parts(8, [number; 10]);
            stamp.sequence = stamp.sequence.map(|next| next + u64::from(number));
        });
        refused += usize::from(judged(&mut net, ALICE, &bytes) == Some("budget-exceeded"));
    }
    assert!(refused >= 30 - 12, "{refused} of 30");
    assert!(net.agents[ALICE].node.sent().progress_of(request).is_some());
}

#[test]
fn progress_out_of_order_leaves_the_newest() {
    let mut net = talking();
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    net.cut = Some((BOB, ALICE));
    let mut told = Vec::new();
    for note in ["first", "second"] {
        net.run_for(10);
        let progress = Progress {
            note: Some(note.into()),
            ..Progress::working()
        };
        try_tell(&mut net, BOB, request, &progress).unwrap();
        told.push(sent_last(&net, BOB, Method::Progress));
    }
    assert_eq!(judged(&mut net, ALICE, &told[1]), None);
    assert_eq!(judged(&mut net, ALICE, &told[0]), None);
    let newest = net.agents[ALICE].node.sent().progress_of(request).unwrap();
    assert_eq!(newest.note.as_deref(), Some("second"));
}

#[test]
fn progress_above_the_tier_of_its_request_is_kept_with_its_own() {
    let mut net = talking();
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    try_tell(&mut net, BOB, request, &Progress::working()).unwrap();
    net.run_for(1_000);
    let tier = |node: &Node| node.sent().progress_of(request).unwrap().tier;
    assert_eq!(tier(&net.agents[ALICE].node), Tier::Public);
    let like = sent_last(&net, BOB, Method::Progress);
    let higher = forged(&net, BOB, &like, |draft, _| {
        draft.data_tier = Tier::Household;
    });
    assert_eq!(judged(&mut net, ALICE, &higher), None);
    for node in [&net.agents[ALICE].node, &net.agents[ALICE].retold()] {
        assert_eq!(tier(node), Tier::Household);
    }
}

#[test]
fn progress_to_a_peer_of_the_release_before_is_refused_here_and_never_sent() {
    let mut net = between(&[Version::CURRENT], &Version::SPOKEN);
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    let refused = try_tell(&mut net, BOB, request, &Progress::working()).unwrap_err();
    assert_eq!(refused.name(), "version-insufficient");
    assert_eq!(net.sent_since(0, Some(Method::Progress)), 0);
    assert_eq!(
        net.agents[ALICE].node.sent().is_taken(request),
        None,
        "nobody can tell"
    );
}

#[test]
fn a_version_stripped_from_a_flight_on_the_way_breaks_its_signature() {
    let mut agents = vec![
        speaking("agent-alice", "alice", &Version::SPOKEN, Policy::default()),
        speaking("agent-bob", "bob", &Version::SPOKEN, Policy::default()),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.cut = Some((ALICE, BOB));
    net.ask(ALICE, BOB);
    let announce = sent_last(&net, ALICE, Method::Announce);
    let text = String::from_utf8(announce.to_vec()).unwrap();
    let both = "\"versions\":[\"1.0.0\",\"1.1.0\"]";
    assert_eq!(
        text.matches(both).count(),
        2,
        "in the certificate and in the flight"
    );
    let (before, flight) = text.rsplit_once(both).unwrap();
    let stripped = format!("{before}\"versions\":[\"1.0.0\"]{flight}");
    assert_eq!(
        judged(&mut net, BOB, stripped.as_bytes()),
        Some("signature-invalid")
    );
    let stripped = text.replace(both, "\"versions\":[\"1.0.0\"]");
    assert_eq!(
        judged(&mut net, BOB, stripped.as_bytes()),
        Some("serial-rolled-back")
    );
}

#[test]
fn a_peer_that_chooses_less_than_both_can_is_refused_as_a_downgrade() {
    let mut agents = vec![
        speaking("agent-alice", "alice", &Version::SPOKEN, Policy::default()),
        speaking("agent-bob", "bob", &Version::SPOKEN, Policy::default()),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.cut = Some((BOB, ALICE));
    net.ask(ALICE, BOB);
    net.run_for(100);
    let verify = sent_last(&net, BOB, Method::Verify);
    let identity = net.agents[BOB].node.identity();
    let lower = resign(identity, &message_of(&verify), |draft, _| {
        draft.body.as_mut().unwrap()["choice"] = "1.0.0".into();
    });
    assert_eq!(judged(&mut net, ALICE, &lower), Some("version-downgrade"));
    assert_eq!(
        judged(&mut net, ALICE, &verify),
        None,
        "the handshake goes on"
    );
}

#[test]
fn a_session_of_1_1_0_takes_no_message_that_says_1_0_0() {
    let mut net = talking();
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    try_tell(&mut net, BOB, request, &Progress::working()).unwrap();
    let like = sent_last(&net, BOB, Method::Progress);
    let bytes = forged(&net, BOB, &like, |_, stamp| {
        stamp.version = Version::CURRENT
    });
    assert_eq!(judged(&mut net, ALICE, &bytes), Some("version-mismatch"));
}

#[test]
fn an_offer_is_told_within_a_second_used_and_taken_back_when_its_program_goes() {
    let mut net = with_lamps();
    assert_eq!(
        ask_for(&mut net, "lamp.switch", json!({"on": true}))
            .unwrap_err()
            .name(),
        "capability-not-granted"
    );
    let mut switch = lamp(1);
    switch.schema = Some(BodySchema::compile(br#"{"required": ["on"]}"#).unwrap());
    offer(&mut net, BOB, PROGRAM, switch).unwrap();
    net.run_for(1_000);
    assert_eq!(offered_to_alice(&net), ["door.open", "lamp.switch"]);
    let request = ask_for(&mut net, "lamp.switch", json!({"on": true})).unwrap();
    let unfit = ask_for(&mut net, "lamp.switch", json!({"off": true})).unwrap();
    net.run_for(1_000);
    assert_eq!(
        net.agents[ALICE].node.sent().status(request).unwrap().state,
        State::Received
    );
    assert_eq!(net.agents[BOB].refusals(), ["body-unfit"]);
    assert_eq!(
        net.agents[ALICE].node.sent().status(unfit).unwrap().state,
        State::Refused("body-unfit".into())
    );
    offer_end(&mut net, BOB, PROGRAM.connection);
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), ["door.open"]);
    assert_eq!(
        ask_for(&mut net, "lamp.switch", json!({"on": true}))
            .unwrap_err()
            .name(),
        "capability-not-granted"
    );
}

#[test]
fn a_restart_takes_back_what_no_program_offers_any_more() {
    let mut net = with_lamps();
    offer(&mut net, BOB, PROGRAM, lamp(2)).unwrap();
    net.run_for(1_000);
    assert_eq!(offered_to_alice(&net), ["door.open", "lamp.switch"]);
    net.restart(BOB);
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), ["door.open"]);
    net.restart(ALICE);
    assert_eq!(offered_to_alice(&net), ["door.open"]);
}

#[test]
fn a_program_offers_only_what_its_person_allows() {
    let mut net = with_lamps();
    let refused = |net: &mut Net, program, name: &str, tier| {
        let capability = Capability::new(name.parse().unwrap(), tier);
        match offer(net, BOB, program, capability) {
            Err(error @ LocalError::OfferRefused(_, fault)) => {
                // The name `offer-configured` tells a program that it may go on: the configuration offers its
                // capability to peers already.
                let name = match fault {
                    OfferFault::Configured => "offer-configured",
                    _ => "offer-refused",
                };
                assert_eq!(error.name(), name);
                Some(fault)
            }
            Err(other) => panic!("{other}"),
            Ok(()) => None,
        }
    };
    assert_eq!(
        refused(&mut net, PROGRAM, "safe.open", Tier::Public),
        Some(OfferFault::NotAllowed)
    );
    assert_eq!(
        refused(&mut net, PROGRAM, "door.open", Tier::Public),
        Some(OfferFault::Configured)
    );
    assert_eq!(
        refused(&mut net, PROGRAM, "lamp.read", Tier::Sensitive),
        Some(OfferFault::Tier)
    );
    assert_eq!(
        refused(&mut net, PROGRAM, "lamp.switch", Tier::Household),
        None
    );
    let other = Program {
        connection: 2,
        user: 1001,
    };
    assert_eq!(
        refused(&mut net, other, "lamp.switch", Tier::Household),
        Some(OfferFault::Held)
    );
    let full =
        (0..70).find_map(|n| refused(&mut net, PROGRAM, &format!("lamp.n{n}"), Tier::Public));
    assert_eq!(full, Some(OfferFault::TooMuch));
    assert_eq!(
        net.agents[BOB].node.offers().capabilities().count(),
        63,
        "with the configured one 64"
    );
}

#[test]
fn a_capability_is_offered_until_the_last_of_its_programs_has_gone() {
    let mut net = with_lamps();
    let second = Program {
        connection: 2,
        ..PROGRAM
    };
    for program in [PROGRAM, second] {
        offer(&mut net, BOB, program, lamp(1)).unwrap();
    }
    net.run_for(2_000);
    offer_end(&mut net, BOB, PROGRAM.connection);
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), ["door.open", "lamp.switch"]);
    offer_end(&mut net, BOB, second.connection);
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), ["door.open"]);
}

#[test]
fn a_peer_that_may_not_ask_for_it_is_not_told() {
    let mut policy = Policy {
        offerable: vec!["*".parse().unwrap()],
        ..Policy::default()
    };
    let rule = PeerRule {
        capabilities: Some(Vec::new()),
        ..PeerRule::default()
    };
    policy.peers.insert("agent-alice".parse().unwrap(), rule);
    let mut net = talking_with(policy);
    offer(&mut net, BOB, PROGRAM, lamp(2)).unwrap();
    net.run_for(2_000);
    assert_eq!(offered_to_alice(&net), Vec::<String>::new());
    let (at, alice) = (net.at(BOB), net.agents[ALICE].id());
    let name = "lamp.switch".parse().unwrap();
    let findings =
        net.agents[BOB]
            .node
            .judge(at.now)
            .explain(&alice, Way::Receive, Tier::Public, Some(&name));
    assert!(findings.unwrap().iter().any(|finding| !finding.holds()));
}

#[test]
fn an_offer_that_widens_what_the_handshake_settled_is_refused() {
    let mut net = with_lamps();
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    net.run_for(1_000);
    let like = sent_last(&net, BOB, Method::Offer);
    let wider = json!({"capabilities": [{"name": "door.open", "tier": 2}]});
    let bytes = forged(&net, BOB, &like, |draft, _| draft.body = Some(wider));
    assert_eq!(judged(&mut net, ALICE, &bytes), Some("offer-invalid"));
    assert_eq!(offered_to_alice(&net), ["door.open", "lamp.switch"]);
}

#[test]
fn offers_beyond_bounds_are_refused() {
    let mut net = with_lamps();
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    net.run_for(1_000);
    let like = sent_last(&net, BOB, Method::Offer);
    let many: Vec<_> = (0..64)
        .map(|n| json!({"name": format!("n{n}"), "tier": 1}))
        .collect();
    let long = json!([{"name": "long", "tier": 1, "schema": "x".repeat(170 * 1024)}]);
    for (number, list) in [json!(many), long].into_iter().enumerate() {
        let bytes = forged(&net, BOB, &like, |draft, stamp| {
            draft.message_id = MessageId::from_parts(9, [number as u8; 10]);
            draft.body = Some(json!({ "capabilities": list }));
            stamp.sequence = stamp.sequence.map(|next| next + number as u64);
        });
        assert_eq!(judged(&mut net, ALICE, &bytes), Some("offer-invalid"));
    }
}

#[test]
fn an_offer_that_was_overtaken_changes_nothing() {
    let mut net = with_lamps();
    net.cut = Some((BOB, ALICE));
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    let first = sent_last(&net, BOB, Method::Offer);
    offer_end(&mut net, BOB, PROGRAM.connection);
    net.run_for(2_000);
    let second = sent_last(&net, BOB, Method::Offer);
    assert_ne!(first, second);
    assert_eq!(judged(&mut net, ALICE, &second), None);
    assert_eq!(judged(&mut net, ALICE, &first), None);
    assert_eq!(offered_to_alice(&net), ["door.open"]);
}

#[test]
fn a_program_that_comes_and_goes_in_a_loop_is_told_of_once_a_second() {
    let mut net = with_lamps();
    let before = net.sent_since(0, Some(Method::Offer));
    for _ in 0..100 {
        offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
        net.run_for(50);
        offer_end(&mut net, BOB, PROGRAM.connection);
        net.run_for(50);
    }
    let told = net.sent_since(0, Some(Method::Offer)) - before;
    assert!(told <= 2 * 12, "{told} offers to two peers in ten seconds");
}

#[test]
fn every_node_is_what_its_log_says() {
    let mut net = with_lamps();
    let request = net.ask(ALICE, BOB);
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    net.run_for(1_000);
    try_tell(&mut net, BOB, request, &Progress::working()).unwrap();
    net.run_for(1_000);
    for agent in &net.agents[..2] {
        let now = agent.log.last().unwrap().0;
        let lived = agent.node.snapshot(now).rows();
        assert_eq!(agent.retold().snapshot(now).rows(), lived);
        let cut = agent.log.len() / 2;
        assert_eq!(agent.restored(cut).snapshot(now).rows(), lived);
        let refused = agent.log.iter().any(|(_, entry)| {
            matches!(entry, Entry::Message(verdict) if matches!(verdict.ruling, Ruling::Rejected(_)))
        });
        assert!(!refused, "{}", agent.id());
    }
}

#[test]
fn an_offer_is_for_the_peers_of_its_program_alone_and_ends_for_those_who_lose_it() {
    let mut net = with_lamps();
    let carol = net.agents[CAROL].id();
    let other = Program {
        connection: 2,
        ..PROGRAM
    };
    let only = |peer: &signet_proto::ids::AgentId| Some([peer.clone()].into());
    offer_to(&mut net, BOB, (PROGRAM, only(&carol)), lamp(1)).unwrap();
    net.run_for(2_000);
    assert!(!offered_to_alice(&net).contains(&"lamp.switch".to_owned()));
    let refused = ask_for(&mut net, "lamp.switch", json!(1));
    assert!(refused.is_err(), "{refused:?}");
    let alice = net.agents[ALICE].id();
    offer_to(&mut net, BOB, (other, only(&alice)), lamp(1)).unwrap();
    net.run_for(2_000);
    assert!(offered_to_alice(&net).contains(&"lamp.switch".to_owned()));
    ask_for(&mut net, "lamp.switch", json!(1)).unwrap();
    net.run_for(1_000);
    // The first program still serves the offer, but not for Alice: for her the offer ends with the second program.
    offer_end(&mut net, BOB, 2);
    net.run_for(2_000);
    assert!(!offered_to_alice(&net).contains(&"lamp.switch".to_owned()));
    assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
}

#[test]
fn what_a_program_says_of_its_offer_stays_with_its_own_peers_beside_another_of_that_name() {
    let mut net = with_lamps();
    let (alice, carol) = (net.agents[ALICE].id(), net.agents[CAROL].id());
    let other = Program {
        connection: 2,
        ..PROGRAM
    };
    let mut told = lamp(2);
    told.description = Some("only Carol may read this".into());
    told.schema = Some(BodySchema::compile(br#"{"required": ["secret"]}"#).unwrap());
    for first in [PROGRAM, other] {
        // Let the two programs offer in both orders: the second one must change nothing for the peers of the first.
        let mut programs = [
            ((PROGRAM, Some([alice.clone()].into())), lamp(1)),
            ((other, Some([carol.clone()].into())), told.clone()),
        ];
        programs.sort_by_key(|((program, _), _)| *program != first);
        for (program, capability) in programs {
            offer_to(&mut net, BOB, program, capability).unwrap();
        }
        net.run_for(2_000);
        let bob = net.agents[BOB].id();
        let heard = |net: &Net, who: usize| {
            let session = net.agents[who]
                .node
                .peers()
                .session(&bob, net.at(who).now)
                .unwrap();
            let mut offered = session.offered.iter();
            let lamp = offered.find(|offer| offer.name.as_str() == "lamp.switch");
            lamp.map(|lamp| (lamp.tier, lamp.description.clone(), lamp.schema.clone()))
        };
        assert_eq!(heard(&net, ALICE), Some((Tier::Public, None, None)));
        let (tier, description, schema) = heard(&net, CAROL).unwrap();
        assert_eq!(
            (tier, description),
            (Tier::Household, told.description.clone())
        );
        assert!(schema.is_some());
        // Alice's request is judged by the offer that she was told: it would not fit the schema that Carol was told.
        let request = ask_for(&mut net, "lamp.switch", json!({"on": true})).unwrap();
        net.run_for(1_000);
        let status = net.agents[ALICE].node.sent().status(request).unwrap();
        assert_eq!(status.state, State::Received);
        for program in [PROGRAM, other] {
            offer_end(&mut net, BOB, program.connection);
        }
        net.run_for(2_000);
    }
    assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
}

#[test]
fn a_program_that_joins_an_offer_changes_nothing_for_the_peers_of_the_first() {
    let mut net = with_lamps();
    let alice = net.agents[ALICE].id();
    let other = Program {
        connection: 2,
        ..PROGRAM
    };
    offer(&mut net, BOB, PROGRAM, lamp(1)).unwrap();
    let mut narrow = lamp(1);
    narrow.schema = Some(BodySchema::compile(br#"{"required": ["secret"]}"#).unwrap());
    offer_to(&mut net, BOB, (other, Some([alice].into())), narrow).unwrap();
    net.run_for(2_000);
    let request = ask_for(&mut net, "lamp.switch", json!({"on": true})).unwrap();
    net.run_for(1_000);
    let status = net.agents[ALICE].node.sent().status(request).unwrap();
    assert_eq!(status.state, State::Received);
    // Once the first program has gone, the second one's schema counts: the same request does not fit it.
    offer_end(&mut net, BOB, PROGRAM.connection);
    net.run_for(2_000);
    let request = ask_for(&mut net, "lamp.switch", json!({"on": true})).unwrap();
    net.run_for(1_000);
    let status = net.agents[ALICE].node.sent().status(request).unwrap();
    assert_eq!(status.state, State::Refused("body-unfit".into()));
}
