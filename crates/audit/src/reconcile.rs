//! Two logs of two agents held against each other, message by message.
//!
//! ```text
//! mine: sent, theirs: nothing     not received, as long as no receipt and no answer says otherwise
//! mine: came, theirs: nothing     a contradiction: they signed it, and their log lacks it
//! a head in mine                  has to be a line of theirs, and never an older one than before
//! ```

mod half;
mod merge;
mod read;
mod side;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::Path;

use serde_json::{Value, json};
use signet_proto::entry::{Direction, Ruling};
use signet_proto::ids::{AgentId, Digest, MessageId};
use signet_proto::time::Timestamp;

use crate::claim::Claim;
use crate::error::LogError;
use crate::verify::{VerifyReport, grown};
use read::LogsRead;
use side::{SentState, Side, owner};
use signet_text::{counted, counted_doing, printable};

/// What two logs say of each other.
#[derive(Debug)]
pub struct Reconciliation {
    /// Whose the first log is.
    pub mine: AgentId,
    /// Whose the second.
    pub theirs: AgentId,
    /// How many messages stand in both.
    pub agreed: u64,
    /// How many cannot be compared: the part of the other log that would hold them was not given.
    pub not_compared: u64,
    /// What contradicts itself between them.
    pub contradictions: Vec<Difference>,
    /// Differences that are no contradiction: both logs can be honest about them.
    pub open: Vec<Difference>,
    /// Faults that verification finds in each log alone, and in the heads that each names of the other.
    pub verification: VerifyReport,
}

/// One message that the logs do not agree about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What is wrong.
    pub kind: DifferenceKind,
    /// Whose log has the message.
    pub claimed_by: AgentId,
    /// Whether the log that has the message sent it or received it.
    pub direction: Direction,
    /// The line of that log.
    pub seq: u64,
    /// When that log recorded the message.
    pub ts: Timestamp,
    /// Its name.
    pub message_id: MessageId,
    /// Its hash.
    pub hash: Digest,
    /// What became of it, as its sender's log knows.
    pub state: String,
}

/// How two logs can differ about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Sent by the one, not in the other's log, and nothing says that it arrived.
    NotReceived,
    /// Sent by the one and receipted or answered by the other, whose log lacks it.
    Lost,
    /// Signed by the other, whose log lacks it.
    NeverSent,
    /// The other's receipt refused it, and the other's log accepted it.
    Untold,
    /// The message names a line of its sender's log that is not there.
    UnknownHead,
    /// It names an older line of its sender's log than a message before it in the session.
    HeadBack,
}

impl DifferenceKind {
    /// As `--json` names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotReceived => "not-received",
            Self::Lost => "lost",
            Self::NeverSent => "never-sent",
            Self::Untold => "untold",
            Self::UnknownHead => "unknown-head",
            Self::HeadBack => "head-back",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::NotReceived => "not in the other log, and nothing says that it arrived",
            Self::Lost => "the other said that it has it, and its log lacks it",
            Self::NeverSent => "the other signed it, and its log lacks it",
            Self::Untold => "the other said that it refused it, and its log says accepted",
            Self::UnknownHead => "it names a head that is no line of its sender's log",
            Self::HeadBack => "it names an older head than a message before it in its session",
        }
    }
}

/// Holds the logs of two agents against each other, each given as a directory or file.
///
/// # Errors
/// When one of them cannot be read, or they are not the logs of two agents.
pub fn reconcile(mine: &Path, theirs: &Path) -> Result<Reconciliation, LogError> {
    let (me, them) = (owner_of(mine)?, owner_of(theirs)?);
    if me == them {
        return Err(LogError::SameAgent(me));
    }
    let read = LogsRead::of([mine, theirs], [&me, &them])?;
    let mut found = Reconciliation {
        mine: me,
        theirs: them,
        agreed: read.agreed,
        not_compared: 0,
        contradictions: Vec::new(),
        open: Vec::new(),
        verification: read.verification,
    };
    let [ours, other] = read.sides;
    found.compare(&ours, &other);
    found.compare(&other, &ours);
    Ok(found)
}

