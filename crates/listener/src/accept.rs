//! Connections: accepted, each with little time and memory, and served.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::slots::{ConnectionActivity, ListenerSlot, ListenerSlots};
use crate::write_timeout::Patient;

/// The caller at the other end of a connection: in the extensions of every request.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// Its address.
    pub address: IpAddr,
    /// Its port, by which the kernel knows whose the connection is.
    pub port: u16,
    /// The SHA-256 of the certificate whose key it has proved to have.
    pub certificate: Option<[u8; 32]>,
}

/// How much connections may cost.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections at once. One more takes the place of the one that has been idle for the longest time.
    pub connections: usize,
    /// The time for the head of a request, and between two requests.
    pub header_time: Duration,
}

/// The part that makes a connection one over TLS.
pub trait Secures: Send + Sync + 'static {
    /// The connection then.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Makes it one, and tells the SHA-256 of the certificate that was shown; `None` where the other end does not speak TLS.
    fn secure(
        &self,
        stream: TcpStream,
    ) -> impl Future<Output = Option<(Self::Stream, Option<[u8; 32]>)>> + Send;
}

/// No TLS, for a listener that only this machine reaches.
#[derive(Debug)]
pub enum NoTls {}

impl Secures for NoTls {
    type Stream = TcpStream;

    async fn secure(&self, _: TcpStream) -> Option<(TcpStream, Option<[u8; 32]>)> {
        match *self {}
    }
}

/// The part that accepts connections.
pub struct Accept<S> {
    /// How much they may cost.
    pub limits: ConnectionLimits,
    /// The part that secures them, where they are secured.
    pub tls: Option<S>,
    /// The routes that serve every request.
    pub router: Router,
    /// Tells it to stop.
    pub stop: CancellationToken,
}

impl<S: Secures> Accept<S> {
    /// Serves whoever connects until it is told to stop; what is under way then has a moment to end.
    pub async fn run(self, socket: TcpListener) {
        let (limits, stop) = (self.limits, self.stop.clone());
        let places = Arc::new(ListenerSlots::new(limits.connections));
        // Fix the router's state once: otherwise each request would build the router's tables anew.
        let router = self.router.clone().with_state(());
        let shared = Arc::new(Self { router, ..self });
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                // Remove connections that have ended from the set: otherwise it would grow as long as the gateway runs.
                Some(_) = connections.join_next() => continue,
                accepted = socket.accept() => accepted,
            };
            let Ok((stream, remote)) = accepted else {
                // `accept` fails mostly because the process is out of file descriptors. Close an idle connection and wait a
                // moment: accepting again at once would only fail again.
                places.free_one(None);
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let place = places.take();
            let shared = Arc::clone(&shared);
            connections.spawn(async move {
                let given_up = place.given_up();
                tokio::select! {
                    () = shared.connection(stream, remote, &place) => {}
                    () = given_up.cancelled() => {}
                }
            });
        }
        // Close the socket first, so that nobody connects any more while the last answers are sent.
        drop(socket);
        let ended = async { while connections.join_next().await.is_some() {} };
        // Give the answers that are under way a moment to end, but do not wait for ever.
        let _ = timeout(GRACE, ended).await;
    }

    async fn connection(&self, stream: TcpStream, from: SocketAddr, place: &ListenerSlot) {
        // Most answers are small: send each at once instead of waiting for more bytes.
        let _ = stream.set_nodelay(true);
        let remote = |certificate| Remote {
            address: from.ip(),
            port: from.port(),
            certificate,
        };
        let Some(tls) = &self.tls else {
            return self.converse(stream, remote(None), place).await;
        };
        // Limit the TLS handshake by the time for a request's head: a client that connects and says nothing
        // must not keep its slot.
        let secured = timeout(self.limits.header_time, tls.secure(stream));
        let Ok(Some((stream, certificate))) = secured.await else {
            return;
        };
        self.converse(stream, remote(certificate), place).await;
    }

    async fn converse<T>(&self, stream: T, remote: Remote, place: &ListenerSlot)
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(Patient::new(stream, WRITE_TIME));
        let service = Rooms {
            router: self.router.clone(),
            remote,
            standing: place.standing(),
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // hyper also counts the time between two requests, so this limit closes idle connections as well.
            .header_read_timeout(self.limits.header_time)
            .max_headers(MOST_HEADERS)
            .max_buf_size(LONGEST_HEAD)
            .serve_connection(io, service);
        let mut connection = pin!(connection);
        tokio::select! {
            // The connection has ended, perhaps with an error. That concerns nobody else, so the error is ignored.
            _ = &mut connection => return,
            () = self.stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}

/// Serves the requests of one connection, each of which knows whose it is.
struct Rooms {
    router: Router,
    remote: Remote,
    standing: ConnectionActivity,
}

impl Service<Request<Incoming>> for Rooms {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let router = self.router.clone();
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(self.remote);
        request.extensions_mut().insert(self.standing.clone());
        Box::pin(router.oneshot(request))
    }
}

/// How long a client may take nothing of what is written to it.
const WRITE_TIME: Duration = Duration::from_secs(30);
const MOST_HEADERS: usize = 64;
const LONGEST_HEAD: usize = 32 * 1024;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_secs(3);
