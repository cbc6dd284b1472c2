//! The tasks that were given to us and that we gave: what their lines in the log say, and no more.

mod held;
mod offered;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signet_json::canonical;

use crate::entry::{Direction, HandoffLine, Offered, TaskChange};
use crate::envelope::Form;
use crate::handoff::{Chain, TaskId, TaskState};
use crate::ids::{AgentId, MessageId};
use crate::reject::{PEER_REVOKED, Reason};
use crate::stored::Stored as _;
use crate::time::Timestamp;

use super::rows::tables::{Lines, Restored, TASKS, Tables, all};

/// A task between us and one peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Who gave it to us, or to whom we gave it.
    pub peer: AgentId,
    /// `In` when it was given to us.
    #[serde(with = "crate::stored")]
    pub direction: Direction,
    /// The handoff's message-id.
    pub offer: MessageId,
    /// What was given.
    pub given: Offered,
    /// When the line of the handoff was written.
    pub began: Timestamp,
    /// When the newest line was written.
    pub changed: Timestamp,
    /// Why it was declined, or `peer-revoked`: a reason's name.
    pub reason: Option<String>,
    /// The holder's newest words.
    pub note: Option<String>,
    pub(super) said: MessageId,
    state: TaskState,
    weight: usize,
}

impl Task {
    /// Which task.
    pub fn id(&self) -> TaskId {
        self.given.chain.task()
    }

    /// Where it stands: what was last said, or `expired` when its time ended before the last word.
    pub fn state(&self, now: Timestamp) -> TaskState {
        if self.state.is_open() && now > self.not_after() {
            TaskState::Expired
        } else {
            self.state
        }
    }

    /// When its authority ends.
    pub fn not_after(&self) -> Timestamp {
        self.given.chain.authority().not_after
    }

    pub(super) fn last_said(&self) -> TaskState {
        self.state
    }

    fn go_on(&mut self, now: Timestamp, said: MessageId, to: TaskState) -> bool {
        // Our answer moves the task, and the log line about the task reports the same move: allow the same state a second time
        // if it comes from the same message.
        let goes = self.state.may_become(to) || (self.said == said && self.state == to);
        if goes {
            (self.state, self.said, self.changed) = (to, said, now);
        }
        goes
    }
}

/// Our answer to a request, and where a task stands that the request handed over.
pub(super) struct TaskAnswer {
    message_id: MessageId,
    to: TaskState,
}

impl TaskAnswer {
    pub(super) fn by(message_id: MessageId, form: &Form) -> Self {
        let to = match form {
            Form::Success => TaskState::Accepted,
            Form::Call(_) | Form::Failure { .. } => TaskState::Declined,
        };
        Self { message_id, to }
    }
}

/// The tasks, bounded for each peer and in all.
#[derive(Debug, Default, Clone)]
pub struct Tasks {
    held: Shelf,
    given: Shelf,
}

type Shelf = BTreeMap<(TaskId, AgentId), Task>;

