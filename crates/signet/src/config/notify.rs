//! `[notify]`: the command that tells the person.

use serde::Deserialize;

use super::ConfigError;
use super::section::Source;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NotifySection {
    command: Option<Vec<String>>,
}

/// A program, and what it is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifyCommand {
    /// An absolute path, or a name that is looked up in PATH.
    pub program: String,
    /// Its arguments, as they are: no shell reads them.
    pub arguments: Vec<String>,
}

impl NotifySection {
    /// Nobody is told by a command unless there is one.
    pub(super) fn read(self, source: Source<'_>) -> Result<Option<NotifyCommand>, ConfigError> {
        let Some(words) = self.command else {
            return Ok(None);
        };
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default();
        // A relative path is refused: whoever may write in the
        // directory where the daemon runs could put a program there.
        let is_named = !program.is_empty() && (program.starts_with('/') || !program.contains('/'));
        let arguments: Vec<String> = words.collect();
        if !is_named || program.contains('\0') || arguments.iter().any(|word| word.contains('\0')) {
            let fault = "a list is expected that begins with an absolute path, or with a name that is looked up in PATH";
            return Err(source.bad("notify.command", fault));
        }
        Ok(Some(NotifyCommand { program, arguments }))
    }
}
