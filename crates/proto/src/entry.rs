//! What the log remembers: everything `Node` says of its inputs, and can be told
//! again after a restart.
//!
//! An entry knows its own members; sequence, time and chain around them are the audit crate's.
//! Nothing here holds plaintext of tier 3 or 4. The table of kinds is below: what stands in a line, how much rests on
//! it, and what people are shown of it; the schema of lines is made from it.

mod alarm;
mod attempt;
mod derived;
mod draft;
mod handoff;
mod line;
mod members;
mod message;
mod notes;
mod outcome;
#[cfg(test)]
mod schema_tests;
mod standing;
mod verdict;
mod version;

use signet_text::printable;

use crate::certificate::Certificate;
use crate::handoff::TaskId;
use crate::headers::ConversationId;
use crate::ids::{AgentId, MessageId};
use crate::statement::{PauseStatement, Revocation};
use signet_json::{Map, Value};

pub use alarm::{Alarm, AlarmLine, HoleLine};
pub use attempt::{AttemptLine, Tried};
pub use draft::{ClientKey, DraftLine};
pub use handoff::{HandoffLine, Offered, TaskChange};
use line::{Line, LineMembers};
pub use notes::{CauseLine, ClockLine, Flood, LossLine};
pub use outcome::{Did, OutcomeLine};
pub use standing::{ApprovalLine, TrustChange, TrustLine};
pub use verdict::{Direction, Evidence, Ruling, Verdict};
pub use version::LineVersion;

/// How much of unproven input is kept, in bytes.
pub const RAW_KEPT: usize = 1024;

macro_rules! lines {
    ($( $kind:literal $entry:ident($line:ty), $proven:ident, |$said:pat_param| $weight:expr, $paid:expr, $text:literal; )*) => {
        /// One line's worth of memory.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Entry {
            $( #[doc = $text] $entry($line), )*
        }

        impl Entry {
            /// The kinds in the order of the table. Two rows in a row may share one.
            const KINDS: &'static [&'static str] = &[ $( $kind, )* ];

            /// The kind, as the line names it.
            pub fn kind(&self) -> &'static str {
                match self { $( Self::$entry(_) => $kind, )* }
            }

            /// What a start needs of the line, besides its place in the chain, before it may obey it.
            pub fn weight(&self) -> Weight {
                match self { $( Self::$entry($said) => $weight, )* }
            }

            /// Whether the peer whose message brought it about pays for it, out of what it may write into our log.
            pub(crate) fn is_paid_by_peer(&self) -> bool {
                match self { $( Self::$entry($said) => $paid, )* }
            }

            /// What an audit has to prove of the line, if anything, besides its place in the chain.
            pub fn claim(self) -> Option<Claim> {
                match self { $( Self::$entry(said) => claim!($proven $entry said), )* }
            }

            /// As [`Entry::write`], in the members of that version.
            pub fn write_as(&self, version: LineVersion, out: &mut Vec<u8>) {
                let mut line = Line { out, version };
                line.first("kind", self.kind());
                match self { $( Self::$entry(said) => said.write(&mut line), )* }
            }

            /// Reads an entry from the members of a log line. `None` for kinds that are the chain's own.
            ///
            /// # Errors
            /// Names the member at fault.
            pub fn parse(line: Map<String, Value>) -> Result<Option<Self>, EntryError> {
                let members = LineMembers(&line);
                let kind = members.text("kind")?;
                $(
                    if kind == $kind && <$line as LineKind>::is_meant(&members) {
                        return <$line as LineKind>::parse(line).map(|said| Some(Self::$entry(said)));
                    }
                )*
                Ok(None)
            }

            /// What the line is about.
            pub fn about(&self) -> LineSubject {
                match self { $( Self::$entry(said) => said.about(), )* }
            }

            /// What the line says, for a person and in one line: nothing in it can drive a terminal.
            pub fn describe(&self) -> String {
                match self { $( Self::$entry(said) => said.describe(), )* }
            }
        }

        /// The table once more, with the members of each row.
        #[cfg(test)]
        fn shapes() -> Vec<(&'static str, schema_tests::LineShape)> {
            vec![ $( ($kind, <$line as LineKind>::shape()), )* ]
        }
    };
}

// Gives the `Claim` that an audit has to prove for a log line. A kind of line that the table below calls `unproven` has none.
macro_rules! claim {
    (proven $entry:ident $said:ident) => {
        Some(Claim::$entry($said))
    };
    (unproven $entry:ident $said:ident) => {{
        let _ = $said;
        None
    }};
}

