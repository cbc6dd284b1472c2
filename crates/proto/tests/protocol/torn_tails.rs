//! What a torn tail leaves half said: a start ends it, or goes by the half that stands.

use signet_proto::carrier::CarrierId;
use signet_proto::entry::{Did, Direction, Entry, OutcomeLine, TrustChange, TrustLine};
use signet_proto::envelope::Form;
use signet_proto::handoff::TaskState;
use signet_proto::headers::Tier;
use signet_proto::node::{Content, Notice, Sending, State};
use std::time::Duration;

use crate::household::forger::talking;
use crate::household::net::{Net, message_of};
use crate::household::people::{acquainted, announce, does, notices, states};
use crate::household::tasks::{self, accept, given, hand, handing, household};
use crate::household::{Agent, at, identity, published};

const ALICE: usize = 0;
const BOB: usize = 1;
const CAROL: usize = 2;

/// All of the log behind the first such line is lost.
fn cut_behind(agent: &mut Agent, is_last: impl Fn(&Entry) -> bool) {
    let last = agent.log.iter().position(|(_, entry)| is_last(entry));
    agent.log.truncate(last.unwrap() + 1);
}

#[test]
fn a_task_that_was_noted_down_and_never_left_ends_with_the_start() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    assert_eq!(given(&net, ALICE, task), TaskState::Offered);
    net.restart(ALICE);
    assert_eq!(given(&net, ALICE, task), TaskState::Offered);
    let is_given = |entry: &Entry| matches!(entry, Entry::Handoff(line) if line.task == task);
    cut_behind(&mut net.agents[ALICE], is_given);
    net.restart(ALICE);
    assert_eq!(given(&net, ALICE, task), TaskState::Expired);
}

#[test]
fn a_task_is_accepted_once_one_of_the_two_lines_of_that_stands() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    let offered = net.agents[BOB].log.len();
    accept(&mut net, BOB, task);
    let whole = net.agents[BOB].log.clone();
    let mut seen = Vec::new();
    for cut in offered..=whole.len() {
        net.agents[BOB].log.truncate(0);
        net.agents[BOB].log.extend_from_slice(&whole[..cut]);
        let node = net.agents[BOB].retold();
        let state = node.tasks().held(task).unwrap().state(net.at(BOB).now);
        let is_said = whole[offered..cut].iter().any(|(_, entry)| match entry {
            Entry::Handoff(line) => line.task == task,
            Entry::Message(verdict) => {
                let message = verdict.message();
                let is_answer = message.is_some_and(|message| message.form == Form::Success);
                verdict.direction == Direction::Out && is_answer
            }
            _ => false,
        });
        let expected = match is_said {
            true => TaskState::Accepted,
            false => TaskState::Offered,
        };
        assert_eq!(state, expected, "cut at {cut}");
        seen.push(state);
    }
    assert!(seen.contains(&TaskState::Offered) && seen.contains(&TaskState::Accepted));
    // Leave out the line about the task: the line of the answer alone shows that the task was accepted.
    let is_line = |entry: &Entry| matches!(entry, Entry::Handoff(line) if line.task == task);
    let without: Vec<_> = (0..)
        .zip(&whole)
        .filter(|(n, (_, entry))| *n < offered || !is_line(entry))
        .map(|(_, line)| line.clone())
        .collect();
    assert_eq!(without.len() + 1, whole.len());
    net.agents[BOB].log = without;
    let node = net.agents[BOB].retold();
    let state = node.tasks().held(task).unwrap().state(net.at(BOB).now);
    assert_eq!(state, TaskState::Accepted);
}

#[test]
fn a_task_whose_message_is_taken_back_is_nobodys() {
    let mut net = household();
    let paused = crate::household::people::pause("alice", true, 1);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().pause(&paused).unwrap()
    });
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    assert_eq!(given(&net, ALICE, task), TaskState::Offered);
    let mut tasks = net.agents[ALICE].node.tasks().given(task);
    let offer = tasks.next().unwrap().offer;
    drop(tasks);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).drafts().take_back(offer).unwrap().1
    });
    assert_eq!(given(&net, ALICE, task), TaskState::Expired);
}

