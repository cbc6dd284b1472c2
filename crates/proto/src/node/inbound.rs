//! What comes from the network: one input in, exactly one verdict out.

use std::sync::Arc;

use signet_json::Value;

use crate::carrier::CarrierId;
use crate::draft::{FLIGHT_LIFE, LONGEST_LIFE};
use crate::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use crate::envelope::{Claimed, KeptIn, Message, Method, Unverified};
use crate::handshake::Handshake;
use crate::ids::{AgentId, KeyId};
use crate::policy::HIGHEST_CLEAR_TIER;
use crate::receipt::Receipt;
use crate::reject::Reason;
use crate::seal::Opened;
use crate::time::Timestamp;
use crate::verify::{Unproven, Verified};

use super::bytes::Paid;
use super::link::Link;
use super::memory::is_ping;
use super::permission::Fault;
use super::sealing::Unsealed;
use super::turn::Turn;
use super::{At, Judged, Node, Outcome, Refusal, Ruled};

pub(super) use crate::time::CLOCK_TOLERANCE;

/// How many handshakes may be half open at once.
const HALF_OPEN_HANDSHAKES: usize = 64;
/// Why what waits for a revoked peer is refused.
pub(super) const PEER_REVOKED: &str = "peer-revoked";

impl Node {
    /// Judges one input from the network (checks V08 to V12; V01 to V07 came before).
    pub fn handle_inbound(&mut self, at: At, judged: Judged) -> Outcome {
        let mut turn = self.turn(at);
        turn.read_clock();
        turn.node.arrived_by = judged.carrier;
        let verified = match judged.result {
            Ok(verified) => turn.node.current(verified).map_err(Refusal::Unproven),
            // Its sender's certificate may have been renewed since.
            Err(Refusal::Unproven(unproven)) if unproven.is_signed => {
                let again = Unverified::of_message(*unproven.message);
                again.verify(turn.node.trust()).map_err(Refusal::Unproven)
            }
            Err(refusal) => Err(refusal),
        };
        // As long as no line tells of it and nobody serves it.
        turn.out.ruled = Some(Ruled::Counted);
        match verified {
            Ok(verified) if verified.message().form.method() == Some(Method::Poll) => {
                turn.take_poll(judged.bytes, verified.message())
            }
            Ok(verified) => {
                let message = Arc::new(verified.into_message());
                turn.judge(judged.bytes, message, None)
            }
            Err(Refusal::Unproven(unproven)) if unproven.is_signed => {
                let Unproven {
                    reason, message, ..
                } = unproven;
                turn.judge(judged.bytes, Arc::new(*message), Some(reason))
            }
            Err(refusal) => turn.refuse_stranger(judged.bytes, judged.head, &refusal),
        }
        turn.out.carrier = Some(&turn.node.arrived_by)
            .filter(|carrier| **carrier != CarrierId::NATS)
            .cloned();
        turn.out
    }

    /// By which of its sender's budgets a message is paid; `None` when there is no room for its line.
    fn admit(
        &mut self,
        now: Timestamp,
        message: &Message,
        refused: Option<Reason>,
    ) -> Option<Paid> {
        let ruling = refused.map_or(Ruling::Accepted, Ruling::Rejected);
        if can_be_a_replay(message, ruling) {
            return Some(Paid::AsStrangers);
        }
        let budgets = &mut self.link_mut(&message.headers.agent_id).budgets;
        budgets.bytes.admit(now, message, refused.is_some())
    }

