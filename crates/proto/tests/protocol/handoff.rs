//! Work handed from Alice to Bob to Carol: what each may do, says and remembers.

use signet_proto::entry::{Direction, Entry};
use signet_proto::envelope::{Form, Method};
use signet_proto::handoff::{Limits, TaskId, TaskState};
use signet_proto::node::{Handing, Node, Sending};
use signet_proto::policy::Policy;

use crate::household::net::{Net, message_of};
use crate::household::tasks::{
    ALICE, BOB, CAROL, DAVE, HOUR, accept, does, for_task, given, hand, handing, held, household,
    names, reports, sends, who,
};
use crate::household::{self, at, reread};

/// Bob holds a task of Alice's and has handed a part of it to Carol, who took it.
fn handed_on(net: &mut Net) -> TaskId {
    let task = hand(net, ALICE, BOB, handing("Find an evening for dinner"));
    accept(net, BOB, task);
    let part = under(task, |limits| {
        limits.capabilities = names(&["calendar.read"])
    });
    assert_eq!(hand(net, BOB, CAROL, part), task);
    accept(net, CAROL, task);
    task
}

fn under(task: TaskId, change: impl FnOnce(&mut Limits)) -> Handing {
    let mut limits = Limits {
        depth: Some(1),
        ..Limits::default()
    };
    change(&mut limits);
    Handing {
        goal: "Read the calendars".into(),
        limits,
        parent: Some(task),
        ..Handing::default()
    }
}

#[test]
fn a_task_goes_down_narrowed_and_its_reports_come_back_up() {
    let mut net = household();
    let task = handed_on(&mut net);
    let chain = &net.agents[CAROL]
        .node
        .tasks()
        .held(task)
        .unwrap()
        .given
        .chain;
    let steps: Vec<(String, String, usize)> = chain
        .links()
        .map(|link| {
            let mandate = &link.mandate;
            let count = mandate.authority.capabilities.len();
            (mandate.from.to_string(), mandate.to.to_string(), count)
        })
        .collect();
    let step = |from: &str, to: &str, count| (from.to_owned(), to.to_owned(), count);
    assert_eq!(
        steps,
        [
            step("agent-alice", "agent-bob", 2),
            step("agent-bob", "agent-carol", 1)
        ]
    );
    assert_eq!(given(&net, ALICE, task), TaskState::Accepted);
    reports(&mut net, CAROL, task, TaskState::Working);
    reports(&mut net, CAROL, task, TaskState::Completed);
    assert_eq!(given(&net, BOB, task), TaskState::Completed);
    assert_eq!(
        held(&net, BOB, task),
        TaskState::Accepted,
        "Bob's own is open"
    );
    reports(&mut net, BOB, task, TaskState::Completed);
    assert_eq!(given(&net, ALICE, task), TaskState::Completed);
    let inbox: Vec<_> = net.agents[ALICE].node.inbox().after(0).collect();
    let result = inbox.last().unwrap().message.body().cloned().unwrap();
    assert_eq!(result["result"]["n"], 1, "the agent reads it too: {result}");
    assert_eq!(net.agents[ALICE].refusals(), Vec::<&str>::new());
    let noted = net.agents[ALICE].node.tasks().given(task).next().unwrap();
    assert_eq!(noted.note.as_deref(), Some("word"));
}

#[test]
fn a_task_is_declined_failed_or_given_back() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Sing"));
    does(&mut net, BOB, |node, at| {
        node.turn(at)
            .tasks()
            .decline(task, "not my voice".into())
            .unwrap()
            .1
    });
    assert_eq!(
        (given(&net, ALICE, task), held(&net, BOB, task)),
        (TaskState::Declined, TaskState::Declined)
    );
    let declined = net.agents[ALICE].node.tasks().given(task).next().unwrap();
    assert_eq!(declined.reason.as_deref(), Some("declined"));
    assert_eq!(declined.note.as_deref(), Some("not my voice"));
    for end in [TaskState::Failed, TaskState::Returned] {
        let task = hand(&mut net, ALICE, BOB, handing("Cook"));
        accept(&mut net, BOB, task);
        reports(&mut net, BOB, task, end);
        assert_eq!(
            (given(&net, ALICE, task), held(&net, BOB, task)),
            (end, end)
        );
    }
    let waits = |method| {
        let mut inbox = net.agents[BOB].node.inbox().after(0);
        inbox.any(|item| item.message.form.method() == Some(method))
    };
    assert!(!waits(Method::Handoff), "answered is answered");
}

