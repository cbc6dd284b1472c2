//! What the person should see: one source for the status line, the person's socket, the system's journal and the
//! command of `[notify]`.
//!
//! ```text
//! Node ──┬─ Counts ──────────────────▶ the status line, `signet status`
//!        ├─ standing ────────────────▶ the answer to whoever begins to follow; the command, at a start
//!        └─ Notice ─ of_notice ──────▶ Audience: followers, journal or log, command       once its line is durable
//! ```
//!
//! A record holds ids that were checked and sentences of our own: no content, no summary, and no reason that a peer
//! or a handler gave.

mod audience;
pub(crate) mod command;
mod journal;
mod pace;
mod record;

use std::fmt::Write as _;
use std::time::Duration;

use signet_api::{Attention, AttentionKind};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Node, Notice, WaitsFor};
use signet_proto::time::Timestamp;

pub(crate) use audience::{Audience, note};
pub(crate) use command::NotifyHook;
pub use journal::{MESSAGE_IDS, SystemJournal};
pub(crate) use pace::{NotifyPace, PaceStep};
use record::{alarm, changed_root, draft, introduction, quarantined};
pub(crate) use record::{certificate, made_at};

/// A certificate that ends within this time is told of.
pub(crate) const ENDS_SOON: Duration = Duration::from_secs(30 * DAY);

/// How much stands that only the person ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StandingCounts {
    /// Strangers that wait for an introduction.
    pub(crate) introductions: usize,
    /// Messages of ours that wait for approval.
    pub(crate) drafts: usize,
    /// Alarms that ring.
    pub(crate) alarms: usize,
    /// Root keys under which somebody uses the name of a known person.
    pub(crate) changed_roots: usize,
    /// Messages that could not be handled.
    pub(crate) quarantine: usize,
}

impl StandingCounts {
    pub(crate) fn of(node: &Node, now: Timestamp) -> Self {
        Self {
            introductions: node.people().pending(now).count(),
            drafts: drafts(node).count(),
            alarms: node.alarms().len(),
            changed_roots: node.people().root_alarms(now).count(),
            quarantine: node.inbox().quarantine().iter().count(),
        }
    }

    /// In the words of the status line; nothing where nothing stands.
    pub(crate) fn words(self) -> String {
        let mut words = String::new();
        for (count, one, several) in [
            (self.alarms + self.changed_roots, "alarm", "alarms"),
            (self.introductions, "introduction", "introductions"),
            (self.drafts, "draft to approve", "drafts to approve"),
            (
                self.quarantine,
                "message in quarantine",
                "messages in quarantine",
            ),
        ] {
            let separator = if words.is_empty() { "" } else { ", " };
            let what = if count == 1 { one } else { several };
            if count > 0 {
                // Writing to a String cannot fail.
                let _ = write!(words, "{separator}{count} {what}");
            }
        }
        words
    }
}

/// Everything that stands now, oldest first within each kind.
pub(crate) fn standing(node: &Node, now: Timestamp) -> Vec<Attention> {
    let introductions = node
        .people()
        .pending(now)
        .map(|stranger| introduction(node, &stranger.certificate, stranger.since));
    let drafts = drafts(node).map(|(peer, id)| draft(node, peer, id));
    let alarms = node.alarms().iter();
    let alarms = alarms.map(|((what, peer), since)| alarm(node, *what, peer, *since));
    let roots = node.people().root_alarms(now);
    let roots = roots.map(|(root, since)| changed_root(node, None, root, since));
    let quarantine = node.inbox().quarantine().iter().map(|shelved| {
        let headers = &shelved.message.headers;
        quarantined(node, &headers.agent_id, headers.message_id, shelved.since)
    });
    let all = introductions.chain(drafts).chain(alarms).chain(roots);
    let all = all.chain(quarantine).chain(certificate(node, now));
    let mut all: Vec<Attention> = all.collect();
    // The times are texts in UTC, all of one length: sorted as texts, they are in order of time.
    all.sort_by(|one, other| (one.kind, &one.time).cmp(&(other.kind, &other.time)));
    for one in &mut all {
        one.still = true;
    }
    all
}

/// The record of a notice that came at `now`; `None` where it is for the log alone.
pub(crate) fn of_notice(node: &Node, now: Timestamp, notice: &Notice) -> Option<Attention> {
    Some(match notice {
        Notice::StrangerWaits(claimed) => introduction(node, claimed, now),
        Notice::RootChanged(claimed) => changed_root(node, Some(claimed), claimed.root.id(), now),
        // The node raises the `second-copy` alarm just before `Notice::Doubled`, and the record of that alarm says the same: so
        // `Notice::Doubled` below gets no record of its own.
        Notice::Alarm(line) => alarm(node, line.what, &line.peer, now),
        Notice::Quarantined { peer, message_id } => quarantined(node, peer, *message_id, now),
        Notice::ApprovalNeeded { peer, message_id } => draft(node, peer, *message_id),
        Notice::RootSucceeded(_)
        | Notice::Revoked(_)
        | Notice::Pause(_)
        | Notice::OverBudget { .. }
        | Notice::Doubled(_)
        | Notice::Hole(_)
        | Notice::Clock { .. } => return None,
    })
}

