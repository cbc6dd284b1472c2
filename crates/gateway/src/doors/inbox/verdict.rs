//! What the gateway thinks of bytes that came: checks V01 to V07 against a snapshot of the trust store.
//!
//! A verdict sheds load under pressure and is counted. It answers nobody and takes the daemon's place in nothing: the
//! daemon judges the same bytes from the first one on.

use bytes::Bytes;
use signet_proto::envelope::{Method, Unverified};
use signet_proto::reject::Reason;
use signet_proto::trust::TrustView;

use super::poll_slots::Poller;

/// How bytes stand to what is known. The order is that in which they are shed: the last keeps its place longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EnvelopeVerdict {
    /// No message, not for us, or not signed by whom it names.
    Forged,
    /// A message of somebody whom the trust store does not have, or not any more.
    Unknown,
    /// A flight of a handshake that is not a peer's: a stranger has to be able to become `pending`.
    Flight,
    /// Signed by a peer, for us.
    Verified,
}

/// An envelope and the verdict over it.
pub(crate) struct JudgedEnvelope {
    pub(crate) bytes: Bytes,
    pub(crate) verdict: EnvelopeVerdict,
    /// Who asks for what is kept, as far as it is verified.
    pub(crate) poll: Option<Poller>,
}

impl JudgedEnvelope {
    /// The verdict over these bytes.
    pub(crate) fn of(bytes: Bytes, view: &TrustView) -> Self {
        let (verdict, poll) = match Unverified::parse(&bytes) {
            Ok(message) => judge(message, view),
            Err(_) => (EnvelopeVerdict::Forged, None),
        };
        Self {
            bytes,
            verdict,
            poll,
        }
    }
}

fn judge(message: Unverified, view: &TrustView) -> (EnvelopeVerdict, Option<Poller>) {
    let method = message.claims().form.method();
    let headers = &message.claims().headers;
    let poll = (method == Some(Method::Poll)).then(|| Poller {
        peer: headers.agent_id.clone(),
        made: headers.timestamp,
    });
    let verdict = match message.verify(view).verified() {
        Ok(_) => EnvelopeVerdict::Verified,
        Err(Reason::WrongRecipient | Reason::Reflected | Reason::SignatureInvalid) => {
            EnvelopeVerdict::Forged
        }
        Err(_) if method.is_some_and(Method::is_handshake) => EnvelopeVerdict::Flight,
        // The snapshot may lack the sender, or a newer key of theirs by which the message can be verified. So the message is
        // `Unknown` and not `Forged`, and the daemon judges it by its newest trust store.
        Err(_) => EnvelopeVerdict::Unknown,
    };
    (verdict, poll)
}
