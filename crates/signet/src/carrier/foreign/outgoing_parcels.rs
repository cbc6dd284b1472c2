//! Who carries a foreign carrier, what waits for that program, and what it has and did not report yet.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use signet_api::{CARRIER_PARCEL, CarriedParcel, PARCELS_UNDER_WAY};
use signet_proto::carrier::{CarrierId, Parcel};
use signet_proto::ids::encode_base64url;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::control::{Notifier, text_of_note};

#[derive(Default)]
pub(super) struct ForeignState {
    pub(super) holder: Option<Notifier>,
    pub(super) last_up: Option<Instant>,
    pub(super) queue: VecDeque<Queued>,
    pub(super) queued_bytes: usize,
    pub(super) under_way: BTreeMap<u64, UnderWay>,
    pub(super) under_way_bytes: usize,
    pub(super) handed_out: u64,
}

pub(super) struct Queued {
    pub(super) parcel: Parcel,
    pub(super) held: oneshot::Sender<bool>,
}

pub(super) struct UnderWay {
    pub(super) since: Instant,
    pub(super) bytes: usize,
    pub(super) held: oneshot::Sender<bool>,
}

impl ForeignState {
    /// Hands what waits to the holder, as far as it has room. A parcel that the holder does not report within a minute
    /// counts as lost.
    pub(super) fn hand_out(&mut self, id: &CarrierId) {
        self.under_way
            .retain(|_, parcel| parcel.since.elapsed() <= REPORTED_WITHIN);
        // The parcels that `retain` dropped no longer count: add up the bytes of the remaining ones anew. They are at
        // most `PARCELS_UNDER_WAY`, so this is cheap.
        self.under_way_bytes = self.under_way.values().map(|parcel| parcel.bytes).sum();
        while self.under_way.len() < PARCELS_UNDER_WAY && self.under_way_bytes < UNDER_WAY_BYTES {
            let Some(Queued { parcel, held }) = self.queue.pop_front() else {
                return;
            };
            let bytes = parcel.bytes().len();
            self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
            // Go on counting when another program attaches: if the numbers began again, a late report by the earlier
            // program would name a parcel of the later one.
            self.handed_out += 1;
            let told = CarriedParcel {
                id: self.handed_out,
                carrier: id.to_string(),
                peer: parcel.recipient().to_string(),
                address: parcel.address().to_owned(),
                bytes: encode_base64url(parcel.bytes()),
            };
            let told = text_of_note(&told);
            let holder = self.holder.as_ref();
            if holder.is_none_or(|holder| holder.notify(CARRIER_PARCEL, &told).is_err()) {
                // No program is attached, or it does not read: drop the parcel. The dropped `held` tells the daemon that it is
                // not stored, and the node sends a message that gets no receipt again.
                continue;
            }
            let since = Instant::now();
            self.under_way_bytes += bytes;
            self.under_way
                .insert(self.handed_out, UnderWay { since, bytes, held });
        }
    }

    pub(super) fn is_held_by(&self, client: &Notifier) -> bool {
        let holder = self.holder.as_ref();
        holder.is_some_and(|holder| holder.program() == client.program())
    }

    /// The holder is gone: nothing that it had is held.
    pub(super) fn end(&mut self) {
        self.queue.clear();
        self.under_way.clear();
        (self.queued_bytes, self.under_way_bytes) = (0, 0);
    }
}

/// How many bytes the holder may have at once and not yet have reported.
const UNDER_WAY_BYTES: usize = 4 * 1024 * 1024;
/// How long the holder may take to report a parcel.
const REPORTED_WITHIN: Duration = Duration::from_secs(60);
