//! What can be wrong with a key store. No text repeats the content of a file.

use std::io::ErrorKind::NotFound;
use std::path::PathBuf;

use signet_audit::word;
use signet_json::JsonError;
use signet_proto::certificate::CertificateError;
use signet_proto::keys::KeyError;

use super::HANDED_OVER;
use crate::files::private::{self, PrivateError};

/// The keys cannot be used, or not be made.
#[derive(Debug, thiserror::Error)]
pub enum KeystoreError {
    /// A file that is absent, or that others can read.
    #[error(transparent)]
    File(#[from] PrivateError),
    /// A file that every home has is not there, though the home is.
    #[error("the home is there, and its key file {} is missing", .0.display())]
    Missing(PathBuf),
    /// Neither the home has the key nor does the service manager hand it over.
    #[error("the home has no key file {}, and there is no credential {name} in {}", path.display(), directory.display())]
    NoCredential {
        /// The file in the home.
        path: PathBuf,
        /// The name of the credential.
        name: &'static str,
        /// Where it would be.
        directory: PathBuf,
    },
    /// Not a PEM file of the kind that belongs there.
    #[error("{} is not a private key of the kind {kind} in PKCS#8 PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The algorithm that is expected.
        kind: &'static str,
    },
    /// A key that must not be used.
    #[error("{}: {source}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: KeyError,
    },
    /// Not JSON.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: JsonError,
    },
    /// A certificate or key statement that does not hold.
    #[error("{}: {source}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: CertificateError,
    },
    /// The certificate names another signing key.
    #[error("{} certifies another key than signing.pem", .0.display())]
    ForeignCertificate(PathBuf),
    /// The key statement is another agent's, or names another sealing key.
    #[error("{} speaks of another agent or another key than sealing.pem", .0.display())]
    ForeignStatement(PathBuf),
    /// The configuration names another agent or principal.
    #[error("{} is of {agent}, and config.toml names another agent or principal", path.display())]
    OtherAgent {
        /// The certificate.
        path: PathBuf,
        /// The agent it is of.
        agent: String,
    },
    /// The configuration claims more skill layers than the certificate allows.
    #[error("config.toml claims skill layers that {} does not allow", .0.display())]
    Layers(PathBuf),
    /// The root key and its successor are the same.
    #[error("the next root key is the root key itself; its successor has to be another key")]
    SameRoot,
    /// Another root key than the one that certified the agent.
    #[error("{} is not the root key that certified this agent", .0.display())]
    OtherRoot(PathBuf),
    /// The next root key where the present one is needed.
    #[error("{} is the next root key, which certifies nothing yet", .0.display())]
    StillNextRoot(PathBuf),
    /// A key that the certificate does not commit to.
    #[error("{} is not the next root key: the certificate commits to the hash of another one, and peers would refuse this one", .0.display())]
    NotNextRoot(PathBuf),
    /// The next root key takes over, and no further one is named.
    #[error("{} is the next root key; taking over, it has to commit to one of its own", .0.display())]
    NextRootMissing(PathBuf),
    /// A control certificate of another person or root.
    #[error("{} is of another person, or signed by another root key than the agent's certificate", .0.display())]
    OtherPerson(PathBuf),
    /// No control certificate.
    #[error("there is no control certificate at {}; all agents of a person share one", .0.display())]
    NoControl(PathBuf),
    /// Another change is staged.
    #[error("another change of keys waits in {}", .0.display())]
    Waiting(PathBuf),
    /// Something in the staging directory that no command puts there.
    #[error("{} was not put there by this user's signet; nothing of it is adopted", .0.display())]
    Intruded(PathBuf),
    /// A staged change that does not follow the present keys.
    #[error("the change of keys in {} does not follow the present keys, and was destroyed: {why}", path.display())]
    Unfit {
        /// The directory.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// An answer to another request.
    #[error("the answer is not for this home: {0}")]
    ForeignAnswer(&'static str),
    /// An answer without a request.
    #[error("no request of this home waits for an answer")]
    NoRequest,
    /// An encrypted PKCS#8 key.
    #[error("{} is encrypted", .0.display())]
    Encrypted(PathBuf),
    /// An encrypted OpenSSH key.
    #[error("{} is an encrypted OpenSSH key", .0.display())]
    EncryptedSsh(PathBuf),
    /// A key that OpenSSH has no form for.
    #[error("OpenSSH has no form for the key in {}: it knows no X25519 keys", .0.display())]
    NoOpensshForm(PathBuf),
    /// Not an exported file.
    #[error("the file is not what `signet key export` writes")]
    Bundle,
    /// A key that the certificates name is missing.
    #[error("the {0} is not among the keys")]
    NotInBundle(&'static str),
    /// The file is encrypted.
    #[error("the file is encrypted, and no passphrase is given")]
    PassphraseNeeded,
    /// The passphrase does not open it.
    #[error("the passphrase does not open the file")]
    WrongPassphrase,
    /// A passphrase file without a passphrase.
    #[error("the first line of {} is empty", .0.display())]
    NoPassphrase(PathBuf),
    /// The operating system gives no randomness.
    #[error("the system gives no random numbers: {0}")]
    Randomness(std::io::Error),
}

impl KeystoreError {
    /// The error of reading a home: every file that is read there belongs there.
    pub(super) fn of_a_home(self) -> Self {
        match self {
            Self::File(PrivateError::Io { path, source }) if source.kind() == NotFound => {
                Self::absent(path)
            }
            other => other,
        }
    }

    fn absent(path: PathBuf) -> Self {
        let named = |name: &&&str| path.file_name().is_some_and(|file| file == **name);
        let name = HANDED_OVER.iter().find(named);
        match (name, private::credentials()) {
            (Some(name), Some(directory)) => Self::NoCredential {
                name,
                path,
                directory,
            },
            _ => Self::Missing(path),
        }
    }

    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::File(error) => error.next(),
            Self::Missing { .. } => {
                "signet key recover --help  # makes a home again from an export, once this one is moved away; where a \
                 backup has the file, put that back instead"
                    .to_owned()
            }
            Self::NoCredential { name, .. } => format!(
                "put LoadCredential={name}:FILE into the unit, or LoadCredentialEncrypted=; or the key back into the home"
            ),
            Self::OtherAgent { .. } => {
                "correct [agent] in config.toml, or restore the certificate".to_owned()
            }
            Self::Layers { .. } => "correct `layers` in [agent] of config.toml".to_owned(),
            Self::SameRoot => "name the right file with --next-root".to_owned(),
            Self::Randomness(_) => "try again when the system has started completely".to_owned(),
            Self::OtherRoot { .. } => {
                "name the person's present root key; signet key show has its words".to_owned()
            }
            Self::StillNextRoot { .. } => {
                "name the present root key, or let this one take over: signet key rotate root"
                    .to_owned()
            }
            Self::NotNextRoot { .. } => {
                "name the next-root.pem that was made with the present root key".to_owned()
            }
            Self::NextRootMissing { .. } => "name its successor with --next-root FILE".to_owned(),
            Self::OtherPerson { .. } => {
                "name the control.json of this person's other agent".to_owned()
            }
            Self::NoControl { .. } => {
                "name it with --control FILE; signet key rotate control makes it in a home that has none"
                    .to_owned()
            }
            Self::Waiting { .. } => {
                "signet key adopt  # finishes that change; then the same command again".to_owned()
            }
            Self::Intruded(path) => format!("ls -la {}  # find out who did it", word(path)),
            Self::Unfit { .. } => "give the command again".to_owned(),
            Self::ForeignAnswer { .. } => {
                "carry the newest output of signet key request to the root key".to_owned()
            }
            Self::NoRequest => "signet key request > request.json  # begins it".to_owned(),
            Self::Encrypted(path) => format!(
                "openssl pkcs8 -in {} -out COPY  # decrypts a copy; delete it afterwards",
                word(path)
            ),
            Self::EncryptedSsh(path) => format!(
                "cp {0} COPY && ssh-keygen -p -N '' -f COPY  # decrypts a copy; delete it afterwards",
                word(path)
            ),
            Self::NoOpensshForm { .. } => "use --to pkcs8".to_owned(),
            Self::Bundle => "name the file that signet key export made, unchanged".to_owned(),
            Self::NotInBundle { .. } => {
                "name its file, wherever it is kept: see signet key export --help".to_owned()
            }
            Self::PassphraseNeeded => "name a file with it: --passphrase-file FILE".to_owned(),
            Self::WrongPassphrase => "name the right file with --passphrase-file".to_owned(),
            Self::NoPassphrase { .. } => "write the passphrase into its first line".to_owned(),
            Self::Pem { .. }
            | Self::Key { .. }
            | Self::Json { .. }
            | Self::Certificate { .. }
            | Self::ForeignCertificate { .. }
            | Self::ForeignStatement { .. } => {
                "put the right file there, from a backup or from where it was copied".to_owned()
            }
        }
    }
}
