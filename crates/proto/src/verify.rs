//! From [`Unverified`] to [`Verified`]: checks V05 to V07, stateless, against a snapshot of the
//! trust store, so that many workers can verify at once.

use std::time::Duration;

use crate::certificate::{Certificate, KEYS_LEEWAY, KEYS_LIFE, KeyStatement};
use crate::envelope::{Message, Method, Unverified};
use crate::keys::{Purpose, VerifyKey};
use crate::reject::Reason;
use crate::trust::TrustView;

/// A message whose signature holds under a certified key of its sender, and which is meant for us.
///
/// Whether it is fresh, in time and allowed is for `Node` to judge. It carries the
/// epoch of its sender in the trust store that it was judged by.
#[derive(Clone, Debug)]
pub struct Verified {
    message: Message,
    credentials: Option<Credentials>,
    epoch: u64,
}

/// The certificate and key statement that came with a flight, both proven.
#[derive(Clone, Debug, PartialEq)]
pub struct Credentials {
    /// Signed by the root that the agent-id is bound to.
    pub certificate: Certificate,
    /// Signed by the certificate's signing key.
    pub keys: KeyStatement,
}

/// A message that failed a check before its signature was proven.
#[derive(Clone, Debug)]
pub struct Unproven {
    /// Which check.
    pub reason: Reason,
    /// What it claimed.
    pub message: Box<Message>,
    /// Whether it is its sender's all the same: a numbered message whose signature holds, and whose time or
    /// layers alone go beyond the certificate of the key that signed it. It is refused, and its number is
    /// used up.
    pub is_signed: bool,
}

impl Unverified {
    /// Checks V05 (recipient), V06 (sender, key, certificate) and V07 (signature), in this order.
    ///
    /// Certificates are judged at the message's own `timestamp`, so no clock is needed.
    ///
    /// # Errors
    /// The first check that fails, with the message, which stays unproven.
    pub fn verify(self, view: &TrustView) -> Result<Verified, Unproven> {
        match prove(self.claims(), view) {
            Ok((credentials, epoch)) => Ok(Verified {
                message: self.into_message(),
                credentials,
                epoch,
            }),
            Err(reason) => {
                let is_signed = is_beyond(reason) && is_numbered_and_signed(self.claims(), view);
                Err(Unproven {
                    reason,
                    message: Box::new(self.into_message()),
                    is_signed,
                })
            }
        }
    }
}

impl Verified {
    /// What the sender said.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// What came with a flight.
    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// The sender's epoch in the trust store that this was judged by.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Back to the start, when the trust store has changed since.
    pub fn into_unverified(self) -> Unverified {
        Unverified::of_message(self.message)
    }

    pub(crate) fn into_message(self) -> Message {
        self.message
    }
}

fn prove(message: &Message, view: &TrustView) -> Result<(Option<Credentials>, u64), Reason> {
    let headers = &message.headers;
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
        return Ok((Some(credentials), epoch));
    }
    let peer = view.peer(&headers.agent_id).ok_or(Reason::AgentUnknown)?;
    if peer.is_withdrawn() {
        return Err(Reason::TrustWithdrawn);
    }
    let certificate = peer.certificate(headers.key_id).ok_or(Reason::KeyUnknown)?;
    if view.is_revoked(certificate) {
        return Err(Reason::CertificateRevoked);
    }
    prove_sender(message, certificate)?;
    prove_signature(message, &certificate.signing_key)?;
    Ok((None, peer.epoch()))
}

/// A flight brings its certificate; the root must be the one that the agent-id is bound to. Who is
/// bound is looked up before any signature: a stranger's flight costs none.
fn certified_by_flight(message: &Message, view: &TrustView) -> Result<(Credentials, u64), Reason> {
    let certificate = claimed_certificate(message)?;
    let peer = view.admit(&certificate)?;
    if peer.newest() != Some(&certificate) {
        certificate
            .prove()
            .map_err(|_| Reason::CertificateInvalid)?;
    }
    let credentials = prove_credentials(message, certificate)?;
    let newest = peer.newest().map(|newest| newest.signing_key.id());
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
    let body = message.body.as_ref();
    let value = body.and_then(|body| body.get("certificate"));
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
    let value = message.body.as_ref().and_then(|body| body.get("keys"));
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
fn is_numbered_and_signed(message: &Message, view: &TrustView) -> bool {
    let headers = &message.headers;
    let numbered = headers.session.is_some() && headers.sequence.is_some();
    let method = message.form.method();
    let certificate = view.peer(&headers.agent_id);
    let certificate = certificate.and_then(|peer| peer.certificate(headers.key_id));
    numbered
        && !method.is_some_and(Method::is_handshake)
        && certificate.is_some_and(|known| prove_signature(message, &known.signing_key).is_ok())
}

fn prove_signature(message: &Message, key: &VerifyKey) -> Result<(), Reason> {
    let holds = key.verify(
        Purpose::Message,
        &message.signed_parts(),
        message.signature(),
    );
    if holds {
        Ok(())
    } else {
        Err(Reason::SignatureInvalid)
    }
}
