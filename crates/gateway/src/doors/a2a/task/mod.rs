//! The state of one task: what the daemon tells of its messages becomes states, artifacts and events of A2A.
//!
//! ```text
//! submitted ──▶ working ──▶ completed                     whatever is terminal stays so
//!      │  ▲        │  ▲ ──▶ failed, rejected
//!      │  └────────┼──┘ ──▶ canceled (here alone: the other side is not told; or its agent gave it up)
//!      └──▶ input-required, auth-required ──▶ a further message ──▶ submitted
//! ```

mod artifacts;
mod moved;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use signet_api::{Failure, State as Sent, WaitsFor, Whose};
use signet_proto::progress::WAITS_FOR_A_PERSON;
use signet_text::visible;

use super::clock::Moment;
use super::request::SEALED;
use super::words::body;
use super::words::model::{
    A2aEvent, A2aMessage, A2aPart, A2aRole, A2aStatus, A2aTask, A2aTaskState, StatusUpdate,
};
use artifacts::{Early, ProgressPart};
pub(crate) use moved::told_why;
use moved::{AWAY, OVER_BUDGET, UNANSWERED};

/// A task with what the gateway knows of it besides.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) task: A2aTask,
    /// Whose it is: the name of a token.
    pub(crate) caller: String,
    /// The agent that is asked.
    pub(crate) peer: String,
    /// The highest data tier of what was said in it.
    pub(crate) tier: u8,
    /// The highest data tier that its caller is shown.
    pub(crate) reach: u8,
    /// Whether tiers 3 and 4 of that peer are kept on the disk, and pushed.
    pub(crate) keeps_all: bool,
    /// Whether what is said is kept so.
    pub(crate) is_kept: bool,
    /// The answer, while it waits in the daemon's inbox for somebody to be shown it.
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// Whether its message is here still, and people have to decide first.
    #[serde(default)]
    waits_for_people: bool,
    #[serde(default)]
    is_withheld: bool,
    /// Whether it asks for no capability: no program of the other side takes such a message.
    #[serde(default)]
    is_for_people: bool,
    /// Whether the agent that was asked said anything before its answer.
    #[serde(default)]
    had_progress: bool,
    /// What its client activated by `A2A-Extensions`.
    #[serde(default)]
    extensions: Vec<String>,
    /// The parts of artifacts that came before those that go before them.
    #[serde(default)]
    early: BTreeMap<String, Early>,
}

/// What happened to a message of the task.
pub(crate) enum Change {
    /// Where it is.
    Moved {
        state: Sent,
        reason: Option<String>,
        by: Option<Whose>,
        waits_for: Option<WaitsFor>,
    },
    /// How it goes, in the words of the agent that was asked, and their data tier.
    Progress(ProgressBody, u8),
    /// The answer.
    Answer {
        body: Value,
        tier: u8,
        /// Its name, under which it waits in the inbox.
        name: String,
    },
    /// The refusal of the agent that was asked, or of its daemon, what stands beside the words, and its data tier.
    Refused(Failure, Option<Value>, u8),
    /// The answer is there and is not for this gateway's eyes, or cannot be opened any more.
    Withheld,
    /// The daemon did not take the message: a sentence of ours.
    NotTaken(String),
    /// The other side has had it for a while, and nothing has taken it.
    Untaken,
    /// It is here still: the program of the other side is away for which it is.
    Away,
    /// It is here still: the other side takes no more messages this minute.
    OverBudget,
    /// Its life has ended: no answer is taken any more.
    Unanswered,
    /// The client gave it up.
    Canceled,
    /// The token of its client holds no more.
    TokenEnded,
    /// The client was shown the answer.
    Shown,
}

impl Change {
    /// The message is in that state, and no more is said of it.
    pub(crate) const fn at(state: Sent) -> Self {
        Self::Moved {
            state,
            reason: None,
            by: None,
            waits_for: None,
        }
    }
}

/// The body of `agent.progress`.
#[derive(Clone, PartialEq, Deserialize)]
pub(crate) struct ProgressBody {
    pub(crate) state: signet_api::ProgressState,
    #[serde(default)]
    pub(crate) note: Option<String>,
    #[serde(default)]
    pub(crate) part: Option<ProgressPart>,
}

