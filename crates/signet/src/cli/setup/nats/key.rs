//! `signet nats key`: the nkey of a user on the server, made once.

use std::path::{Path, PathBuf};

use clap::Args;
use signet_transport::{new_user, user_of_seed};
use zeroize::Zeroizing;

use super::{CliError, print};
use crate::files::private;
use crate::hint;
use crate::home::Home;
use crate::lock::refuse_foreign;
use crate::random;

/// See `signet nats key --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet nats key\n  signet nats key --file admin.nk")]
pub(super) struct NatsKeyArgs {
    /// The file of the seed [default: nats.nk in the home, which the daemon then logs in with]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Prints the public name of the key. A key that is there is kept, since the server knows it.
pub(super) fn run(args: NatsKeyArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let file = match args.file {
        Some(file) => file,
        None => {
            let home = Home::find(home)?;
            refuse_foreign(&home)?;
            crate::config::Config::load(&home)?;
            home.nats_seed()
        }
    };
    let public = if file.symlink_metadata().is_ok() {
        read(&file)?
    } else {
        make(&file)?
    };
    print(&format!("{public}\n"))
}

/// The public name of the user whose seed is in that file.
pub(crate) fn read(file: &Path) -> Result<String, CliError> {
    read_or(file, || {
        let file = file.display();
        format!(
            "put it back from a backup; or remove it (rm {file}), make another (signet nats key --file {file}), and give \
             its public name to whoever keeps the server"
        )
    })
}

/// Reads a seed; where it is damaged, `next` says what makes a new one.
pub(crate) fn read_or(file: &Path, next: impl FnOnce() -> String) -> Result<String, CliError> {
    let seed = private::read(file)?;
    user_of_seed(&seed).ok_or_else(|| {
        let what = match seed.trim().is_empty() {
            true => format!("{} is empty, and should hold an nkey seed", file.display()),
            false => format!("{} is no nkey seed of a user", file.display()),
        };
        CliError::refused(what, next())
    })
}

/// Makes the seed of a new user, and gives its public name.
pub(crate) fn make(file: &Path) -> Result<String, CliError> {
    let made = NewUser::make()?;
    private::create_whole(file, made.file().as_bytes())?;
    Ok(made.public)
}

/// A key by which a new user logs in to a NATS server.
pub(crate) struct NewUser {
    pub(crate) seed: Zeroizing<String>,
    pub(crate) public: String,
}

impl NewUser {
    pub(crate) fn make() -> Result<Self, CliError> {
        let made = random::bytes().ok().and_then(new_user);
        let (seed, public) = made.ok_or_else(|| {
            CliError::refused("the system's random bytes make no key", "try again")
        })?;
        Ok(Self {
            seed: Zeroizing::new(seed),
            public,
        })
    }

    /// The text of the file that keeps this seed.
    pub(crate) fn file(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{}\n", *self.seed))
    }
}

/// What to do about a damaged seed of a login on a home's own server, which accepts another login in its place.
pub(crate) fn made_anew(seed: &Path) -> String {
    format!(
        "rm {}  # then the same command again makes another, and tells this server of it",
        hint::word(seed)
    )
}
