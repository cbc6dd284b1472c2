//! The receivers of a task's pushes: set, shown, listed, deleted, and named along with a message.

use serde_json::{Value, json};

use super::super::clock::Moment;
use super::super::fault::{A2aError, A2aErrorKind};
use super::super::push;
use super::super::words::method::A2aVersion;
use super::super::words::model::PushConfig;
use super::super::words::read::{self, Fields};
use super::super::words::v03;
use super::Asking;
use crate::outgoing::Url;

impl Asking<'_> {
    pub(super) async fn set_push(self) -> Result<Value, A2aError> {
        self.admit_push()?;
        let fields = Fields::root(&self.params);
        let task = Some(fields.needed("taskId")?);
        let config = match (self.version, fields.object("pushNotificationConfig")?) {
            (_, Some(inner)) => self.receiver(&inner, task, UNNAMED)?,
            (A2aVersion::V1, None) => self.receiver(&fields, task, &Moment::read().id())?,
            (A2aVersion::V03, None) => {
                return Err(fields.fault("pushNotificationConfig", "is missing").into());
            }
        };
        let written = self.written_push(&config);
        self.put_push(config).await?;
        Ok(written)
    }

    pub(super) async fn put_push(&self, config: PushConfig) -> Result<(), A2aError> {
        let task = config.task_id.clone();
        let is_v1 = self.version == A2aVersion::V1;
        self.room
            .store
            .put_push(self.owner(), config, is_v1)
            .await?;
        self.room.push(&task);
        Ok(())
    }

    pub(super) async fn get_push(self) -> Result<Value, A2aError> {
        self.admit_push()?;
        let fields = Fields::root(&self.params);
        let (task, id) = match self.version {
            A2aVersion::V1 => (fields.needed("taskId")?, Some(fields.needed("id")?)),
            A2aVersion::V03 => (
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
            A2aError::new(A2aErrorKind::TaskNotFound, text).with("taskId", task)
        })?;
        Ok(self.written_push(&found))
    }

    pub(super) async fn list_push(self) -> Result<Value, A2aError> {
        self.admit_push()?;
        let fields = Fields::root(&self.params);
        let task = match self.version {
            A2aVersion::V1 => fields.needed("taskId")?,
            A2aVersion::V03 => fields.needed("id")?,
        };
        let all = self.room.store.pushes(self.owner(), task).await?;
        let all: Vec<Value> = all.iter().map(|config| self.written_push(config)).collect();
        Ok(match self.version {
            A2aVersion::V1 => json!({ "configs": all, "nextPageToken": "" }),
            A2aVersion::V03 => Value::Array(all),
        })
    }

    pub(super) async fn delete_push(self) -> Result<Value, A2aError> {
        self.admit_push()?;
        let fields = Fields::root(&self.params);
        let (task, id) = match self.version {
            A2aVersion::V1 => (fields.needed("taskId")?, fields.needed("id")?),
            A2aVersion::V03 => (
                fields.needed("id")?,
                fields.needed("pushNotificationConfigId")?,
            ),
        };
        self.room.store.delete_push(self.owner(), task, id).await?;
        Ok(match self.version {
            A2aVersion::V1 => json!({}),
            A2aVersion::V03 => Value::Null,
        })
    }

    pub(super) fn push_of_configuration(&self) -> Result<Option<PushConfig>, A2aError> {
        let Some(configuration) = Fields::root(&self.params).object("configuration")? else {
            return Ok(None);
        };
        // The receiver of pushes has the first of these names in A2A 1.0, and the second in A2A 0.3: take either.
        let given = configuration
            .object("taskPushNotificationConfig")?
            .or(configuration.object("pushNotificationConfig")?);
        let Some(given) = given else {
            return Ok(None);
        };
        self.admit_push()?;
        self.receiver(&given, Some(String::new()), UNNAMED)
            .map(Some)
    }

    /// A receiver that a push can go to, as far as its client's words show.
    fn receiver(
        &self,
        fields: &Fields<'_>,
        task: Option<String>,
        unless_named: &str,
    ) -> Result<PushConfig, A2aError> {
        let config = read::push(fields, task, unless_named)?;
        let url = Url::parse(&config.url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| fields.fault("url", "is no address of http or https"))?;
        // Check the address as it is written. Its host name is checked again at each push, because the name
        // can resolve to another IP address by then.
        let admitted = self.room.context.outgoing.admit(&url);
        admitted.map_err(|why| fields.fault("url", &format!("is never called: {why}")))?;
        match push::unfit(&config) {
            Some(name) => Err(fields
                .fault(name, "holds what no header of HTTP can")
                .into()),
            None => Ok(config),
        }
    }

    fn admit_push(&self) -> Result<(), A2aError> {
        match self.room.section().push {
            true => Ok(()),
            false => Err(A2aError::new(
                A2aErrorKind::PushNotSupported,
                "Push notification not supported: [a2a] push of gateway.toml is false",
            )),
        }
    }

    fn written_push(&self, config: &PushConfig) -> Value {
        match self.version {
            A2aVersion::V1 => json!(config),
            A2aVersion::V03 => v03::push(config),
        }
    }
}

/// The id of a push configuration that has none.
const UNNAMED: &str = "default";
