//! What an agent's durable lines say, for the invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use signet_proto::entry::{ClockLine, Did, Direction, Entry, Evidence, OutcomeLine, Ruling};
use signet_proto::envelope::{Message, Method};
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId};
use signet_proto::node::TRIES;
use signet_proto::reject::Reason;

use crate::disk::Line;

#[derive(Default)]
pub struct Index {
    pub accepted: BTreeSet<Digest>,
    /// The same by sender and name: of a message that was signed anew one form may be.
    taken: BTreeSet<(AgentId, MessageId)>,
    pub refused: BTreeMap<Digest, Reason>,
    pub sent: BTreeMap<Digest, Arc<Message>>,
    /// Under which number which message of ours went.
    pub numbers: BTreeMap<(SessionId, u64), Digest>,
    /// Our messages by name.
    pub names: BTreeMap<MessageId, Arc<Message>>,
    /// Our messages that a line says were given up.
    pub given_up: BTreeSet<MessageId>,
    /// What our agent took, or answered.
    pub done: BTreeSet<(AgentId, MessageId)>,
    /// Our requests that were answered.
    pub answers: BTreeSet<MessageId>,
    /// Peers of whose clocks a line speaks.
    pub clocks: BTreeSet<AgentId>,
    /// How often a message of the inbox was tried.
    pub tries: BTreeMap<(AgentId, MessageId), u8>,
    /// What is in the quarantine.
    pub shelved: BTreeSet<(AgentId, MessageId)>,
    /// Whether the person paused.
    pub paused: bool,
    /// The first line that broke a rule.
    pub broken: Option<String>,
}

impl Index {
    pub fn take(&mut self, line: &Line) {
        match &line.entry {
            Entry::Message(verdict) => match (verdict.direction, verdict.ruling) {
                (Direction::In, Ruling::Accepted) => {
                    if !self.accepted.insert(verdict.hash) {
                        self.break_rule("a message was accepted twice", verdict.hash);
                    }
                    let headers = verdict.message().map(|message| &message.headers);
                    let name =
                        headers.map(|headers| (headers.agent_id.clone(), headers.message_id));
                    if name.is_some_and(|name| !self.taken.insert(name)) {
                        self.break_rule("two forms of a message were accepted", verdict.hash);
                    }
                    let taken = verdict
                        .message()
                        .filter(|taken| taken.form.method().is_none());
                    self.answers
                        .extend(taken.and_then(|taken| taken.headers.in_reply_to));
                }
                (Direction::In, Ruling::Rejected(Reason::Duplicate)) => {}
                (Direction::In, Ruling::Rejected(reason)) => {
                    let flight = match &verdict.evidence {
                        Evidence::Whole(message) => {
                            message.form.method().is_some_and(Method::is_handshake)
                        }
                        _ => false,
                    };
                    // Take this reason for a flight's even if the line does not hold the whole message: only a flight
                    // carries a certificate that a later one has replaced.
                    let flight = flight || reason == Reason::SerialRolledBack;
                    if self.accepted.contains(&verdict.hash) && !flight {
                        self.break_rule("what was accepted was refused", verdict.hash);
                    }
                    self.refused.entry(verdict.hash).or_insert(reason);
                }
                _ => {
                    if let Evidence::Whole(message) = &verdict.evidence {
                        self.take_sent(message);
                    }
                }
            },
            Entry::Draft(draft) => {
                let places = [
                    "/result/headers/in-reply-to",
                    "/error/data/headers/in-reply-to",
                ];
                let mut found = places
                    .into_iter()
                    .filter_map(|place| draft.message.pointer(place));
                let request = found.next();
                if let Some(request) = request.and_then(|name| name.as_str()?.parse().ok()) {
                    self.done.insert((draft.peer.clone(), request));
                }
            }
            Entry::Outcome(line) => self.take_outcome(line),
            Entry::Pause(said) => self.paused = said.paused,
            Entry::Clock(ClockLine { peer, .. }) => {
                self.clocks.insert(peer.clone());
            }
            _ => {}
        }
    }

    fn take_outcome(&mut self, line: &OutcomeLine) {
        let name = (line.peer.clone(), line.message_id);
        match line.what {
            Did::Acknowledged => {
                self.tries.remove(&name);
                if !self.done.insert(name) {
                    self.broken
                        .get_or_insert(format!("{} was taken twice", line.message_id));
                }
            }
            Did::Started | Did::Failed => {
                let before = self.tries.insert(name.clone(), line.tries);
                let again = before.is_some_and(|before| before >= line.tries);
                if line.tries > TRIES || again && line.what == Did::Started {
                    let words = "is tried again under the same number";
                    self.broken
                        .get_or_insert(format!("{} {words}", line.message_id));
                }
                if line.what == Did::Failed && line.tries == TRIES {
                    self.shelved.insert(name);
                }
            }
            Did::SetAside => {
                self.shelved.insert(name);
            }
            Did::Retried => {
                self.tries.remove(&name);
                self.shelved.remove(&name);
            }
            Did::Expired | Did::DraftRefused => {
                self.given_up.insert(line.message_id);
            }
            Did::Dropped => {
                self.shelved.remove(&name);
                self.done.insert(name);
            }
            _ => {}
        }
    }

    fn take_sent(&mut self, message: &Arc<Message>) {
        let (headers, hash) = (&message.headers, message.hash());
        self.sent.insert(hash, Arc::clone(message));
        self.names.insert(headers.message_id, Arc::clone(message));
        if let Some(place) = headers.session.zip(headers.sequence)
            && self.numbers.insert(place, hash).is_some()
        {
            self.break_rule("a sequence number was used twice", hash);
        }
        if let Some(request) = headers
            .in_reply_to
            .filter(|_| message.form.method().is_none())
        {
            self.done.insert((headers.recipient_id.clone(), request));
        }
    }

    fn break_rule(&mut self, what: &str, hash: Digest) {
        self.broken
            .get_or_insert(format!("{what}: {}", hash.to_hex()));
    }
}
