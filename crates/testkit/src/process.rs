//! Processes by their own ids, and the program under test.

use std::path::PathBuf;
use std::process::Output;

use rustix::process::Signal;
use signet_driver::send_signal;

/// The program `signet`, which Cargo builds beside the tests and benches of its package.
pub fn signet() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap();
    let program = built.join("signet");
    assert!(
        program.is_file(),
        "no {}: only tests and benches of the package signet have it built",
        program.display()
    );
    program
}

pub fn kill(pid: u32, signal: Signal) {
    send_signal(pid, signal).unwrap();
}

/// A daemon that no home holds: a test that fails leaves it nowhere.
pub struct Loose(pub u32);

impl Drop for Loose {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = send_signal(self.0, Signal::KILL);
        }
    }
}

/// What a command said on standard error.
pub fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
