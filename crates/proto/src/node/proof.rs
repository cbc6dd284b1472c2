//! Lines of our own log that nothing but their signatures vouches for: those that a crash left behind
//! what its home has anchored.

use crate::certificate::Certificate;
use crate::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use crate::envelope::{Message, Method};
use crate::handshake::Credentials;
use crate::keys::{Purpose, VerifyKey};

use super::Judge;

impl Judge<'_> {
    /// Whether the node may take such a line back into its memory, by what it knows before that line.
    /// Only messages are asked for a proof: other lines that move anything have to be vouched for.
    ///
    /// # Errors
    /// Says what of the line does not hold.
    pub fn prove(&self, entry: &Entry) -> Result<(), &'static str> {
        let Entry::Message(verdict) = entry else {
            return Ok(());
        };
        let Evidence::Whole(message) = &verdict.evidence else {
            return Ok(());
        };
        match verdict.direction {
            Direction::In => self.prove_received(verdict, message),
            Direction::Out => self.prove_sent(message),
        }
    }

    fn prove_received(&self, verdict: &Verdict, message: &Message) -> Result<(), &'static str> {
        let is_flight = message.form.method().is_some_and(Method::is_handshake);
        let is_accepted = verdict.ruling == Ruling::Accepted;
        let headers = &message.headers;
        let peer = self.node.trust().peer(&headers.agent_id);
        let known = peer
            .and_then(|peer| peer.certificate(headers.key_id))
            .cloned();
        let certificate = known.or_else(|| self.certificate_in(message).filter(|_| is_flight));
        match certificate {
            Some(certificate) => {
                if certificate.principal != headers.principal_id {
                    return Err("the message's principal-id is not its sender's");
                }
                prove(&certificate.signing_key, message)?;
            }
            // No certificate is known by which this flight could be proven. Skip the proof: the flight was refused, so it
            // changed nothing here.
            None if is_flight && !is_accepted => return Ok(()),
            None => return Err("no line before certifies the key that signed the message"),
        }
        let link = self.node.peers.get(&headers.agent_id);
        let known = link.and_then(|link| link.seen(headers.message_id));
        match is_accepted && !is_flight && known.is_some() {
            true => Err("the message was taken by a line before: this one is a copy of it"),
            false => Ok(()),
        }
    }

    /// The certificate that a flight carries, when it is of a bound agent under its pinned root.
    fn certificate_in(&self, flight: &Message) -> Option<Certificate> {
        let Credentials { certificate, .. } = Credentials::recalled(flight).ok()?;
        let is_theirs = certificate.agent == flight.headers.agent_id
            && certificate.signing_key.id() == flight.headers.key_id;
        (is_theirs && self.node.trust().admit(&certificate).is_ok()).then_some(certificate)
    }

    fn prove_sent(&self, message: &Message) -> Result<(), &'static str> {
        let headers = &message.headers;
        if headers.principal_id != self.node.me.identity().certificate.principal {
            return Err("the message's principal-id is not this agent's");
        }
        let signer = self.node.me.identity().signer(headers.key_id);
        let signer = signer.map(|signer| signer.public());
        // Our keys may have changed since this log line was written: also try the key of the certificate that the log had
        // recorded by then.
        let recorded = self.node.me.recorded().map(|own| &own.signing_key);
        let recorded = recorded.filter(|key| key.id() == headers.key_id);
        match signer.or(recorded) {
            Some(key) => prove(key, message)?,
            // Take a receipt of ours without a proof: the key of its old session may have been destroyed. A false one does no
            // harm: it only sets when the peer was last told, and every start tells the peer anew.
            None if message.form.method() == Some(Method::Receipt) => {}
            None => return Err("the message is not signed by a key of this agent"),
        }
        let link = self.node.peers.get(&headers.recipient_id);
        let mut sessions = link.into_iter().flat_map(|link| link.sessions());
        let session = sessions.find(|session| Some(session.id) == headers.session);
        let next = session.and_then(|session| session.ledger.next());
        // A session gives each sequence number to one message of ours only. If this number is below the ledger's `next`, an
        // earlier log line has used it, so this line is a copy.
        let is_again = headers
            .sequence
            .zip(next)
            .is_some_and(|(given, next)| given < next);
        match is_again {
            true => Err("the message was sent by a line before: this one is a copy of it"),
            false => Ok(()),
        }
    }
}

fn prove(key: &VerifyKey, message: &Message) -> Result<(), &'static str> {
    let holds = key.verify(
        Purpose::Message,
        &message.signed_parts(),
        message.signature(),
    );
    match holds {
        true => Ok(()),
        false => Err("the message's signature does not hold"),
    }
}