    /// Checks V08 to V12, in their order, and what was sealed. Changes nothing.
    fn rule(
        &self,
        now: Timestamp,
        message: &Message,
        beyond: Option<Reason>,
    ) -> Result<Option<Unsealed>, Fault> {
        let headers = &message.headers;
        let Some(link) = self.link(&headers.agent_id) else {
            return Err(Reason::AgentUnknown.into());
        };
        let known = link.names.hash_of(headers.message_id);
        if known == Some(message.hash()) || link.has_judged(message) {
            return Err(Reason::Duplicate.into());
        }
        if let Some(reason) = beyond {
            return Err(reason.into());
        }
        let method = message.form.method();
        // A receipt may be late, but one from the future would silence those that follow it.
        if method != Some(Method::Receipt) {
            admit_time(now, message)?;
        } else if headers.timestamp > now.saturating_add(CLOCK_TOLERANCE) {
            return Err(Reason::TimestampInFuture.into());
        }
        match method {
            Some(method @ (Method::Revoke | Method::Pause | Method::Resume)) => {
                if known.is_some() {
                    return Err(Reason::MessageIdReuse.into());
                }
                self.rule_decree(now, message, method)?;
                Ok(None)
            }
            Some(method) if method.is_handshake() => {
                self.rule_flight(link, message, known.is_some())?;
                Ok(None)
            }
            _ => self.rule_in_session(now, link, message, known.is_some()),
        }
    }

    fn rule_flight(&self, link: &Link, flight: &Message, reused: bool) -> Result<(), Reason> {
        let placed = flight.headers.session.is_some() || flight.headers.sequence.is_some();
        if placed || is_tiered(flight) {
            return Err(Reason::HeaderInvalid);
        }
        if reused {
            return Err(Reason::MessageIdReuse);
        }
        link.handshake.admit(flight, self.identity.agent())?;
        if flight.form.method() == Some(Method::Announce) {
            self.rule_announce(link, flight)?;
        }
        let peer = self.trust().peer(&flight.headers.agent_id);
        let lowest = peer.and_then(|peer| peer.lowest_version());
        match lowest.is_some_and(|lowest| flight.headers.version < lowest) {
            true => Err(Reason::VersionDowngrade),
            false => Ok(()),
        }
    }

    fn rule_announce(&self, link: &Link, flight: &Message) -> Result<(), Reason> {
        if link
            .heard_announce
            .is_some_and(|heard| flight.headers.timestamp <= heard)
        {
            return Err(Reason::AnnounceStale);
        }
        let half_open = |link: &&Link| matches!(link.handshake, Handshake::AwaitCapability(_));
        let busy = self.links.values().filter(half_open).count() >= HALF_OPEN_HANDSHAKES;
        if busy && !half_open(&link) {
            Err(Reason::HandshakeBusy)
        } else {
            Ok(())
        }
    }

    fn rule_in_session(
        &self,
        now: Timestamp,
        link: &Link,
        message: &Message,
        reused: bool,
    ) -> Result<Option<Unsealed>, Fault> {
        let headers = &message.headers;
        let id = headers.session.ok_or(Reason::HandshakeRequired)?;
        let session = link.session(id).ok_or(Reason::SessionUnknown)?;
        if headers.version != session.version {
            return Err(Reason::VersionMismatch.into());
        }
        let receipt = message.form.method() == Some(Method::Receipt);
        // An older key is good for the sessions that it opened, and for no later one. A later key may still
        // say what was judged in a session of an older one, which cannot sign after its certificate's end.
        let by_newest = || receipt && self.newest_key(&headers.agent_id) == Some(headers.key_id);
        if headers.key_id != session.peer_key && !by_newest() {
            return Err(Reason::KeyUnknown.into());
        }
        let method = message.form.method();
        if method.is_some_and(|method| session.version < method.since()) {
            return Err(Reason::VersionInsufficient.into());
        }
        if method == Some(Method::Offer) && is_tiered(message) {
            return Err(Reason::HeaderInvalid.into());
        }
        if receipt {
            admit_receipt(message, reused)?;
            return Ok(None);
        }
        if headers.timestamp > session.ends {
            return Err(Reason::SessionEnded.into());
        }
        let sequence = headers.sequence.ok_or(Reason::HeaderMissing)?;
        session.window.admit(sequence, message.hash())?;
        if reused {
            return Err(Reason::MessageIdReuse.into());
        }
        self.rule_response(now, message)?;
        self.permit(now, link, session, message)?;
        Self::rule_live_offer(session, message)?;
        if waits_for_agent(message) && !self.inbox.has_room(message) {
            return Err(Reason::InboxFull.into());
        }
        let unsealed = self.open(message)?;
        let opened = unsealed.as_ref().map(|(opened, _)| opened);
        Self::fit_progress(message, body_of(message, opened))?;
        self.fit_body(message, body_of(message, opened))?;
        Ok(unsealed)
    }

