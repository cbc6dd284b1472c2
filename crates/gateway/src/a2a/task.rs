//! The state of one task: what the daemon tells of its messages becomes states, artifacts and events of A2A.
//!
//! ```text
//! submitted ──▶ working ──▶ completed                     whatever is terminal stays so
//!      │  ▲        │  ▲ ──▶ failed, rejected
//!      │  └────────┼──┘ ──▶ canceled (here alone: the other side is not told)
//!      └──▶ input-required ──▶ a further message ──▶ submitted
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use signet_api::{Failure, State as Sent, WaitsFor, Whose};
use signet_text::visible;

use super::body;
use super::clock::Now;
use super::model::{
    Artifact, ArtifactUpdate, Event, Message, Part, Role, State, Status, StatusUpdate, Task,
};

/// A task with what the gateway knows of it besides.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) task: Task,
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
    /// The parts of artifacts that came before those that go before them.
    #[serde(default)]
    early: BTreeMap<String, Early>,
}

/// The parts of one artifact, which come in any order.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct Early {
    next: u32,
    waiting: BTreeMap<u32, (Vec<Part>, bool)>,
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
    Progress(Progress, u8),
    /// The answer.
    Answer {
        body: Value,
        tier: u8,
        /// Its name, under which it waits in the inbox.
        name: String,
    },
    /// The refusal of the agent that was asked, or of its daemon.
    Refused(Failure),
    /// The answer is there and is not for this gateway's eyes, or cannot be opened any more.
    Withheld,
    /// The daemon did not take the message: a sentence of ours.
    NotTaken(String),
    /// The client gave it up.
    Canceled,
    /// The client was shown the answer.
    Shown,
}

/// The body of `agent.progress`.
#[derive(Clone, PartialEq, Deserialize)]
pub(crate) struct Progress {
    pub(crate) state: signet_api::ProgressState,
    #[serde(default)]
    pub(crate) note: Option<String>,
    #[serde(default)]
    pub(crate) part: Option<ProgressPart>,
}

/// A part of what the answer will be.
#[derive(Clone, PartialEq, Deserialize)]
pub(crate) struct ProgressPart {
    index: u32,
    #[serde(default)]
    last: bool,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    body: Option<Value>,
}

