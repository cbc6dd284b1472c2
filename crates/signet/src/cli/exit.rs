//! How a command ends, as a number: the one table that the commands end by, the help prints and the
//! documents are compared with.

use std::fmt::Write as _;
use std::process::ExitCode;

/// What the exit code of every command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command did what was asked.
    Done = 0,
    /// The daemon, a peer or a person refused it; or what was to be proved does not hold.
    Refused = 1,
    /// The command line, a file or a setting cannot be used as it is. clap ends with this code as well.
    Usage = 2,
    /// The daemon or the peer does not answer, or not in time.
    NotReachable = 3,
    /// Nothing can be written. A restart does not help: somebody has to see to the disk.
    Disk = 4,
    /// The message or the decision waits in this home, and goes on by itself when people have decided.
    Waiting = 5,
    /// A panic: Rust's own code for it.
    Fault = 101,
}

impl Exit {
    /// Every code, by its number.
    pub const ALL: [Self; 7] = [
        Self::Done,
        Self::Refused,
        Self::Usage,
        Self::NotReachable,
        Self::Disk,
        Self::Waiting,
        Self::Fault,
    ];

    /// The number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The name that programs read in an error that is printed as JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::NotReachable => "not-reachable",
            Self::Disk => "disk",
            Self::Waiting => "waiting",
            Self::Fault => "fault",
        }
    }

    /// Whether `signet run`, started again after this, may do better without a person: what a service manager is
    /// told in `RestartPreventExitStatus=`.
    pub const fn may_restart(self) -> bool {
        match self {
            // 0: the daemon was asked to stop. After 1, 2 and 4 each new start ends the same way until a person has
            // done something. 1: another daemon holds the home, or the log is not what this agent wrote. 2: the
            // configuration or a file is at fault. 4: the disk is full or fails, and each start would write to it.
            Self::Done | Self::Refused | Self::Usage | Self::Disk => false,
            Self::NotReachable | Self::Waiting | Self::Fault => true,
        }
    }

    /// One line for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => {
                "refused by a rule, a peer or a person; or what was proved does not hold"
            }
            Self::Usage => "the command line, the configuration or a file it names cannot be used",
            Self::NotReachable => "no answer in time from the daemon, the peer or the NATS server",
            Self::Disk => "nothing can be written: to the disk, or to standard output",
            Self::Waiting => "not done yet: it waits here until people have decided",
            Self::Fault => "a fault in signet itself",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// The table for `signet --help`.
pub(super) fn table() -> String {
    section(Exit::ALL.map(|exit| (exit, exit.meaning())))
}

/// What the codes mean for one command, where that can be said more closely.
pub(super) fn section<const N: usize>(rows: [(Exit, &str); N]) -> String {
    let mut text = String::from("EXIT CODES:\n");
    for (exit, meaning) in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<3}  {meaning}", exit.number());
    }
    text
}
