//! What becomes of the messages of all tasks, heard on one connection to the daemon.
//!
//! The connection can break at any time, and a daemon cuts off who does not keep up. So a new one asks anew after
//! everything that is open; what was told twice changes nothing, and only the newest progress can be missed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use signet_api::{
    Acknowledge, Message, Moved, Name, Notification, Outgoing, Reason, ShowMessage, State,
    Subscribe,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::door::{A2aDoor, Followed};
use super::request::SEALED;
use super::task::{Change, ProgressBody, told_why};
use crate::daemon::DaemonConnection;
use crate::fault::DoorError;

/// Follows what is named to it, until nobody can name more.
pub(crate) async fn follow(room: Arc<A2aDoor>, mut more: mpsc::UnboundedReceiver<Followed>) {
    let mut following = Following {
        room: &room,
        open: HashMap::new(),
        answered: VecDeque::new(),
        later: BTreeSet::new(),
        refusals: Vec::new(),
        asked: 0,
    };
    let mut pause = PAUSES.0;
    loop {
        // While no message is open, the gateway holds no connection for this work: the daemon serves 64 connections in all.
        if following.open.is_empty() {
            match more.recv().await {
                Some(next) => drop(following.open.insert(next.message.clone(), next)),
                None => return,
            }
        }
        match following.listen(&mut more).await {
            Ok(()) => pause = PAUSES.0,
            Err(_) => {
                sleep(pause).await;
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}

struct Following<'a> {
    room: &'a Arc<A2aDoor>,
    /// By the names of the messages.
    open: HashMap<String, Followed>,
    /// What is answered, and whose answer was not told yet: when to look for it.
    answered: VecDeque<(Instant, String)>,
    /// What the other side has: when to look at it again, because nothing has taken it or its life ends.
    later: BTreeSet<(Instant, String)>,
    /// What refused a message that is sent once more, while that is in the inbox.
    refusals: Vec<Name>,
    /// How many messages this connection was asked about.
    asked: usize,
}

impl Following<'_> {
    /// One connection, until it breaks, or nothing is open, or it is time for another.
    async fn listen(
        &mut self,
        more: &mut mpsc::UnboundedReceiver<Followed>,
    ) -> Result<(), DoorError> {
        let mut link = self.room.context.daemon.own_link().await?;
        self.asked = 0;
        // Every open message is asked about again below, so drop the reminders that the previous connection left.
        self.answered.clear();
        self.later.clear();
        self.drop_refusals(&mut link).await?;
        let all: Vec<String> = self.open.keys().cloned().collect();
        for message in all {
            self.ask(&mut link, &message).await?;
        }
        let renewed = Instant::now() + RENEW;
        let mut idle = None;
        while self.asked < self.open.len() + ASKED_MAX {
            // Keep the connection for `KEPT` after the last open message: a message that comes soon needs no new connection.
            idle = match self.open.is_empty() {
                true => idle.or_else(|| Some(Instant::now() + KEPT)),
                false => None,
            };
            let look = self.answered.front().map(|(when, _)| *when);
            let look = look.or(idle).unwrap_or(renewed);
            let later = self.later.first().map_or(renewed, |(when, _)| *when);
            tokio::select! {
                told = link.told() => {
                    let told = told?;
                    self.hear(&mut link, told).await?;
                }
                next = more.recv() => match next {
                    Some(next) => {
                        let message = next.message.clone();
                        // Insert the message before asking: if the connection breaks in `ask`, the next connection asks again.
                        self.open.insert(message.clone(), next);
                        self.ask(&mut link, &message).await?;
                    }
                    None => return Ok(()),
                },
                // Without a reminder in `self.later`, `later` is set to `renewed`, the time to end this connection. The arm
                // below handles that time, so this arm is then off.
                () = sleep_until(later), if later < renewed => {
                    if let Some((_, message)) = self.later.pop_first()
                        && self.open.contains_key(&message)
                    {
                        self.look_again(&mut link, &message).await?;
                    }
                }
                () = sleep_until(look.min(renewed)) => match self.answered.pop_front() {
                    Some((_, message)) => self.fetch(&mut link, &message).await?,
                    // No answer has to be fetched, so `KEPT` or `RENEW` is over: end the connection. The next connection
                    // subscribes anew, because the daemon drops its oldest subscriptions when other programs make many.
                    None => return Ok(()),
                },
            }
        }
        Ok(())
    }

    /// Wants to hear of the message, and says where it is already.
    async fn ask(&mut self, link: &mut DaemonConnection, message: &str) -> Result<(), DoorError> {
        self.asked += 1;
        let subscribe = Subscribe {
            message: Some(message.to_owned()),
            conversation: None,
        };
        let subscribed = link.call(&subscribe, PROMPT).await?;
        if subscribed.state == Some(State::Received) {
            self.look_later(message, UNTAKEN);
        }
        // The subscription tells only later news: look for earlier news unless the message is on its way and untaken.
        match subscribed.state {
            Some(State::Published | State::Received) if subscribed.taken != Some(true) => Ok(()),
            _ => self.look(link, message).await,
        }
    }

    /// The other side has it: after that time it is looked at again.
    fn look_later(&mut self, message: &str, after: Duration) {
        let when = Instant::now() + after;
        self.later.insert((when, message.to_owned()));
    }

    /// Asks where the message is.
    async fn look(&mut self, link: &mut DaemonConnection, message: &str) -> Result<(), DoorError> {
        match self.shown(link, message).await? {
            Some(out) => self.is_at(link, message, out).await,
            None => Ok(()),
        }
    }

    /// The other side has had it for a while. Where nothing takes it, its task says why that may be; where its life has
    /// ended, no answer comes any more.
    async fn look_again(
        &mut self,
        link: &mut DaemonConnection,
        message: &str,
    ) -> Result<(), DoorError> {
        let out = match self.shown(link, message).await? {
            Some(out) if out.state == State::Received => out,
            Some(out) => return self.is_at(link, message, out).await,
            None => return Ok(()),
        };
        let Some(left) = out.expires.as_deref().and_then(left_until) else {
            return self.end(message, Change::Unanswered).await;
        };
        self.look_later(message, left + OVERTIME);
        match out.taken {
            Some(true) => Ok(()),
            _ => self.change(message, Change::Untaken).await,
        }
    }

    /// What the daemon says of the message. One that it does not know has ended.
    async fn shown(
        &mut self,
        link: &mut DaemonConnection,
        message: &str,
    ) -> Result<Option<Outgoing>, DoorError> {
        let show = ShowMessage {
            message_id: message.to_owned(),
        };
        let fault = match link.call(&show, PROMPT).await {
            Ok(out) => return Ok(Some(out)),
            Err(fault) => fault,
        };
        match fault.refusal() {
            Some(error) if error.is(&Reason::MessageUnknown) => {
                self.end(message, Change::at(State::Unknown)).await?;
                Ok(None)
            }
            // Ignore any other refusal: as an error it would end the connection, and come again on the next connection.
            Some(_) => Ok(None),
            None => Err(fault),
        }
    }

    /// What that is for its task.
    async fn is_at(
        &mut self,
        link: &mut DaemonConnection,
        message: &str,
        out: Outgoing,
    ) -> Result<(), DoorError> {
        if let Some(told) = out.progress.filter(|told| told.state.is_some()) {
            let body = serde_json::json!({ "state": told.state, "note": told.note });
            // Earlier releases of the daemon say no tier, and repeat nothing sealed: take the highest tier that is not sealed.
            let tier = told.data_tier.unwrap_or(SEALED - 1);
            self.progress(message, body, tier).await?;
        }
        let change = Change::Moved {
            state: out.state,
            reason: told_why(out.reason, out.offers.as_deref()),
            by: out.by,
            waits_for: out.waits_for,
        };
        match out.state {
            State::Answered => self.fetch(link, message).await,
            State::Refused | State::Expired | State::Unknown => self.end(message, change).await,
            State::Queued | State::Published | State::Received => {
                self.change(message, change).await
            }
        }
    }

    async fn hear(
        &mut self,
        link: &mut DaemonConnection,
        told: Notification,
    ) -> Result<(), DoorError> {
        match told.method.as_str() {
            "message.moved" => {
                let Ok(moved) = serde_json::from_value::<Moved>(told.params) else {
                    return Ok(());
                };
                let message = moved.message_id;
                match moved.state {
                    _ if !self.open.contains_key(&message) => Ok(()),
                    // The daemon usually sends the answer itself right after this notification, but not if this socket may not
                    // see the answer: so wait `GRACE` for it, and only then look in the inbox.
                    State::Answered => {
                        self.answered.push_back((Instant::now() + GRACE, message));
                        Ok(())
                    }
                    State::Received => {
                        self.look_later(&message, UNTAKEN);
                        self.change(&message, Change::at(State::Received)).await
                    }
                    State::Queued
                    | State::Published
                    | State::Expired
                    | State::Unknown
                    | State::Refused => self.look(link, &message).await,
                }
            }
            "message.progress" => {
                let Ok(came) = serde_json::from_value::<Message>(told.params) else {
                    return Ok(());
                };
                match (came.in_reply_to, came.body) {
                    (Some(message), Some(body)) => {
                        self.progress(&message, body, came.data_tier).await
                    }
                    _ => Ok(()),
                }
            }
            "conversation.message" => match serde_json::from_value::<Message>(told.params) {
                Ok(came) => self.answer(link, came).await,
                Err(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    async fn progress(&mut self, message: &str, body: Value, tier: u8) -> Result<(), DoorError> {
        match serde_json::from_value::<ProgressBody>(body) {
            Ok(progress) => self.change(message, Change::Progress(progress, tier)).await,
            Err(_) => Ok(()),
        }
    }

    /// The answer to a message that is open ends it. It leaves the inbox once it is written here, and the message stays
    /// open until then: what is cut off in between is done again.
    async fn answer(
        &mut self,
        link: &mut DaemonConnection,
        came: Message,
    ) -> Result<(), DoorError> {
        // A message without `in_reply_to` answers nothing, so it is ignored: no open message has the empty name.
        let message = came.in_reply_to.clone().unwrap_or_default();
        let Some(open) = self.open.get(&message).cloned() else {
            return Ok(());
        };
        self.answered.retain(|(_, waiting)| *waiting != message);
        let name = came.name();
        if let Some(failure) = &came.error
            && self.room.again(&open, &failure.reason).await
        {
            // `again` sends the message again under a new key, with a new id. Forget the old id at once: a later connection
            // that asked about the old id would end the task.
            self.open.remove(&message);
            self.refusals.push(name);
            return self.drop_refusals(link).await;
        }
        let change = match (came.error, came.body) {
            (Some(failure), more) => Change::Refused(failure, more, came.data_tier),
            (None, Some(body)) => Change::Answer {
                body,
                tier: came.data_tier,
                name: came.message_id,
            },
            (None, None) => Change::Withheld,
        };
        self.room.changed(open.task.clone(), change).await?;
        if open.peer == name.from && self.room.may_leave_inbox(&open.task).await {
            self.acknowledge(link, name).await?;
        }
        self.settle(open).await
    }

    async fn drop_refusals(&mut self, link: &mut DaemonConnection) -> Result<(), DoorError> {
        while let Some(name) = self.refusals.last().cloned() {
            self.acknowledge(link, name).await?;
            self.refusals.pop();
        }
        Ok(())
    }

    async fn acknowledge(&self, link: &mut DaemonConnection, name: Name) -> Result<(), DoorError> {
        let acknowledge = Acknowledge::of(vec![name]);
        match link.call(&acknowledge, PROMPT).await {
            // A refusal is no error here: as a rule somebody else has already taken the answer out of the inbox.
            Err(fault) if fault.refusal().is_none() => Err(fault),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Looks for the answer in the inbox and in what was said before.
    async fn fetch(&mut self, link: &mut DaemonConnection, message: &str) -> Result<(), DoorError> {
        match link.answer_to(message).await? {
            Some(came) => self.answer(link, came).await,
            None => self.end(message, Change::Withheld).await,
        }
    }

    async fn change(&self, message: &str, change: Change) -> Result<(), DoorError> {
        match self.open.get(message) {
            Some(open) => self.room.changed(open.task.clone(), change).await,
            None => Ok(()),
        }
    }

    async fn end(&mut self, message: &str, change: Change) -> Result<(), DoorError> {
        let Some(open) = self.open.get(message).cloned() else {
            return Ok(());
        };
        // Write the task before settling the message: after a crash in between, the message is followed again,
        // and a task that is over stays as it is.
        self.room.changed(open.task.clone(), change).await?;
        self.settle(open).await
    }

    /// Nothing more is asked about the message, not even after a restart.
    async fn settle(&mut self, open: Followed) -> Result<(), DoorError> {
        self.room.settled(open.key).await?;
        self.open.remove(&open.message);
        Ok(())
    }
}

/// How long it is until that time of RFC 3339; `None` where it is past.
fn left_until(time: &str) -> Option<Duration> {
    let until = chrono::DateTime::parse_from_rfc3339(time).ok()?;
    let left = until.signed_duration_since(chrono::Utc::now());
    left.to_std().ok().filter(|left| !left.is_zero())
}

const PROMPT: Duration = Duration::from_secs(30);
/// How long a daemon that is not there is left alone, the first time and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// How long an answer may take that the daemon has, before it is looked for.
const GRACE: Duration = Duration::from_millis(500);
/// How long programs may take to take a message: most of what is taken at all is taken soon.
const UNTAKEN: Duration = Duration::from_secs(10);
/// How long after the end of a life an answer may still be on its way through the daemon.
const OVERTIME: Duration = Duration::from_secs(2);
/// How long a connection is kept on which nothing is open.
const KEPT: Duration = Duration::from_secs(5);
/// How long one connection is used.
const RENEW: Duration = Duration::from_secs(600);
/// Messages that one connection is asked about beside those that are open: the daemon remembers 4,096 of all programs.
const ASKED_MAX: usize = 1_000;
