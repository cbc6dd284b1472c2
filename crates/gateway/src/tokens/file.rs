//! The file of the tokens: names, hashes, scopes and ends. It holds nothing by which anybody is let in.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use signet_api::{Ceiling, May};
use signet_files::{ReadFault, TomlFile, replace};
use signet_text::word;

/// The whole file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default, rename = "token")]
    pub(super) tokens: Vec<TokenEntry>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TokenEntry {
    pub(super) name: String,
    /// SHA-256 of a token, or of a certificate.
    pub(super) hash: Hash,
    /// Whether the hash is that of a certificate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) certificate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) peers: Option<Vec<String>>,
    pub(super) tier: u8,
    pub(super) may: May,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) requests_per_minute: Option<u32>,
    /// Seconds since 1970.
    pub(super) made: u64,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<u64>,
}

/// A SHA-256, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Hash(pub(super) [u8; 32]);

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileFault {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: everybody may write it, and it says who is let in", .0.display())]
    Open(PathBuf),
    #[error("{}: it is a pipe, a device or a directory, and tokens are read from a file", .0.display())]
    NoFile(PathBuf),
    #[error("{}: it is longer than {LONGEST} bytes, which hold thousands of tokens", .0.display())]
    TooLong(PathBuf),
    #[error("{}: {what}", path.display())]
    Wrong { path: PathBuf, what: String },
}

impl FileFault {
    /// What to do about it.
    pub(super) fn next(&self) -> String {
        let next = match self {
            Self::Open(path) => return format!("chmod o-w {}", word(path)),
            Self::NoFile(path) => {
                let away = path.with_extension("away");
                return format!(
                    "mv {} {}  # then make the tokens: signet token make NAME",
                    word(path),
                    word(&away)
                );
            }
            Self::Wrong { .. } | Self::TooLong(_) => {
                "correct the file, or move it away and make the tokens again"
            }
            Self::Io { .. } => "see to the rights of the file and of its directory",
        };
        next.to_owned()
    }
}

