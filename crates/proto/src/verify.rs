//! From [`Unverified`] to [`Verified`]: checks V05 to V07, stateless, against a snapshot of the
//! trust store, so that many workers can verify at once.

use std::time::Duration;

use crate::certificate::{Certificate, KEYS_LIFE, KeyStatement};
use crate::envelope::{Message, Unverified};
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
            Err(reason) => Err(Unproven {
                reason,
                message: Box::new(self.into_message()),
            }),
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
    let certificate = peer.certificate(headers.key_id).ok_or(Reason::KeyUnknown)?;
    prove_sender(message, certificate)?;
    prove_signature(message, &certificate.signing_key)?;
    Ok((None, peer.epoch()))
}

/// A flight brings its certificate; the root must be the one that the agent-id is bound to.
fn certified_by_flight(message: &Message, view: &TrustView) -> Result<(Credentials, u64), Reason> {
    let member = |name: &str| message.body.as_ref().and_then(|body| body.get(name));
    let value = member("certificate").ok_or(Reason::CertificateInvalid)?;
    let certificate = Certificate::parse(value).map_err(|_| Reason::CertificateInvalid)?;
    if certificate.agent != message.headers.agent_id {
        return Err(Reason::CertificateInvalid);
    }
    let peer = view.admit(&certificate)?;
    if certificate.signing_key.id() != message.headers.key_id {
        return Err(Reason::KeyUnknown);
    }
    prove_sender(message, &certificate)?;
    let keys = KeyStatement::parse(
        member("keys").ok_or(Reason::KeysInvalid)?,
        &certificate.signing_key,
    )
    .map_err(|_| Reason::KeysInvalid)?;
    let lasts = keys.not_after >= message.headers.timestamp
        && keys.not_after <= message.headers.timestamp.saturating_add(KEYS_LONGEST);
    if keys.agent != certificate.agent || !lasts {
        return Err(Reason::KeysInvalid);
    }
    if keys.serial < peer.keys_serial() {
        return Err(Reason::SerialRolledBack);
    }
    Ok((Credentials { certificate, keys }, peer.epoch()))
}

/// A statement lasts 45 days from its making; an hour is for clocks that differ.
const KEYS_LONGEST: Duration = Duration::from_secs(KEYS_LIFE.as_secs() + 3600);

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
