//! What a node keeps account of, looked at closely enough that no single changed expression passes: found with
//! `make mutants`.

use std::time::Duration;

use serde_json::{Value, json};
use signet_json::canonical;
use signet_proto::entry::{Alarm, AlarmLine, Direction, Entry, HandoffLine, Offered, TaskChange};
use signet_proto::envelope::{Form, Method};
use signet_proto::handoff::{Chain, Report, TaskState};
use signet_proto::headers::Tier;
use signet_proto::ids::AgentId;
use signet_proto::node::{Content, LocalError, Node, Sending, WaitsFor, Wanted};
use signet_proto::policy::Policy;
use signet_proto::progress::Progress;

use crate::budgets_and_hops::{pass_on, three};
use crate::household::allowed::{content, with_bob};
use crate::household::forger::{hear, name, talking};
use crate::household::net::{Net, message_of};
use crate::household::people::{acquainted, announce, does, revocation};
use crate::household::tasks::{
    ALICE, BOB, CAROL, DAVE, HOUR, accept, hand, handing, household, link, mandate, offer, reports,
    sends, task,
};
use crate::household::{Agent, at, identity, published};
use crate::progress_and_offers::{forged, judged, sent_last, talking_with, try_tell};

/// The node's log says already that so many tasks were given by or to that peer, each under this chain.
fn remember(node: &mut Node, direction: Direction, peer: &AgentId, chain: &Value, many: u64) {
    for n in 0..many {
        let offered = Offered {
            chain: Chain::read(chain).unwrap(),
            tier: 1,
            hops: 1,
            goal: None,
        };
        let line = HandoffLine {
            peer: peer.clone(),
            direction,
            task: task(10_000 + n),
            message_id: name(20_000 + n),
            change: TaskChange::Offered(Box::new(offered)),
        };
        node.recall(at(0).now, &Entry::Handoff(line));
    }
}

/// A task under a mandate as long as one can be.
fn heavy(from: usize, n: u64) -> Value {
    let names: Vec<_> = (0..64)
        .map(|n| format!("c{n:02}.{}", "a".repeat(55)))
        .collect();
    let long = mandate(from, CAROL, None, |mandate| {
        mandate["task"] = task(n).to_string().into();
        mandate["capabilities"] = names.into();
    });
    json!([link(from, long)])
}

#[test]
fn a_flood_of_long_mandates_fills_their_givers_share_by_its_bytes_and_nobody_else_s() {
    let mut net = household();
    let long = heavy(BOB, 0);
    let fit = (1024 * 1024 / canonical(&long).len()) as u64;
    assert!(fit < 250, "the bytes run out before the number does: {fit}");
    let bob = net.agents[BOB].id();
    let carol = &mut net.agents[CAROL].node;
    remember(carol, Direction::In, &bob, &long, fit - 1);
    let takes = |net: &mut Net, from: usize, n: u64| {
        let bytes = offer(net, (from, CAROL), n, &heavy(from, n));
        hear(net, CAROL, &bytes).0
    };
    assert_eq!(takes(&mut net, BOB, 1), None, "the last that fits");
    assert_eq!(takes(&mut net, BOB, 2), Some("inbox-full"));
    assert_eq!(takes(&mut net, DAVE, 3), None);
}

#[test]
fn all_peers_together_hold_so_many_tasks_of_ours_and_no_more() {
    let mut net = household();
    let chain = json!([link(ALICE, mandate(ALICE, BOB, None, |_| {}))]);
    for (busy, many) in [256, 256, 256, 255].into_iter().enumerate() {
        let peer = format!("agent-busy-{busy}").parse().unwrap();
        let alice = &mut net.agents[ALICE].node;
        remember(alice, Direction::Out, &peer, &chain, many);
    }
    let give = |net: &mut Net, to: usize| {
        let work = handing("Find an evening");
        sends(net, ALICE, to, Sending::Handoff(Box::new(work))).err()
    };
    assert_eq!(give(&mut net, BOB), None);
    assert_eq!(give(&mut net, CAROL).as_deref(), Some("too-many-tasks"));
}

#[test]
fn a_task_that_we_declined_says_why_also_after_a_start() {
    let mut net = household();
    let work = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    does(&mut net, BOB, |node, at| {
        let declined = node.turn(at).tasks().decline(work, "no time".into());
        declined.unwrap().1
    });
    for _ in 0..2 {
        let held = net.agents[BOB].node.tasks().held(work).unwrap();
        assert_eq!(held.reason.as_deref(), Some("declined"));
        assert_eq!(held.note.as_deref(), Some("no time"));
        net.restart(BOB);
    }
}

