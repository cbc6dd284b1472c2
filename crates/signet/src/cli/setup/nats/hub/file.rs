//! The file of a hub's configuration: made once, and changed by one command at a time.

use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::authority::HubAuthority;
use super::settings::HubSettings;
use crate::cli::CliError;
use crate::files::private::{self, PrivateError};
use crate::hint;

/// The configuration of a hub, which no other command changes meanwhile.
pub(super) struct HubFile {
    path: PathBuf,
    file: File,
}

impl HubFile {
    /// Opens it. A link is refused: the new file would take the place of the link, and the server would read the old one.
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let facts = path.symlink_metadata();
        if facts.is_ok_and(|facts| facts.is_symlink()) {
            let what = format!("{} is a link", path.display());
            return Err(CliError::usage(what, "name the file itself: --file FILE"));
        }
        let file = private::open_up_to(path, LONGEST)?;
        let busy = || {
            let what = format!("another signet nats hub is at work on {}", path.display());
            CliError::refused(what, "wait for its end, then try again")
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Error(error)) => {
                let what = format!("{}: {error}", path.display());
                return Err(CliError::file(
                    &error,
                    what,
                    "ls -ld the folder of the file",
                ));
            }
        }
        // Another command may have put a new file there before this one had the lock.
        let is_current = file
            .metadata()
            .and_then(|own| Ok(own.ino() == path.symlink_metadata()?.ino()));
        match is_current {
            Ok(true) => Ok(Self {
                path: path.to_owned(),
                file,
            }),
            _ => Err(busy()),
        }
    }

    /// The settings that stand in it.
    pub(super) fn settings(&self) -> Result<HubSettings, CliError> {
        let mut text = Zeroizing::new(String::new());
        let read = (&self.file).take(LONGEST).read_to_string(&mut text);
        let settings = read.ok().and_then(|_| HubSettings::parse(&text));
        settings.ok_or_else(|| {
            let what = format!(
                "{} is not what signet nats hub wrote: it was changed, or another release made it",
                self.path.display()
            );
            let next = "take back what was changed by hand; or make a new hub, with another --file and new lines for all";
            CliError::refused(what, next)
        })
    }

    /// Puts the new configuration into its place.
    pub(super) fn replace(&self, settings: &HubSettings) -> Result<(), CliError> {
        Ok(private::replace(&self.path, checked(settings)?.as_bytes())?)
    }
}

/// Refuses the path of a new hub's configuration where anything stands.
pub(super) fn refuse_existing(path: &Path) -> Result<(), CliError> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let what = format!("{} is there already", path.display());
    let next = format!(
        "change it with --add NAME=AGENT or --remove NAME; or, if nobody needs it: rm {}",
        hint::word(path)
    );
    Err(CliError::usage(what, next))
}

/// Makes the configuration of a new hub; never overwrites.
pub(super) fn create(path: &Path, settings: &HubSettings) -> Result<(), CliError> {
    Ok(private::create_whole(path, checked(settings)?.as_bytes())?)
}

/// The text of the configuration, if it can be read back.
fn checked(settings: &HubSettings) -> Result<Zeroizing<String>, CliError> {
    let text = settings.render();
    if text.len() as u64 > LONGEST {
        let what = format!(
            "the lists of this hub would need more than {} MiB",
            LONGEST >> 20
        );
        return Err(CliError::usage(
            what,
            "make a second hub for further households",
        ));
    }
    Ok(text)
}

/// The certificate in that file.
pub(super) fn authority(file: &str) -> Result<HubAuthority, CliError> {
    let path = Path::new(file);
    let text = text_of(path)?;
    HubAuthority::parse(&text).ok_or_else(|| {
        let what = format!("{file} is not the certificate of an authority");
        let next = "name a file of at most 8 KiB of PEM that has certificates alone: no key, which would come into every line";
        CliError::usage(what, next)
    })
}

fn text_of(path: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let read =
        signet_files::open_plain(path).and_then(|file| file.take(MOST).read_to_string(&mut text));
    read.map_err(|error| {
        CliError::from(PrivateError::Io {
            path: path.to_owned(),
            source: error,
        })
    })?;
    Ok(text)
}

/// How long a configuration may be, in bytes: 300 households of three agents have 8 MiB.
const LONGEST: u64 = 16 << 20;
/// How much of a file is read in which a certificate should be.
const MOST: u64 = 64 * 1024;
