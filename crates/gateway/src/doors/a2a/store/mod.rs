//! The tasks on the disk: a SQLite database of the gateway's own, on a thread of its own.
//!
//! Every change is one transaction. The database is written ahead and synced at checkpoints. A killed process loses nothing.
//! A machine that loses power may lose the tasks of its last moments; their messages are in the daemon's log. Of a task that is
//! not to be kept only its state is written: its words stay in memory, and the answer stays in the daemon's inbox.

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
use super::words::model::{A2aEvent, A2aMessage, A2aTask, A2aTaskState, PushConfig};
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
    pub(crate) said: TaskMessage,
}

/// Where a message goes.
pub(crate) enum TaskMessage {
    /// A task of its own.
    New(Box<Record>),
    /// Another message of a task.
    Further {
        task: String,
        owner: Owner,
        context: Option<String>,
        tier: u8,
        message: Box<A2aMessage>,
    },
}

/// The task that a call belongs to.
pub(crate) struct Begun {
    pub(crate) task: String,
    /// Its message, where that still has to go to the daemon: the call is none that was made before.
    pub(crate) call: Option<TaskCall>,
}

/// A message of a task on its way.
#[derive(Clone)]
pub(crate) struct TaskCall {
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
    pub(crate) events: Vec<(u64, A2aEvent)>,
    /// The task itself, where events that were asked for are not kept any more.
    pub(crate) whole: Option<A2aTask>,
    pub(crate) seq: u64,
    pub(crate) state: A2aTaskState,
}

/// What of a task goes to one receiver of pushes.
pub(crate) struct Due {
    pub(crate) config: PushConfig,
    /// Of which version whoever made it is.
    pub(crate) is_v1: bool,
    pub(crate) events: Vec<(u64, A2aEvent)>,
    /// For whom: the name of a token.
    pub(crate) caller: String,
    /// The task as it is, without its words where they are not to be pushed.
    pub(crate) task: A2aTask,
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
        // The store has a thread of its own, because SQLite blocks while it writes. Only this thread uses the
        // connection, so no lock is needed.
        let thread = thread::Builder::new().name("a2a-store".to_owned());
        let work = move || {
            while let Some(job) = todo.blocking_recv() {
                job(&mut db);
            }
        };
        thread.spawn(work).map_err(|_| StoreError::NoThread)?;
        Ok(Self { jobs, live })
    }

    /// Any task.
    pub(crate) async fn record(&self, task: String) -> Result<Option<Record>, A2aError> {
        let found = self.with(move |db| db.found(&task)).await??;
        Ok(found.map(|(record, _)| record))
    }

    /// Tells the number of the task's newest event whenever there is one more.
    pub(crate) fn follow(&self, task: &str) -> watch::Receiver<u64> {
        self.live.follow(task)
    }

    /// Whether that receiver is there still, as it was given.
    pub(crate) async fn stands(&self, config: PushConfig) -> bool {
        let found = self.with(move |db| db.stands(&config)).await;
        found.is_ok_and(|found| found.unwrap_or(false))
    }

    async fn with<T: std::marker::Send + 'static>(
        &self,
        work: impl FnOnce(&mut Db) -> T + std::marker::Send + 'static,
    ) -> Result<T, A2aError> {
        let (done, answer) = oneshot::channel();
        // The future that waits for `answer` may be dropped meanwhile: the work is done all the same, and the error of `send`
        // is ignored.
        let job: Job = Box::new(move |db| drop(done.send(work(db))));
        let gone = |_| A2aError::internal("Internal error: the gateway is ending; call again");
        self.jobs.send(job).await.map_err(|_| gone(()))?;
        answer.await.map_err(|_| gone(()))
    }
}

/// Each runs the function of [`Db`] by the same name on the database's thread: `call(what is given) -> answer = (what Db takes)`.
macro_rules! on_its_thread {
    ($($(#[$doc:meta])* $name:ident($($given:ident: $of:ty),*) -> $answer:ty = ($($taken:expr),*);)*) => {
        impl Store {
            $(
                $(#[$doc])*
                pub(crate) async fn $name(&self, $($given: $of),*) -> Result<$answer, A2aError> {
                    self.with(move |db| db.$name($($taken),*)).await?
                }
            )*
        }
    };
}

on_its_thread! {
    /// Takes a call in, durably, or finds the task of the same call before.
    begin(begin: Begin) -> Begun = (begin);
    /// Changes the task; the state that it has then.
    change(task: String, change: Change) -> Option<A2aTaskState> = (&task, change);
    /// What the peer offered when it last offered anything.
    offered(peer: String) -> Vec<String> = (&peer);
    /// What the peer offers now.
    note_offered(peer: String, all: Vec<String>) -> () = (&peer, &all);
    /// The daemon has the message under that name.
    sent(key: String, message: String) -> () = (&key, &message);
    /// The call as a message of its own, to be sent once more; `None` where its request is not kept.
    again(key: String) -> Option<TaskCall> = (&key);
    /// Nothing more comes of this call.
    settled(key: String) -> () = (&key);
    /// Nothing more comes of any call of the task.
    settled_all(task: String) -> () = (&task);
    /// Whose tasks are not over, or have calls of which something may still come.
    callers() -> Vec<String> = ();
    /// Those tasks of one caller.
    unsettled(caller: String) -> Vec<String> = (&caller);
    /// The calls of which something may still come.
    open_calls() -> Vec<TaskCall> = ();
    /// The task of that caller with that peer, and the number of its newest event.
    owned(owner: Owner, task: String) -> (Record, u64) = (&owner, &task);
    /// A part of one caller's tasks.
    list(query: Query) -> Page = (&query);
    /// What came after the event of that number.
    seen(task: String, after: u64) -> Seen = (&task, after);
    /// Another receiver of the task's pushes, from its next event on.
    put_push(owner: Owner, config: PushConfig, is_v1: bool) -> () = (&owner, &config, is_v1);
    /// The receivers of the task's pushes.
    pushes(owner: Owner, task: String) -> Vec<PushConfig> = (&owner, &task);
    /// Nothing goes to that receiver any more.
    delete_push(owner: Owner, task: String, id: String) -> () = (&owner, &task, &id);
    /// What each receiver of the task's pushes has not got yet.
    due(task: String) -> Vec<Due> = (&task);
    /// The receiver has everything up to that event, or will not get it.
    pushed(task: String, id: String, seq: u64) -> () = (&task, &id, seq);
    /// The tasks of which pushes are due.
    tasks_due() -> Vec<String> = ();
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
