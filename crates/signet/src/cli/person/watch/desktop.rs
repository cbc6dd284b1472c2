//! What the person should see, on their desktop: by `notify-send`, at most once a minute for each kind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use signet_api::{Attention, AttentionKind};
use signet_audit::printable;

use crate::attention::{NotifyPace, PaceStep};
use crate::cli::CliError;
use crate::clock;
use crate::hint::typed;
use crate::programs::is_program;

/// Shows records by a thread of its own: a desktop that hangs holds up no terminal.
pub(super) struct Desktop {
    records: Sender<Attention>,
}

impl Desktop {
    /// A desktop that shows records with the `notify-send` found in PATH.
    pub(super) fn find() -> Result<Self, CliError> {
        let program = found(&std::env::var_os("PATH").unwrap_or_default()).ok_or_else(|| {
            let what =
                "there is no notify-send in PATH, and nothing else shows things on a desktop here";
            let next = "install it (Debian: apt-get install libnotify-bin), or leave out --desktop";
            CliError::usage(what, next)
        })?;
        let (records, coming) = channel();
        let thread = std::thread::Builder::new().name("desktop".into());
        let thread = thread.spawn(move || show_all(&program, &coming));
        thread
            .map_err(|error| CliError::refused(error, "free memory or threads, then try again"))?;
        Ok(Self { records })
    }

    pub(super) fn show(&self, attention: Attention) {
        // The error is ignored: the thread that shows the records stops early only if it has died, and then nothing can show
        // this record.
        let _ = self.records.send(attention);
    }
}

fn found(path: &std::ffi::OsStr) -> Option<PathBuf> {
    let mut files = std::env::split_paths(path).map(|place| place.join("notify-send"));
    // Search no relative directory of PATH: it would run any `notify-send` that lies where this
    // command happens to be started.
    files.find(|file| file.is_absolute() && is_program(file))
}

fn show_all(program: &Path, coming: &Receiver<Attention>) {
    let (mut pace, mut is_told) = (NotifyPace::default(), false);
    loop {
        let now = clock::elapsed();
        let waited = match pace.take(now) {
            PaceStep::Due(attention) => {
                if let Err(why) = show(program, &attention)
                    && !std::mem::replace(&mut is_told, true)
                {
                    anstream::eprintln!(
                        "notify-send failed: {why}; the desktop shows nothing, and this terminal does"
                    );
                }
                continue;
            }
            PaceStep::Later(at) => coming.recv_timeout(at.saturating_sub(now)),
            PaceStep::Nothing => coming.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match waited {
            Ok(attention) => pace.put(attention),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn show(program: &Path, attention: &Attention) -> Result<(), String> {
    let is_alarm = attention.kind == AttentionKind::Alarm;
    let urgency = if is_alarm { "critical" } else { "normal" };
    let mut command = Command::new(program);
    // `--` ends the options: otherwise a text that begins with a hyphen would be taken for an option.
    command.args(["--app-name=signet", "--urgency", urgency, "--"]);
    command.arg(format!("signet: {}", attention.agent));
    command.arg(format!(
        "{}\nnext: {}",
        plain(&attention.text),
        plain(&typed(&attention.next))
    ));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = command.spawn().map_err(|error| error.to_string())?;
    ended(child)
}

/// Waits for the program; one that hangs is killed after [`PATIENCE`].
fn ended(mut child: Child) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) | Err(_) => {
                // An error of `kill` is ignored: the program has then just ended by itself. It took too long in any
                // case, and the error below says so.
                let _ = child.kill();
                let _ = child.wait();
                return Err("it did not end within 10 s".to_owned());
            }
        }
    }
}

/// The text as a desktop shows it: desktops read tags such as `<b>` in a notification, so they are escaped.
fn plain(text: &str) -> String {
    let text = printable(text);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_tag_in_a_text_is_no_tag_on_the_desktop() {
        assert_eq!(plain("<b>a</b> & b"), "&lt;b&gt;a&lt;/b&gt; &amp; b");
        assert!(!plain("a\u{1b}[2J\nb").contains(char::is_control));
    }

    #[test]
    fn a_program_that_nobody_may_run_or_that_lies_where_one_stands_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("notify-send");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&file, mode(0o644)).unwrap();
        assert_eq!(found(dir.path().as_os_str()), None);
        std::fs::set_permissions(&file, mode(0o755)).unwrap();
        assert_eq!(found(dir.path().as_os_str()), Some(file));
        assert_eq!(found(std::ffi::OsStr::new(".:")), None);
    }
}
