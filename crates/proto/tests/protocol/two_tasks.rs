//! Two agents have several tasks between them: what is said of one changes no other, none ends before its time, and a
//! start says nothing of any.

use signet_proto::entry::Entry;
use signet_proto::handoff::{Report, TaskId, TaskState};
use signet_proto::ids::MessageId;
use signet_proto::node::Sending;

use crate::household::START;
use crate::household::allowed::content;
use crate::household::net::Net;
use crate::household::people::pause;
use crate::household::tasks::{
    ALICE, BOB, accept, does, given, hand, handing, held, household, sends,
};

/// The handoff that Alice's call made, and the task that the call told her of.
fn gives(net: &mut Net, goal: &str) -> (MessageId, TaskId) {
    let (at, bob) = (net.at(ALICE), net.agents[BOB].id());
    let sending = Sending::Handoff(Box::new(handing(goal)));
    let node = &mut net.agents[ALICE].node;
    let sent = node.turn(at).sent().send(&bob, sending).unwrap();
    let told = (sent.id, sent.task.unwrap());
    let effects = net.agents[ALICE].keep(at, sent.outcome);
    net.perform(ALICE, effects);
    net.run_for(5_000);
    told
}

#[test]
fn of_two_tasks_with_one_peer_each_call_and_each_answer_is_about_its_own() {
    let mut net = household();
    let (_, evening) = gives(&mut net, "Find an evening");
    let (offer, table) = gives(&mut net, "Book a table");
    let told = net.agents[ALICE].node.tasks().given(table).next();
    assert_eq!(told.unwrap().offer, offer);
    accept(&mut net, BOB, evening);
    does(&mut net, BOB, |node, at| {
        let declined = node.turn(at).tasks().decline(table, "no time".into());
        declined.unwrap().1
    });
    assert_eq!(given(&net, ALICE, evening), TaskState::Accepted);
    assert_eq!(given(&net, ALICE, table), TaskState::Declined);
}

#[test]
fn a_request_that_is_taken_back_ends_no_task_that_waits_for_the_same_peer() {
    let mut net = household();
    let paused = pause("alice", true, 1);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().pause(&paused).unwrap()
    });
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    let asked = Sending::Request(content(1, Some("calendar.read")));
    let asked = sends(&mut net, ALICE, BOB, asked).unwrap();
    does(&mut net, ALICE, |node, at| {
        node.turn(at).drafts().take_back(asked).unwrap().1
    });
    assert_eq!(given(&net, ALICE, task), TaskState::Offered);
}

#[test]
fn a_holder_may_report_at_the_last_moment_of_a_task_and_no_later() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    accept(&mut net, BOB, task);
    let ends = net.agents[BOB].node.tasks().held(task).unwrap();
    let ends = ends.not_after().as_millis() - START;
    for (late, stands) in [(0, TaskState::Accepted), (1, TaskState::Expired)] {
        net.run_until(ends + late);
        assert_eq!(held(&net, BOB, task), stands);
        assert_eq!(given(&net, ALICE, task), stands);
        let report = Report {
            task,
            state: TaskState::Working,
            note: None,
            result: None,
        };
        let at = net.at(BOB);
        let reported = net.agents[BOB].node.turn(at).tasks().report(report);
        assert_eq!(reported.is_ok(), late == 0);
    }
}

/// The log would tell a person of an end that there was not.
#[test]
fn a_start_writes_nothing_of_tasks_that_were_taken_or_wait_for_our_answer() {
    let mut net = household();
    let taken = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    accept(&mut net, BOB, taken);
    hand(&mut net, BOB, ALICE, handing("Book a table"));
    for who in [ALICE, BOB] {
        let lines = |net: &Net| {
            let log = net.agents[who].log.iter();
            let of_tasks = log.filter(|(_, entry)| matches!(entry, Entry::Handoff(_)));
            of_tasks.count()
        };
        let before = lines(&net);
        net.restart(who);
        assert_eq!(lines(&net), before);
    }
}
