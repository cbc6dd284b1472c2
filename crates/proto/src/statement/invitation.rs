//! Invitations: one line that tells another person who an agent is and where it is reached.
//!
//! It gives no trust: whoever accepts it compares the words of the root key's fingerprint first.

use std::time::Duration;

use crate::certificate::Certificate;
use crate::ids::{decode_base64url, encode_base64url};
use crate::said::*;
use crate::time::Timestamp;
use signet_json::Limits;

/// A carrier that reaches the agent, and its addresses there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The carrier, such as `nats`.
    pub carrier: String,
    /// Its addresses, such as `nats://house.example:4222`, without any login.
    pub addresses: Vec<String>,
}

statement! {
    "invitation" under Invitation;

    /// Who an agent is and where it is reached (`signet/1 invitation`), signed by the agent itself.
    pub struct Invitation {
        /// The agent's certificate, whose root key signed it.
        "certificate" certificate: Certificate,
        /// How it is reached, the first choice first.
        "carriers" reached: Vec<Reached>,
        /// After this moment nobody accepts it.
        "not-after" not_after: Timestamp,
    }
}

parts! {
    Vec<Reached>, |reached| reached.iter().map(to_value).collect::<Value>(), |members, name| members.given(name, read_reached);
}

/// The line is no invitation that may be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvitationError {
    /// Not `signet:1:` and base64url of JSON, or longer than 8 KiB.
    #[error("this is no invitation: a line that begins with signet:1: is expected, whole")]
    NoLine,
    /// A login was given for it.
    #[error("this line is the login of a NATS server, not an invitation")]
    Login,
    /// It is of a later form.
    #[error("this invitation is of a newer form than this release reads")]
    Newer,
    /// A member is not what it should be, or a signature does not hold.
    #[error("the invitation: {0}")]
    Statement(#[from] CertificateError),
    /// Its time, or that of its certificate, is over.
    #[error("the invitation ended {0}")]
    Ended(Timestamp),
    /// It begins later than now.
    #[error("the certificate in the invitation begins {0}, which is later than now")]
    Early(Timestamp),
}

impl Invitation {
    /// The invitation of the agent of `certificate`, signed by its signing `key`.
    ///
    /// # Errors
    /// When it would not be accepted: an end that is over or too far away, an address that holds a login, a
    /// key that is not the certificate's.
    pub fn sign(
        certificate: &Certificate,
        key: &SigningKey,
        reached: &[Reached],
        now: Timestamp,
        life: Duration,
    ) -> Result<Self, InvitationError> {
        let not_after = now.saturating_add(life).min(certificate.not_after);
        let said = Self {
            certificate: certificate.clone(),
            reached: reached.to_vec(),
            not_after,
            value: ReadValue::default(),
        };
        Self::verify(&said.signed(key), now)
    }

    /// Reads the line that an agent's person was given, and verifies all that it says.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse_line(line: &str, now: Timestamp) -> Result<Self, InvitationError> {
        let line = line.trim();
        let Some(rest) = line.strip_prefix(PREFIX) else {
            return Err(match line.strip_prefix("signet:") {
                _ if line.starts_with("signet-login:") => InvitationError::Login,
                Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                    InvitationError::Newer
                }
                _ => InvitationError::NoLine,
            });
        };
        if line.len() > MAX_LINE {
            return Err(InvitationError::NoLine);
        }
        let bytes = decode_base64url(rest).map_err(|_| InvitationError::NoLine)?;
        let value =
            signet_json::parse(&bytes, Limits::MESSAGE).map_err(|_| InvitationError::NoLine)?;
        Self::verify(&value, now)
    }

    /// The line: `signet:1:` and base64url of the canonical JSON.
    pub fn to_line(&self) -> String {
        format!("{PREFIX}{}", encode_base64url(self.value.bytes()))
    }

    fn verify(value: &Value, now: Timestamp) -> Result<Self, InvitationError> {
        let said = Self::read_beside(value, ())?;
        let (certificate, not_after) = (&said.certificate, said.not_after);
        said.prove_under(&certificate.signing_key)?;
        let ends = not_after.min(certificate.not_after);
        if now > ends {
            return Err(InvitationError::Ended(ends));
        }
        if now < certificate.not_before {
            return Err(InvitationError::Early(certificate.not_before));
        }
        if not_after > now.saturating_add(LONGEST) {
            return Err(CertificateError::Member("not-after").into());
        }
        Ok(said)
    }
}

fn to_value(reached: &Reached) -> Value {
    let addresses = reached.addresses.iter().map(String::as_str);
    let mut members = Map::new();
    members.insert("carrier".into(), reached.carrier.as_str().into());
    members.insert("addresses".into(), addresses.map(Value::from).collect());
    Value::Object(members)
}

/// One to eight carriers with one to eight addresses each. A carrier that nobody knows here is kept: a newer
/// agent may have more of them.
fn read_reached(value: &Value) -> Option<Vec<Reached>> {
    let items = value.as_array().filter(|items| is_few(items.len()))?;
    items.iter().map(read_one).collect()
}

fn read_one(item: &Value) -> Option<Reached> {
    let members = item.as_object().filter(|members| members.len() == 2)?;
    let carrier = members.get("carrier")?.as_str()?;
    let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if carrier.is_empty() || carrier.len() > 16 || !carrier.chars().all(name) {
        return None;
    }
    let addresses = members.get("addresses")?.as_array()?;
    let addresses = addresses.iter().map(|address| {
        let address = address.as_str()?;
        // Take visible ASCII alone (protocol.md, Invitations): control characters could drive a terminal. Refuse `@` as
        // well: what stands before it could be a login.
        let plain = |c: char| c.is_ascii_graphic() && c != '@';
        let fits = (1..=256).contains(&address.len()) && address.chars().all(plain);
        fits.then(|| address.to_owned())
    });
    let addresses: Vec<String> = addresses.collect::<Option<_>>()?;
    is_few(addresses.len()).then(|| Reached {
        carrier: carrier.to_owned(),
        addresses,
    })
}

fn is_few(count: usize) -> bool {
    (1..=8).contains(&count)
}

/// The furthest end of an invitation: who finds an old line gets nothing by it.
const LONGEST: Duration = Duration::from_secs(31 * 24 * 3600);
const MAX_LINE: usize = 8 * 1024;
const PREFIX: &str = "signet:1:";
