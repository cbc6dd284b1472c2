//! One `[[handler]]` of the file.

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use signet_api::OfferCapability;
use signet_handlers::answer;
use signet_handlers::{Done, Fault, Handler, Task, Trying, Worker};
use signet_json::Limits;

use super::target::{HandlerKind, Target};
use super::written::WrittenSection;
use crate::handle::trace::Trace;

/// A handler as it may be run.
#[derive(Debug)]
pub struct HandlerSection {
    capability: String,
    kind: HandlerKind,
    target: Target,
    timeout: Duration,
    /// 0 until it is known what the others leave, where the file does not say it.
    parallel: u8,
    /// The variables of our environment that its command finds beside the usual ones.
    env: Vec<String>,
    /// The highest data tier that it is given.
    tier: u8,
    offer: Option<OfferCapability>,
}

impl HandlerSection {
    /// The capability that it handles.
    pub fn capability(&self) -> &str {
        &self.capability
    }

    /// What it is.
    pub const fn kind(&self) -> HandlerKind {
        self.kind
    }

    /// How many messages it handles at once.
    pub const fn parallel(&self) -> u8 {
        self.parallel
    }

    /// As many at once as the others leave, up to the usual, where the file does not say it.
    pub(super) fn take_share(&mut self, left: u8) {
        if self.parallel == 0 {
            self.parallel = left.clamp(1, USUAL_PARALLEL);
        }
    }

    /// How long one try may take.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What it offers to peers.
    pub const fn offer(&self) -> Option<&OfferCapability> {
        self.offer.as_ref()
    }

    /// One worker of it, with a handler of its own.
    pub fn worker(&self, socket: &Path, trace: &Trace, once: bool) -> Worker {
        Worker {
            socket: socket.to_owned(),
            handler: self.handler(trace),
            timeout: self.timeout,
            capabilities: Some(vec![self.capability.clone()]),
            offer: self.offer.clone(),
            retry_after: None,
            once,
            stops: false,
        }
    }

    /// What tries its messages.
    pub fn handler(&self, trace: &Trace) -> Box<dyn Handler> {
        let inner = self.target.handler(self.timeout, &self.env, trace);
        Box::new(Within {
            tier: self.tier,
            inner,
        })
    }

    pub(super) fn read(written: WrittenSection, beside: &Path) -> Result<Self, String> {
        if written.capability.is_empty() {
            return Err("`capability` is empty; name what is handled".to_owned());
        }
        let offer = written.offer(beside)?;
        let timeout = written.timeout.unwrap_or(60.0);
        let timeout = Duration::try_from_secs_f64(timeout).ok();
        let timeout = timeout.filter(|timeout| !timeout.is_zero() && *timeout <= LONGEST);
        let timeout =
            timeout.ok_or("`timeout` is not a number of seconds up to a day; 60 is usual")?;
        let parallel = written.parallel.unwrap_or(0);
        if written.parallel.is_some() && !(1..=32).contains(&parallel) {
            return Err("`parallel` is not between 1 and 32; 4 is usual".to_owned());
        }
        let target = written.target(beside)?;
        let tier = written.tier.unwrap_or_else(|| target.usual_tier());
        if !(1..=4).contains(&tier) {
            return Err(
                "`tier` is not between 1 and 4; write the highest that it may see".to_owned(),
            );
        }
        Ok(Self {
            capability: written.capability,
            kind: written.kind,
            target,
            timeout,
            parallel,
            env: written.env.unwrap_or_default(),
            tier,
            offer,
        })
    }
}

/// Holds a handler to what it may see, and keeps handoffs for whoever may decide about them.
struct Within {
    tier: u8,
    inner: Box<dyn Handler>,
}

impl Handler for Within {
    fn handle<'a>(&'a mut self, task: &'a Task<'a>) -> Trying<'a> {
        let (message, tier) = (task.message, self.tier);
        let ruled = match message.data_tier > tier {
            _ if message.is_handoff() => Some(Done::Nothing),
            true => Some(Done::Declined(format!(
                "what handles this here takes data up to tier {tier}"
            ))),
            false => None,
        };
        match ruled {
            Some(done) => async { Ok(done) }.boxed_local(),
            None => async { sendable(self.inner.handle(task).await?) }.boxed_local(),
        }
    }

    fn look(&self) -> Result<(), Fault> {
        self.inner.look()
    }
}

/// What the daemon would refuse to send has failed here, by the same name with a daemon and without one.
fn sendable(done: Done) -> Result<Done, Fault> {
    let fits = |body: &Value| answer::read(body.to_string().as_bytes(), Limits::MESSAGE).map(drop);
    Ok(match done {
        Done::Answer(body) => {
            fits(&body).map_err(Fault::of_answer)?;
            Done::Answer(body)
        }
        // Its words are cut short for its sender; what no message holds of them is left out.
        Done::Unfinished { text, mut body } if fits(&body).is_err() => {
            body.as_object_mut().map(|members| members.remove("parts"));
            Done::Unfinished { text, body }
        }
        other => other,
    })
}

/// Messages at once of a handler that does not say it.
const USUAL_PARALLEL: u8 = 4;
/// As long as a lease can be.
const LONGEST: Duration = Duration::from_secs(24 * 3600 - 60);
