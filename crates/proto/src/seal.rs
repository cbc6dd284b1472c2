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

use signet_json::{Limits, Map, Value, write_canonical};
use zeroize::Zeroizing;

use crate::envelope::{Form, LONGEST_SUMMARY, Message};
use crate::headers::Headers;
use crate::keys::SealSecret;
use crate::reject::Reason;

pub use crate::envelope::Sealed;

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
        // The sealed content comes from a peer: parse it as strictly as a whole message.
        let Ok(Value::Object(mut inner)) = signet_json::parse(plaintext, Limits::MESSAGE) else {
            return Err(Reason::SealMismatch);
        };
        let summary = match inner.remove("summary") {
            None => None,
            Some(Value::String(text)) if text.chars().count() <= LONGEST_SUMMARY => Some(text),
            Some(_) => return Err(Reason::SealMismatch),
        };
        let body = inner.remove("body");
        // The members that are left must be exactly the ones that `headers` demand. Otherwise a sealed box could be moved into
        // another message, or its tier be lowered.
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
    if summary.is_some_and(|summary| summary.chars().count() > LONGEST_SUMMARY) {
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
    // Parse the plaintext as the recipient will parse it: a body that is small enough alone may be too large or too deep as
    // part of the plaintext.
    signet_json::parse(&out, Limits::MESSAGE)?;
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
    // Only a failure may lack the body: an agent that declines says so in `summary` alone (protocol.md, Sealing).
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
    put("data-tier", headers.data_tier.number().into());
    // A draft that is sealed for ourselves has no session yet: so write none.
    if let Some(session) = headers.session {
        put("session", session.to_string().into());
    }
    inner
}