impl Tasks {
    /// All that is remembered, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.held.values().chain(self.given.values())
    }

    /// The task as it was given to us: the open one, or the newest.
    pub fn held(&self, task: TaskId) -> Option<&Task> {
        of(&self.held, task).max_by_key(|held| (held.state.is_open(), held.began))
    }

    /// To whom we gave it.
    pub fn given(&self, task: TaskId) -> impl Iterator<Item = &Task> {
        of(&self.given, task)
    }

    pub(super) fn given_to(&self, task: TaskId, peer: &AgentId) -> Option<&Task> {
        self.given.get(&(task, peer.clone()))
    }

    /// What we gave by the message `offer`.
    pub(super) fn given_by(&self, peer: &AgentId, offer: MessageId) -> Option<&Task> {
        let mut given = self.given.values();
        given.find(|task| task.offer == offer && task.peer == *peer)
    }

    /// Whether a chain that was judged may be taken: its mandate was not used before, and nobody else
    /// gives the same task. `Ok(false)` when this very message gave it, and the log lost the message.
    pub(super) fn admit(
        &self,
        peer: &AgentId,
        offer: MessageId,
        chain: &Chain,
        now: Timestamp,
    ) -> Result<bool, Reason> {
        let task = chain.task();
        let before = self.held.get(&(task, peer.clone()));
        if before.is_some_and(|before| before.offer == offer && before.given.chain == *chain) {
            return Ok(false);
        }
        // The three conditions below are rule 10 of protocol.md, section 14. Ask for room after them, so that `inbox-full`
        // hides none of the ten rules.
        let mut ours = of(&self.given, task);
        let is_ours = ours.any(|given| given.given.chain.last().parent.is_none());
        let is_held = of(&self.held, task).any(|held| held.state(now).is_open());
        let issued = |task: &Task| task.given.chain.last().issued_at;
        let is_used = before.is_some_and(|before| chain.last().issued_at <= issued(before));
        if is_ours || is_held || is_used {
            return Err(Reason::MandateInvalid);
        }
        if has_room(&self.held, peer, weight(chain)) {
            Ok(true)
        } else {
            Err(Reason::InboxFull)
        }
    }

    /// Whether we may give one more; those that ended make room.
    pub(super) fn has_room_to_give(&self, peer: &AgentId) -> bool {
        let open = |task: &&Task| task.state.is_open();
        let all = self.given.values().filter(open);
        let of_peer = all.clone().filter(|task| task.peer == *peer).count();
        of_peer < MOST && all.count() < MOST * PEERS
    }

    /// All of them as rows, by key.
    pub(super) fn rows(&self) -> Lines<'_> {
        all(|rows| {
            for task in self.iter() {
                let direction = task.direction.to_stored();
                let direction = direction.as_str().unwrap_or_default();
                let key = format!("{direction} {} {}", task.id(), task.peer);
                rows.put(TASKS, &key, task);
            }
        })
    }

    /// Takes back what its rows say.
    pub(super) fn put_back(&mut self, tables: &mut Tables) -> Restored {
        for (_, task) in tables.read::<(String, String, AgentId), Task>(TASKS)? {
            let shelf = match task.direction {
                Direction::In => &mut self.held,
                Direction::Out => &mut self.given,
            };
            shelf.insert((task.id(), task.peer.clone()), task);
        }
        Ok(())
    }

    pub(super) fn apply(&mut self, now: Timestamp, line: &HandoffLine) {
        let name = (line.task, line.peer.clone());
        let shelf = match line.direction {
            Direction::In => &mut self.held,
            Direction::Out => &mut self.given,
        };
        match &line.change {
            TaskChange::Offered(given) => {
                // Keep a task until its mandate has ended, so that the mandate is not taken twice, and a week more (`KEPT`), in
                // which a report may still come.
                shelf.retain(|_, task| now <= task.not_after().saturating_add(KEPT));
                if line.direction == Direction::Out {
                    make_room(shelf, &line.peer);
                }
                shelf.insert(name, begun(now, line, given));
            }
            TaskChange::Moved { to, reason, note } => {
                if let Some(task) = shelf.get_mut(&name)
                    && task.go_on(now, line.message_id, *to)
                {
                    task.reason.clone_from(reason);
                    task.note.clone_from(note);
                }
            }
        }
    }

    /// Our answer to a handoff is in the log; its own line may have been torn off.
    pub(super) fn answered(
        &mut self,
        now: Timestamp,
        peer: &AgentId,
        offer: MessageId,
        answer: TaskAnswer,
    ) {
        let mut held = self.held.values_mut();
        if let Some(task) = held.find(|task| task.offer == offer && task.peer == *peer) {
            task.go_on(now, answer.message_id, answer.to);
        }
    }

    /// The peer is trusted no more: what was given to it or by it, and is open, ends.
    pub(super) fn cut(&mut self, now: Timestamp, peer: &AgentId) {
        let all = self.held.values_mut().chain(self.given.values_mut());
        for task in all.filter(|task| task.peer == *peer && task.state.is_open()) {
            (task.state, task.changed) = (TaskState::Expired, now);
            task.reason = Some(PEER_REVOKED.to_owned());
        }
    }

    /// A draft of ours ended without being sent: if it was a handoff, nobody will ever answer it.
    pub(super) fn never_left(&mut self, now: Timestamp, peer: &AgentId, offer: MessageId) {
        let mut given = self.given.values_mut();
        if let Some(task) = given.find(|task| task.offer == offer && task.peer == *peer) {
            task.go_on(now, offer, TaskState::Expired);
        }
    }
}

fn of(shelf: &Shelf, task: TaskId) -> impl Iterator<Item = &Task> {
    let of_task = shelf.iter().filter(move |((id, _), _)| *id == task);
    of_task.map(|(_, task)| task)
}

fn begun(now: Timestamp, line: &HandoffLine, given: &Offered) -> Task {
    Task {
        peer: line.peer.clone(),
        direction: line.direction,
        offer: line.message_id,
        given: given.clone(),
        began: now,
        changed: now,
        reason: None,
        note: None,
        said: line.message_id,
        state: TaskState::Offered,
        weight: weight(&given.chain),
    }
}

fn weight(chain: &Chain) -> usize {
    canonical(&chain.to_value()).len()
}

fn has_room(shelf: &Shelf, peer: &AgentId, more: usize) -> bool {
    let share = |of: &dyn Fn(&&Task) -> bool| {
        let taken = shelf.values().filter(of);
        taken.fold((0, 0), |(count, bytes), task| {
            (count + 1, bytes + task.weight)
        })
    };
    let fits = |(count, bytes): (usize, usize), times: usize| {
        count < MOST * times && bytes + more <= MOST_BYTES * times
    };
    fits(share(&|task| task.peer == *peer), 1) && fits(share(&|_| true), PEERS)
}

/// Drops the peer's oldest task that has ended, when its share is full.
fn make_room(shelf: &mut Shelf, peer: &AgentId) {
    // `has_room_to_give` counts only open tasks, but ended tasks may still fill the peer's share: drop the oldest of those.
    let full = shelf.values().filter(|task| task.peer == *peer).count() >= MOST;
    let ended = shelf
        .iter()
        .filter(|(_, task)| task.peer == *peer && !task.state.is_open());
    let oldest = ended.min_by_key(|(_, task)| task.began);
    if let Some(name) = oldest.map(|(name, _)| name.clone()).filter(|_| full) {
        shelf.remove(&name);
    }
}

/// How many tasks of one peer are remembered, each way.
const MOST: usize = 256;
/// How many bytes of mandates and certificates of one peer are remembered, as they are written.
const MOST_BYTES: usize = 1024 * 1024;
/// How many times that all peers together may take.
const PEERS: usize = 4;
/// How long a task is shown after its authority has ended; a report may take seven days to come.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
