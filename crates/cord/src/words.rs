//! The words of a cord: one JSON object a datagram, named by its only member.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A word of the launcher to the reading room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ToRoom {
    /// Where it listens: the socket comes along.
    Listen(ListenAt),
    /// A home that it shows: a narrowed connection to the daemon comes along, where one answers.
    Home(RoomHome),
    /// A connection in the place of one that was lost comes along.
    Connection(ReconnectedHome),
    /// An address that lets a browser in once.
    Ticket(EntryTicket),
}

/// A word of the launcher to the desk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ToDesk {
    /// Where it listens: the socket comes along.
    Listen(ListenAt),
    /// A home for whose person it decides.
    Home(DeskHome),
    /// An address that lets a browser in once.
    Ticket(EntryTicket),
}

/// A word of a program to the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CordWord {
    /// It has everything, and serves.
    Ready {},
    /// The connection to the daemon of that home ended.
    Lost(ReconnectedHome),
    /// It ends.
    End(ProgramEnd),
}

/// A listener that is bound already.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ListenAt {
    /// The segment of the path below which everything stands: 43 characters of base64url.
    pub secret: String,
    /// Address and port, as browsers write them in `Host`.
    pub host: String,
    /// The origin of the desk, where there is one and the room is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desk: Option<String>,
    /// How many homes follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homes: Option<usize>,
    /// After how many seconds without use the program is idle; its own measure when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<u64>,
}

impl std::fmt::Debug for ListenAt {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ListenAt({})", self.host)
    }
}

/// A home as the reading room shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoomHome {
    /// Its name in the pages: the last part of its path.
    pub name: String,
    /// The agent; absent where only a log is shown.
    pub agent: Option<String>,
    /// The folder of the log.
    pub log: PathBuf,
    /// The folder that the room may write.
    pub data: PathBuf,
}

/// A home as the desk decides in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeskHome {
    /// Its name, as in the room.
    pub name: String,
    /// The directory.
    pub home: PathBuf,
    /// The file of the control key; the home's own when absent.
    pub key: Option<PathBuf>,
    /// The file of the audit key; the home's own when absent.
    pub audit_key: Option<PathBuf>,
}

/// Which home's connection it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReconnectedHome {
    /// The name of the home.
    pub name: String,
}

/// `GET /o/<once>` lets a browser in, once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EntryTicket {
    /// 43 characters of base64url.
    pub once: String,
    /// How long it may be used.
    pub seconds: u64,
    /// Where the browser goes when it is in, in place of the first page: the room's own one-time address, for the desk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
}

impl std::fmt::Debug for EntryTicket {
    /// Without what lets anybody in.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EntryTicket({} s)", self.seconds)
    }
}

/// Why a program ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProgramEnd {
    /// `idle`, or one line for the person.
    pub reason: String,
}
