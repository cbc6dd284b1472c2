//! How the daemon of a home is run: by hand, by `signet up`, or by a unit of systemd.

use std::path::{Path, PathBuf};

use super::user::as_root;
use super::word;
use crate::programs::settings_dir;

/// What runs the daemon of a home, by the traces that it left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum DaemonKeeper {
    /// `signet run`, at a terminal or by a unit that the administrator wrote.
    #[default]
    ByHand,
    /// `signet up` in the foreground, without a service manager.
    Up,
    /// `signet up --background`: what it says goes to this file.
    Background(PathBuf),
    /// A service of the user's own, which `signet up` wrote.
    UserUnit(String),
    /// An instance of the unit that `signet install` enabled.
    SystemUnit(String),
}

impl DaemonKeeper {
    /// The traces in the home at `home`.
    pub(crate) fn of(home: &Path) -> Self {
        // Units name the home by its whole path: with a relative path, or a path through a link, no unit would be found.
        let whole = home.canonicalize().or_else(|_| std::path::absolute(home));
        let whole = whole.unwrap_or_else(|_| home.to_owned());
        if let Some(unit) = system_unit(&whole) {
            return Self::SystemUnit(unit);
        }
        if let Some(unit) = user_unit(&whole) {
            return Self::UserUnit(unit);
        }
        let log = whole.join(LOG);
        match (whole.join(UP_LOCK).exists(), log.exists()) {
            (true, true) => Self::Background(log),
            (true, false) => Self::Up,
            (false, _) => Self::ByHand,
        }
    }

    /// The command that starts the daemon.
    pub(crate) fn start(&self) -> String {
        match self {
            Self::ByHand => "signet run".to_owned(),
            Self::Up => "signet up".to_owned(),
            Self::Background(_) => "signet up --background".to_owned(),
            Self::UserUnit(unit) => format!("systemctl --user start {unit}"),
            Self::SystemUnit(unit) => as_root(&format!("systemctl start {unit}")),
        }
    }

    /// The command that ends the daemon and starts it again.
    pub(crate) fn restart(&self) -> String {
        match self {
            Self::ByHand => "signet down && signet run".to_owned(),
            Self::Up => "signet down --keep-nats && signet up".to_owned(),
            Self::Background(_) => "signet down --keep-nats && signet up --background".to_owned(),
            Self::UserUnit(unit) => format!("systemctl --user restart {unit}"),
            Self::SystemUnit(unit) => as_root(&format!("systemctl restart {unit}")),
        }
    }

    /// The command that shows what the daemon logs; `None` where the daemon logs to its terminal.
    pub(crate) fn words(&self) -> Option<String> {
        match self {
            Self::ByHand | Self::Up => None,
            Self::Background(log) => Some(format!("tail -n 20 {}", word(log))),
            Self::UserUnit(unit) => Some(format!("journalctl --user -n 20 -u {unit}")),
            Self::SystemUnit(unit) => Some(as_root(&format!("journalctl -n 20 -u {unit}"))),
        }
    }
}

/// A hint that names where the daemon of `home` logs.
pub(crate) fn told_where(home: &Path) -> String {
    let words = DaemonKeeper::of(home).words();
    words.unwrap_or_else(|| "look at the terminal where signet runs".to_owned())
}

/// The instance of `signet@` whose home this is, where systemd runs.
fn system_unit(home: &Path) -> Option<String> {
    let name = home.strip_prefix(HOMES).ok()?.to_str()?;
    let unit = format!("signet@{name}.service");
    // The unit is set up where `signet install` left a note, or an administrator who enabled the unit left a link.
    let is_noted = Path::new(NOTES).join(format!("{name}.json")).exists()
        || Path::new(WANTED).join(&unit).symlink_metadata().is_ok();
    // Where systemd does not run, as in a container, `systemctl` would fail (sd_booted(3)): name no unit there.
    let is_run = Path::new("/run/systemd/system").is_dir();
    (is_noted && is_run).then_some(unit)
}

/// The service of this user whose daemon runs in that home.
fn user_unit(home: &Path) -> Option<String> {
    unit_in(&settings_dir()?.join("systemd/user"), home)
}

fn unit_in(directory: &Path, home: &Path) -> Option<String> {
    let files = std::fs::read_dir(directory).ok()?.flatten();
    let mut names = files.filter_map(|file| file.file_name().into_string().ok());
    names.find(|name| {
        let is_ours = name.starts_with("signet-") && name.ends_with(".service");
        let text = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        is_ours
            && text.lines().any(|line| {
                let run = line.strip_prefix("ExecStart=");
                let run = run.and_then(|run| run.rsplit_once(" run --home "));
                run.is_some_and(|(_, place)| Path::new(place.trim_matches('"')) == home)
            })
    })
}

const LOG: &str = "daemon.log";
const UP_LOCK: &str = "up.lock";
const HOMES: &str = "/var/lib/signet";
const WANTED: &str = "/etc/systemd/system/multi-user.target.wants";
const NOTES: &str = "/etc/signet/agents";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_up_left_in_a_home_says_how_its_daemon_is_started() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        assert_eq!(DaemonKeeper::of(&home), DaemonKeeper::ByHand);
        std::fs::write(home.join(UP_LOCK), "").unwrap();
        assert_eq!(DaemonKeeper::of(&home).start(), "signet up");
        std::fs::write(home.join(LOG), "").unwrap();
        assert_eq!(DaemonKeeper::of(&home).start(), "signet up --background");
        let words = DaemonKeeper::of(&home).words().unwrap();
        assert!(words.starts_with("tail -n 20 /"), "{words}");
    }

    #[test]
    fn a_service_is_named_by_the_home_that_stands_in_it() {
        let units = tempfile::tempdir().unwrap();
        let unit = "[Service]\nExecStart=\"/usr/bin/signet\" run --home \"/srv/a\"\n";
        std::fs::write(units.path().join("signet-agent-a.service"), unit).unwrap();
        let found = |home: &str| unit_in(units.path(), Path::new(home));
        assert_eq!(found("/srv/a").as_deref(), Some("signet-agent-a.service"));
        assert_eq!(found("/srv"), None);
        let system = DaemonKeeper::SystemUnit("signet@a.service".to_owned());
        assert!(system.start().ends_with("systemctl start signet@a.service"));
    }
}
