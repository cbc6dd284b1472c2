//! What in [a2a] of gateway.toml and in [card] of config.toml nobody can use: looked for once when the gateway starts.

use std::sync::Arc;
use std::time::Duration;

use signet_api::{Reason, ShowPeer};
use tokio::time::sleep;

use super::door::A2aDoor;
use crate::context::Context;
use crate::say::say;

/// Warns of a card whose key nobody finds, and of each agent of whom the daemon says that it knows no such. While the
/// daemon is away or its disk is full, it is asked again.
pub(crate) async fn warn_at_start(room: Arc<A2aDoor>) {
    // Repeat until the daemon gives the card. Nothing is done with it here: `signed_card` itself logs a warning if readers of
    // this agent's signed card would not find its key.
    while room.signed_card(None).await.is_err() {
        sleep(PAUSE).await;
    }
    let context = &room.context;
    for (key, peer) in context.config.a2a.named() {
        if let Some(near) = is_unknown(context, peer).await {
            say(&warning(key, peer, near.as_deref()));
        }
    }
}

/// Whether the daemon knows no such agent, and then whom it resembles.
async fn is_unknown(context: &Context, peer: &str) -> Option<Option<String>> {
    let show = ShowPeer {
        peer: peer.to_owned(),
    };
    loop {
        let fault = match context.daemon.call(&show, Duration::ZERO).await {
            Ok(_) => return None,
            Err(fault) => fault,
        };
        match fault.refusal() {
            Some(error) if error.is(&Reason::PeerUnknown) || error.is(&Reason::PeerResembles) => {
                let refusal = error.refusal();
                return Some(refusal.and_then(|refusal| refusal.did_you_mean.clone()));
            }
            // Any refusal but `PeerUnknown` and `PeerResembles` does not prove that there is no such agent, for instance
            // because the socket shows fewer peers than the daemon knows: so warn of nothing.
            Some(_) => return None,
            None => sleep(PAUSE).await,
        }
    }
}

fn warning(key: &str, peer: &str, near: Option<&str>) -> String {
    let near = near.map_or_else(String::new, |near| format!("; perhaps {near} is meant"));
    format!(
        "warning: `{key}` under [a2a] of gateway.toml names {peer}, and the daemon knows no such agent{near}; `signet peer \
         list` says whom it knows"
    )
}

const PAUSE: Duration = Duration::from_secs(5);
