//! One call of A2A: what it is asked with, and what comes back.
//!
//! The methods are here; what several share is in [`A2aDoor`].

mod begin;
mod list;
mod pushes;

use serde_json::{Map, Value, json};
use signet_api::{A2A_EXTENSION, Offer};

use super::card;
use super::door::A2aDoor;
use super::fault::{A2aError, A2aErrorKind};
use super::store::Owner;
use super::task::Change;
use super::words::method::{A2aMethod, A2aVersion};
use super::words::model::A2aTask;
use super::words::read::Fields;
use super::words::v03;
use crate::scope::Caller;

/// One call, read and admitted.
pub(crate) struct Asking<'a> {
    pub(crate) room: &'a std::sync::Arc<A2aDoor>,
    pub(crate) caller: &'a Caller,
    /// The agent behind the address of the call.
    pub(crate) peer: String,
    /// What that agent offers.
    pub(crate) offers: Vec<Offer>,
    /// The address by which the listener was called.
    pub(crate) base: String,
    pub(crate) version: A2aVersion,
    pub(crate) params: Map<String, Value>,
    /// The extensions that the client activates, of those that are known here.
    pub(crate) extensions: Vec<String>,
    /// Up to which event a client that comes again has seen.
    pub(crate) last_event: Option<u64>,
}

/// What a call comes to.
pub(crate) enum CallOutcome {
    Result(Value),
    /// Events of the task, from that one on.
    Events(Box<EventRange>),
}

impl CallOutcome {
    fn events(events: EventRange) -> Self {
        Self::Events(Box::new(events))
    }
}

/// Which events a stream has.
pub(crate) struct EventRange {
    pub(crate) task: String,
    /// The number of the last one that is known.
    pub(crate) after: u64,
    /// What is shown first: the task as it is then.
    pub(crate) first: Option<A2aTask>,
    /// Whether the stream ends where the task waits for its client.
    pub(crate) ends_at_interrupts: bool,
}

