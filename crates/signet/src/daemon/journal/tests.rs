use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signet_audit::{Faults, Operation};
use signet_proto::certificate::CertificateRequest;
use signet_proto::headers::Layers;
use signet_proto::ids::{Digest, Version};
use signet_proto::keys::SigningKey;
use tokio::sync::oneshot;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::*;

/// A disk that has no room while this says so.
#[derive(Debug, Default)]
struct Disk {
    is_full: AtomicBool,
}

impl Disk {
    fn room(&self) -> io::Result<()> {
        match self.is_full.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

impl Faults for Disk {
    fn before(&self, operation: Operation<'_>) -> io::Result<()> {
        match operation {
            Operation::Reserve(_) => self.room(),
            _ => Ok(()),
        }
    }

    fn takes(&self, _path: &Path, bytes: usize) -> io::Result<usize> {
        self.room().map(|()| bytes)
    }
}

fn genesis() -> Entry {
    let key = |fill| SigningKey::from_seed(&Zeroizing::new([fill; 32])).unwrap();
    let now = clock::now();
    let request = CertificateRequest {
        agent: "agent-alice".parse().unwrap(),
        principal: "alice".parse().unwrap(),
        signing_key: key(1).public().clone(),
        layers: Layers::of(&[0, 1, 2, 3]),
        versions: vec![Version::CURRENT],
        serial: 1,
        not_before: now,
        not_after: now.saturating_add(Duration::from_secs(3600)),
        next_root: Digest([0; 32]),
    };
    Entry::Genesis(request.sign(&key(2)).unwrap())
}

/// A line, and the watchdog's question in the same group.
fn asking_with_a_line() -> (JournalGroup, oneshot::Receiver<()>) {
    let (probe, answered) = oneshot::channel();
    let cause = "a line".to_owned();
    let entries = vec![Entry::Gap(CauseLine { cause })];
    let now = clock::now();
    let asking = JournalGroup::asking(now, probe);
    (JournalGroup { entries, ..asking }, answered)
}

#[tokio::test]
async fn a_question_that_comes_with_lines_is_answered_while_the_disk_is_full() {
    const SOON: Duration = Duration::from_secs(30);
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(Disk::default());
    let faults = Arc::clone(&disk) as _;
    let log = Log::open_on(faults, dir.path(), clock::now(), &genesis(), None).unwrap();
    let (actions, _taken) = mpsc::channel(1);
    let (snapshots, _kept) = std::sync::mpsc::sync_channel(1);
    let journal = Journal::start(log, actions, snapshots, Arc::default()).unwrap();
    let (groups, mut view) = journal.ends(None);
    disk.is_full.store(true, Ordering::SeqCst);

    // Send two groups: the first finds the disk full, and the second comes while the journal's thread waits for room.
    for _ in 0..2 {
        let (group, answered) = asking_with_a_line();
        groups.send(group).await.unwrap();
        timeout(SOON, answered).await.unwrap().unwrap();
        assert!(view.full_since().is_some(), "nothing is durable yet");
    }
    let before = view.head();
    disk.is_full.store(false, Ordering::SeqCst);
    let room = async {
        while view.full_since().is_some() {
            view.room_changed().await;
        }
    };
    timeout(SOON, room).await.unwrap();
    assert_ne!(view.head(), before, "both lines are durable");
    drop(groups);
    journal.close().await.unwrap();
}