#[test]
fn our_agent_reports_each_step_once_and_in_notes_that_its_giver_takes() {
    let mut net = household();
    let work = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    accept(&mut net, BOB, work);
    reports(&mut net, BOB, work, TaskState::Working);
    let mut tries = |state: TaskState, note: usize| {
        let report = Report {
            task: work,
            state,
            note: Some("ä".repeat(note)),
            result: None,
        };
        let now = net.at(BOB);
        let reported = net.agents[BOB].node.turn(now).tasks().report(report);
        reported.map(drop).map_err(|error| error.name())
    };
    assert_eq!(tries(TaskState::Working, 1), Err("task-unknown"), "again");
    assert_eq!(tries(TaskState::Completed, 501), Err("mandate-invalid"));
    assert_eq!(tries(TaskState::Completed, 500), Ok(()));
}

#[test]
fn a_flood_is_told_of_within_a_second_although_the_clock_was_put_back_an_hour() {
    let mut net = talking();
    for n in 0..1_300 {
        hear(&mut net, 0, format!("{{junk {n}").as_bytes());
    }
    net.skew[0] = -HOUR;
    net.run_for(2_000);
    let log = net.agents[0].log.iter();
    let floods = log.filter(|(_, entry)| matches!(entry, Entry::Flood(_)));
    assert_eq!(floods.count(), 1);
}

#[test]
fn a_clean_stop_writes_down_how_much_of_strangers_was_only_counted() {
    let mut net = talking();
    for n in 0..1_300 {
        hear(&mut net, 0, format!("{{junk {n}").as_bytes());
    }
    let stopped = net.agents[0].node.handle_stop();
    let floods = stopped.entries.iter();
    let floods = floods.filter(|entry| matches!(entry, Entry::Flood(_)));
    assert_eq!(floods.count(), 1);
}

#[test]
fn a_callers_key_stands_for_the_work_that_was_handed_under_it_and_for_no_other() {
    let mut net = household();
    let (at, bob, key) = (net.at(ALICE), net.agents[BOB].id(), "order-1");
    let mut gives = |goal: &str| {
        let work = Sending::Handoff(Box::new(handing(goal)));
        let mut turn = net.agents[ALICE].node.turn(at);
        let sent = turn.sent().send_once(&bob, work, &key.parse().unwrap());
        sent.map(|sent| (sent.id, sent.again))
    };
    let (first, again) = gives("Find an evening").unwrap();
    assert!(!again);
    assert_eq!(gives("Find an evening"), Ok((first, true)));
    assert_eq!(gives("Book a table"), Err(LocalError::KeyReused(first)));
}

#[test]
fn whom_our_person_trusts_no_more_hears_nothing_of_our_revocations() {
    let people = [
        ("agent-alice", "alice"),
        ("agent-bob", "bob"),
        ("agent-carol", "carol"),
    ];
    let mut net = acquainted(&people);
    for to in [BOB, CAROL] {
        net.ask(ALICE, to);
    }
    net.run_for(10_000);
    let bob = net.agents[BOB].id();
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().withdraw(&bob).unwrap()
    });
    let word = revocation("alice", "agent-alice-2", 1);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().revoke(&word).unwrap()
    });
    net.run_for(5_000);
    let sent = net.sent.iter().map(|(_, _, bytes)| message_of(bytes));
    let told = sent.filter(|message| message.form == Form::Call(Method::Revoke));
    let told: Vec<_> = told.map(|message| message.headers.recipient_id).collect();
    assert_eq!(told, [net.agents[CAROL].id()]);
}

/// Whether Bob announces himself to an agent whose certificate is added from a file.
fn is_greeted(agent: &'static str) -> bool {
    let mut bob = Agent::new("agent-bob", "bob");
    let flight = announce(|| identity("agent-new", "new"), &bob, 0);
    bob.hear(at(0), &flight);
    let certificate = identity(agent, "new").certificate;
    let outcome = bob.node.turn(at(1)).people().bind(&certificate).unwrap();
    let mut effects = bob.keep(at(1), outcome);
    for ms in [2, 1_000, 60_000] {
        effects.extend(bob.tick(at(ms)));
    }
    let sent = published(&effects);
    assert!(sent.iter().all(|(to, _)| *to == certificate.agent));
    !sent.is_empty()
}

#[test]
fn an_agent_that_asked_for_an_introduction_is_greeted_and_its_person_s_other_agent_is_not() {
    assert!(is_greeted("agent-new"));
    assert!(!is_greeted("agent-other"));
}

