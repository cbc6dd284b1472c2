//! What follows from a verdict: whom we answer, and with what.

use std::sync::Arc;

use signet_json::{Map, Value};

use crate::draft::{Draft, FLIGHT_LIFE, Signed};
use crate::envelope::{Form, KeptIn, Message, Method};
use crate::ids::{AgentId, MessageId};
use crate::policy::may_travel_in_clear;
use crate::receipt::{Exception, Receipt};
use crate::reject::{PeerReason, Reason};
use crate::verify::Payload;

use super::Effect;
use super::bytes::Paid;
use super::inbound::CLOCK_TOLERANCE;
use super::pace::ANSWER_PACE;
use super::rule::ruled::{Accepted, Fault, Rejected, Ruled};
use super::turn::Turn;

/// The longest `error.message`, in characters.
const LONGEST_TEXT: usize = 500;

impl Turn<'_> {
    pub(super) fn follow_accepted(&mut self, ruled: Ruled) {
        let message = Arc::clone(&ruled.message);
        match &ruled.payload {
            Payload::Flight(_) => self.follow_flight(&message),
            Payload::Receipt(receipt) => self.answer_receipt(&message, receipt),
            Payload::Ping => self.answer_ping(&message),
            Payload::Offers(_) | Payload::Poll(_) | Payload::Revocation(_) | Payload::Pause(_) => {}
            Payload::Progress(_) | Payload::Call | Payload::Answer => {
                if is_about_clocks(&message.form) {
                    self.alarms().note_clock(&message);
                }
                if !self.node.people.pausing().is_paused() {
                    self.hand_over(Accepted::of(ruled));
                }
            }
        }
        if message.headers.session.is_some() {
            self.release(&message.headers.agent_id);
        }
    }

    /// Our agent may have it.
    fn hand_over(&mut self, accepted: Accepted) {
        let message = accepted.message();
        let headers = &message.headers;
        let is_kept = || self.node.inbox.find(&headers.agent_id, headers.message_id);
        let effect = match message.form {
            Form::Call(Method::Progress) => Effect::Progress(accepted),
            Form::Call(_) => Effect::Deliver(accepted),
            Form::Success | Form::Failure { .. } if is_kept().is_some() => Effect::Answer(accepted),
            // Every other answer is in the inbox by now.
            Form::Success | Form::Failure { .. } => Effect::Pong(accepted),
        };
        self.out.effects.push(effect);
    }

    /// Our agent may have what waits in the inbox: it came during a pause, or is tried again.
    pub(super) fn hand_over_waiting(&mut self, peer: &AgentId, name: MessageId) {
        if let Some(message) = self.node.inbox.find(peer, name).cloned() {
            let opened = self.node.opened(&message);
            self.hand_over(Accepted::kept(message, opened));
        }
    }

    pub(super) fn follow_refused(&mut self, rejected: Rejected, paid: Paid) {
        let Rejected { message, fault } = &rejected;
        if fault.reason == Reason::TimestampInFuture {
            self.alarms().note_clock(message);
        }
        match fault.reason {
            Reason::Duplicate => self.answer_copy(message),
            Reason::SessionUnknown => self.answer_unknown_session(message),
            Reason::Expired | Reason::TimestampInFuture
                if message.form == Form::Call(Method::Announce) =>
            {
                self.answer_late_announce(message);
            }
            Reason::HandshakeUnexpected | Reason::TranscriptMismatch => {
                self.alarms().suspect_copy_by_flight(message);
            }
            // An error would name a message that stands under the same number or name.
            Reason::SequenceReuse => self.alarms().alarm_of_reuse(message),
            Reason::MessageIdReuse => {}
            Reason::SequenceBelowWindow | Reason::SessionEnded | Reason::HandshakeRequired => {}
            // Over its budget the peer hears of it in the next receipt alone.
            _ if paid == Paid::Withheld => {}
            _ if message.form.method().is_some_and(Method::is_call) => {
                let form = failure(fault);
                let id = self.node.ids.fresh(self.at.now);
                // An error that finds no room in the outbox is in the next receipt all the same.
                let _ = self.dispatch(Draft::answer(form, message, id, None));
            }
            _ => {}
        }
    }

    pub(super) fn answer_ping(&mut self, message: &Arc<Message>) {
        let mut body = Map::new();
        body.insert("pong".into(), true.into());
        body.insert("received".into(), self.at.now.to_string().into());
        let id = self.node.ids.fresh(self.at.now);
        let draft = Draft::answer(Form::Success, message, id, Some(Value::Object(body)));
        if self.dispatch(draft).is_err() {
            let entry = super::outbound::outcome_of(message, crate::entry::Did::AnswerFailed);
            self.write(entry);
        }
    }

    /// A receipt that misses something of ours, or names exceptions, is answered with our floor.
    fn answer_receipt(&mut self, message: &Message, receipt: &Receipt) {
        let peer = message.headers.agent_id.clone();
        let Some(id) = message.headers.session else {
            return;
        };
        let clock =
            |(_, except): &(u64, Exception)| except.reason == Reason::TimestampInFuture.name();
        if receipt.except.iter().any(clock) {
            self.alarms().note_clock(message);
            self.sign_anew(&peer);
        }
        let link = self.node.peers.entry(&peer);
        let lately = self.at.elapsed < link.pace.answer_at();
        // Two closed halves of a session never agree again: they would answer each other for ever.
        let session = link.session_mut(id).filter(|session| !session.closed);
        let Some(session) = session else { return };
        let behind = receipt.through + 1 < session.ledger.floor();
        if !behind && receipt.except.is_empty() {
            return;
        }
        if lately {
            session.window.owe();
        } else {
            self.send_receipt(&peer, id);
        }
    }

    /// A flight 1 that fails only in time is answered by an announce of our own, which tells the
    /// peer our time; at most one in five minutes.
    fn answer_late_announce(&mut self, message: &Message) {
        self.alarms().suspect_clock(message);
        let peer = message.headers.agent_id.clone();
        let link = self.node.peers.entry(&peer);
        let lately = link
            .answered_late
            .is_some_and(|last| self.at.now.is_within(FLIGHT_LIFE, last));
        if !lately {
            link.answered_late = Some(self.at.now);
            self.announce_if_idle(&peer);
        }
    }

    fn answer_unknown_session(&mut self, message: &Message) {
        let peer = message.headers.agent_id.clone();
        let Some(id) = message.headers.session else {
            return;
        };
        let link = self.node.peers.entry(&peer);
        let latest = self.at.now.saturating_add(CLOCK_TOLERANCE);
        // A session that two wrong clocks made in the time to come is not newer than what is said now.
        let newest = link.sessions.last();
        let newest = newest.filter(|newest| newest.began <= latest);
        let old = newest.is_some_and(|newest| message.headers.timestamp < newest.began);
        // One that was made just now is the answer already.
        let answered = newest.is_some_and(|newest| match newest.made {
            Some(made) => self.at.elapsed < made.saturating_add(CLOCK_TOLERANCE),
            None => latest.is_within(CLOCK_TOLERANCE * 2, newest.began),
        });
        if old || answered || link.unknown_sessions.contains(&id) {
            return;
        }
        if self.alarms().suspect_copy_by_session(message) {
            return;
        }
        let link = self.node.peers.entry(&peer);
        link.unknown_sessions.push_back(id);
        if link.unknown_sessions.len() > super::peers::peer::SESSIONS {
            link.unknown_sessions.pop_front();
        }
        self.announce_if_idle(&peer);
    }

    /// A repeated flight is answered by the stored one, a repeated message by the next receipt; both
    /// at most once a second, so that a replay is no amplifier.
    fn answer_copy(&mut self, message: &Arc<Message>) {
        let peer = message.headers.agent_id.clone();
        let link = self.node.peers.entry(&peer);
        if link
            .repeated
            .is_some_and(|last| self.at.elapsed < last + ANSWER_PACE)
        {
            return;
        }
        link.repeated = Some(self.at.elapsed);
        match message.form.kept() {
            KeptIn::Handshake if message.form != Form::Call(Method::Trust) => {
                let of_session = link
                    .sessions
                    .iter()
                    .find(|session| session.answers == message.hash());
                let stored = link
                    .handshake
                    .answer_to(message.hash())
                    .or(of_session.map(|session| &session.last_flight));
                let stored = stored
                    .filter(|flight| self.at.now < flight.headers.expires_at)
                    .map(Arc::clone);
                if let Some(flight) = stored {
                    self.answer_by(&peer, Signed::again(flight));
                }
            }
            KeptIn::Handshake => {
                link.unheard = true;
                // A newer session may be one whose flight 4 of ours the peer has not got: it is unknown there.
                let mut sessions = link.sessions.iter();
                let opened = sessions.find(|session| session.answers_flight(message));
                if let Some(id) = opened.map(|session| session.id) {
                    self.send_receipt(&peer, id);
                }
            }
            KeptIn::Receipts | KeptIn::Nowhere => {}
            KeptIn::Inbox | KeptIn::Request | KeptIn::Offers | KeptIn::Orders => {
                if let Some(session) = message.headers.session.and_then(|id| link.session_mut(id)) {
                    session.window.owe();
                    link.unheard = true;
                }
            }
        }
    }
}

