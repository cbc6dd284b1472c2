//! Attacks by messages in a session, each test named after the attack.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use signet_proto::draft::Draft;
use signet_proto::envelope::{Form, Method};
use signet_proto::headers::Tier;
use signet_proto::ids::{Digest, SessionId};
use signet_proto::time::Timestamp;

use crate::forge;
use crate::household::forger::{call, hear, name, refusal, session_of, talking};
use crate::household::net::{Net, message_of, resign};
use crate::household::{self, Agent};

fn plain(net: &Net, sequence: u64) -> Arc<[u8]> {
    call(net, Method::Notification, sequence, |_, _| {})
}

/// Bob's answer to a request of Alice, with changes.
fn answer(
    net: &Net,
    sequence: u64,
    request: signet_proto::ids::MessageId,
    change: impl FnOnce(&mut Draft),
) -> Arc<[u8]> {
    call(net, Method::Notification, sequence, |draft, _| {
        draft.form = Form::Success;
        draft.in_reply_to = Some(request);
        change(draft);
    })
}

#[test]
fn the_same_bytes_again() {
    let mut net = talking();
    let bytes = plain(&net, 1);
    assert_eq!(refusal(&mut net, &bytes), None);
    for _ in 0..3 {
        assert_eq!(refusal(&mut net, &bytes), Some("duplicate"));
    }
    assert_eq!(net.agents[0].node.inbox().len(), 1);
}

#[test]
fn the_same_bytes_to_another_inbox() {
    let mut net = talking();
    let mut carol = Agent::new("agent-carol", "carol");
    carol.knows(&net.agents[1]);
    net.agents.push(carol);
    net.skew.push(0);
    let bytes = plain(&net, 1);
    assert_eq!(hear(&mut net, 2, &bytes).0, Some("wrong-recipient"));
    assert!(net.agents[2].node.inbox().is_empty());
}

#[test]
fn the_same_bytes_after_a_restart() {
    let mut net = talking();
    let bytes = plain(&net, 1);
    refusal(&mut net, &bytes);
    net.restart(0);
    assert_eq!(refusal(&mut net, &bytes), Some("duplicate"));
    assert_eq!(net.agents[0].node.inbox().len(), 1);
}

#[test]
fn a_number_below_the_window() {
    let mut net = talking();
    let far = plain(&net, 9_000);
    assert_eq!(refusal(&mut net, &far), None);
    let low = plain(&net, 9_000 - 8_192);
    assert_eq!(refusal(&mut net, &low), Some("sequence-below-window"));
    let lowest = plain(&net, 9_001 - 8_192);
    assert_eq!(refusal(&mut net, &lowest), None, "the window is 8,192 wide");
}

#[test]
fn a_message_dated_1999() {
    let mut net = talking();
    let bytes = call(&net, Method::Notification, 1, |_, stamp| {
        stamp.now = Timestamp::from_millis(930_000_000_000);
    });
    let reason = refusal(&mut net, &bytes);
    assert!(
        matches!(reason, Some("expired" | "certificate-expired")),
        "{reason:?}"
    );
    assert!(net.agents[0].node.inbox().is_empty());
}

#[test]
fn a_message_from_the_future() {
    let mut net = talking();
    let ahead = |sequence, ms| {
        call(&net, Method::Notification, sequence, |_, stamp| {
            stamp.now = stamp.now.saturating_add(Duration::from_millis(ms));
        })
    };
    let (late, just) = (ahead(1, 60_001), ahead(2, 60_000));
    assert_eq!(refusal(&mut net, &late), Some("timestamp-in-future"));
    assert_eq!(refusal(&mut net, &just), None);
}

#[test]
fn a_life_over_seven_days() {
    let mut net = talking();
    let week = Duration::from_secs(7 * 24 * 3600);
    let bytes = call(&net, Method::Notification, 1, |draft, _| {
        draft.life = week + Duration::from_millis(1);
    });
    assert_eq!(refusal(&mut net, &bytes), Some("lifetime-too-long"));
    let bytes = call(&net, Method::Notification, 2, |draft, _| draft.life = week);
    assert_eq!(refusal(&mut net, &bytes), None);
}

