//! The headers, in the order of their canonical form.

use std::str::FromStr;

use signet_json::CanonicalReader;

use crate::headers::{Headers, Layers, MAX_SEQUENCE, Tier};
use crate::ids::{Digest, SessionId};

/// The headers that check V04 takes; nothing for any others.
pub(super) fn headers(reader: &mut CanonicalReader<'_>) -> Option<Headers> {
    reader.enter()?;
    let agent_id = mandatory(reader, "agent-id")?;
    let audit_head = text(reader, "audit-head", |hex| Digest::from_hex(hex).ok())?;
    let capability = optional(reader, "capability")?;
    let conversation_id = optional(reader, "conversation-id")?;
    let data_tier = Tier::parse(small(reader, "data-tier")?).ok()?;
    let expires_at = mandatory(reader, "expires-at")?;
    let hops = small(reader, "hops")?;
    let in_reply_to = optional(reader, "in-reply-to")?;
    let key_id = mandatory(reader, "key-id")?;
    let message_id = mandatory(reader, "message-id")?;
    let message_type = mandatory(reader, "message-type")?;
    let principal_id = mandatory(reader, "principal-id")?;
    let recipient_id = mandatory(reader, "recipient-id")?;
    let sequence = integer(reader, "sequence", MAX_SEQUENCE)?;
    let session = optional(reader, "session")?.map(SessionId);
    let layers = layers(reader)?;
    let timestamp = mandatory(reader, "timestamp")?;
    let version = mandatory(reader, "trust-layer-version")?;
    reader.leave()?;
    Some(Headers {
        agent_id,
        principal_id,
        timestamp,
        message_type,
        version,
        layers,
        recipient_id,
        message_id,
        expires_at,
        key_id,
        session,
        sequence,
        data_tier,
        capability,
        conversation_id,
        in_reply_to,
        audit_head,
        hops,
    })
}

fn mandatory<T: FromStr>(reader: &mut CanonicalReader<'_>, name: &str) -> Option<T> {
    optional(reader, name)?
}

/// `Some(None)` for a header that is absent.
fn optional<T: FromStr>(reader: &mut CanonicalReader<'_>, name: &str) -> Option<Option<T>> {
    text(reader, name, |text| text.parse().ok())
}

fn text<T>(
    reader: &mut CanonicalReader<'_>,
    name: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<Option<T>> {
    if !reader.member(name) {
        return Some(None);
    }
    // No valid header contains a character that canonical form escapes, so `plain_string`, which reads no escapes, is enough.
    read(reader.plain_string()?).map(Some)
}

fn integer(reader: &mut CanonicalReader<'_>, name: &str, most: u64) -> Option<Option<u64>> {
    if !reader.member(name) {
        return Some(None);
    }
    let number = u64::try_from(reader.integer()?).ok()?;
    (1..=most).contains(&number).then_some(Some(number))
}

fn small(reader: &mut CanonicalReader<'_>, name: &str) -> Option<u8> {
    // Tier and hops count as 1 where they are absent (protocol.md, Headers).
    let number = integer(reader, name, 255)?.unwrap_or(1);
    u8::try_from(number).ok()
}

fn layers(reader: &mut CanonicalReader<'_>) -> Option<Layers> {
    reader.member("skill-layers-loaded").then_some(())?;
    let mut set = Layers::default();
    reader.items(|reader| {
        let layer = u8::try_from(reader.integer()?).ok()?;
        set.add(layer)
    })?;
    Some(set)
}
