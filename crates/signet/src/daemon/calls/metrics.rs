//! The numbers of the daemon, for whoever keeps the machine.

use std::cmp::min;

use signet_api::{CarrierState, Metrics, ShowMetrics, StandingNumbers};
use signet_proto::node::{Outgoing, WaitsFor};

use crate::attention::StandingCounts;

use super::{AnswerCall, Asker, Batch, DaemonState};

impl AnswerCall for ShowMetrics {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let metrics = metrics(state);
        state.show::<Self>(Ok(metrics), asker.reply)
    }
}

/// The numbers as they are now.
pub(super) fn metrics(state: &DaemonState) -> Metrics {
    let meters = &state.meters;
    let carriers = state.connections.states();
    let carriers = carriers.map(|(id, up)| CarrierState {
        carrier: id.to_string(),
        up,
    });
    Metrics {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: meters.started(),
        messages: meters.messages(),
        rejections: meters.rejections(),
        times: meters.times(),
        clock_warnings: meters.clock_warnings(),
        log_lines: state.log.head().map_or(0, |head| head.seq),
        log_bytes: meters.log_bytes(),
        carriers: carriers.collect(),
        standing: standing(state),
    }
}

fn standing(state: &DaemonState) -> StandingNumbers {
    let (now, node) = (state.at().now, &state.node);
    let stands = StandingCounts::of(node, now);
    let (mut outbox, mut oldest) = (0, now);
    for out in node.sent().unsettled().filter(is_on_its_way) {
        outbox += 1;
        oldest = min(oldest, out.since);
    }
    StandingNumbers {
        outbox,
        outbox_oldest: now.since(oldest).as_secs(),
        inbox: number(node.inbox().len()),
        quarantine: number(stands.quarantine),
        drafts: number(stands.drafts),
        introductions: number(stands.introductions),
        alarms: number(stands.alarms + stands.changed_roots),
        disk_full: state.log.full_since().is_some(),
        paused: node.people().pausing().is_paused(),
        revoked: node.context().is_revoked(),
        certificate_ends: node.identity().certificate.not_after.as_millis() / 1000,
        clock_outside: node.me().outside_certificate(now).is_some(),
        clock_offset_ms: state.meters.clock_offset(now),
    }
}

/// Whether a message waits for the network, the peer's daemon or the clock. One that waits for a person may wait as long as that
/// person likes: it is counted as a draft, or stands for a stranger.
fn is_on_its_way(out: &Outgoing) -> bool {
    match out.waits_for {
        None | Some(WaitsFor::Session | WaitsFor::Peer | WaitsFor::Clock) => true,
        Some(WaitsFor::Approval | WaitsFor::Introduction | WaitsFor::Resume | WaitsFor::Alarm) => {
            false
        }
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
