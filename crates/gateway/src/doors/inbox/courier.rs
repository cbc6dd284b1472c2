//! The daemon's side of the HTTP carrier, for as long as the daemon is there: attached by one connection, which brings what
//! is to leave and takes what came. When it ends everything begins anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use signet_api::{AttachCarrier, CarriedParcel, ClientError, DELIVERED_AT_ONCE, Reason, TakeTrust};
use signet_proto::trust::TrustView;
use tokio::time::{interval, sleep};

use super::counts::Counted;
use super::door::{HttpCarrier, decode, encode};
use super::link::{CarrierConnection, RULING, carry_parcels, delivery};
use super::queue::EnvelopeResult;
use super::{outbound, polls};
use crate::say::say;

/// Carries until the gateway is to end.
pub(crate) async fn run(room: Arc<HttpCarrier>) {
    let stop = room.context.stop.clone();
    tokio::select! {
        () = stop.cancelled() => {}
        () = again_and_again(&room) => {}
        () = count(&room) => {}
    }
    room.lose();
    count_once(&room);
}

async fn again_and_again(room: &Arc<HttpCarrier>) {
    let mut told = BTreeSet::new();
    let mut pause = FIRST_PAUSE;
    loop {
        let began = tokio::time::Instant::now();
        let ended = session(room, &mut told).await;
        room.lose();
        let why = cause(&ended);
        // Log each cause only once until the daemon is back: otherwise a night without the daemon would fill the log with the
        // same line.
        if told.insert(why.clone()) {
            say(&format!(
                "the daemon takes nothing by HTTP: {why}; trying again"
            ));
        }
        // Longer pauses are for attempts that fail at once. After a session that took longer than `LONGEST_PAUSE`, begin with
        // the shortest pause again.
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
async fn session(room: &Arc<HttpCarrier>, told: &mut BTreeSet<String>) -> ClientError {
    let begun = async {
        let (link, told) = CarrierConnection::open(&room.socket).await?;
        let carrier = room.section.carrier.clone();
        link.call(&AttachCarrier { carrier }, RULING).await?;
        // Without a snapshot of the trust store, the inbox refuses everything: so get the first one before anything else.
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
        ended = carry_parcels(&link, &room.section.carrier, parcels, |parcel, _| carry(room, parcel)) => ended,
        ended = polls::run(room, &link) => ended,
    }
}

/// Hands in what came, batch by batch.
async fn deliver(room: &HttpCarrier, link: &CarrierConnection) -> ClientError {
    loop {
        let items = room.queue.take(DELIVERED_AT_ONCE, BATCH).await;
        let messages = items.iter().map(|item| encode(&item.bytes)).collect();
        let request = delivery(&room.section.carrier, messages);
        let ruled = link.call(&request, RULING).await;
        for item in items {
            // The request that waits for this result may have been given up meanwhile. Then nobody receives the result, and the
            // error of `send` is ignored.
            let _ = item.done.send(match ruled {
                Ok(_) => EnvelopeResult::Ruled,
                Err(_) => EnvelopeResult::Away,
            });
        }
        match ruled {
            // A daemon that refused this batch, for instance for lack of room, may take the next batch: go on with
            // this connection.
            Ok(_) | Err(ClientError::Refused(_)) => {}
            Err(error) => return error,
        }
    }
}

/// Keeps the snapshot of the trust store fresh.
async fn follow_trust(
    room: &HttpCarrier,
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
    room: &HttpCarrier,
    link: &CarrierConnection,
    epoch: Option<String>,
    wait: Duration,
) -> Result<String, ClientError> {
    let request = TakeTrust {
        epoch,
        wait: wait.as_secs_f64(),
    };
    let taken = link.call(&request, RULING + wait).await?;
    if let Some(snapshot) = taken.snapshot {
        let view = TrustView::from_snapshot(&snapshot);
        room.see(view.map_err(|_| ClientError::Malformed)?);
    }
    Ok(taken.epoch)
}

/// Sends a parcel; whether the other side says that it has it.
async fn carry(room: &HttpCarrier, parcel: CarriedParcel) -> Result<bool, ClientError> {
    let bytes = decode(&parcel.bytes).ok_or(ClientError::Malformed)?;
    let held = outbound::post(room, &parcel, bytes).await;
    room.counts.note(match held {
        true => Counted::Held,
        false => Counted::NotHeld,
    });
    Ok(held)
}

/// One line a minute, where there was anything.
async fn count(room: &HttpCarrier) {
    let mut minutes = interval(COUNTED);
    loop {
        minutes.tick().await;
        count_once(room);
    }
}

fn count_once(room: &HttpCarrier) {
    if let Some(line) = room.counts.line() {
        say(&line);
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
