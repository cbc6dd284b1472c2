//! Memory for the bodies of others' gateways while they come: so much in all, and of that a part for one network address,
//! so that whoever sends slowly from one place keeps nobody else out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::time::timeout;

use super::framing::LONGEST_BODY;
use super::pace::network;
use crate::listener::discard_up_to;
use crate::lock::Locked as _;

/// The memory, and who has how much of it.
pub(crate) struct BodyMemory {
    most: usize,
    held: Mutex<HeldMemory>,
}

#[derive(Default)]
struct HeldMemory {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// Why a body is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is longer than any that is taken.
    TooLong,
    /// It did not come in time, or ended too soon.
    Slow,
    /// This address has as much under way as it may.
    Share,
    /// All of the memory is in use.
    Full,
}

impl BodyMemory {
    /// Memory of so many bytes.
    pub(crate) fn of(most: usize) -> Self {
        Self {
            most,
            held: Mutex::default(),
        }
    }

    /// Reads a body whole, within that time. The memory that it takes is given back when it is read: then it is the
    /// queue's to count.
    ///
    /// # Errors
    /// Why not.
    pub(crate) async fn read(
        &self,
        from: IpAddr,
        mut body: Body,
        time: Duration,
    ) -> Result<Bytes, Unread> {
        let read = match body.size_hint().lower() > LONGEST_BODY as u64 {
            true => Err(Unread::TooLong),
            false => {
                let reading = timeout(time, self.collect(from, &mut body));
                reading.await.unwrap_or(Err(Unread::Slow))
            }
        };
        // Read on for a while after refusing a body that is too long: a sender that still writes when the connection closes
        // would never see the refusal, and would try again for ever.
        if matches!(read, Err(Unread::TooLong)) {
            discard_up_to(body, DISCARDED, DISCARD_TIME.min(time)).await;
        }
        read
    }

    async fn collect(&self, from: IpAddr, body: &mut Body) -> Result<Bytes, Unread> {
        let mut part = BodyShare {
            memory: self,
            from: network(from),
            bytes: 0,
        };
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(|_| Unread::Slow)?.into_data() else {
                continue;
            };
            if all.len() + piece.len() > LONGEST_BODY {
                return Err(Unread::TooLong);
            }
            part.grow(piece.len())?;
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }
}

/// What one body takes.
struct BodyShare<'a> {
    memory: &'a BodyMemory,
    from: IpAddr,
    bytes: usize,
}

impl BodyShare<'_> {
    fn grow(&mut self, bytes: usize) -> Result<(), Unread> {
        let mut held = self.memory.held.locked();
        if held.all + bytes > self.memory.most {
            return Err(Unread::Full);
        }
        let theirs = held.by_address.entry(self.from).or_default();
        if *theirs + bytes > self.memory.most / SHARE {
            return Err(Unread::Share);
        }
        *theirs += bytes;
        held.all += bytes;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for BodyShare<'_> {
    fn drop(&mut self) {
        let mut held = self.memory.held.locked();
        held.all -= self.bytes;
        let theirs = held.by_address.get_mut(&self.from).map(|theirs| {
            *theirs -= self.bytes;
            *theirs
        });
        if theirs == Some(0) {
            held.by_address.remove(&self.from);
        }
    }
}

/// One address may have this part of the memory.
const SHARE: usize = 4;
/// Bytes that are still read of a body that is too long, and for how long: then its sender reads the 413.
const DISCARDED: usize = 3 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::{FutureExt as _, StreamExt as _, stream};

    use super::*;

    const TIME: Duration = Duration::from_secs(9);

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// So many bytes at once, and then nothing for ever.
    fn begun(bytes: usize) -> Body {
        let piece = Ok::<_, std::io::Error>(vec![b'x'; bytes]);
        Body::from_stream(stream::iter([piece]).chain(stream::pending()))
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_do_not_end_take_the_share_of_their_address_and_no_more() {
        let desk = BodyMemory::of(400);
        let mut slow = pin!(desk.read(address(1), begun(100), TIME));
        assert!(slow.as_mut().now_or_never().is_none());
        let more = desk.read(address(1), Body::from("x"), TIME).await;
        assert_eq!(more, Err(Unread::Share));
        let other = desk.read(address(2), Body::from("{}"), TIME).await;
        assert_eq!(other, Ok(Bytes::from_static(b"{}")));
        assert_eq!(slow.await, Err(Unread::Slow));
        assert!(desk.held.locked().by_address.is_empty() && desk.held.locked().all == 0);
    }

    #[tokio::test(start_paused = true)]
    async fn many_addresses_together_stay_within_the_memory() {
        let desk = BodyMemory::of(400);
        let mut slow: Vec<_> = (0..4)
            .map(|from| Box::pin(desk.read(address(from), begun(100), TIME)))
            .collect();
        assert!(slow.iter_mut().all(|slow| slow.now_or_never().is_none()));
        let more = desk.read(address(9), Body::from("x"), TIME).await;
        assert_eq!(more, Err(Unread::Full));
        drop(slow);
        assert!(desk.read(address(9), Body::from("x"), TIME).await.is_ok());
    }

    #[tokio::test]
    async fn what_is_too_long_is_not_read_to_find_that_out() {
        let desk = BodyMemory::of(64 << 20);
        let announced = Body::from(vec![b'x'; LONGEST_BODY + 1]);
        let dripped = begun(LONGEST_BODY + 1);
        for long in [announced, dripped] {
            let read = desk.read(address(1), long, TIME).await;
            assert_eq!(read, Err(Unread::TooLong));
        }
    }
}
