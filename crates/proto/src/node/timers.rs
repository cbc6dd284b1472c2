//! What time brings: resends, receipts, renewals, ends.

use std::sync::Arc;
use std::time::Duration;

use crate::draft::{Identity, Signed};
use crate::entry::{CauseLine, Entry};
use crate::envelope::Method;
use crate::handshake::{Handshake, Overdue, START_AGAIN};
use crate::ids::{AgentId, SessionId};
use crate::session::Window;
use crate::time::Timestamp;

use super::pace::Pace;
use super::peers::Peer;
use super::turn::Turn;
use super::{At, Node, Outcome, State};

/// A silent peer is announced to from this often …
const FIRST_SILENCE: Duration = Duration::from_secs(5 * 60);
/// … down to this often.
const LONGEST_SILENCE: Duration = Duration::from_secs(6 * 3600);

impl Node {
    /// Everything that is due at `at.now`.
    pub fn handle_timeout(&mut self, at: At) -> Outcome {
        let mut turn = self.turn(at);
        turn.read_clock();
        let strangers = turn.node.people.overdue(at.now);
        let counted = [strangers, turn.node.polls.overdue(at)];
        for flood in counted.into_iter().flatten() {
            turn.write(Entry::Flood(flood));
        }
        turn.me().write_attempts();
        turn.leases().overdue();
        turn.people().tell_decrees();
        turn.alarms().look_for_holes();
        turn.offers().end_lapsed_offers();
        let peers: Vec<AgentId> = turn.node.peers.names().cloned().collect();
        for peer in peers {
            turn.resend_flights(&peer);
            turn.resend_messages(&peer);
            turn.sign_anew(&peer);
            turn.end_drafts(&peer);
            turn.send_receipts(&peer);
            turn.resend_receipt(&peer);
            turn.offers().tell_offers(&peer);
            turn.seek_session(&peer);
        }
        turn.out
    }

    /// The next time at which [`Node::handle_timeout`] has something to do, by the clock as it is at
    /// `at`.
    pub fn poll_timeout(&self, at: At) -> Option<Timestamp> {
        if let Some(at_once) = self.clock.due(at.now) {
            return Some(at_once);
        }
        let links = self.peers.iter();
        let links = links
            .filter_map(|(peer, link)| {
                let mail_waits = self.sent.drafts().next(peer).is_some();
                link.due(at, self.me.identity(), mail_waits)
            })
            .min();
        let leases = self.inbox.due();
        let lapses = self.offers.due(self.me.policy().offer_linger);
        let others = [
            self.people.due(),
            self.sent.drafts().due(),
            self.polls.due(at),
            leases.map(|due| at.when(due)),
            self.people.orders_due(self, at.now),
            self.me.due(at.now),
            lapses.map(|due| at.when(due)),
        ];
        let offers = self.peers.names();
        let offers = offers.filter_map(|peer| self.offer_due(at, peer)).min();
        links
            .into_iter()
            .chain(offers)
            .chain(others.into_iter().flatten())
            .min()
    }

    /// The log has been told again: handshakes of ours are forgotten, what was accepted and not
    /// answered is answered, and each session's peer hears how far we are.
    pub fn resume(&mut self, at: At) -> Outcome {
        let mut turn = self.turn(at);
        turn.node.alarms.start(at.elapsed);
        turn.node.clock.resume(at.elapsed);
        turn.read_clock();
        turn.node.retire_sessions();
        turn.me().record_own();
        turn.offers().recall_offers();
        let peers: Vec<AgentId> = turn.node.peers.names().cloned().collect();
        for peer in &peers {
            let link = turn.node.peers.entry(peer);
            let unsent = link.handshake.restart(at.now);
            let open: Vec<_> = link
                .sessions
                .iter()
                .filter(|session| session.is_open_for_sending(at.now))
                .map(|session| session.id)
                .collect();
            for id in open {
                turn.send_receipt(peer, id);
            }
            // Drafts of the log whose content cannot be opened any more say so, and end.
            let drafts = turn.node.sent.drafts().of_peer(peer);
            let lost = drafts.map(|drafts| drafts.lost().to_vec());
            for (message_id, reason) in lost.unwrap_or_default() {
                let state = State::RefusedHere(reason.name().to_owned());
                turn.end_draft(peer, message_id, state);
            }
            // No program is connected yet: what does not linger is offered no more.
            turn.offers().mark_offers(peer);
            turn.offers().tell_offers(peer);
            match unsent {
                Some(Method::Verify) => turn.send_verify(peer),
                Some(_) => turn.send_trust(peer),
                None => turn.renew_grant(peer),
            }
        }
        turn.tasks().end_unsent();
        let pings: Vec<_> = turn.node.sent.pings().map(Arc::clone).collect();
        for ping in pings {
            turn.answer_ping(&ping);
        }
        turn.out
    }

    /// A carrier dropped messages before they were read: the log says so.
    pub fn handle_gap(&mut self, at: At, cause: String) -> Outcome {
        let mut turn = self.turn(at);
        turn.write(Entry::Gap(CauseLine { cause }));
        turn.out
    }

