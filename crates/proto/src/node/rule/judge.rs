//! Checks V08 to V12, in their order. Nothing here changes the node.

use crate::envelope::{Message, Method};
use crate::handshake::Flight;
use crate::progress::Progress;
use crate::reject::Reason;
use crate::time::{CLOCK_TOLERANCE, Timestamp};
use crate::verify::{Payload, Verified};

use super::ruled::{Fault, Readable, Rejected, Ruled, Unsealed};
use super::{admit_time, has_session_headers};
use crate::node::Node;
use crate::node::peers::Peer;

/// What the node rules by at one moment: everything that it knows, and nothing that it could change.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'n> {
    pub(in crate::node) node: &'n Node,
    pub(in crate::node) now: Timestamp,
}

impl<'n> Judge<'n> {
    /// Checks V08 to V12, and what was sealed.
    pub(in crate::node) fn rule(&self, verified: Verified) -> Result<Ruled, Rejected> {
        let Verified {
            message, payload, ..
        } = verified;
        let judged = self.judge(&message, payload).and_then(|judged| {
            let (payload, unsealed) = judged;
            let readable = Readable::of(&message, unsealed.as_ref());
            let (tasks, trust) = (&self.node.tasks, self.node.trust());
            // Check tasks last, as check V12 of docs/protocol.md demands: the chain of mandates may be in a sealed body, which
            // is open only now.
            let task = tasks.rule(trust, self.now, readable)?;
            Ok((payload, unsealed, task))
        });
        match judged {
            Ok((payload, unsealed, task)) => Ok(Ruled {
                message,
                payload,
                unsealed,
                task,
            }),
            Err(fault) => Err(Rejected { message, fault }),
        }
    }

    fn judge(
        &self,
        message: &Message,
        payload: Result<Payload, Reason>,
    ) -> Result<(Payload, Option<Unsealed>), Fault> {
        let link = self.admit_fresh(message)?;
        let headers = &message.headers;
        let is_reused = link.seen(headers.message_id).is_some();
        // A receipt may be late, but not from the future: the receipts signed after it would bear earlier times, and so count
        // as older than it.
        if message.form.method() != Some(Method::Receipt) {
            admit_time(self.now, message)?;
        } else if headers.timestamp > self.now.saturating_add(CLOCK_TOLERANCE) {
            return Err(Reason::TimestampInFuture.into());
        }
        match message.form.method() {
            Some(Method::Revoke | Method::Pause | Method::Resume) => {
                // Neither an order nor a flight may bear session headers or a reused message-id. Check V10 of docs/protocol.md
                // says which fault is named if a message has both: of an order the message-id, of a flight the headers.
                if is_reused {
                    return Err(Reason::MessageIdReuse.into());
                }
                if has_session_headers(message) {
                    return Err(Reason::HeaderInvalid.into());
                }
                // The body was read before this function was called. Report a fault in it only now, since checks V08 to V10 of
                // docs/protocol.md come first.
                let payload = payload?;
                self.node
                    .people
                    .rule(self.node.context(), self.now, message, &payload)?;
                Ok((payload, None))
            }
            Some(method) if method.is_handshake() => {
                if has_session_headers(message) {
                    return Err(Reason::HeaderInvalid.into());
                }
                if is_reused {
                    return Err(Reason::MessageIdReuse.into());
                }
                let payload = payload?;
                if let Payload::Flight(flight) = &payload {
                    self.rule_flight(link, message, flight)?;
                }
                Ok((payload, None))
            }
            _ => self.rule_in_session(link, message, payload, is_reused),
        }
    }

