//! One call of A2A: what it is asked with, and what comes back.
//!
//! The methods are here; what several share is in [`Room`].

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use signet_api::{A2A_EXTENSION, Kind as Wants, Send};

use super::body::{self, About};
use super::card;
use super::clock::{self, Now};
use super::fault::{Fault, Kind};
use super::model::{Message, PushConfig, State, Status, Task};
use super::read::{self, Fields};
use super::room::Room;
use super::store::{Begin, Begun, Owner, Query, Said};
use super::task::{Change, Record};
use super::v03;
use super::version::{Method, Version};
use crate::context::Caller;
use crate::outgoing::Url;

/// One call, read and admitted.
pub(crate) struct Asking<'a> {
    pub(crate) room: &'a std::sync::Arc<Room>,
    pub(crate) caller: &'a Caller,
    /// The agent behind the address of the call.
    pub(crate) peer: String,
    /// The address by which the listener was called.
    pub(crate) base: String,
    pub(crate) version: Version,
    pub(crate) params: Map<String, Value>,
    /// Up to which event a client that comes again has seen.
    pub(crate) last_event: Option<u64>,
}

/// What a call comes to.
pub(crate) enum Outcome {
    Result(Value),
    /// Events of the task, from that one on.
    Events(Box<Events>),
}

impl Outcome {
    fn events(events: Events) -> Self {
        Self::Events(Box::new(events))
    }
}

/// Which events a stream has.
pub(crate) struct Events {
    pub(crate) task: String,
    /// The number of the last one that is known.
    pub(crate) after: u64,
    /// What is shown first: the task as it is then.
    pub(crate) first: Option<Task>,
    /// Whether the stream ends where the task waits for its client.
    pub(crate) ends_at_interrupts: bool,
}

