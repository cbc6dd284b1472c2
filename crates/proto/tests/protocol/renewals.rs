//! When a session is renewed, and when a new one could not last longer than the one that stands.

use std::collections::BTreeSet;
use std::time::Duration;

use signet_proto::certificate::{CertificateRequest, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::envelope::Method;
use signet_proto::policy::Policy;
use signet_proto::time::Timestamp;

use crate::household::net::{Net, times_taken};
use crate::household::people::does;
use crate::household::{Agent, START, identity, identity_with, key};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(START + ms)
}

/// Somebody whose papers are `make`, and three others (1 to 3) whom it talks to.
fn town(make: impl Fn() -> Identity + 'static) -> Net {
    let mut one = Agent::with(move || (make(), Policy::default()));
    let mut agents: Vec<_> = ["bob", "carol", "dave"]
        .map(|name| Agent::new(&format!("agent-{name}"), name))
        .into();
    for other in &mut agents {
        one.knows(other);
        other.knows(&one);
    }
    agents.insert(0, one);
    let mut net = Net::new(agents, 1);
    for who in 1..4 {
        net.ask(0, who);
        net.ask(who, 0);
    }
    net.run_for(10_000);
    net
}

fn until(ms: i64) -> impl Fn(&mut CertificateRequest) {
    move |request| request.not_after = at(ms)
}

/// An agent with a certificate and a key statement that end then.
fn ending(agent: &str, certificate: i64, keys: i64) -> Identity {
    let mut one = identity_with(agent, "alice", 1, until(certificate));
    let (id, sealing) = (one.agent().clone(), one.secrets[0].public());
    one.keys = KeyStatement::sign(&id, sealing, 1, at(keys), &one.signing).unwrap();
    one
}

fn rings(net: &Net) -> usize {
    net.agents
        .iter()
        .map(|agent| agent.node.alarms().len())
        .sum()
}

fn announces(net: &Net) -> usize {
    net.sent_since(0, Some(Method::Announce))
}

const DAY: i64 = 24 * HOUR;

/// Each renewal ended with the certificate as well, a third of the time later: the fourth rang.
#[test]
fn in_the_last_hour_of_ones_own_certificate_no_session_is_renewed_and_nothing_rings_anywhere() {
    // `agent-alice` has the lowest agent-id, and so begins the sessions; `agent-zoe` has the highest, and the others
    // begin them.
    for (agent, certificate, keys) in [
        ("agent-alice", HOUR, DAY),
        ("agent-alice", DAY, HOUR),
        ("agent-zoe", HOUR, DAY),
        ("agent-zoe", DAY, HOUR),
    ] {
        let mut net = town(move || ending(agent, certificate, keys));
        let before = announces(&net);
        // Everybody talks, as in any hour.
        for _ in 0..11 {
            for who in 1..4 {
                net.ask(0, who);
                net.ask(who, 0);
            }
            net.run_for(5 * MINUTE);
        }
        assert_eq!(announces(&net), before, "all peers at once");
        assert_eq!(rings(&net), 0);
        // When two agents met, both announced at the same time: one of the announces was refused as crossed, and
        // nothing else was.
        let refused = net.agents.iter().flat_map(Agent::refusals);
        let refused: BTreeSet<_> = refused.collect();
        assert!(
            refused.is_subset(&["handshake-crossed"].into()),
            "{refused:?}"
        );
    }
}

#[test]
fn a_new_certificate_makes_new_sessions_at_once_and_they_are_renewed_as_ever() {
    let mut net = town(|| ending("agent-alice", HOUR, 44 * DAY));
    net.run_for(50 * MINUTE);
    let mut longer = identity_with("agent-alice", "alice", 2, |_| {});
    longer.former = vec![identity("agent-alice", "alice").signing];
    does(&mut net, 0, |node, at| node.turn(at).me().adopt(longer));
    net.run_for(MINUTE);
    let ends = |net: &Net| {
        let standing = |who: usize| {
            let peer = net.agents[who].id();
            net.agents[0].node.standing(&peer, net.at(0).now).ends
        };
        (1..4).map(standing).collect::<BTreeSet<_>>()
    };
    let first = ends(&net);
    let far = at(29 * DAY);
    assert!(first.iter().all(|ends| ends.unwrap() > far), "{first:?}");
    net.run_for(21 * DAY);
    let later = ends(&net);
    assert!(later.iter().min() > first.iter().max(), "{later:?}");
    assert_eq!(rings(&net), 0);
    let asked = net.ask(0, 1);
    net.run_for(MINUTE);
    assert_eq!(times_taken(&net.agents[1], asked), 1);
}

/// The last renewal takes what is left of a certificate, and no other follows it.
#[test]
fn a_renewal_that_gains_something_is_made_once() {
    let month = Duration::from_secs(30 * 24 * 3600);
    let mut net = town(move || {
        let end = i64::try_from(month.as_millis()).unwrap() + DAY;
        ending("agent-alice", end, 44 * DAY)
    });
    let before = announces(&net);
    net.run_for(30 * DAY);
    assert_eq!(announces(&net), before + 3, "one with each");
    assert_eq!(rings(&net), 0);
}

#[test]
fn a_certificate_that_alone_was_renewed_is_told_to_all_at_once_and_the_same_one_to_nobody() {
    let same = || identity("agent-alice", "alice");
    let mut net = town(same);
    let before = announces(&net);
    does(&mut net, 0, |node, at| node.turn(at).me().adopt(same()));
    net.run_for(1_000);
    assert_eq!(announces(&net), before);
    let mut renewed = same();
    let old = &renewed.certificate;
    let request = CertificateRequest {
        agent: old.agent.clone(),
        principal: old.principal.clone(),
        signing_key: old.signing_key.clone(),
        layers: old.layers,
        versions: old.versions.clone(),
        serial: 2,
        not_before: old.not_before,
        not_after: old.not_after,
        next_root: old.next_root,
    };
    renewed.certificate = request.sign(&key("root of alice")).unwrap();
    does(&mut net, 0, |node, at| node.turn(at).me().adopt(renewed));
    net.run_for(1_000);
    assert_eq!(announces(&net), before + 3, "one with each");
}
