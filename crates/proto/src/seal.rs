//! Sealing: contents of tiers 3 and 4, readable for one key alone (docs/protocol.md, Sealing).
//!
//! ```text
//! {summary, body} + the headers it belongs to ── plaintext ──▶ bytes ── Sealed::seal ──▶ box
//! box ── Sealed::open ──▶ bytes ── Opened::parse, against the headers ──▶ {summary, body}
//! ```
//!
//! A box is libsodium's `crypto_box_seal`. It proves nothing about who made it; the signature of the
//! message does, and the headers inside bind the box to that one message.

use std::fmt;

use crypto_box::{PublicKey, SecretKey};
use rand_core::CryptoRngCore;
use zeroize::Zeroizing;

use crate::envelope::{Form, Message};
use crate::headers::Headers;
use crate::ids::{decode_base64url, encode_base64url};
use crate::json::{self, Limits, Map, Value, write_canonical};
use crate::keys::{SealKey, SealSecret};
use crate::reject::Reason;

/// A sealed box, and the key that it names as its own.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Only compared with keys of our own, never computed with: it needs no proof of its form.
    to: [u8; 32],
    bytes: Vec<u8>,
}

impl Sealed {
    /// Seals `plaintext` for `to` under an ephemeral key of `rng`.
    ///
    /// # Errors
    /// `too-large`: longer than the cipher takes, 256 GiB.
    pub fn seal(
        to: SealKey,
        plaintext: &[u8],
        rng: &mut impl CryptoRngCore,
    ) -> Result<Self, Reason> {
        let bytes = PublicKey::from_bytes(*to.as_bytes())
            .seal(rng, plaintext)
            .map_err(|_| Reason::TooLarge)?;
        let to = *to.as_bytes();
        Ok(Self { to, bytes })
    }

    /// The plaintext. The ephemeral key inside the box passes the gate of [`SealKey`] before
    /// anything is computed with it.
    ///
    /// # Errors
    /// `unsealable`: not for this key, changed on the way, or made with a key that is none.
    pub fn open(&self, secret: &SealSecret) -> Result<Zeroizing<Vec<u8>>, Reason> {
        let ephemeral = self.bytes.first_chunk::<32>().ok_or(Reason::Unsealable)?;
        SealKey::try_from(*ephemeral).map_err(|_| Reason::Unsealable)?;
        if !self.is_for(secret.public()) {
            return Err(Reason::Unsealable);
        }
        SecretKey::from_bytes(*secret.expose())
            .unseal(&self.bytes)
            .map(Zeroizing::new)
            .map_err(|_| Reason::Unsealable)
    }

    /// Whether it names this key.
    pub fn is_for(&self, key: SealKey) -> bool {
        self.to == *key.as_bytes()
    }

    /// The box: 32 bytes of an ephemeral public key, 16 of a tag, and the ciphertext.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// `{ "to": "x25519:…", "box": "…" }`
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("to".into(), self.name_of_key().into());
        members.insert("box".into(), encode_base64url(&self.bytes).into());
        Value::Object(members)
    }

    /// Reads it from those two members and no others.
    ///
    /// # Errors
    /// `invalid-shape`.
    pub fn parse(value: &Value) -> Result<Self, Reason> {
        let members = value.as_object().filter(|members| members.len() == 2);
        let text = |name: &str| members?.get(name)?.as_str();
        let decode = |text: &str| decode_base64url(text).ok();
        let to = text("to").and_then(|text| decode(text.strip_prefix("x25519:")?));
        let bytes = text("box").and_then(decode);
        match (to.map(<[u8; 32]>::try_from), bytes) {
            (Some(Ok(to)), Some(bytes)) if bytes.len() >= OVERHEAD => Ok(Self { to, bytes }),
            _ => Err(Reason::InvalidShape),
        }
    }

    fn name_of_key(&self) -> String {
        format!("x25519:{}", encode_base64url(&self.to))
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (to, bytes) = (self.name_of_key(), self.bytes.len());
        write!(f, "Sealed(to {to}, {bytes} bytes)")
    }
}

/// What was sealed. It cannot print itself.
#[derive(Clone, PartialEq)]
pub struct Opened {
    /// One line for people.
    pub summary: Option<String>,
    /// What the message carries.
    pub body: Option<Value>,
}

impl Opened {
    /// Reads the plaintext of a box that stood under `headers`.
    ///
    /// # Errors
    /// `seal-mismatch`: made for other headers, or not strict JSON of exactly the members that
    /// [`plaintext`] writes.
    pub fn parse(plaintext: &[u8], headers: &Headers) -> Result<Self, Reason> {
        let Ok(Value::Object(mut inner)) = json::parse(plaintext, Limits::MESSAGE) else {
            return Err(Reason::SealMismatch);
        };
        let summary = match inner.remove("summary") {
            None => None,
            Some(Value::String(text)) if text.chars().count() <= SUMMARY => Some(text),
            Some(_) => return Err(Reason::SealMismatch),
        };
        let body = inner.remove("body");
        if inner == binding(headers) {
            Ok(Self { summary, body })
        } else {
            Err(Reason::SealMismatch)
        }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opened(..)")
    }
}

/// What is sealed: summary and body, with the headers that say whose and where they are.
///
/// # Errors
/// What a recipient would say of it: `invalid-shape`, `too-deep`, `too-many-values`, `too-large`.
pub fn plaintext(
    headers: &Headers,
    summary: Option<&str>,
    body: Option<&Value>,
) -> Result<Zeroizing<Vec<u8>>, Reason> {
    if summary.is_some_and(|summary| summary.chars().count() > SUMMARY) {
        return Err(Reason::InvalidShape);
    }
    let mut inner = binding(headers);
    if let Some(summary) = summary {
        inner.insert("summary".into(), summary.into());
    }
    if let Some(body) = body {
        inner.insert("body".into(), body.clone());
    }
    let mut out = Zeroizing::new(Vec::with_capacity(1024));
    write_canonical(&Value::Object(inner), &mut out);
    json::parse(&out, Limits::MESSAGE)?;
    Ok(out)
}

/// Opens a box of `message`: its own, or the copy of it that the log holds.
///
/// # Errors
/// `unsealable` or `seal-mismatch`, which is also said of a call or a success without a body.
pub fn open(
    sealed: &Sealed,
    secret: &SealSecret,
    message: &Message,
) -> Result<(Opened, Zeroizing<Vec<u8>>), Reason> {
    let plaintext = sealed.open(secret)?;
    let opened = Opened::parse(&plaintext, &message.headers)?;
    let may_be_empty = matches!(message.form, Form::Failure { .. });
    if opened.body.is_none() && !may_be_empty {
        return Err(Reason::SealMismatch);
    }
    Ok((opened, plaintext))
}

/// The headers that stand inside the box as well: the rest may differ and harm nobody.
fn binding(headers: &Headers) -> Map<String, Value> {
    let mut inner = Map::new();
    let mut put = |name: &str, value: Value| drop(inner.insert(name.to_owned(), value));
    put("from", headers.agent_id.as_str().into());
    put("to", headers.recipient_id.as_str().into());
    put("message-id", headers.message_id.to_string().into());
    put("data-tier", headers.data_tier.into());
    if let Some(session) = headers.session {
        put("session", session.to_string().into());
    }
    inner
}

/// What a box is longer than its plaintext: an ephemeral key and a tag.
const OVERHEAD: usize = 32 + 16;
/// Characters of a summary, sealed or not.
const SUMMARY: usize = 500;
