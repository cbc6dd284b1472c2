//! The tasks of the channel: showing, carrying and reading, begun anew whenever the daemon goes.

use std::time::Duration;

use signet_api::{AttachCarrier, ClientError};
use tokio::time::{sleep, timeout};

use super::door::DiscordDoor;
use super::{carry, read, show};
use crate::doors::inbox::cause;
use crate::doors::inbox::link::{CarrierConnection, Notifications, RULING, carry_parcels};
use crate::say::say;

impl DiscordDoor {
    /// Keeps where showing begins, before anybody is told that the gateway is there. A daemon that is away is not waited
    /// for: nothing is said before it is there.
    pub(crate) async fn begin(&self) {
        // An error or a timeout here stops nothing, and is not logged: the first session does the same again, and logs the
        // error if it is still there.
        let _ = timeout(FIRST_PLACE, show::begin(self)).await;
    }

    /// Shows, carries and reads until the gateway is to end.
    pub(crate) async fn run(self) {
        // `shown` is the line of the daemon's log after which messages are shown. Messages that are logged before this line is
        // stored are never shown: so try an absent daemon again soon.
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
}

/// Reads and carries while the daemon is there, where the channel is a carrier.
async fn carrier(room: &DiscordDoor) -> ClientError {
    let Some(carrier) = &room.section.carrier else {
        return std::future::pending().await;
    };
    let begun = async {
        let (link, told) = CarrierConnection::open(&room.socket).await?;
        let attach = AttachCarrier {
            carrier: carrier.clone(),
        };
        let attached = link.call(&attach, RULING).await?;
        Ok::<(CarrierConnection, Notifications, String), ClientError>((link, told, attached.agent))
    };
    match begun.await {
        Ok((link, told, agent)) => tokio::select! {
            ended = carry_parcels(&link, carrier, told, async |parcel, under_way| {
                Ok(carry::post(room, &parcel, under_way).await)
            }) => ended,
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

const PAUSE: Duration = Duration::from_secs(2);
/// Between two looks for a daemon that is not there yet.
const SHORT_PAUSE: Duration = Duration::from_millis(50);
/// How long the daemon may take to say where its log ends, before the gateway says that it listens.
const FIRST_PLACE: Duration = Duration::from_secs(2);
