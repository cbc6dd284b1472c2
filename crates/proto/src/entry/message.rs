//! The lines of messages.

use std::sync::Arc;

use super::derived::{Derived, tier_of};
use super::line::{Line, LineMembers};
#[cfg(test)]
use super::schema_tests::*;
use super::verdict::{Direction, Evidence, Ruling, Verdict};
use super::{EntryError, LineKind, LineSubject, LineVersion, SEALED, Weight, quoted};
use crate::envelope::{Claimed, Form, Message, Unverified};
use crate::headers::MessageType;
use crate::ids::{AgentId, Digest, PrincipalId};
use crate::reject::Reason;
use signet_json::{Map, Value};
use signet_text::printable;

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

    /// Whom the message came from or went to: proven or, for unproven input, claimed.
    pub fn peer(&self) -> Option<AgentId> {
        match &self.evidence {
            Evidence::Whole(message) | Evidence::Headers(message) => Some(match self.direction {
                Direction::In => message.headers.agent_id.clone(),
                Direction::Out => message.headers.recipient_id.clone(),
            }),
            Evidence::Withheld(headers, _) => {
                let name = match self.direction {
                    Direction::In => "agent-id",
                    Direction::Out => "recipient-id",
                };
                LineMembers(headers).parsed(name).ok()
            }
            Evidence::Copy(claimed) | Evidence::Raw(_, claimed) => claimed.agent.clone(),
        }
    }

    /// What the message calls itself, likewise.
    pub fn message_type(&self) -> Option<MessageType> {
        let (_, message_type, ..) = self.seen();
        message_type
    }

    /// How much rests on the line: of a message of which the headers alone are kept, no signature is.
    pub(super) fn weight(&self) -> Weight {
        match &self.evidence {
            Evidence::Headers(_) | Evidence::Withheld(..) => Weight::Anchored,
            Evidence::Whole(_) | Evidence::Copy(_) | Evidence::Raw(..) => Weight::Light,
        }
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
                // The log line of a message whose headers alone are kept must hold no text of that message: so leave out its
                // summary.
                let is_whole = matches!(self.evidence, Evidence::Whole(_));
                let summary = message.summary.as_deref().filter(|_| is_whole);
                (
                    Some(peer.clone()),
                    Some(headers.message_type),
                    Some(headers.data_tier.number()),
                    headers.data_tier.in_clear(summary),
                )
            }
            Evidence::Withheld(headers, _) => {
                let tier = tier_of(headers);
                let headers = LineMembers(headers);
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
}

impl Verdict {
    /// See [`Entry::skim`](super::Entry::skim): reads a line whose message stands whole at its end. The other members follow
    /// from the message, but for a few words.
    pub(super) fn skim(version: LineVersion, members: &str) -> Option<Self> {
        let rest = members.strip_prefix(",\"dir\":\"")?;
        let (direction, rest) = rest.split_once('"')?;
        let (ruling, rest) = rest.strip_prefix(",\"verdict\":\"")?.split_once('"')?;
        let rest = rest.strip_prefix(",\"reason\":")?;
        // A summary may hold braces: take the first brace that follows the name of the message.
        let mut braces = rest.match_indices('{').map(|(at, _)| rest.split_at(at));
        let (before, message) = braces
            .find_map(|(before, from)| Some((before.strip_suffix(",\"message\":")?, from)))?;
        let above = members.get(..members.len() - rest.len() + before.len())?;
        // A message that is read in canonical form is written as it stood: compare only the members beside it.
        let message = Unverified::parse_canonical(message.strip_suffix('}')?.as_bytes())?;
        let (before, hash) = before.strip_suffix('"')?.rsplit_once('"')?;
        let before = before.strip_suffix(",\"sha256\":")?;
        let (_, bytes) = before.rsplit_once(':')?;
        // Give up on a size above u32: the caller then parses the whole log line strictly, and the strict parser refuses sizes
        // that are too large.
        let bytes: u32 = bytes.parse().ok()?;
        let said = Self {
            direction: Direction::of(direction)?,
            ruling: Ruling::skim(ruling, rest)?,
            bytes: u64::from(bytes),
            hash: Digest::from_hex(hash).ok()?,
            evidence: Evidence::Whole(Arc::new(message.into_message())),
            copy: None,
        };
        Line::writes(version, above, |line| said.write_above(line)).then_some(said)
    }