impl Record {
    /// A new task.
    pub(crate) fn new(task: A2aTask, caller: &str, peer: &str, reach: u8, keeps_all: bool) -> Self {
        Self {
            task,
            caller: caller.to_owned(),
            peer: peer.to_owned(),
            tier: 1,
            reach,
            keeps_all,
            is_kept: true,
            answer: None,
            waits_for_people: false,
            is_withheld: false,
            is_for_people: false,
            had_progress: false,
            extensions: Vec::new(),
            early: BTreeMap::new(),
        }
    }

    /// The same of a client that activated the extensions: what comes of it carries their names.
    #[must_use]
    pub(crate) fn with_extensions(self, extensions: Vec<String>) -> Self {
        Self { extensions, ..self }
    }

    /// The same, where it asks for no capability.
    #[must_use]
    pub(crate) fn for_people(self, is_for_people: bool) -> Self {
        Self {
            is_for_people,
            ..self
        }
    }

    /// Whether nothing moves it any more.
    pub(crate) const fn is_over(&self) -> bool {
        self.task.status.state.is_terminal()
    }

    /// Whether nothing comes before people have decided.
    pub(crate) const fn waits_for_people(&self) -> bool {
        self.waits_for_people
    }

    /// The answer as a message alone, which is a lawful answer to a call as well: where it came without a word before, and is
    /// one result.
    pub(crate) fn direct(&self) -> Option<A2aMessage> {
        let is_done = self.task.status.state == A2aTaskState::Completed && !self.had_progress;
        let [only] = self.task.artifacts.as_slice() else {
            return None;
        };
        is_done.then(|| A2aMessage {
            extensions: only.extensions.clone(),
            ..self.message(format!("{}-{ANSWER}", self.task.id), only.parts.clone())
        })
    }

    /// A message of the agent in this task.
    fn message(&self, id: String, parts: Vec<A2aPart>) -> A2aMessage {
        A2aMessage {
            context_id: Some(self.task.context_id.clone()),
            task_id: Some(self.task.id.clone()),
            ..A2aMessage::of(id, A2aRole::Agent, parts)
        }
    }

    /// Whether there is an answer that its caller is not shown.
    pub(crate) const fn is_withheld(&self) -> bool {
        self.is_withheld
    }

    /// Puts an answer that was not kept where its caller looks for it.
    pub(crate) fn put_answer(&mut self, body: Value) {
        self.put_artifacts(body);
    }

    /// Something of that tier is said in it: from then on nothing of it may be kept where that is not.
    pub(crate) fn admit(&mut self, tier: u8) {
        self.tier = self.tier.max(tier);
        self.is_kept &= tier < SEALED || self.keeps_all;
    }

    /// The client says more: the task is under way again.
    pub(crate) fn say(&mut self, message: A2aMessage, tier: u8, now: Moment) -> Vec<A2aEvent> {
        self.admit(tier);
        self.put_status_into_history();
        self.put_into_history(message);
        for early in self.early.values_mut() {
            early.may_begin_anew = true;
        }
        let is_waiting = self.task.status.state.is_interrupted();
        match is_waiting {
            true => vec![self.status(A2aTaskState::Submitted, None, now)],
            false => Vec::new(),
        }
    }

