//! Processes by their own ids, and the program under test.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use signet_driver::send_signal;

use crate::eventually;

/// The program `signet`, which Cargo builds beside the tests and benches of its package.
pub fn signet() -> PathBuf {
    built("signet", "signet")
}

/// The program `signet-gateway`, likewise.
pub fn gateway() -> PathBuf {
    built("signet-gateway", "signet-gateway")
}

/// The program `signet-view`, likewise.
pub fn reading_room() -> PathBuf {
    built("signet-view", "signet-view")
}

/// `SIGNET_PROGRAMS` names the folder of those that are handed to others, for benches that measure them.
fn built(program: &str, package: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // The test is target/PROFILE/deps/NAME, and the programs lie in target/PROFILE.
    let beside = || test.ancestors().nth(2).unwrap().to_owned();
    let folder = std::env::var_os("SIGNET_PROGRAMS").map_or_else(beside, PathBuf::from);
    let program = folder.join(program);
    assert!(
        program.is_file(),
        "no {}: cargo builds it with the tests of the package {package}, as a run of all tests does",
        program.display()
    );
    program
}

/// Copies a program to where a test runs it, by `install`: any user may run the copy. If the test itself wrote the copy, a child that another test starts in
/// that moment would inherit the file open for writing, and the kernel refuses to run such a file (ETXTBSY).
pub fn copy_program(program: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("install")
        .arg("-m755")
        .args([program.as_ref(), to.as_ref()])
        .status();
    assert!(copied.unwrap().success());
}

/// Sends the signal. Whoever is to stop has done so when this returns: its other threads go on for a moment.
pub fn kill(pid: u32, signal: Signal) {
    send_signal(pid, signal).unwrap();
    if signal == Signal::STOP {
        eventually("every thread has stopped", || {
            has_stopped(pid).then_some(())
        });
    }
}

fn has_stopped(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    tasks.into_iter().flatten().flatten().all(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // In a `stat` file of /proc the state follows the program's name, which may contain parentheses too: split at the last
        // `) `. A task without a state has ended.
        let state = stat.rsplit_once(") ");
        state.is_none_or(|(_, state)| state.starts_with(['T', 't', 'Z', 'X']))
    })
}

/// How long the process has been on a processor, in the system as well: also its threads that have ended.
pub fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The fields are counted behind the program's name, as in `has_stopped`: of those the state is the first.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = [fields[11], fields[12]].map(|ticks| ticks.parse::<u64>().unwrap());
    // Linux tells programs of ticks of 10 ms on every processor that signet is built for.
    Duration::from_millis((ticks[0] + ticks[1]) * 10)
}

/// The memory of a process in KiB: what it shares with others counts by its share.
pub fn proportional_kib(pid: u32) -> u64 {
    kib(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// Resident memory of a process in KiB.
pub fn resident_kib(pid: u32) -> u64 {
    kib(&format!("/proc/{pid}/status"), "VmRSS:")
}

pub(crate) fn kib(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A daemon that no home holds: a test that fails leaves it nowhere.
pub struct Loose(pub u32);

impl Drop for Loose {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The daemon may have ended by itself: it does not matter that the signal then fails.
            let _ = send_signal(self.0, Signal::KILL);
        }
    }
}

/// Runs a command to its end that reads this from standard input.
pub fn fed(mut command: Command, input: &str) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// What a command said on standard error.
pub fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