fn owner_of(path: &Path) -> Result<AgentId, LogError> {
    owner(path)?.ok_or_else(|| LogError::NoOwner(path.to_owned()))
}

impl Reconciliation {
    /// Whether nothing contradicts.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.contradictions.is_empty() && self.verification.holds()
    }

    /// Everything that `side` claims, against `other`.
    fn compare(&mut self, side: &Side, other: &Side) {
        let arrived: HashMap<Digest, &Claim> =
            other.came.iter().map(|claim| (claim.hash, claim)).collect();
        let departed: HashSet<Digest> = other.sent.iter().map(|claim| claim.hash).collect();
        for claim in &side.sent {
            self.compare_sent(side, claim, arrived.get(&claim.hash).copied(), other);
        }
        for claim in side
            .came
            .iter()
            .filter(|claim| !departed.contains(&claim.hash))
        {
            if other.may_precede(claim.signed) {
                self.not_compared += 1;
            } else if claim.is_receipt {
                // A sender does not log every receipt that it sends, so a missing line contradicts nothing.
                let open = side.difference(DifferenceKind::NeverSent, claim, Direction::In, "sent");
                self.open.extend(open);
            } else {
                let found = side.difference(DifferenceKind::NeverSent, claim, Direction::In, "-");
                self.contradictions.extend(found);
            }
        }
        self.compare_heads(side, other);
    }

    fn compare_sent(&mut self, side: &Side, claim: &Claim, came: Option<&Claim>, other: &Side) {
        let state = side.state(claim);
        let text = state.to_string();
        let out = Direction::Out;
        match (came, &state) {
            // `sequence-reuse` refuses another message with the same number, so it does not contradict that this
            // message was accepted.
            (Some(came), SentState::Refused(reason))
                if came.ruling == Ruling::Accepted && reason != SEQUENCE_REUSE =>
            {
                let found = side.difference(DifferenceKind::Untold, claim, out, &text);
                self.contradictions.extend(found);
            }
            (Some(_), _) => self.agreed += 1,
            (None, SentState::Sent | SentState::Expired | SentState::Refused(_))
                if other.withheld.contains(&claim.hash) =>
            {
                self.agreed += 1;
            }
            (None, _) if other.may_precede(claim.signed) => self.not_compared += 1,
            (None, SentState::Received | SentState::Answered) => {
                let found = side.difference(DifferenceKind::Lost, claim, out, &text);
                self.contradictions.extend(found);
            }
            // A receipt may be missing in its recipient's log: a daemon writes no line for a receipt that tells it nothing new.
            (None, _) if claim.is_receipt => {}
            (None, _) => {
                let open = side.difference(DifferenceKind::NotReceived, claim, out, &text);
                self.open.extend(open);
            }
        }
    }

    /// Every head that `side` logged of `other`.
    fn compare_heads(&mut self, side: &Side, other: &Side) {
        let named = |claim: &Claim| {
            claim
                .head
                .map(|head| (head, other.lines.get(&head).copied()))
        };
        let mut newer: Option<HashSet<Digest>> = None;
        let mut by_session: BTreeMap<_, Vec<(u64, u64, &Claim)>> = BTreeMap::new();
        for claim in &side.came {
            match named(claim) {
                Some((_, Some(line))) => {
                    if let Some((session, number)) = claim.place {
                        let heads = by_session.entry(session).or_default();
                        heads.push((number, line, claim));
                    }
                }
                Some((head, None)) if !other.may_precede(claim.signed) => {
                    // The message names a line that was not read in the other log. The other agent may have written this line
                    // after its log was read, so look for it among the lines added meanwhile.
                    let newer =
                        newer.get_or_insert_with(|| grown(&other.files, other.lines.len() as u64));
                    if !newer.contains(&head) {
                        let found =
                            side.difference(DifferenceKind::UnknownHead, claim, Direction::In, "-");
                        self.contradictions.extend(found);
                    }
                }
                _ => {}
            }
        }
        for mut heads in by_session.into_values() {
            // Sort the messages by number: that is the order in which the peer signed them, and they may have arrived in another.
            // Each names the same line of the peer's log as the message signed before it, or a later line.
            heads.sort_unstable_by_key(|(number, line, _)| (*number, *line));
            let mut highest = 0;
            for (_, line, claim) in heads {
                if line < highest {
                    let found =
                        side.difference(DifferenceKind::HeadBack, claim, Direction::In, "-");
                    self.contradictions.extend(found);
                }
                highest = highest.max(line);
            }
        }
    }

    /// The result in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (mine, theirs) = (&self.mine, &self.theirs);
        let agreed = counted_doing(self.agreed, "message", "stands");
        let skipped = match self.not_compared {
            0 => String::new(),
            1 => ", 1 lies in a part that was not given".to_owned(),
            count => format!(", {count} lie in a part that was not given"),
        };
        let open = match self.open.len() {
            1 => "1 is open".to_owned(),
            open => format!("{open} are open"),
        };
        if !self.verification.holds() {
            format!(
                "{mine} and {theirs}: {}, and what verification found is wrong; {agreed} in both logs{skipped}.",
                counted(self.contradictions.len() as u64, "contradiction")
            )
        } else if self.contradictions.is_empty() {
            format!(
                "{mine} and {theirs} agree: {agreed} in both logs, {open}{skipped}, and every head fits."
            )
        } else {
            format!(
                "{mine} and {theirs} CONTRADICT each other in {}; {agreed} in both logs, {open}{skipped}.",
                self.contradictions.len()
            )
        }
    }

    /// The report as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let all = |found: &[Difference]| found.iter().map(Difference::to_json).collect::<Vec<_>>();
        json!({
            "agrees": self.agrees(),
            "mine": self.mine.as_str(),
            "theirs": self.theirs.as_str(),
            "agreed": self.agreed,
            "not-compared": self.not_compared,
            "contradictions": all(&self.contradictions),
            "open": all(&self.open),
            "verification": self.verification.to_json(),
            "sentence": self.sentence(),
        })
    }
}

