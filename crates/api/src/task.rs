//! Handoffs: tasks that were given to us, and that we gave.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Hands work to a peer, within limits.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SendHandoff {
    /// The peer's agent-id.
    pub peer: String,
    /// What is to be done, 1 to 2,000 characters.
    pub goal: String,
    /// Any JSON that the work needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The capabilities that the holder may ask others for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// The highest data tier of what the holder says for the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<u8>,
    /// How often it may be handed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u8>,
    /// When all of it ends (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
    /// Seconds until all of it ends, instead of `not-after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts: Option<u64>,
    /// The task of ours that it is handed on from; a new task when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The data tier of goal and input; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_tier: Option<u8>,
    /// Seconds to wait until the peer has it, 3,600 at most.
    #[serde(default)]
    pub wait: f64,
    /// Whether the peer may be unknown although its id resembles a known one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub introduce: bool,
}

/// Takes a task that was offered.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AcceptTask {
    /// The task.
    pub task: String,
}

/// Does not take a task that was offered.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeclineTask {
    /// The task.
    pub task: String,
    /// Why, in words for the giver.
    pub why: String,
}

/// Says how a task goes.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReportTask {
    /// The task.
    pub task: String,
    /// Where it stands.
    pub state: ReportState,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What came out: any JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

words! {
    /// What a holder reports.
    pub enum ReportState {
        /// At it.
        Working "working",
        /// Done.
        Completed "completed",
        /// It could not be done.
        Failed "failed",
        /// Given back undone.
        Returned "returned",
    }
}

/// Every task, newest first.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ListTasks {}

/// The tasks.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Tasks {
    /// Newest first.
    pub tasks: Vec<Task>,
}

/// All that is known of one task.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShowTask {
    /// The task.
    pub task: String,
}

/// One task in short.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Task {
    /// Its name.
    pub task: String,
    /// Whether we hold it or gave it.
    pub direction: Direction,
    /// Who gave it to us, or to whom we gave it.
    pub peer: String,
    /// Where it stands.
    pub state: TaskState,
    /// What is to be done; absent when it came sealed and stays shut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Why it was declined: the name of a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The holder's newest words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The handoff's message-id.
    pub message_id: String,
    /// The data tier of goal and input.
    pub data_tier: u8,
    /// What its holder may.
    pub authority: Authority,
    /// When the handoff was noted.
    pub began: String,
    /// When it changed last.
    pub changed: String,
    /// The next command of a person.
    pub next: String,
}

words! {
    /// Whether a task is held or was given.
    pub enum Direction {
        /// It was given to us.
        Held "held",
        /// We gave it.
        Given "given",
    }
}

words! {
    /// Where a task stands.
    pub enum TaskState {
        /// Given, and not yet answered.
        Offered "offered",
        /// The holder took it.
        Accepted "accepted",
        /// The holder is at it.
        Working "working",
        /// The holder, or its daemon, did not take it.
        Declined "declined",
        /// Done.
        Completed "completed",
        /// It could not be done.
        Failed "failed",
        /// The holder gave it back undone.
        Returned "returned",
        /// Its time ended, the offer never left, or its other side is trusted no more.
        Expired "expired",
    }
}

/// What the holder of a task may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Authority {
    /// The capabilities that it may ask others for.
    pub capabilities: Vec<String>,
    /// The highest data tier of what it says for the task.
    pub tier: u8,
    /// How often the task may be handed on from there.
    pub depth: u8,
    /// When all of it ends.
    pub not_after: String,
}

/// A task with the chain of those who gave it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct TaskWithChain {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// From the first giver on.
    pub chain: Vec<Step>,
}

/// A task with its chain, and what we handed on of it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ShownTask {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// From the first giver on.
    pub chain: Vec<Step>,
    /// What we handed on of it.
    pub given_on: Vec<TaskWithChain>,
}

/// A task as it stands after our word, and the message that says it to the giver.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct DecidedTask {
    /// The task.
    #[serde(flatten)]
    pub task: ShownTask,
    /// Our message about it.
    pub sent: String,
}

/// One giver and one holder in the chain of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Step {
    /// Who gave it.
    pub from: String,
    /// The giver's person.
    pub principal: String,
    /// Who got it.
    pub to: String,
    /// What the holder may.
    pub authority: Authority,
    /// In plain words, what this holder may no longer do.
    pub narrowed: Vec<String>,
    /// When the mandate was signed.
    pub issued_at: String,
    /// With which key.
    pub key_id: String,
    /// The words of the giver's root key.
    pub fingerprint: String,
    /// The hash of the mandate.
    pub hash: String,
}

quiet!(
    SendHandoff,
    AcceptTask,
    DeclineTask,
    ReportTask,
    ListTasks,
    Tasks,
    ShowTask,
    Task,
    TaskWithChain,
    ShownTask,
    DecidedTask
);
