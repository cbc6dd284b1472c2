//! What was sent goes out again: until a receipt comes, and once more under a new time where our clock was ahead.

use std::sync::Arc;

use crate::draft::{Signed, Stamp};
use crate::entry::{Did, Entry, OutcomeLine};
use crate::envelope::Message;
use crate::ids::AgentId;
use crate::reject::Reason;
use crate::session::Session;

use crate::node::Effect;

use super::state::State;
use crate::node::turn::SentDoor;

impl SentDoor<'_, '_> {
    /// What has no receipt goes out again, or has expired.
    pub(in crate::node) fn resend(&mut self, peer: &AgentId) {
        let due = |session: &Session| {
            session
                .ledger
                .due()
                .is_some_and(|due| due <= self.turn.at.now)
        };
        // Look at the peer without `entry`, which would mark the peer as changed: most peers have nothing due.
        let known = self.turn.node.peers.get(peer);
        if !known.is_some_and(|known| known.sessions().iter().any(due)) {
            return;
        }
        let paused = self.turn.node.people.pausing().is_paused();
        // A receipt for an expired message may still wait for us at a carrier: give up no message before what waits there is
        // read to its end.
        let drained = self
            .turn
            .node
            .peers
            .carriers()
            .are_drained(self.turn.at.elapsed);
        let ways = self.turn.node.peers.carriers().ways_to(peer);
        let (mut expired, mut unsent, mut again) = (Vec::new(), Vec::new(), Vec::new());
        for session in self.turn.node.peers.entry(peer).sessions_mut() {
            let overdue = session.ledger.overdue(self.turn.at.now, drained, &ways);
            if !overdue.expired.is_empty() || !overdue.unsent.is_empty() {
                // Let a receipt go out, which tells the peer which messages we gave up: the peer's answer says which of them
                // had arrived.
                session.window.owe();
                expired.extend(overdue.expired);
                unsent.extend(overdue.unsent);
            }
            // A pause holds back all that would be sent again, but the lives of messages end all the same.
            if !paused {
                again.extend(overdue.resend);
            }
        }
        for (message, way) in again {
            // Write no log line: the log has these same bytes in the line that sent the message first.
            self.turn.ways().push_by(Signed::again(message), &way);
        }
        for message_id in expired {
            let line = OutcomeLine::of(peer, message_id, Did::Expired);
            self.turn.write(Entry::Outcome(line));
        }
        for message_id in unsent {
            let state = State::RefusedHere(Reason::Expired.name().to_owned());
            self.turn.drafts().end(peer, message_id, state);
        }
    }

    /// Signs anew, once each, what the peer refused because our clock was ahead, when it was put back. The peer
    /// has said that it used up the number of the former form: that one it takes never more.
    pub(in crate::node) fn sign_anew(&mut self, peer: &AgentId) {
        let known = self.turn.node.peers.get(peer).into_iter();
        let sessions = known.flat_map(|known| known.sessions());
        let refused = sessions.flat_map(|session| session.ledger.to_sign_anew(self.turn.at.now));
        let refused: Vec<_> = refused.map(Arc::clone).collect();
        for message in refused {
            let Some(stamp) = self.slot_anew(peer, &message) else {
                continue;
            };
            if let Ok(signed) = Signed::anew(&message, self.turn.node.me.identity(), stamp) {
                // The message goes on, signed anew: do not tell its caller that the peer refused the earlier form.
                let name = message.headers.message_id;
                self.turn.out.effects.retain(|effect| {
                    !matches!(effect, Effect::Settle { message_id, .. } if *message_id == name)
                });
                self.turn.write_sent(signed);
            }
        }
    }

    /// Where a message goes that is signed anew: into its session, for which its box was made, and what is not
    /// sealed into the newest as well.
    fn slot_anew(&self, peer: &AgentId, message: &Message) -> Option<Stamp> {
        let (node, now) = (&self.turn.node, self.turn.at.now);
        let newest = node.sent().slot(now, peer)?.stamp(&self.turn.at);
        let own = message.headers.session.zip(node.peers.get(peer));
        let own = own.and_then(|(id, link)| link.session(id));
        match own.filter(|session| session.is_open_for_sending(now)) {
            Some(session) => Some(Stamp {
                session: Some(session.id),
                sequence: Some(session.ledger.next()?),
                version: session.version,
                ..newest
            }),
            None => message.sealed.is_none().then_some(newest),
        }
    }
}
