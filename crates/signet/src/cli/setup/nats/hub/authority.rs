//! The certificate of the authority that a household knows its hub by, as PEM.

use pkcs8::LineEnding;
use pkcs8::der::pem::{decode_vec, encode_string};
use serde::{Deserialize, Serialize};

/// One or more certificates, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct HubAuthority(String);

impl HubAuthority {
    /// Reads PEM. `None` for what has anything but certificates, such as a private key, and for what is too long for a line
    /// that a person pastes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let (before, _) = text.split_once(BEGIN)?;
        let blocks = text.get(before.len()..)?.split(BEGIN).skip(1);
        // Each certificate is written anew: no other text of the file comes into the line, or from a line into a file.
        let written = blocks.map(|block| {
            let block = format!("{BEGIN}{block}");
            let (label, bytes) = decode_vec(block.trim().as_bytes()).ok()?;
            let is_certificate = label == CERTIFICATE && bytes.first() == Some(&SEQUENCE);
            is_certificate
                .then(|| encode_string(CERTIFICATE, LineEnding::LF, &bytes).ok())
                .flatten()
        });
        written.collect::<Option<String>>().map(Self)
    }

    /// The PEM.
    pub(crate) fn pem(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HubAuthority {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("no certificate of an authority")
    }
}

const BEGIN: &str = "-----BEGIN ";
const CERTIFICATE: &str = "CERTIFICATE";
/// Every certificate begins with this tag of DER.
const SEQUENCE: u8 = 0x30;
/// In bytes. A line that a person pastes has 16 KiB at most.
const LONGEST: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(label: &str) -> String {
        encode_string(label, LineEnding::LF, &[SEQUENCE; 99]).unwrap()
    }

    #[test]
    fn certificates_are_kept_and_the_text_around_them_is_not() {
        let (one, both) = (pem(CERTIFICATE), pem(CERTIFICATE).repeat(2));
        let parsed = |text: &str| HubAuthority::parse(text).map(|authority| authority.0);
        assert_eq!(parsed(&one), Some(one.clone()));
        assert_eq!(parsed(&both), Some(both));
        assert_eq!(parsed(&format!("subject=hub }}\n{one}")), Some(one));
    }

    #[test]
    fn a_private_key_that_lies_in_the_file_of_the_certificate_is_handed_to_nobody() {
        let (certificate, key) = (pem(CERTIFICATE), pem("PRIVATE KEY"));
        for text in [
            key.clone(),
            format!("{certificate}{key}"),
            format!("{key}{certificate}"),
            String::new(),
            "-----BEGIN CERTIFICATE-----\n}\n-----END CERTIFICATE-----\n".to_owned(),
            certificate.repeat(100),
        ] {
            assert_eq!(HubAuthority::parse(&text), None, "{text}");
        }
    }
}
