//! Certifying without the root key on this machine: a request goes out, an answer comes back.
//!
//! The request holds public parts only: the present certificate, the new signing key, and the control
//! certificate or the person's own keys that have none yet. Names, layers and versions are those of
//! the present certificate, which the root key signed itself: a request cannot ask for more. The new
//! secrets wait in `keys/request/` until the answer is adopted.

use std::path::{Path, PathBuf};

use signet_json::{Map, Value};
use signet_proto::certificate::{Certificate, ControlCertificate};
use signet_proto::keys::{SealKey, SealSecret, SigningKey, VerifyKey};
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use super::issue::{PersonKeys, are_of_one, certificate_after, control_certificate};
use super::pem::{self, Algorithm};
use super::{
    AUDIT, AgentKeys, CERTIFICATE, CONTROL, CONTROL_CERTIFICATE, KEYS, KeyChange, KeystoreError,
    SIGNING, disk, fresh_secret, rotate, stage,
};
use crate::home::Home;

/// What an agent asks the person to certify with a root key that is kept elsewhere.
#[derive(Clone, Debug)]
pub struct RootRequest {
    /// The present certificate of the agent.
    pub certificate: Certificate,
    /// Its new signing key.
    pub signing_key: VerifyKey,
    /// The present control certificate; its keys stay.
    pub control: Option<ControlCertificate>,
    /// The person's own keys, where no control certificate names any yet.
    pub person: Option<(VerifyKey, SealKey)>,
}

/// The certificates by which the root key answers a request.
#[derive(Clone, Debug)]
pub struct RootAnswer {
    /// The certificate of the new signing key.
    pub certificate: Certificate,
    /// The control certificate.
    pub control: Option<ControlCertificate>,
}

/// Makes the new keys of `home`, or takes those that wait since the last request, and says what is to
/// be certified.
///
/// # Errors
/// When a key cannot be made.
pub fn request(home: &Home, keys: &AgentKeys) -> Result<RootRequest, KeystoreError> {
    // A command that was stopped when its answer was in use has left the adopted secrets here. A new certificate for the
    // key that signs already would be no change of keys.
    if is_left_over(home, keys)? {
        clear_request(home)?;
    }
    if !directory(home).exists() {
        disk::create_directory(&directory(home))?;
    }
    // Use the keys of the last request again, so that an answer to an earlier copy of that request still fits.
    let signing = waiting_key(home, SIGNING)?;
    let person = match &keys.control {
        Some(_) => None,
        None => Some((
            waiting_key(home, CONTROL)?.public().clone(),
            SealSecret::of(waiting_secret(home, AUDIT, Algorithm::X25519)?).public(),
        )),
    };
    Ok(RootRequest {
        certificate: keys.certificate.clone(),
        signing_key: signing.public().clone(),
        control: keys.control.clone(),
        person,
    })
}

/// The change that adopts an answer: it has to be to the request that waits here.
///
/// # Errors
/// `ForeignAnswer` says what does not fit.
pub fn install(
    home: &Home,
    keys: &AgentKeys,
    answer: &RootAnswer,
    now: Timestamp,
) -> Result<KeyChange, KeystoreError> {
    let path = directory(home).join(SIGNING);
    if !path.exists() {
        return Err(KeystoreError::NoRequest);
    }
    let seed = pem::read(&path, Algorithm::Ed25519)?;
    let signing = pem::signing_key(&path, &seed)?;
    answer.fits(keys, signing.public())?;
    let mut change = KeyChange::default();
    change.secret(SIGNING, Algorithm::Ed25519, &seed)?;
    change.json(CERTIFICATE, &answer.certificate.to_value());
    // The signing key signs the key statement, so a new signing key has to sign the statement anew.
    let statement = rotate::restated(keys, &signing, now)?;
    change.json(KEYS, &statement.to_value());
    if let Some(control) = &answer.control {
        put_person(home, keys, control, &mut change)?;
        change.json(CONTROL_CERTIFICATE, &control.to_value());
    }
    Ok(change)
}

