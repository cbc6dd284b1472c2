//! A message that goes into a task: read, admitted, named, and put where it belongs.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use signet_api::{Kind as Wants, Send};

use super::super::clock::Moment;
use super::super::fault::A2aError;
use super::super::request::{RequestTerms, body_of};
use super::super::store::{Begin, Begun, Owner, TaskMessage};
use super::super::task::Record;
use super::super::words::model::{A2aMessage, A2aStatus, A2aTask, A2aTaskState, PushConfig};
use super::super::words::read::{self, Fields};
use super::{Asking, not_allowed};

impl Asking<'_> {
    /// Takes a message in, with the receiver of pushes that it names.
    pub(super) async fn begin(&self) -> Result<Begun, A2aError> {
        if !self.caller.scope.may_send() {
            return Err(not_allowed("this token may only look"));
        }
        let root = Fields::root(&self.params);
        let fields = root.object("message")?;
        let fields = fields.ok_or_else(|| root.fault("message", "is missing"))?;
        let message = read::message(&fields, || Moment::read().id())?;
        // Check the receiver of pushes before the message is stored: a request with a wrong receiver must not begin a task.
        let push = self.push_of_configuration()?;
        let about = RequestTerms::read(&[
            message.metadata.as_ref(),
            self.params.get("metadata").and_then(Value::as_object),
        ])?;
        let tier = about.tier.unwrap_or(1);
        if self.caller.scope.admit_tier(tier).is_err() {
            return Err(not_allowed("this token does not reach that data tier"));
        }
        let body = body_of(&message, tier)?;
        let capability = self.capability(about.capability.clone()).await;
        // Make the key from the message as the client wrote it. `said` adds fresh ids, which would give a
        // repeated call another key.
        let key = self.key(&message, &about);
        let (said, context) = self.said(message, tier, capability.is_none()).await?;
        let request = Send {
            capability,
            conversation_id: Some(self.conversation(&context)),
            data_tier: Some(tier),
            life: about.life,
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

    /// Whether the client named a receiver of pushes: then it is answered with the task, whose id the pushes have.
    pub(super) fn wants_pushes(&self) -> bool {
        !matches!(self.push_of_configuration(), Ok(None))
    }

    /// Where the message goes: into the task that it names, or one of its own; and the context of that.
    async fn said(
        &self,
        mut message: A2aMessage,
        tier: u8,
        is_for_people: bool,
    ) -> Result<(TaskMessage, String), A2aError> {
        let owner = self.owner();
        if let Some(task) = message.task_id.clone() {
            let (record, _) = self.room.store.owned(owner.clone(), task.clone()).await?;
            let context = message.context_id.clone();
            let known = record.task.context_id;
            message.context_id = Some(known.clone());
            let said = TaskMessage::Further {
                task,
                owner,
                context,
                tier,
                message: Box::new(message),
            };
            return Ok((said, known));
        }
        let now = Moment::read();
        let context = message.context_id.clone().unwrap_or_else(|| now.id());
        let id = now.id();
        message.context_id = Some(context.clone());
        message.task_id = Some(id.clone());
        let task = A2aTask {
            id,
            context_id: context.clone(),
            status: A2aStatus {
                state: A2aTaskState::Submitted,
                message: None,
                timestamp: now.text(),
            },
            artifacts: Vec::new(),
            history: vec![message],
            metadata: None,
        };
        let Owner {
            caller,
            peer,
            tier: reach,
        } = owner;
        let keeps = self.room.section().keeps(&peer);
        let mut record = Record::new(task, &caller, &peer, reach, keeps)
            .with_extensions(self.extensions.clone())
            .for_people(is_for_people);
        record.admit(tier);
        Ok((TaskMessage::New(Box::new(record)), context))
    }

    /// What is asked for: what the client names, else what the configuration does, else the only thing that is offered,
    /// or was, while nothing is.
    async fn capability(&self, named: Option<String>) -> Option<String> {
        let configured = self.room.section().capabilities.get(&self.peer);
        if let Some(known) = named.or_else(|| configured.cloned()) {
            return Some(known);
        }
        let offers = &self.offers;
        self.room.only_offer(self.caller, &self.peer, offers).await
    }

    /// Names this call by caller, peer and content. The messageId alone would not do: clients use one again with other
    /// content and in other tasks.
    fn key(&self, message: &A2aMessage, about: &RequestTerms) -> String {
        let content = json!([
            self.caller.name.as_ref(),
            self.peer,
            message,
            about.capability,
            about.tier,
        ]);
        hex(&Sha256::digest(content.to_string()), 32)
    }

    /// The conversation of a context. The caller is part of the hash, so that nobody gets into another caller's
    /// conversation by the name of its context.
    fn conversation(&self, context: &str) -> String {
        let content = json!([self.caller.name.as_ref(), self.peer, context]);
        format!("a2a-{}", hex(&Sha256::digest(content.to_string()), 32))
    }
}

fn hex(bytes: &[u8], length: usize) -> String {
    let mut text = data_encoding::HEXLOWER.encode(bytes);
    text.truncate(length);
    text
}
