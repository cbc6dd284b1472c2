//! Whether `default` of gateway.toml names an agent that is known, asked once when the gateway starts.

use std::sync::Arc;
use std::time::Duration;

use signet_api::{ClientError, Reason, ShowPeer};
use tokio::time::sleep;

use crate::context::Context;
use crate::fault::Fault;
use crate::say::say;

/// Warns where the daemon says that it knows no such agent. While the daemon is away, it is asked again.
pub(crate) async fn warn_of_default(context: Arc<Context>) {
    let Some(peer) = context.config.a2a.default.clone() else {
        return;
    };
    let show = ShowPeer { peer: peer.clone() };
    loop {
        match context.daemon.call(&show, Duration::ZERO).await {
            Ok(_) => return,
            Err(Fault::Daemon(ClientError::Refused(error)))
                if error.is(&Reason::PeerUnknown) || error.is(&Reason::PeerResembles) =>
            {
                let near = error
                    .refusal()
                    .and_then(|refusal| refusal.did_you_mean.as_deref());
                return say(&warning(&peer, near));
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

fn warning(peer: &str, near: Option<&str>) -> String {
    let near = near.map_or_else(String::new, |near| format!("; perhaps {near} is meant"));
    format!(
        "warning: `default` under [a2a] of gateway.toml names {peer}, and the daemon knows no such agent{near}; `signet peer \
         list` says whom it knows"
    )
}

const PAUSE: Duration = Duration::from_secs(5);