/// Whether the keys of `home` are already those of the answer, while its request still waits: the command that installed it
/// was stopped before it cleared the request.
///
/// # Errors
/// When the waiting key cannot be read.
pub fn is_installed(
    home: &Home,
    keys: &AgentKeys,
    answer: &RootAnswer,
) -> Result<bool, KeystoreError> {
    let control = answer.control.as_ref();
    let is_same = answer.certificate == keys.certificate
        && control.is_none_or(|control| keys.control.as_ref() == Some(control));
    Ok(is_same && is_left_over(home, keys)?)
}

/// Destroys the secrets that waited: they are adopted, or not wanted any more.
///
/// # Errors
/// When one cannot be destroyed.
pub fn clear_request(home: &Home) -> Result<(), KeystoreError> {
    if directory(home).exists() {
        stage::discard(home, &directory(home))?;
    }
    Ok(())
}

impl RootRequest {
    /// The root key in the file `root` certifies it, on any machine. The next root key needs `next`:
    /// the one to commit to from now on.
    ///
    /// # Errors
    /// `OtherRoot` when the file holds neither the root key of the present certificate nor the next.
    pub fn certify(
        &self,
        root: &Path,
        next: Option<&Path>,
        now: Timestamp,
    ) -> Result<RootAnswer, KeystoreError> {
        let path = root.to_owned();
        let root = pem::read_signing_key(root)?;
        let old = &self.certificate;
        let commits_to = match next {
            Some(next) => rotate::successor(&root, next)?,
            None if *root.public() == old.root => old.next_root,
            None if rotate::is_next(root.public(), old) => {
                return Err(KeystoreError::NextRootMissing(path));
            }
            None => return Err(KeystoreError::OtherRoot(path)),
        };
        // `successor`, where it was called above, has not checked whose root key signs here: accept only the person's
        // present root key, or the next one.
        if *root.public() != old.root && !rotate::is_next(root.public(), old) {
            return Err(KeystoreError::OtherRoot(path));
        }
        let certificate = certificate_after(old, self.signing_key.clone(), commits_to, &root, now);
        let control = self
            .person_keys()
            .map(|person| control_certificate(&old.principal, &person, commits_to, &root, now));
        Ok(RootAnswer {
            certificate: certificate.map_err(rotate::faulty(CERTIFICATE))?,
            control: control
                .transpose()
                .map_err(rotate::faulty(CONTROL_CERTIFICATE))?,
        })
    }

    /// The request as JSON, to be carried to the root key.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("type".into(), "request".into());
        members.insert("certificate".into(), self.certificate.to_value());
        members.insert("signing-key".into(), self.signing_key.to_string().into());
        if let Some(control) = &self.control {
            members.insert("control".into(), control.to_value());
        }
        if let Some((control, audit)) = &self.person {
            members.insert("control-key".into(), control.to_string().into());
            members.insert("audit-key".into(), audit.to_string().into());
        }
        Value::Object(members)
    }

    /// Reads one that was carried here. The certificates in it hold by their own signatures.
    pub fn parse(value: &Value) -> Option<Self> {
        let known = [
            "type",
            "certificate",
            "signing-key",
            "control",
            "control-key",
            "audit-key",
        ];
        let members = members_of(value, "request", &known)?;
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        let certificate = Certificate::parse(members.get("certificate")?).ok()?;
        let control = control_in(members)?;
        let foreign = |control: &ControlCertificate| !are_of_one(control, &certificate);
        let person = match (text("control-key"), text("audit-key")) {
            (Some(control), Some(audit)) => Some((control.parse().ok()?, audit.parse().ok()?)),
            (None, None) => None,
            _ => return None,
        };
        if control.as_ref().is_some_and(foreign) || (control.is_some() && person.is_some()) {
            return None;
        }
        Some(Self {
            signing_key: text("signing-key")?.parse().ok()?,
            certificate,
            control,
            person,
        })
    }

    fn person_keys(&self) -> Option<PersonKeys> {
        let renewed = self.control.as_ref().map(rotate::person_of);
        renewed.or_else(|| {
            let (control, audit) = self.person.clone()?;
            Some(PersonKeys {
                control,
                audit,
                before: None,
            })
        })
    }
}

