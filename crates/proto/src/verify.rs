//! From [`Unverified`] to [`Verified`]: checks V05 to V07, stateless, against a snapshot of the
//! trust store, so that many workers can verify at once.
//!
//! ```text
//! Unverified ─ verify ─▶ Verified { message, payload, epoch }
//!      │             ├─▶ Beyond { message, reason }      its sender's, and refused in any case
//!      │             └─▶ Unproven { message, reason }
//!      └─ begin ─▶ OpenProof ─ settle ─▶ the same, for many at once
//! ```

mod open;
mod payload;

use std::sync::Arc;
use std::time::Duration;

use crate::certificate::{Certificate, KEYS_LEEWAY, KEYS_LIFE, KeyStatement};
use crate::envelope::{Message, Method, Unverified};
use crate::handshake::Credentials;
use crate::keys::{OpenCheck, Purpose, SignatureCheck, VerifyKey};
use crate::reject::Reason;
use crate::trust::TrustView;

pub(crate) use open::BegunProof;
use open::OpenProof;
pub(crate) use payload::Payload;

/// A message whose signature holds under a certified key of its sender, and which is meant for us.
///
/// Whether it is fresh, in time and allowed is for `Node` to judge. It carries what it says, read once, and the
/// epoch of its sender in the trust store that it was judged by.
#[derive(Clone, Debug)]
pub struct Verified {
    pub(crate) message: Arc<Message>,
    /// What it carries, or why it is refused once all that is judged before its body holds.
    pub(crate) payload: Result<Payload, Reason>,
    epoch: u64,
}

/// A numbered message whose signature holds under a certified key of its sender, and whose time or layers alone go
/// beyond the certificate of that key. It can only be refused, and uses up its number.
#[derive(Clone, Debug)]
pub struct Beyond {
    pub(crate) message: Arc<Message>,
    pub(crate) reason: Reason,
}

/// A message that failed a check before its signature was proven.
#[derive(Clone, Debug)]
pub struct Unproven {
    pub(crate) message: Box<Message>,
    pub(crate) reason: Reason,
}

/// What is proven of a message.
#[derive(Clone, Debug)]
pub enum Proven {
    /// All that no state is needed for.
    Verified(Verified),
    /// That it is its sender's.
    Beyond(Beyond),
    /// Nothing.
    Unproven(Unproven),
}

impl Proven {
    /// The message that passed the checks V05 to V07.
    ///
    /// # Errors
    /// The first check that failed.
    pub fn verified(self) -> Result<Verified, Reason> {
        match self {
            Self::Verified(verified) => Ok(verified),
            Self::Beyond(Beyond { reason, .. }) | Self::Unproven(Unproven { reason, .. }) => {
                Err(reason)
            }
        }
    }
}

/// The thread that verifies. Making a key's table takes a quarter of a millisecond, which the owner of the state has for nobody.
#[derive(Clone, Copy, Debug)]
enum Verifier {
    /// A worker, beside the owner of the state: it makes tables of keys.
    Worker,
    /// The owner itself: it takes tables that are there.
    Owner,
}

impl Unverified {
    /// Checks V05 (recipient), V06 (sender, key, certificate) and V07 (signature), in this order. Workers call it.
    ///
    /// Certificates are judged at the message's own `timestamp`, so no clock is needed.
    pub fn verify(self, view: &TrustView) -> Proven {
        self.verify_by(view, Verifier::Worker)
    }

    /// The same checks once more, on the thread that owns the state: it makes no tables of keys.
    pub(crate) fn verify_again(self, view: &TrustView) -> Proven {
        self.verify_by(view, Verifier::Owner)
    }

    fn verify_by(self, view: &TrustView, by: Verifier) -> Proven {
        match self.begin_by(view, by) {
            BegunProof::Done(proven) => proven,
            BegunProof::Open(open) => open.settle(view),
        }
    }

    /// The checks of [`Unverified::verify`], where the last step of a signature may be left for many to take at once.
    pub(crate) fn begin(self, view: &TrustView) -> BegunProof {
        self.begin_by(view, Verifier::Worker)
    }