impl File {
    /// Reads it; one that is not there is empty.
    pub(super) fn load(path: &Path) -> Result<Self, FileFault> {
        let failed = |source| FileFault::Io {
            path: path.to_owned(),
            source,
        };
        // Read one byte more than is allowed: this byte shows that the file is too long.
        let text = match signet_files::read(path, LONGEST + 1, 0o002) {
            Ok(text) => text,
            // A missing file means that no token was made yet.
            Err(ReadFault::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(ReadFault::Io(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(FileFault::NoFile(path.to_owned()));
            }
            Err(ReadFault::Io(error)) => return Err(failed(error)),
            Err(ReadFault::Writable(_)) => return Err(FileFault::Open(path.to_owned())),
        };
        if text.len() as u64 > LONGEST {
            return Err(FileFault::TooLong(path.to_owned()));
        }
        // An editor empties the file before it writes it. `store` writes `HEAD` at least, so an empty file revokes no token: it
        // lets nobody in until it is written, and no task ends.
        let read = match text.trim().is_empty() {
            true => {
                Err("it is empty: whoever writes it is not done, or its tokens are lost".to_owned())
            }
            false => Self::parse(&text),
        };
        read.map_err(|what| FileFault::Wrong {
            path: path.to_owned(),
            what,
        })
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let read = TomlFile::parse(text).and_then(|file| file.read());
        read.map_err(|fault| fault.to_string())
    }

    /// Writes it in the place of what was there: a reader sees the one or the other.
    pub(super) fn store(&self, path: &Path) -> Result<(), FileFault> {
        let failed = |source| FileFault::Io {
            path: path.to_owned(),
            source,
        };
        let text = toml::to_string(self).map_err(|error| FileFault::Wrong {
            path: path.to_owned(),
            what: error.to_string(),
        })?;
        // The person may have let a group read the file: so keep the rights of owner and group, and take away only those of all
        // others.
        let mode = fs::metadata(path).map_or(0o600, |there| there.mode() & 0o770);
        let (beside, text) = (path.with_extension("new"), format!("{HEAD}{text}"));
        let replaced = replace(path, &beside, 0o600, text.as_bytes(), |file| {
            file.set_permissions(Permissions::from_mode(mode))
        });
        replaced.map_err(failed)
    }
}

impl TokenEntry {
    /// What tells it from every other, also from one of the same name before or after it.
    pub(super) fn caller(&self) -> String {
        let hash = HEXLOWER.encode(&self.hash.0);
        format!("{}#{}", self.name, hash.get(..16).unwrap_or(&hash))
    }

    pub(super) fn new(name: &str, hash: [u8; 32], scope: &Ceiling, expires: Option<u64>) -> Self {
        let peers = scope.peers.as_ref();
        Self {
            name: name.to_owned(),
            hash: Hash(hash),
            certificate: false,
            peers: peers.map(|peers| peers.iter().cloned().collect()),
            tier: scope.tier,
            may: scope.may,
            requests_per_minute: None,
            made: now(),
            expires,
        }
    }

    pub(super) fn scope(&self) -> Ceiling {
        let peers = self.peers.as_ref();
        Ceiling {
            peers: peers.map(|peers| Arc::new(peers.iter().cloned().collect())),
            tier: self.tier,
            may: self.may,
        }
    }

    pub(super) fn holds_at(&self, now: u64) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

impl TryFrom<String> for Hash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("`hash` is no SHA-256 in hexadecimal")
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        HEXLOWER.encode(&hash.0)
    }
}

/// Seconds since 1970. A clock that stands before that lets no token expire.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Of the whole file.
const LONGEST: u64 = 4 << 20;
const HEAD: &str = "# Who may call the gateway. Written by signet token, which also revokes; the tokens themselves are not here.\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_crash_before_the_rename_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.toml");
        let scope = Ceiling {
            peers: Some(Arc::new(["agent-bob".to_owned()].into())),
            tier: 2,
            may: May::Read,
        };
        let entry = TokenEntry::new("one", [7; 32], &scope, Some(9));
        let file = File {
            tokens: vec![entry.clone()],
        };
        file.store(&path).unwrap();
        fs::write(path.with_extension("new"), "[[token]]\nname = \"x").unwrap();
        let read = File::load(&path).unwrap().tokens;
        assert_eq!((&read[0], read[0].scope()), (&entry, scope));
        assert!(!entry.holds_at(9) && entry.holds_at(8));
        file.store(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_tokens_file_that_is_a_pipe_or_endless_is_refused_and_waits_for_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.toml");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let (read, came) = std::sync::mpsc::channel();
        let pipe = path.clone();
        std::thread::spawn(move || drop(read.send(File::load(&pipe).map(drop))));
        let loaded = came.recv_timeout(std::time::Duration::from_secs(10));
        assert!(
            matches!(loaded, Ok(Err(FileFault::NoFile(_)))),
            "{loaded:?}"
        );
        for other in ["/dev/zero", "/dev/full", "/"] {
            let loaded = File::load(Path::new(other));
            assert!(matches!(loaded, Err(FileFault::NoFile(_))), "{other}");
        }
        fs::remove_file(&path).unwrap();
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(File::load(&path), Err(FileFault::TooLong(_))));
    }

    #[test]
    fn a_file_that_others_can_write_or_that_is_cut_short_lets_nobody_in() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.toml");
        for text in ["[[token]]\nname = \"x\"\n", "[[token", "x = 1\n", "\n", ""] {
            fs::write(&path, text).unwrap();
            assert!(
                matches!(File::load(&path), Err(FileFault::Wrong { .. })),
                "{text}"
            );
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o606);
        fs::set_permissions(&path, mode).unwrap();
        assert!(matches!(File::load(&path), Err(FileFault::Open(_))));
    }
}
