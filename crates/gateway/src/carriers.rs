//! The carriers that the configuration switches on: HTTP, and a channel of Discord's.

use std::path::Path;
use std::sync::Arc;

use axum::Router;

use crate::context::Context;
use crate::{carrying, discord};

/// Carriers that can begin.
pub(crate) struct Carriers {
    channel: Option<discord::Room>,
    inbox: Option<Arc<carrying::Room>>,
}

/// What is lacking to begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lacking {
    #[error("{0}")]
    Discord(String),
    #[error(
        "[inbox] and [discord] carry messages by the daemon's carrier socket, and there is none"
    )]
    Socket,
}

impl Lacking {
    /// What to do about it.
    pub(crate) const fn next(&self) -> &'static str {
        match self {
            Self::Discord(_) => {
                "correct [discord] in gateway.toml, or the file that it names; docs/gateway.md has every key"
            }
            Self::Socket => {
                "set `socket` under [carrier-socket] of the daemon's config.toml, and start the daemon again"
            }
        }
    }
}

impl Carriers {
    /// Those of the configuration. Nothing is carried yet.
    ///
    /// # Errors
    /// What is lacking.
    pub(crate) fn of(context: &Arc<Context>, socket: Option<&Path>) -> Result<Self, Lacking> {
        let (inbox, channel) = (&context.config.inbox, &context.config.discord);
        let channel = channel.as_ref();
        let channel = channel.map(|section| discord::Room::of(context, section, socket));
        let inbox = inbox.as_ref().map(|section| {
            let socket = socket.ok_or(Lacking::Socket)?;
            Ok(carrying::Room::of(context, section, socket.to_owned()))
        });
        Ok(Self {
            channel: channel.transpose()?,
            inbox: inbox.transpose()?,
        })
    }

    /// Keeps from where on a channel shows what is said, where that is not known.
    pub(crate) async fn fix_places(&self) {
        if let Some(channel) = &self.channel {
            channel.begin().await;
        }
    }

    /// Begins to carry. What comes back is the inbox, which is open to everybody.
    pub(crate) fn begin(self) -> Router {
        if let Some(channel) = self.channel {
            tokio::spawn(channel.run());
        }
        let Some(room) = self.inbox else {
            return Router::new();
        };
        tokio::spawn(carrying::run(Arc::clone(&room)));
        carrying::open_routes(&room)
    }
}