impl Asking<'_> {
    /// Does it.
    ///
    /// # Errors
    /// Every error of A2A.
    pub(crate) async fn answer(self, method: A2aMethod) -> Result<CallOutcome, A2aError> {
        let result = match method {
            A2aMethod::Send => self.send().await?,
            A2aMethod::Stream => return self.stream().await.map(CallOutcome::events),
            A2aMethod::Subscribe => return self.subscribe().await.map(CallOutcome::events),
            A2aMethod::Get => self.get().await?,
            A2aMethod::List => self.list().await?,
            A2aMethod::Cancel => self.cancel().await?,
            A2aMethod::SetPush => self.set_push().await?,
            A2aMethod::GetPush => self.get_push().await?,
            A2aMethod::ListPush => self.list_push().await?,
            A2aMethod::DeletePush => self.delete_push().await?,
            A2aMethod::ExtendedCard => {
                card::extended(self.room, self.caller, &self.peer, &self.base, self.version).await?
            }
        };
        Ok(CallOutcome::Result(result))
    }

    async fn send(self) -> Result<Value, A2aError> {
        let (blocks, history) = self.configuration()?;
        let begun = self.begin().await?;
        if blocks {
            self.room.wait(&begun.task).await?;
        }
        let (record, _) = self
            .room
            .task(self.caller, self.owner(), begun.task)
            .await?;
        let message = record
            .direct()
            .filter(|_| blocks && self.room.section().direct);
        if let Some(message) = message.filter(|_| !self.wants_pushes()) {
            return Ok(match self.version {
                A2aVersion::V1 => json!({ "message": message }),
                A2aVersion::V03 => v03::message(&message),
            });
        }
        let task = record.task.with_history(history);
        Ok(match self.version {
            A2aVersion::V1 => json!({ "task": task }),
            A2aVersion::V03 => v03::task(&task),
        })
    }

    async fn stream(self) -> Result<EventRange, A2aError> {
        let (_, history) = self.configuration()?;
        let begun = self.begin().await?;
        let (record, seq) = self
            .room
            .task(self.caller, self.owner(), begun.task.clone())
            .await?;
        // A client that repeats the message with the number of its last event already has the task: send only
        // the events after that number.
        let seen = self
            .last_event
            .filter(|last| begun.call.is_none() && *last <= seq);
        Ok(EventRange {
            task: begun.task,
            after: seen.unwrap_or(seq),
            first: seen.is_none().then(|| record.task.with_history(history)),
            ends_at_interrupts: true,
        })
    }

    /// Whether the call waits for the end of its task, and how much of the history it wants.
    fn configuration(&self) -> Result<(bool, Option<usize>), A2aError> {
        let Some(fields) = Fields::root(&self.params).object("configuration")? else {
            return Ok((true, None));
        };
        let blocks = match self.version {
            A2aVersion::V1 => !fields.flag("returnImmediately")?.unwrap_or(false),
            A2aVersion::V03 => fields.flag("blocking")?.unwrap_or(true),
        };
        Ok((blocks, fields.count("historyLength")?))
    }

    async fn subscribe(self) -> Result<EventRange, A2aError> {
        let id = Fields::root(&self.params).needed("id")?;
        let (record, seq) = self
            .room
            .task(self.caller, self.owner(), id.clone())
            .await?;
        let seen = self.last_event.filter(|last| *last <= seq);
        // Nothing more comes of a task that is over: so refuse to follow it, unless this client has missed events, which it
        // still gets.
        if record.task.status.state.is_terminal() && seen.is_none_or(|last| last == seq) {
            let text = "Unsupported operation: the task is over, and nothing more will come of it";
            return Err(A2aError::new(A2aErrorKind::Unsupported, text).with("taskId", id));
        }
        Ok(EventRange {
            task: id,
            after: seen.unwrap_or(seq),
            first: seen.is_none().then_some(record.task),
            ends_at_interrupts: self.version == A2aVersion::V03,
        })
    }

    fn owner(&self) -> Owner {
        Owner {
            caller: self.caller.name.as_ref().to_owned(),
            peer: self.peer.clone(),
            tier: self.caller.scope.tier,
        }
    }

    async fn get(self) -> Result<Value, A2aError> {
        let fields = Fields::root(&self.params);
        let id = fields.needed("id")?;
        let history = fields.count("historyLength")?;
        let (record, _) = self.room.task(self.caller, self.owner(), id).await?;
        Ok(self.written(&record.task.with_history(history)))
    }

    async fn cancel(self) -> Result<Value, A2aError> {
        if !self.caller.scope.may_send() {
            return Err(not_allowed("this token may only look"));
        }
        let id = Fields::root(&self.params).needed("id")?;
        let (record, _) = self.room.store.owned(self.owner(), id.clone()).await?;
        if record.task.status.state.is_terminal() {
            let text = "Task cannot be canceled: it is over";
            return Err(A2aError::new(A2aErrorKind::NotCancelable, text).with("taskId", id));
        }
        let canceled = self.room.changed(id.clone(), Change::Canceled).await;
        canceled.map_err(super::door::of_daemon)?;
        let (record, _) = self.room.task(self.caller, self.owner(), id).await?;
        Ok(self.written(&record.task))
    }

    fn written(&self, task: &A2aTask) -> Value {
        match self.version {
            A2aVersion::V1 => json!(task),
            A2aVersion::V03 => v03::task(task),
        }
    }
}

/// That the client names our extension, where the configuration asks for it.
pub(crate) fn admit_extensions(room: &A2aDoor, named: &[String]) -> Result<(), A2aError> {
    let is_named = named.iter().any(|name| name == A2A_EXTENSION);
    match room.section().require_extension && !is_named {
        true => Err(A2aError::new(
            A2aErrorKind::ExtensionRequired,
            format!("Extension support required: name {A2A_EXTENSION} in A2A-Extensions"),
        )
        .with("extension", A2A_EXTENSION)),
        false => Ok(()),
    }
}

fn not_allowed(why: &str) -> A2aError {
    A2aError::new(
        A2aErrorKind::Unsupported,
        format!(
            "Unsupported operation: {why}; the person makes another one with signet token make"
        ),
    )
}
