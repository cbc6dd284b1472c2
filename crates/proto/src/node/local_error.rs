//! Why our own side may not have what it asks for.

use crate::handoff::{Overstep, TaskId, TaskState};
use crate::headers::{CapabilityName, Tier};
use crate::ids::{AgentId, MessageId};
use crate::reject::{CAPABILITY_NEEDED, Reason};
use crate::time::Timestamp;
use crate::trust::BindError;

use super::OfferFault;

/// Our own side asked for something that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// No such peer.
    #[error("no peer {0}; ask its person for `signet peer export`, then `signet peer add FILE`")]
    PeerUnknown(AgentId),
    /// Our person took back the trust, or the peer's root its certificate.
    #[error(
        "{0} is trusted no more: it was withdrawn here, or revoked by its person; `signet trust list` says which, and only \
         a person can change it"
    )]
    PeerRevoked(AgentId),
    /// Too many strangers have mail waiting.
    #[error("mail for too many strangers waits already; approve or add one of them first")]
    TooManyStrangers,
    /// Our person took our own certificate back.
    #[error(
        "this agent's certificate was revoked by its person; `signet key rotate signing` makes a new one"
    )]
    Revoked,
    /// No stranger of that name waits.
    #[error("no agent {0} waits for a decision; `signet trust pending` lists who does")]
    StrangerUnknown(AgentId),
    /// Strangers with different root keys claim the same name.
    #[error(
        "more than one root key claims {0}; say which with --root, as `signet trust pending` shows them"
    )]
    StrangerAmbiguous(AgentId),
    /// The binding contradicts one that stands.
    #[error(transparent)]
    Bind(BindError),
    /// No draft of that hash waits for approval.
    #[error("no such draft waits for approval; `signet drafts` lists them as they are now")]
    DraftUnknown,
    /// No draft of that name waits.
    #[error("no draft {0} waits; it has left, or ended: `signet status {0}` says where it is")]
    DraftGone(MessageId),
    /// Too much waits for this peer.
    #[error("too many messages wait for {0}; wait until it is reachable")]
    OutboxFull(AgentId),
    /// Too many requests of ours are open.
    #[error("too many requests wait for answers; wait for some, or send notifications")]
    TooManyRequests,
    /// The message itself is at fault.
    #[error("{}", .0.text())]
    Message(Reason),
    /// Nothing of that name waits in the inbox.
    #[error("no request {0} waits in the inbox; `signet inbox` lists what does")]
    NotWaiting(MessageId),
    /// Nothing of that name is in the quarantine.
    #[error("no message {0} is in the quarantine; `signet quarantine list` shows what is")]
    NotQuarantined(MessageId),
    /// Our answer to it waits already.
    #[error("an answer to {0} waits already; `signet drafts` says for what")]
    AnswerWaits(MessageId),
    /// Two peers used the same message-id.
    #[error("{0} names messages of more than one peer; say which with --from")]
    Ambiguous(MessageId),
    /// The call that is to be continued came long ago, or never.
    #[error(
        "no call {0} came within three days; name one that `signet inbox` or `signet audit show` lists"
    )]
    NotRemembered(MessageId),
    /// The recipient would refuse it.
    #[error("{peer}: {what}; `signet policy check {peer}` says what to do")]
    NotAllowed {
        /// Who.
        peer: AgentId,
        /// Why.
        reason: Reason,
        /// What is missing.
        what: String,
    },
    /// The recipient offers several capabilities, and the request names none.
    #[error("{0} offers {1}, and the request names none of them; name the one that is meant")]
    CapabilityNeeded(AgentId, String),
    /// More than the recipient granted.
    #[error(
        "{peer} takes {per_minute} message{} a minute, and that is used up; wait, and see whether your agent talks in a loop",
        ending(.per_minute)
    )]
    OverBudget {
        /// Who.
        peer: AgentId,
        /// What it granted.
        per_minute: u32,
    },
    /// It is not a request.
    #[error("{0} wants no answer; only requests do")]
    NoRequest(MessageId),
    /// It is a handoff.
    #[error("{0} is a handoff; `signet handoff accept` or `signet handoff decline` answers it")]
    IsHandoff(MessageId),
    /// No such task was given to us.
    #[error("no task {0} was given to this agent; `signet handoff list` shows those that were")]
    TaskUnknown(TaskId),
    /// The task cannot go there from where it stands.
    #[error("task {0} is {1}; `signet handoff show {0}` says what can follow")]
    TaskStands(TaskId, TaskState),
    /// It goes beyond what the task's giver gave.
    #[error("task {0} does not allow it: {1}; ask its giver for more, or stay within it")]
    BeyondTask(TaskId, Overstep),
    /// The peer is already a giver in the chain.
    #[error("{0} had this task before; hand it to somebody else, or report it returned")]
    HadItBefore(AgentId),
    /// A part of the handoff is out of bounds.
    #[error("the handoff does not fit: {0}")]
    HandoffUnfit(&'static str),
    /// Too many tasks of ours are open with this peer.
    #[error("too many tasks of {0} are open; wait until some are completed")]
    TooManyTasks(AgentId),
    /// What has to be signed at once would be signed outside the dates of our certificate.
    #[error(
        "the clock says {now}, and this agent's certificate lasts from {from} to {to}: nothing is signed outside of it; `signet status` says what to do"
    )]
    WrongClock {
        /// What the clock says.
        now: Timestamp,
        /// When the certificate begins.
        from: Timestamp,
        /// When it ends.
        to: Timestamp,
    },
    /// A caller's key is not of its form.
    #[error("a key has 1 to 128 of the characters A-Z a-z 0-9 . _ : -")]
    KeyUnfit,
    /// A caller's key stands for another content.
    #[error("the key stands for {0}, which says something else; use a key once, for one message")]
    KeyReused(MessageId),
    /// No such lease is held.
    #[error(
        "the lease has ended, or never was: somebody else may have the message now; receive again"
    )]
    LeaseEnded,
    /// Somebody holds the message.
    #[error("{0} is handed out; wait until its lease ends")]
    Leased(MessageId),
    /// A program's offer may not be made.
    #[error("{0} cannot be offered: {1}")]
    OfferRefused(CapabilityName, OfferFault),
    /// There is no session in which something could be told that is of no use later.
    #[error(
        "there is no session with {0} now, and progress does not wait for one; answer the request, or try again later"
    )]
    NoSession(AgentId),
    /// The session's version is too low for it.
    #[error(
        "the session with {0} is of version 1.0.0, which knows no progress; both sides' certificates have to list 1.1.0, which a renewal adds"
    )]
    VersionInsufficient(AgentId),
    /// Our person approves what leaves in that tier, and it is nothing that could wait for them.
    #[error(
        "what leaves in tier {0} waits for a person's approval, and progress cannot wait; answer the request"
    )]
    ApprovalNeeded(Tier),
    /// `signet.task` is how daemons report.
    #[error("the capability signet.task is for reports; use `signet handoff report`")]
    ReservedForReports,
}