    fn newest_key(&self, peer: &AgentId) -> Option<KeyId> {
        let newest = self.trust().peer(peer)?.newest()?;
        Some(newest.signing_key.id())
    }

    /// A response is taken only for an open request of ours, from the agent we asked, once; progress
    /// likewise, as often as it comes before that.
    fn rule_response(&self, now: Timestamp, message: &Message) -> Result<(), Reason> {
        if !message.form.belongs_to_request() {
            return Ok(());
        }
        let headers = &message.headers;
        let open = headers
            .in_reply_to
            .and_then(|request| self.open.get(&request));
        let open = open.filter(|open| now < open.closes);
        match open.filter(|open| open.peer == headers.agent_id) {
            None => Err(Reason::ResponseUnsolicited),
            Some(open) if headers.data_tier < open.tier => Err(Reason::TierLowered),
            Some(_) => Ok(()),
        }
    }

    /// The message by the present trust store: judged again when its sender's standing has changed.
    fn current(&self, verified: Verified) -> Result<Verified, Unproven> {
        let epoch = self
            .trust()
            .peer(&verified.message().headers.agent_id)
            .map_or(0, |peer| peer.epoch());
        if epoch == verified.epoch() {
            Ok(verified)
        } else {
            verified.into_unverified().verify(self.trust())
        }
    }
}

impl Turn<'_> {
    /// Judges a message whose signature holds. `beyond` is why it is refused in any case: what it claims
    /// goes beyond its sender's certificate.
    fn judge(&mut self, bytes: u64, message: Arc<Message>, beyond: Option<Reason>) {
        // The line of a clock that was put back comes before, and the peer does not pay for it.
        let before = self.out.entries.len();
        let (now, hash) = (self.at.now, message.hash());
        let ruled = self.node.rule(now, &message, beyond);
        let ruled = ruled.and_then(|unsealed| {
            let opened = unsealed.as_ref().map(|(opened, _)| opened);
            let body = body_of(&message, opened);
            let task = self.node.rule_task(now, &message, body)?;
            Ok((unsealed, task))
        });
        let refused = ruled.as_ref().err().map(|fault| fault.reason);
        let Some(paid) = self.node.admit(now, &message, refused) else {
            // It is not judged: what it says comes again, or was never to be taken.
            self.node.strangers.count(now, bytes, hash);
            return self.note_excess(&message.headers.agent_id);
        };
        let (ruling, detail, (unsealed, task)) = match ruled {
            Ok(proven) => (self.obey(&message), None, proven),
            Err(fault) => (Ruling::Rejected(fault.reason), fault.detail, (None, None)),
        };
        if let Some(task) = task {
            self.write(task);
        }
        let (opened, plaintext) = unsealed.unzip();
        let copy = plaintext.and_then(|plaintext| self.node.copy_of(&plaintext));
        self.count_call(&message, ruling);
        let entry = Outcome::verdict(bytes, &message, ruling, copy, paid);
        // A stranger can replay what it overheard: such lines count against the strangers' budget.
        if can_be_a_replay(&message, ruling) && !self.node.strangers.spend(now, &entry) {
            self.node.strangers.count(now, bytes, hash);
        } else {
            self.out.ruled = Some(match ruling {
                Ruling::Accepted => Ruled::Accepted,
                _ => Ruled::Refused,
            });
            if ruling == Ruling::Accepted {
                let by = self.node.arrived_by.clone();
                self.node.link_mut(&message.headers.agent_id).heard_by = Some(by);
            }
            self.write(entry);
        }
        match ruling {
            Ruling::Accepted => self.follow_accepted(&message, opened),
            Ruling::Rejected(reason) => {
                let fault = Fault { reason, detail };
                self.follow_refused(&message, fault, paid)
            }
            Ruling::Sent => {}
        }
        let budgets = &mut self.node.link_mut(&message.headers.agent_id).budgets;
        let lines = self.out.entries.get(before..).unwrap_or_default();
        budgets.bytes.pay(paid, lines);
    }

    fn refuse_stranger(&mut self, bytes: u64, head: Vec<u8>, refusal: &Refusal) {
        let (reason, hash, claimed) = match refusal {
            Refusal::Unparsed(unparsed) => {
                (unparsed.reason, unparsed.hash, unparsed.claimed.clone())
            }
            Refusal::Unproven(unproven) => {
                let headers = &unproven.message.headers;
                let message_type = Some(headers.message_type);
                let claimed = Claimed {
                    agent: Some(headers.agent_id.clone()),
                    message_type,
                };
                (unproven.reason, unproven.message.hash(), claimed)
            }
            Refusal::Shed(hash) => {
                return self.node.strangers.count(self.at.now, bytes, *hash);
            }
        };
        let ruling = Ruling::Rejected(reason);
        let evidence = Evidence::Raw(head, claimed);
        let verdict = Verdict {
            direction: Direction::In,
            ruling,
            bytes,
            hash,
            evidence,
            copy: None,
        };
        let entry = Entry::Message(verdict);
        if !self.node.strangers.spend(self.at.now, &entry) {
            return self.node.strangers.count(self.at.now, bytes, hash);
        }
        self.out.ruled = Some(Ruled::Refused);
        self.write(entry);
        if let Refusal::Unproven(unproven) = refusal {
            self.consider_stranger(&unproven.message, reason);
        }
    }
}

