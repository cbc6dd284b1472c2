//! `receive`: what waits, under a lease; whoever finds nothing waits for the next.

use std::collections::BTreeSet;
use std::time::Duration;

use signet_api::{ApiError, Receive};
use signet_proto::headers::CapabilityName;
use signet_proto::node::Wanted;
use tokio::time::Instant;

use crate::reach::Reach;

use super::serve::{named, parse_wait};
use super::{AnswerCall, Asker, Batch, DaemonState};
use crate::daemon::consumers::Consumer;

/// How long a lease lasts when nothing else is said.
const LEASE: Duration = Duration::from_secs(60);
/// How many messages one call takes at most.
const MOST: usize = 100;

impl AnswerCall for Receive {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let (mut wanted, wait) = match wanted(&self, &asker.caller.reach) {
            Ok(parsed) => parsed,
            Err(error) => return state.refuse(asker.reply, error),
        };
        // Tie the lease to the connection: it ends when the program disconnects, so that another program need not wait for the
        // message until the lease would end by itself.
        wanted.connection = state.consumers.watch(&asker.notifier).connection;
        let consumer = Consumer {
            wanted,
            limit: self.limit.unwrap_or(1).clamp(1, MOST),
            until: Instant::now() + wait,
            reply: asker.reply,
        };
        let (at, node) = (state.at(), &mut state.node);
        let next = |wanted: &mut Wanted| node.turn(at).leases().receive(wanted);
        state.consumers.receive(consumer, at.now, next)
    }
}

/// What the call asks for, narrowed to the ceiling of its caller.
fn wanted(asked: &Receive, reach: &Reach) -> Result<(Wanted, Duration), ApiError> {
    let names = asked.capabilities.as_ref();
    let name = |text: &String| named::<CapabilityName>("capabilities", text);
    let names = names.map(|names| names.iter().map(name).collect::<Result<BTreeSet<_>, _>>());
    let lease = asked.lease.map(parse_wait).transpose()?;
    let wanted = Wanted {
        capabilities: names.transpose()?,
        tier: reach.tier,
        peers: reach.peers.as_deref().cloned(),
        lease: lease.unwrap_or(LEASE),
        connection: 0,
        looked: 0,
    };
    Ok((wanted, parse_wait(asked.wait)?))
}
