//! The listener: connections within bounds (`accept`, `slots`, `write_timeout`, `tls`), what every request has to be before a door
//! sees it (`gate`), who sends it (`authenticate`), and what it brings (`body`).
//!
//! ```text
//! accept ── TLS ── hyper ── gate: Host, Origin, content type ──┬── open doors
//!                                                              └── authenticate: token or certificate, rate ── body ── doors
//! ```
//!
//! What costs little is refused first: a body is read for those who were let in by their head.

mod accept;
mod authenticate;
mod body;
mod dates;
mod gate;
mod guarded;
mod refusal;
mod slots;
mod tls;
mod write_timeout;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) use authenticate::Door;
pub(crate) use body::discard_up_to;
pub(crate) use gate::{KnownCaller, is_json, media_type};
pub(crate) use refusal::{json, later, refused};
pub(crate) use slots::ConnectionActivity;

use crate::config::GatewayConfig;
use accept::{Accept, GatedRouter};
use body::Bodies;
use gate::Gate;
use tls::Secured;

/// Who is at the other end of a connection: in the extensions of every request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remote {
    /// Its address.
    pub(crate) address: IpAddr,
    /// The SHA-256 of the certificate whose key it has proved to have.
    pub(crate) certificate: Option<[u8; 32]>,
}

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
            limits: config.limits,
            tls: self.tls,
            router: GatedRouter::new(router),
            stop,
        };
        accept.run(self.socket).await;
    }
}

/// Every door behind what it relies on.
fn router(config: &GatewayConfig, doors: Doors, door: Door) -> Router {
    let gate = Arc::new(Gate::new(config));
    let bodies = from_fn_with_state(Arc::new(Bodies::new(config)), body::whole);
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
