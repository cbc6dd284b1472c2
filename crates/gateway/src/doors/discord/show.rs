//! Transparency: what was sent and taken, line by line of the log, in the channel.

use std::time::Duration;

use signet_api::{ClientError, FollowTransparency, Transparent};

use super::door::DiscordDoor;
use super::rest::RestFault;
use super::text::{ShownMessage, written};
use crate::doors::inbox::decode;
use crate::doors::inbox::link::{CarrierConnection, RULING};
use crate::say::say;

/// Keeps the place from which on messages are shown, where there is none yet. It is the end of the log now: what is said
/// before the first message is waited for is shown as well, also when this gateway is killed meanwhile.
///
/// # Errors
/// That the daemon does not tell it: there is no place still.
pub(crate) async fn begin(room: &DiscordDoor) -> Result<(), ClientError> {
    if room.state.places().shown.is_some() {
        return Ok(());
    }
    let (link, _told) = CarrierConnection::open(&room.socket).await?;
    keep(room, end_of_log(&link).await?)
}

/// Shows what the daemon gives, from where the last session ended.
pub(crate) async fn session(room: &DiscordDoor) -> ClientError {
    if let Err(error) = begin(room).await {
        return error;
    }
    let (link, _told) = match CarrierConnection::open(&room.socket).await {
        Ok(opened) => opened,
        Err(error) => return error,
    };
    loop {
        let request = FollowTransparency {
            after: room.state.places().shown,
            limit: None,
            wait: WAIT.as_secs_f64(),
        };
        let part = match link.call(&request, RULING + WAIT).await {
            Ok(part) => part,
            Err(error) => return error,
        };
        for message in &part.messages {
            show(room, message).await;
            // Store how far the log was shown only after the post: after a crash in between, the message is posted again and
            // not left out. Discord drops such a copy if it comes soon, because its nonce is the same.
            if let Err(error) = keep(room, message.line) {
                return error;
            }
        }
        // The last lines of this part may hold no message to show. Store that they were read, too: otherwise the next request
        // would read them again.
        if let Err(error) = keep(room, part.through) {
            return error;
        }
    }
}

async fn end_of_log(link: &CarrierConnection) -> Result<u64, ClientError> {
    let part = link.call(&FollowTransparency::default(), RULING).await?;
    // Showing begins after the line that is returned here. Messages in this answer came while the daemon answered, and are
    // still to be shown: so return the line before the first of them.
    let first = part.messages.first();
    Ok(first.map_or(part.through, |message| message.line.saturating_sub(1)))
}

fn keep(room: &DiscordDoor, line: u64) -> Result<(), ClientError> {
    room.state
        .change(|places| places.shown = Some(line))
        .map_err(ClientError::Io)
}

/// Posts one message, as often as it takes. What Discord will not have is left out, and that is said; so is a message that
/// it may have taken, where no answer says so.
async fn show(room: &DiscordDoor, message: &Transparent) {
    // Skip a message whose tier this channel does not show. Skip also one that was carried as a parcel over this channel: it is
    // already there for all to read.
    if !room.section.shows.has(message.data_tier) || room.was_carried(&message.message_id) {
        return;
    }
    let Some(envelope) = decode(&message.envelope) else {
        return;
    };
    let written = written(&shown(message, &envelope));
    let (mut told, mut malformed) = (None, 0);
    loop {
        match room.channel.post(&written).await {
            Ok(post) => return room.note_post(post),
            Err(fault @ RestFault::Unfit(_)) => {
                return say(&format!("a message is not shown on Discord: {fault}"));
            }
            Err(RestFault::Malformed) if malformed == MALFORMED => {
                return say(&format!(
                    "a message is perhaps not shown on Discord: {}; see to `base-url` under [discord] of gateway.toml, and \
                     to what stands between this machine and Discord",
                    RestFault::Malformed
                ));
            }
            Err(fault) => {
                malformed += u32::from(fault == RestFault::Malformed);
                if told != Some(fault) && fault != RestFault::Later {
                    say(&format!("Discord shows nothing for now: {fault}"));
                }
                told = Some(fault);
            }
        }
    }
}

fn shown<'a>(message: &'a Transparent, envelope: &'a [u8]) -> ShownMessage<'a> {
    ShownMessage {
        from: &message.from,
        from_principal: Some(&message.from_principal),
        to: &message.to,
        to_principal: message.to_principal.as_deref(),
        kind: message.method.as_deref().unwrap_or(&message.message_type),
        about: message.capability.as_deref(),
        tier: message.data_tier,
        time: &message.timestamp,
        summary: message.summary.as_deref(),
        envelope,
        message_id: &message.message_id,
    }
}

const WAIT: Duration = Duration::from_secs(50);
/// Answers without a meaning after which a message is posted once more.
const MALFORMED: u32 = 4;
