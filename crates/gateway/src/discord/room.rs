//! `[discord]` of the configuration, and the tasks that it starts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use signet_api::{AttachCarrier, ClientError};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::found::Snowflake;
use super::rest::Channel;
use super::state::State;
use super::token::token;
use super::{carry, read, show};
use crate::carriers::Lacking;
use crate::carrying::cause;
use crate::carrying::link::{Link, Told};
use crate::context::Context;
use crate::say::say;

/// `[discord]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Section {
    /// The id of the channel.
    pub(crate) channel: String,
    /// The file with the bot's token; the credential `discord-token` of the service when absent.
    #[serde(default)]
    pub(crate) token_file: Option<PathBuf>,
    /// Which messages are shown.
    #[serde(default)]
    pub(crate) shows: Shows,
    /// The name of the carrier, as the daemon's configuration has it; without one the channel is only written.
    #[serde(default)]
    pub(crate) carrier: Option<String>,
    /// Seconds between two looks at the channel.
    #[serde(default = "five")]
    pub(crate) poll_seconds: u64,
    /// Where Discord is.
    #[serde(default = "discord")]
    pub(crate) base_url: String,
    /// Where the places are kept, beside the configuration.
    #[serde(default = "state")]
    pub(crate) state_file: PathBuf,
}

/// Which messages a channel shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shows {
    /// Of tiers 1 and 2.
    #[default]
    Open,
    /// Of every tier: what is sealed stays sealed.
    All,
    /// None.
    Nothing,
}

impl Section {
    /// What cannot be meant.
    pub(crate) fn unfit(&self) -> Option<String> {
        self.id().err().or_else(|| self.base().err())
    }

    fn id(&self) -> Result<Snowflake, String> {
        let id = self.channel.parse().map(Snowflake);
        id.map_err(|_| "`channel` under [discord] is the id of a channel: digits alone".to_owned())
    }

    fn base(&self) -> Result<Url, String> {
        let base = Url::parse(&self.base_url).ok();
        let base = base.filter(|base| matches!(base.scheme(), "http" | "https"));
        base.ok_or_else(|| {
            "`base-url` under [discord] begins with https://; without it the gateway calls Discord's own".to_owned()
        })
    }
}

impl Shows {
    pub(crate) const fn has(self, tier: u8) -> bool {
        match self {
            Self::Open => tier <= 2,
            Self::All => true,
            Self::Nothing => false,
        }
    }
}

/// What the tasks share.
pub(crate) struct Room {
    pub(crate) section: Section,
    pub(crate) channel: Channel,
    pub(crate) state: State,
    pub(crate) socket: PathBuf,
    stop: CancellationToken,
    own: Mutex<Own>,
}

/// What this gateway posted itself.
#[derive(Default)]
struct Own {
    posts: BTreeSet<Snowflake>,
    /// The messages that went out by the channel: they are shown already.
    carried: BTreeSet<String>,
}

impl Room {
    /// The channel of the configuration, beside the daemon of that socket.
    ///
    /// # Errors
    /// What is lacking: what gateway.toml itself names is said first.
    pub(crate) fn of(
        context: &Context,
        section: &Section,
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

    /// Keeps where showing begins, before anybody is told that the gateway is there. A daemon that is away is not waited
    /// for: nothing is said before it is there.
    pub(crate) async fn begin(&self) {
        // Why it is not done, the first session says.
        let _ = timeout(FIRST_PLACE, show::begin(self)).await;
    }

    /// Shows, carries and reads until the gateway is to end.
    pub(crate) async fn run(self) {
        // Until there is a place, what is said once the daemon is there is missed.
        let pause = |why: &ClientError| match (why, self.state.places().shown) {
            (ClientError::NotReachable { .. }, None) => SHORT_PAUSE,
            _ => PAUSE,
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = again("what is shown on Discord", pause, || show::session(&self)) => {}
            () = again("Discord as a carrier", |_: &ClientError| PAUSE, || carrier(&self)) => {}
        }
    }

    pub(crate) fn note_post(&self, post: Snowflake) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.posts.insert(post);
        if own.posts.len() > REMEMBERED {
            own.posts.pop_first();
        }
    }

    pub(crate) fn is_own(&self, post: Snowflake) -> bool {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.posts.contains(&post)
    }

    /// Message-ids rise with time, so the oldest is forgotten first.
    pub(crate) fn note_carried(&self, message_id: &str) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.carried.insert(message_id.to_owned());
        if own.carried.len() > REMEMBERED {
            own.carried.pop_first();
        }
    }

    pub(crate) fn was_carried(&self, message_id: &str) -> bool {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.carried.contains(message_id)
    }
}

fn parts(context: &Context, section: &Section) -> Result<(Channel, State), String> {
    let token = token(context, section)?;
    let channel = Channel::of(&context.outgoing, &section.base()?, section.id()?, &token);
    let path = context.config.path(&section.state_file);
    let state = State::load(path).map_err(|error| format!("`state-file` under [discord]: {error}"));
    Ok((
        channel.ok_or("the token of [discord] holds what no token does")?,
        state?,
    ))
}

/// Reads and carries while the daemon is there, where the channel is a carrier.
async fn carrier(room: &Room) -> ClientError {
    let Some(carrier) = &room.section.carrier else {
        return std::future::pending().await;
    };
    let begun = async {
        let (link, told) = Link::open(&room.socket).await?;
        let attach = AttachCarrier {
            carrier: carrier.clone(),
        };
        let attached = link.call(&attach, PROMPT).await?;
        Ok::<(Link, Told, String), ClientError>((link, told, attached.agent))
    };
    match begun.await {
        Ok((link, told, agent)) => tokio::select! {
            ended = carry::session(room, &link, carrier, told) => ended,
            ended = read::session(room, &link, carrier, &agent) => ended,
        },
        Err(error) => error,
    }
}

/// Begins anew whenever the daemon goes.
async fn again<F: Future<Output = ClientError>>(
    what: &str,
    pause: impl Fn(&ClientError) -> Duration,
    session: impl Fn() -> F,
) {
    let mut told_why = String::new();
    loop {
        let ended = session().await;
        let why = cause(&ended);
        if why != told_why {
            say(&format!("{what}: {why}; trying again"));
            told_why = why;
        }
        sleep(pause(&ended)).await;
    }
}

fn discord() -> String {
    "https://discord.com/api/v10".to_owned()
}

const fn five() -> u64 {
    5
}

fn state() -> PathBuf {
    PathBuf::from("discord.json")
}

pub(crate) const PROMPT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(2);
/// Between two looks for a daemon that is not there yet.
const SHORT_PAUSE: Duration = Duration::from_millis(50);
/// How long the daemon may take to say where its log ends, before the gateway says that it listens.
const FIRST_PLACE: Duration = Duration::from_secs(2);
const REMEMBERED: usize = 4_096;
