//! Drafts in the log: written without what signing adds, and read back.

use std::time::Duration;

use rand_core::CryptoRngCore;
use signet_json::{Map, Value};

use super::{Draft, Identity, Stamp};
use crate::envelope::{Message, attach};
use crate::ids::Version;
use crate::reject::Reason;
use crate::seal::{self, Sealed};
use crate::time::Timestamp;

impl Draft {
    /// The draft as the log keeps it: without what signing adds. What tiers 3 and 4 carry is sealed
    /// for ourselves in it, and in the box beside it for our person.
    ///
    /// # Errors
    /// As for [`Draft::seal_and_sign`].
    pub fn to_value(
        &self,
        identity: &Identity,
        now: Timestamp,
        rng: &mut impl CryptoRngCore,
    ) -> Result<(Value, Option<Sealed>), Reason> {
        // Session and sequence number are not known before the draft leaves, so the copy that is sealed for ourselves names no
        // session.
        let stamp = Stamp {
            now,
            session: None,
            sequence: None,
            audit_head: None,
            version: Version::CURRENT,
        };
        let headers = self.headers(identity, stamp);
        let (mut value, copy) = if self.wants_seal() {
            let own = identity.keys.sealing_key;
            let (sealed, copy) = self.seal(identity, &headers, own, rng)?;
            (self.in_box(&headers, &sealed).to_value(), copy)
        } else {
            (self.in_clear(&headers).to_value(), None)
        };
        if let Some(headers) =
            envelope_mut(&mut value).and_then(|envelope| envelope.get_mut("headers"))
        {
            for name in UNSIGNED {
                headers
                    .as_object_mut()
                    .and_then(|headers| headers.remove(name));
            }
        }
        Ok((value, copy))
    }

    /// Reads a draft back from the log. What was sealed stays sealed: [`StoredDraft::open`].
    ///
    /// # Errors
    /// As for a message that does not fit.
    pub fn parse(mut value: Value, life: Duration) -> Result<StoredDraft, Reason> {
        let envelope = envelope_mut(&mut value).ok_or(Reason::InvalidShape)?;
        let headers = envelope
            .get_mut("headers")
            .and_then(Value::as_object_mut)
            .ok_or(Reason::HeaderMissing)?;
        // The log holds a draft without the headers that signing adds. Put placeholders in their place: the parser refuses a
        // message that lacks a mandatory header.
        for (name, text) in UNSIGNED.into_iter().zip([
            "1970-01-01T00:00:00Z",
            "1970-01-01T00:00:00Z",
            "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ]) {
            headers.insert(name.into(), text.into());
        }
        attach(&mut value, &[0; 64]);
        Message::from_value(value).map(|message| StoredDraft { message, life })
    }
}

/// A draft as the log holds it: its content may be sealed.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDraft {
    message: Message,
    life: Duration,
}

impl StoredDraft {
    /// The message that it will be, with placeholders for what signing adds.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The draft with its content.
    ///
    /// # Errors
    /// `unsealable` when the secret that it was sealed to is destroyed, `seal-mismatch` when the box
    /// is another draft's.
    pub fn open(self, identity: &Identity) -> Result<Draft, Reason> {
        let mut message = self.message;
        let (summary, body) = match &message.sealed {
            None => (message.summary.take(), message.take_body()),
            Some(sealed) => {
                let secret = identity.secret_for(sealed).ok_or(Reason::Unsealable)?;
                let opened = seal::open(sealed, secret, &message)?.0;
                (opened.summary, opened.body)
            }
        };
        Ok(Draft {
            form: message.form,
            recipient: message.headers.recipient_id,
            message_id: message.headers.message_id,
            summary,
            body,
            data_tier: message.headers.data_tier,
            capability: message.headers.capability,
            conversation_id: message.headers.conversation_id,
            in_reply_to: message.headers.in_reply_to,
            hops: message.headers.hops,
            life: self.life,
        })
    }
}

fn envelope_mut(value: &mut Value) -> Option<&mut Map<String, Value>> {
    let place = ["/params", "/result", "/error/data"]
        .into_iter()
        .find(|place| value.pointer(place).is_some())?;
    value.pointer_mut(place)?.as_object_mut()
}

/// What a draft's headers lack that every message has.
const UNSIGNED: [&str; 3] = ["timestamp", "expires-at", "key-id"];
