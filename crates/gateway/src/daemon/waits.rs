//! Calls that wait for others, in turns: whoever has waited for a while makes room for the next in line, and goes on when
//! its turn comes again. What a call does is done at once, also while its wait is in line.

use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::Value;
use signet_api::{
    Outgoing, Receive, Request as _, Send, SendHandoff, Sent, ShowMessage, State, WaitsFor,
};
use tokio::time::{Instant, sleep};

use super::{Daemon, DaemonConnection, LINE, Lasting};
use crate::fault::DoorError;
use crate::random::random;

impl Daemon {
    /// Sends, and waits for as long as the call says for what becomes of it.
    ///
    /// # Errors
    /// The daemon's refusal, that there is no answer, or `busy`.
    pub(crate) async fn send(&self, call: &Send) -> Result<Value, DoorError> {
        let wait = seconds(call.wait);
        if wait.is_zero() {
            return self.raw(Send::METHOD, call, wait).await;
        }
        let (places, caller) = (&self.shared.places, &self.whose.caller);
        let until = Instant::now() + wait;
        let mut place = places.take_now(caller, Lasting::AWhile);
        let mut call = call.clone();
        // Without a slot, or for a wait longer than `SHORT_TURN`, several calls may be made, each with the same message: the
        // key makes the daemon send the message only once.
        if call.key.is_none() && (place.is_none() || wait > SHORT_TURN) {
            call.key = Some(fresh_key("gateway")?);
        }
        let mut last = None;
        loop {
            let has_place = match (place.take(), last.take()) {
                (Some(place), _) => place,
                // No slot for waiting is free: send the message now, by a call that does not wait, and wait for the
                // answer once a slot is free.
                (None, None) => {
                    call.wait = 0.0;
                    let answer = self.raw(Send::METHOD, &call, Duration::ZERO).await?;
                    if !is_awaited(&answer) {
                        return Ok(answer);
                    }
                    last = Some(answer);
                    continue;
                }
                (None, Some(so_far)) => {
                    let left = until.saturating_duration_since(Instant::now());
                    match places.take(caller, Lasting::AWhile, left).await {
                        Ok(place) => place,
                        // No slot came free before the wait was over: answer with the newest state that is known.
                        Err(_) => return Ok(so_far),
                    }
                }
            };
            let began = Instant::now();
            let turn = until
                .saturating_duration_since(began)
                .min(self.turn_for(&call));
            call.wait = turn.as_secs_f64();
            let answer = self.asked(Send::METHOD, &call, turn, has_place).await?;
            // If the daemon answered before the end of this turn, nothing is left to wait for. If the caller's whole wait is
            // over (`until`), this answer is the last as well.
            if began.elapsed() < turn || Instant::now() >= until {
                return Ok(answer);
            }
            last = Some(answer);
        }
    }