#[test]
fn a_report_at_the_last_moment_of_a_task_counts() {
    for late in [0, 1] {
        let mut net = household();
        let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
        accept(&mut net, BOB, task);
        let ends = net.agents[ALICE].node.tasks().held(task);
        assert!(ends.is_none());
        let mut given_tasks = net.agents[ALICE].node.tasks().given(task);
        let ends = given_tasks.next().unwrap().not_after();
        drop(given_tasks);
        let ms = ends.as_millis() - crate::household::START + late;
        net.run_until(ms);
        let report = tasks::report(&net, (BOB, ALICE), 1, task, "completed");
        let before = net.agents[ALICE].refusals().len();
        let at = net.at(ALICE);
        net.agents[ALICE].hear(at, &report);
        let refused = net.agents[ALICE].refusals().split_off(before);
        match late {
            0 => assert!(refused.is_empty(), "{refused:?}"),
            _ => assert_eq!(refused, ["task-unknown"]),
        }
    }
}

#[test]
fn a_ping_whose_answer_failed_is_not_answered_behind_a_start() {
    for failed in [false, true] {
        let mut net = talking();
        let ping = net.send(BOB, ALICE, Sending::Ping);
        net.run_for(100);
        let (at, bob) = (net.at(ALICE), net.agents[BOB].id());
        let alice = &mut net.agents[ALICE];
        cut_behind(alice, |entry| match entry {
            Entry::Message(verdict) => {
                let message = verdict.message();
                message.is_some_and(|message| message.headers.message_id == ping)
            }
            _ => false,
        });
        let line = OutcomeLine {
            peer: bob,
            message_id: ping,
            what: Did::AnswerFailed,
            tries: 1,
            reason: None,
        };
        alice
            .log
            .extend(failed.then_some((at.now, Entry::Outcome(line))));
        let effects = alice.restart(at);
        let answers = published(&effects)
            .into_iter()
            .filter(|(_, bytes)| message_of(bytes).headers.in_reply_to == Some(ping))
            .count();
        assert_eq!(answers, usize::from(!failed));
    }
}

#[test]
fn a_ping_is_answered_behind_a_start_unless_our_person_trusts_its_sender_no_more() {
    for withdrawn in [BOB, CAROL] {
        let mut net = acquainted(&[
            ("agent-alice", "alice"),
            ("agent-bob", "bob"),
            ("agent-carol", "carol"),
        ]);
        let ping = net.send(BOB, ALICE, Sending::Ping);
        net.run_for(100);
        let certificate = net.agents[withdrawn].certificate();
        let at = net.at(ALICE);
        let alice = &mut net.agents[ALICE];
        cut_behind(alice, |entry| match entry {
            Entry::Message(verdict) => {
                let message = verdict.message();
                message.is_some_and(|message| message.headers.message_id == ping)
            }
            _ => false,
        });
        let line = TrustLine {
            change: TrustChange::Withdrawn,
            certificate,
        };
        alice.log.push((at.now, Entry::Trust(line)));
        // Test both ways in which a start makes the node: by reading the log again, and by reading the rows of the
        // state.
        for mut node in [alice.retold(), alice.restored(alice.log.len())] {
            let outcome = node.turn(at).resume();
            let answers = published(&outcome.effects)
                .into_iter()
                .filter(|(_, bytes)| message_of(bytes).headers.in_reply_to == Some(ping))
                .count();
            assert_eq!(answers, usize::from(withdrawn == CAROL));
            let is_over = |entry: &Entry| matches!(entry, Entry::Outcome(line) if line.what == Did::AnswerFailed);
            assert!(!outcome.entries.iter().any(is_over), "nobody waits for it");
        }
    }
}

