//! For how long a person's word is told, and what of it is there to be shown.

use signet_proto::envelope::{Form, Method};

use crate::household::net::message_of;
use crate::household::people::{DAY, acquainted, announce, does, pause, revocation};
use crate::household::{Agent, at, identity_under};

const ALICE: usize = 0;

#[test]
fn a_revocation_is_told_on_thirty_days_and_then_no_more() {
    let mut net = acquainted(&[("agent-alice", "alice"), ("agent-bob", "bob")]);
    does(&mut net, ALICE, |node, at| {
        let word = revocation("alice", "agent-alice-2", 1);
        node.turn(at).people().revoke(&word).unwrap()
    });
    net.run_for(40 * DAY);
    let sent = net.sent.iter().filter(|(_, who, _)| *who == ALICE);
    let told = sent.filter(|(_, _, bytes)| message_of(bytes).form == Form::Call(Method::Revoke));
    let days: Vec<_> = told.map(|(ms, _, _)| *ms / DAY).collect();
    assert_eq!(days, (0..30).collect::<Vec<_>>());
}

/// The next word needs a higher number than the last: whoever cannot see that one signs a word that nobody obeys.
#[test]
fn the_word_by_which_we_pause_is_there_to_be_shown_also_after_a_start() {
    let mut net = acquainted(&[("agent-alice", "alice"), ("agent-bob", "bob")]);
    let word = pause("alice", true, 7);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().pause(&word).unwrap()
    });
    for _ in 0..2 {
        let pausing = net.agents[ALICE].node.people().pausing();
        assert_eq!(pausing.statement(), Some(&word));
        net.restart(ALICE);
    }
}

/// From the end of that day on the same root is told of anew.
#[test]
fn a_changed_root_is_shown_for_a_day() {
    let mut bob = Agent::new("agent-bob", "bob");
    bob.knows(&Agent::new("agent-alice", "alice"));
    let other = || identity_under("another root", "agent-alice", "alice", 9, |_| {});
    let flight = announce(other, &bob, 0);
    bob.hear(at(0), &flight);
    let shown = |ms| bob.node.people().root_alarms(at(ms).now).count();
    assert_eq!([0, DAY - 1, DAY].map(shown), [1, 1, 0]);
}
