//! `POST /agent/<id>/inbox`: where others' gateways hand in what is for this agent. A caller proves nothing but by the
//! signatures in the envelopes, and no answer tells how they were judged: a stranger could learn from it whom this agent
//! knows.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use bytes::Bytes;
use signet_api::DeliverMessages;
use signet_proto::trust::TrustView;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::body_memory::Unread;
use super::counts::Counted;
use super::door::{HttpCarrier, decode, encode};
use super::framing::envelopes;
use super::link::{RULING, delivery};
use super::poll_slots::{NotWaiting, PollSlot};
use super::queue::{EnvelopeResult, NoSlot, QueueSlot, QueuedEnvelope};
use super::verdict::{EnvelopeVerdict, JudgedEnvelope};
use crate::listener::{ConnectionActivity, KnownCaller, Remote, json, later, media_type, refused};
use crate::lock::Locked as _;

/// The one route that is open to everybody.
pub(crate) fn open_routes(room: &Arc<HttpCarrier>) -> Router {
    Router::new()
        .route("/agent/{id}/inbox", post(take))
        .with_state(Arc::clone(room))
}

async fn take(
    State(room): State<Arc<HttpCarrier>>,
    Path(id): Path<String>,
    Extension(remote): Extension<Remote>,
    Extension(activity): Extension<ConnectionActivity>,
    request: Request,
) -> Response {
    let taken = taken(&room, &id, remote.address, &activity, request).await;
    taken.unwrap_or_else(|refusal| {
        room.counts.note(Counted::Refused);
        refusal.into_response()
    })
}

async fn taken(
    room: &HttpCarrier,
    id: &str,
    from: IpAddr,
    activity: &ConnectionActivity,
    request: Request,
) -> Result<Response, InboxRefusal> {
    let view = room.view().ok_or(InboxRefusal::Away)?;
    if id != view.me().as_str() {
        return Err(InboxRefusal::Nobody);
    }
    admit_type(request.headers())?;
    // Count one envelope of this request before its body is read: reading takes time and memory, which a sender over its rate
    // must not get.
    pass(room, from, 1)?;
    let time = room.context.config.limits.body_time();
    let body = room
        .body_memory
        .read(from, request.into_body(), time)
        .await?;
    // The body is complete: mark the connection as busy, so that its slot is not taken away before the answer.
    let _work = activity.at_work();
    let began = Instant::now();
    let pieces = envelopes(&body).map_err(|_| InboxRefusal::Size)?;
    if pieces.len() > 1 {
        pass(room, from, pieces.len() - 1)?;
    }
    // Reserve room before the envelopes are judged: a refusal that depended on the verdict would tell a
    // sender what was verified.
    let place = room.queue.reserve(from, body.len().max(1));
    let place = place.map_err(|no_place| match no_place {
        NoSlot::Full => InboxRefusal::Full,
        NoSlot::Share => InboxRefusal::Rate(SOON),
    })?;
    let judged = judge(room, pieces, view).await?;
    if let [
        JudgedEnvelope {
            verdict: EnvelopeVerdict::Verified,
            poll: Some(poller),
            bytes,
        },
    ] = &judged[..]
    {
        match room.poll_slots.admit(poller.clone()) {
            Ok(waits) => {
                // A poll waits for up to 20 s, and needs no room in the queue: give its room back first, so that others can use
                // it.
                drop(place);
                return poll(room, &waits, bytes).await.map(of_known_caller);
            }
            Err(NotWaiting::Full) => return Err(InboxRefusal::Full),
            // This poll is a copy, or came late: it must not take the place of the one that waits. Give it to the daemon like
            // any envelope, so that it is judged and answered like one.
            Err(NotWaiting::Older) => {}
        }
    }
    let ruled = ruled(room, place, from, judged).await;
    // Delay every answer to the next tick, a refusal as well: otherwise the time of the answer would tell what was verified.
    sleep(until_tick(began.elapsed())).await;
    ruled?;
    Ok(of_known_caller(StatusCode::ACCEPTED.into_response()))
}

