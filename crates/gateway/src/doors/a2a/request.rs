//! What a client's message asks of the daemon: as what it goes, and whether it fits.

use serde_json::{Map, Value};
use signet_api::A2A_EXTENSION;
use signet_json::canonical;
use signet_proto::envelope::MAX_MESSAGE;

use super::fault::A2aError;
use super::words::body;
use super::words::model::A2aMessage;
use super::words::read::Fields;

/// What the call is about, beside its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestTerms {
    pub(crate) capability: Option<String>,
    pub(crate) tier: Option<u8>,
    /// Seconds that the request may wait.
    pub(crate) life: Option<u64>,
}

/// The body of a request of that data tier.
///
/// # Errors
/// -32602 for what no message of the daemon's holds.
pub(crate) fn body_of(message: &A2aMessage, tier: u8) -> Result<Value, A2aError> {
    let body = body::of(message, &[A2A_EXTENSION, SHORT]);
    match signed_length(&body, tier) > MAX_MESSAGE {
        true => Err(A2aError::params(
            "message.parts",
            "hold more than one signed message carries: 240 KiB with what stands around the body, and about 176 KiB where it \
             is sealed (tiers 3 and 4); send a link to what is larger",
        )),
        false => Ok(body),
    }
}

impl RequestTerms {
    /// What the metadata of the message and of the call say under the name of the extension, or under `signet`; the
    /// message's comes first.
    ///
    /// # Errors
    /// -32602 for a member that does not fit.
    pub(crate) fn read(all: &[Option<&Map<String, Value>>]) -> Result<Self, A2aError> {
        let mut about = Self::default();
        for metadata in all.iter().copied().flatten() {
            for name in [A2A_EXTENSION, SHORT] {
                let Some(Value::Object(given)) = metadata.get(name) else {
                    continue;
                };
                let fields = Fields::root(given);
                about.capability = about.capability.or(fields.text("capability")?);
                about.tier = match (about.tier, fields.count("tier")?) {
                    (None, Some(tier @ 1..=4)) => u8::try_from(tier).ok(),
                    (None, Some(_)) => {
                        return Err(A2aError::params("metadata.tier", "is none of 1 to 4"));
                    }
                    (known, _) => known,
                };
                let life = fields.count("life")?;
                about.life = about.life.or(life.map(|life| life as u64));
            }
        }
        Ok(about)
    }
}

/// As how much the daemon will measure the whole message, at most. What is sealed travels as base64url.
fn signed_length(body: &Value, tier: u8) -> usize {
    let body = canonical(body).len();
    match tier < SEALED {
        true => body.saturating_add(AROUND),
        false => {
            let sealed = body.saturating_add(AROUND).saturating_mul(4).div_ceil(3);
            sealed.saturating_add(AROUND)
        }
    }
}

/// The short name of the extension, as our own handlers write it.
const SHORT: &str = "signet";
/// More than the headers and the signature of a request ever take, each name as long as it may be (docs/protocol.md, section 2).
const AROUND: usize = 2 * 1024;
/// From this tier on what is said travels sealed.
pub(crate) const SEALED: u8 = 3;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::words::model::{A2aPart, A2aRole, PartContent};
    use super::*;

    fn message(parts: Vec<A2aPart>) -> A2aMessage {
        A2aMessage::of("m", A2aRole::User, parts)
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_before_it_is_sent() {
        let fits = |length: usize, tier: u8| {
            body_of(&message(vec![A2aPart::text("A".repeat(length))]), tier).map(drop)
        };
        assert!(fits(MAX_MESSAGE - AROUND - 2, 1).is_ok());
        let fault = fits(MAX_MESSAGE - AROUND - 1, 1).unwrap_err();
        assert!(fault.to_string().contains("240 KiB"), "{fault}");
        assert!(fits(176 * 1024, 3).is_ok() && fits(178 * 1024, 3).is_err());
        // As the client writes it, each number takes five bytes, so this message is small enough. The form that the daemon
        // signs has seventeen more for each, which is too much: so it is refused.
        let numbers = A2aPart::of(PartContent::Data(json!(vec![1e20; 15_000])));
        assert!(body_of(&message(vec![numbers]), 1).is_err());
    }

    #[test]
    fn what_is_asked_for_stands_in_the_metadata() {
        let mine = json!({"signet": {"capability": "a.b", "tier": 2}});
        let calls =
            json!({"urn:signet:a2a:request:1": {"capability": "c.d", "life": 60}, "other": 1});
        let about = RequestTerms::read(&[mine.as_object(), None, calls.as_object()]).unwrap();
        assert_eq!(
            about,
            RequestTerms {
                capability: Some("a.b".to_owned()),
                tier: Some(2),
                life: Some(60)
            }
        );
        for bad in [
            json!({"signet": {"tier": 5}}),
            json!({"signet": {"tier": "x"}}),
            json!({"signet": {"capability": 1}}),
        ] {
            assert!(RequestTerms::read(&[bad.as_object()]).is_err(), "{bad}");
        }
    }
}
