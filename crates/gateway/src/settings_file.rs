//! The files of settings that a person writes for this program, and what they are told where one cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use signet_files::{ReadFault, SettingFault};
use signet_text::word;

/// How such a file is spoken of.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    /// The option that names another one.
    pub(crate) option: &'static str,
    /// The document that has every key.
    pub(crate) document: &'static str,
    /// Why nobody else may write it.
    pub(crate) danger: &'static str,
}

/// Why the file cannot be used. No text repeats a value of it.
#[derive(Debug, thiserror::Error)]
#[error("{}{why}", path.display())]
pub struct SettingsFault {
    path: PathBuf,
    file: &'static SettingsFile,
    pub(crate) why: SettingsUnusable,
}

/// What of it is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsUnusable {
    #[error(": {0}")]
    Unreadable(io::Error),
    #[error(": everybody may write it, and {0}")]
    Open(&'static str),
    #[error(", {0}")]
    Wrong(SettingFault),
}

impl SettingsFile {
    /// Reads the file.
    ///
    /// # Errors
    /// It is not there, is no plain file, may be written by everybody, or `parse` finds a fault in it.
    pub(crate) fn load<T>(
        &'static self,
        path: &Path,
        parse: impl FnOnce(&str) -> Result<T, SettingFault>,
    ) -> Result<T, SettingsFault> {
        let read = signet_files::read(path, LONGEST, BY_EVERYBODY).map_err(|fault| match fault {
            ReadFault::Io(error) => SettingsUnusable::Unreadable(error),
            ReadFault::Writable(_) => SettingsUnusable::Open(self.danger),
        });
        let parsed = read.and_then(|text| parse(&text).map_err(SettingsUnusable::Wrong));
        parsed.map_err(|why| SettingsFault {
            path: path.to_owned(),
            file: self,
            why,
        })
    }
}

impl SettingsFault {
    /// What to do about it.
    #[must_use]
    pub fn next(&self) -> String {
        let (path, file) = (word(&self.path), self.file);
        match &self.why {
            SettingsUnusable::Unreadable(_) => format!(
                "ls -ld {path}  # see to its rights, or name another with {}",
                file.option
            ),
            SettingsUnusable::Open(_) => format!("chmod o-w {path}"),
            SettingsUnusable::Wrong(SettingFault { line, next, .. }) => format!(
                "sed -n {line}p {path}  # {next}; {} has every key",
                file.document
            ),
        }
    }
}

const BY_EVERYBODY: u32 = 0o002;
/// No person writes a longer one.
const LONGEST: u64 = 16 << 20;
