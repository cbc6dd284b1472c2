//! The lines of messages.

use std::sync::Arc;

use signet_json::{Map, Value};

use super::derived::{Derived, tier_of};
use super::line::{Line, Members};
use super::{Direction, EntryError, Evidence, LineVersion, Ruling, Verdict};
use crate::envelope::{Claimed, HIGHEST_CLEAR_TIER, Message};
use crate::headers::MessageType;
use crate::ids::{AgentId, PrincipalId};
use crate::reject::Reason;

impl Verdict {
    /// The reason, when it was refused.
    pub fn reason(&self) -> Option<Reason> {
        match self.ruling {
            Ruling::Rejected(reason) => Some(reason),
            Ruling::Accepted | Ruling::Sent => None,
        }
    }

    /// The data tier, as the line shows it.
    pub fn tier(&self) -> Option<u8> {
        let (_, _, tier, _) = self.seen();
        tier
    }

    /// The summary, as the line shows it: none of tiers 3 and 4.
    pub fn summary(&self) -> Option<&str> {
        let (_, _, _, summary) = self.seen();
        summary
    }

    /// The message, when all of it is kept or at hand.
    pub fn message(&self) -> Option<&Arc<Message>> {
        match &self.evidence {
            Evidence::Whole(message) | Evidence::Headers(message) => Some(message),
            Evidence::Withheld(..) | Evidence::Copy(_) | Evidence::Raw(..) => None,
        }
    }

    pub(super) fn write(&self, line: &mut Line<'_>) {
        line.text(
            "dir",
            if self.direction == Direction::In {
                "in"
            } else {
                "out"
            },
        );
        line.text("verdict", self.ruling.as_str());
        line.maybe("reason", self.reason().map(Reason::name));
        let (peer, kind, tier, summary) = self.seen();
        let derived = match line.version {
            LineVersion::V1 => Derived::default(),
            LineVersion::V2 => Derived::of(self),
        };
        line.some("peer-reason", derived.peer_reason);
        line.maybe("peer", peer.as_ref().map(AgentId::as_str));
        let principal = derived.principal.as_ref();
        line.some("principal", principal.map(PrincipalId::as_str));
        derived.write_class(line);
        line.maybe("type", kind.map(MessageType::as_str));
        derived.write_names(line);
        match tier {
            Some(tier) => line.number("tier", u64::from(tier)),
            None => line.value("tier", &Value::Null),
        }
        line.maybe("summary", summary);
        line.number("bytes", self.bytes);
        line.text("sha256", &self.hash.to_hex());
        match &self.evidence {
            Evidence::Whole(message) => line.json("message", message.canonical()),
            Evidence::Headers(message) => line.value("headers", &message.headers.to_value()),
            Evidence::Withheld(headers, _) => {
                line.value("headers", &Value::Object(headers.clone()))
            }
            Evidence::Copy(_) => {}
            Evidence::Raw(head, _) => line.text("raw", &data_encoding::BASE64.encode(head)),
        }
        line.copy(self.copy.as_ref());
    }

    /// Peer, type, tier and summary. For unproven input these are claims; `verdict` tells.
    fn seen(
        &self,
    ) -> (
        Option<AgentId>,
        Option<MessageType>,
        Option<u8>,
        Option<&str>,
    ) {
        match &self.evidence {
            Evidence::Whole(message) | Evidence::Headers(message) => {
                let headers = &message.headers;
                let peer = if self.direction == Direction::In {
                    &headers.agent_id
                } else {
                    &headers.recipient_id
                };
                // A line that keeps the headers alone keeps no words.
                let is_whole = matches!(self.evidence, Evidence::Whole(_));
                let shows = is_whole && headers.data_tier <= HIGHEST_CLEAR_TIER;
                let summary = message.summary.as_deref().filter(|_| shows);
                (
                    Some(peer.clone()),
                    Some(headers.message_type),
                    Some(headers.data_tier),
                    summary,
                )
            }
            Evidence::Withheld(headers, _) => {
                let tier = tier_of(headers);
                let headers = Members(headers);
                (
                    headers.parsed("agent-id").ok(),
                    headers.parsed("message-type").ok(),
                    tier,
                    None,
                )
            }
            Evidence::Copy(claimed) | Evidence::Raw(_, claimed) => {
                (claimed.agent.clone(), claimed.message_type, None, None)
            }
        }
    }

    pub(super) fn parse(mut line: Map<String, Value>) -> Result<Self, EntryError> {
        let message = line.remove("message");
        let headers = line.remove("headers");
        let members = Members(&line);
        let claimed = Claimed {
            agent: members.parsed("peer").ok(),
            message_type: members.parsed("type").ok(),
        };
        let evidence = match (message, headers, members.text("raw")) {
            (Some(message), None, Err(_)) => Evidence::Whole(Arc::new(
                Message::from_value(message).map_err(|_| EntryError("message"))?,
            )),
            (None, Some(Value::Object(headers)), Err(_)) => {
                Evidence::Withheld(headers, members.parsed("method").ok())
            }
            (None, None, Ok(raw)) => {
                let head = data_encoding::BASE64
                    .decode(raw.as_bytes())
                    .map_err(|_| EntryError("raw"))?;
                Evidence::Raw(head, claimed)
            }
            (None, None, Err(_)) => Evidence::Copy(claimed),
            _ => return Err(EntryError("message")),
        };
        Ok(Self {
            direction: match members.text("dir")? {
                "in" => Direction::In,
                "out" => Direction::Out,
                _ => return Err(EntryError("dir")),
            },
            ruling: Ruling::parse(members.text("verdict")?, line.get("reason"))?,
            bytes: members.number("bytes")?,
            hash: members.digest("sha256")?,
            copy: members.copy()?,
            evidence,
        })
    }
}