impl Asking<'_> {
    /// Does it.
    ///
    /// # Errors
    /// Every error of A2A.
    pub(crate) async fn answer(self, method: Method) -> Result<Outcome, Fault> {
        let result = match method {
            Method::Send => self.send().await?,
            Method::Stream => return self.stream().await.map(Outcome::events),
            Method::Subscribe => return self.subscribe().await.map(Outcome::events),
            Method::Get => self.get().await?,
            Method::List => self.list().await?,
            Method::Cancel => self.cancel().await?,
            Method::SetPush => self.set_push().await?,
            Method::GetPush => self.get_push().await?,
            Method::ListPush => self.list_push().await?,
            Method::DeletePush => self.delete_push().await?,
            Method::ExtendedCard => {
                card::extended(self.room, self.caller, &self.peer, &self.base, self.version).await?
            }
        };
        Ok(Outcome::Result(result))
    }

    async fn send(self) -> Result<Value, Fault> {
        let (blocks, history) = self.configuration()?;
        let begun = self.begin().await?;
        if blocks {
            self.room.wait(&begun.task).await?;
        }
        let (record, _) = self.room.task(self.owner(), begun.task).await?;
        let task = record.task.with_history(history);
        Ok(match self.version {
            Version::V1 => json!({ "task": task }),
            Version::V03 => v03::task(&task),
        })
    }

    async fn stream(self) -> Result<Events, Fault> {
        let (_, history) = self.configuration()?;
        let begun = self.begin().await?;
        let (record, seq) = self.room.task(self.owner(), begun.task.clone()).await?;
        // A client that comes again with the same message has seen the task already.
        let seen = self.last_event.filter(|last| !begun.is_new && *last <= seq);
        Ok(Events {
            task: begun.task,
            after: seen.unwrap_or(seq),
            first: seen.is_none().then(|| record.task.with_history(history)),
            ends_at_interrupts: true,
        })
    }

    /// Whether the call waits for the end of its task, and how much of the history it wants.
    fn configuration(&self) -> Result<(bool, Option<usize>), Fault> {
        let Some(fields) = Fields::root(&self.params).object("configuration")? else {
            return Ok((true, None));
        };
        let blocks = match self.version {
            Version::V1 => !fields.flag("returnImmediately")?.unwrap_or(false),
            Version::V03 => fields.flag("blocking")?.unwrap_or(true),
        };
        Ok((blocks, fields.count("historyLength")?))
    }

    async fn subscribe(self) -> Result<Events, Fault> {
        let id = Fields::root(&self.params).needed("id")?;
        let (record, seq) = self.room.task(self.owner(), id.clone()).await?;
        let seen = self.last_event.filter(|last| *last <= seq);
        // What was missed is told also when the task is over by now.
        if record.task.status.state.is_terminal() && seen.is_none_or(|last| last == seq) {
            let text = "Unsupported operation: the task is over, and nothing more will come of it";
            return Err(Fault::new(Kind::Unsupported, text).with("taskId", id));
        }
        Ok(Events {
            task: id,
            after: seen.unwrap_or(seq),
            first: seen.is_none().then_some(record.task),
            ends_at_interrupts: self.version == Version::V03,
        })
    }

    /// Takes a message in, with the receiver of pushes that it names.
    async fn begin(&self) -> Result<Begun, Fault> {
        if !self.caller.scope.may_send() {
            return Err(not_allowed("this token may only look"));
        }
        let root = Fields::root(&self.params);
        let fields = root.object("message")?;
        let fields = fields.ok_or_else(|| root.fault("message", "is missing"))?;
        let message = read::message(&fields, || Now::read().id())?;
        let push = self.push_of_configuration()?;
        let about = About::read(&[
            message.metadata.as_ref(),
            self.params.get("metadata").and_then(Value::as_object),
        ])?;
        let tier = about.tier.unwrap_or(1);
        if !self.caller.scope.admits_tier(tier) {
            return Err(not_allowed("this token does not reach that data tier"));
        }
        let body = body::of(&message)?;
        let capability = self.capability(about.capability.clone()).await?;
        let key = self.key(&message, &about);
        let (said, context) = self.said(message, tier).await?;
        let request = Send {
            capability,
            conversation_id: Some(self.conversation(&context)),
            data_tier: Some(tier),
            life: about.life,
            key: Some(format!("a2a-{key}")),
            ..Send::new(self.peer.clone(), Wants::Request, body)
        };
        let begun = self.room.begin(Begin { key, request, said }).await?;
        if let Some(push) = push {
            let push = PushConfig {
                task_id: begun.task.clone(),
                ..push
            };
            self.put_push(push).await?;
        }
        Ok(begun)
    }

    /// Where the message goes: into the task that it names, or one of its own; and the context of that.
    async fn said(&self, mut message: Message, tier: u8) -> Result<(Said, String), Fault> {
        let Owner { caller, peer } = self.owner();
        if let Some(task) = message.task_id.clone() {
            let (record, _) = self.room.store.task(self.owner(), task.clone()).await?;
            let context = message.context_id.clone();
            let known = record.task.context_id;
            message.context_id = Some(known.clone());
            let said = Said::Further {
                task,
                caller,
                peer,
                context,
                tier,
                message: Box::new(message),
            };
            return Ok((said, known));
        }
        let now = Now::read();
        let context = message.context_id.clone().unwrap_or_else(|| now.id());
        let id = now.id();
        message.context_id = Some(context.clone());
        message.task_id = Some(id.clone());
        let task = Task {
            id,
            context_id: context.clone(),
            status: Status {
                state: State::Submitted,
                message: None,
                timestamp: now.text(),
            },
            artifacts: Vec::new(),
            history: vec![message],
            metadata: None,
        };
        let keeps = self.room.section().keeps(&peer);
        let mut record = Record::new(task, &caller, &peer, self.caller.scope.tier, keeps);
        record.admit(tier);
        Ok((Said::New(Box::new(record)), context))
    }

    /// What is asked for: what the client names, else what the configuration does, else the only thing that is offered.
    async fn capability(&self, named: Option<String>) -> Result<Option<String>, Fault> {
        let configured = self.room.section().capabilities.get(&self.peer);
        if let Some(name) = named.or_else(|| configured.cloned()) {
            return Ok(Some(name));
        }
        let offers = self.room.offers(&self.peer).await?;
        Ok(match offers.as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        })
    }

    /// The name of this very call: clients use a messageId again, with other content and in other tasks.
    fn key(&self, message: &Message, about: &About) -> String {
        let content = json!([
            self.caller.name.as_ref(),
            self.peer,
            message,
            about.capability,
            about.tier,
        ]);
        hex(&Sha256::digest(content.to_string()), 32)
    }

    /// The conversation of a context: nobody gets into another caller's by its name.
    fn conversation(&self, context: &str) -> String {
        let content = json!([self.caller.name.as_ref(), self.peer, context]);
        format!("a2a-{}", hex(&Sha256::digest(content.to_string()), 32))
    }

    fn owner(&self) -> Owner {
        Owner {
            caller: self.caller.name.as_ref().to_owned(),
            peer: self.peer.clone(),
        }
    }

    async fn get(self) -> Result<Value, Fault> {
        let fields = Fields::root(&self.params);
        let id = fields.needed("id")?;
        let history = fields.count("historyLength")?;
        let (record, _) = self.room.task(self.owner(), id).await?;
        Ok(self.written(&record.task.with_history(history)))
    }

    async fn cancel(self) -> Result<Value, Fault> {
        if !self.caller.scope.may_send() {
            return Err(not_allowed("this token may only look"));
        }
        let id = Fields::root(&self.params).needed("id")?;
        let (record, _) = self.room.store.task(self.owner(), id.clone()).await?;
        if record.task.status.state.is_terminal() {
            let text = "Task cannot be canceled: it is over";
            return Err(Fault::new(Kind::NotCancelable, text).with("taskId", id));
        }
        let canceled = self.room.changed(id.clone(), Change::Canceled).await;
        canceled.map_err(super::room::of_daemon)?;
        let (record, _) = self.room.task(self.owner(), id).await?;
        Ok(self.written(&record.task))
    }

    async fn list(self) -> Result<Value, Fault> {
        let fields = Fields::root(&self.params);
        let size = match fields.count("pageSize")? {
            None => PAGE,
            Some(size @ 1..=PAGE_MAX) => size,
            Some(_) => return Err(fields.fault("pageSize", "is none of 1 to 100")),
        };
        let state = match fields.member("status") {
            None => None,
            // The enum's zero, which stands for none.
            Some(value) if *value == "TASK_STATE_UNSPECIFIED" || *value == 0 || *value == "" => {
                None
            }
            Some(value) => Some(
                State::read(value)
                    .ok_or_else(|| fields.fault("status", "is no state of a task"))?,
            ),
        };
        let since =
            match fields.text("statusTimestampAfter")? {
                None => None,
                Some(text) => Some(clock::parse(&text).ok_or_else(|| {
                    fields.fault("statusTimestampAfter", "is no time of RFC 3339")
                })?),
            };
        let after = match fields.text("pageToken")? {
            None => None,
            Some(token) => Some(
                cursor(&token)
                    .ok_or_else(|| fields.fault("pageToken", "is none that this list gave"))?,
            ),
        };
        let history = fields.count("historyLength")?;
        let with_artifacts = fields.flag("includeArtifacts")?.unwrap_or(false);
        let query = Query {
            owner: self.owner(),
            context: fields.text("contextId")?,
            state,
            since,
            after,
            limit: size,
        };
        let page = self.room.store.list(query).await?;
        let tasks = page.tasks.into_iter().map(|mut task| {
            if !with_artifacts {
                task.artifacts.clear();
            }
            task.with_history(history)
        });
        let next = page
            .next
            .map_or_else(String::new, |(time, id)| format!("{time}.{id}"));
        Ok(json!({
            "tasks": tasks.collect::<Vec<_>>(),
            "nextPageToken": next,
            "pageSize": size,
            "totalSize": page.total,
        }))
    }

    async fn set_push(self) -> Result<Value, Fault> {
        let fields = Fields::root(&self.params);
        let task = fields.needed("taskId")?;
        let config = match (self.version, fields.object("pushNotificationConfig")?) {
            (_, Some(inner)) => read::push(&inner, Some(task), UNNAMED)?,
            (Version::V1, None) => read::push(&fields, Some(task), &Now::read().id())?,
            (Version::V03, None) => {
                return Err(fields.fault("pushNotificationConfig", "is missing"));
            }
        };
        let written = self.written_push(&config);
        self.put_push(config).await?;
        Ok(written)
    }

    async fn put_push(&self, config: PushConfig) -> Result<(), Fault> {
        self.admit_push()?;
        let is_http = Url::parse(&config.url)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !is_http || config.url.len() > URL_MAX {
            return Err(Fault::params("url", "is no address of http or https"));
        }
        let task = config.task_id.clone();
        let is_v1 = self.version == Version::V1;
        self.room
            .store
            .put_push(self.owner(), config, is_v1)
            .await?;
        self.room.push(&task);
        Ok(())
    }

    async fn get_push(self) -> Result<Value, Fault> {
        self.admit_push()?;
        let fields = Fields::root(&self.params);
        let (task, id) = match self.version {
            Version::V1 => (fields.needed("taskId")?, Some(fields.needed("id")?)),
            Version::V03 => (
                fields.needed("id")?,
                fields.text("pushNotificationConfigId")?,
            ),
        };
        let all = self.room.store.pushes(self.owner(), task.clone()).await?;
        let mut all = all.into_iter();
        let found = match id {
            Some(id) => all.find(|config| config.id == id),
            None => all.next(),
        };
        let found = found.ok_or_else(|| {
            let text = "Task not found: it has no push configuration of that id";
            Fault::new(Kind::TaskNotFound, text).with("taskId", task)
        })?;
        Ok(self.written_push(&found))
    }

    async fn list_push(self) -> Result<Value, Fault> {
        self.admit_push()?;
        let fields = Fields::root(&self.params);
        let task = match self.version {
            Version::V1 => fields.needed("taskId")?,
            Version::V03 => fields.needed("id")?,
        };
        let all = self.room.store.pushes(self.owner(), task).await?;
        let all: Vec<Value> = all.iter().map(|config| self.written_push(config)).collect();
        Ok(match self.version {
            Version::V1 => json!({ "configs": all, "nextPageToken": "" }),
            Version::V03 => Value::Array(all),
        })
    }

    async fn delete_push(self) -> Result<Value, Fault> {
        self.admit_push()?;
        let fields = Fields::root(&self.params);
        let (task, id) = match self.version {
            Version::V1 => (fields.needed("taskId")?, fields.needed("id")?),
            Version::V03 => (
                fields.needed("id")?,
                fields.needed("pushNotificationConfigId")?,
            ),
        };
        self.room.store.delete_push(self.owner(), task, id).await?;
        Ok(match self.version {
            Version::V1 => json!({}),
            Version::V03 => Value::Null,
        })
    }

    fn push_of_configuration(&self) -> Result<Option<PushConfig>, Fault> {
        let Some(configuration) = Fields::root(&self.params).object("configuration")? else {
            return Ok(None);
        };
        let given = configuration
            .object("taskPushNotificationConfig")?
            .or(configuration.object("pushNotificationConfig")?);
        let Some(given) = given else {
            return Ok(None);
        };
        self.admit_push()?;
        read::push(&given, Some(String::new()), UNNAMED).map(Some)
    }

    fn admit_push(&self) -> Result<(), Fault> {
        match self.room.section().push {
            true => Ok(()),
            false => Err(Fault::new(
                Kind::PushNotSupported,
                "Push notification not supported: [a2a] push of gateway.toml is false",
            )),
        }
    }

    fn written(&self, task: &Task) -> Value {
        match self.version {
            Version::V1 => json!(task),
            Version::V03 => v03::task(task),
        }
    }

    fn written_push(&self, config: &PushConfig) -> Value {
        match self.version {
            Version::V1 => json!(config),
            Version::V03 => v03::push(config),
        }
    }
}

