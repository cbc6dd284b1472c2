//! What the tasks of the channel share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tokio_util::sync::CancellationToken;

use super::found::Snowflake;
use super::rest::Channel;
use super::state::ChannelState;
use super::token::token;
use crate::config::carriers::{DiscordSection, Lacking};
use crate::context::Context;
use crate::lock::Locked as _;

/// What the tasks share.
pub(crate) struct DiscordDoor {
    pub(crate) section: DiscordSection,
    pub(crate) channel: Channel,
    pub(crate) state: ChannelState,
    pub(crate) socket: PathBuf,
    pub(super) stop: CancellationToken,
    own: Mutex<Own>,
}

/// What this gateway posted itself.
#[derive(Default)]
struct Own {
    posts: BTreeSet<Snowflake>,
    /// The messages that went out by the channel: they are shown already.
    carried: BTreeSet<String>,
}

impl DiscordDoor {
    /// The channel of the configuration, beside the daemon of that socket.
    ///
    /// # Errors
    /// What is lacking: what gateway.toml itself names is said first.
    pub(crate) fn of(
        context: &Context,
        section: &DiscordSection,
        socket: Option<&Path>,
    ) -> Result<Self, Lacking> {
        let (channel, state) = parts(context, section).map_err(Lacking::Discord)?;
        Ok(Self {
            section: section.clone(),
            channel,
            state,
            socket: socket.ok_or(Lacking::Socket)?.to_owned(),
            stop: context.stop.clone(),
            own: Mutex::default(),
        })
    }

    pub(crate) fn note_post(&self, post: Snowflake) {
        let mut own = self.own.locked();
        own.posts.insert(post);
        // Remember only the newest posts: otherwise the set would grow as long as the gateway runs. Ids of posts rise with
        // time, so the oldest is the first in the set.
        if own.posts.len() > REMEMBERED {
            own.posts.pop_first();
        }
    }

    pub(crate) fn is_own(&self, post: Snowflake) -> bool {
        let own = self.own.locked();
        own.posts.contains(&post)
    }

    /// Message-ids rise with time, so the oldest is forgotten first.
    pub(crate) fn note_carried(&self, message_id: &str) {
        let mut own = self.own.locked();
        own.carried.insert(message_id.to_owned());
        if own.carried.len() > REMEMBERED {
            own.carried.pop_first();
        }
    }

    pub(crate) fn was_carried(&self, message_id: &str) -> bool {
        let own = self.own.locked();
        own.carried.contains(message_id)
    }
}

fn parts(context: &Context, section: &DiscordSection) -> Result<(Channel, ChannelState), String> {
    let token = token(context, section)?;
    let channel = Channel::of(
        &context.outgoing,
        &section.base()?,
        Snowflake(section.id()?),
        &token,
    );
    let path = context.config.path(&section.state_file);
    let state =
        ChannelState::load(path).map_err(|error| format!("`state-file` under [discord]: {error}"));
    Ok((
        channel.ok_or("the token of [discord] holds what no token does")?,
        state?,
    ))
}

const REMEMBERED: usize = 4_096;
