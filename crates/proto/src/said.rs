//! What all signed statements have in common: read strictly, signed and verified in canonical form.

use std::str::FromStr;
use std::sync::Arc;

use crate::headers::Layers;
use crate::ids::{AgentId, Digest, PrincipalId, Version, decode_base64url, encode_base64url};
use crate::keys::{KeyError, SealKey};
use crate::time::Timestamp;
use signet_json::{Limits, canonical, parse};

// Re-exported for the files that declare statements: the tables in those files use these names.
pub(crate) use crate::keys::{Purpose, SigningKey, VerifyKey};
pub(crate) use signet_json::{Map, Value};

/// The certificate or key statement is not what it claims to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// A member is absent, unknown or of the wrong form.
    #[error("the member `{0}` is absent, unknown or malformed; ask its owner to export it again")]
    Member(&'static str),
    /// A key inside is unusable.
    #[error("the member `{0}`: {1}")]
    Key(&'static str, KeyError),
    /// The signature does not hold.
    #[error("the signature does not hold; the file was changed or is forged")]
    Signature,
}

/// A JSON object with a `signature` member over the rest: what its type says is in a table (`statement!`).
pub(crate) trait Statement: Sized {
    /// What the member `type` says.
    const TYPE: &'static str;
    /// Under which first line it is signed.
    const PURPOSE: Purpose;
    /// Its other members but the signature.
    const MEMBERS: &'static [&'static str];
    /// What it is read with.
    type Beside;

    /// The members that it may have, as far as each can be judged alone.
    fn of(members: &StatementMembers<'_>, beside: Self::Beside) -> Result<Self, CertificateError>;

    /// Writes all of them but type and signature.
    fn put(&self, members: &mut Map<String, Value>);

    /// The JSON that it was read from.
    fn value(&self) -> Value;

    /// What has to hold between the members.
    fn holds(&self) -> Result<(), CertificateError> {
        Ok(())
    }

    /// Reads a statement whose signature is not yet verified.
    fn read_beside(value: &Value, beside: Self::Beside) -> Result<Self, CertificateError> {
        let members = value.as_object().ok_or(CertificateError::Member("type"))?;
        let is_known = |name: &String| {
            ["type", "signature"].contains(&name.as_str()) || Self::MEMBERS.contains(&name.as_str())
        };
        // Refuse an unknown member although the signature covers it: another implementation could give that member a meaning.
        if !members.keys().all(is_known) {
            return Err(CertificateError::Member("(an unknown one)"));
        }
        let members = StatementMembers {
            whole: value,
            members,
        };
        if members.text("type")? != Self::TYPE {
            return Err(CertificateError::Member("type"));
        }
        members.text("signature")?;
        let said = Self::of(&members, beside)?;
        said.holds()?;
        Ok(said)
    }

    /// The statement with the signature of `key` over it.
    fn signed(&self, key: &SigningKey) -> Value {
        let mut members = Map::new();
        members.insert("type".into(), Self::TYPE.into());
        self.put(&mut members);
        let unsigned = canonical(&Value::Object(members.clone()));
        let signature = key.sign(Self::PURPOSE, &[&unsigned]);
        members.insert("signature".into(), encode_base64url(&signature).into());
        Value::Object(members)
    }

    /// Verifies the signature.
    fn prove_under(&self, key: &VerifyKey) -> Result<(), CertificateError> {
        let fault = CertificateError::Member("signature");
        let mut unsigned = self.value();
        let signature = unsigned
            .as_object_mut()
            .and_then(|members| members.remove("signature"));
        let signature = signature.as_ref().and_then(Value::as_str);
        let bytes = signature.and_then(|text| decode_base64url(text).ok());
        let signature = bytes.and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
        let signature = signature.ok_or(fault)?;
        match key.verify(Self::PURPOSE, &[&canonical(&unsigned)], &signature) {
            true => Ok(()),
            false => Err(CertificateError::Signature),
        }
    }
}

/// The members of a statement.
pub(crate) struct StatementMembers<'a> {
    /// All of it.
    pub(crate) whole: &'a Value,
    members: &'a Map<String, Value>,
}

