//! Certificates and keys in files of PEM, and why there is none.

use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use signet_files::open_plain;

/// Why a file of PEM cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PemFault {
    #[error("there is no {}", .0.display())]
    Absent(PathBuf),
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} holds no {what} in PEM", path.display())]
    Nothing { path: PathBuf, what: &'static str },
}

impl PemFault {
    pub(crate) fn nothing(path: &Path, what: &'static str) -> Self {
        Self::Nothing {
            path: path.to_owned(),
            what,
        }
    }

    fn of(path: &Path, what: &'static str, error: pem::Error) -> Self {
        match error {
            pem::Error::Io(source) if source.kind() == io::ErrorKind::NotFound => {
                Self::Absent(path.to_owned())
            }
            pem::Error::Io(source) => Self::Unreadable {
                path: path.to_owned(),
                source,
            },
            _ => Self::nothing(path, what),
        }
    }
}

/// The certificates of a file: one at least.
///
/// # Errors
/// That it is not there, cannot be read, or holds none.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemFault> {
    let fault = |error| PemFault::of(path, CERTIFICATE, error);
    // `open_plain` refuses a pipe: opening a pipe would wait until somebody writes to it.
    let file = open_plain(path).map_err(pem::Error::Io).map_err(fault)?;
    let all: Vec<_> = CertificateDer::pem_reader_iter(file)
        .collect::<Result<_, _>>()
        .map_err(fault)?;
    match all.is_empty() {
        true => Err(PemFault::nothing(path, CERTIFICATE)),
        false => Ok(all),
    }
}

/// The private key of a file.
///
/// # Errors
/// That it is not there, cannot be read, or holds none.
pub(crate) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, PemFault> {
    let read = |file| PrivateKeyDer::from_pem_reader(file);
    let read = open_plain(path).map_err(pem::Error::Io).and_then(read);
    read.map_err(|error| PemFault::of(path, KEY, error))
}

pub(crate) const CERTIFICATE: &str = "certificate";
const KEY: &str = "private key";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_told_from_one_that_holds_something_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("chain.pem");
        let said = || {
            [
                certificates(&path).err().unwrap().to_string(),
                private_key(&path).err().unwrap().to_string(),
            ]
        };
        for text in said() {
            assert_eq!(text, format!("there is no {}", path.display()));
        }
        std::fs::write(&path, "no PEM\n").unwrap();
        let [certificate, key] = said();
        assert!(
            certificate.ends_with("holds no certificate in PEM"),
            "{certificate}"
        );
        assert!(key.ends_with("holds no private key in PEM"), "{key}");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        for text in said() {
            assert!(!text.contains("in PEM"), "{text}");
        }
    }
}
