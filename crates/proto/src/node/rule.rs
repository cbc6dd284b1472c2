//! From [`Verified`](crate::verify::Verified) to [`Ruled`](ruled::Ruled): checks V08 to V12, and what may be made of a
//! message that passes them.
//!
//! ```text
//! Verified ─ Judge::rule ─▶ Ruled { message, payload, opened, task } ─▶ line ─▶ Accepted
//!                      └─▶ Rejected { message, fault }
//! ```

pub(super) mod judge;
pub(super) mod permission;
pub(super) mod ruled;

use crate::draft::{FLIGHT_LIFE, LONGEST_LIFE};
use crate::envelope::{Message, Method};
use crate::reject::Reason;
use crate::time::{CLOCK_TOLERANCE, Timestamp};

/// Whether a message has what only those in a session have: a place there, or a tier whose content the log must not hold.
/// Flights, polls and decrees are no secrets.
pub(super) fn has_session_headers(message: &Message) -> bool {
    let headers = &message.headers;
    headers.session.is_some() || headers.sequence.is_some() || headers.data_tier.is_sealed()
}

/// Check V09.
pub(super) fn admit_time(now: Timestamp, message: &Message) -> Result<(), Reason> {
    let headers = &message.headers;
    let flight = message.form.method().is_some_and(Method::is_handshake);
    let longest = if flight { FLIGHT_LIFE } else { LONGEST_LIFE };
    // Ask in the order of check V09 in docs/protocol.md: the first question that fails names the reason.
    if headers.timestamp > now.saturating_add(CLOCK_TOLERANCE) {
        return Err(Reason::TimestampInFuture);
    }
    if headers.expires_at <= now {
        return Err(Reason::Expired);
    }
    let fits = headers.timestamp < headers.expires_at
        && headers.expires_at.since(headers.timestamp) <= longest;
    if fits {
        Ok(())
    } else {
        Err(Reason::LifetimeTooLong)
    }
}
