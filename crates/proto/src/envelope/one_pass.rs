//! Reads a message that comes in canonical form and in clear, in one pass over its bytes.
//!
//! It says the message or nothing, never a reason: for nothing, the strict parser and the schema judge. What it says, they
//! would say as well (docs/decisions/0017-two-readers-of-one-form.md).

mod headers;

use std::ops::Range;

use signet_json::{CanonicalReader, Extent, Limits};

use super::{Body, Form, LONGEST_SUMMARY, Message};
use crate::headers::Headers;
use crate::ids::{Digest, MessageId, decode_array};
use crate::method::{BodyForm, Method};
use crate::schema;

/// A call or a success in clear. Flights come seldom, a failure has another shape, and a box has to be opened anyway.
pub(super) fn message(bytes: &[u8]) -> Option<Message> {
    let mut reader = CanonicalReader::of(bytes, Limits::MESSAGE)?;
    reader.enter()?;
    // This fast reader takes members in canonical order alone. It gives up on a message with another order or another name, and
    // the full parser reads that message.
    let id = match reader.member("id") {
        true => Some(reader.plain_string()?.parse().ok()?),
        false => None,
    };
    (reader.member("jsonrpc") && reader.plain_string()? == "2.0").then_some(())?;
    let (form, place) = match reader.member("method") {
        true => (Form::Call(method(reader.plain_string()?)?), "params"),
        false => (Form::Success, "result"),
    };
    reader.member(place).then_some(())?;
    let envelope = Envelope::read(&mut reader)?;
    reader.leave()?;
    reader.end()?;
    envelope.id_fits(&form, id).then_some(())?;
    envelope.into_message(form, bytes)
}

/// A method whose messages are read here.
fn method(name: &str) -> Option<Method> {
    let method = Method::parse(name).ok()?;
    (!method.is_handshake()).then_some(method)
}

/// The members of an envelope in clear.
struct Envelope {
    body: Extent,
    headers: Headers,
    signature: [u8; 64],
    /// The bytes of the signature's member, with the comma before it.
    span: Range<usize>,
    summary: Option<String>,
}

impl Envelope {
    fn read(reader: &mut CanonicalReader<'_>) -> Option<Self> {
        reader.enter()?;
        // If `body` does not come first, the message is sealed, has its members in another order, or is invalid: the full
        // parser tells which.
        reader.member("body").then_some(())?;
        let body = reader.value()?;
        reader.member("headers").then_some(())?;
        let headers = headers::headers(reader)?;
        let start = reader.at();
        reader.member("signature").then_some(())?;
        let signature = decode_array(reader.plain_string()?).ok()?;
        let span = start..reader.at();
        let summary = match reader.member("summary") {
            true => Some(summary(reader)?),
            false => None,
        };
        reader.leave()?;
        Some(Self {
            body,
            headers,
            signature,
            span,
            summary,
        })
    }

    /// Whether the JSON-RPC `id` is the one that this form has.
    fn id_fits(&self, form: &Form, id: Option<MessageId>) -> bool {
        // Check the same rules as `Parts::prove_id`. If the message breaks one, the fast reader gives up, and the full parser
        // finds the fault and names its reason.
        let headers = &self.headers;
        match form {
            Form::Call(method) if method.is_call() => id == Some(headers.message_id),
            Form::Call(Method::Progress) => id.is_none() && headers.in_reply_to.is_some(),
            Form::Call(_) => id.is_none(),
            Form::Success | Form::Failure { .. } => id.is_some() && id == headers.in_reply_to,
        }
    }

    fn into_message(self, form: Form, bytes: &[u8]) -> Option<Message> {
        (self.headers.message_type == form.message_type()).then_some(())?;
        let body = match form.method().map(|method| (method, method.body())) {
            Some((method, BodyForm::Clear(_))) => fit(method, bytes.get(self.body.bytes)?)?,
            Some((_, BodyForm::Free | BodyForm::Sealable(_))) | None => Body::at(self.body),
        };
        Some(Message {
            form,
            headers: self.headers,
            summary: self.summary,
            body: Some(body),
            sealed: None,
            signature: self.signature,
            canonical: bytes.into(),
            span: self.span,
            hash: Digest::of(&[bytes]),
        })
    }
}

/// A body that is never sealed and fits its schema.
fn fit(method: Method, body: &[u8]) -> Option<Body> {
    let tree = signet_json::parse(body, Limits::MESSAGE).ok()?;
    schema::fits(method, &tree).then_some(Body::Tree(tree))
}

fn summary(reader: &mut CanonicalReader<'_>) -> Option<String> {
    let text = reader.string()?;
    (text.chars().count() <= LONGEST_SUMMARY).then(|| text.into_owned())
}
