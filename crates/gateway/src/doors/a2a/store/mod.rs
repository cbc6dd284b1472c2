//! The tasks on the disk: a SQLite database of the gateway's own, on a thread of its own.
//!
//! Every change is one transaction. The database is written ahead and synced at checkpoints: a killed process loses
//! nothing; a machine without power may lose the tasks of its last moments, whose messages the daemon's log has all the
//! same. Of a task that is not to be kept only its state is written; its words stay in memory, and the answer in the
//! daemon's inbox.

mod calls;
mod db;
mod pushes;
mod tasks;

use std::path::Path;
use std::sync::Arc;
use std::thread;

use signet_api::Send;
use tokio::sync::{mpsc, oneshot, watch};

use super::fault::A2aError;
use super::task::{Change, Record};
use super::words::model::{Event, Message, PushConfig, Task, TaskState};
pub(crate) use db::StoreError;
use db::{Db, Live};
pub(crate) use tasks::{Page, Query};

/// The database's thread, and who waits for its changes.
#[derive(Clone)]
pub(crate) struct Store {
    jobs: mpsc::Sender<Job>,
    live: Arc<Live>,
}

type Job = Box<dyn FnOnce(&mut Db) + std::marker::Send>;

/// What a caller wants to have sent.
pub(crate) struct Begin {
    /// Of caller, message and content: the same call made again is the same task.
    pub(crate) key: String,
    pub(crate) request: Send,
    pub(crate) said: Said,
}

/// Where a message goes.
pub(crate) enum Said {
    /// A task of its own.
    New(Box<Record>),
    /// Another message of a task.
    Further {
        task: String,
        owner: Owner,
        context: Option<String>,
        tier: u8,
        message: Box<Message>,
    },
}

/// The task that a call belongs to.
pub(crate) struct Begun {
    pub(crate) task: String,
    /// Its message, where that still has to go to the daemon: the call is none that was made before.
    pub(crate) call: Option<Call>,
}

/// A message of a task on its way.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) key: String,
    pub(crate) task: String,
    /// Whose task it is: the name of a token.
    pub(crate) caller: String,
    /// The name that the daemon gave it.
    pub(crate) message: Option<String>,
    /// What to send, while that is kept.
    pub(crate) request: Option<Send>,
}

/// The key by which the daemon knows the message of a call.
pub(crate) fn daemon_key(key: &str) -> String {
    format!("a2a-{key}")
}

/// What a task's events are from one on.
pub(crate) struct Seen {
    pub(crate) events: Vec<(u64, Event)>,
    /// The task itself, where events that were asked for are not kept any more.
    pub(crate) whole: Option<Task>,
    pub(crate) seq: u64,
    pub(crate) state: TaskState,
}

/// What of a task goes to one receiver of pushes.
pub(crate) struct Due {
    pub(crate) config: PushConfig,
    /// Of which version whoever made it is.
    pub(crate) is_v1: bool,
    pub(crate) events: Vec<(u64, Event)>,
    /// For whom: the name of a token.
    pub(crate) caller: String,
    /// The task as it is, without its words where they are not to be pushed.
    pub(crate) task: Task,
}

impl Store {
    /// Opens the database, and makes it where there is none.
    ///
    /// # Errors
    /// Where another process has it, a newer release wrote it, or it cannot be read.
    pub(crate) fn open(path: &Path, limits: StoreLimits) -> Result<Self, StoreError> {
        let live = Arc::new(Live::default());
        let mut db = Db::open(path, limits, Arc::clone(&live))?;
        let (jobs, mut todo) = mpsc::channel::<Job>(QUEUE);
        let thread = thread::Builder::new().name("a2a-store".to_owned());
        let work = move || {
            while let Some(job) = todo.blocking_recv() {
                job(&mut db);
            }
        };
        thread.spawn(work).map_err(|_| StoreError::NoThread)?;
        Ok(Self { jobs, live })
    }

    /// Takes a call in, durably, or finds the task of the same call before.
    pub(crate) async fn begin(&self, begin: Begin) -> Result<Begun, A2aError> {
        self.with(move |db| db.begin(begin)).await?
    }

    /// What the peer offered when it last offered anything.
    pub(crate) async fn offered(&self, peer: String) -> Result<Vec<String>, A2aError> {
        self.with(move |db| db.offered(&peer)).await?
    }

    /// What the peer offers now.
    pub(crate) async fn note_offered(
        &self,
        peer: String,
        all: Vec<String>,
    ) -> Result<(), A2aError> {
        self.with(move |db| db.note_offered(&peer, &all)).await?
    }

    /// The daemon has the message under that name.
    pub(crate) async fn sent(&self, key: String, message: String) -> Result<(), A2aError> {
        self.with(move |db| db.sent(&key, &message)).await?
    }

    /// The call as a message of its own, to be sent once more; `None` where its request is not kept.
    pub(crate) async fn again(&self, key: String) -> Result<Option<Call>, A2aError> {
        self.with(move |db| db.again(&key)).await?
    }

