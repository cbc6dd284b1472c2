//! Reading one set of key files: those in their places, or as they will be once a staged change is
//! adopted.

use std::io;
use std::path::{Path, PathBuf};

use signet_json::{Limits, Value};
use signet_proto::certificate::{Certificate, ControlCertificate, KeyStatement};
use signet_proto::keys::{SealSecret, SigningKey};

use super::pem::{self, Algorithm};
use super::{
    AUDIT, CERTIFICATE, CONTROL, CONTROL_CERTIFICATE, HANDED_OVER, KEYS, KeystoreError, NEXT_ROOT,
    ROOT, SEALING, SIGNING, issue, retired, stage,
};
use crate::files::private;
use crate::home::Home;

/// A set of key files.
pub(super) struct KeyFolder<'a> {
    home: &'a Home,
    staged: bool,
}

impl<'a> KeyFolder<'a> {
    /// The files in their places.
    pub(super) const fn present(home: &'a Home) -> Self {
        Self {
            home,
            staged: false,
        }
    }

    /// The files that are staged, and the present ones where none is.
    pub(super) const fn staged(home: &'a Home) -> Self {
        Self { home, staged: true }
    }

    /// Where the file `name` of this set is.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        let staged = stage::next(self.home).join(name);
        if self.staged && staged.exists() {
            return staged;
        }
        let present = self.home.key_file(name);
        // Use the key that the service manager hands over only while the home has none: a change of keys puts the new key into
        // the home, so the home's key is the newer one.
        let handed = HANDED_OVER.contains(&name) && !present.exists();
        let handed = handed.then(|| private::credential(name)).flatten();
        handed.unwrap_or(present)
    }

    /// The credential of that name, where a newer key of this set has followed it.
    fn followed(&self, name: &str) -> Option<PathBuf> {
        let handed = private::credential(name)?;
        (self.file(name) != handed).then_some(handed)
    }

    /// The person's secrets, where they still stand here, must be as private as those that are read.
    pub(super) fn prove_private(&self) -> Result<(), KeystoreError> {
        for path in [ROOT, NEXT_ROOT, CONTROL, AUDIT].map(|name| self.file(name)) {
            if path.exists() {
                private::open(&path)?;
            }
        }
        Ok(())
    }

    pub(super) fn certificate(&self) -> Result<Certificate, KeystoreError> {
        let path = self.file(CERTIFICATE);
        let parsed = Certificate::parse(&read_json(&path)?);
        parsed.map_err(|source| KeystoreError::Certificate { path, source })
    }

    /// The key statement under the key of `certificate`.
    pub(super) fn statement(
        &self,
        certificate: &Certificate,
    ) -> Result<KeyStatement, KeystoreError> {
        let path = self.file(KEYS);
        let parsed = KeyStatement::parse(&read_json(&path)?, &certificate.signing_key);
        parsed.map_err(|source| KeystoreError::Certificate { path, source })
    }

    /// The control certificate, where there is one.
    pub(super) fn control(&self) -> Result<Option<ControlCertificate>, KeystoreError> {
        read_control(&self.file(CONTROL_CERTIFICATE))
    }

    /// The control certificate, which has to be of the person and root of `certificate`.
    pub(super) fn control_of(
        &self,
        certificate: &Certificate,
    ) -> Result<Option<ControlCertificate>, KeystoreError> {
        let control = self.control()?;
        let foreign = |control: &ControlCertificate| !issue::are_of_one(control, certificate);
        if control.as_ref().is_some_and(foreign) {
            let path = self.file(CONTROL_CERTIFICATE);
            return Err(KeystoreError::OtherPerson(path));
        }
        Ok(control)
    }

    /// The signing keys that are kept.
    pub(super) fn former(&self) -> Result<Vec<SigningKey>, KeystoreError> {
        // A key of the service manager that a newer key of the home has followed is a former key as well. It never
        // stood in `keys/`, so `kept` does not list it.
        let read = self.kept("signing")?.chain(self.followed(SIGNING));
        read.filter_map(|path| readable(pem::read_signing_key(&path)))
            .collect()
    }

    /// The sealing secrets that are kept.
    pub(super) fn older(&self) -> Result<Vec<SealSecret>, KeystoreError> {
        let read = self.kept("sealing")?.chain(self.followed(SEALING));
        read.filter_map(|path| readable(pem::read(&path, Algorithm::X25519).map(SealSecret::of)))
            .collect()
    }

    fn kept(&self, kind: &'static str) -> Result<impl Iterator<Item = PathBuf>, KeystoreError> {
        let of_kind = move |kept: &retired::RetiredKey| kept.kind == kind;
        Ok(retired::kept(self.home)?
            .into_iter()
            .filter(of_kind)
            .map(|kept| kept.path))
    }
}

/// An old secret that was half destroyed when the machine stopped holds no key any more, and must not
/// keep the others from being read.
fn readable<T>(read: Result<T, KeystoreError>) -> Option<Result<T, KeystoreError>> {
    match read {
        Err(KeystoreError::Pem { path, .. }) => {
            tracing::warn!(path = %path.display(), "holds no key any more");
            None
        }
        read => Some(read),
    }
}

/// The control certificate in the file `path`, where there is such a file.
pub(super) fn read_control(path: &Path) -> Result<Option<ControlCertificate>, KeystoreError> {
    let value = match read_json(path) {
        Err(KeystoreError::File(private::PrivateError::Io { source, .. }))
            if source.kind() == io::ErrorKind::NotFound =>
        {
            return Ok(None);
        }
        read => read?,
    };
    let path = path.to_owned();
    let parsed = ControlCertificate::parse(&value);
    parsed
        .map(Some)
        .map_err(|source| KeystoreError::Certificate { path, source })
}

fn read_json(path: &Path) -> Result<Value, KeystoreError> {
    let text = private::read(path)?;
    let malformed = |source| KeystoreError::Json {
        path: path.to_owned(),
        source,
    };
    signet_json::parse(text.as_bytes(), Limits::MESSAGE).map_err(malformed)
}
