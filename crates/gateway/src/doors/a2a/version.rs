//! Which version a call is of: the name of its method says so, and the header must not say otherwise.

use super::fault::{A2aError, A2aErrorKind};
use super::words::method::A2aVersion;

/// What `A2A-A2aVersion` has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// It names the version of the method; without one a call is of 0.3.
    Header,
    /// It names any version that is spoken here, or none.
    Lenient,
}

/// The version that the header asks for: an absent or empty one stands for 0.3.
///
/// # Errors
/// -32009.
pub(crate) fn asked(header: Option<&str>) -> Result<A2aVersion, A2aError> {
    match header.map(str::trim).filter(|text| !text.is_empty()) {
        None => Ok(A2aVersion::V03),
        Some(text) => A2aVersion::named(text).ok_or_else(|| not_supported(Some(text))),
    }
}

/// That the header fits the method's version.
///
/// # Errors
/// -32009.
pub(crate) fn admit(
    version: A2aVersion,
    header: Option<&str>,
    strictness: Strictness,
) -> Result<(), A2aError> {
    let asked = asked(header)?;
    match asked == version || strictness == Strictness::Lenient {
        true => Ok(()),
        false => Err(not_supported(header)),
    }
}

fn not_supported(header: Option<&str>) -> A2aError {
    let said = header.map_or("no A2A-Version", |_| "the A2A-Version of this call");
    let message = format!(
        "Version not supported: {said} is not that of its method; SendMessage and its like are of 1.0, message/send and \
         its like of 0.3"
    );
    A2aError::new(A2aErrorKind::VersionNotSupported, message).with("supportedVersions", "1.0,0.3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_must_not_contradict_the_method() {
        use Strictness::{Header, Lenient};
        let refused = |version, header, strictness| {
            let admitted = admit(version, header, strictness);
            admitted.is_err_and(|fault| fault.kind() == A2aErrorKind::VersionNotSupported)
        };
        assert!(!refused(A2aVersion::V1, Some("1.0.1"), Header));
        assert!(!refused(A2aVersion::V03, None, Header));
        assert!(!refused(A2aVersion::V03, Some(""), Header));
        assert!(refused(A2aVersion::V1, None, Header));
        assert!(refused(A2aVersion::V1, Some("0.3"), Header));
        assert!(refused(A2aVersion::V03, Some("1.0"), Header));
        assert!(refused(A2aVersion::V03, Some("9.9"), Header));
        assert!(!refused(A2aVersion::V1, None, Lenient));
        assert!(!refused(A2aVersion::V1, Some("0.3"), Lenient));
        assert!(refused(A2aVersion::V1, Some("9.9"), Lenient));
    }
}
