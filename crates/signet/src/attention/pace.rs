//! How often the person is told: of each kind once a minute at most, and then of all that came meanwhile.
//!
//! It holds one record a kind, however many come: a flood of strangers is a number in it.

use std::collections::BTreeMap;
use std::time::Duration;

use signet_api::{Attention, AttentionKind};

use super::merged;

/// What is to be told, and when each kind may be told again. Its clock is the caller's.
#[derive(Debug, Default)]
pub(crate) struct NotifyPace {
    slots: BTreeMap<AttentionKind, PaceSlot>,
}

#[derive(Debug, Default)]
struct PaceSlot {
    held: Option<Attention>,
    free_at: Duration,
}

/// What is to be done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PaceStep {
    /// Tell this.
    Due(Attention),
    /// Ask again at this time.
    Later(Duration),
    /// There is nothing to tell.
    Nothing,
}

impl NotifyPace {
    /// One more record.
    pub(crate) fn put(&mut self, newer: Attention) {
        let slot = self.slots.entry(newer.kind).or_default();
        slot.held = Some(match slot.held.take() {
            Some(held) => merged(held, newer),
            None => newer,
        });
    }

    /// Takes back a record that could not be told. It is older than what came meanwhile, so it is merged in front.
    pub(crate) fn put_back(&mut self, untold: Attention) {
        let slot = self.slots.entry(untold.kind).or_default();
        slot.held = Some(match slot.held.take() {
            Some(newer) => merged(untold, newer),
            None => untold,
        });
    }

    /// The next to tell, alarms before the rest.
    pub(crate) fn take(&mut self, now: Duration) -> PaceStep {
        let is_due = |kind: &AttentionKind| {
            let slot = self.slots.get(kind);
            slot.is_some_and(|slot| slot.held.is_some() && slot.free_at <= now)
        };
        let due = ORDER.iter().find(|kind| is_due(kind)).copied();
        let slot = due.and_then(|kind| self.slots.get_mut(&kind));
        if let Some((slot, attention)) = slot.and_then(|slot| {
            let attention = slot.held.take()?;
            Some((slot, attention))
        }) {
            // Count the time until the next record of this kind from the start of the command, not from its end: a slow command
            // would make the wait longer.
            slot.free_at = now.saturating_add(APART);
            return PaceStep::Due(attention);
        }
        let held = self.slots.values().filter(|slot| slot.held.is_some());
        held.map(|slot| slot.free_at)
            .min()
            .map_or(PaceStep::Nothing, PaceStep::Later)
    }

    /// Whether there is anything to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.values().all(|slot| slot.held.is_none())
    }

    /// Lets every kind be told at once.
    pub(crate) fn free(&mut self) {
        for slot in self.slots.values_mut() {
            slot.free_at = Duration::ZERO;
        }
    }

    /// Forgets what is to be told.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }
}

/// The order in which kinds are told: whatever is urgent first, so that nobody has to read of strangers before an alarm.
const ORDER: [AttentionKind; 5] = [
    AttentionKind::Alarm,
    AttentionKind::Certificate,
    AttentionKind::Quarantine,
    AttentionKind::Draft,
    AttentionKind::Introduction,
];
/// The time between two of one kind.
const APART: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn one(kind: AttentionKind, id: u32) -> Attention {
        Attention {
            version: 1,
            kind,
            time: "2026-01-01T00:00:00.000Z".to_owned(),
            agent: "agent-a".to_owned(),
            id: Some(format!("{id:016x}")),
            alarm: None,
            peer: None,
            principal: None,
            verified: false,
            count: 1,
            still: false,
            text: "text".to_owned(),
            next: "next".to_owned(),
        }
    }

    fn due(pace: &mut NotifyPace, seconds: u64) -> Option<(AttentionKind, u64)> {
        match pace.take(Duration::from_secs(seconds)) {
            PaceStep::Due(attention) => Some((attention.kind, attention.count)),
            _ => None,
        }
    }

    #[test]
    fn a_flood_of_strangers_is_told_once_a_minute_with_a_count() {
        let (mut pace, kind) = (NotifyPace::default(), AttentionKind::Introduction);
        assert_eq!(pace.take(Duration::ZERO), PaceStep::Nothing);
        pace.put(one(kind, 0));
        assert_eq!(due(&mut pace, 0), Some((kind, 1)));
        for id in 1..=10_000 {
            pace.put(one(kind, id));
            assert_eq!(due(&mut pace, 59), None);
        }
        assert_eq!(pace.slots.len(), 1, "one place, however many come");
        let later = PaceStep::Later(Duration::from_secs(60));
        assert_eq!(pace.take(Duration::from_secs(59)), later);
        assert_eq!(due(&mut pace, 60), Some((kind, 10_000)));
        assert_eq!(due(&mut pace, 1_000), None);
    }

    #[test]
    fn an_alarm_is_told_at_once_while_strangers_wait_their_turn() {
        let mut pace = NotifyPace::default();
        for id in 0..3 {
            pace.put(one(AttentionKind::Introduction, id));
            due(&mut pace, 0);
        }
        pace.put(one(AttentionKind::Draft, 9));
        pace.put(one(AttentionKind::Alarm, 9));
        assert_eq!(due(&mut pace, 1), Some((AttentionKind::Alarm, 1)));
        assert_eq!(due(&mut pace, 1), Some((AttentionKind::Draft, 1)));
        assert_eq!(due(&mut pace, 1), None);
        assert_eq!(due(&mut pace, 60), Some((AttentionKind::Introduction, 2)));
    }

    #[test]
    fn what_could_not_be_told_comes_again_with_what_came_meanwhile() {
        let (mut pace, kind) = (NotifyPace::default(), AttentionKind::Draft);
        pace.put(one(kind, 1));
        let PaceStep::Due(untold) = pace.take(Duration::ZERO) else {
            panic!("it is due");
        };
        pace.put(one(kind, 2));
        pace.put_back(untold.clone());
        assert_eq!(due(&mut pace, 60), Some((kind, 2)));
        pace.put_back(untold);
        assert_eq!(due(&mut pace, 120), Some((kind, 1)));
        assert!(pace.is_empty());
    }
}
