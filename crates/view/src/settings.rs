//! The settings of the room: what it shows and where it listens, from whichever side it was told.

use std::path::PathBuf;
use std::time::Duration;

/// One log that is shown.
#[derive(Clone, Debug)]
pub(crate) struct ShownHome {
    /// The person's name for it; of a log alone, its folder.
    pub(crate) name: String,
    /// The folder of the log.
    pub(crate) log: PathBuf,
}

/// The settings of one run.
#[derive(Clone, Debug)]
pub(crate) struct RoomSettings {
    /// The logs, shown as one household.
    pub(crate) homes: Vec<ShownHome>,
    /// The folder of the index.
    pub(crate) data: PathBuf,
    /// The secret segment of the path.
    pub(crate) secret: String,
    /// Address and port, as browsers name them in `Host`.
    pub(crate) host: String,
    /// Where the desk is, `http://127.a.b.c:port`; none where a log is shown alone.
    pub(crate) desk: Option<String>,
    /// The room ends after so long without use.
    pub(crate) idle: Duration,
}