    fn begin_by(self, view: &TrustView, by: Verifier) -> BegunProof {
        let proven = prove(self.claims(), view, by);
        let is_theirs =
            |reason| is_beyond(reason) && is_numbered_and_signed(self.claims(), view, by);
        BegunProof::Done(match proven {
            Ok(CheckedSender::Peer(epoch, Some(check))) => {
                let message = Arc::new(self.into_message());
                return BegunProof::Open(OpenProof::new(message, epoch, check));
            }
            Ok(CheckedSender::Peer(epoch, None)) => {
                Proven::Verified(Verified::of(Arc::new(self.into_message()), None, epoch))
            }
            Ok(CheckedSender::Flight(epoch, credentials)) => {
                let message = Arc::new(self.into_message());
                Proven::Verified(Verified::of(message, Some(*credentials), epoch))
            }
            Err(reason) if is_theirs(reason) => Proven::Beyond(Beyond {
                message: Arc::new(self.into_message()),
                reason,
            }),
            Err(reason) => Proven::Unproven(Unproven {
                message: Box::new(self.into_message()),
                reason,
            }),
        })
    }
}

impl Verified {
    fn of(message: Arc<Message>, credentials: Option<Credentials>, epoch: u64) -> Self {
        let payload = Payload::of(&message, credentials);
        Self {
            message,
            payload,
            epoch,
        }
    }

    /// What the sender said.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// What came with a flight.
    pub fn credentials(&self) -> Option<&Credentials> {
        match self.payload.as_ref() {
            Ok(Payload::Flight(flight)) => Some(&flight.credentials),
            _ => None,
        }
    }

    /// The sender's epoch in the trust store that this was judged by.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Back to the start, when the trust store has changed since.
    pub fn into_unverified(self) -> Unverified {
        Unverified::of_message(Arc::unwrap_or_clone(self.message))
    }
}

impl Beyond {
    /// Back to the start: its sender's certificate may have been renewed since.
    pub fn into_unverified(self) -> Unverified {
        Unverified::of_message(Arc::unwrap_or_clone(self.message))
    }
}

/// A message that passed the checks, with the epoch of its sender.
enum CheckedSender {
    /// A flight, and what it brought.
    Flight(u64, Box<Credentials>),
    /// Any other message of a peer, and its signature where the last step is open.
    Peer(u64, Option<Box<OpenCheck>>),
}

fn prove(message: &Message, view: &TrustView, by: Verifier) -> Result<CheckedSender, Reason> {
    let headers = &message.headers;
    // Check the recipient (V05) first, so that a message for another agent costs no look-up in the trust store.
    if headers.recipient_id != *view.me() {
        return Err(Reason::WrongRecipient);
    }
    if headers.agent_id == *view.me() {
        return Err(Reason::Reflected);
    }
    if message
        .form
        .method()
        .is_some_and(|method| method.is_handshake())
    {
        let (credentials, epoch) = certified_by_flight(message, view)?;
        prove_signature(message, &credentials.certificate.signing_key)?;
        return Ok(CheckedSender::Flight(epoch, Box::new(credentials)));
    }
    let peer = view.peer(&headers.agent_id).ok_or(Reason::AgentUnknown)?;
    if peer.is_withdrawn() {
        return Err(Reason::TrustWithdrawn);
    }
    let certificate = peer.certificate(headers.key_id).ok_or(Reason::KeyUnknown)?;
    if view.is_revoked(certificate) {
        return Err(Reason::CertificateRevoked);
    }
    // Check the sender (V06) before the signature (V07): the checks of the sender are cheap, and verifying a signature is not.
    prove_sender(message, certificate)?;
    let open = match check_by_table(message, certificate, view, by) {
        SignatureCheck::Done(holds) => {
            signed(holds)?;
            None
        }
        SignatureCheck::Open(open) => Some(open),
    };
    Ok(CheckedSender::Peer(peer.epoch(), open))
}

/// A flight brings its certificate; the root must be the one that the agent-id is bound to. Who is
/// bound is looked up before any signature: a stranger's flight costs none.
fn certified_by_flight(message: &Message, view: &TrustView) -> Result<(Credentials, u64), Reason> {
    let certificate = claimed_certificate(message)?;
    let peer = view.admit(&certificate)?;
    // The newest known certificate was proven when it was taken: so do not verify its signature a second time.
    if peer.newest() != Some(&certificate) {
        certificate
            .prove()
            .map_err(|_| Reason::CertificateInvalid)?;
    }
    let credentials = prove_credentials(message, certificate)?;
    let newest = peer.newest().map(|newest| newest.signing_key.id());
    // Serials of key statements start anew with each signing key: compare them only under the same signing key.
    let same_key = newest == Some(credentials.certificate.signing_key.id());
    if same_key && credentials.keys.serial < peer.keys_serial() {
        return Err(Reason::SerialRolledBack);
    }
    Ok((credentials, peer.epoch()))
}

