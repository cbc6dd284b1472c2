//! How a try ended, and what the daemon and the log of the process hear of it.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::{
    Acknowledge, Client, ClientError, Fail, Failed, Leased, Reason, Request, Respond,
};
use signet_text::visible;

use crate::call::{Stopped, try_call};
use crate::{Done, Fault};

/// How a try ended, while the daemon hears of it.
pub(crate) struct Ending<'a> {
    pub(crate) client: Client,
    pub(crate) leased: &'a Leased,
    pub(crate) retry_after: Option<Duration>,
    /// What the daemon made of a try that failed.
    pub(crate) failed: Option<Failed>,
}

impl Ending<'_> {
    /// The daemon hears how a try went that did not fail.
    pub(crate) async fn conclude(self, done: Done) -> Result<Self, Stopped> {
        let asks = self.leased.message.is_request();
        match done {
            Done::Answer(body) if asks => self.respond(body).await,
            Done::Declined(text) if asks => self.decline(text, None).await,
            Done::Unfinished { text, body } if asks => self.decline(text, Some(body)).await,
            _ => {
                let done = Acknowledge {
                    lease: Some(self.leased.lease.clone()),
                    keep: asks || self.leased.message.is_handoff(),
                    ..Acknowledge::default()
                };
                Ok(self.tell(done).await?.0)
            }
        }
    }

    async fn respond(mut self, body: Value) -> Result<Self, Stopped> {
        let answer = Respond {
            lease: Some(self.leased.lease.clone()),
            body: Some(body),
            ..Respond::default()
        };
        let (client, told) = try_call(self.client, answer).await?;
        self.client = client;
        let Err(refused) = told else { return Ok(self) };
        let reason = format!("its answer was refused: {}", refused_as(&refused));
        match never_leaves(&refused) {
            true => self.end_unsendable(&reason).await,
            false => self.fail(&reason).await,
        }
    }

    /// The request ends where its answer can never be sent: more tries would do the work again, and come to the same.
    pub(crate) async fn end_unsendable(self, why: &str) -> Result<Self, Stopped> {
        self.say(why);
        let text = format!("it was handled, and its answer cannot be sent: {why}");
        self.decline(text, Some(json!({ "state": "failed" }))).await
    }

    async fn decline(mut self, text: String, body: Option<Value>) -> Result<Self, Stopped> {
        let answer = |body| Respond {
            lease: Some(self.leased.lease.clone()),
            decline: Some(text.clone()),
            body,
            ..Respond::default()
        };
        let is_more = body.is_some();
        let (mut client, mut told) = try_call(self.client, answer(body)).await?;
        // Try again without the body, which may make the message too large: the sender at least gets the text of the refusal.
        if is_more && told.as_ref().is_err_and(never_leaves) {
            (client, told) = try_call(client, answer(None)).await?;
        }
        self.client = client;
        match told {
            Ok(_) => Ok(self),
            Err(refused) => {
                let reason = format!("its refusal was refused: {}", refused_as(&refused));
                self.fail(&reason).await
            }
        }
    }

    pub(crate) async fn fail(self, reason: &str) -> Result<Self, Stopped> {
        let tries = self.leased.tries.saturating_sub(1);
        let pause = self.retry_after.map(|first| {
            let doubled = 1_u32.checked_shl(tries.into()).unwrap_or(u32::MAX);
            first.saturating_mul(doubled).as_secs_f64()
        });
        let fail = Fail {
            lease: self.leased.lease.clone(),
            reason: reason.to_owned(),
            unbegun: false,
            pause,
        };
        let (mut ended, failed) = self.tell(fail).await?;
        let next = match failed {
            Some(Failed { quarantined, .. }) if quarantined => {
                "; it is in the quarantine: signet quarantine list".to_owned()
            }
            Some(Failed { again_in, .. }) => again_in.map_or_else(String::new, |pause| {
                format!("; try {}, the next in {pause} s", ended.leased.tries)
            }),
            None => String::new(),
        };
        ended.say(&format!("{reason}{next}"));
        ended.failed = failed;
        Ok(ended)
    }

    /// What never began is no try: the message waits for the next one.
    pub(crate) async fn give_back(self, fault: &Fault) -> Result<Self, Stopped> {
        let reason = fault.to_string();
        self.say(&reason);
        let fail = Fail {
            lease: self.leased.lease.clone(),
            reason,
            unbegun: true,
            pause: None,
        };
        Ok(self.tell(fail).await?.0)
    }

    /// Says how a try ended. A lease that has ended meanwhile is somebody else's.
    async fn tell<R>(mut self, said: R) -> Result<(Self, Option<R::Answer>), Stopped>
    where
        R: Request + Send + 'static,
        R::Answer: Send,
    {
        let (client, told) = try_call(self.client, said).await?;
        self.client = client;
        match told {
            Ok(answer) => Ok((self, Some(answer))),
            Err(refused) => {
                self.say(&refused.to_string());
                Ok((self, None))
            }
        }
    }

    fn say(&self, what: &str) {
        let message = &self.leased.message;
        say(&format!(
            "{} from {}: {what}",
            message.message_id, message.from
        ));
    }
}

/// Whether no later try could send the same answer: its size or its form is at fault, and not the moment.
fn never_leaves(refused: &ClientError) -> bool {
    let ClientError::Refused(error) = refused else {
        return false;
    };
    let is_of_form = |reason: &Reason| UNFIT.contains(&reason.as_str());
    error.is_of_params() || error.reason().is_some_and(is_of_form)
}

fn refused_as(error: &ClientError) -> String {
    let ClientError::Refused(refused) = error else {
        return error.to_string();
    };
    let reason = refused.reason();
    reason.map_or_else(|| "invalid".to_owned(), |reason| reason.to_string())
}

/// Standard error is the log of a process that handles messages; when nobody reads it, the work goes on.
pub(crate) fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible(what));
}

/// What the daemon says of an answer that no message holds (docs/protocol.md, section 10).
const UNFIT: [&str; 6] = [
    "too-large",
    "too-deep",
    "too-many-values",
    "duplicate-name",
    "number-out-of-range",
    "invalid-shape",
];
