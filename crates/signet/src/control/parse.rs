//! A line of a socket becomes requests, their parameters read strictly, as a message is.

use signet_api::ApiError;
use signet_api::rpc::{self, Incoming};
use signet_proto::json::{Limits, parse as parse_strictly};

/// Reads one line.
///
/// # Errors
/// What the whole line is answered with, under the id `null`.
pub(super) fn line(line: &[u8]) -> Result<Incoming, ApiError> {
    rpc::read(line, BATCH_MAX, |params| {
        parse_strictly(params, Limits::LINE)
    })
}

/// So that a line of a megabyte cannot ask for an answer of many.
const BATCH_MAX: usize = 1000;