#[test]
fn an_expired_message() {
    let mut net = talking();
    let bytes = call(&net, Method::Notification, 1, |draft, _| {
        draft.life = Duration::from_secs(1);
    });
    net.run_for(1_000);
    assert_eq!(refusal(&mut net, &bytes), Some("expired"));
}

#[test]
fn another_content_under_a_number_that_was_used() {
    let mut net = talking();
    let first = plain(&net, 1);
    assert_eq!(refusal(&mut net, &first), None);
    let second = call(&net, Method::Notification, 1, |draft, _| {
        draft.message_id = name(77);
        draft.body = Some(json!("pay Mallory"));
    });
    assert_eq!(refusal(&mut net, &second), Some("sequence-reuse"));
    net.restart(0);
    assert_eq!(refusal(&mut net, &second), Some("duplicate"));
    assert_eq!(refusal(&mut net, &first), Some("duplicate"));
}

#[test]
fn a_message_id_that_was_used_in_another_session() {
    let mut net = talking();
    let first = plain(&net, 1);
    assert_eq!(refusal(&mut net, &first), None);
    let old = session_of(&net);
    net.run_for(21 * 24 * 3_600_000);
    assert_ne!(session_of(&net), old, "renewed");
    let again = plain(&net, 1);
    assert_eq!(refusal(&mut net, &again), Some("message-id-reuse"));
}

#[test]
fn the_session_of_another_peer() {
    let mut net = talking();
    let mut carol = Agent::new("agent-carol", "carol");
    carol.knows(&net.agents[0]);
    net.agents[0].knows(&carol);
    net.agents.push(carol);
    net.skew.push(0);
    net.ask(2, 0);
    net.run_for(5_000);
    let of_carol = net.agents[0]
        .node
        .standing(&net.agents[2].id(), net.at(0).now)
        .session;
    assert!(of_carol.is_some());
    let bytes = call(&net, Method::Notification, 2, |_, stamp| {
        stamp.session = of_carol
    });
    assert_eq!(refusal(&mut net, &bytes), Some("session-unknown"));
}

#[test]
fn an_invented_session_costs_one_announce() {
    let mut net = talking();
    // A session of the last minute would count as the answer to the message, and Alice would not announce. After a
    // restart she may have lost a session: without the restart she would take the message for a sign of a second copy.
    net.run_for(61_000);
    net.restart(0);
    net.run_for(1_000);
    let from = net.now;
    for n in 1..50 {
        let bytes = call(&net, Method::Notification, n, |_, stamp| {
            stamp.session = Some(SessionId(Digest([3; 32])));
        });
        let (reason, effects) = hear(&mut net, 0, &bytes);
        assert_eq!(reason, Some("session-unknown"));
        net.perform(0, effects);
        net.run_for(100);
    }
    assert_eq!(net.sent_since(from, Some(Method::Announce)), 1);
}

#[test]
fn no_session_at_all() {
    let mut net = talking();
    let bytes = call(&net, Method::Request, 1, |_, stamp| {
        (stamp.session, stamp.sequence) = (None, None);
    });
    let (reason, effects) = hear(&mut net, 0, &bytes);
    assert_eq!((reason, effects.len()), (Some("handshake-required"), 0));
}

#[test]
fn an_answer_that_nobody_asked_for() {
    let mut net = talking();
    let bytes = answer(&net, 1, name(5), |_| {});
    assert_eq!(refusal(&mut net, &bytes), Some("response-unsolicited"));
}

