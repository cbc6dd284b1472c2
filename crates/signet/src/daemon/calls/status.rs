//! How the daemon does.

use signet_api::{Clock, LogHead, Private, Reason, Refusing, Role, ShowStatus, Status};
use signet_proto::keys::fingerprint;
use signet_proto::node::Node;
use signet_proto::time::Timestamp;

use crate::attention::StandingCounts;
use crate::control::SocketCaller;

use super::inbox::waiting;
use super::peers::peers;
use super::people::ringing;
use super::{AnswerCall, Asker, Batch, DaemonState};

impl AnswerCall for ShowStatus {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let status = status(state, asker.caller);
        state.show::<Self>(Ok(status), asker.reply)
    }
}

/// The status of the daemon; a caller other than the person does not get what is for the person alone.
pub(super) fn status(state: &mut DaemonState, caller: &SocketCaller) -> Status {
    let is_person = caller.role == Role::Person;
    let private = is_person.then(|| of_person(state, caller));
    let (now, node) = (state.at().now, &state.node);
    let certificate = &node.identity().certificate;
    Status {
        agent: certificate.agent.to_string(),
        principal: certificate.principal.to_string(),
        fingerprint: fingerprint(&certificate.root),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        versions: certificate
            .versions
            .iter()
            .map(ToString::to_string)
            .collect(),
        connected: state.connections.is_any_connected(),
        refusing: state.log.full_since().map(|since| Refusing {
            reason: Reason::DiskFull,
            since: since.to_string(),
        }),
        mailbox: state.connections.has_mailbox(),
        mailbox_readers: state.connections.readers(),
        inbox: waiting(node, &caller.reach),
        revoked: node.context().is_revoked(),
        clock: clock_outside(node, now),
        paused: node.people().pausing().is_paused(),
        peers: peers(node, now, &caller.reach),
        private,
    }
}

fn of_person(state: &mut DaemonState, caller: &SocketCaller) -> Private {
    let config_waits = state.config_waits();
    let (now, node) = (state.at().now, &state.node);
    let stands = StandingCounts::of(node, now);
    Private {
        pid: std::process::id(),
        set_aside: node.inbox().aside().count(),
        quarantine: stands.quarantine,
        pending: stands.introductions,
        alarms: stands.alarms,
        ringing: ringing(node),
        root_alarms: stands.changed_roots,
        drafts: node.sent().drafts().count(),
        log_fault: state.log.fault().cloned(),
        log: state.log.head().map(|head| LogHead {
            seq: head.seq,
            head: head.hash.to_hex(),
        }),
        // The `[notify]` command is a path on the person's machine: do not show it on a connection that only looks.
        notify: state.person.notify().filter(|_| !caller.looks),
        config_waits,
    }
}

/// What the clock says, where it stands outside the dates of our certificate.
fn clock_outside(node: &Node, now: Timestamp) -> Option<Clock> {
    let (from, to) = node.me().outside_certificate(now)?;
    Some(Clock {
        now: now.to_string(),
        not_before: from.to_string(),
        not_after: to.to_string(),
    })
}
