//! The members of signed statements: read strictly, signed and verified in canonical form.

use signet_json::{Map, Value, canonical};

use super::{CertificateError, parse_versions};
use crate::ids::{Version, decode_base64url, encode_base64url};
use crate::keys::{Purpose, SealKey, SigningKey, VerifyKey};

/// The object of `members` with the signature of `key` over it.
pub(crate) fn sign_statement(
    mut members: Map<String, Value>,
    purpose: Purpose,
    key: &SigningKey,
) -> Value {
    let unsigned = canonical(&Value::Object(members.clone()));
    let signature = key.sign(purpose, &[&unsigned]);
    members.insert("signature".into(), encode_base64url(&signature).into());
    Value::Object(members)
}

/// The members of a signed statement.
pub(crate) struct Members<'a>(&'a Map<String, Value>);

impl<'a> Members<'a> {
    pub(crate) fn of(value: &'a Value, known: &[&'static str]) -> Result<Self, CertificateError> {
        let members = value.as_object().ok_or(CertificateError::Member("type"))?;
        if members.keys().any(|name| !known.contains(&name.as_str())) {
            return Err(CertificateError::Member("(an unknown one)"));
        }
        Ok(Self(members))
    }

    pub(crate) fn value(&self, name: &'static str) -> Result<&'a Value, CertificateError> {
        self.0.get(name).ok_or(CertificateError::Member(name))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<&'a str, CertificateError> {
        self.value(name)?
            .as_str()
            .ok_or(CertificateError::Member(name))
    }

    pub(crate) fn parsed<T: std::str::FromStr>(
        &self,
        name: &'static str,
    ) -> Result<T, CertificateError> {
        self.text(name)?
            .parse()
            .map_err(|_| CertificateError::Member(name))
    }

    pub(crate) fn key(&self, name: &'static str) -> Result<VerifyKey, CertificateError> {
        self.text(name)?
            .parse()
            .map_err(|error| CertificateError::Key(name, error))
    }

    pub(crate) fn seal_key(&self, name: &'static str) -> Result<SealKey, CertificateError> {
        self.text(name)?
            .parse()
            .map_err(|error| CertificateError::Key(name, error))
    }

    pub(crate) fn serial(&self, name: &'static str) -> Result<u64, CertificateError> {
        self.value(name)?
            .as_u64()
            .filter(|serial| *serial > 0)
            .ok_or(CertificateError::Member(name))
    }

    pub(crate) fn versions(&self, name: &'static str) -> Result<Vec<Version>, CertificateError> {
        parse_versions(self.value(name)?).ok_or(CertificateError::Member(name))
    }

    pub(crate) fn verify(&self, purpose: Purpose, key: &VerifyKey) -> Result<(), CertificateError> {
        let signature = decode_base64url(self.text("signature")?)
            .ok()
            .and_then(|bytes| <[u8; 64]>::try_from(bytes).ok())
            .ok_or(CertificateError::Member("signature"))?;
        let mut unsigned = self.0.clone();
        unsigned.remove("signature");
        let signed = canonical(&Value::Object(unsigned));
        if key.verify(purpose, &[&signed], &signature) {
            Ok(())
        } else {
            Err(CertificateError::Signature)
        }
    }
}