    /// The members that stand above the evidence.
    fn write_above(&self, line: &mut Line<'_>) {
        line.text("dir", self.direction.as_str());
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
        line.hash("sha256", &self.hash);
    }
}

impl LineKind for Verdict {
    fn write(&self, line: &mut Line<'_>) {
        self.write_above(line);
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

    fn parse(mut line: Map<String, Value>) -> Result<Self, EntryError> {
        let message = line.remove("message");
        let headers = line.remove("headers");
        let members = LineMembers(&line);
        // A message that was not proven may name no valid sender: then the log line's `peer` is `null`.
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
            // Refuse a log line whose `headers` are no object, or that holds the message in two forms, such as `message` and
            // `raw`: the two could contradict each other.
            _ => return Err(EntryError("message")),
        };
        Ok(Self {
            direction: Direction::read(&members)?,
            ruling: Ruling::parse(members.text("verdict")?, line.get("reason"))?,
            bytes: members.number("bytes")?,
            hash: members.digest("sha256")?,
            copy: members.copy()?,
            evidence,
        })
    }

    fn about(&self) -> LineSubject {
        let derived = Derived::of(self);
        LineSubject {
            peer: self.peer(),
            tier: self.tier(),
            messages: [derived.id, derived.in_reply_to],
            task: None,
            conversation: derived.conversation,
        }
    }

    fn describe(&self) -> String {
        let message = self.message();
        let peer = self.peer();
        let peer = peer.as_ref().map_or("?", AgentId::as_str);
        // A call is described by its method, which says more than its message-type; a response has no method.
        let what = match self.method() {
            Some(method) => method.as_str().trim_start_matches("agent."),
            None => self.message_type().map_or("?", MessageType::as_str),
        };
        let tier = self.tier();
        let tier = tier.map_or("t?".to_owned(), |tier| format!("t{tier}"));
        let refusal = message.and_then(|message| match &message.form {
            Form::Failure {
                reason, message, ..
            } => {
                let who = match self.direction {
                    Direction::In => "the peer refuses",
                    Direction::Out => "refuses",
                };
                let (reason, words) = (printable(reason), quoted(message));
                Some(format!("{who}: {reason}  {words}"))
            }
            Form::Call(_) | Form::Success => None,
        });
        let is_sealed = message.is_some_and(|message| message.sealed.is_some());
        let parts = [
            Some(format!("{what:<12}  {peer:<14}  {tier}")),
            self.reason().map(|reason| reason.name().to_owned()),
            refusal,
            self.summary().map(quoted),
            is_sealed.then(|| SEALED.to_owned()),
            self.id().map(|id| id.to_string()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join("  ")
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        let object = || serde_json::json!({"type": "object"});
        let verdicts = serde_json::json!({"enum": ["accepted", "rejected", "sent"]});
        let refused =
            "The name of the reason for which the peer refused what this agent had asked.";
        let acts = "The principal-id of the message: for whom its sender acts.";
        LineShape::default()
            .with("dir", direction())
            .with("verdict", verdicts)
            .with("reason", or_null(common("reason-name")))
            .maybe_later("peer-reason", about(refused, common("reason-name")))
            .with("peer", or_null(common("agent-id")))
            .maybe_later("principal", about(acts, common("principal-id")))
            .with("type", or_null(message_type()))
            .derived()
            .maybe_later("id", about("The message-id.", common("uuid")))
            .with("tier", or_null(common("tier")))
            .with("summary", or_null(text()))
            .with("bytes", at_least(0))
            .with("sha256", common("hash-hex"))
            .maybe("message", object())
            .maybe("headers", object())
            .maybe("raw", text())
            .maybe("copy", copy())
    }
}
