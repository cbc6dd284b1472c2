//! The listener: `signet-listener`, which keeps connections and bodies within bounds, with TLS (`tls`), what every request has to
//! be before a door sees it (`gate`), and who sends it (`authenticate`).
//!
//! ```text
//! accept ── TLS ── hyper ── gate: Host, Origin, content type ──┬── open doors
//!                                                              └── authenticate: token or certificate, rate ── body ── doors
//! ```
//!
//! What costs little is refused first: a body is read for those who were let in by their head.

mod authenticate;
mod dates;
mod gate;
mod guarded;
mod refusal;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use signet_listener::{Accept, Bodies, ConnectionLimits, whole};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) use authenticate::Door;
pub(crate) use gate::KnownCaller;
pub(crate) use refusal::{json, later, refused};
pub(crate) use signet_listener::{ConnectionActivity, Remote, discard_up_to, is_json, media_type};

use crate::config::GatewayConfig;
use gate::Gate;
use tls::Secured;

/// The routes of all doors.
pub(crate) struct Doors {
    /// For everybody.
    pub(crate) open: Router,
    /// For those who have proved who they are.
    pub(crate) closed: Router,
}

/// A listener that is bound, and serves nobody yet.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: Option<Secured>,
}

impl Listener {
    /// Listens where the configuration says.
    ///
    /// # Errors
    /// What is wrong with the address or the certificate, and what to do.
    pub(crate) async fn bind(config: &GatewayConfig) -> Result<Self, (String, &'static str)> {
        let tls = config
            .tls
            .as_ref()
            .map(|section| Secured::of(config, section));
        let tls = tls.transpose()?;
        let address = config.listen.address;
        let socket = TcpListener::bind(address).await.map_err(|error| {
            let next =
                "stop what listens there, or set another `address` under [listen] of gateway.toml";
            (format!("{address}: {error}"), next)
        })?;
        Ok(Self { socket, tls })
    }

    /// Where it listens: with the port that the system chose, where the configuration names none.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// Whether callers speak TLS.
    pub(crate) const fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves the doors until it is told to stop; what is under way then has a moment to end.
    pub(crate) async fn serve(
        self,
        config: &GatewayConfig,
        doors: Doors,
        door: Door,
        stop: CancellationToken,
    ) {
        let router = router(config, doors, door);
        let accept = Accept {
            limits: ConnectionLimits {
                connections: config.limits.connections,
                header_time: config.limits.header_time(),
            },
            tls: self.tls,
            router,
            stop,
        };
        accept.run(self.socket).await;
    }
}

/// Every door behind what it relies on.
fn router(config: &GatewayConfig, doors: Doors, door: Door) -> Router {
    let gate = Arc::new(Gate::new(config));
    let (most, time) = (config.limits.body_bytes, config.limits.body_time());
    let bodies = Bodies::new(most, time, refusal::of_body);
    let bodies = from_fn_with_state(Arc::new(bodies), whole);
    // Only paths that a door serves ask for a token: an answer 404 for any other path gives no secret away.
    let authenticate = from_fn_with_state(Arc::new(door), authenticate::authenticate);
    // The layer that is added last sees a request first: so no body is read before its caller is authenticated.
    let closed = doors.closed.route_layer(bodies).route_layer(authenticate);
    doors
        .open
        .merge(closed)
        .fallback(refusal::nothing_here)
        .method_not_allowed_fallback(refusal::not_so)
        .layer(from_fn_with_state(gate, gate::pass))
}