    /// A clean stop: what was counted is written.
    pub fn handle_stop(&mut self) -> Outcome {
        let counted = [self.people.flush(), self.polls.flush()];
        let flood = counted.into_iter().flatten().map(Entry::Flood);
        let attempts = self.me.overdue(None).into_iter().map(Entry::Attempt);
        Outcome {
            entries: flood.chain(attempts).collect(),
            ..Outcome::default()
        }
    }
}

impl Turn<'_> {
    fn resend_flights(&mut self, peer: &AgentId) {
        let link = self.node.peers.entry(peer);
        // After a clock was set back no timer lies further ahead than it ever would.
        let latest = self.at.now.saturating_add(LONGEST_SILENCE);
        link.next_announce = link.next_announce.map(|next| next.min(latest));
        link.budgets.bytes.may_tell(self.at.now);
        let mut again = Vec::new();
        match link.handshake.overdue(self.at.now) {
            Overdue::Nothing => {}
            Overdue::Resend(flight) => again.push(flight),
            Overdue::Over => {
                // A silent peer is tried again ever more rarely; one that fell silent between flight
                // 2 and 4 has perhaps restarted, and is tried again at once, then more rarely too.
                let doubled = link.silence * 2;
                match link.handshake {
                    Handshake::AwaitVerify(_) => {
                        link.silence = doubled.clamp(FIRST_SILENCE, LONGEST_SILENCE);
                        link.next_announce = Some(self.at.now.saturating_add(link.silence));
                    }
                    Handshake::AwaitTrust(_) => {
                        link.next_announce = Some(self.at.now.saturating_add(link.silence));
                        link.silence = doubled.clamp(START_AGAIN, LONGEST_SILENCE);
                    }
                    _ => {}
                }
                link.handshake = Handshake::Idle;
            }
        }
        for session in &mut link.sessions {
            let Some(retry) = session.retry.as_mut() else {
                continue;
            };
            if retry.is_over(self.at.now) {
                session.retry = None;
            } else if retry.strike(self.at.now) {
                again.push(Arc::clone(&session.last_flight));
            }
        }
        for flight in again {
            self.fly_again(peer, Signed::again(flight));
        }
    }

    fn end_drafts(&mut self, peer: &AgentId) {
        let over = self.node.sent.drafts().of(peer);
        let over = over.filter(|waiting| waiting.until <= self.at.now);
        let over: Vec<_> = over.map(|waiting| waiting.draft.message_id).collect();
        for message_id in over {
            self.end_draft(peer, message_id, State::Expired);
        }
        self.release(peer);
    }

    fn send_receipts(&mut self, peer: &AgentId) {
        let Some(link) = self.node.peers.get(peer) else {
            return;
        };
        let owed = link.receipts_due(self.at.now, self.node.me.identity());
        let owed = owed.filter(|(_, due)| *due <= self.at.elapsed);
        let owed: Vec<_> = owed.map(|(id, _)| id).collect();
        for id in owed {
            self.send_receipt(peer, id);
        }
    }

    pub(super) fn seek_session(&mut self, peer: &AgentId) {
        let Some(link) = self.node.peers.get(peer) else {
            return;
        };
        let mail_waits = self.node.sent.drafts().next(peer).is_some();
        let due = link.seeks_session_at(self.node.me.identity().until(), mail_waits);
        if due.is_some_and(|due| due <= self.at.now) {
            self.announce(peer);
        }
    }
}

impl Peer {
    /// When time asks something of it.
    fn due(&self, at: At, own: &Identity, mail_waits: bool) -> Option<Timestamp> {
        let sessions = self.sessions.iter().flat_map(|session| {
            [session.retry.map(|retry| retry.due()), session.ledger.due()]
                .into_iter()
                .flatten()
        });
        let fixed = [
            self.handshake.due(),
            self.receipt_due(at, own),
            self.receipt_again_at(at),
            self.seeks_session_at(own.until(), mail_waits),
        ];
        sessions.chain(fixed.into_iter().flatten()).min()
    }

    /// The sessions whose peer should hear from us, and since when, as far as a receipt can be signed.
    fn receipts_due(
        &self,
        now: Timestamp,
        own: &Identity,
    ) -> impl Iterator<Item = (SessionId, Duration)> {
        let sessions = self.sessions.iter();
        let due = sessions.filter_map(|session| {
            let due = self.pace.due_of(&session.window)?;
            Some((session.id, due))
        });
        due.filter(move |(id, _)| self.receipt_signer(*id, now, own).is_some())
    }

    fn receipt_due(&self, at: At, own: &Identity) -> Option<Timestamp> {
        let due = self.receipts_due(at.now, own).map(|(_, due)| due);
        let wait = due.min()?.saturating_sub(at.elapsed);
        let due = at.now.saturating_add(wait);
        let room = self.budgets.bytes.tells_at();
        Some(room.map_or(due, |room| room.max(due)))
    }
}

impl Pace {
    /// When a receipt is due, if one is: at once for what was judged, later for what only answers.
    fn due_of(self, window: &Window) -> Option<Duration> {
        match (window.unreported() > 0, window.owes()) {
            (true, _) => Some(self.news_at()),
            (false, true) => Some(self.answer_at()),
            (false, false) => None,
        }
    }
}