#[test]
fn a_task_that_came_back_may_be_handed_out_again() {
    let mut net = household();
    let task = handed_on(&mut net);
    reports(&mut net, CAROL, task, TaskState::Returned);
    for to in [CAROL, DAVE] {
        assert_eq!(hand(&mut net, BOB, to, under(task, |_| {})), task);
        assert_eq!(held(&net, to, task), TaskState::Offered);
    }
}

#[test]
fn a_wider_part_is_refused_before_it_leaves() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    let part = Sending::Handoff(Box::new(under(task, |_| {})));
    assert_eq!(
        sends(&mut net, BOB, CAROL, part).unwrap_err(),
        "task-unknown",
        "not accepted yet"
    );
    accept(&mut net, BOB, task);
    let later = at(25 * HOUR).now;
    let wider: [fn(&mut Limits, _); 4] = [
        |limits, _| limits.capabilities = names(&["door.open"]),
        |limits, _| limits.tier = Some(3),
        |limits, _| limits.depth = Some(2),
        |limits, later| limits.not_after = Some(later),
    ];
    for widen in wider {
        let part = under(task, |limits| widen(limits, later));
        let refused = sends(&mut net, BOB, CAROL, Sending::Handoff(Box::new(part)));
        assert_eq!(refused.unwrap_err(), "authority-widened");
    }
    let back = Sending::Handoff(Box::new(under(task, |_| {})));
    assert_eq!(
        sends(&mut net, BOB, ALICE, back).unwrap_err(),
        "mandate-invalid"
    );
    let too_long = Handing {
        goal: "x".repeat(2_001),
        ..handing("")
    };
    for unfit in [handing(""), too_long] {
        let refused = sends(&mut net, BOB, CAROL, Sending::Handoff(Box::new(unfit)));
        assert_eq!(refused.unwrap_err(), "mandate-invalid");
    }
    assert_eq!(net.agents[BOB].node.tasks().given(task).count(), 0);
}

#[test]
fn a_holder_stays_within_its_task() {
    let mut net = household();
    let task = handed_on(&mut net);
    // Look for `authority-widened` alone, by which the task's limits refuse: Dave's grant may refuse a message as well.
    let mut beyond = |capability, tier| {
        let sent = sends(&mut net, CAROL, DAVE, for_task(task, capability, tier));
        sent.err().as_deref() == Some("authority-widened")
    };
    assert!(!beyond(Some("calendar.read"), 2) && !beyond(None, 1));
    assert!(beyond(Some("mail.send"), 1) && beyond(None, 3));
    net.run_until(25 * HOUR);
    let late = sends(&mut net, CAROL, DAVE, for_task(task, None, 1));
    assert_eq!(late.unwrap_err(), "authority-widened");
    let own = for_task(household::tasks::task(9), None, 2);
    let mine = sends(&mut net, CAROL, DAVE, own);
    assert!(mine.is_ok(), "a conversation of her own is her own");
}

#[test]
fn what_is_sent_for_a_task_dies_with_its_authority() {
    let mut net = household();
    let mut brief = handing("Be quick");
    brief.limits.not_after = Some(at(net.now + HOUR).now);
    let task = hand(&mut net, ALICE, BOB, brief);
    let offer =
        |message: &signet_proto::envelope::Message| message.form == Form::Call(Method::Handoff);
    let mut sent = net.sent.iter().map(|(_, _, bytes)| message_of(bytes));
    let expires = sent.rfind(offer).unwrap().headers.expires_at;
    assert!(expires <= net.agents[BOB].node.tasks().held(task).unwrap().not_after());
    net.run_for(2 * HOUR);
    assert_eq!(
        (given(&net, ALICE, task), held(&net, BOB, task)),
        (TaskState::Expired, TaskState::Expired)
    );
    let at = net.at(BOB);
    let late = net.agents[BOB]
        .node
        .turn(at)
        .tasks()
        .accept(task)
        .unwrap_err();
    assert_eq!(late.name(), "task-unknown", "{late}");
}

#[test]
fn a_report_that_overtakes_the_answer_is_taken() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    net.cut = Some((BOB, ALICE));
    let at = net.at(BOB);
    let (_, outcome) = net.agents[BOB].node.turn(at).tasks().accept(task).unwrap();
    let answer = net.agents[BOB].keep(at, outcome);
    net.cut = None;
    reports(&mut net, BOB, task, TaskState::Working);
    assert_eq!(given(&net, ALICE, task), TaskState::Working);
    net.perform(BOB, answer);
    net.run_for(10_000);
    assert_eq!(given(&net, ALICE, task), TaskState::Working);
    let refused = net.agents[ALICE].refusals();
    assert!(refused.iter().all(|reason| *reason == "duplicate"));
}

