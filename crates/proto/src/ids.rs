//! Identifiers (protocol.md section 1): each is parsed once, strictly, and has exactly one spelling.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use data_encoding::{BASE64URL_NOPAD, Encoding, HEXLOWER};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;
use uuid::{Builder, Uuid, Variant};

/// Why a text is not the identifier it should be. No variant repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not `[a-z0-9][a-z0-9-]{0,62}`.
    #[error(
        "not an agent or principal id: use 1 to 63 of a-z, 0-9 and '-', the first not being '-'"
    )]
    Name,
    /// Not a UUID v7 in lower case with hyphens.
    #[error("not a message id: use a UUID of version 7 (RFC 9562), lower case, with hyphens")]
    MessageId,
    /// Not 43 characters of strict base64url.
    #[error("not a SHA-256 value: use 43 characters of base64url (RFC 4648) without padding")]
    Digest,
    /// Not 64 lower-case hexadecimal digits.
    #[error("not a SHA-256 value in hexadecimal: use 64 of 0-9 and a-f")]
    Hex,
    /// Not `ed25519:` and a digest.
    #[error("not a key id: use 'ed25519:' and 43 characters of base64url without padding")]
    KeyId,
    /// Not strict base64url.
    #[error("not base64url (RFC 4648): leave out padding and line breaks, keep trailing bits zero")]
    Base64Url,
    /// Not three plain integers.
    #[error("not a version: use MAJOR.MINOR.PATCH, each 0 to 9999 without leading zeros")]
    Version,
}

macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(SmolStr);

        impl $name {
            /// The id as it stands on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                is_name(text).then(|| Self(SmolStr::new(text))).ok_or(IdError::Name)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        debug_as_display!($name);
    };
}

macro_rules! debug_as_display {
    ($name:ident) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
    };
}

name_id! {
    /// The id of an agent: `[a-z0-9][a-z0-9-]{0,62}`, fit for a subject token, a file name and a log.
    AgentId
}

name_id! {
    /// The id of the person or organisation an agent acts for; the grammar of [`AgentId`].
    PrincipalId
}

fn is_name(text: &str) -> bool {
    // A name is used unchanged as a NATS subject token and as a file name: so it must have no dot, slash, star or upper case.
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= NAME_MAX
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|byte| plain(byte) || byte == b'-')
}

/// The id of one message: a UUID v7 (RFC 9562), ordered by the millisecond it names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(Uuid);

impl MessageId {
    /// Builds an id from Unix milliseconds (the low 48 bits count) and ten random bytes.
    #[must_use]
    pub fn from_parts(ms_since_epoch: u64, random: [u8; 10]) -> Self {
        Self(Builder::from_unix_timestamp_millis(ms_since_epoch, &random).into_uuid())
    }

    /// The sixteen bytes in network order.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Reads what [`MessageId::as_bytes`] gives, and nothing else.
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        let id = Uuid::from_bytes(bytes);
        is_v7(&id).then_some(Self(id))
    }

    /// As [`Display`](fmt::Display) writes it, into room that the caller has: a reader of a log does this for every line.
    pub(crate) fn write_into<'r>(&self, room: &'r mut [u8; UUID]) -> &'r str {
        self.0.hyphenated().encode_lower(room)
    }
}

impl FromStr for MessageId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let id = Uuid::try_parse(text).map_err(|_| IdError::MessageId)?;
        // `Uuid` also parses upper case, braces and ids without hyphens, which have other lengths: allow one spelling, so that
        // equal ids are equal texts.
        let is_plain = text.len() == UUID && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        (is_v7(&id) && is_plain)
            .then_some(Self(id))
            .ok_or(IdError::MessageId)
    }
}

fn is_v7(id: &Uuid) -> bool {
    id.get_version_num() == 7 && id.get_variant() == Variant::RFC4122
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.write_into(&mut [0; UUID]))
    }
}

debug_as_display!(MessageId);