/// Marks the answer to an accepted delivery or to a verified poll. The inbox limits each address itself, so the listener must
/// not count such a request against its limit for strangers: the mark exempts it.
fn of_known_caller(mut response: Response) -> Response {
    response.extensions_mut().insert(KnownCaller);
    response
}

/// Puts the envelopes into the queue, and waits until the daemon has ruled on all of them.
async fn ruled(
    room: &HttpCarrier,
    mut place: QueueSlot<'_>,
    from: IpAddr,
    judged: Vec<JudgedEnvelope>,
) -> Result<(), InboxRefusal> {
    let mut fates = Vec::new();
    for JudgedEnvelope { bytes, verdict, .. } in judged {
        let (done, fate) = oneshot::channel();
        place.put(QueuedEnvelope {
            bytes,
            from,
            verdict,
            done,
        });
        fates.push(fate);
    }
    // The envelopes are in the queue, and need less room than was reserved. Give the rest back before the wait for their
    // verdicts, so that others can use it.
    drop(place);
    for fate in fates {
        match timeout(RULED, fate).await {
            Ok(Ok(EnvelopeResult::Ruled)) => {}
            // Answer as if the daemon had judged the dropped envelope: any other answer would tell that it came
            // from no known peer.
            Ok(Ok(EnvelopeResult::Shed)) => room.counts.note(Counted::Shed),
            Ok(Ok(EnvelopeResult::Away) | Err(_)) | Err(_) => return Err(InboxRefusal::Away),
        }
    }
    Ok(())
}

/// How long an answer still waits. What is verified is written to a disk, what names a peer is checked against its key,
/// and what is junk is neither: answers at ticks alone do not tell these apart, as long as a tick is enough for each.
fn until_tick(elapsed: Duration) -> Duration {
    let ticks = elapsed.as_nanos() / TICK.as_nanos() + 1;
    let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
    TICK.saturating_mul(ticks).saturating_sub(elapsed)
}

/// JSON, and as it is: a body that has to be unpacked could be a thousand times as large.
fn admit_type(headers: &HeaderMap) -> Result<(), InboxRefusal> {
    let is_json = media_type(headers).as_deref() == Some("application/json");
    match is_json && !headers.contains_key(header::CONTENT_ENCODING) {
        true => Ok(()),
        false => Err(InboxRefusal::Type),
    }
}

fn pass(room: &HttpCarrier, from: IpAddr, envelopes: usize) -> Result<(), InboxRefusal> {
    let mut pace = room.pace.locked();
    pace.take(from, envelopes, Instant::now())
        .map_err(InboxRefusal::Rate)
}

/// The verdicts, on a thread that may compute: a signature takes as long as a thousand small requests' routing.
async fn judge(
    room: &HttpCarrier,
    pieces: Vec<Bytes>,
    view: Arc<TrustView>,
) -> Result<Vec<JudgedEnvelope>, InboxRefusal> {
    // Judge only a few bodies at the same time, because that takes much computing. The semaphore is never closed, so `acquire`
    // does not fail.
    let _turn = room
        .judges
        .acquire()
        .await
        .map_err(|_| InboxRefusal::Away)?;
    let judged = tokio::task::spawn_blocking(move || {
        let judged = pieces
            .into_iter()
            .map(|bytes| JudgedEnvelope::of(bytes, &view));
        judged.collect::<Vec<_>>()
    });
    let judged = judged.await.map_err(|_| InboxRefusal::Away)?;
    for one in &judged {
        room.counts.note(match one.verdict {
            EnvelopeVerdict::Verified => Counted::Verified,
            EnvelopeVerdict::Flight => Counted::Flight,
            EnvelopeVerdict::Unknown => Counted::Unknown,
            EnvelopeVerdict::Forged => Counted::Forged,
        });
    }
    Ok(judged)
}

