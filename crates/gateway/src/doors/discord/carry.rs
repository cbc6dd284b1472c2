//! What goes out by the channel: an envelope for another agent that reads it there.

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use signet_api::{CARRIER_PARCEL, CarriedParcel, ClientError, ReportParcel};
use signet_proto::envelope::Unverified;

use super::door::{DiscordDoor, PROMPT};
use super::text::{ShownMessage, written};
use crate::doors::inbox::decode;
use crate::doors::inbox::link::{CarrierConnection, Notifications};

/// Posts what the daemon gives out, one after the other; it keeps the rest.
pub(crate) async fn session(
    room: &DiscordDoor,
    link: &CarrierConnection,
    carrier: &str,
    mut told: Notifications,
) -> ClientError {
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            told = told.recv() => match told {
                Some(told) if told.method == CARRIER_PARCEL => {
                    let Ok(parcel) = serde_json::from_value::<CarriedParcel>(told.params) else {
                        return ClientError::Malformed;
                    };
                    // A channel is slow: what it has no time for goes another way, or later.
                    let has_room = under_way.len() < AT_ONCE;
                    under_way.push(report(room, link, carrier, parcel, has_room));
                }
                Some(_) => {}
                None => return ClientError::Closed,
            },
            Some(reported) = under_way.next() => {
                if let Err(error) = reported {
                    return error;
                }
            }
        }
    }
}

async fn report(
    room: &DiscordDoor,
    link: &CarrierConnection,
    carrier: &str,
    parcel: CarriedParcel,
    has_room: bool,
) -> Result<(), ClientError> {
    let held = has_room && post(room, &parcel).await;
    let report = ReportParcel {
        carrier: carrier.to_owned(),
        id: parcel.id,
        held,
    };
    match link.call(&report, PROMPT).await {
        Ok(_) | Err(ClientError::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether the channel has it. There is one channel, which the daemon knows by the word alone.
async fn post(room: &DiscordDoor, parcel: &CarriedParcel) -> bool {
    let is_here = parcel.address == ADDRESS;
    let Some(bytes) = decode(&parcel.bytes).filter(|_| is_here) else {
        return false;
    };
    let Ok(message) = Unverified::parse(&bytes) else {
        return false;
    };
    let (claims, message_id) = (
        message.claims(),
        message.claims().headers.message_id.to_string(),
    );
    let headers = &claims.headers;
    let (from, principal) = (
        headers.agent_id.to_string(),
        headers.principal_id.to_string(),
    );
    let (time, kind) = (headers.timestamp.to_string(), claims.form.method());
    let shown = ShownMessage {
        from: &from,
        from_principal: Some(&principal),
        to: &parcel.peer,
        to_principal: None,
        kind: kind.map_or("response", |method| method.as_str()),
        about: None,
        tier: headers.data_tier,
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
