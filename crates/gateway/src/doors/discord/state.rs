//! How far the channel was written and read, kept over restarts.

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::lock::Locked as _;
use serde::{Deserialize, Serialize};
use signet_files::replace;

/// The two places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct ChannelPositions {
    /// The line of the log up to which messages were shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shown: Option<u64>,
    /// The last message of the channel that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) read: Option<u64>,
}

/// The places, and the file that they are in.
pub(crate) struct ChannelState {
    path: PathBuf,
    places: Mutex<ChannelPositions>,
}

impl ChannelState {
    /// Reads the file; both places are unknown where there is none.
    ///
    /// # Errors
    /// That it cannot be read, or is none of ours.
    pub(crate) fn load(path: PathBuf) -> io::Result<Self> {
        let places = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => ChannelPositions::default(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            path,
            places: Mutex::new(places),
        })
    }

    pub(crate) fn places(&self) -> ChannelPositions {
        *self.places.locked()
    }

    /// Changes a place, on disk first.
    ///
    /// # Errors
    /// That the disk refuses it: the place is where it was.
    pub(crate) fn change(&self, change: impl FnOnce(&mut ChannelPositions)) -> io::Result<()> {
        let mut places = self.places.locked();
        let mut changed = *places;
        change(&mut changed);
        // A call may set the positions to what they are, for instance if nothing was added to the log: skip the write then,
        // because each write is synced to the disk.
        if changed != *places {
            let (new, bytes) = (
                self.path.with_extension("new"),
                serde_json::to_vec(&changed)?,
            );
            replace(&self.path, &new, 0o666, &bytes, |_| Ok(()))?;
            *places = changed;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_outlive_a_restart_and_junk_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("discord.json");
        let state = ChannelState::load(path.clone()).unwrap();
        assert_eq!(state.places(), ChannelPositions::default());
        state.change(|places| places.shown = Some(7)).unwrap();
        state.change(|places| places.read = Some(9)).unwrap();
        let places = ChannelPositions {
            shown: Some(7),
            read: Some(9),
        };
        assert_eq!(ChannelState::load(path.clone()).unwrap().places(), places);
        std::fs::write(&path, "junk").unwrap();
        assert!(ChannelState::load(path).is_err());
    }
}