/// What a message carries, in clear or opened.
fn body_of<'a>(message: &'a Message, opened: Option<&'a Opened>) -> Option<&'a Value> {
    opened.map_or(message.body.as_ref(), |opened| opened.body.as_ref())
}

/// Whether the message takes room in the inbox: not what the daemon itself answers or keeps.
fn waits_for_agent(message: &Message) -> bool {
    message.form.kept() == KeptIn::Inbox && !is_ping(message)
}

/// Flights, offers, receipts and decrees are no secrets: none has a tier whose content the log must not hold.
pub(super) fn is_tiered(message: &Message) -> bool {
    message.headers.data_tier > HIGHEST_CLEAR_TIER
}

fn can_be_a_replay(message: &Message, ruling: Ruling) -> bool {
    let flight = message.form.method().is_some_and(Method::is_handshake);
    match ruling {
        Ruling::Rejected(Reason::Duplicate) => true,
        Ruling::Rejected(_) => flight,
        Ruling::Accepted | Ruling::Sent => false,
    }
}

/// Check V09.
pub(super) fn admit_time(now: Timestamp, message: &Message) -> Result<(), Reason> {
    let headers = &message.headers;
    let flight = message.form.method().is_some_and(Method::is_handshake);
    let longest = if flight { FLIGHT_LIFE } else { LONGEST_LIFE };
    if headers.timestamp > now.saturating_add(CLOCK_TOLERANCE) {
        return Err(Reason::TimestampInFuture);
    }
    if headers.expires_at <= now {
        return Err(Reason::Expired);
    }
    let fits = headers.timestamp < headers.expires_at
        && headers.expires_at.since(headers.timestamp) <= longest;
    if fits {
        Ok(())
    } else {
        Err(Reason::LifetimeTooLong)
    }
}

/// A receipt has a session and no number. It is taken for an ended session as well.
fn admit_receipt(message: &Message, reused: bool) -> Result<(), Reason> {
    if message.headers.sequence.is_some() || is_tiered(message) {
        return Err(Reason::HeaderInvalid);
    }
    if reused {
        return Err(Reason::MessageIdReuse);
    }
    message
        .body
        .as_ref()
        .and_then(Receipt::parse)
        .map(|_| ())
        .ok_or(Reason::InvalidShape)
}

impl Link {
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