// Columns: kind; variant and type; whether an audit proves the line; its `Weight`; whether it counts against the budget of the
// peer that caused it; when it is written. A line's members and its text for people are defined in the file of its type.
lines! {
    "message"  Message(Verdict),       proven,   |verdict| verdict.weight(),  verdict.direction == Direction::In, "A message, in or out, and what was decided about it.";
    "genesis"  Genesis(Certificate),   proven,   |_| Weight::Light,     false,   "The first line of a log: whose it is.";
    "trust"    Trust(TrustLine),       proven,   |_| Weight::Decision,  true,    "A peer's standing changed.";
    "trust"    Revoked(Revocation),    proven,   |_| Weight::Decision,  true,    "A root key took certificates back.";
    "draft"    Draft(DraftLine),       proven,   |_| Weight::Anchored,  false,   "A message of ours waits for a session, or for its person.";
    "approval" Approval(ApprovalLine), proven,   |_| Weight::Decision,  false,   "A person decided about a draft.";
    "pause"    Pause(PauseStatement),  proven,   |_| Weight::Decision,  true,    "Our person lets all their agents pause, or go on.";
    "outcome"  Outcome(OutcomeLine),   proven,   |_| Weight::Anchored,  false,   "What became of an accepted message or a draft.";
    "handoff"  Handoff(HandoffLine),   proven,   |_| Weight::Anchored,  false,   "A task changed.";
    "alarm"    Alarm(AlarmLine),       unproven, |_| Weight::Decision,  false,   "Something is wrong that only a person can judge, or a person has judged it.";
    "attempt"  Attempt(AttemptLine),   unproven, |_| Weight::Anchored,  false,   "Our own agent tried to send something, and our own side refused it.";
    "hole"     Hole(HoleLine),         unproven, |_| Weight::Anchored,  false,   "Messages of a peer's that never came, and that it did not give up.";
    "clock"    Clock(ClockLine),       unproven, |_| Weight::Anchored,  false,   "A peer's clock and ours differ, or our own was put back.";
    "flood"    Flood(Flood),           unproven, |_| Weight::Light,     false,   "Input over a budget, counted instead of written.";
    "gap"      Gap(CauseLine),         unproven, |_| Weight::Light,     false,   "Messages were lost before they could be judged.";
    "rebuilt"  Rebuilt(CauseLine),     unproven, |_| Weight::Light,     false,   "The state beside the log was missing or damaged, and was made again from the log.";
    "loss"     Loss(LossLine),         unproven, |_| Weight::Decision,  false,   "The log went back behind a line that was written, and a person accepted that.";
}

/// What an audit proves of an entry, besides its place in the chain: one for each row of the table that says `proven`.
pub enum Claim {
    /// The message's signature, number and name.
    Message(Verdict),
    /// Whose log it is.
    Genesis(Certificate),
    /// That the certificate is its person's.
    Trust(TrustLine),
    /// That the root key signed it.
    Revoked(Revocation),
    /// That the task's parties are those of its mandates.
    Handoff(HandoffLine),
    /// That nothing that needs approval leaves without it.
    Draft(DraftLine),
    /// That the person signed it.
    Approval(ApprovalLine),
    /// That our person signed it.
    Pause(PauseStatement),
    /// That the draft was not sent after its end.
    Outcome(OutcomeLine),
}

/// What stands in the lines of a row of the table.
trait LineKind: Sized {
    /// Writes the members, in the order in which a line has them.
    fn write(&self, line: &mut Line<'_>);

    /// Reads them.
    fn parse(line: Map<String, Value>) -> Result<Self, EntryError>;

    /// What a line is about.
    fn about(&self) -> LineSubject {
        LineSubject::default()
    }

    /// What it says, for a person and in one line.
    fn describe(&self) -> String;

    /// Tells the row from another one of the same kind.
    fn is_meant(_: &LineMembers<'_>) -> bool {
        true
    }

    /// What the schema says of the members.
    #[cfg(test)]
    fn shape() -> schema_tests::LineShape;
}

/// How much rests on a line that bears no signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Nothing: the line is inert, or bears a signature of its own.
    #[default]
    Light,
    /// The agent's memory: its home has to vouch for the line.
    Anchored,
    /// A person's word: a checkpoint follows at once, too.
    Decision,
}

/// What a line is about, as far as it says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineSubject {
    /// Whom.
    pub peer: Option<AgentId>,
    /// The data tier of the message, as the line has it.
    pub tier: Option<u8>,
    /// The message, and the one that it answers or belongs to.
    pub messages: [Option<MessageId>; 2],
    /// The task.
    pub task: Option<TaskId>,
    /// The conversation; a task is one too.
    pub conversation: Option<ConversationId>,
}

impl LineSubject {
    fn peer(peer: &AgentId) -> Self {
        Self {
            peer: Some(peer.clone()),
            ..Self::default()
        }
    }

    fn message(peer: &AgentId, message: MessageId) -> Self {
        Self {
            messages: [Some(message), None],
            ..Self::peer(peer)
        }
    }
}

/// A line of a log does not say what its kind must.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the line's `{0}` is absent or malformed")]
pub struct EntryError(pub &'static str);

impl Entry {
    /// Every kind.
    pub fn kinds() -> Vec<&'static str> {
        let mut kinds = Self::KINDS.to_vec();
        kinds.dedup();
        kinds
    }

    /// That a peer's standing changed.
    pub const fn trust(change: TrustChange, certificate: Certificate) -> Self {
        Self::Trust(TrustLine {
            change,
            certificate,
        })
    }

    /// The entry of a line of this kind, where `members`, the bytes behind the kind with the brace at the end, are the very
    /// bytes that [`Entry::write_as`] writes for it. Of kinds of which a log has many lines some are read; all others are
    /// `None`.
    ///
    /// The words are taken as they stand, and what they say is written anew to compare it: no two lines are written alike.
    pub fn skim(version: LineVersion, kind: &str, members: &[u8]) -> Option<Self> {
        let members = std::str::from_utf8(members).ok()?;
        match kind {
            "message" => Verdict::skim(version, members).map(Self::Message),
            "outcome" => OutcomeLine::skim(version, members).map(Self::Outcome),
            _ => None,
        }
    }

    /// Writes `"kind":…` and the entry's members, without braces.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_as(LineVersion::CURRENT, out);
    }
}

/// A text that somebody else wrote, in quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text))
}

/// In the place of a summary that only `signet audit open` can show.
const SEALED: &str = "(sealed)";
