//! The watchdog: the service manager hears that the daemon lives as long as each of its parts says so.
//!
//! ```text
//! watch ── Probe ──▶ event loop ──▶ thread of the log ──▶ answered     no line, no write
//!       └─────────▶ each carrier's task ─────────────────▶ answered
//! ```
//!
//! A part that hangs answers nothing, and no beat goes out: whatever it waits for, after the span of the watchdog
//! the service manager ends the daemon and starts it again. A full disk is waited out and answers.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use crate::carrier::CarrierSet;
use crate::manager::Manager;

/// Answered by the last part that it comes to. Dropped, it says nothing.
pub(super) type Probe = oneshot::Sender<()>;

/// Asks the parts, and beats when all have answered, until the event loop ends.
pub(super) async fn watch(
    manager: Manager,
    span: Duration,
    probes: mpsc::Sender<Probe>,
    carriers: CarrierSet,
) {
    let mut tick = tokio::time::interval(span / BEATS);
    // Do not make up for missed beats: several in a row would tell the service manager no more than one does.
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let (probe, answered) = oneshot::channel();
        if probes.send(probe).await.is_err() {
            return;
        }
        // Send no beat if a part does not answer its probe, and do nothing else: when no beat comes in time, the service
        // manager ends the daemon and starts it again.
        if answered.await.is_ok() && carriers.probe().await.is_ok() {
            manager.beat();
        }
    }
}

/// How many beats there are in the span in which one has to come.
const BEATS: u32 = 3;

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    /// A watch over an event loop that the test plays.
    fn watched(dir: &tempfile::TempDir) -> (UnixDatagram, mpsc::Receiver<Probe>) {
        let path = dir.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let span = Duration::from_millis(30);
        let manager = Manager::at(path, Some(span));
        let (probes, asked) = mpsc::channel(1);
        tokio::spawn(watch(manager, span, probes, CarrierSet::default()));
        (socket, asked)
    }

    async fn beats(socket: &UnixDatagram) -> usize {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let mut text = [0; 64];
        std::iter::from_fn(|| socket.recv(&mut text).ok())
            .inspect(|length| assert_eq!(*length, "WATCHDOG=1".len()))
            .count()
    }

    #[tokio::test]
    async fn an_event_loop_that_answers_beats_and_one_that_does_not_is_not_covered_for() {
        let dir = tempfile::tempdir().unwrap();
        let (socket, mut asked) = watched(&dir);
        let answering = tokio::spawn(async move {
            for _ in 0..5 {
                let probe: Probe = asked.recv().await.unwrap();
                probe.send(()).unwrap();
            }
            asked
        });
        assert_eq!(beats(&socket).await, 5);
        let mut asked = answering.await.unwrap();
        // The event loop has taken the probe, but does not answer it: no beat may go out, because the loop may hang.
        let held = asked.recv().await.unwrap();
        assert_eq!(beats(&socket).await, 0);
        // The event loop answers late, but it answers: now a beat has to go out, because a slow loop is not a dead one.
        held.send(()).unwrap();
        assert_eq!(beats(&socket).await, 1);
    }

    #[tokio::test]
    async fn a_probe_that_is_dropped_on_its_way_is_no_beat() {
        let dir = tempfile::tempdir().unwrap();
        let (socket, mut asked) = watched(&dir);
        tokio::spawn(async move { while asked.recv().await.is_some() {} });
        assert_eq!(beats(&socket).await, 0);
    }
}