/// A receipt may wait in what has not been read.
#[test]
fn a_carrier_that_says_once_more_that_it_is_up_has_not_been_read_by_that() {
    for drained in [false, true] {
        let mut net = talking();
        net.cut = Some((ALICE, BOB));
        let nats = CarrierId::NATS;
        let elapsed = net.at(ALICE).elapsed;
        net.agents[ALICE].node.handle_disconnected(&nats, elapsed);
        let content = Content {
            life: Some(Duration::from_secs(60)),
            ..Content::default()
        };
        let name = net.send(ALICE, BOB, Sending::Notification(content));
        does(&mut net, ALICE, |node, at| {
            node.turn(at).carriers().connected(&nats)
        });
        if drained {
            does(&mut net, ALICE, |node, at| {
                node.turn(at).carriers().drained(&nats)
            });
        }
        does(&mut net, ALICE, |node, at| {
            node.turn(at).carriers().connected(&nats)
        });
        net.run_for(1_800_000);
        let ended = drained.then_some(State::Expired);
        assert_eq!(states(&net, ALICE, name), Vec::from_iter(ended));
    }
}

#[test]
fn what_expired_is_given_up_as_soon_as_all_that_waited_on_the_carrier_is_read() {
    let mut net = talking();
    net.cut = Some((ALICE, BOB));
    let elapsed = net.at(ALICE).elapsed;
    net.agents[ALICE]
        .node
        .handle_disconnected(&CarrierId::NATS, elapsed);
    let content = Content {
        life: Some(Duration::from_secs(60)),
        ..Content::default()
    };
    let name = net.send(ALICE, BOB, Sending::Notification(content));
    net.run_for(100_000);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).carriers().connected(&CarrierId::NATS)
    });
    net.run_for(200_000);
    assert_eq!(states(&net, ALICE, name), [], "its receipt may wait there");
    does(&mut net, ALICE, |node, at| {
        node.turn(at).carriers().drained(&CarrierId::NATS)
    });
    assert_eq!(states(&net, ALICE, name), [State::Expired]);
}

/// A single late flight was perhaps only late: a mailbox may hand it over when its life is long over.
#[test]
fn a_second_late_announce_tells_of_a_wrong_clock_when_no_flight_lives_so_long() {
    for (age, tells) in [(330_000, false), (360_000, false), (360_001, true)] {
        let told = [0, 1_000].map(|signed| (signed, signed + age));
        assert_eq!(clocks_told(&told), [false, tells], "{age}");
    }
}

#[test]
fn an_announce_in_time_shows_that_those_before_it_were_only_late() {
    let late = [(1_000, 100_000), (2_000, 101_000)];
    let in_time = [(102_000, 103_000)];
    let again = [(103_500, 203_500), (104_500, 204_500), (105_500, 205_500)];
    let all = [&late[..], &in_time, &again].concat();
    let told = clocks_told(&all);
    assert_eq!(told, [false, false, false, false, false, true]);
}

/// Whether a node tells of a wrong clock, for each announce of a peer's that it hears: when it was signed, and when it
/// comes.
fn clocks_told(announces: &[(i64, i64)]) -> Vec<bool> {
    let mut alice = Agent::new("agent-alice", "alice");
    alice.knows(&Agent::new("agent-bob", "bob"));
    let mut tells = |(signed, comes): &(i64, i64)| {
        let flight = announce(|| identity("agent-bob", "bob"), &alice, *signed);
        let effects = alice.hear(at(*comes), &flight);
        let told = notices(&effects);
        told.iter()
            .any(|notice| matches!(notice, Notice::Clock { .. }))
    };
    announces.iter().map(&mut tells).collect()
}

#[test]
fn a_node_says_how_its_clock_stood_and_by_which_policy_it_goes() {
    let net: Net = talking();
    let alice = &net.agents[ALICE].node;
    let minute = |ms: i64| at(net.now - 60_000 - ms).now;
    assert!(!alice.clock().was_put_back(net.at(ALICE).now));
    assert!(alice.clock().was_put_back(minute(10_000)));
    assert_eq!(alice.policy(), &signet_proto::policy::Policy::default());
    let strict = Agent::with(|| {
        let policy = signet_proto::policy::Policy {
            tier: Tier::Public,
            ..Default::default()
        };
        (identity("agent-alice", "alice"), policy)
    });
    assert_eq!(strict.node.policy().tier, Tier::Public);
    let mut node = strict.node;
    let outcome = node.turn(at(0)).handle_gap("the carrier dropped 7".into());
    assert!(matches!(&outcome.entries[..], [Entry::Gap(line)] if line.cause.contains('7')));
}
