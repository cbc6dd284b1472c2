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
    pub(crate) fn parse(reply: Subject, mailbox: &Mailbox, era: u64) -> Option<MailboxDelivery> {
        let tokens = reply.strip_prefix("$JS.ACK.")?;
        let before = match tokens.split('.').count() {
            7 => 0,
            9 | 10 => 2,
            _ => return None,
        };
        let mut tokens = tokens.split('.').skip(before);
        let (stream, consumer) = (tokens.next()?, tokens.next()?);
        if (stream, consumer) != (mailbox.stream.as_str(), mailbox.consumer.as_str()) {
            return None;
        }
        let mut number = || tokens.next()?.parse().ok();
        let (deliveries, sequence, number) = (number()?, number()?, number()?);
        let handle = Self {
            reply,
            era,
            deliveries,
        };
        Some(MailboxDelivery {
            handle,
            sequence,
            number,
        })
    }

    pub(crate) fn era(&self) -> u64 {
        self.era
    }

    pub(crate) fn reply(&self) -> Subject {
        self.reply.clone()
    }

    pub(crate) fn into_reply(self) -> Subject {
        self.reply
    }
}

/// One delivery as it came.
#[derive(Debug)]
pub(crate) struct MailboxDelivery {
    pub(crate) handle: Handle,
    /// The number of the message in the stream.
    pub(crate) sequence: u64,
    /// The number of the delivery: the consumer counts each, also of a message that comes again.
    pub(crate) number: u64,
}

/// The reply subject of a delivery that never came, by the last number that the consumer gave to one. The form is
/// that of `like`, which came, or the oldest, which every server takes.
pub(crate) fn reply_of(
    mailbox: &Mailbox,
    like: Option<&Subject>,
    sequence: u64,
    number: u64,
) -> String {
    let place = format!(".{}.{}.", mailbox.stream, mailbox.consumer);
    let before = like.and_then(|like| like.split_once(&place));
    let before = before.map_or("$JS.ACK", |(before, _)| before);
    format!("{before}{place}1.{sequence}.{number}.0.0")
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
            // Leave out a delay of 0: servers of version 2.9 would bring the message again only when its usual wait is over.
            Self::Nak(Duration::ZERO) => Bytes::from_static(b"-NAK"),
            Self::Nak(delay) => Bytes::from(format!("-NAK {{\"delay\": {}}}", delay.as_nanos())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(reply: &str) -> Option<(u64, u64)> {
        let mailbox = Mailbox::of("alpha");
        let delivery = Handle::parse(Subject::from(reply), &mailbox, 1)?;
        assert_eq!(delivery.number, 21);
        Some((delivery.handle.deliveries(), delivery.sequence))
    }

    #[test]
    fn a_delivery_that_never_came_is_named_as_those_are_that_did() {
        let mailbox = Mailbox::of("alpha");
        let short = "$JS.ACK.AGENT_INBOX.alpha.1.18.22.0.0";
        assert_eq!(reply_of(&mailbox, None, 18, 22), short);
        let like = "$JS.ACK._.ACCHASH.AGENT_INBOX.alpha.3.17.21.1700000000000000000.5.x".into();
        let long = "$JS.ACK._.ACCHASH.AGENT_INBOX.alpha.1.18.22.0.0";
        assert_eq!(reply_of(&mailbox, Some(&like), 18, 22), long);
        assert_eq!(
            parse(&reply_of(&mailbox, Some(&like), 17, 21)),
            Some((1, 17))
        );
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
