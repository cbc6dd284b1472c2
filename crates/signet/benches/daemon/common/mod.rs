//! What the benches and the tests of load share: daemons that are measured, and a peer in this process.
#![allow(dead_code, unused_imports)]

pub mod daemon;
pub mod past;
pub mod peer;

use std::hint::black_box;
use std::time::Duration;

pub use daemon::Daemon;
#[allow(unused_imports)] // Each bench uses what it needs of this module.
pub use peer::Peer;

use ed25519_dalek::Signer as _;

/// A directory on the disk that the build is on: a temporary one may be in memory, where an
/// fdatasync costs nothing.
pub fn directory() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("b")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap()
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// The middle one.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

/// Nanoseconds of one bare `verify_strict` over `length` bytes: the median of 15 times 100.
pub fn verify_strict(length: usize) -> f64 {
    let (key, bytes) = (
        ed25519_dalek::SigningKey::from_bytes(&[7; 32]),
        vec![b'a'; length],
    );
    let (public, signature) = (key.verifying_key(), key.sign(&bytes));
    time(|| public.verify_strict(black_box(&bytes), &signature).unwrap())
}

/// Nanoseconds of one signature.
pub fn sign(length: usize) -> f64 {
    let (key, bytes) = (
        ed25519_dalek::SigningKey::from_bytes(&[7; 32]),
        vec![b'a'; length],
    );
    time(|| key.sign(black_box(&bytes)))
}

/// CPU time and not the clock's: whatever else the machine does must not make the unit longer.
fn time<T>(step: impl Fn() -> T) -> f64 {
    let round = |_| {
        let start = thread_cpu();
        (0..100).for_each(|_| drop(black_box(step())));
        (thread_cpu() - start) / 100.0
    };
    median(&(0..15).map(round).collect::<Vec<f64>>())
}

/// Seconds that a process has spent on processors, also those of its threads that have ended. The kernel tells hundredths.
pub fn cpu_seconds(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = text.rsplit_once(") ").unwrap();
    let ticks = fields.split(' ').skip(11).take(2);
    ticks
        .map(|ticks| ticks.parse::<f64>().unwrap())
        .sum::<f64>()
        / 100.0
}

/// Nanoseconds that this thread has spent on a processor. The kernel counts when a thread pauses.
pub fn thread_cpu() -> f64 {
    std::thread::sleep(Duration::from_micros(1));
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}
