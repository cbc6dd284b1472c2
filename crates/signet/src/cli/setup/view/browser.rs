//! The browser: it is given a file that leads to a one-time address, for what stands on a command line every user can read.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::SyncSender;

use super::program::ViewEvent;
use crate::cli::{CliError, print};
use crate::files::private;
use crate::programs::{in_path, is_program};

/// The file that leads on, until it is dropped.
pub(super) struct EntryFile(PathBuf);

impl Drop for EntryFile {
    fn drop(&mut self) {
        // An error is ignored: by now the address in the file was used or is too old, so a file that cannot
        // be removed lets nobody in.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Opens the address in the person's browser, or says what to open.
pub(super) fn open(at: &str) -> Result<Option<EntryFile>, CliError> {
    let Some(mut browser) = chosen() else {
        return tell(at).map(|()| None);
    };
    let file = write(at)?;
    let words: Vec<_> = browser.split_off(1);
    let has_place = words.iter().any(|word| word.contains("%s"));
    let mut command = Command::new(browser.remove(0));
    let named = file.0.to_string_lossy().into_owned();
    command.args(words.iter().map(|word| word.replace("%s", &named)));
    if !has_place {
        command.arg(&file.0);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // Wait for the browser in a thread of its own: a browser that stays open must not hold up this command, and
            // one that has ended would stay a zombie if nobody waited for it.
            std::thread::spawn(move || child.wait());
            print("view     the page opens in your browser\n")?;
            Ok(Some(file))
        }
        Err(_) => tell(at).map(|()| None),
    }
}

/// Says the address on the terminal, which nobody else reads.
pub(super) fn tell(at: &str) -> Result<(), CliError> {
    print(&format!(
        "view     open this address in your browser within a minute; it is good once:\n         {at}\n"
    ))
}

/// Tells whenever the person presses Enter.
pub(super) fn hear_enter(tell: SyncSender<ViewEvent>) {
    if !std::io::stdin().is_terminal() {
        return;
    }
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            if line.is_err() || tell.send(ViewEvent::Enter).is_err() {
                return;
            }
        }
    });
}

/// A file of mode 0600 that leads to the address.
fn write(at: &str) -> Result<EntryFile, CliError> {
    let folder = folder();
    let path = folder.join(format!("signet-view-{}.html", std::process::id()));
    // An earlier `signet view` with the same process number may have left its file here, and
    // `create` would fail over it.
    let _ = std::fs::remove_file(&path);
    private::create(&path, page(at).as_bytes())?;
    Ok(EntryFile(path))
}

fn page(at: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={at}\">\n<title>signet</title>\n<p><a href=\"{at}\">signet</a></p>\n"
    )
}

/// The user's own folder for what ends with the session, or else one that any browser may read.
fn folder() -> PathBuf {
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let runtime = named("XDG_RUNTIME_DIR").filter(|path| path.is_absolute() && path.is_dir());
    runtime.unwrap_or_else(std::env::temp_dir)
}

/// The browser's command: what $BROWSER names first that is there, or the desktop's own choice.
fn chosen() -> Option<Vec<String>> {
    let named = std::env::var("BROWSER").unwrap_or_default();
    let commands = named.split(':').map(words_of);
    let named = commands.filter(|words| words.first().is_some_and(|program| is_there(program)));
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let own = || has_desktop.then(|| vec!["xdg-open".to_owned()]);
    { named }
        .next()
        .or_else(|| own().filter(|_| is_there("xdg-open")))
}

fn words_of(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

fn is_there(program: &str) -> bool {
    match program.contains('/') {
        true => is_program(Path::new(program)),
        false => in_path(program).any(|file| is_program(&file)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_that_leads_on_is_this_users_alone_and_goes_with_the_address() {
        let file = write("http://127.1.2.3:4/o/once").unwrap();
        let mode = std::fs::metadata(&file.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&file.0).unwrap();
        assert!(text.contains("url=http://127.1.2.3:4/o/once"));
        let path = file.0.clone();
        drop(file);
        assert!(!path.exists());
    }
}
