//! How a try fails: names that stand in the log in clear, so none repeats a word of a message or of an answer.

use std::io;

/// The most that a command may answer: no message holds more.
pub const LARGEST: u64 = 240 * 1024;

/// Why a try failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The try took longer than it may.
    #[error("timed out")]
    TimedOut,
    /// A command ended by itself, and not well.
    #[error("exit status {0}")]
    ExitStatus(i32),
    /// A command was ended by a signal.
    #[error("signal {0}")]
    Signal(i32),
    /// The system does not say how a command ended.
    #[error("no exit status")]
    NoStatus,
    /// The pipes to a command broke.
    #[error("its pipes broke")]
    Pipes,
    /// A command could not be started.
    #[error("cannot be run: {0}")]
    CannotStart(io::ErrorKind),
    /// More was answered than fits into a message.
    #[error("its answer is over {} KiB", LARGEST / 1024)]
    TooLarge,
    /// More was sent than is read of an answer with all that is around it.
    #[error("too-large: it sent over {0} KiB")]
    Flood(usize),
    /// What came is no JSON.
    #[error("its answer is not JSON")]
    NotJson,
    /// What came is JSON that two readers may read differently.
    #[error("{0}")]
    Json(&'static str),
    /// Two answers came where one is due.
    #[error("answered-twice: it gave more than one answer")]
    AnsweredTwice,
    /// Nobody listens there, or the connection broke before anything was answered.
    #[error("unreachable: no connection to it")]
    Unreachable,
    /// The other side could not prove its name.
    #[error("tls-refused: it has no certificate for its name that is trusted here")]
    Tls,
    /// The connection ended within an answer.
    #[error("cut-short: its answer ended too early")]
    CutShort,
    /// What came is no HTTP, or its head is too long.
    #[error("not-http: what it sent is no HTTP answer, or has too many headers")]
    NotHttp,
    /// An HTTP status that is no success.
    #[error("http-status: {0}")]
    Status(u16),
    /// The other side sends us elsewhere.
    #[error("redirected: it names another place, and only the configuration may do that")]
    Redirected,
    /// The answer is declared as something else than JSON, or as compressed.
    #[error(
        "wrong-content-type: its answer is not declared as application/json without an encoding"
    )]
    ContentType,
    /// The answer has not the form of one.
    #[error("wrong-shape: {0}")]
    Shape(&'static str),
    /// The answer belongs to another task.
    #[error("wrong-task: its answer is about another task than the one that it was asked about")]
    WrongTask,
    /// The answer belongs to another request.
    #[error("wrong-id: its answer carries another id than the request")]
    WrongId,
    /// A state that the protocol does not have.
    #[error("unknown-state: its answer has a state that its protocol does not know")]
    UnknownState,
    /// The work is done, and nothing came of it.
    #[error("no-output: its answer holds neither an artifact nor a message of the agent")]
    NoOutput,
    /// The server has no such tool, or no version in common.
    #[error("mcp-refused: {0}")]
    Mcp(&'static str),
    /// The file or variable that holds the token cannot be read.
    #[error("no-token: the file or variable that holds its token cannot be read")]
    Token,
    /// The other side is done, and no message holds what it answers: no other try would change that.
    #[error("{0}")]
    Unsendable(Box<Self>),
}

impl Fault {
    /// The fault of an answer that was heard whole, and that no message holds.
    #[must_use]
    pub fn of_answer(fault: Self) -> Self {
        Self::Unsendable(Box::new(fault))
    }

    /// Whether it says nothing about the message: the other side is away, and any other message would fail alike.
    pub const fn is_of_absence(&self) -> bool {
        matches!(
            self,
            Self::Unreachable | Self::CannotStart(_) | Self::Token | Self::Tls
        )
    }
}
