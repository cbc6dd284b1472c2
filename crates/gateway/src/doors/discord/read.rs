//! What others posted in the channel, read as what any carrier brings.

use std::time::Duration;

use bytes::Bytes;
use signet_api::ClientError;
use signet_proto::envelope::{MAX_MESSAGE, Unverified};
use tokio::time::sleep;

use super::door::DiscordDoor;
use super::found::{ChannelPost, Snowflake};
use super::rest::RestFault;
use crate::doors::inbox::encode;
use crate::doors::inbox::link::{CarrierConnection, RULING, delivery};
use crate::say::say;

/// Looks at the channel again and again, from where the last session ended.
pub(crate) async fn session(
    room: &DiscordDoor,
    link: &CarrierConnection,
    carrier: &str,
    agent: &str,
) -> ClientError {
    let (mut told, mut is_told_of_old) = (None, false);
    loop {
        match once(room, link, carrier, agent).await {
            // One request returns at most 100 posts, so there may be more: ask again at once.
            Ok(Looked { newer: 1.., .. }) => continue,
            Ok(Looked { skipped, .. }) => {
                if skipped > 0 && !is_told_of_old {
                    say(&format!(
                        "Discord answers with {skipped} posts that are not newer than what was asked for; such are skipped. See to \
                         `base-url` under [discord] of gateway.toml, and to what stands between this machine and Discord"
                    ));
                    is_told_of_old = true;
                }
            }
            Err(ReadError::Daemon(error)) => return error,
            Err(ReadError::Discord(fault)) => {
                if told != Some(fault) && fault != RestFault::Later {
                    say(&format!("Discord is not read for now: {fault}"));
                }
                told = Some(fault);
            }
        }
        sleep(Duration::from_secs(room.section.poll_seconds.max(1))).await;
    }
}

/// Why the channel was not read.
enum ReadError {
    Daemon(ClientError),
    Discord(RestFault),
}

/// What one look at the channel brought.
#[derive(Default)]
struct Looked {
    /// Posts newer than the position.
    newer: usize,
    /// Posts that are not newer than the position, and so were not asked for.
    skipped: usize,
}

/// One look at the channel.
async fn once(
    room: &DiscordDoor,
    link: &CarrierConnection,
    carrier: &str,
    agent: &str,
) -> Result<Looked, ReadError> {
    let after = room.state.places().read;
    let posts = room
        .channel
        .read(after.map(Snowflake))
        .await
        .map_err(ReadError::Discord)?;
    let mut looked = Looked::default();
    let Some(after) = after else {
        // No position is stored, so this is the first look at the channel: reading begins after its newest post, and not with
        // all that was ever posted there.
        let newest = posts.last().map_or(0, |post| post.id.0);
        keep(room, newest)?;
        return Ok(looked);
    };
    let mut place = Snowflake(after);
    for post in &posts {
        // Skip posts up to the position: a cache, or a false server, may answer with old posts. A position that went
        // back would have all posts after it read and handed in again.
        if post.id <= place {
            looked.skipped += 1;
            continue;
        }
        // Skip the gateway's own posts: what they hold came from this gateway's own daemon, which needs no copy.
        if !room.is_own(post.id) {
            take(room, link, carrier, agent, post).await?;
        }
        place = post.id;
        keep(room, place.0)?;
        looked.newer += 1;
    }
    Ok(looked)
}

fn keep(room: &DiscordDoor, read: u64) -> Result<(), ReadError> {
    let kept = room.state.change(|places| places.read = Some(read));
    kept.map_err(|error| ReadError::Daemon(ClientError::Io(error)))
}

/// Hands in the envelope of a post, where there is one for this agent. The place behind the post is kept only once the
/// daemon has ruled on it.
async fn take(
    room: &DiscordDoor,
    link: &CarrierConnection,
    carrier: &str,
    agent: &str,
    post: &ChannelPost,
) -> Result<(), ReadError> {
    let Some(bytes) = envelope(room, post).await? else {
        return Ok(());
    };
    if !is_for(&bytes, agent) {
        return Ok(());
    }
    let request = delivery(carrier, vec![encode(&bytes)]);
    link.call(&request, RULING)
        .await
        .map_err(ReadError::Daemon)?;
    Ok(())
}

async fn envelope(room: &DiscordDoor, post: &ChannelPost) -> Result<Option<Bytes>, ReadError> {
    if let Some(block) = post.block() {
        return Ok(Some(Bytes::copy_from_slice(block.as_bytes())));
    }
    match post.file(MAX_MESSAGE) {
        None => Ok(None),
        Some(file) => match room.channel.file(file).await {
            // Check the length again, and skip a file that is too long: it may be longer than the post claims.
            Ok(bytes) => Ok(Some(bytes).filter(|bytes| bytes.len() <= MAX_MESSAGE)),
            // A file that cannot be fetched must not stop the reading: an error here would leave the position before this post,
            // and the reader would fail at it again and again. So skip the file.
            Err(_) => Ok(None),
        },
    }
}

/// Whether it is meant for this agent, and not by it: a channel shows everybody's messages. Everything else about it is the
/// daemon's to judge.
pub(crate) fn is_for(bytes: &[u8], agent: &str) -> bool {
    Unverified::parse(bytes).is_ok_and(|message| {
        let headers = &message.claims().headers;
        headers.recipient_id.as_str() == agent && headers.agent_id.as_str() != agent
    })
}
