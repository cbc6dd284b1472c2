//! Lines of the gateway's own log: standard error, which systemd keeps.

use std::io::Write as _;

use signet_text::visible;

/// Says one line.
pub(crate) fn say(line: &str) {
    // Where nobody reads standard error, there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{}", visible(line));
}