    /// What that change makes of it. Nothing moves a terminal task.
    pub(crate) fn apply(&mut self, change: Change, now: Moment) -> Vec<A2aEvent> {
        // `Shown` says that the client has got the answer. An answer ends its task, so the task is over by then: handle `Shown`
        // before the check below, which ignores every change of a task that is over.
        if let Change::Shown = change {
            self.answer = None;
        }
        // Answers and reports can still come after the client has given the task up: no change moves a task that is over.
        if self.task.status.state.is_terminal() {
            return Vec::new();
        }
        match change {
            Change::Shown => Vec::new(),
            Change::Moved {
                state,
                reason,
                by,
                waits_for,
            } => self.moved(state, reason.as_deref(), by, waits_for, now),
            // The client must not see progress above its tier: drop it, and let the task go on, since the answer may have a
            // lower tier. Nothing comes after an answer above the tier, so the task ends as withheld.
            Change::Progress(_, tier) if tier > self.reach => Vec::new(),
            Change::Progress(progress, tier) => {
                self.admit(tier);
                self.had_progress = true;
                self.progress(progress, now)
            }
            Change::Answer { tier, .. } if tier > self.reach => self.withheld(now),
            Change::Answer { body, tier, name } => {
                // Call `admit` first: it takes the answer's tier into account, and only then does `is_kept` say
                // whether the answer may be stored here.
                self.admit(tier);
                self.answer = (!self.is_kept).then_some(name);
                self.answered(body, now)
            }
            Change::Refused(_, _, tier) if tier > self.reach => self.withheld(now),
            Change::Refused(failure, more, tier) => {
                self.admit(tier);
                self.refused(&failure, more, now)
            }
            Change::Withheld => self.withheld(now),
            Change::NotTaken(why) => vec![self.ended(A2aTaskState::Rejected, &why, now)],
            Change::Untaken => self.untaken(now),
            Change::Away => self.says_once(AWAY, now),
            Change::OverBudget => self.says_once(OVER_BUDGET, now),
            Change::Unanswered => vec![self.ended(A2aTaskState::Failed, UNANSWERED, now)],
            Change::Canceled => vec![self.ended(A2aTaskState::Canceled, CANCELED, now)],
            Change::TokenEnded => vec![self.ended(A2aTaskState::Canceled, TOKEN_ENDED, now)],
        }
    }

    /// The message has no answer. What the agent behind the other side made of its own task is what becomes of this one
    /// (docs/protocol.md, section 9); what else it refuses is a refusal.
    fn refused(&mut self, failure: &Failure, more: Option<Value>, now: Moment) -> Vec<A2aEvent> {
        if failure.reason != DECLINED {
            let said = format!("{}: {}", failure.reason, failure.message);
            return vec![self.ended(A2aTaskState::Failed, &said, now)];
        }
        let ended = more.as_ref().and_then(|more| more.get("state"));
        let ended =
            ended.and_then(|name| Some((A2aTaskState::read(name)?, name.as_str()?.to_owned())));
        // The peer may write any state. A state that is not in `ENDS`, such as `completed`, makes no sense in
        // a refusal and is ignored.
        let Some((state, name)) = ended.filter(|(state, _)| ENDS.contains(state)) else {
            let said = format!("{DECLINED}: {}", failure.message);
            return vec![self.ended(A2aTaskState::Rejected, &said, now)];
        };
        let parts = more.and_then(|mut more| more.get_mut("parts").map(Value::take));
        let mut parts =
            parts.map_or_else(Vec::new, |parts| body::parts_of(json!({ "parts": parts })));
        if parts.is_empty() {
            // A handler of signet begins the failure's message with the name of the state (see handle/a2a/result.rs): strip the
            // name, because the task shows its state anyway.
            let words = failure
                .message
                .strip_prefix(&*name)
                .unwrap_or(&failure.message);
            let words = words.strip_prefix(": ").unwrap_or(words);
            parts.extend((!words.is_empty()).then(|| A2aPart::text(visible(words).into_owned())));
        }
        // Forget waiting parts and the next number: a further request of this task numbers its parts from 0 again.
        self.early.clear();
        self.put_status_into_history();
        vec![self.status_of(state, parts, now)]
    }

