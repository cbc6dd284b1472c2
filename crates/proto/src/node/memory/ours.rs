//! What lines say of our own messages: sent, receipted, waiting, ended.

use std::sync::Arc;

use super::{Changed, Fate, LineTime, confirm};
use crate::draft::Draft;
use crate::entry::{Did, DraftLine, OutcomeLine};
use crate::envelope::{Form, KeptIn, Message, Method};
use crate::headers::Headers;
use crate::ids::{AgentId, MessageId};
use crate::node::tasks::TaskAnswer;
use crate::node::{Lost, Node, State};
use crate::receipt::Receipt;
use crate::reject::PeerReason;
use crate::time::Timestamp;

impl Node {
    pub(super) fn apply_sent(&mut self, time: LineTime, message: &Arc<Message>) -> Changed {
        let LineTime { now, clock } = time;
        let headers = &message.headers;
        let peer = headers.recipient_id.clone();
        let method = message.form.method();
        if method == Some(Method::Offer) {
            self.peers.entry(&peer).apply_told_offer(now, message);
        }
        let link = self.peers.entry(&peer);
        match message.form.kept() {
            KeptIn::Handshake => {
                if method == Some(Method::Announce) {
                    link.announced = Some(headers.timestamp);
                    link.greets = false;
                }
                let established = link.handshake.sent(message, clock);
                return self.establish(&peer, established, time);
            }
            KeptIn::Receipts => {
                link.receipted = Some(headers.timestamp);
                if let Some(session) = headers.session.and_then(|id| link.session_mut(id)) {
                    session.window.reported();
                }
                return Changed::default();
            }
            KeptIn::Inbox | KeptIn::Request | KeptIn::Offers | KeptIn::Orders | KeptIn::Nowhere => {
            }
        }
        let begins = !message.form.belongs_to_request() && method != Some(Method::Offer);
        let anew = link.takes_anew(headers.message_id);
        if let Some(session) = headers.session.and_then(|id| link.session_mut(id)) {
            session.ledger.record(
                headers.sequence.unwrap_or_default(),
                Arc::clone(message),
                clock,
            );
            if anew {
                session.ledger.note_second(headers.message_id);
            }
        }
        self.sent.remove_draft(&peer, headers.message_id);
        if anew {
            self.sent.forget_result(&peer, headers.message_id);
            return Changed::default();
        }
        if begins && headers.conversation_id.is_some() {
            let at = self.clock.next_step(now);
            self.peers.entry(&peer).trail.note_own_step(at, message);
        }
        self.note_request_or_answer(now, &message.form, headers);
        Changed::default()
    }

    fn note_request_or_answer(&mut self, now: Timestamp, form: &Form, headers: &Headers) {
        if form.method().is_some_and(Method::is_call) {
            self.sent.apply_request(headers);
        }
        if let Some(request) = headers.in_reply_to.filter(|_| form.method().is_none()) {
            let answer = TaskAnswer::by(headers.message_id, form);
            self.forget_request(now, &headers.recipient_id, request, answer);
        }
    }

    /// A request of the peer's is answered.
    fn forget_request(
        &mut self,
        now: Timestamp,
        peer: &AgentId,
        request: MessageId,
        answer: TaskAnswer,
    ) {
        self.inbox.remove(peer, request);
        self.sent.forget_ping(peer, request);
        self.tasks.answered(now, peer, request, answer);
    }

    pub(super) fn apply_receipt(
        &mut self,
        time: LineTime,
        message: &Message,
        receipt: &Receipt,
    ) -> Changed {
        let LineTime { now, clock } = time;
        let (peer, signed_at) = (&message.headers.agent_id, message.headers.timestamp);
        let session = message.headers.session;
        let Some(session) = session.and_then(|id| self.peers.entry(peer).session_mut(id)) else {
            return Changed::default();
        };
        confirm(session);
        if (session.ledger).is_overtaken(receipt, signed_at, session.began) {
            return Changed::default();
        }
        // What the peer says of its own numbers holds, whatever it says of ours.
        if session.ledger.is_news(signed_at) {
            let floor = receipt.floor;
            session.window.take_floor(floor, &receipt.given_up);
        }
        if let Some(misfit) = session.ledger.misfit(receipt, signed_at) {
            let closed = std::mem::replace(&mut session.closed, true);
            let misfit = (!closed).then(|| (peer.clone(), misfit));
            let lost = unknown(peer, session.ledger.abandon(), Lost::RestoredBackup);
            return Changed {
                misfit,
                ..self.note_fates(now, lost)
            };
        }
        let before = session.ledger.peer_through();
        session.ledger.pass_time(now);
        let settled = session.ledger.settle(receipt, signed_at).into_iter();
        if session.ledger.peer_through() > before {
            session.ledger.covered(clock);
        }
        let settled = settled.map(|settled| {
            let heard = |name: String| PeerReason::in_receipt(&name).as_str().to_owned();
            let refused = settled.refused.map(heard);
            let state = refused.map_or(State::Received, State::Refused);
            (peer.clone(), settled.message_id, state)
        });
        self.note_fates(now, settled.collect())
    }

    pub(super) fn apply_draft(&mut self, now: Timestamp, line: &DraftLine) {
        let life = std::time::Duration::from_secs(line.life);
        let Ok(stored) = Draft::parse(line.message.clone(), life) else {
            return;
        };
        if let Some(tag) = &line.client_key {
            self.sent.apply_key(now, line.message_id, tag);
        }
        let message = stored.message();
        // What waits for its person may be refused: then the request still wants an answer.
        if let Some(request) = message.headers.in_reply_to
            && message.form.method().is_none()
            && line.approve.is_none()
        {
            let recipient = message.headers.recipient_id.clone();
            let answer = TaskAnswer::by(message.headers.message_id, &message.form);
            self.forget_request(now, &recipient, request, answer);
        }
        let until = now.saturating_add(life);
        self.peers.entry(&line.peer);
        (self.sent).apply_draft(self.me.identity(), until, line, stored);
    }

    pub(super) fn apply_outcome(&mut self, now: Timestamp, line: &OutcomeLine) -> Changed {
        let (peer, name) = (&line.peer, line.message_id);
        let state = match line.what {
            Did::DraftExpired | Did::Expired => State::Expired,
            Did::DraftRefused => State::RefusedHere(line.reason.clone().unwrap_or_default()),
            Did::AnswerFailed => {
                self.sent.forget_ping(peer, name);
                return Changed::default();
            }
            _ => {
                self.inbox.apply(now, line);
                return Changed::default();
            }
        };
        let link = self.peers.entry(peer);
        if line.what == Did::Expired {
            for session in &mut link.sessions {
                session.ledger.give_up(name);
            }
        } else {
            self.sent.remove_draft(peer, name);
            self.tasks.never_left(now, peer, name);
        }
        self.note_fates(now, vec![(peer.clone(), name, state)])
    }
}

pub(in crate::node) fn unknown(peer: &AgentId, names: Vec<MessageId>, why: Lost) -> Vec<Fate> {
    let unknown = |name| (peer.clone(), name, State::Unknown(why));
    names.into_iter().map(unknown).collect()
}
