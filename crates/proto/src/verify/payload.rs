//! What a message carries, read once.
//!
//! What is never sealed is read by the workers, who prove the statements in it as well. What may be sealed is read when
//! it is opened.

use std::sync::Arc;

use crate::certificate::ControlCertificate;
use crate::envelope::{Form, Message, Method};
use crate::handshake::{Credentials, Flight, Offer, names_twice};
use crate::ids::MessageId;
use crate::policy::PING;
use crate::progress::Progress;
use crate::receipt::Receipt;
use crate::reject::Reason;
use crate::statement::{PauseStatement, Revocation};
use signet_json::{Value, canonical};

/// How long an offer may be.
const OFFER_BYTES: usize = 160 * 1024;

/// What a message carries.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    /// One of the four flights of a handshake.
    Flight(Arc<Flight>),
    Receipt(Receipt),
    /// Its root key signed it. Whether that root is one that we know is to be judged.
    Revocation(Box<Revocation>),
    /// Its control key signed it, and its root key that. Whether both are our person's is to be judged.
    Pause(Box<PauseStatement>),
    /// All that programs of the peer's offer beside its flight.
    Offers(Vec<Offer>),
    /// The last message that the peer has from an earlier poll.
    Poll(Option<MessageId>),
    /// `None` until it is opened, and where it came sealed and its line alone is left.
    Progress(Option<Progress>),
    /// A request that the daemon itself answers.
    Ping,
    /// Any other call, for our agent.
    Call,
    /// An answer to a call of ours.
    Answer,
}

impl Payload {
    /// Reads what a message carries whose signature holds. `credentials` are those of a flight.
    ///
    /// # Errors
    /// What is wrong with the body. It is refused for that when everything that is judged before the body holds.
    pub(super) fn of(message: &Message, credentials: Option<Credentials>) -> Result<Self, Reason> {
        let Form::Call(method) = &message.form else {
            return Ok(Self::Answer);
        };
        let body = || message.body();
        match method {
            Method::Announce | Method::Verify | Method::Capability | Method::Trust => {
                let proven = body().zip(credentials);
                let proven = proven.map(|(body, credentials)| Flight::of(body, credentials));
                let flight = proven.ok_or(Reason::CertificateInvalid)?;
                Ok(Self::Flight(Arc::new(flight)))
            }
            Method::Receipt => body()
                .and_then(Receipt::parse)
                .map(Self::Receipt)
                .ok_or(Reason::InvalidShape),
            Method::Revoke => body()
                .and_then(|body| Revocation::parse(body.get("revocation")?).ok())
                .map(|revocation| Self::Revocation(Box::new(revocation)))
                .ok_or(Reason::StatementInvalid),
            Method::Pause | Method::Resume => body()
                .and_then(pause_in)
                .map(|statement| Self::Pause(Box::new(statement)))
                .ok_or(Reason::StatementInvalid),
            // Measure an offer in canonical form, so that white space or another spelling cannot make it too long.
            Method::Offer => body()
                .filter(|body| canonical(body).len() <= OFFER_BYTES)
                .and_then(Offer::parse_all)
                .filter(|offers| !names_twice(offers))
                .map(Self::Offers)
                .ok_or(Reason::OfferInvalid),
            Method::Poll => {
                let last = body().and_then(|body| body.get("after")?.as_str()?.parse().ok());
                Ok(Self::Poll(last))
            }
            Method::Progress => Ok(Self::Progress(None)),
            Method::Request | Method::Notification | Method::Handoff => Ok(Self::of_call(message)),
        }
    }

    /// Reads what a line of our log carries that tells of a message that was taken: what the line changes in the
    /// node. `None` for what changes nothing by itself: statements of people have lines of their own.
    pub(crate) fn recalled(message: &Message) -> Option<Self> {
        let method = message.form.method();
        match method {
            Some(Method::Revoke | Method::Pause | Method::Resume) => None,
            Some(Method::Progress) => {
                let told = message.body().and_then(|body| Progress::parse(body).ok());
                Some(Self::Progress(told))
            }
            method => {
                let is_flight = method.is_some_and(Method::is_handshake);
                let credentials = is_flight.then(|| Credentials::recalled(message));
                Self::of(message, credentials.transpose().ok()?).ok()
            }
        }
    }

    /// Only a request: a notification or an answer that names the capability goes the way of its kind.
    fn of_call(message: &Message) -> Self {
        let named = message.headers.capability.as_ref();
        let ping = named.is_some_and(|name| name.as_str() == PING);
        match message.form == Form::Call(Method::Request) && ping {
            true => Self::Ping,
            false => Self::Call,
        }
    }
}

fn pause_in(body: &Value) -> Option<PauseStatement> {
    let control = ControlCertificate::parse(body.get("control")?).ok()?;
    PauseStatement::parse(body.get("statement")?, &control).ok()
}
