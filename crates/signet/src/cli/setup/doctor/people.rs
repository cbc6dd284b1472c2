//! Peers, and what waits for the person: alarms and the quarantine.

use std::time::Duration;

use signet_api::{ListAlarms, ListPeers, ListQuarantine, Peer};
use signet_audit::{counted, counted_doing};
use signet_proto::ids::Version;

use super::finding::{CheckResult, DoctorCheck};
use super::log::last_heard;
use super::scene::{Scene, Unconfirmed};
use crate::hint::DaemonKeeper;

pub(super) fn all(scene: &mut Scene) -> Vec<CheckResult> {
    vec![
        quarantine(scene),
        alarms(scene),
        peers(scene),
        versions(scene),
        outbox(scene),
    ]
}

fn quarantine(scene: &mut Scene) -> CheckResult {
    let check = DoctorCheck::of("quarantine", "messages whose handling failed five times");
    match scene.ask(ListQuarantine::default()) {
        Err(why) => unasked(check, scene, &why),
        Ok(held) if held.waiting == 0 => check.well("it is empty"),
        Ok(held) => check.fault(
            format!(
                "{} for your decision",
                counted_doing(held.waiting as u64, "message", "waits")
            ),
                "nobody handles them, and who asked gets no answer",
                "signet quarantine list  # then signet quarantine retry MESSAGE, or signet quarantine drop MESSAGE",
        ),
    }
}

fn alarms(scene: &mut Scene) -> CheckResult {
    let check = DoctorCheck::of("alarms", "alarms, which only the person can judge");
    match scene.ask(ListAlarms {}) {
        Err(why) => unasked(check, scene, &why),
        Ok(ringing) => match ringing.alarms.first() {
            None => check.well("none rings"),
            Some(alarm) => check.fault(
                format!(
                    "{}; {} with {} since {}",
                    counted_doing(ringing.alarms.len() as u64, "alarm", "rings"),
                    alarm.alarm,
                    alarm.peer,
                    alarm.since
                ),
                &alarm.text,
                "signet alarms  # and, when you have seen to it: signet alarms clear",
            ),
        },
    }
}

/// Peers with whom there was no session for a week, or ever.
fn peers(scene: &mut Scene) -> CheckResult {
    let check = DoctorCheck::of("peers", "when each peer was last heard of");
    let peers = match scene.ask(ListPeers {}) {
        Err(why) => return unasked(check, scene, &why),
        Ok(peers) => peers,
    };
    let heard = last_heard(scene);
    let silent = |peer: &&Peer| {
        let last = heard.get(peer.peer.as_str());
        last.is_none_or(|last| scene.now.since(*last) > SILENT)
    };
    let mut silent = peers.iter().filter(silent);
    let Some(first) = silent.next() else {
        return check.well(format!(
            "{}, each within a week",
            counted(peers.len() as u64, "peer")
        ));
    };
    let last = heard.get(first.peer.as_str());
    let last = last.map_or(
        "never, as far as the log of two months goes".to_owned(),
        |last| format!("last {last}"),
    );
    let more = silent.count();
    check.warning(
        format!("{} was heard of {last}; {} for a week or longer", first.peer, counted(more as u64, "more peer")),
            "its daemon does not run, cannot be reached, or its person has not made this agent known there",
            &format!("signet ping {}", first.peer),
    )
}

/// Messages without a receipt, though a peer that is there gives one at once.
fn outbox(scene: &mut Scene) -> CheckResult {
    let check = DoctorCheck::of("outbox", "messages of this agent without a receipt");
    let now = scene.now;
    let late: Vec<Unconfirmed> = match scene.unconfirmed() {
        Err(why) => return unasked(check, scene, &why),
        Ok(all) => all
            .into_iter()
            .filter(|one| now.since(one.since) > LATE)
            .collect(),
    };
    let Some(oldest) = late.iter().min_by_key(|one| one.since) else {
        return check.well("none waits for its receipt");
    };
    let for_peer = late
        .iter()
        .filter(|message| message.peer == oldest.peer)
        .count();
    let words = match for_peer {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    };
    check.warning(
        format!(
            "{words} for {}, the oldest since {}; {} for other peers",
            oldest.peer,
            oldest.since,
            late.len() - for_peer,
        ),
            "its daemon is away, or cannot be reached; they go out again by themselves until their life ends",
            &format!(
                "signet ping {}  # and signet outbox shows where each message is",
                oldest.peer
            ),
    )
}

/// Peers whose certificates do not list the newest version.
fn versions(scene: &mut Scene) -> CheckResult {
    let check = DoctorCheck::of("peer-versions", "the versions in the certificates of peers");
    let peers = match scene.ask(ListPeers {}) {
        Err(why) => return unasked(check, scene, &why),
        Ok(peers) => peers,
    };
    let Some(newest) = Version::SPOKEN.last().map(ToString::to_string) else {
        return check.well("this release speaks none");
    };
    let spoken: Vec<String> = Version::SPOKEN.iter().map(ToString::to_string).collect();
    // A daemon of an older release does not tell which versions a peer's certificate lists: assume all versions that this
    // release speaks, so that no fault is reported for such a peer.
    let listed = |peer: &Peer| peer.versions.clone().unwrap_or_else(|| spoken.clone());
    let strange = peers
        .iter()
        .find(|peer| !listed(peer).iter().any(|version| spoken.contains(version)));
    if let Some(peer) = strange {
        return check.fault(
            format!(
                "{} lists {}, of which this release speaks none",
                peer.peer,
                listed(peer).join(" ")
            ),
            "nothing can be said to it or heard from it",
            "install the newest signet on both sides",
        );
    }
    let older: Vec<&Peer> = peers
        .iter()
        .filter(|peer| !listed(peer).contains(&newest))
        .collect();
    match older.first() {
        None => check.well(format!("all of {} list {newest}", peers.len())),
        Some(peer) => check.warning(
            format!(
                "{} of {} list nothing as new as {newest}, first {}: {}",
                older.len(),
                peers.len(),
                peer.peer,
                listed(peer).join(" ")
            ),
            "with them there is no progress and no offers of programs",
            "their person renews the certificate there, by `key rotate signing`",
        ),
    }
}

fn unasked(check: DoctorCheck, scene: &Scene, why: &str) -> CheckResult {
    let start = DaemonKeeper::of(scene.home.path()).start();
    check.unknown(
        why,
        "neither a daemon nor the state that it left can be asked",
        &format!("see to the log and the keys first, then: {start}"),
    )
}

const LATE: Duration = Duration::from_secs(10);
const SILENT: Duration = Duration::from_secs(7 * 24 * 3600);