fn is_about_clocks(form: &Form) -> bool {
    form.refusal() == Some(PeerReason::Known(Reason::TimestampInFuture))
}

fn failure(fault: &Fault) -> Form {
    let reason = fault.reason;
    let detail = fault.detail.iter().map(|detail| format!(" {detail}"));
    Form::Failure {
        code: reason.code(),
        message: reason
            .text()
            .chars()
            .chain(detail.collect::<String>().chars())
            .take(LONGEST_TEXT)
            .collect(),
        reason: reason.name().to_owned(),
    }
}

/// A failure in our agent's own words.
pub(super) fn decline(request: &Message, id: MessageId, text: String) -> Draft {
    let (form, summary) = declined(request.headers.data_tier, text);
    let mut draft = Draft::answer(form, request, id, None);
    draft.summary = summary;
    draft
}

/// The form and the summary of a failure in our agent's own words. Where what they answer was sealed,
/// so are they: as the summary.
pub(super) fn declined(tier: u8, text: String) -> (Form, Option<String>) {
    let reason = Reason::Declined;
    let (message, summary) = match may_travel_in_clear(tier, true, false) {
        true => (text, None),
        false => (reason.text().to_owned(), Some(text)),
    };
    let (code, reason) = (reason.code(), reason.name().to_owned());
    let form = Form::Failure {
        code,
        message,
        reason,
    };
    (form, summary)
}
