//! The exit code of each error of the core.

use std::io::ErrorKind;

use signet_audit::LogError;

use crate::cli::exit::Exit;
use crate::config::ConfigError;
use crate::control::ServerError;
use crate::daemon::DaemonError;
use crate::files::private::PrivateError;
use crate::keystore::KeystoreError;
use crate::lock::LockError;
use crate::memory::MemoryError;
use crate::state::StateError;

/// Which code stands for what the system said of a file.
pub(in crate::cli) fn of_file(kind: ErrorKind) -> Exit {
    match kind {
        ErrorKind::NotFound
        | ErrorKind::PermissionDenied
        | ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::InvalidInput
        | ErrorKind::InvalidData
        | ErrorKind::InvalidFilename => Exit::Usage,
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::OutOfMemory => {
            Exit::Refused
        }
        _ => Exit::Disk,
    }
}

/// Which code stands for what is wrong with a log that is read.
pub(in crate::cli) fn of_log(error: &LogError) -> Exit {
    match error {
        LogError::Io { source, .. } => of_file(source.kind()),
        LogError::NoLog(_)
        | LogError::NoOwner(_)
        | LogError::SameAgent(_)
        | LogError::OpenKey(_)
        | LogError::NotPlain { .. }
        | LogError::OpenFolder { .. }
        | LogError::OpenFolderAbove { .. }
        | LogError::NotShared { .. }
        | LogError::Newer { .. } => Exit::Usage,
        LogError::Full(_) | LogError::ReadOnly(_) | LogError::Gone { .. } | LogError::Stopped => {
            Exit::Disk
        }
        LogError::Broken { .. }
        | LogError::WentBack { .. }
        | LogError::Appended { .. }
        | LogError::Record { .. }
        | LogError::TooLong(_)
        | LogError::NotGenesis(_)
        | LogError::Unanchored { .. }
        | LogError::Held(_) => Exit::Refused,
    }
}

pub(super) fn of_private(error: &PrivateError) -> Exit {
    match error {
        PrivateError::Io { source, .. } => of_file(source.kind()),
        PrivateError::Mode { .. } | PrivateError::Owner { .. } | PrivateError::NotPlain(_) => {
            Exit::Usage
        }
    }
}

pub(super) fn of_keys(error: &KeystoreError) -> Exit {
    match error {
        KeystoreError::File(error) => of_private(error),
        KeystoreError::Waiting { .. }
        | KeystoreError::Intruded { .. }
        | KeystoreError::Unfit { .. }
        | KeystoreError::NoRequest
        | KeystoreError::Randomness(_) => Exit::Refused,
        // Exit with the code of wrong use: before the same command can succeed, the person has to mend a key file, a
        // passphrase, or the answer that the root key's machine gave to `signet key request`.
        KeystoreError::Missing(_)
        | KeystoreError::NoCredential { .. }
        | KeystoreError::Pem { .. }
        | KeystoreError::Key { .. }
        | KeystoreError::Json { .. }
        | KeystoreError::Certificate { .. }
        | KeystoreError::ForeignCertificate(_)
        | KeystoreError::ForeignStatement(_)
        | KeystoreError::OtherAgent { .. }
        | KeystoreError::Layers(_)
        | KeystoreError::SameRoot
        | KeystoreError::OtherRoot(_)
        | KeystoreError::StillNextRoot(_)
        | KeystoreError::NotNextRoot(_)
        | KeystoreError::NextRootMissing(_)
        | KeystoreError::OtherPerson(_)
        | KeystoreError::NoControl(_)
        | KeystoreError::ForeignAnswer(_)
        | KeystoreError::Encrypted(_)
        | KeystoreError::EncryptedSsh(_)
        | KeystoreError::NoOpensshForm(_)
        | KeystoreError::Bundle
        | KeystoreError::NotInBundle(_)
        | KeystoreError::PassphraseNeeded
        | KeystoreError::WrongPassphrase
        | KeystoreError::NoPassphrase(_) => Exit::Usage,
    }
}

pub(super) fn of_lock(error: &LockError) -> Exit {
    match error {
        LockError::ReadOnly(_) => Exit::Disk,
        LockError::Io { source, .. } => of_file(source.kind()),
        LockError::Foreign { .. } | LockError::OpenFolder { .. } | LockError::NotPlain(_) => {
            Exit::Usage
        }
        LockError::Held { .. } => Exit::Refused,
    }
}

pub(super) fn of_memory(error: &MemoryError) -> Exit {
    match error {
        MemoryError::Log(error) if error.is_of_the_disk() => Exit::Disk,
        MemoryError::Log(error) => of_log(error),
        MemoryError::Keys(error) => of_keys(error),
        MemoryError::NoGroup(_)
        | MemoryError::State(StateError::Newer { .. } | StateError::NotPlain(_)) => Exit::Usage,
        MemoryError::State(StateError::Full | StateError::Refused(_)) => Exit::Disk,
        MemoryError::Random(_)
        | MemoryError::NoBeginning(_)
        | MemoryError::Unproven { .. }
        | MemoryError::NothingLost
        | MemoryError::OtherAgent { .. }
        | MemoryError::State(
            StateError::Missing
            | StateError::Empty
            | StateError::Older
            | StateError::OtherAgent
            | StateError::Damaged(_)
            | StateError::Unfit
            | StateError::Row(_),
        ) => Exit::Refused,
    }
}

pub(super) fn of_config(error: &ConfigError) -> Exit {
    match error {
        ConfigError::Secret(error) => of_private(error),
        ConfigError::Io { source, .. } => of_file(source.kind()),
        ConfigError::Setting(_)
        | ConfigError::SocketPath { .. }
        | ConfigError::Writable { .. }
        | ConfigError::Carriers { .. } => Exit::Usage,
    }
}

pub(super) fn of_server(error: &ServerError) -> Exit {
    match error {
        ServerError::Io { source, .. } => of_file(source.kind()),
        ServerError::InTheWay { .. } | ServerError::Taken { .. } | ServerError::NoGroup { .. } => {
            Exit::Usage
        }
    }
}

pub(super) fn of_daemon(error: &DaemonError) -> Exit {
    match error {
        DaemonError::Config(error) => of_config(error),
        DaemonError::Lock(error) => of_lock(error),
        DaemonError::Memory(error) => of_memory(error),
        DaemonError::Private(error) => of_private(error),
        DaemonError::Control(error) => of_server(error),
        DaemonError::Nats(_) => Exit::Usage,
        DaemonError::Log(_) => Exit::Disk,
        DaemonError::System(_) => Exit::Refused,
    }
}
