//! What the doors of the listener share.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::config::GatewayConfig;
use crate::daemon::Daemon;
use crate::outgoing::HttpClient;
use crate::scope::{Caller, Scope};
use crate::tokens::{Holder, Tokens};

/// What every door shares.
pub(crate) struct Context {
    /// The daemon, without any scope: a door asks it for a caller by [`Context::daemon_of`].
    pub(crate) daemon: Arc<Daemon>,
    /// The one way out.
    pub(crate) outgoing: HttpClient,
    pub(crate) config: GatewayConfig,
    /// Who is let in; `None` where everybody is.
    pub(crate) tokens: Option<Arc<Tokens>>,
    /// Cancelled when the gateway is to end.
    pub(crate) stop: CancellationToken,
}

impl Context {
    /// Whether the token of that caller holds still: what is done for it without it, such as a push, ends with it.
    pub(crate) fn still_admits(&self, caller: &str) -> bool {
        let tokens = self.tokens.as_ref();
        tokens.is_none_or(|tokens| tokens.is_held_by(caller))
    }

    /// Does that beside everything else, until it is done or the gateway is to end.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        tokio::spawn(async move { stop.run_until_cancelled(work).await });
    }

    /// The caller of that name, of whom something is under way, as far as it is let in still.
    pub(crate) fn holder(&self, name: &str) -> Holder {
        match &self.tokens {
            Some(tokens) => tokens.holder(name),
            None => Holder::Held(Caller {
                name: name.into(),
                scope: Scope::default(),
                gone: CancellationToken::new(),
            }),
        }
    }

    /// The daemon as that caller may use it: every connection is narrowed to the caller's scope first, by the daemon.
    pub(crate) fn daemon_of(&self, caller: &Caller) -> Arc<Daemon> {
        Arc::new(self.daemon.narrowed(caller))
    }
}