#[test]
fn an_answer_from_a_third_agent() {
    let mut net = talking();
    let mut carol = Agent::new("agent-carol", "carol");
    carol.knows(&net.agents[0]);
    net.agents[0].knows(&carol);
    net.agents.push(carol);
    net.skew.push(0);
    let to_carol = net.ask(0, 2);
    net.run_for(5_000);
    let bytes = answer(&net, 1, to_carol, |_| {});
    assert_eq!(refusal(&mut net, &bytes), Some("response-unsolicited"));
    net.reply(2, to_carol);
    net.run_for(5_000);
    assert_eq!(
        net.agents[0].node.inbox().len(),
        1,
        "carol's own answer is taken"
    );
}

#[test]
fn a_second_answer_to_one_request() {
    let mut net = talking();
    let asked = net.ask(0, 1);
    let (first, second) = (
        answer(&net, 1, asked, |_| {}),
        answer(&net, 2, asked, |_| {}),
    );
    assert_eq!(refusal(&mut net, &first), None);
    assert_eq!(refusal(&mut net, &second), Some("response-unsolicited"));
    assert_eq!(net.agents[0].node.inbox().len(), 1);
}

#[test]
fn an_answer_of_a_lower_tier() {
    let mut net = talking();
    let content = signet_proto::node::Content {
        data_tier: Some(Tier::Household),
        ..Default::default()
    };
    let asked = net.send(0, 1, signet_proto::node::Sending::Request(content));
    let low = answer(&net, 1, asked, |draft| draft.data_tier = Tier::Public);
    assert_eq!(refusal(&mut net, &low), Some("tier-lowered"));
    let right = answer(&net, 2, asked, |draft| draft.data_tier = Tier::Household);
    assert_eq!(refusal(&mut net, &right), None);
}

#[test]
fn sensitive_data_in_clear_leaves_nothing_in_the_log() {
    for tier in [3, 4] {
        let mut net = talking();
        let mut value = forge::read(&call(&net, Method::Request, 1, |draft, _| {
            draft.summary = Some("the diagnosis".into());
            draft.body = Some(json!({"secret": "the diagnosis"}));
        }));
        forge::headers(&mut value).insert("data-tier".into(), tier.into());
        let bytes = forge::sign(value, &household::forger::bob().signing);
        let (reason, effects) = hear(&mut net, 0, &bytes);
        assert_eq!(reason, Some("seal-required"));
        let told = format!("{effects:?}");
        assert!(!told.contains("diagnosis"), "nor does the answer repeat it");
        for (_, entry) in &net.agents[0].log {
            let mut line = Vec::new();
            entry.write(&mut line);
            assert!(!String::from_utf8_lossy(&line).contains("diagnosis"));
        }
        net.restart(0);
        assert_eq!(refusal(&mut net, &bytes), Some("duplicate"));
    }
}

#[test]
fn a_capability_that_was_not_granted() {
    let mut net = talking();
    let bytes = call(&net, Method::Request, 1, |draft, _| {
        draft.capability = "door.open".parse().ok();
    });
    assert_eq!(refusal(&mut net, &bytes), Some("capability-not-granted"));
}

#[test]
fn a_conversation_of_nine_hops() {
    let mut net = talking();
    let nine = call(&net, Method::Notification, 1, |draft, _| draft.hops = 9);
    assert_eq!(refusal(&mut net, &nine), Some("hops-exceeded"));
    let eight = call(&net, Method::Notification, 2, |draft, _| draft.hops = 8);
    assert_eq!(refusal(&mut net, &eight), None);
}

#[test]
fn my_own_message_comes_back() {
    let mut net = talking();
    let mine = net
        .sent
        .iter()
        .find(|(_, who, _)| *who == 0)
        .unwrap()
        .2
        .clone();
    let (reason, effects) = hear(&mut net, 0, &mine);
    assert!(
        matches!(reason, Some("wrong-recipient" | "reflected")),
        "{reason:?}"
    );
    assert!(effects.is_empty());
    let alice = household::identity("agent-alice", "alice");
    let to_me = net.agents[0].id();
    let turned = resign(&alice, &message_of(&mine), |draft, _| {
        draft.recipient = to_me
    });
    assert_eq!(hear(&mut net, 0, &turned).0, Some("reflected"));
}