impl Record {
    /// A new task.
    pub(crate) fn new(task: Task, caller: &str, peer: &str, reach: u8, keeps_all: bool) -> Self {
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
            early: BTreeMap::new(),
        }
    }

    /// Whether nothing comes before people have decided.
    pub(crate) const fn waits_for_people(&self) -> bool {
        self.waits_for_people
    }

    /// Whether there is an answer that its caller is not shown.
    pub(crate) const fn is_withheld(&self) -> bool {
        self.is_withheld
    }

    /// Puts an answer that was not kept where its caller looks for it.
    pub(crate) fn put_answer(&mut self, body: Value) {
        self.put_parts(ANSWER, body::parts_of(body), false, true);
    }

    /// Something of that tier is said in it: from then on nothing of it may be kept where that is not.
    pub(crate) fn admit(&mut self, tier: u8) {
        self.tier = self.tier.max(tier);
        self.is_kept &= tier < SEALED || self.keeps_all;
    }

    /// The client says more: the task is under way again.
    pub(crate) fn say(&mut self, message: Message, tier: u8, now: Now) -> Vec<Event> {
        self.admit(tier);
        self.put_status_into_history();
        self.put_into_history(message);
        let is_waiting = self.task.status.state.is_interrupted();
        match is_waiting {
            true => vec![self.status(State::Submitted, None, now)],
            false => Vec::new(),
        }
    }

    /// What that change makes of it. Nothing moves a terminal task.
    pub(crate) fn apply(&mut self, change: Change, now: Now) -> Vec<Event> {
        if let Change::Shown = change {
            self.answer = None;
        }
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
            Change::Progress(_, tier) if tier > self.reach => Vec::new(),
            Change::Progress(progress, tier) => {
                self.admit(tier);
                self.progress(progress, now)
            }
            Change::Answer { tier, .. } if tier > self.reach => self.withheld(now),
            Change::Answer { body, tier, name } => {
                self.admit(tier);
                self.answer = (!self.is_kept).then_some(name);
                self.answered(&body, now)
            }
            Change::Refused(failure) => {
                let state = match failure.reason.as_str() {
                    "declined" => State::Rejected,
                    _ => State::Failed,
                };
                let said = format!("{}: {}", failure.reason, failure.message);
                vec![self.ended(state, &said, now)]
            }
            Change::Withheld => self.withheld(now),
            Change::NotTaken(why) => vec![self.ended(State::Rejected, &why, now)],
            Change::Canceled => vec![self.ended(State::Canceled, CANCELED, now)],
        }
    }

    fn moved(
        &mut self,
        state: Sent,
        reason: Option<&str>,
        by: Option<Whose>,
        waits_for: Option<WaitsFor>,
        now: Now,
    ) -> Vec<Event> {
        self.waits_for_people = waits_for.is_some_and(is_for_people);
        let because = reason.map_or_else(String::new, |reason| format!(" ({})", visible(reason)));
        match state {
            Sent::Queued | Sent::Published => {
                let Some(sentence) = waits_for.and_then(waiting) else {
                    return Vec::new();
                };
                let is_said =
                    self.task.status.message.as_ref().is_some_and(|message| {
                        message.parts.first() == Some(&Part::text(sentence))
                    });
                match is_said || self.task.status.state != State::Submitted {
                    true => Vec::new(),
                    false => vec![self.status(State::Submitted, Some(sentence.to_owned()), now)],
                }
            }
            // That the peer's daemon has it says nothing of its agent; what waited here waits no more.
            Sent::Received => match self.task.status.message.is_some()
                && self.task.status.state == State::Submitted
            {
                true => vec![self.status(State::Submitted, None, now)],
                false => Vec::new(),
            },
            Sent::Answered => Vec::new(),
            Sent::Refused => {
                let sentence = match by {
                    Some(Whose::Own) => format!("not sent: this side does not allow it{because}"),
                    _ => format!("refused by the other side{because}"),
                };
                vec![self.ended(State::Rejected, &sentence, now)]
            }
            Sent::Expired => vec![self.ended(State::Failed, EXPIRED, now)],
            Sent::Unknown => {
                let sentence = format!("{UNKNOWN}{because}");
                vec![self.ended(State::Failed, &sentence, now)]
            }
        }
    }

    fn progress(&mut self, progress: Progress, now: Now) -> Vec<Event> {
        use signet_api::ProgressState::{InputRequired, Working};
        let mut events = Vec::new();
        if let Some(part) = progress.part {
            events.extend(self.part(part));
        }
        let state = match progress.state {
            Working => State::Working,
            InputRequired => State::InputRequired,
        };
        let is_news = state != self.task.status.state || progress.note.is_some();
        if is_news {
            self.put_status_into_history();
            events.push(self.status(state, progress.note, now));
        }
        events
    }

    /// A part goes into its artifact when all that go before it have.
    fn part(&mut self, part: ProgressPart) -> Vec<Event> {
        let name = part.name.unwrap_or_else(|| ANSWER.to_owned());
        let is_new = !self.early.contains_key(&name);
        if is_new && self.early.len() >= ARTIFACTS_MAX {
            return Vec::new();
        }
        let early = self.early.entry(name.clone()).or_default();
        let is_late = part.index < early.next;
        if is_late || early.waiting.len() >= EARLY_MAX {
            return Vec::new();
        }
        let parts = part.body.map(body::parts_of).unwrap_or_default();
        early.waiting.insert(part.index, (parts, part.last));
        let mut ready = Vec::new();
        while let Some(found) = early.waiting.remove(&early.next) {
            ready.push((early.next > 0, found));
            early.next += 1;
        }
        let ready = ready.into_iter();
        let events =
            ready.filter_map(|(append, (parts, last))| self.put_parts(&name, parts, append, last));
        events.collect()
    }

    fn put_parts(
        &mut self,
        name: &str,
        parts: Vec<Part>,
        append: bool,
        last_chunk: bool,
    ) -> Option<Event> {
        let artifacts = &mut self.task.artifacts;
        let found = artifacts.iter_mut().find(|it| it.artifact_id == name);
        match found {
            _ if parts.is_empty() => return None,
            Some(artifact) if append => {
                if artifact.parts.len() + parts.len() > PARTS_MAX {
                    return None;
                }
                artifact.parts.extend(parts.clone());
            }
            Some(artifact) => artifact.parts.clone_from(&parts),
            None => artifacts.push(Artifact {
                artifact_id: name.to_owned(),
                parts: parts.clone(),
            }),
        }
        Some(Event::ArtifactUpdate(ArtifactUpdate {
            task_id: self.task.id.clone(),
            context_id: self.task.context_id.clone(),
            artifact: Artifact {
                artifact_id: name.to_owned(),
                parts,
            },
            append,
            last_chunk,
        }))
    }

    /// The answer is the whole result: it takes the place of the parts that came before.
    fn answered(&mut self, answer: &Value, now: Now) -> Vec<Event> {
        self.early.clear();
        self.put_status_into_history();
        let parts = body::parts_of(answer.clone());
        let mut events: Vec<Event> = self
            .put_parts(ANSWER, parts, false, true)
            .into_iter()
            .collect();
        events.push(self.status(State::Completed, None, now));
        events
    }

    fn withheld(&mut self, now: Now) -> Vec<Event> {
        self.is_withheld = true;
        vec![self.ended(State::Failed, WITHHELD, now)]
    }

    fn ended(&mut self, state: State, sentence: &str, now: Now) -> Event {
        self.early.clear();
        self.put_status_into_history();
        self.status(state, Some(visible(sentence).into_owned()), now)
    }

    fn status(&mut self, state: State, note: Option<String>, now: Now) -> Event {
        let (task_id, context_id) = (self.task.id.clone(), self.task.context_id.clone());
        let message = note.map(|note| Message {
            message_id: now.id(),
            context_id: Some(context_id.clone()),
            task_id: Some(task_id.clone()),
            role: Role::Agent,
            parts: vec![Part::text(note)],
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        });
        self.task.status = Status {
            state,
            message,
            timestamp: now.text(),
        };
        Event::StatusUpdate(StatusUpdate {
            task_id,
            context_id,
            status: self.task.status.clone(),
        })
    }

    fn put_status_into_history(&mut self) {
        if let Some(message) = self.task.status.message.take() {
            self.put_into_history(message);
        }
    }

    fn put_into_history(&mut self, message: Message) {
        let history = &mut self.task.history;
        // What was asked first stays: it says what the task is.
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

/// Why a message is still here, for the client, where people or clocks keep it; what is merely under way says nothing.
fn waiting(waits_for: WaitsFor) -> Option<&'static str> {
    match waits_for {
        WaitsFor::Approval => Some("it waits for the approval of this side's person"),
        WaitsFor::Introduction => {
            Some("it waits until the people of both sides have introduced their agents")
        }
        WaitsFor::Resume => Some("it waits: the person has told this side's agents to pause"),
        WaitsFor::Clock => Some("it waits until this side's clock is right"),
        WaitsFor::Alarm => Some("it waits until a person has seen to an alarm"),
        WaitsFor::Session | WaitsFor::Connection => {
            Some("it waits until the other side can be reached")
        }
    }
}