    /// Hands work on, and waits for as long as the call says until the other side has it.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn hand_off(&self, call: &SendHandoff) -> Result<Value, DoorError> {
        let until = Instant::now() + seconds(call.wait);
        let place = self
            .shared
            .places
            .take_now(&self.whose.caller, Lasting::AWhile);
        let turn = match place {
            Some(_) => seconds(call.wait).min(self.turn_of(Lasting::AWhile)),
            None => Duration::ZERO,
        };
        let call = SendHandoff {
            wait: turn.as_secs_f64(),
            ..call.clone()
        };
        let mut answer = match place {
            Some(place) => self.asked(SendHandoff::METHOD, &call, turn, place).await?,
            None => self.raw(SendHandoff::METHOD, &call, turn).await?,
        };
        let Ok(mut sent) = serde_json::from_value::<Sent>(answer.clone()) else {
            return Ok(answer);
        };
        // A hand-off has no key, so sending it again would make a second one: send it once, and then only ask for its state.
        while is_under_way(&sent) && Instant::now() < until {
            sleep(LOOK_AGAIN.min(until - Instant::now())).await;
            sent = self.as_it_is_now(sent).await?;
            answer = serde_json::to_value(&sent).unwrap_or(answer);
        }
        Ok(answer)
    }

    /// Asks where the message is now: a daemon whose wait is over tells the state from the beginning of the wait.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn as_it_is_now(&self, sent: Sent) -> Result<Sent, DoorError> {
        let asked = ShowMessage {
            message_id: sent.message_id.clone(),
        };
        let out: Outgoing = self.call(&asked, Duration::ZERO).await?;
        Ok(Sent {
            state: out.state,
            reason: out.reason,
            by: out.by,
            waits_for: out.waits_for,
            held_by: out.held_by,
            stored: out.stored,
            offers: out.offers,
            ..sent
        })
    }

    /// Receives, and waits for as long as the call says; with the connection on which what was received is held.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn receive(
        &self,
        call: &Receive,
    ) -> Result<(Value, Option<DaemonConnection>), DoorError> {
        let (places, caller) = (&self.shared.places, &self.whose.caller);
        let lasting = Lasting::Received;
        let until = Instant::now() + seconds(call.wait);
        let mut last = None;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // Before the first call, wait at least `LINE` for a slot, even if the caller's own wait is shorter: without a slot
            // the daemon was not asked yet. Later, the last answer says that nothing came, and can be returned.
            let patience = match last {
                None => left.max(LINE),
                Some(_) => left,
            };
            let place = match (places.take(caller, lasting, patience).await, last.take()) {
                (Ok(place), _) => place,
                (Err(_), Some(nothing)) => return Ok((nothing, None)),
                (Err(busy), None) => return Err(busy),
            };
            let mut link = self.begin(Some(place)).await?;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                let turn = left.min(self.turn_of(lasting));
                let call = Receive {
                    wait: turn.as_secs_f64(),
                    ..call.clone()
                };
                let answer = link.raw(Receive::METHOD, &call, turn).await?;
                let messages = answer.get("messages").and_then(Value::as_array);
                let is_empty = messages.is_some_and(Vec::is_empty);
                if !is_empty || Instant::now() >= until {
                    return Ok((answer, Some(link)));
                }
                if places.has_line(lasting) {
                    last = Some(answer);
                    break;
                }
            }
        }
    }

    /// How long a call may wait before it looks whether somebody else needs its place.
    fn turn_of(&self, lasting: Lasting) -> Duration {
        match self.shared.places.has_line(lasting) {
            true => SHORT_TURN,
            false => TURN,
        }
    }

    /// How long one turn of a send lasts: longer than `mailbox_after`, which each turn begins anew, so that the message can
    /// go into the mailbox within it.
    fn turn_for(&self, call: &Send) -> Duration {
        let mailbox = call.mailbox_after.map_or(Duration::ZERO, seconds);
        self.turn_of(Lasting::AWhile).max(mailbox + SHORT_TURN)
    }
}

/// Whether waiting makes sense: a message that waits for a person's decision will not move soon.
fn is_awaited(answer: &Value) -> bool {
    let sent = serde_json::from_value::<Sent>(answer.clone());
    sent.is_ok_and(|sent| is_under_way(&sent) || sent.state == State::Received)
}

const fn is_under_way(sent: &Sent) -> bool {
    matches!(sent.state, State::Queued | State::Published)
        && matches!(
            sent.waits_for,
            None | Some(WaitsFor::Session | WaitsFor::Peer)
        )
}

fn seconds(wait: f64) -> Duration {
    Duration::try_from_secs_f64(wait).map_or(Duration::ZERO, |wait| wait.min(LONGEST_WAIT))
}

/// A name for a call that nobody else gives.
///
/// # Errors
/// Where the system gives no randomness.
pub(crate) fn fresh_key(of_what: &str) -> Result<String, DoorError> {
    let bytes = random::<16>().ok_or(DoorError::Own("the system gives no randomness"))?;
    Ok(format!("{of_what}-{}", HEXLOWER.encode(&bytes)))
}

/// How long one call waits at the daemon, and while others are in line.
const TURN: Duration = Duration::from_secs(5);
const SHORT_TURN: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests;
