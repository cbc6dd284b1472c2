//! The members of a line, written and read.

use signet_json::{Map, Value, write_canonical, write_string};

use super::{EntryError, LineVersion};
use crate::certificate::Certificate;
use crate::envelope::Sealed;
use crate::ids::{Digest, MessageId, UUID};

/// Writes members one after another in the order a reader wants them.
pub(super) struct Line<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) version: LineVersion,
}

impl Line<'_> {
    /// Whether `write` writes exactly `members`.
    pub(super) fn writes(
        version: LineVersion,
        members: &str,
        write: impl FnOnce(&mut Line<'_>),
    ) -> bool {
        let mut out = Vec::with_capacity(members.len());
        write(&mut Line {
            out: &mut out,
            version,
        });
        out == members.as_bytes()
    }

    pub(super) fn first(&mut self, name: &str, text: &str) {
        write_string(name, self.out);
        self.out.push(b':');
        write_string(text, self.out);
    }

    pub(super) fn json(&mut self, name: &str, json: &[u8]) {
        self.out.push(b',');
        write_string(name, self.out);
        self.out.push(b':');
        self.out.extend_from_slice(json);
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.out.push(b',');
        self.first(name, text);
    }

    pub(super) fn maybe(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.json(name, b"null"),
        }
    }

    /// Writes the member only where there is something to say.
    pub(super) fn some(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    pub(super) fn message_id(&mut self, id: &MessageId) {
        self.id(self.version.message_id(), id);
    }

    pub(super) fn id(&mut self, name: &str, id: &MessageId) {
        self.text(name, id.write_into(&mut [0; UUID]));
    }

    pub(super) fn hash(&mut self, name: &str, hash: &Digest) {
        self.out.push(b',');
        write_string(name, self.out);
        self.out.extend_from_slice(b":\"");
        self.out.extend_from_slice(&hash.hex_digits());
        self.out.push(b'"');
    }

    pub(super) fn number(&mut self, name: &str, number: u64) {
        self.json(name, itoa::Buffer::new().format(number).as_bytes());
    }

    pub(super) fn value(&mut self, name: &str, value: &Value) {
        self.json(name, b"");
        write_canonical(value, self.out);
    }

    pub(super) fn copy(&mut self, copy: Option<&Sealed>) {
        if let Some(copy) = copy {
            self.value("copy", &copy.to_value());
        }
    }

    pub(super) fn certificate(&mut self, certificate: &Certificate) {
        self.text("fingerprint", &crate::keys::fingerprint(&certificate.root));
        self.value("certificate", &certificate.to_value());
    }
}

pub(super) struct LineMembers<'a>(pub(super) &'a Map<String, Value>);

impl<'a> LineMembers<'a> {
    pub(super) fn value(&self, name: &'static str) -> Result<&'a Value, EntryError> {
        self.0.get(name).ok_or(EntryError(name))
    }

    pub(super) fn text(&self, name: &'static str) -> Result<&'a str, EntryError> {
        self.value(name)?.as_str().ok_or(EntryError(name))
    }

    pub(super) fn parsed<T: std::str::FromStr>(&self, name: &'static str) -> Result<T, EntryError> {
        self.text(name)?.parse().map_err(|_| EntryError(name))
    }

    /// The message-id, under the name of either version; whoever rebuilds the line finds a wrong one.
    pub(super) fn message_id(&self) -> Result<MessageId, EntryError> {
        match self.0.contains_key(LineVersion::V2.message_id()) {
            true => self.parsed(LineVersion::V2.message_id()),
            false => self.parsed(LineVersion::V1.message_id()),
        }
    }

    pub(super) fn number(&self, name: &'static str) -> Result<u64, EntryError> {
        self.value(name)?.as_u64().ok_or(EntryError(name))
    }

    pub(super) fn small(&self, name: &'static str) -> Result<u8, EntryError> {
        u8::try_from(self.number(name)?).map_err(|_| EntryError(name))
    }

    pub(super) fn signed(&self, name: &'static str) -> Result<i64, EntryError> {
        self.value(name)?.as_i64().ok_or(EntryError(name))
    }

    pub(super) fn truth(&self, name: &'static str) -> Result<bool, EntryError> {
        self.value(name)?.as_bool().ok_or(EntryError(name))
    }

    /// What a member says that may be absent.
    pub(super) fn given<T: std::str::FromStr>(
        &self,
        name: &'static str,
    ) -> Result<Option<T>, EntryError> {
        let is_given = self.0.contains_key(name);
        is_given.then(|| self.parsed(name)).transpose()
    }

    pub(super) fn digest(&self, name: &'static str) -> Result<Digest, EntryError> {
        Digest::from_hex(self.text(name)?).map_err(|_| EntryError(name))
    }

    pub(super) fn copy(&self) -> Result<Option<Sealed>, EntryError> {
        let copy = self.0.get("copy").map(Sealed::parse);
        copy.transpose().map_err(|_| EntryError("copy"))
    }

    pub(super) fn certificate(&self) -> Result<Certificate, EntryError> {
        Certificate::parse(self.value("certificate")?).map_err(|_| EntryError("certificate"))
    }
}
