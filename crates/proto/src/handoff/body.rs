//! The bodies of a handoff, of its answer and of its reports, as one function of a JSON value each:
//! they may come sealed, and are then known only at the end of check V12.

use signet_json::{Map, Value};

use super::{Chain, LONGEST_NOTE, TaskId, TaskState};
use crate::envelope::Method;
use crate::reject::Reason;
use crate::schema;

/// The body of `agent.handoff`.
#[derive(Clone, Debug, PartialEq)]
pub struct Offering {
    /// What is to be done, for an agent or a person: at most 2,000 characters.
    pub goal: String,
    /// Any JSON that the work needs.
    pub input: Option<Value>,
    /// From whoever began the task to its next holder.
    pub chain: Chain,
}

impl Offering {
    /// Reads the body of `agent.handoff`. The chain is not yet judged.
    ///
    /// # Errors
    /// `mandate-invalid` when it does not fit schemas/handoff.schema.json, or names another task than
    /// its mandates do.
    pub fn parse(body: &Value) -> Result<Self, Reason> {
        if !schema::fits(Method::Handoff, body) {
            return Err(Reason::MandateInvalid);
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let chain = Chain::read(body.get("chain").unwrap_or(&Value::Null))?;
        let task = text("task").and_then(|task| task.parse::<TaskId>().ok());
        if task != Some(chain.task()) {
            return Err(Reason::MandateInvalid);
        }
        Ok(Self {
            goal: text("goal").unwrap_or_default().to_owned(),
            input: body.get("input").cloned(),
            chain,
        })
    }

    /// The body as it is sent.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("task".into(), self.chain.task().to_string().into());
        members.insert("goal".into(), self.goal.as_str().into());
        if let Some(input) = &self.input {
            members.insert("input".into(), input.clone());
        }
        members.insert("chain".into(), self.chain.to_value());
        Value::Object(members)
    }
}

/// The body of the answer that takes a task.
pub fn accepted_body(task: TaskId) -> Value {
    let mut members = Map::new();
    members.insert("task".into(), task.to_string().into());
    members.insert("decision".into(), "accepted".into());
    Value::Object(members)
}

/// Whether an answer takes the task.
pub fn is_acceptance(body: &Value, task: TaskId) -> bool {
    // Compare the whole body: the protocol knows one body that takes a task. A success with any other body, such as one more
    // member, is refused (`task-unknown`), and the offer stays open.
    *body == accepted_body(task)
}

/// The body of a notification of the capability `signet.task`: how a task goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Which.
    pub task: TaskId,
    /// Where it is now.
    pub state: TaskState,
    /// For people, at most 500 characters.
    pub note: Option<String>,
    /// Any JSON.
    pub result: Option<Value>,
}

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// `task-unknown` when it does not fit schemas/task.schema.json.
    pub fn parse(body: &Value) -> Result<Self, Reason> {
        Self::read(body).ok_or(Reason::TaskUnknown)
    }

    /// The body as it is sent.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("task".into(), self.task.to_string().into());
        members.insert("state".into(), self.state.as_str().into());
        if let Some(note) = &self.note {
            members.insert("note".into(), note.as_str().into());
        }
        if let Some(result) = &self.result {
            members.insert("result".into(), result.clone());
        }
        Value::Object(members)
    }

    fn read(body: &Value) -> Option<Self> {
        let members = body.as_object()?;
        let known = |name: &String| ["task", "state", "note", "result"].contains(&name.as_str());
        let text = |name: &str| members.get(name).map(|member| member.as_str());
        let note = match text("note") {
            Some(note) => Some(note.filter(|note| note.chars().count() <= LONGEST_NOTE)?),
            None => None,
        };
        let state: TaskState = text("state")??.parse().ok()?;
        (members.keys().all(known) && state.is_report()).then_some(Self {
            task: text("task")??.parse().ok()?,
            state,
            note: note.map(str::to_owned),
            result: members.get("result").cloned(),
        })
    }
}
