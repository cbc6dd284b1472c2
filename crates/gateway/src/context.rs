//! What the doors of the listener share.

use std::sync::Arc;

use signet_api::Ceiling;
use tokio_util::sync::CancellationToken;

use crate::config::GatewayConfig;
use crate::daemon::Daemon;
use crate::outgoing::HttpClient;
use crate::scope::Caller;
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
    /// Whether that caller's token is still valid. What the gateway does for a caller between its calls, such as a push,
    /// stops when the token is revoked.
    pub(crate) fn still_admits(&self, caller: &str) -> bool {
        let tokens = self.tokens.as_ref();
        tokens.is_none_or(|tokens| tokens.is_held_by(caller))
    }

    /// Runs `work` in the background until it is done or the gateway ends.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        tokio::spawn(async move { stop.run_until_cancelled(work).await });
    }

    /// The caller of that name, for work that the gateway does between its calls, or that its token was revoked.
    pub(crate) fn holder(&self, name: &str) -> Holder {
        match &self.tokens {
            Some(tokens) => tokens.holder(name),
            None => Holder::Held(Caller {
                name: name.into(),
                scope: Ceiling::default(),
                gone: CancellationToken::new(),
            }),
        }
    }

    /// The daemon as that caller may use it: the daemon narrows every connection to the caller's scope before anything is
    /// asked on it.
    pub(crate) fn daemon_of(&self, caller: &Caller) -> Arc<Daemon> {
        Arc::new(self.daemon.narrowed(caller))
    }
}