impl Side {
    /// What the logs do not agree about, as this side claims it.
    fn difference(
        &self,
        kind: DifferenceKind,
        claim: &Claim,
        direction: Direction,
        state: &str,
    ) -> Option<Difference> {
        Some(Difference {
            kind,
            claimed_by: self.agent.clone()?,
            direction,
            seq: claim.seq,
            ts: claim.ts,
            message_id: claim.message_id,
            hash: claim.hash,
            state: state.to_owned(),
        })
    }
}

impl Difference {
    fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.as_str(),
            "log": self.claimed_by.as_str(),
            "dir": self.direction.as_str(),
            "seq": self.seq,
            "ts": self.ts.to_string(),
            "message-id": self.message_id.to_string(),
            "sha256": self.hash.to_hex(),
            "state": self.state,
            "what": self.kind.text(),
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (log, hash) = (&self.claimed_by, self.hash.to_hex());
        let dir = self.direction.as_str();
        write!(
            f,
            "{log}, seq {}, {}, {dir} {}, {hash}, {}: {}",
            self.seq,
            self.ts,
            self.message_id,
            printable(&self.state),
            self.kind.text()
        )
    }
}

impl fmt::Display for Reconciliation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.verification.holds() {
            self.verification.fmt(f)?;
        }
        self.contradictions
            .iter()
            .try_for_each(|found| writeln!(f, "{found}"))?;
        self.open
            .iter()
            .try_for_each(|found| writeln!(f, "open: {found}"))?;
        writeln!(f, "{}", self.sentence())
    }
}

const SEQUENCE_REUSE: &str = "sequence-reuse";
