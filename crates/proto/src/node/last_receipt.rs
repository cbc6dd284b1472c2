//! Our last receipt to a peer, until a carrier has taken it.
//!
//! Nobody asks for a receipt that was lost but its peer, by a copy of the message, and that comes minutes later
//! where a carrier holds the message for us. So a carrier that could not hand a receipt on gets it again soon,
//! byte for byte, and no line of the log tells of it. NATS is left out: what nothing there confirms went out all
//! the same.

use std::time::Duration;

use crate::carrier::CarrierId;
use crate::draft::Signed;
use crate::ids::{AgentId, MessageId};
use crate::time::Timestamp;

use super::peers::Peer;
use super::turn::Turn;
use super::{At, Node};

/// The first try after a refusal comes so late, each further one twice as late …
const FIRST: Duration = Duration::from_secs(1);
/// … up to this.
const LONGEST: Duration = Duration::from_secs(30);

/// The receipt that was signed last for a peer. Not lasting: a start tells each peer how far we are.
#[derive(Debug)]
pub(super) struct LastReceipt {
    signed: Signed,
    refused: Option<NotHandedOn>,
}

/// A carrier could not hand it on.
#[derive(Debug)]
struct NotHandedOn {
    by: CarrierId,
    /// How often one could not.
    times: u32,
    /// When it goes out again, by the clock that nobody sets; unknown until that is read next.
    due: Option<Duration>,
}

impl NotHandedOn {
    fn wait(&self) -> Duration {
        FIRST.saturating_mul(1 << self.times.min(8)).min(LONGEST)
    }
}

impl LastReceipt {
    fn is(&self, name: MessageId) -> bool {
        self.signed.message().headers.message_id == name
    }
}

impl Peer {
    /// A receipt was signed: what the one before said is in it.
    pub(super) fn note_receipt(&mut self, signed: Signed) {
        self.last_receipt = Some(LastReceipt {
            signed,
            refused: None,
        });
    }

    /// When the last receipt goes out again, if a carrier refused it.
    pub(super) fn receipt_again_at(&self, at: At) -> Option<Timestamp> {
        let due = self.last_receipt.as_ref()?.refused.as_ref()?.due;
        let left = due.map(|due| due.saturating_sub(at.elapsed));
        Some(at.now.saturating_add(left.unwrap_or_default()))
    }
}

impl Node {
    /// A carrier has the message for its peer: if it is our last receipt, that is done.
    pub(super) fn note_receipt_taken(&mut self, peer: &AgentId, name: MessageId) {
        if let Some(link) = self.peers.get_mut(peer) {
            link.last_receipt.take_if(|last| last.is(name));
        }
    }

    /// A carrier could not hand the message on.
    pub(super) fn note_receipt_refused(
        &mut self,
        carrier: &CarrierId,
        peer: &AgentId,
        name: MessageId,
    ) {
        let link = self.peers.get_mut(peer);
        let last = link.and_then(|link| link.last_receipt.as_mut());
        if let Some(last) = last.filter(|last| last.is(name) && *carrier != CarrierId::NATS) {
            let before = last.refused.as_ref();
            last.refused = Some(NotHandedOn {
                by: carrier.clone(),
                times: before.map_or(0, |before| before.times.saturating_add(1)),
                due: None,
            });
        }
    }
}

impl Turn<'_> {
    pub(super) fn resend_receipt(&mut self, peer: &AgentId) {
        let Some(link) = self.node.peers.get_mut(peer) else {
            return;
        };
        let signed = link.last_receipt.as_ref().map(|last| last.signed.clone());
        let over = |signed: &Signed| signed.message().headers.expires_at <= self.at.now;
        if signed.as_ref().is_some_and(over) {
            link.last_receipt = None;
            return;
        }
        let refused = link
            .last_receipt
            .as_mut()
            .and_then(|last| last.refused.as_mut());
        let (Some(signed), Some(refused)) = (signed, refused) else {
            return;
        };
        let first = self.at.elapsed.saturating_add(refused.wait());
        let due = *refused.due.get_or_insert(first);
        if due > self.at.elapsed {
            return;
        }
        // Until the carrier answers, it is not tried again.
        refused.due = Some(self.at.elapsed.saturating_add(LONGEST));
        let by = refused.by.clone();
        let ways = self.node.carriers.ways_to(peer);
        if let Some(carrier) = ways.next(Some(&by), |_| false).cloned() {
            self.push_by(signed, &carrier);
        }
    }
}