impl<'a> StatementMembers<'a> {
    pub(crate) fn value(&self, name: &'static str) -> Result<&'a Value, CertificateError> {
        self.members.get(name).ok_or(CertificateError::Member(name))
    }

    pub(crate) fn given<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, CertificateError> {
        read(self.value(name)?).ok_or(CertificateError::Member(name))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<&'a str, CertificateError> {
        self.given(name, Value::as_str)
    }

    pub(crate) fn parsed<T: FromStr>(&self, name: &'static str) -> Result<T, CertificateError> {
        self.given(name, |value| value.as_str()?.parse().ok())
    }

    fn key<T: FromStr<Err = KeyError>>(&self, name: &'static str) -> Result<T, CertificateError> {
        let key = self.text(name)?.parse();
        key.map_err(|error| CertificateError::Key(name, error))
    }
}

/// The JSON that a statement was read from, in canonical form: taken apart it would be most of what a silent peer takes in
/// memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReadValue(Arc<[u8]>);

impl ReadValue {
    pub(crate) fn of(value: &Value) -> Self {
        Self(canonical(value).into())
    }

    /// The JSON again. These bytes were made from a value, so they can be read.
    pub(crate) fn open(&self) -> Value {
        parse(&self.0, Limits::LINE).unwrap_or_default()
    }

