//! What can be wrong with a key store. No text repeats the content of a file.

use std::path::PathBuf;

use signet_proto::certificate::CertificateError;
use signet_proto::json::JsonError;
use signet_proto::keys::KeyError;

use crate::private::PrivateError;

/// The keys cannot be used, or not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeystoreError {
    /// A file that is absent, or that others can read.
    #[error(transparent)]
    File(#[from] PrivateError),
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
    #[error("{} certifies another key than signing.pem", path.display())]
    ForeignCertificate {
        /// The certificate.
        path: PathBuf,
    },
    /// The key statement is another agent's, or names another sealing key.
    #[error("{} speaks of another agent or another key than sealing.pem", path.display())]
    ForeignStatement {
        /// The statement.
        path: PathBuf,
    },
    /// The configuration names another agent or principal.
    #[error("{} is of {agent}, and config.toml names another agent or principal", path.display())]
    OtherAgent {
        /// The certificate.
        path: PathBuf,
        /// The agent it is of.
        agent: String,
    },
    /// The configuration claims more skill layers than the certificate allows.
    #[error("config.toml claims skill layers that {} does not allow", path.display())]
    Layers {
        /// The certificate.
        path: PathBuf,
    },
    /// The root key and its successor are the same.
    #[error("the next root key is the root key itself; its successor has to be another key")]
    SameRoot,
    /// The operating system gives no randomness.
    #[error("the system gives no random numbers: {0}")]
    Randomness(std::io::Error),
}

impl KeystoreError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::File(error) => error.next(),
            Self::OtherAgent { .. } => {
                "correct [agent] in config.toml, or restore the certificate".to_owned()
            }
            Self::Layers { .. } => "correct `layers` in [agent] of config.toml".to_owned(),
            Self::SameRoot => "name the right file with --next-root".to_owned(),
            Self::Randomness(_) => "try again when the system has started completely".to_owned(),
            Self::Pem { .. }
            | Self::Key { .. }
            | Self::Json { .. }
            | Self::Certificate { .. }
            | Self::ForeignCertificate { .. }
            | Self::ForeignStatement { .. } => {
                "restore the file from a backup, or make another home with `signet init`".to_owned()
            }
        }
    }
}
