//! What goes out by the channel: an envelope for another agent that reads it there.

use signet_api::CarriedParcel;
use signet_proto::envelope::Unverified;

use super::door::DiscordDoor;
use super::text::{ShownMessage, written};
use crate::doors::inbox::decode;

/// Whether the channel has it. There is one channel, which the daemon knows by the word alone.
pub(super) async fn post(room: &DiscordDoor, parcel: &CarriedParcel, under_way: usize) -> bool {
    // Discord is slow: post at most `AT_ONCE` parcels at the same time, and refuse any other at once, which the daemon then
    // sends by another carrier or later.
    let is_here = parcel.address == ADDRESS && under_way < AT_ONCE;
    let Some(bytes) = decode(&parcel.bytes).filter(|_| is_here) else {
        return false;
    };
    let Ok(message) = Unverified::parse(&bytes) else {
        return false;
    };
    let claims = message.claims();
    let headers = &claims.headers;
    let message_id = headers.message_id.to_string();
    let from = headers.agent_id.to_string();
    let principal = headers.principal_id.to_string();
    let (time, kind) = (headers.timestamp.to_string(), claims.form.method());
    let shown = ShownMessage {
        from: &from,
        from_principal: Some(&principal),
        to: &parcel.peer,
        to_principal: None,
        kind: kind.map_or("response", |method| method.as_str()),
        about: None,
        tier: headers.data_tier.number(),
        time: &time,
        summary: claims.summary.as_deref(),
        envelope: &bytes,
        message_id: &message_id,
    };
    let posted = room.channel.post(&written(&shown)).await;
    if let Ok(post) = posted {
        room.note_post(post);
        room.note_carried(&message_id);
    }
    posted.is_ok()
}

/// How the daemon's configuration writes the way by a channel.
const ADDRESS: &str = "discord";
/// Parcels that wait for the channel at once.
const AT_ONCE: usize = 4;
