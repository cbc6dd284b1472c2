//! The doors: each lets one kind of caller in, and asks the daemon for it.
//!
//! | door | for |
//! |---|---|
//! | `mcp` | clients of the Model Context Protocol, by pipes and at `/mcp` |
//! | `a2a` | clients of A2A, at `/a2a` |
//! | `rpc` | programs that know the calls of the daemon, at `/rpc` |
//! | `inbox` | gateways of peers, at the inbox: HTTP as a carrier |
//! | `discord` | a channel, as a carrier |
//! | `metrics` | Prometheus, at a listener of its own: the numbers of the daemon |
//!
//! Messages that come in by `inbox` and `discord` go to `carrier.sock`; the two doors begin together (`carriers`).

pub(crate) mod a2a;
pub(crate) mod carriers;
pub(crate) mod discord;
pub(crate) mod inbox;
pub(crate) mod mcp;
pub(crate) mod metrics;
pub(crate) mod rpc;

use std::sync::Arc;

use axum::Router;

use crate::context::Context;
use crate::listener::Doors;

/// What the listener serves: the routes of each door that the configuration opens. `inbox` are those of carriers.
pub(crate) fn routes(
    context: &Arc<Context>,
    a2a: Option<Arc<a2a::A2aDoor>>,
    inbox: Router,
) -> Doors {
    let of_a2a =
        |routes: fn(&Arc<a2a::A2aDoor>) -> Router| a2a.as_ref().map(routes).unwrap_or_default();
    Doors {
        open: Router::new().merge(of_a2a(a2a::open_routes)).merge(inbox),
        closed: Router::new()
            .merge(rpc::routes(context, a2a.clone()))
            .merge(mcp::http::routes(context))
            .merge(of_a2a(a2a::routes)),
    }
}