/// What an unbound agent's flight proves: that whoever holds the root key in it has certified the
/// key that signed it. Whether that root is the person's, only a person can say.
///
/// # Errors
/// The first fault, as for a bound agent's flight.
pub(crate) fn prove_stranger(message: &Message) -> Result<Certificate, Reason> {
    let certificate = claimed_certificate(message)?;
    certificate
        .prove()
        .map_err(|_| Reason::CertificateInvalid)?;
    let Credentials { certificate, .. } = prove_credentials(message, certificate)?;
    prove_signature(message, &certificate.signing_key)?;
    Ok(certificate)
}

/// The certificate in a flight, unproven.
fn claimed_certificate(message: &Message) -> Result<Certificate, Reason> {
    let value = message.body().and_then(|body| body.get("certificate"));
    let certificate = value.and_then(|value| Certificate::read(value).ok());
    certificate
        .filter(|certificate| certificate.agent == message.headers.agent_id)
        .ok_or(Reason::CertificateInvalid)
}

fn prove_credentials(message: &Message, certificate: Certificate) -> Result<Credentials, Reason> {
    let (headers, key) = (&message.headers, &certificate.signing_key);
    if key.id() != headers.key_id {
        return Err(Reason::KeyUnknown);
    }
    prove_sender(message, &certificate)?;
    let value = message.body().and_then(|body| body.get("keys"));
    let keys = value.and_then(|value| KeyStatement::parse(value, key).ok());
    let keys = keys.ok_or(Reason::KeysInvalid)?;
    let lasts = keys.not_after >= headers.timestamp
        && keys.not_after <= headers.timestamp.saturating_add(KEYS_LONGEST);
    if keys.agent != certificate.agent || !lasts {
        return Err(Reason::KeysInvalid);
    }
    Ok(Credentials { certificate, keys })
}

/// A statement lasts 45 days from its making; an hour is for clocks that differ.
const KEYS_LONGEST: Duration = Duration::from_secs(KEYS_LIFE.as_secs() + KEYS_LEEWAY.as_secs());

fn prove_sender(message: &Message, certificate: &Certificate) -> Result<(), Reason> {
    let headers = &message.headers;
    if !certificate.covers(headers.timestamp) {
        return Err(Reason::CertificateExpired);
    }
    if headers.principal_id != certificate.principal {
        return Err(Reason::PrincipalMismatch);
    }
    if !headers.layers.is_subset_of(certificate.layers) {
        return Err(Reason::LayersExceedCertificate);
    }
    Ok(())
}

/// The faults that lie in what a message says of itself beside what its sender's certificate says.
fn is_beyond(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::CertificateExpired | Reason::LayersExceedCertificate
    )
}

/// Whether a message that goes beyond its certificate bears a number in a session, and the signature of
/// a certified key of its sender: then the sender waits for word of that number.
fn is_numbered_and_signed(message: &Message, view: &TrustView, by: Verifier) -> bool {
    let headers = &message.headers;
    let numbered = headers.session.is_some() && headers.sequence.is_some();
    let method = message.form.method();
    let certificate = view.peer(&headers.agent_id);
    let certificate = certificate.and_then(|peer| peer.certificate(headers.key_id));
    numbered
        && !method.is_some_and(Method::is_handshake)
        && certificate.is_some_and(|known| {
            let check = check_by_table(message, known, view, by);
            view.tables().holds(check)
        })
}

/// Whether the key of a certificate in the trust store signed the message. What only a flight claims is not in it, and has
/// its signature proven without a table.
fn check_by_table(
    message: &Message,
    certificate: &Certificate,
    view: &TrustView,
    by: Verifier,
) -> SignatureCheck {
    let (key, tables) = (&certificate.signing_key, view.tables());
    let (parts, signature) = (message.signed_parts(), message.signature());
    match by {
        Verifier::Worker => tables.begin(key, Purpose::Message, &parts, signature),
        Verifier::Owner => tables.begin_at_hand(key, Purpose::Message, &parts, signature),
    }
}

fn prove_signature(message: &Message, key: &VerifyKey) -> Result<(), Reason> {
    let (parts, signature) = (message.signed_parts(), message.signature());
    signed(key.verify(Purpose::Message, &parts, signature))
}

fn signed(holds: bool) -> Result<(), Reason> {
    match holds {
        true => Ok(()),
        false => Err(Reason::SignatureInvalid),
    }
}
