//! Who calls, and how far their token reaches.

use std::sync::Arc;

use signet_api::Ceiling;
use tokio_util::sync::CancellationToken;

/// Who calls: put into the extensions of a request once it was authenticated.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Names this very token. A token that is made anew under the same name is another caller, and inherits no task of the
    /// old one.
    pub(crate) name: Arc<str>,
    /// What the token allows, within what the socket does.
    pub(crate) scope: Ceiling,
    /// Cancelled when the token is revoked or expires: what is under way for it ends.
    pub(crate) gone: CancellationToken,
}

/// A peer, as far as that caller may see it.
#[derive(Clone, Copy)]
pub(crate) struct SeenPeer<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) peer: &'a str,
}
