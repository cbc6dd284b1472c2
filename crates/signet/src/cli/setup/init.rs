//! `signet init`: a new agent, made whole or not at all.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use signet_proto::certificate::Certificate;
use signet_proto::ids::{AgentId, PrincipalId};
use signet_proto::keys::fingerprint;

use crate::cli::{CliError, print};
use crate::clock;
use crate::config::Config;
use crate::disk_space;
use crate::files::{leftovers, private};
use crate::home::Home;
use crate::keystore::{self, NewAgent, Root};
use crate::lock::refuse_foreign;

/// See `signet init --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct InitArgs {
    /// The new agent's id: a-z, 0-9 and '-'
    #[arg(long, value_name = "ID")]
    agent: AgentId,
    /// The id of the person it acts for
    #[arg(long, value_name = "ID")]
    principal: PrincipalId,
    /// The person's existing root key, to make a second agent; it is used, not copied
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// The successor of the root key [default: next-root.pem beside it]
    #[arg(long, value_name = "FILE", requires = "root")]
    next_root: Option<PathBuf>,
    /// The person's control certificate, which is copied [default: control.json beside the root key]
    #[arg(long, value_name = "FILE", requires = "root")]
    control: Option<PathBuf>,
}

pub(crate) fn run(args: InitArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let root = root_of(&args);
    let own_root = matches!(root, Root::New);
    let certificate = make(&home, args.agent, args.principal, root)?;
    print(&summary(&home, &certificate, own_root))
}

/// Makes a home, whole or not at all.
pub(crate) fn make(
    home: &Home,
    agent: AgentId,
    principal: PrincipalId,
    root: Root,
) -> Result<Certificate, CliError> {
    let config = Config::template(&agent, &principal);
    let new = NewHome {
        agent,
        principal,
        root,
        config,
    };
    make_with(home, new, |_| Ok(()))
}

/// What a new home begins with.
pub(crate) struct NewHome {
    pub(crate) agent: AgentId,
    pub(crate) principal: PrincipalId,
    pub(crate) root: Root,
    /// The text of its configuration.
    pub(crate) config: String,
}

/// The same; what else belongs to it, `furnish` adds before anybody sees it in its place.
pub(crate) fn make_with(
    home: &Home,
    new: NewHome,
    furnish: impl FnOnce(&Home) -> Result<(), CliError>,
) -> Result<Certificate, CliError> {
    refuse_if_used(home)?;
    // Parse the configuration for its final path: a fault, such as a path that is too long for a socket,
    // is then found before anything is made.
    Config::parse(&new.config, home, None)?;
    // Make the draft beside its final place: a rename within one file system makes the home appear whole.
    let draft = DraftHome::new(home)?;
    private::create(&draft.home.config_file(), new.config.as_bytes())?;
    let keys = NewAgent {
        agent: new.agent,
        principal: new.principal,
        root: new.root,
    };
    let certificate = keystore::create(&draft.home, keys, clock::now())?;
    furnish(&draft.home)?;
    draft.finish(home)?;
    Ok(certificate)
}

fn root_of(args: &InitArgs) -> Root {
    let existing = args.root.as_deref().map(root_at);
    match existing.unwrap_or(Root::New) {
        Root::New => Root::New,
        Root::Existing {
            root,
            next,
            control,
        } => Root::Existing {
            root,
            next: args.next_root.clone().unwrap_or(next),
            control: args.control.clone().unwrap_or(control),
        },
    }
}

/// The root key in that file, and what lies beside it.
pub(crate) fn root_at(root: &Path) -> Root {
    Root::Existing {
        control: root.with_file_name(keystore::CONTROL_CERTIFICATE),
        next: root.with_file_name("next-root.pem"),
        root: root.to_owned(),
    }
}

pub(crate) fn refuse_if_used(home: &Home) -> Result<(), CliError> {
    let is_free = match std::fs::read_dir(home.path()) {
        Ok(mut files) => files.next().is_none(),
        Err(error) => {
            error.kind() == io::ErrorKind::NotFound && home.path().symlink_metadata().is_err()
        }
    };
    if is_free { Ok(()) } else { Err(used(home)) }
}

fn used(home: &Home) -> CliError {
    let what = format!(
        "{} exists already, and nothing is overwritten",
        home.path().display()
    );
    CliError::refused(
        what,
        "name another directory with --home; one agent, one home",
    )
}

/// A home that is being made beside its final place, and removed again unless it is finished.
pub(crate) struct DraftHome {
    pub(crate) home: Home,
    finished: bool,
}

impl DraftHome {
    pub(crate) fn new(home: &Home) -> Result<Self, CliError> {
        refuse_foreign(home)?;
        let name = home
            .path()
            .file_name()
            .ok_or_else(|| used(home))?
            .to_string_lossy();
        // Remove the draft that a killed command may have left here: it holds keys that nobody will use.
        let beginning = format!(".{name}.init-");
        leftovers::remove(home.path(), &beginning);
        let path = home
            .path()
            .with_file_name(format!("{beginning}{}", std::process::id()));
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700);
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        parent
            .map_or(Ok(()), |parent| builder.recursive(true).create(parent))
            .and_then(|()| builder.recursive(false).create(&path))
            .map_err(|error| not_made(&path, &error))?;
        Ok(Self {
            home: Home::at(path),
            finished: false,
        })
    }

    /// Moves the home to its place, durably. A directory with anything in it is never replaced.
    pub(crate) fn finish(mut self, home: &Home) -> Result<(), CliError> {
        private::sync_directory_of(&self.home.config_file())?;
        // rename(2) replaces an empty directory, which somebody may have made for the home, and refuses a directory with files:
        // so nothing that is there gets lost.
        match std::fs::rename(self.home.path(), home.path()) {
            Ok(()) => self.finished = true,
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                return Err(used(home));
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(used(home)),
            Err(error) => return Err(not_made(home.path(), &error)),
        }
        Ok(private::sync_directory_of(home.path())?)
    }
}

impl Drop for DraftHome {
    fn drop(&mut self) {
        if !self.finished {
            // The error is ignored: the command already fails with an error of its own, and the next `init`
            // removes a draft that is left.
            let _ = std::fs::remove_dir_all(self.home.path());
        }
    }
}

fn not_made(path: &Path, error: &io::Error) -> CliError {
    let what = format!("{} cannot be made: {error}", path.display());
    let next = match disk_space::is_full(error) {
        true => disk_space::make_room(path),
        false => "name a directory with --home whose parent you may write to".to_owned(),
    };
    CliError::file(error, what, next)
}

fn summary(home: &Home, certificate: &Certificate, own_root: bool) -> String {
    let path = home.path().display();
    let root = if own_root {
        "  keys/root.pem         the person's root key, and keys/next-root.pem its successor\n  \
           keys/control.pem      approves, pauses and resumes; the person's\n  \
           keys/audit.pem        reads the log's sealed copies; the person's\n\n\
         These four are not needed to run: move them to a safe place off this machine.\n"
    } else {
        ""
    };
    format!(
        "{} of {} is made in {path}\n\n  \
           config.toml           needs no editing\n  \
           keys/signing.pem      signs its messages\n  \
           keys/sealing.pem      opens what is sealed for it\n  \
           keys/certificate.json valid until {}\n\
         {root}\n\
         The twelve words of the root key, to read out to the people you meet:\n  {}\n\n\
         next: signet peer export\n",
        certificate.agent,
        certificate.principal,
        certificate.not_after,
        fingerprint(&certificate.root),
    )
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet init --agent agent-alice-001 --principal alice --home alice
  signet init --agent agent-alice-002 --principal alice --home alice-2 --root alice/keys/root.pem";