/// That the client names our extension, where the configuration asks for it.
pub(crate) fn admit_extensions(room: &Room, named: &[String]) -> Result<(), Fault> {
    let is_named = named.iter().any(|name| name == A2A_EXTENSION);
    match room.section().require_extension && !is_named {
        true => Err(Fault::new(
            Kind::ExtensionRequired,
            format!("Extension support required: name {A2A_EXTENSION} in A2A-Extensions"),
        )
        .with("extension", A2A_EXTENSION)),
        false => Ok(()),
    }
}

fn not_allowed(why: &str) -> Fault {
    Fault::new(
        Kind::Unsupported,
        format!(
            "Unsupported operation: {why}; the person makes another one with signet token make"
        ),
    )
}

/// Where a list went on: when the last task changed, and its id.
fn cursor(token: &str) -> Option<(i64, String)> {
    let (time, id) = token.split_once('.')?;
    let time = time.parse().ok().filter(|time: &i64| *time >= 0)?;
    (!id.is_empty()).then(|| (time, id.to_owned()))
}

fn hex(bytes: &[u8], length: usize) -> String {
    let mut text = data_encoding::HEXLOWER.encode(bytes);
    text.truncate(length);
    text
}

const PAGE: usize = 50;
const PAGE_MAX: usize = 100;
/// The id of a push configuration that has none.
const UNNAMED: &str = "default";
const URL_MAX: usize = 2_048;