    /// In canonical form.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A value that a member of a statement holds.
pub(crate) trait StatementMember: Sized {
    /// Writes the member of that name.
    fn put(&self, name: &'static str, members: &mut Map<String, Value>);

    /// Reads it.
    fn of(members: &StatementMembers<'_>, name: &'static str) -> Result<Self, CertificateError>;
}

/// A struct of what a statement says, a row a member. `asked by` names the struct from which it is made, `signed by` the
/// member of the root key that signs it, `beside` what is read with it.
macro_rules! statement {
    (
        $type:literal under $purpose:ident
        $(, asked by $request:ident)? $(, signed by $root_key:literal $root:ident)? $(, beside $beside:ident: $context:ty)?;

        $(#[$about:meta])*
        pub struct $said:ident {
            $( $(#[$doc:meta])* $name:literal $(+ $more:literal)* $field:ident: $part:ty, )*
        }
        $($holds:tt)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $said {
            $( $(#[$doc])* pub $field: $part, )*
            $( /** The root key that signed. */ pub $root: VerifyKey, )?
            $( /** Whose control key signed. */ pub $beside: $context, )?
            value: ReadValue,
        }

        impl Statement for $said {
            const TYPE: &'static str = $type;
            const PURPOSE: Purpose = Purpose::$purpose;
            const MEMBERS: &'static [&'static str] = &[ $( $name, $( $more, )* )* $( $root_key )? ];
            type Beside = ($($context,)?);

            fn of(members: &StatementMembers<'_>, ($($beside,)?): Self::Beside) -> Result<Self, CertificateError> {
                Ok(Self {
                    $( $field: StatementMember::of(members, $name)?, )*
                    $( $root: StatementMember::of(members, $root_key)?, )?
                    $( $beside, )?
                    value: ReadValue::of(members.whole),
                })
            }

            fn put(&self, members: &mut Map<String, Value>) {
                $( StatementMember::put(&self.$field, $name, members); )*
                $( StatementMember::put(&self.$root, $root_key, members); )?
            }

            fn value(&self) -> Value {
                self.value.open()
            }

            $($holds)*
        }

        impl $said {
            /// The statement as it is kept, sent and logged.
            pub fn to_value(&self) -> Value {
                self.value.open()
            }

            $(
                /// Reads a statement and verifies the signature of its own root key.
                ///
                /// # Errors
                /// Names the member at fault, or says that the signature does not hold.
                pub fn parse(value: &Value) -> Result<Self, CertificateError> {
                    let said = Self::read(value)?;
                    said.prove()?;
                    Ok(said)
                }

                /// Verifies the root's signature.
                pub(crate) fn prove(&self) -> Result<(), CertificateError> {
                    self.prove_under(&self.$root)
                }

                /// Reads a statement whose signature is not yet verified.
                pub(crate) fn read(value: &Value) -> Result<Self, CertificateError> {
                    Self::read_beside(value, ())
                }
            )?
        }

        $crate::said::asked!($said; $($request)?; { $( $field: $part, )* } $($root)?);
    };
}
pub(crate) use statement;

/// The struct from which a statement is made, where it has one.
macro_rules! asked {
    ($said:ident; ; $($rest:tt)*) => {};
    ($said:ident; $request:ident; { $( $field:ident: $part:ty, )* } $($root:ident)?) => {
        #[doc = concat!("What a [`", stringify!($said), "`] is to say.")]
        #[derive(Clone, Debug)]
        pub struct $request {
            $( #[doc = concat!("See [`", stringify!($said), "::", stringify!($field), "`].")] pub $field: $part, )*
        }

        impl $request {
            /// The statement, signed by `key`.
            ///
            /// # Errors
            /// When it would not be read again: a member is beyond its bounds.
            pub fn sign(self, key: &SigningKey) -> Result<$said, CertificateError> {
                let value = ReadValue::default();
                let said = $said { $( $field: self.$field, )* $( $root: key.public().clone(), )? value };
                $said::read_beside(&said.signed(key), ())
            }
        }
    };
}
pub(crate) use asked;

macro_rules! parts {
    ($( $part:ty, |$value:ident| $written:expr, |$members:ident, $name:ident| $read:expr; )*) => { $(
        impl StatementMember for $part {
            fn put(&self, name: &'static str, members: &mut Map<String, Value>) {
                let $value = self;
                members.insert(name.to_owned(), $written.into());
            }

            fn of($members: &StatementMembers<'_>, $name: &'static str) -> Result<Self, CertificateError> {
                $read
            }
        }
    )* };
}
pub(crate) use parts;

parts! {
    AgentId, |agent| agent.as_str(), |members, name| members.parsed(name);
    PrincipalId, |person| person.as_str(), |members, name| members.parsed(name);
    Digest, |hash| hash.to_string(), |members, name| members.parsed(name);
    Timestamp, |time| time.to_string(), |members, name| members.parsed(name);
    VerifyKey, |key| key.to_string(), |members, name| members.key(name);
    SealKey, |key| key.to_string(), |members, name| members.key(name);
    String, |text| text.as_str(), |members, name| members.text(name).map(str::to_owned);
    bool, |is| *is, |members, name| members.given(name, Value::as_bool);
    // Every `u64` member is a serial, and serials begin at 1: so refuse 0.
    u64, |serial| *serial, |members, name| members.given(name, |value| value.as_u64().filter(|serial| *serial > 0));
    Layers, |layers| layers.to_value(), |members, name| members.given(name, |value| value.try_into().ok());
    Vec<Version>, |versions| texts(versions), |members, name| members.given(name, parse_versions);
}

impl<T: StatementMember> StatementMember for Option<T> {
    fn put(&self, name: &'static str, members: &mut Map<String, Value>) {
        if let Some(value) = self {
            value.put(name, members);
        }
    }

    fn of(members: &StatementMembers<'_>, name: &'static str) -> Result<Self, CertificateError> {
        let is_given = members.members.contains_key(name);
        is_given.then(|| T::of(members, name)).transpose()
    }
}

pub(crate) fn texts<T: ToString>(items: impl IntoIterator<Item = T>) -> Value {
    let texts = items.into_iter().map(|item| item.to_string());
    texts.map(Value::from).collect()
}

/// Trust-layer versions as they stand in certificates and flights: 1 to 16, strictly ascending.
pub(crate) fn parse_versions(value: &Value) -> Option<Vec<Version>> {
    let items = value
        .as_array()
        .filter(|items| (1..=16).contains(&items.len()))?;
    let versions: Vec<Version> = items
        .iter()
        .map(|item| item.as_str()?.parse().ok())
        .collect::<Option<_>>()?;
    versions.is_sorted_by(|a, b| a < b).then_some(versions)
}