    /// Changes the task; the state that it has then.
    pub(crate) async fn change(
        &self,
        task: String,
        change: Change,
    ) -> Result<Option<TaskState>, A2aError> {
        self.with(move |db| db.change(&task, change)).await?
    }

    /// Nothing more comes of this call.
    pub(crate) async fn settled(&self, key: String) -> Result<(), A2aError> {
        self.with(move |db| db.settled(&key)).await?
    }

    /// Nothing more comes of any call of the task.
    pub(crate) async fn settled_all(&self, task: String) -> Result<(), A2aError> {
        self.with(move |db| db.settled_all(&task)).await?
    }

    /// Whose tasks are not over, or have calls of which something may still come.
    pub(crate) async fn callers(&self) -> Result<Vec<String>, A2aError> {
        self.with(|db| db.callers()).await?
    }

    /// Those tasks of one caller.
    pub(crate) async fn unsettled(&self, caller: String) -> Result<Vec<String>, A2aError> {
        self.with(move |db| db.unsettled(&caller)).await?
    }

    /// The calls of which something may still come.
    pub(crate) async fn open_calls(&self) -> Result<Vec<Call>, A2aError> {
        self.with(|db| db.open_calls()).await?
    }

    /// The task of that caller with that peer.
    pub(crate) async fn task(&self, owner: Owner, task: String) -> Result<(Record, u64), A2aError> {
        self.with(move |db| db.owned(&owner, &task)).await?
    }

    /// Any task.
    pub(crate) async fn record(&self, task: String) -> Result<Option<Record>, A2aError> {
        self.with(move |db| Ok(db.found(&task)?.map(|(record, _)| record)))
            .await?
    }

    pub(crate) async fn list(&self, query: Query) -> Result<Page, A2aError> {
        self.with(move |db| db.list(&query)).await?
    }

    /// What came after the event of that number.
    pub(crate) async fn seen(&self, task: String, after: u64) -> Result<Seen, A2aError> {
        self.with(move |db| db.seen(&task, after)).await?
    }

    /// Tells the number of the task's newest event whenever there is one more.
    pub(crate) fn follow(&self, task: &str) -> watch::Receiver<u64> {
        self.live.follow(task)
    }

    /// Another receiver of the task's pushes, from its next event on.
    pub(crate) async fn put_push(
        &self,
        owner: Owner,
        config: PushConfig,
        is_v1: bool,
    ) -> Result<(), A2aError> {
        self.with(move |db| db.put_push(&owner, &config, is_v1))
            .await?
    }

    pub(crate) async fn pushes(
        &self,
        owner: Owner,
        task: String,
    ) -> Result<Vec<PushConfig>, A2aError> {
        self.with(move |db| db.pushes(&owner, &task)).await?
    }

    /// Whether that receiver is there still, as it was given.
    pub(crate) async fn stands(&self, config: PushConfig) -> bool {
        let found = self.with(move |db| db.stands(&config)).await;
        found.is_ok_and(|found| found.unwrap_or(false))
    }

    pub(crate) async fn delete_push(
        &self,
        owner: Owner,
        task: String,
        id: String,
    ) -> Result<(), A2aError> {
        self.with(move |db| db.delete_push(&owner, &task, &id))
            .await?
    }

    /// Whose pushes of the task are due.
    pub(crate) async fn due(&self, task: String) -> Result<Vec<Due>, A2aError> {
        self.with(move |db| db.due(&task)).await?
    }

    /// The receiver has everything up to that event, or will not get it.
    pub(crate) async fn pushed(&self, task: String, id: String, seq: u64) -> Result<(), A2aError> {
        self.with(move |db| db.pushed(&task, &id, seq)).await?
    }

    /// The tasks of which pushes are due.
    pub(crate) async fn tasks_due(&self) -> Result<Vec<String>, A2aError> {
        self.with(|db| db.tasks_due()).await?
    }

    async fn with<T: std::marker::Send + 'static>(
        &self,
        work: impl FnOnce(&mut Db) -> T + std::marker::Send + 'static,
    ) -> Result<T, A2aError> {
        let (done, answer) = oneshot::channel();
        let job: Job = Box::new(move |db| drop(done.send(work(db))));
        let gone = |_| A2aError::internal("Internal error: the gateway is ending; call again");
        self.jobs.send(job).await.map_err(|_| gone(()))?;
        answer.await.map_err(|_| gone(()))
    }
}

/// Whose task it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) caller: String,
    pub(crate) peer: String,
    /// How far the caller's token reaches now: it may have reached further.
    pub(crate) tier: u8,
}

/// How much is kept. Of what is not over one caller has at most three times as much as is free: so there is always room
/// for a caller who has little.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreLimits {
    pub(crate) tasks: usize,
    /// Messages of which something may still come.
    pub(crate) open: usize,
    /// Bytes of all tasks on the disk.
    pub(crate) bytes: u64,
}

/// Jobs that wait for the thread.
const QUEUE: usize = 1_024;

#[cfg(test)]
mod tests;
