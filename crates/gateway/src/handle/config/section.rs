//! One `[[handler]]` of the file.

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use signet_api::OfferCapability;
use signet_files::{SettingFault, TomlTable};
use signet_handlers::answer;
use signet_handlers::{Attempt, Done, Fault, Handler, Trying, Worker};
use signet_json::Limits;

use super::target::Target;
use super::written::{self, CommonKeys};
use crate::handle::trace::Trace;

/// A handler as it may be run.
#[derive(Debug)]
pub struct HandlerSection {
    capability: String,
    target: Target,
    timeout: Duration,
    /// 0 until it is known what the others leave, where the file does not say it.
    parallel: u8,
    /// The highest data tier that it is given.
    tier: u8,
    offer: Option<OfferCapability>,
}

impl HandlerSection {
    /// The capability that it handles.
    pub fn capability(&self) -> &str {
        &self.capability
    }

    /// How many messages it handles at once.
    pub const fn parallel(&self) -> u8 {
        self.parallel
    }

    /// As many at once as the others leave, up to the usual, where the file does not say it.
    pub(super) fn take_share(&mut self, left: u8) {
        if self.parallel == 0 {
            // Take at least one worker, even if none is left: the sum of all workers is then too large, and the file is refused
            // for that reason.
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
        let inner = self.target.handler(self.timeout, trace);
        Box::new(Within {
            tier: self.tier,
            inner,
        })
    }

    /// Reads it; `taken` says whether another handles the capability already.
    pub(super) fn read(
        mut keys: TomlTable<'_, '_>,
        beside: &Path,
        taken: impl FnOnce(&str) -> bool,
    ) -> Result<Self, SettingFault> {
        let common: CommonKeys = keys.take()?;
        if common.capability.is_empty() {
            let what = "`capability` is empty; name what is handled";
            return Err(keys.fault("capability", what));
        }
        if taken(&common.capability) {
            let what = format!("`{}` has a handler already; give it one", common.capability);
            return Err(keys.fault("capability", what));
        }
        let offer = common.offer(beside);
        let offer = offer.map_err(|what| keys.fault("schema", what))?;
        let target = written::target(keys, &common, beside)?;
        Ok(Self {
            timeout: common.timeout,
            parallel: common.parallel.map_or(0, |places| places.0),
            tier: common
                .tier
                .map_or_else(|| target.usual_tier(), |tier| tier.0),
            capability: common.capability,
            target,
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
    fn handle<'a>(&'a mut self, attempt: &'a Attempt<'a>) -> Trying<'a> {
        let (message, tier) = (attempt.message, self.tier);
        let ruled = match message.data_tier > tier {
            _ if message.is_handoff() => Some(Done::Nothing),
            true => Some(Done::Declined(format!(
                "what handles this here takes data up to tier {tier}"
            ))),
            false => None,
        };
        match ruled {
            Some(done) => async { Ok(done) }.boxed_local(),
            None => async { sendable(self.inner.handle(attempt).await?) }.boxed_local(),
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
        // A body that is too large for a message would not reach the sender: so leave out its `parts`, and send the `text`.
        Done::Unfinished { text, mut body } if fits(&body).is_err() => {
            body.as_object_mut().map(|members| members.remove("parts"));
            Done::Unfinished { text, body }
        }
        other => other,
    })
}

/// Messages at once of a handler that does not say it.
const USUAL_PARALLEL: u8 = 4;
