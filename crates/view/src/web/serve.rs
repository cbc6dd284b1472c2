//! The listener: connections within bounds. It is exchanged for the one that the gateway has, once that is a crate.

use std::convert::Infallible;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tower::ServiceExt as _;

use crate::ViewError;
use crate::fault::at;

/// Serves the router at a bound socket, until `ends` does.
///
/// # Errors
/// When the socket cannot be served at all.
pub(super) async fn serve(
    socket: TcpListener,
    router: Router,
    ends: impl Future<Output = ()>,
) -> Result<(), ViewError> {
    let here = std::path::Path::new("the listener");
    socket.set_nonblocking(true).map_err(at(here))?;
    let socket = tokio::net::TcpListener::from_std(socket).map_err(at(here))?;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut ends = pin!(ends);
    loop {
        let accepted = tokio::select! {
            () = &mut ends => return Ok(()),
            accepted = socket.accept() => accepted,
        };
        // Without a free place the connection is closed at once: a browser tries again, and a flood costs no memory.
        let (Ok((stream, _)), Ok(place)) = (accepted, Arc::clone(&places).try_acquire_owned())
        else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            converse(stream, router).await;
            drop(place);
        });
    }
}

async fn converse(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        async move {
            Ok::<_, Infallible>(
                router
                    .oneshot(request.map(Body::new))
                    .await
                    .unwrap_or_else(|never| match never {}),
            )
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(MOST_HEADERS)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // A connection that ends with an error concerns nobody else.
    let _ = connection.await;
}

const CONNECTIONS: usize = 256;
const HEAD_TIME: Duration = Duration::from_secs(15);
const MOST_HEADERS: usize = 64;
const LONGEST_HEAD: usize = 32 * 1024;
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
