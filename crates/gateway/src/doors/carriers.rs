//! The carriers that the configuration switches on: HTTP, and a channel of Discord's.

use std::path::Path;
use std::sync::Arc;

use axum::Router;

use super::{discord, inbox};
use crate::config::carriers::Lacking;
use crate::context::Context;

/// The carriers that the configuration names and that can begin.
pub(crate) struct ConfiguredCarriers {
    channel: Option<discord::DiscordDoor>,
    inbox: Option<Arc<inbox::HttpCarrier>>,
}

impl ConfiguredCarriers {
    /// Those of the configuration. Nothing is carried yet.
    ///
    /// # Errors
    /// What is lacking.
    pub(crate) fn of(context: &Arc<Context>, socket: Option<&Path>) -> Result<Self, Lacking> {
        let (inbox, channel) = (&context.config.inbox, &context.config.discord);
        let channel = channel.as_ref();
        let channel = channel.map(|section| discord::DiscordDoor::of(context, section, socket));
        let inbox = inbox.as_ref().map(|section| {
            let socket = socket.ok_or(Lacking::Socket)?;
            Ok(inbox::HttpCarrier::of(context, section, socket.to_owned()))
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
        tokio::spawn(inbox::run(Arc::clone(&room)));
        inbox::open_routes(&room)
    }
}