/// A SHA-256 value (FIPS 180-4), written as 43 characters of base64url.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// SHA-256 of the concatenation of `parts`. The lengths are not hashed: a caller who needs the
    /// boundaries kept puts them into the parts.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 lower-case hexadecimal digits, the form of the audit log.
    #[must_use]
    pub fn to_hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// As [`Digest::to_hex`], for a caller that appends the digits to bytes of its own.
    pub fn hex_digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        HEXLOWER.encode_mut(&self.0, &mut digits);
        digits
    }

    /// As [`Display`](fmt::Display) writes it, into room that the caller has.
    pub(crate) fn write_into<'r>(&self, room: &'r mut [u8; DIGEST]) -> &'r str {
        BASE64URL_NOPAD.encode_mut(&self.0, room);
        std::str::from_utf8(room).unwrap_or_default()
    }

    /// Reads what [`Digest::to_hex`] writes, and nothing else.
    ///
    /// # Errors
    /// [`IdError::Hex`] for another length, upper case or any other character.
    pub fn from_hex(text: &str) -> Result<Self, IdError> {
        let bytes = decoded(&HEXLOWER, text);
        bytes.map(Self).ok_or(IdError::Hex)
    }
}

impl FromStr for Digest {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        decode_array(text).map(Self).map_err(|_| IdError::Digest)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.write_into(&mut [0; DIGEST]))
    }
}

debug_as_display!(Digest);

/// The name of an Ed25519 key: `ed25519:` and the whole SHA-256 of the public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Digest);

impl KeyId {
    /// The id of an encoded public key (RFC 8032).
    #[must_use]
    pub fn of_key(public: &[u8; 32]) -> Self {
        Self(Digest::of(&[public]))
    }

    /// The hash within the id.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

impl FromStr for KeyId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let hash = text.strip_prefix(KEY_PREFIX).ok_or(IdError::KeyId)?;
        hash.parse().map(Self).map_err(|_| IdError::KeyId)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KEY_PREFIX}{}", self.0)
    }
}

debug_as_display!(KeyId);

/// A session: the hash of the handshake's transcript, as 43 characters of base64url.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub Digest);

impl FromStr for SessionId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

debug_as_display!(SessionId);

/// A trust-layer version, `MAJOR.MINOR.PATCH`; on the wire each number is below 10,000.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Changes when an older peer can no longer talk to a newer one.
    pub major: u16,
    /// Changes when something is added.
    pub minor: u16,
    /// Changes when nothing on the wire does.
    pub patch: u16,
}

impl FromStr for Version {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let mut numbers = text.split('.').map(version_number);
        match (
            numbers.next(),
            numbers.next(),
            numbers.next(),
            numbers.next(),
        ) {
            (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => Ok(Self {
                major,
                minor,
                patch,
            }),
            _ => Err(IdError::Version),
        }
    }
}

fn version_number(text: &str) -> Option<u16> {
    let is_plain = matches!(text.len(), 1..=4)
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    // Check `is_plain` too: `parse` alone would also take a sign, as in `+1`.
    text.parse().ok().filter(|_| is_plain)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

debug_as_display!(Version);

/// Base64url without padding (RFC 4648 section 5).
#[must_use]
pub fn encode_base64url(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// Reads what [`encode_base64url`] writes, and nothing else: each byte string has one spelling.
///
/// # Errors
/// [`IdError::Base64Url`] for padding, foreign characters, an impossible length or trailing bits.
pub fn decode_base64url(text: &str) -> Result<Vec<u8>, IdError> {
    BASE64URL_NOPAD
        .decode(text.as_bytes())
        .map_err(|_| IdError::Base64Url)
}

/// As [`decode_base64url`], for exactly `N` bytes.
///
/// # Errors
/// [`IdError::Base64Url`], likewise for any other length.
pub(crate) fn decode_array<const N: usize>(text: &str) -> Result<[u8; N], IdError> {
    decoded(&BASE64URL_NOPAD, text).ok_or(IdError::Base64Url)
}

fn decoded<const N: usize>(encoding: &Encoding, text: &str) -> Option<[u8; N]> {
    // Refuse a text of the wrong length before it is decoded: `decode_mut` panics if the lengths differ.
    if encoding.decode_len(text.len()) != Ok(N) {
        return None;
    }
    let mut bytes = [0; N];
    encoding.decode_mut(text.as_bytes(), &mut bytes).ok()?;
    Some(bytes)
}

const NAME_MAX: usize = 63;
/// Characters of a SHA-256 value in base64url.
pub(crate) const DIGEST: usize = 43;
/// Characters of a UUID with hyphens.
pub(crate) const UUID: usize = 36;
const KEY_PREFIX: &str = "ed25519:";