/// How many of the reminders before its end a certificate has passed; when the number changes, the person is told
/// again.
pub(crate) fn steps_passed(left: Duration) -> usize {
    let days = [30, 14, 7, 3, 1, 0];
    let passed = days
        .iter()
        .filter(|days| left <= Duration::from_secs(**days * DAY));
    passed.count()
}

/// Two records of one kind as one, which tells of both.
pub(crate) fn merged(held: Attention, newer: Attention) -> Attention {
    let still = held.still && newer.still;
    // Two records of the agent's certificate, or with the same id, are about one event: adding their counts
    // would make two events of it.
    if held.kind == AttentionKind::Certificate || (held.id.is_some() && held.id == newer.id) {
        return Attention { still, ..newer };
    }
    // A record that stands for several peers names none of them: readers would take a named peer for the only one.
    let of_one = held.peer == newer.peer && held.principal == newer.principal;
    let count = held.count.saturating_add(newer.count);
    Attention {
        id: None,
        alarm: newer
            .alarm
            .filter(|alarm| held.alarm.as_ref() == Some(alarm)),
        peer: newer.peer.filter(|_| of_one),
        principal: newer.principal.filter(|_| of_one),
        verified: held.verified && newer.verified && of_one,
        text: several(newer.kind, count),
        still,
        count,
        ..newer
    }
}

fn several(kind: AttentionKind, count: u64) -> String {
    match kind {
        AttentionKind::Introduction => {
            format!("{count} strangers wait for an introduction; nobody has verified who they are")
        }
        AttentionKind::Draft => format!("{count} messages wait for your approval"),
        AttentionKind::Alarm => format!("{count} alarms ring"),
        AttentionKind::Quarantine => {
            format!(
                "the handling of {count} messages failed five times; they wait for your decision"
            )
        }
        AttentionKind::Certificate => "the certificate of this agent ends soon".to_owned(),
    }
}

/// The messages of ours that wait for approval.
fn drafts(node: &Node) -> impl Iterator<Item = (&AgentId, MessageId)> {
    let waiting = node.sent().drafts();
    let waiting = waiting.filter(|waiter| waiter.waits_for == WaitsFor::Approval);
    waiting.map(|waiter| (waiter.peer, waiter.draft.message_id))
}

const DAY: u64 = 24 * 3600;

#[cfg(test)]
mod tests {
    use super::*;

    fn one(kind: AttentionKind, id: &str, peer: &str) -> Attention {
        Attention {
            version: 1,
            kind,
            time: "2026-01-01T00:00:00.000Z".to_owned(),
            agent: "agent-a".to_owned(),
            id: Some(id.to_owned()),
            alarm: None,
            peer: Some(peer.to_owned()),
            principal: Some("p".to_owned()),
            verified: true,
            count: 1,
            still: false,
            text: format!("about {peer}"),
            next: "signet alarms".to_owned(),
        }
    }

    #[test]
    fn several_of_one_kind_are_one_record_that_names_only_what_is_common() {
        let kind = AttentionKind::Draft;
        let two = merged(one(kind, "1", "agent-b"), one(kind, "2", "agent-b"));
        assert_eq!((two.count, two.id.as_deref()), (2, None));
        assert_eq!(two.peer.as_deref(), Some("agent-b"));
        assert!(two.verified && two.text.starts_with("2 messages wait"));
        let three = merged(two, one(kind, "3", "agent-c"));
        assert_eq!((three.count, three.peer, three.verified), (3, None, false));
        // Two records with the same id are about the same thing, and count as one.
        let same = merged(one(kind, "1", "agent-b"), one(kind, "1", "agent-b"));
        assert_eq!((same.count, same.text.as_str()), (1, "about agent-b"));
        let alarm = |name: &str, id| Attention {
            alarm: Some(name.to_owned()),
            ..one(AttentionKind::Alarm, id, "agent-b")
        };
        let alike = merged(alarm("second-copy", "1"), alarm("second-copy", "2"));
        assert_eq!(alike.alarm.as_deref(), Some("second-copy"));
        let other = merged(alike, alarm("log-lost", "3"));
        assert_eq!((other.alarm, other.count), (None, 3));
    }

    #[test]
    fn what_stood_before_is_still_only_as_long_as_nothing_new_came() {
        let old = Attention {
            still: true,
            ..one(AttentionKind::Alarm, "1", "agent-b")
        };
        assert!(
            merged(
                old.clone(),
                Attention {
                    id: Some("2".into()),
                    ..old.clone()
                }
            )
            .still
        );
        assert!(!merged(old, one(AttentionKind::Alarm, "3", "agent-b")).still);
    }

    #[test]
    fn the_status_line_names_what_waits_worst_first() {
        assert_eq!(StandingCounts::default().words(), "");
        let counts = StandingCounts {
            introductions: 2,
            drafts: 1,
            alarms: 1,
            changed_roots: 0,
            quarantine: 3,
        };
        assert_eq!(
            counts.words(),
            "1 alarm, 2 introductions, 1 draft to approve, 3 messages in quarantine"
        );
    }

    #[test]
    fn an_end_that_comes_nearer_is_told_six_times() {
        let days = [31, 30, 29, 14, 8, 7, 3, 2, 1, 0];
        let steps = days.map(|days| steps_passed(Duration::from_secs(days * DAY)));
        assert_eq!(steps, [0, 1, 1, 2, 2, 3, 4, 4, 5, 6]);
    }
}