    fn progress(&mut self, progress: ProgressBody, now: Moment) -> Vec<A2aEvent> {
        use signet_api::ProgressState::{InputRequired, Working};
        let waits = progress.note.as_deref() == Some(WAITS_FOR_A_PERSON);
        let waited = std::mem::replace(&mut self.waits_for_people, waits);
        // The note that a person has to decide comes from the peer's daemon and not from its agent, so show it, but leave the
        // task in its state.
        if waits {
            return match self.says(Some(PERSON_THERE)) {
                true => Vec::new(),
                false => {
                    self.put_status_into_history();
                    let state = self.task.status.state;
                    vec![self.status(state, Some(PERSON_THERE.to_owned()), now)]
                }
            };
        }
        let mut events = Vec::new();
        if let Some(part) = progress.part {
            events.extend(self.part(part));
        }
        let state = match progress.state {
            Working => A2aTaskState::Working,
            InputRequired => A2aTaskState::InputRequired,
        };
        // Each look at a message (follow.rs) brings its newest progress again: ignore a note that the status already shows.
        let told = self.task.status.message.as_ref();
        let told = told.and_then(|message| message.parts.first());
        let is_told = |note: &String| told == Some(&A2aPart::text(note.as_str()));
        let is_news = waited
            || state != self.task.status.state
            || progress.note.as_ref().is_some_and(|note| !is_told(note));
        if is_news {
            self.put_status_into_history();
            events.push(self.status(state, progress.note, now));
        }
        events
    }

    fn answered(&mut self, answer: Value, now: Moment) -> Vec<A2aEvent> {
        self.early.clear();
        self.put_status_into_history();
        let mut events = self.put_artifacts(answer);
        events.push(self.status(A2aTaskState::Completed, None, now));
        events
    }

    fn withheld(&mut self, now: Moment) -> Vec<A2aEvent> {
        self.is_withheld = true;
        vec![self.ended(A2aTaskState::Failed, WITHHELD, now)]
    }

    fn ended(&mut self, state: A2aTaskState, sentence: &str, now: Moment) -> A2aEvent {
        self.early.clear();
        self.put_status_into_history();
        // The sentence may hold words of the peer, so its hidden characters are made visible.
        self.status(state, Some(visible(sentence).into_owned()), now)
    }

    fn status(&mut self, state: A2aTaskState, note: Option<String>, now: Moment) -> A2aEvent {
        let parts = note.map(A2aPart::text).into_iter().collect();
        self.status_of(state, parts, now)
    }

    fn status_of(&mut self, state: A2aTaskState, parts: Vec<A2aPart>, now: Moment) -> A2aEvent {
        let message = (!parts.is_empty()).then(|| self.message(now.id(), parts));
        self.task.status = A2aStatus {
            state,
            message,
            timestamp: now.text(),
        };
        A2aEvent::StatusUpdate(StatusUpdate {
            task_id: self.task.id.clone(),
            context_id: self.task.context_id.clone(),
            status: self.task.status.clone(),
        })
    }

    fn put_status_into_history(&mut self) {
        if let Some(message) = self.task.status.message.take() {
            self.put_into_history(message);
        }
    }

    fn put_into_history(&mut self, message: A2aMessage) {
        let history = &mut self.task.history;
        // Remove the second message and keep the first, because the first says what the task is.
        if history.len() >= HISTORY_MAX {
            history.remove(1);
        }
        history.push(message);
    }

    /// The same without anything that was said, for the disk.
    #[must_use]
    pub(crate) fn without_words(&self) -> Self {
        let mut bare = self.clone();
        bare.task.artifacts.clear();
        bare.task.history.clear();
        bare.task.status.message = None;
        bare.task.metadata = None;
        bare.early.clear();
        bare
    }
}

/// The states in which the task of an agent behind the other side may have ended without an answer.
const ENDS: [A2aTaskState; 5] = [
    A2aTaskState::Failed,
    A2aTaskState::Rejected,
    A2aTaskState::Canceled,
    A2aTaskState::InputRequired,
    A2aTaskState::AuthRequired,
];
/// The reason of a refusal by the other side's agent itself (docs/protocol.md, section 9).
const DECLINED: &str = "declined";
const PERSON_THERE: &str = "\
    it waits for a person of the other side: the program there could not handle it, and that person decides what becomes of it";
const CANCELED: &str =
    "given up here; the other side was not told, and may finish what it has begun";
const TOKEN_ENDED: &str = "given up here: the token that asked for it holds no more; what the other side has, it may finish";
const WITHHELD: &str =
    "there is an answer, and it is not shown here: its person reads it with signet inbox";
/// The artifact that holds what was answered.
pub(crate) const ANSWER: &str = "answer";
// The whole record is written at each change: without a limit, a long history would make every write slow.
const HISTORY_MAX: usize = 100;

#[cfg(test)]
mod tests;
