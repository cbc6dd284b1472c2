//! `[notify]`: the command that tells the person.

use super::ConfigError;
use super::section::Section;

/// A program, and what it is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifyCommand {
    /// An absolute path, or a name that is looked up in PATH.
    pub program: String,
    /// Its arguments, as they are: no shell reads them.
    pub arguments: Vec<String>,
}

/// Reads the section; nobody is told by a command unless there is one.
pub(super) fn command(root: &Section<'_>) -> Result<Option<NotifyCommand>, ConfigError> {
    let section = root.section("notify", &["command"])?;
    let Some(words) = section.texts("command")? else {
        return Ok(None);
    };
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    // Beside a relative path stands whoever may write in the directory that the daemon happens to be in.
    let is_named = !program.is_empty() && (program.starts_with('/') || !program.contains('/'));
    let arguments: Vec<String> = words.collect();
    if !is_named || program.contains('\0') || arguments.iter().any(|word| word.contains('\0')) {
        let fault = "a list is expected that begins with an absolute path, or with a name that is looked up in PATH";
        return Err(section.bad("command", fault));
    }
    Ok(Some(NotifyCommand { program, arguments }))
}