/// Whether a message waits for what no client can wait for at its end of a connection.
const fn is_for_people(waits_for: WaitsFor) -> bool {
    !matches!(waits_for, WaitsFor::Session | WaitsFor::Connection)
}

const CANCELED: &str =
    "given up here; the other side was not told, and may finish what it has begun";
const EXPIRED: &str = "its life ended without a receipt; the other side may have it all the same";
const UNKNOWN: &str = "nobody can say what became of it; the other side may have it";
const WITHHELD: &str =
    "there is an answer, and it is not shown here: its person reads it with signet inbox";
/// From this tier on what is said travels sealed.
pub(crate) const SEALED: u8 = 3;
/// The artifact that holds what was answered.
pub(crate) const ANSWER: &str = "answer";
const HISTORY_MAX: usize = 100;
const ARTIFACTS_MAX: usize = 32;
/// Parts that wait for others, of one artifact.
const EARLY_MAX: usize = 64;
const PARTS_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record() -> Record {
        let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED", "timestamp": "x"}});
        let task = serde_json::from_value(task).unwrap();
        Record::new(task, "me", "agent-bob", 2, false)
    }

    fn moved(state: Sent, by: Option<Whose>, waits_for: Option<WaitsFor>) -> Change {
        Change::Moved {
            state,
            reason: Some("tier-denied".to_owned()),
            by,
            waits_for,
        }
    }

    fn progress(value: Value) -> Change {
        Change::Progress(serde_json::from_value(value).unwrap(), 1)
    }

    fn answer(body: Value, tier: u8) -> Change {
        Change::Answer {
            body,
            tier,
            name: "a".to_owned(),
        }
    }

    fn said(record: &Record) -> Value {
        serde_json::to_value(&record.task.status).unwrap()["message"]["parts"][0]["text"].clone()
    }

    #[test]
    fn an_answer_completes_a_task_and_nothing_moves_it_afterwards() {
        let (mut record, now) = (record(), Now::at_start());
        let events = record.apply(answer(json!({"evenings": ["Tue"]}), 1), now);
        assert_eq!(events.len(), 2);
        assert_eq!(record.task.status.state, State::Completed);
        assert!(record.apply(Change::Canceled, now).is_empty());
        assert!(record.apply(answer(json!("late"), 1), now).is_empty());
        let task = serde_json::to_value(&record.task).unwrap();
        assert_eq!(
            task["artifacts"],
            json!([{"artifactId": "answer", "parts": [{"data": {"evenings": ["Tue"]}}]}])
        );
    }

    #[test]
    fn a_draft_that_waits_for_the_person_is_a_task_that_says_so_once() {
        let (mut record, now) = (record(), Now::at_start());
        let waits = || moved(Sent::Queued, None, Some(WaitsFor::Approval));
        assert_eq!(record.apply(waits(), now).len(), 1);
        assert!(record.apply(waits(), now).is_empty());
        assert_eq!(record.task.status.state, State::Submitted);
        assert!(said(&record).as_str().unwrap().contains("approval"));
        assert_eq!(
            record.apply(moved(Sent::Received, None, None), now).len(),
            1
        );
        assert_eq!(said(&record), Value::Null);
        assert!(
            record
                .apply(moved(Sent::Published, None, None), now)
                .is_empty()
        );
    }

    #[test]
    fn a_refusal_says_in_plain_words_whose_it_is() {
        let now = Now::at_start();
        for (change, state, words) in [
            (
                moved(Sent::Refused, Some(Whose::Own), None),
                State::Rejected,
                "not sent: this side does not allow it (tier-denied)",
            ),
            (
                moved(Sent::Refused, Some(Whose::Peer), None),
                State::Rejected,
                "refused by the other side (tier-denied)",
            ),
            (moved(Sent::Expired, None, None), State::Failed, EXPIRED),
            (
                moved(Sent::Unknown, None, None),
                State::Failed,
                "nobody can say",
            ),
            (Change::Withheld, State::Failed, WITHHELD),
            (Change::NotTaken("no".to_owned()), State::Rejected, "no"),
            (Change::Canceled, State::Canceled, CANCELED),
        ] {
            let mut record = record();
            assert_eq!(record.apply(change, now).len(), 1);
            assert_eq!(record.task.status.state, state);
            assert!(
                said(&record).as_str().unwrap().starts_with(words),
                "{words}"
            );
        }
        let mut record = record();
        let failure =
            json!({"code": -32000, "message": "not \u{1b}[2Jtoday", "reason": "declined"});
        let failure = serde_json::from_value(failure).unwrap();
        record.apply(Change::Refused(failure), now);
        assert_eq!(record.task.status.state, State::Rejected);
        assert!(!said(&record).as_str().unwrap().contains('\u{1b}'));
    }

    #[test]
    fn parts_in_any_order_are_shown_in_theirs_and_the_answer_takes_their_place() {
        let (mut record, now) = (record(), Now::at_start());
        let part = |index: u32, last: bool, text: &str| {
            progress(
                json!({"state": "working", "part": {"index": index, "last": last, "body": text}}),
            )
        };
        assert_eq!(
            record.apply(part(1, false, "b"), now).len(),
            1,
            "the state alone"
        );
        assert_eq!(record.apply(part(2, true, "c"), now).len(), 0);
        let events = record.apply(part(0, false, "a"), now);
        let events: Vec<Value> = events.iter().map(|event| json!(event)).collect();
        let order: Vec<&Value> = events
            .iter()
            .map(|event| &event["artifactUpdate"]["artifact"]["parts"][0]["text"])
            .collect();
        assert_eq!(order, ["a", "b", "c"]);
        assert_eq!(events[0]["artifactUpdate"].get("append"), None);
        assert_eq!(events[1]["artifactUpdate"]["append"], true);
        assert_eq!(events[2]["artifactUpdate"]["lastChunk"], true);
        assert!(record.apply(part(1, false, "again"), now).is_empty());
        assert_eq!(record.task.artifacts[0].parts.len(), 3);
        record.apply(answer(json!("abc"), 1), now);
        assert!(record.task.artifacts[0].parts == vec![Part::text("abc")]);
    }

    #[test]
    fn parts_that_never_fit_are_bounded() {
        let (mut record, now) = (record(), Now::at_start());
        for index in 1..1_000 {
            record.apply(progress(json!({"state": "working", "part": {"index": index, "last": false, "body": "x"}})), now);
            record.apply(progress(json!({"state": "working", "part": {"index": 1, "last": false, "name": format!("n{index}"), "body": "x"}})), now);
        }
        assert!(record.early.len() <= ARTIFACTS_MAX);
        assert!(
            record
                .early
                .values()
                .all(|early| early.waiting.len() <= EARLY_MAX)
        );
    }

    #[test]
    fn who_is_asked_for_more_says_more_and_goes_on() {
        let (mut record, now) = (record(), Now::at_start());
        record.apply(
            progress(json!({"state": "input-required", "note": "which week?"})),
            now,
        );
        assert_eq!(record.task.status.state, State::InputRequired);
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "7"}]});
        let events = record.say(serde_json::from_value(message).unwrap(), 1, now);
        assert_eq!(
            (events.len(), record.task.status.state),
            (1, State::Submitted)
        );
        let history = json!(record.task.history);
        assert_eq!(history[0]["parts"][0]["text"], "which week?");
        assert_eq!(history[1]["messageId"], "m");
    }

    #[test]
    fn an_answer_above_the_tokens_tier_is_withheld_and_one_of_tier_3_is_not_kept() {
        let (mut low, now) = (record(), Now::at_start());
        low.apply(answer(json!("secret"), 3), now);
        assert_eq!(low.task.status.state, State::Failed);
        assert!(!serde_json::to_string(&low).unwrap().contains("secret"));
        let mut high = Record {
            reach: 4,
            ..record()
        };
        high.apply(answer(json!("secret"), 3), now);
        assert!(!high.is_kept && high.answer.as_deref() == Some("a"));
        assert!(
            serde_json::to_string(&high.task)
                .unwrap()
                .contains("secret")
        );
        high.apply(Change::Shown, now);
        assert_eq!(high.answer, None);
        let mut kept = Record {
            reach: 4,
            keeps_all: true,
            ..record()
        };
        kept.apply(answer(json!("secret"), 3), now);
        assert!(kept.is_kept && kept.answer.is_none());
    }

    #[test]
    fn what_is_not_kept_leaves_no_word_behind() {
        let (mut record, now) = (record(), Now::at_start());
        record.apply(progress(json!({"state": "working", "note": "secret", "part": {"index": 3, "last": false, "body": "secret"}})), now);
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "secret"}]});
        record.say(serde_json::from_value(message).unwrap(), 1, now);
        record.apply(answer(json!({"secret": 1}), 1), now);
        let bare = serde_json::to_string(&record.without_words()).unwrap();
        assert!(!bare.contains("secret"), "{bare}");
    }
}
