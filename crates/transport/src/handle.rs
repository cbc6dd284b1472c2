//! One delivery out of the mailbox: what to answer, and where.

use std::time::Duration;

use async_nats::Subject;
use bytes::Bytes;

use crate::Mailbox;

/// Names one delivery of one message to the broker. Dropping it says nothing: the message comes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle {
    reply: Subject,
    era: u64,
    deliveries: u64,
}

impl Handle {
    /// How often the message has been delivered, this time included.
    #[must_use]
    pub fn deliveries(&self) -> u64 {
        self.deliveries
    }

    /// Reads the reply subject of a delivery, which only the server writes:
    /// `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>`, since 2.9 also
    /// with `<domain>.<account>` before the stream and a token behind. `None` for what is no delivery from
    /// `mailbox`.
    pub(crate) fn parse(reply: &Subject, mailbox: &Mailbox, era: u64) -> Option<(Self, u64)> {
        let tokens: Vec<&str> = reply.strip_prefix("$JS.ACK.")?.split('.').collect();
        let place = match tokens.len() {
            7 => tokens.as_slice(),
            9 | 10 => tokens.get(2..)?,
            _ => return None,
        };
        let [stream, consumer, deliveries, sequence, ..] = place else {
            return None;
        };
        if (*stream, *consumer) != (mailbox.stream.as_str(), mailbox.consumer.as_str()) {
            return None;
        }
        let handle = Self {
            reply: reply.clone(),
            era,
            deliveries: deliveries.parse().ok()?,
        };
        Some((handle, sequence.parse().ok()?))
    }

    pub(crate) fn era(&self) -> u64 {
        self.era
    }

    pub(crate) fn reply(&self) -> Subject {
        self.reply.clone()
    }
}

/// What becomes of a message in the mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// It is taken, durably: the broker forgets it.
    Ack,
    /// It can never be accepted: the broker forgets it, and says so to who listens for its advisories.
    Term,
    /// We cannot take it now: it comes again after this time.
    Nak(Duration),
}

impl Settlement {
    pub(crate) fn payload(self) -> Bytes {
        match self {
            Self::Ack => Bytes::from_static(b"+ACK"),
            Self::Term => Bytes::from_static(b"+TERM"),
            Self::Nak(delay) => Bytes::from(format!("-NAK {{\"delay\": {}}}", delay.as_nanos())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(reply: &str) -> Option<(u64, u64)> {
        let mailbox = Mailbox::of("alpha");
        let (handle, sequence) = Handle::parse(&Subject::from(reply), &mailbox, 1)?;
        Some((handle.deliveries(), sequence))
    }

    #[test]
    fn every_form_of_a_delivery_is_read() {
        let short = "$JS.ACK.AGENT_INBOX.alpha.3.17.21.1700000000000000000.5";
        assert_eq!(parse(short), Some((3, 17)));
        let eleven = "$JS.ACK._.ACCHASH.AGENT_INBOX.alpha.3.17.21.1700000000000000000.5";
        assert_eq!(parse(eleven), Some((3, 17)));
        assert_eq!(parse(&format!("{eleven}.random")), Some((3, 17)));
    }

    #[test]
    fn what_is_no_delivery_from_this_mailbox_is_none() {
        for reply in [
            "",
            "$JS.ACK.",
            "agent.alpha.inbox",
            "$JS.ACK.AGENT_INBOX.beta.3.17.21.1700000000000000000.5",
            "$JS.ACK.OTHER.alpha.3.17.21.1700000000000000000.5",
            "$JS.ACK.AGENT_INBOX.alpha.3.17.21.1700000000000000000",
            "$JS.ACK.AGENT_INBOX.alpha.x.17.21.1700000000000000000.5",
            "$JS.ACK.AGENT_INBOX.alpha.3.-1.21.1700000000000000000.5",
        ] {
            assert_eq!(parse(reply), None, "{reply}");
        }
    }
}
