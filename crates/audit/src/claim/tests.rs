//! Claims for the tests of what compares them.

use std::time::Duration;

use super::*;

/// The claim of a log about the accepted message of that number, in one session.
pub(crate) fn claim(number: u64) -> Claim {
    let moment =
        Timestamp::from_millis(1_770_570_000_000).saturating_add(Duration::from_millis(number));
    Claim {
        seq: number,
        ts: moment,
        hash: Digest::of(&[&number.to_be_bytes()]),
        message_id: MessageId::from_parts(1_770_570_000_000 + number, [7; 10]),
        signed: moment,
        place: Some((SessionId(Digest([9; 32])), number)),
        head: None,
        ruling: Ruling::Accepted,
        is_receipt: false,
    }
}

/// The same, with another ruling.
pub(crate) fn refused(number: u64, ruling: Ruling) -> Claim {
    Claim {
        ruling,
        ..claim(number)
    }
}