/// What the daemon keeps for whoever has proved by this poll to be the peer, as soon as there is something.
async fn poll(
    room: &HttpCarrier,
    waits: &PollSlot,
    bytes: &Bytes,
) -> Result<Response, InboxRefusal> {
    let request = DeliverMessages {
        wait: LONG_POLL.as_secs_f64(),
        ..delivery(&room.section.carrier, vec![encode(bytes)])
    };
    let asked = room.poll_slots.ask(waits, request, RULING + LONG_POLL);
    let delivered = asked.await.map_err(|_| InboxRefusal::Away)?;
    room.counts.note(Counted::Poll);
    let kept = delivered.and_then(|delivered| delivered.kept);
    let kept = kept.unwrap_or_default();
    let kept: Vec<Vec<u8>> = kept.iter().filter_map(|text| decode(text)).collect();
    match kept.is_empty() {
        true => Ok(StatusCode::ACCEPTED.into_response()),
        false => Ok(array(&kept)),
    }
}

/// An array of envelopes, each as it is.
fn array(envelopes: &[Vec<u8>]) -> Response {
    let mut body = vec![b'['];
    for (at, envelope) in envelopes.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        body.extend_from_slice(envelope);
    }
    body.push(b']');
    json(body)
}

/// Why a request is not taken. It says nothing of what was in it.
#[derive(Clone, Copy, Debug)]
enum InboxRefusal {
    /// No agent of that name is here.
    Nobody,
    /// It is no JSON, or is packed.
    Type,
    /// It is too large, or too many.
    Size,
    /// It comes too slowly.
    Slow,
    /// Too much of it in a time.
    Rate(Duration),
    /// There is no room for anybody.
    Full,
    /// The daemon does not answer.
    Away,
}

impl From<Unread> for InboxRefusal {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::TooLong => Self::Size,
            Unread::Slow => Self::Slow,
            Unread::Share => Self::Rate(SOON),
            Unread::Full => Self::Full,
        }
    }
}

impl InboxRefusal {
    fn into_response(self) -> Response {
        let after = match self {
            Self::Rate(wait) => Some(wait),
            Self::Full => Some(SOON),
            Self::Away => Some(LATER),
            Self::Nobody | Self::Type | Self::Size | Self::Slow => None,
        };
        let (status, reason, message, next) = self.words();
        let response = refused(status, reason, message, next);
        match after {
            Some(wait) => {
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                later(response, seconds.max(1))
            }
            None => response,
        }
    }

    const fn words(self) -> (StatusCode, &'static str, &'static str, &'static str) {
        match self {
            Self::Nobody => (
                StatusCode::NOT_FOUND,
                "nothing-here",
                "no agent of that name is here",
                "ask whose agent it is for its address",
            ),
            Self::Type => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "content-type",
                "the body is not declared as JSON, or is packed",
                "send Content-Type: application/json, without a content encoding",
            ),
            Self::Size => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "too-large",
                "an envelope has at most 256 KiB, an array at most 128 of them",
                "send fewer at once",
            ),
            Self::Slow => (
                StatusCode::REQUEST_TIMEOUT,
                "too-slow",
                "the body did not come in time",
                "send the request again, in one piece",
            ),
            Self::Rate(_) => (
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-requests",
                "too much comes from this address",
                "send again after the seconds of Retry-After",
            ),
            Self::Full => (
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "there is no room for more",
                "send again after the seconds of Retry-After",
            ),
            Self::Away => (
                StatusCode::SERVICE_UNAVAILABLE,
                "daemon-away",
                "the daemon of this agent does not answer",
                "send again after the seconds of Retry-After",
            ),
        }
    }
}

/// Answers are given at multiples of this after their request was read.
const TICK: Duration = Duration::from_millis(25);
/// How long an envelope may wait for its turn and for the daemon.
const RULED: Duration = Duration::from_secs(40);
/// How long a poll waits for something to give.
const LONG_POLL: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_at_ticks_whatever_the_work_took() {
        let millis = Duration::from_millis;
        for (took, waits) in [
            (0, 25),
            (1, 24),
            (24, 1),
            (25, 25),
            (26, 24),
            (99, 1),
            (40_000, 25),
        ] {
            assert_eq!(until_tick(millis(took)), millis(waits), "{took}");
        }
        assert!(until_tick(Duration::MAX) <= TICK);
    }
}
