//! A disk that is full while a home is made, or while an agent is started: one sentence, and a repeat after room was
//! made goes on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Ended, Machine};
use crate::house::{eventually, says};
use crate::mounted::Mounted;

/// A small file system, which goes with it.
struct Small {
    place: PathBuf,
    _mounted: Mounted,
}

impl Small {
    /// None where this user may not mount.
    fn mounted_on(place: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir(place).unwrap();
        Some(Self {
            place: place.to_owned(),
            _mounted: Mounted::in_memory(place, size)?,
        })
    }

    /// Takes all of it but so many KiB.
    fn fill_but(&self, kib: u64) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(self.filler()).unwrap();
        for block in [1 << 20, 1 << 12, 1] {
            let zeros = vec![0; block];
            while file.write(&zeros).is_ok_and(|length| length > 0) {}
        }
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(kib << 10)).unwrap();
    }

    fn empty(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.place.join("filler")
    }
}

/// The two lines at the end of what a command says, about the disk.
#[track_caller]
fn speaks_of_room(output: &std::process::Output, codes: &[i32]) {
    let said = says(output);
    let code = output.status.code().unwrap();
    assert!(codes.contains(&code), "{code}: {said}");
    let lines: Vec<&str> = said.lines().collect();
    let [.., what, next] = lines[..] else {
        panic!("two lines are expected: {said}");
    };
    let speaks = ["No space left", "disk is full", "room"]
        .iter()
        .any(|part| what.contains(part));
    assert!(what.starts_with("error: ") && speaks, "{said}");
    assert!(
        next.starts_with("  next: ") && (next.contains("df ") || next.contains("room")),
        "{said}"
    );
}

#[test]
fn a_home_on_a_full_disk_is_not_made_and_is_when_there_is_room() {
    let machine = Machine::new();
    let disk = machine.dir.path().join("disk");
    let Some(small) = Small::mounted_on(&disk, "8m") else {
        return;
    };
    let init = ["init", "--agent", "alice", "--principal", "alice"];
    for left in [0, 4, 12, 24] {
        small.fill_but(left);
        speaks_of_room(&machine.run("disk/alice", &init), &[4]);
        let names = std::fs::read_dir(&disk).unwrap().flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        assert_eq!(
            names,
            ["filler"],
            "with {left} KiB something was left behind"
        );
    }
    let up = [
        "up",
        "--agent",
        "alice",
        "--principal",
        "alice",
        "--background",
        "--listen",
        "127.0.0.1:0",
    ];
    small.fill_but(0);
    speaks_of_room(&machine.run("disk/alice", &up), &[4]);
    small.empty();
    machine.done("disk/alice", &init);
}

#[test]
fn an_agent_on_a_full_disk_does_not_come_up_and_does_when_there_is_room() {
    let machine = Machine::new();
    let disk = machine.dir.path().join("disk");
    let Some(small) = Small::mounted_on(&disk, "40m") else {
        return;
    };
    let up = [
        "up",
        "--agent",
        "alice",
        "--principal",
        "alice",
        "--background",
        "--listen",
        "127.0.0.1:0",
    ];
    // With so many KiB left the disk is full at another step each time, and never has enough room for the log.
    for left in [60, 100, 300, 2_000] {
        small.fill_but(left);
        let output = machine.run("disk/alice", &up);
        speaks_of_room(&output, &[3, 4]);
        small.empty();
    }
    let said = machine.done("disk/alice", &["up", "--background"]);
    assert!(said.contains("daemon   in the background"), "{said}");
    assert_eq!(
        machine.done("disk/alice", &["down"]),
        "daemon   ended\nnats     ended\n"
    );
    // The daemon alone waits for room, says so, and goes on by itself.
    small.fill_but(0);
    let mut run = machine.command("disk/alice", &["run"]);
    let said = machine.dir.path().join("said");
    let file = std::fs::File::create(&said).unwrap();
    let mut child = Ended(run.stderr(file).spawn().unwrap());
    eventually("it says that it waits", || {
        let said = std::fs::read_to_string(&said).ok()?;
        let waits = said.contains("there is room") || said.contains("the disk is full");
        waits.then_some(())
    });
    small.empty();
    eventually("it runs", || {
        let status = machine.run("disk/alice", &["status"]);
        status.status.success().then_some(())
    });
    std::thread::sleep(Duration::from_millis(50));
    signet_testkit::kill(child.0.id(), rustix::process::Signal::TERM);
    assert!(child.0.wait().unwrap().success());
}