#[test]
fn a_handoff_that_waits_for_a_session_goes_out_or_ends() {
    let (mut alice, mut bob) = household::alice_and_bob();
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    net.cut = Some((ALICE, BOB));
    let early = hand(&mut net, ALICE, BOB, handing("Soon"));
    net.restart(ALICE);
    assert_eq!(
        given(&net, ALICE, early),
        TaskState::Offered,
        "a draft waits"
    );
    net.cut = None;
    net.run_for(HOUR);
    assert_eq!(held(&net, BOB, early), TaskState::Offered);
}

/// The tasks that a log alone tells of.
fn recalled(net: &Net, index: usize, lines: usize) -> Node {
    let mut node = Node::new(who(index), Policy::default(), [5; 32]);
    for (ts, entry) in &net.agents[index].log[..lines] {
        node.recall(*ts, &reread(entry));
    }
    node
}

#[test]
fn tasks_told_again_from_the_log_are_the_tasks_that_were() {
    let mut net = household();
    let task = handed_on(&mut net);
    reports(&mut net, CAROL, task, TaskState::Working);
    let other = hand(&mut net, DAVE, BOB, handing("Another"));
    does(&mut net, BOB, |node, at| {
        node.turn(at).tasks().decline(other, "no".into()).unwrap().1
    });
    reports(&mut net, CAROL, task, TaskState::Failed);
    for index in [ALICE, BOB, CAROL, DAVE] {
        let live: Vec<_> = net.agents[index].node.tasks().iter().collect();
        let again = recalled(&net, index, net.agents[index].log.len());
        assert!(!live.is_empty());
        assert_eq!(live, again.tasks().iter().collect::<Vec<_>>(), "{index}");
    }
}

/// A log cut anywhere: whatever was being written is said again, and both sides agree in the end.
#[test]
fn a_torn_tail_never_parts_a_task_from_its_messages() {
    let mut whole = household();
    let start = [ALICE, BOB].map(|index| whole.agents[index].log.len());
    let task = hand(&mut whole, ALICE, BOB, handing("Find an evening"));
    accept(&mut whole, BOB, task);
    reports(&mut whole, BOB, task, TaskState::Completed);
    for index in [ALICE, BOB] {
        let all = whole.agents[index].log.len();
        for cut in start[index] + 1..all {
            let node = recalled(&whole, index, cut);
            let lines = &whole.agents[index].log[..cut];
            let taken = |method: Method| {
                lines.iter().any(|(_, entry)| {
                    matches!(entry, Entry::Message(verdict) if verdict.direction == Direction::In
                        && verdict.message().is_some_and(|m| m.form == Form::Call(method)
                            && m.headers.conversation_id.is_some()))
                })
            };
            if index == BOB && taken(Method::Handoff) {
                assert!(
                    node.tasks().held(task).is_some(),
                    "{cut}: a handoff without its task"
                );
            }
            if index == ALICE && taken(Method::Notification) {
                let given = node.tasks().given(task).next().unwrap();
                assert_eq!(
                    given.state(whole.at(ALICE).now),
                    TaskState::Completed,
                    "{cut}"
                );
            }
            let last = lines.last().map(|(_, entry)| entry.clone());
            if let Some(Entry::Handoff(line)) = last {
                said_again(&whole, index, cut, &line);
            }
        }
    }
}

/// The message whose line was torn off comes once more, and is taken.
fn said_again(whole: &Net, index: usize, cut: usize, line: &signet_proto::entry::HandoffLine) {
    let log = &whole.agents[index].log;
    let Some((_, Entry::Message(verdict))) = log.get(cut) else {
        return;
    };
    let message = verdict.message().unwrap();
    if verdict.direction == Direction::Out || message.headers.message_id != line.message_id {
        return;
    }
    let mut node = recalled(whole, index, cut);
    let judged = signet_proto::node::Judged::of(message.canonical(), node.trust());
    let outcome = node.turn(whole.at(index)).handle_inbound(judged);
    let Some(Entry::Message(again)) = outcome.entries.first() else {
        panic!("{outcome:?}")
    };
    assert_eq!(again.ruling, verdict.ruling, "{cut}");
    assert_eq!(again.hash, verdict.hash);
}
