//! Connections: so many at once, each with little time and memory.
//!
//! Whoever opens connections and sends nothing takes no place from others: where all places are taken, the connection that
//! has been idle for the longest time makes room, and a connection with a request under way never does.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::Remote;
use super::guarded::guarded;
use super::io::Patient;
use super::tls::Secured;
use crate::config::Limits;

/// What accepts connections.
pub(super) struct Accept {
    pub(super) limits: Limits,
    pub(super) tls: Option<Secured>,
    pub(super) router: Served,
    pub(super) stop: CancellationToken,
}

impl Accept {
    /// Serves whoever connects until it is told to stop.
    pub(super) async fn run(self, socket: TcpListener) {
        let (limits, stop) = (self.limits, self.stop.clone());
        let places = Arc::new(Places::new(limits.connections));
        let shared = Arc::new(self);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => continue,
                accepted = socket.accept() => accepted,
            };
            let Ok((stream, remote)) = accepted else {
                // Out of file descriptors: accepting again at once would only spin.
                places.free_one();
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let place = places.take();
            let shared = Arc::clone(&shared);
            connections.spawn(async move {
                let given_up = place.given_up.clone();
                tokio::select! {
                    () = shared.connection(stream, remote.ip(), &place) => {}
                    () = given_up.cancelled() => {}
                }
            });
        }
        drop(socket);
        let ended = async { while connections.join_next().await.is_some() {} };
        // Whoever is in the middle of an answer has a moment for it.
        let _ = timeout(GRACE, ended).await;
    }

    async fn connection(&self, stream: TcpStream, address: IpAddr, place: &Place) {
        // Small answers are many.
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => {
                self.converse(
                    stream,
                    Remote {
                        address,
                        certificate: None,
                    },
                    place,
                )
                .await
            }
            Some(tls) => {
                let Ok(Ok(stream)) =
                    timeout(self.limits.header_time(), tls.acceptor().accept(stream)).await
                else {
                    return;
                };
                let shown = stream.get_ref().1.peer_certificates();
                let certificate = shown.and_then(|shown| shown.first());
                let certificate = certificate.map(|shown| Sha256::digest(shown.as_ref()).into());
                self.converse(
                    stream,
                    Remote {
                        address,
                        certificate,
                    },
                    place,
                )
                .await;
            }
        }
    }

    async fn converse<S>(&self, stream: S, remote: Remote, place: &Place)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(Patient::new(stream, WRITE_TIME));
        let service = Counted {
            router: self.router.clone(),
            remote,
            activity: Arc::clone(&place.activity),
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_time())
            .max_headers(MOST_HEADERS)
            .max_buf_size(LONGEST_HEAD)
            .serve_connection(io, service);
        let mut connection = pin!(connection);
        tokio::select! {
            // How it ended is of no concern to others.
            _ = &mut connection => return,
            () = self.stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}

/// The rooms behind their gate.
#[derive(Clone)]
pub(super) struct Served(Router);

impl Served {
    pub(super) fn new(router: Router) -> Self {
        Self(router.with_state(()))
    }
}

/// Serves the requests of one connection, and knows whether one is under way.
struct Counted {
    router: Served,
    remote: Remote,
    activity: Arc<Activity>,
}

impl Service<Request<Incoming>> for Counted {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let router = self.router.0.clone();
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(self.remote);
        let busy = Busy::of(&self.activity);
        Box::pin(async move {
            let response = router.oneshot(request).await?;
            Ok(guarded(response, CancellationToken::new(), busy))
        })
    }
}

/// Whether a connection has a request under way, and since when it has none.
struct Activity {
    under_way: AtomicUsize,
    /// Rises with every request that ends, of whatever connection.
    idle_since: AtomicU64,
    clock: Arc<AtomicU64>,
}

struct Busy(Arc<Activity>);

impl Busy {
    fn of(activity: &Arc<Activity>) -> Self {
        activity.under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(activity))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let now = self.0.clock.fetch_add(1, Ordering::Relaxed);
        self.0.idle_since.store(now, Ordering::Relaxed);
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The places for connections.
struct Places {
    most: usize,
    clock: Arc<AtomicU64>,
    taken: Arc<Mutex<Taken>>,
}

type Taken = BTreeMap<u64, (Arc<Activity>, CancellationToken)>;

/// The place of one connection, free again when dropped.
struct Place {
    number: u64,
    activity: Arc<Activity>,
    given_up: CancellationToken,
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    fn new(most: usize) -> Self {
        Self {
            most,
            clock: Arc::default(),
            taken: Arc::default(),
        }
    }

    /// A place, for which another connection is given up where there is none. Where every connection is at work, the new
    /// one is given up itself.
    fn take(&self) -> Place {
        let number = self.clock.fetch_add(1, Ordering::Relaxed);
        let activity = Arc::new(Activity {
            under_way: AtomicUsize::new(0),
            idle_since: AtomicU64::new(number),
            clock: Arc::clone(&self.clock),
        });
        let given_up = CancellationToken::new();
        let is_full = {
            let mut taken = self.lock();
            let is_full = taken.len() >= self.most;
            taken.insert(number, (Arc::clone(&activity), given_up.clone()));
            is_full
        };
        if is_full {
            self.free_one();
        }
        Place {
            number,
            activity,
            given_up,
            taken: Arc::clone(&self.taken),
        }
    }

    /// Gives up the connection that has been idle for the longest time.
    fn free_one(&self) {
        let mut taken = self.lock();
        let idle = taken
            .iter()
            .filter(|(_, (activity, _))| activity.under_way.load(Ordering::Relaxed) == 0);
        let oldest =
            idle.min_by_key(|(_, (activity, _))| activity.idle_since.load(Ordering::Relaxed));
        let oldest = oldest.map(|(number, _)| *number);
        if let Some((_, given_up)) = oldest.and_then(|number| taken.remove(&number)) {
            given_up.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.number);
    }
}

/// For a client to take some of what is written to it.
const WRITE_TIME: Duration = Duration::from_secs(30);
const MOST_HEADERS: usize = 64;
const LONGEST_HEAD: usize = 32 * 1024;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_that_is_idle_for_longest_makes_room_and_one_at_work_never() {
        let places = Places::new(3);
        let (first, second, third) = (places.take(), places.take(), places.take());
        let under_way = Busy::of(&first.activity);
        drop(Busy::of(&second.activity));
        let fourth = places.take();
        assert!(third.given_up.is_cancelled(), "second was at work later");
        let fifth = places.take();
        assert!(second.given_up.is_cancelled() && !first.given_up.is_cancelled());
        drop(under_way);
        let sixth = places.take();
        assert!(fourth.given_up.is_cancelled() && !first.given_up.is_cancelled());
        drop((fifth, sixth));
        let _seventh = places.take();
        assert!(!first.given_up.is_cancelled(), "there is room again");
    }
}
