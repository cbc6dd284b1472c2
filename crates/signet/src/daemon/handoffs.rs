//! Handoffs on the control socket: `handoff.send`, `accept`, `decline`, `report`, `list` and `show`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use signet_proto::entry::Direction;
use signet_proto::handoff::{Limits, Report, TaskId};
use signet_proto::ids::MessageId;
use signet_proto::node::{Handing, LocalError, Outcome, Sending};
use signet_proto::time::Timestamp;

use crate::control::{ApiError, Reply};
use crate::effects::Deed;
use crate::render::task;

use super::heart::Heart;
use super::methods::refused;
use super::params::{named, parse, parse_wait};
use super::sending::Asked;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SendParams {
    peer: String,
    goal: String,
    input: Option<Value>,
    capabilities: Option<Vec<String>>,
    tier: Option<u8>,
    depth: Option<u8>,
    not_after: Option<String>,
    /// Seconds that the authority lasts, instead of `not-after`.
    lasts: Option<u64>,
    /// The task that it is handed on from.
    under: Option<String>,
    summary: Option<String>,
    data_tier: Option<u8>,
    /// Seconds to wait for what becomes of it.
    #[serde(default)]
    wait: f64,
    /// Whether the peer may be unknown although its id resembles a known one.
    #[serde(default)]
    introduce: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct TaskParams {
    task: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct DeclineParams {
    task: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ReportParams {
    task: String,
    state: String,
    note: Option<String>,
    result: Option<Value>,
}

impl Heart {
    /// Accepts, declines or reports, and answers when that is durable.
    pub(super) async fn decide_task(&mut self, method: &str, params: Value, reply: Reply) {
        let at = self.at();
        let done = match method {
            "handoff.accept" => self.accept_task(params),
            "handoff.decline" => self.decline_task(params),
            _ => self.report_task(params),
        };
        match done {
            Ok((id, message_id, outcome)) => {
                let mut value = task::whole(self.node.tasks(), id, at.now).unwrap_or_default();
                if let Some(members) = value.as_object_mut() {
                    members.insert("sent".into(), message_id.to_string().into());
                }
                let answer = vec![Deed::Answer(reply, value)];
                self.write(at.now, vec![outcome], answer).await;
            }
            Err(error) => self.refuse(reply, error).await,
        }
    }

    fn accept_task(&mut self, params: Value) -> Result<Decided, ApiError> {
        let id = named::<TaskId>("task", &parse::<TaskParams>(params)?.task)?;
        let at = self.at();
        let (sent, outcome) = self.node.handle_accept(at, id).map_err(refused)?;
        Ok((id, sent, outcome))
    }

    fn decline_task(&mut self, params: Value) -> Result<Decided, ApiError> {
        let params = parse::<DeclineParams>(params)?;
        let id = named::<TaskId>("task", &params.task)?;
        let at = self.at();
        let declined = self.node.handle_decline(at, id, params.why);
        let (sent, outcome) = declined.map_err(refused)?;
        Ok((id, sent, outcome))
    }

    fn report_task(&mut self, params: Value) -> Result<Decided, ApiError> {
        let params = parse::<ReportParams>(params)?;
        let report = Report {
            task: named("task", &params.task)?,
            state: named("state", &params.state)?,
            note: params.note,
            result: params.result,
        };
        let (id, at) = (report.task, self.at());
        let (sent, outcome) = self.node.handle_report(at, report).map_err(refused)?;
        Ok((id, sent, outcome))
    }

    /// The task that a message of ours gave, if it gave one.
    pub(super) fn task_of(&self, offer: MessageId) -> Option<TaskId> {
        let mut tasks = self.node.tasks().iter();
        let given = tasks.find(|task| task.offer == offer && task.direction == Direction::Out);
        given.map(|task| task.id())
    }

    pub(super) fn tasks(&self) -> Value {
        let now = self.at().now;
        let mut tasks: Vec<_> = self.node.tasks().iter().collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.changed));
        let shown = tasks.into_iter().map(|task| task::brief(task, now));
        json!({ "tasks": shown.collect::<Vec<_>>() })
    }

    pub(super) fn task(&self, params: Value) -> Result<Value, ApiError> {
        let id = named::<TaskId>("task", &parse::<TaskParams>(params)?.task)?;
        let whole = task::whole(self.node.tasks(), id, self.at().now);
        whole.ok_or_else(|| refused(LocalError::TaskUnknown(id)))
    }
}

/// The task, our message about it, and what came of it.
type Decided = (TaskId, MessageId, Outcome);

pub(super) fn parse_handoff(params: Value, now: Timestamp) -> Result<Asked, ApiError> {
    let params = parse::<SendParams>(params)?;
    let capabilities = params.capabilities.as_ref().map(|names| {
        let names = names.iter().map(|name| named("capabilities", name));
        names.collect::<Result<_, ApiError>>()
    });
    let until = match (&params.not_after, params.lasts) {
        (Some(_), Some(_)) => return Err(ApiError::invalid_params("give not-after or lasts")),
        (Some(time), None) => Some(named("not-after", time)?),
        (None, lasts) => lasts.map(|secs| now.saturating_add(Duration::from_secs(secs))),
    };
    let parent = params.under.as_deref().map(|id| named("under", id));
    let handing = Handing {
        goal: params.goal,
        input: params.input,
        limits: Limits {
            capabilities: capabilities.transpose()?,
            tier: params.tier,
            depth: params.depth,
            not_after: until,
        },
        parent: parent.transpose()?,
        summary: params.summary,
        data_tier: params.data_tier,
    };
    Ok(Asked {
        peer: named("peer", &params.peer)?,
        sending: Sending::Handoff(Box::new(handing)),
        key: None,
        wait: parse_wait(params.wait)?,
        introduce: params.introduce,
        mailbox_after: None,
    })
}