#[test]
fn an_answer_that_waits_for_a_person_keeps_no_other_request_from_the_programs() {
    let policy = || Policy {
        approve: vec![Tier::Restricted],
        ..Policy::default()
    };
    let mut alice = Agent::with(move || (identity("agent-alice", "alice"), policy()));
    let mut bob = Agent::new("agent-bob", "bob");
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    let restricted = net.send(1, 0, Sending::Request(content(4, None)));
    let other = net.ask(1, 0);
    net.run_for(10_000);
    net.reply(0, restricted);
    let mut wanted = Wanted {
        capabilities: None,
        tier: 4,
        peers: None,
        lease: Duration::from_secs(60),
        connection: 1,
        looked: 0,
    };
    let now = net.at(0);
    let mut turn = net.agents[0].node.turn(now);
    let handed = turn.leases().receive(&mut wanted).0;
    let handed = handed.map(|handed| handed.message.headers.message_id);
    assert_eq!(handed, Some(other));
}

#[test]
fn a_loop_that_ran_into_the_limit_of_hops_leaves_a_line_for_the_person() {
    let mut net = three();
    let said = |_, _| Content {
        conversation_id: "round-and-round".parse().ok(),
        ..content(1, None)
    };
    let (sent, error) = pass_on(&mut net, 3_000, 100, said);
    assert_eq!(error.unwrap().name(), "hops-exceeded");
    let last = sent % 3;
    let now = net.at(last);
    let told = net.agents[last].node.turn(now).me().refused_attempts();
    let told = told.entries.iter().map(|entry| match entry {
        Entry::Attempt(line) => line.reason.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(told.collect::<Vec<_>>(), ["hops-exceeded"]);
}

#[test]
fn what_waits_for_room_is_not_said_to_wait_for_an_alarm() {
    let (mut net, _) = with_bob(Policy {
        messages_per_minute: Some(60),
        ..Policy::default()
    });
    let asked: Vec<_> = (0..150).map(|_| net.ask(0, 1)).collect();
    net.run_for(10_000);
    let line = AlarmLine {
        peer: net.agents[1].id(),
        what: Alarm::SecondCopy,
        cleared: false,
    };
    let now = net.at(0).now;
    let alice = &mut net.agents[0].node;
    alice.recall(now, &Entry::Alarm(line));
    assert_eq!(alice.alarms().len(), 1);
    let status = alice.sent().status(asked[149]).unwrap();
    assert_eq!(status.waits_for, Some(WaitsFor::Session));
}

#[test]
fn of_two_words_of_progress_that_one_millisecond_signed_the_later_stands() {
    let mut net = talking_with(Policy::default());
    let request = net.ask(ALICE, BOB);
    net.run_for(1_000);
    net.cut = Some((BOB, ALICE));
    let said = |note: &str| Progress {
        note: Some(note.into()),
        ..Progress::working()
    };
    try_tell(&mut net, BOB, request, &said("first")).unwrap();
    let first = sent_last(&net, BOB, Method::Progress);
    assert_eq!(judged(&mut net, ALICE, &first), None);
    let second = forged(&net, BOB, &first, |draft, stamp| {
        draft.body = Some(said("second").to_value());
        stamp.now = message_of(&first).headers.timestamp;
    });
    assert_eq!(judged(&mut net, ALICE, &second), None);
    let newest = net.agents[ALICE].node.sent().progress_of(request).unwrap();
    assert_eq!(newest.note.as_deref(), Some("second"));
}

#[test]
fn ten_thousand_requests_may_be_open_and_the_next_pushes_none_of_them_out() {
    let net = talking();
    let now = net.at(0);
    let rows = net.agents[0].node.snapshot(now.now).rows();
    let open: Vec<_> = rows.iter().filter(|row| row.table == "requests").collect();
    let (one, opened) = (open[0].value.clone(), open.len() as u64);
    let more = (opened..9_999).map(|n| {
        let value = one.replace("agent-bob", &format!("agent-busy-{}", n % 4));
        ("requests".to_owned(), name(n).to_string(), value)
    });
    let told = rows.iter().map(|row| {
        let row = row.clone();
        (row.table.to_owned(), row.key, row.value)
    });
    let (identity, policy) = net.agents[0].made();
    let mut node = Node::restore(identity, policy, [6; 32], told.chain(more)).unwrap();
    let mut asks = || {
        let bob = net.agents[1].id();
        let mut turn = node.turn(now);
        let sent = turn.sent().send(&bob, Sending::Request(Content::default()));
        sent.map(drop).map_err(|error| error.name())
    };
    assert_eq!(asks(), Ok(()));
    assert_eq!(asks(), Err("too-many-requests"));
}
