//! The room that is reserved ahead of a log's end: it is there while a log is written, and goes back.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use signet_audit::verify;

use crate::common::*;
use crate::pair::*;

/// What a file may take on the disk beyond its bytes: blocks are not cut to the byte.
const BLOCKS: u64 = 64 * 1024;
/// What is reserved ahead.
const AHEAD: u64 = 4 * 1024 * 1024;

/// The bytes that a file takes on the disk.
fn room(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

fn is_snug(path: &Path) {
    let (room, len) = (room(path), fs::metadata(path).unwrap().len());
    assert!(
        room <= len + BLOCKS,
        "{}: {room} bytes of disk for {len}",
        path.display()
    );
}

/// Whether the file system of the tests keeps room at all.
fn reserves(path: &Path) -> bool {
    let reserves = room(path) >= AHEAD;
    if !reserves {
        println!("this file system reserves nothing: the test shows nothing here");
    }
    reserves
}

#[test]
fn a_clean_stop_gives_back_the_room_reserved_ahead() {
    let mut side = Side::new(alice());
    side.write(second(1), &gap("one line"));
    side.log().checkpoint().unwrap();
    let files = [FEBRUARY, FEBRUARY_NOTES].map(|name| side.file(name));
    if !files.iter().all(|file| reserves(file)) {
        return;
    }
    side.stop();
    let before = files.each_ref().map(|file| fs::read(file).unwrap());
    files.iter().for_each(|file| is_snug(file));
    side.start(second(2));
    side.write(second(2), &gap("another"));
    side.stop();
    for (file, before) in files.iter().zip(before) {
        is_snug(file);
        assert!(fs::read(file).unwrap().starts_with(&before));
    }
    assert!(verify(&[side.dir()]).holds());
}

#[test]
fn a_closed_month_gives_back_the_room_reserved_ahead() {
    let mut side = Side::new(alice());
    side.write(second(1), &gap("in february"));
    let closed = [FEBRUARY, FEBRUARY_NOTES].map(|name| side.file(name));
    if !closed.iter().all(|file| reserves(file)) {
        return;
    }
    side.write(march(), &gap("in march"));
    closed.iter().for_each(|file| is_snug(file));
    assert!(room(&side.file(MARCH)) >= AHEAD, "it is written in");
    assert!(verify(&[side.dir()]).holds());
}

#[test]
fn a_start_gives_back_what_a_closed_month_still_holds() {
    let mut side = Side::new(alice());
    side.write(second(1), &gap("in february"));
    side.write(march(), &gap("in march"));
    side.stop();
    // Reserve room behind both files of February, as a crash between two months or an older release leaves them.
    let closed = [FEBRUARY, FEBRUARY_NOTES].map(|name| side.file(name));
    let before = closed.each_ref().map(|file| fs::read(file).unwrap());
    for file in &closed {
        let open = File::options().append(true).open(file).unwrap();
        let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
        let len = open.metadata().unwrap().len();
        if rustix::fs::fallocate(&open, flags, len, AHEAD).is_err() {
            return println!("this file system reserves nothing: the test shows nothing here");
        }
    }
    side.start(march());
    for (file, before) in closed.iter().zip(before) {
        is_snug(file);
        assert_eq!(fs::read(file).unwrap(), before);
    }
}

/// Whatever stands there is evidence, whoever wrote it.
#[test]
fn what_somebody_else_appended_meanwhile_is_not_cut_off_with_the_room() {
    let mut side = Side::new(alice());
    side.write(second(1), &gap("one line"));
    let file = side.file(FEBRUARY);
    let foreign = b"{\"v\":1,\"seq\":3}\n";
    let mut appended = File::options().append(true).open(&file).unwrap();
    appended.write_all(foreign).unwrap();
    side.stop();
    assert!(fs::read(&file).unwrap().ends_with(foreign));
}
