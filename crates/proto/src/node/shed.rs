//! Under a flood of strangers: what names no peer of ours is counted, and not judged.

use crate::envelope::Unverified;
use crate::ids::Digest;
use crate::trust::TrustView;

use super::{Judged, Refusal};

/// The header that names a sender.
const SENDER: &str = "agent-id";

impl Judged {
    /// As [`Judged::of`], for as long as the strangers' budget is spent: bytes that name no peer as
    /// their sender are hashed (SHA-256 of the bytes), and will be counted like every stranger's
    /// that is over the budget. What any peer sent is judged in full.
    pub fn of_peers(bytes: &[u8], view: &TrustView) -> Self {
        let parsed = may_be_a_peers(bytes, view)
            .then(|| Unverified::parse_from(bytes, |sender| view.peer(sender).is_some()))
            .flatten();
        match parsed {
            Some(parsed) => Self::of_parsed(bytes, parsed, view),
            None => Self {
                bytes: bytes.len() as u64,
                head: Vec::new(),
                result: Err(Refusal::Shed(Digest::of(&[bytes]))),
            },
        }
    }

    /// Whether the sender is unproven: it costs a line of the strangers' budget.
    pub fn is_strangers(&self) -> bool {
        self.result.is_err()
    }
}

/// Whether the sender of these bytes can be bound, by a look that costs less than parsing them.
///
/// Names are written as they are unless they are escaped, and of the escapes only `\u` can write
/// what names are made of (RFC 8259 section 7). So without one, whoever is named as the sender
/// stands behind a literal `"agent-id"`, between the next two quotation marks, wherever in the
/// document that is.
fn may_be_a_peers(bytes: &[u8], view: &TrustView) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    if text.contains("\\u") {
        return true;
    }
    let mut parts = text.split('"');
    while let Some(part) = parts.next() {
        if part != SENDER {
            continue;
        }
        let mut behind = parts.clone();
        let named = behind.next().and(behind.next());
        let named = named.and_then(|name| name.parse().ok());
        if named.is_some_and(|agent| view.peer(&agent).is_some()) {
            return true;
        }
    }
    false
}
