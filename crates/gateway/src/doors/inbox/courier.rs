//! The daemon's side of the HTTP carrier, for as long as the daemon is there: attached by one connection, which brings what
//! is to leave and takes what came. When it ends everything begins anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use signet_api::{
    AttachCarrier, CARRIER_PARCEL, CarriedParcel, ClientError, DELIVERED_AT_ONCE, DeliverMessages,
    Reason, ReportParcel, TakeTrust,
};
use signet_proto::trust::TrustView;
use tokio::time::{interval, sleep};

use super::counts::Event;
use super::door::{InboxDoor, PROMPT, decode, encode};
use super::link::{CarrierConnection, Notifications};
use super::queue::EnvelopeResult;
use super::{outbound, polls};
use crate::say::say;

/// Carries until the gateway is to end.
pub(crate) async fn run(room: Arc<InboxDoor>) {
    let stop = room.context.stop.clone();
    tokio::select! {
        () = stop.cancelled() => {}
        () = again_and_again(&room) => {}
        () = count(&room) => {}
    }
    room.lose();
    count_once(&room);
}

async fn again_and_again(room: &Arc<InboxDoor>) {
    let mut told = BTreeSet::new();
    let mut pause = FIRST_PAUSE;
    loop {
        let began = tokio::time::Instant::now();
        let ended = session(room, &mut told).await;
        room.lose();
        let why = cause(&ended);
        // Once for each cause until the daemon is back: one that is away for a night says it once.
        if told.insert(why.clone()) {
            say(&format!(
                "the daemon takes nothing by HTTP: {why}; trying again"
            ));
        }
        pause = if began.elapsed() > LONGEST_PAUSE {
            FIRST_PAUSE
        } else {
            (pause * 2).min(LONGEST_PAUSE)
        };
        sleep(pause).await;
    }
}

/// Why a connection to the daemon ended, and what helps where the daemon does not say that.
pub(crate) fn cause(ended: &ClientError) -> String {
    match ended {
        ClientError::Refused(error) if error.is(&Reason::CarrierTaken) => {
            format!(
                "{ended}: another gateway of this home runs; stop it, or wait some seconds after a restart"
            )
        }
        other => other.to_string(),
    }
}

/// One connection to the daemon, to its end.
async fn session(room: &Arc<InboxDoor>, told: &mut BTreeSet<String>) -> ClientError {
    let begun = async {
        let (link, told) = CarrierConnection::open(&room.socket).await?;
        let carrier = room.section.carrier.clone();
        link.call(&AttachCarrier { carrier }, PROMPT).await?;
        let epoch = snapshot(room, &link, None, Duration::ZERO).await?;
        Ok((link, told, epoch))
    };
    let (link, parcels, epoch) = match begun.await {
        Ok(begun) => begun,
        Err(error) => return error,
    };
    told.clear();
    say("the daemon takes what comes by HTTP");
    let delivers = (0..DELIVERIES).map(|_| Box::pin(deliver(room, &link)));
    tokio::select! {
        (ended, ..) = select_all(delivers) => ended,
        ended = follow_trust(room, &link, epoch) => ended,
        ended = dispatch(room, &link, parcels) => ended,
        ended = polls::run(room, &link) => ended,
    }
}

/// Hands in what came, batch by batch.
async fn deliver(room: &InboxDoor, link: &CarrierConnection) -> ClientError {
    loop {
        let items = room.queue.take(DELIVERED_AT_ONCE, BATCH).await;
        let request = DeliverMessages {
            carrier: room.section.carrier.clone(),
            to: None,
            messages: items.iter().map(|item| encode(&item.bytes)).collect(),
            wait: 0.0,
        };
        let ruled = link.call(&request, PROMPT).await;
        for item in items {
            let fate = if ruled.is_ok() {
                EnvelopeResult::Ruled
            } else {
                EnvelopeResult::Away
            };
            // Whoever sent it may not have waited.
            let _ = item.done.send(fate);
        }
        match ruled {
            // A daemon that has no room for this batch may have for the next.
            Ok(_) | Err(ClientError::Refused(_)) => {}
            Err(error) => return error,
        }
    }
}

/// Keeps the snapshot of the trust store fresh.
async fn follow_trust(
    room: &InboxDoor,
    link: &CarrierConnection,
    mut epoch: String,
) -> ClientError {
    loop {
        match snapshot(room, link, Some(epoch), TRUST_WAIT).await {
            Ok(newest) => epoch = newest,
            Err(error) => return error,
        }
    }
}

async fn snapshot(
    room: &InboxDoor,
    link: &CarrierConnection,
    epoch: Option<String>,
    wait: Duration,
) -> Result<String, ClientError> {
    let request = TakeTrust {
        epoch,
        wait: wait.as_secs_f64(),
    };
    let taken = link.call(&request, PROMPT + wait).await?;
    if let Some(snapshot) = taken.snapshot {
        let view = TrustView::from_snapshot(&snapshot);
        room.see(view.map_err(|_| ClientError::Malformed)?);
    }
    Ok(taken.epoch)
}

/// Sends what is to leave, and tells what became of each parcel.
async fn dispatch(
    room: &Arc<InboxDoor>,
    link: &CarrierConnection,
    mut told: Notifications,
) -> ClientError {
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            told = told.recv() => match told {
                Some(told) if told.method == CARRIER_PARCEL => {
                    let Ok(parcel) = serde_json::from_value(told.params) else {
                        return ClientError::Malformed;
                    };
                    under_way.push(carry(room, link, parcel));
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

async fn carry(
    room: &InboxDoor,
    link: &CarrierConnection,
    parcel: CarriedParcel,
) -> Result<(), ClientError> {
    let held = match decode(&parcel.bytes) {
        Some(bytes) => outbound::post(room, &parcel, bytes).await,
        None => return Err(ClientError::Malformed),
    };
    room.counts
        .note(if held { Event::Held } else { Event::NotHeld });
    let report = ReportParcel {
        carrier: room.section.carrier.clone(),
        id: parcel.id,
        held,
    };
    match link.call(&report, PROMPT).await {
        Ok(_) | Err(ClientError::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// One line a minute, where there was anything.
async fn count(room: &InboxDoor) {
    let mut minutes = interval(COUNTED);
    loop {
        minutes.tick().await;
        count_once(room);
    }
}

fn count_once(room: &InboxDoor) {
    if let Some(line) = room.counts.line() {
        say(&line.to_string());
    }
}

/// Batches under way at once.
const DELIVERIES: usize = 4;
/// Bytes of a batch: a line of the socket has 1 MiB, of which base64 takes a quarter.
const BATCH: usize = 600 * 1024;
const TRUST_WAIT: Duration = Duration::from_secs(50);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const COUNTED: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use signet_api::ApiError;

    use super::*;

    #[test]
    fn who_finds_the_carrier_taken_is_told_by_whom_and_what_helps() {
        let taken = ApiError::refused(Reason::CarrierTaken, "another connection carries http");
        let why = cause(&ClientError::Refused(taken));
        assert!(
            why.contains("another connection carries http")
                && why.contains("another gateway of this home runs; stop it"),
            "{why}"
        );
        let other = ApiError::refused(Reason::CarrierUnknown, "no carrier of that name");
        assert!(!cause(&ClientError::Refused(other)).contains("stop it"));
    }
}