    /// Check V08.
    pub(in crate::node) fn admit_fresh(&self, message: &Message) -> Result<&'n Peer, Reason> {
        let headers = &message.headers;
        let link = self.node.peers.get(&headers.agent_id);
        let link = link.ok_or(Reason::AgentUnknown)?;
        let known = link.seen(headers.message_id);
        match known == Some(message.hash()) || link.has_judged(message) {
            true => Err(Reason::Duplicate),
            false => Ok(link),
        }
    }

    fn rule_flight(&self, link: &Peer, message: &Message, flight: &Flight) -> Result<(), Reason> {
        let own = self.node.me.identity().agent();
        self.node.peers.rule_flight(link, message, flight, own)?;
        let peer = self.node.trust().peer(&message.headers.agent_id);
        let lowest = peer.and_then(|peer| peer.lowest_version());
        match lowest.is_some_and(|lowest| message.headers.version < lowest) {
            true => Err(Reason::VersionDowngrade),
            false => Ok(()),
        }
    }

    fn rule_in_session(
        &self,
        link: &Peer,
        message: &Message,
        payload: Result<Payload, Reason>,
        is_reused: bool,
    ) -> Result<(Payload, Option<Unsealed>), Fault> {
        let headers = &message.headers;
        // Follow the order of check V10 in docs/protocol.md, since the first fault is the one that is reported. V10 is about
        // the session alone, and reads no body.
        let id = headers.session.ok_or(Reason::HandshakeRequired)?;
        let session = link.session(id).ok_or(Reason::SessionUnknown)?;
        if headers.version != session.version {
            return Err(Reason::VersionMismatch.into());
        }
        let method = message.form.method();
        let is_receipt = method == Some(Method::Receipt);
        // A session takes messages under the peer key that opened it. A receipt may also be signed by the peer's newest key,
        // since the older key cannot sign any more after its certificate has ended.
        let by_newest = || {
            let newest = self.node.trust().peer(&headers.agent_id);
            let newest = newest.and_then(|peer| peer.newest());
            is_receipt && newest.is_some_and(|newest| newest.signing_key.id() == headers.key_id)
        };
        if headers.key_id != session.peer_key && !by_newest() {
            return Err(Reason::KeyUnknown.into());
        }
        if method.is_some_and(|method| session.version < method.since()) {
            return Err(Reason::VersionInsufficient.into());
        }
        if method == Some(Method::Offer) && headers.data_tier.is_sealed() {
            return Err(Reason::HeaderInvalid.into());
        }
        if is_receipt {
            admit_receipt(message, is_reused)?;
            return Ok((payload?, None));
        }
        // Compare the time at which the sender signed, not the present: a message that was on its way when the session ended is
        // still taken.
        if headers.timestamp > session.ends {
            return Err(Reason::SessionEnded.into());
        }
        let sequence = headers.sequence.ok_or(Reason::HeaderMissing)?;
        session.window.admit(sequence, message.hash())?;
        if is_reused {
            return Err(Reason::MessageIdReuse.into());
        }
        // From here on, follow the order of check V12 in docs/protocol.md: the first rule that fails names the reason.
        self.node.sent.requests().rule(self.now, message)?;
        self.permit(link, session, message)?;
        let mut payload = payload?;
        if let Payload::Offers(offers) = &payload {
            self.node.offers.rule(session, offers)?;
        }
        // Pings, progress and offers take no room in the inbox, so a full inbox does not stop them.
        let waits = matches!(payload, Payload::Call | Payload::Answer);
        if waits && !self.node.inbox.has_room(message) {
            return Err(Reason::InboxFull.into());
        }
        // Open the sealed content after all cheaper checks: opening costs a key agreement, and only the checks below need the
        // content.
        let unsealed = self.node.me.open(message)?;
        let readable = Readable::of(message, unsealed.as_ref());
        if let Payload::Progress(told) = &mut payload {
            let body = readable.body().ok_or(Reason::BodyUnfit)?;
            *told = Some(Progress::parse(body)?);
        }
        self.fit_body(readable)?;
        Ok((payload, unsealed))
    }
}

/// A receipt has a session and no number, and is no secret. It is taken for an ended session as well.
fn admit_receipt(message: &Message, is_reused: bool) -> Result<(), Reason> {
    if message.headers.sequence.is_some() || message.headers.data_tier.is_sealed() {
        return Err(Reason::HeaderInvalid);
    }
    match is_reused {
        true => Err(Reason::MessageIdReuse),
        false => Ok(()),
    }
}

impl Peer {
    fn has_judged(&self, message: &Message) -> bool {
        let headers = &message.headers;
        let window = headers
            .session
            .and_then(|id| self.session(id))
            .map(|session| &session.window);
        let verdict = window
            .zip(headers.sequence)
            .map(|(window, number)| window.admit(number, message.hash()));
        verdict == Some(Err(Reason::Duplicate))
    }
}
