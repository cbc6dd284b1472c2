//! The carriers that the configuration switches on: HTTP, and a channel of Discord's.

use std::path::Path;
use std::sync::Arc;

use axum::Router;

use crate::context::Context;
use crate::{carrying, discord};

/// Begins to carry. What comes back is the inbox, which is open to everybody.
///
/// # Errors
/// What the configuration or the command line lacks.
pub(crate) fn begin(context: &Arc<Context>, socket: Option<&Path>) -> Result<Router, String> {
    let (inbox, channel) = (&context.config.inbox, &context.config.discord);
    if inbox.is_none() && channel.is_none() {
        return Ok(Router::new());
    }
    let socket = socket.ok_or(NO_SOCKET)?;
    if let Some(section) = channel {
        tokio::spawn(discord::Room::of(context, section, socket)?.run());
    }
    let Some(section) = inbox else {
        return Ok(Router::new());
    };
    let room = carrying::Room::of(context, section, socket.to_owned());
    tokio::spawn(carrying::run(Arc::clone(&room)));
    Ok(carrying::open_routes(&room))
}

const NO_SOCKET: &str = "[inbox] and [discord] carry messages by the daemon's carrier socket, and there is none; set `socket` \
    in [carrier-socket] of the daemon's config.toml";