impl RootAnswer {
    /// The answer as JSON, to be carried back.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("type".into(), "answer".into());
        members.insert("certificate".into(), self.certificate.to_value());
        if let Some(control) = &self.control {
            members.insert("control".into(), control.to_value());
        }
        Value::Object(members)
    }

    /// Reads one that was carried here.
    pub fn parse(value: &Value) -> Option<Self> {
        let members = members_of(value, "answer", &["type", "certificate", "control"])?;
        Some(Self {
            certificate: Certificate::parse(members.get("certificate")?).ok()?,
            control: control_in(members)?,
        })
    }

    fn fits(&self, keys: &AgentKeys, requested: &VerifyKey) -> Result<(), KeystoreError> {
        let (new, old) = (&self.certificate, &keys.certificate);
        let control = self.control.as_ref();
        let foreign_control = control.is_some_and(|control| !are_of_one(control, new));
        let why = if new.agent != old.agent || new.principal != old.principal {
            "it certifies another agent or another person"
        } else if new.root != old.root && !rotate::is_next(&new.root, old) {
            "it is signed by another root key than the person's"
        } else if new.signing_key != *requested {
            "it certifies another key than the one requested here"
        // Peers refuse a certificate whose serial does not rise: an old answer that is carried here twice would lock the agent
        // out.
        } else if new.serial <= old.serial {
            "its serial is not higher than that of the present certificate"
        } else if foreign_control {
            "its control certificate is another person's"
        } else if new.root != old.root && keys.control.is_some() && control.is_none() {
            "it lacks the control certificate, which the new root key has to sign too"
        } else {
            return Ok(());
        };
        Err(KeystoreError::ForeignAnswer(why))
    }
}

/// The members of a request or an answer, as `kind` says; `None` where one of them is not known.
fn members_of<'v>(value: &'v Value, kind: &str, known: &[&str]) -> Option<&'v Map<String, Value>> {
    let members = value.as_object()?;
    let is_known = members.keys().all(|name| known.contains(&name.as_str()));
    (is_known && members.get("type")?.as_str()? == kind).then_some(members)
}

/// The control certificate that may stand in it; `None` where it does not hold.
fn control_in(members: &Map<String, Value>) -> Option<Option<ControlCertificate>> {
    let control = members.get("control").map(ControlCertificate::parse);
    control.transpose().ok()
}

/// The person's own secrets that were made for the request, when the answer names them.
fn put_person(
    home: &Home,
    keys: &AgentKeys,
    control: &ControlCertificate,
    change: &mut KeyChange,
) -> Result<(), KeystoreError> {
    let foreign = |why| Err(KeystoreError::ForeignAnswer(why));
    if let Some(old) = &keys.control {
        let same = old.control_key == control.control_key && old.audit_key == control.audit_key;
        // The person has keys already, so the answer's control certificate has to name the same keys. Its serial has to be
        // higher, because peers refuse a control certificate whose serial does not rise.
        return if same && control.serial > old.serial {
            Ok(())
        } else {
            foreign("its control certificate names other keys, or is older than the present one")
        };
    }
    let place = directory(home);
    let seed = pem::read(&place.join(CONTROL), Algorithm::Ed25519)?;
    let secret = pem::read(&place.join(AUDIT), Algorithm::X25519)?;
    let signing = pem::signing_key(&place.join(CONTROL), &seed)?;
    let named = *signing.public() == control.control_key
        && SealKey::of_secret(&secret) == control.audit_key;
    if !named {
        return foreign("its control certificate names other keys than those requested here");
    }
    change.secret(CONTROL, Algorithm::Ed25519, &seed)?;
    change.secret(AUDIT, Algorithm::X25519, &secret)
}

fn waiting_key(home: &Home, name: &str) -> Result<SigningKey, KeystoreError> {
    let seed = waiting_secret(home, name, Algorithm::Ed25519)?;
    pem::signing_key(&directory(home).join(name), &seed)
}

fn waiting_secret(
    home: &Home,
    name: &str,
    algorithm: Algorithm,
) -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    let path = directory(home).join(name);
    if !path.exists() {
        let secret = fresh_secret()?;
        pem::create(&path, algorithm, &secret)?;
    }
    pem::read(&path, algorithm)
}

/// Whether the signing key that waits here is the one in use.
fn is_left_over(home: &Home, keys: &AgentKeys) -> Result<bool, KeystoreError> {
    let path = directory(home).join(SIGNING);
    Ok(path.exists() && *pem::read_signing_key(&path)?.public() == keys.certificate.signing_key)
}

fn directory(home: &Home) -> PathBuf {
    home.key_file("request")
}