impl LocalError {
    /// Whether it names a rule that our agent would have broken: what a person has to know of. The others
    /// are slips, and want of room.
    pub const fn is_a_refusal(&self) -> bool {
        match self {
            Self::PeerRevoked(_)
            | Self::Revoked
            | Self::NotAllowed { .. }
            | Self::OverBudget { .. }
            | Self::BeyondTask(..)
            | Self::HadItBefore(_)
            | Self::ApprovalNeeded(_)
            | Self::OfferRefused(..)
            | Self::ReservedForReports => true,
            Self::Message(reason) => matches!(reason, Reason::HopsExceeded),
            _ => false,
        }
    }

    /// The stable name, for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PeerUnknown(_) => "peer-unknown",
            Self::PeerRevoked(_) => "peer-revoked",
            Self::Revoked => "certificate-revoked",
            Self::TooManyStrangers => "too-many-strangers",
            Self::StrangerUnknown(_) => "stranger-unknown",
            Self::StrangerAmbiguous(_) => "stranger-ambiguous",
            Self::Bind(error) => error.name(),
            Self::DraftUnknown | Self::DraftGone(_) => "draft-unknown",
            Self::OutboxFull(_) => "outbox-full",
            Self::TooManyRequests => "too-many-requests",
            Self::Message(reason) => reason.name(),
            Self::NotWaiting(_) => "not-waiting",
            Self::NotQuarantined(_) => "not-quarantined",
            Self::AnswerWaits(_) => "answer-waits",
            Self::Ambiguous(_) => "ambiguous",
            Self::NoRequest(_) => "no-request",
            Self::NotRemembered(_) => "not-remembered",
            Self::NotAllowed { reason, .. } => reason.name(),
            Self::OverBudget { .. } => Reason::BudgetExceeded.name(),
            Self::IsHandoff(_) => "is-handoff",
            Self::TaskUnknown(_) | Self::TaskStands(..) => Reason::TaskUnknown.name(),
            Self::BeyondTask(..) => Reason::AuthorityWidened.name(),
            Self::HadItBefore(_) | Self::HandoffUnfit(_) => Reason::MandateInvalid.name(),
            Self::TooManyTasks(_) => "too-many-tasks",
            Self::WrongClock { .. } => "wrong-clock",
            Self::KeyUnfit => "key-unfit",
            Self::KeyReused(_) => "key-reused",
            Self::LeaseEnded => "lease-ended",
            Self::Leased(_) => "leased",
            // Give this refusal a name of its own, because a program may go on after it: the configuration offers the same
            // capability already.
            Self::OfferRefused(_, OfferFault::Configured) => "offer-configured",
            Self::OfferRefused(..) => "offer-refused",
            Self::NoSession(_) => "no-session",
            Self::VersionInsufficient(_) => Reason::VersionInsufficient.name(),
            Self::ApprovalNeeded(_) => "approval-needed",
            Self::ReservedForReports => "capability-reserved",
            Self::CapabilityNeeded(..) => CAPABILITY_NEEDED,
        }
    }
}

/// What a counted word ends with.
fn ending(count: &u32) -> &'static str {
    if *count == 1 { "" } else { "s" }
}
