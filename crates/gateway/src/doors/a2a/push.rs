//! Pushes: each event of a task to the addresses that its client named, in order, within bounds.
//!
//! Where a push goes is the client's wish: the guard of the way out decides whether it goes there. What is not kept of a
//! task is not pushed either. Up to which event a receiver has heard is written, so a killed gateway goes on from there.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::store::{Due, Store};
use super::words::model::{A2aEvent, PushConfig};
use super::words::v03;
use crate::context::Context;
use crate::lock::Locked as _;
use crate::outgoing::{How, OutgoingError, Url};
use crate::say::say;

/// What is being pushed.
#[derive(Clone)]
pub(crate) struct Pushing {
    places: Arc<Semaphore>,
    busy: Arc<Mutex<UnderWayPushes>>,
    /// The hosts that are not called, of which the log has a line.
    told: Arc<Mutex<HashSet<String>>>,
}

/// A task and the id of one of its receivers.
type PushReceiver = (String, String);

#[derive(Default)]
struct UnderWayPushes {
    /// Those that something is under way to; true where there is news since.
    receivers: HashMap<PushReceiver, bool>,
    /// How many posts each caller has under way.
    posts: HashMap<String, Arc<Semaphore>>,
}

impl Default for Pushing {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(PLACES)),
            busy: Arc::default(),
            told: Arc::default(),
        }
    }
}

impl Pushing {
    /// Sees to it that what is due of the task leaves.
    pub(crate) fn kick(&self, context: &Arc<Context>, store: &Store, task: &str) {
        let (pushing, context) = (self.clone(), Arc::clone(context));
        let (store, task) = (store.clone(), task.to_owned());
        tokio::spawn(async move {
            for due in store.due(task).await.unwrap_or_default() {
                pushing.begin(&context, &store, due);
            }
        });
    }

    /// One receiver after another would wait for one that does not answer: each has its own turn.
    fn begin(&self, context: &Arc<Context>, store: &Store, due: Due) {
        let receiver = (due.config.task_id.clone(), due.config.id.clone());
        {
            let mut busy = self.busy.locked();
            // Only one push at a time goes to a receiver, so that it gets events in order. If a push is under way, `has_news`
            // tells `push_all` that there are more events.
            if let Some(has_news) = busy.receivers.get_mut(&receiver) {
                *has_news = true;
                return;
            }
            busy.receivers.insert(receiver.clone(), false);
        }
        let (pushing, doors, store) = (self.clone(), Arc::clone(context), store.clone());
        context.spawn(async move { pushing.push_all(&doors, &store, receiver, due).await });
    }

    async fn push_all(&self, context: &Context, store: &Store, receiver: PushReceiver, first: Due) {
        let mut next = Some(first);
        loop {
            if let Some(due) = next.take() {
                self.push(context, store, due).await;
            }
            {
                // Read and reset this receiver's `has_news` under one lock: otherwise an event that comes in between would not
                // be pushed.
                let mut busy = self.busy.locked();
                if busy.receivers.insert(receiver.clone(), false) != Some(true) {
                    busy.receivers.remove(&receiver);
                    return;
                }
            }
            let due = store.due(receiver.0.clone()).await.unwrap_or_default();
            next = due.into_iter().find(|due| due.config.id == receiver.1);
        }
    }

    /// Sends a receiver everything that it has not got. One that cannot be reached by all tries misses it.
    async fn push(&self, context: &Context, store: &Store, due: Due) {
        let Ok(url) = Url::parse(&due.config.url) else {
            return;
        };
        let Some(headers) = headers(&due.config) else {
            return;
        };
        for (seq, event) in &due.events {
            let body = match due.is_v1 {
                true => json!(event),
                // A2A 0.3 pushes the whole task, whatever the event is.
                false => match event {
                    A2aEvent::Task(task) => v03::task(task),
                    A2aEvent::StatusUpdate(_) | A2aEvent::ArtifactUpdate(_) => v03::task(&due.task),
                },
            };
            let post = PushPost {
                due: &due,
                url: &url,
                headers: &headers,
                body: Bytes::from(body.to_string()),
            };
            if !self.deliver(context, store, &post).await {
                return;
            }
            let (task, id) = (due.config.task_id.clone(), due.config.id.clone());
            if store.pushed(task, id, *seq).await.is_err() {
                return;
            }
        }
    }

    /// Tries until it is taken, or will not be; false where nobody wants it any more: the receiver was taken away or given
    /// anew, or the token is revoked by which it was named.
    async fn deliver(&self, context: &Context, store: &Store, post: &PushPost<'_>) -> bool {
        let own = self.posts_of(&post.due.caller);
        let mut pause = PAUSE;
        for _ in 0..TRIES {
            // Take the caller's own slot first: a post that waits for its caller's slot must not hold a shared slot meanwhile.
            let (Ok(own_place), Ok(place)) = (own.acquire().await, self.places.acquire().await)
            else {
                return false;
            };
            // Ask at each try, after the wait for slots, whether the push is still wanted: the token may have been revoked, or
            // the receiver deleted, meanwhile.
            let is_wanted = context.still_admits(&post.due.caller)
                && store.stands(post.due.config.clone()).await;
            if !is_wanted {
                return false;
            }
            let posted = context
                .outgoing
                .post(post.url, post.headers.clone(), post.body.clone(), &HOW)
                .await;
            match posted {
                Ok(answer) if answer.status.is_success() => return true,
                // A receiver that answers with a status 4xx will refuse this push again, so there are no more tries. A 429 only
                // asks to come later, and is tried again.
                Ok(answer) if answer.status.is_client_error() && answer.status != 429 => {
                    return true;
                }
                Err(
                    why @ (OutgoingError::Forbidden
                    | OutgoingError::Malformed
                    | OutgoingError::Cleartext
                    | OutgoingError::Redirected),
                ) => {
                    self.tell(post.url, &why);
                    return true;
                }
                _ => {}
            }
            // Give the slots back before the pause, so that others can post meanwhile.
            drop((own_place, place));
            sleep(pause).await;
            pause *= 3;
        }
        // All tries failed, so the receiver misses this event. Count it as delivered: otherwise it would hold
        // up all later events.
        true
    }

    /// The places of one caller: its dead receivers hold up no other caller's.
    fn posts_of(&self, caller: &str) -> Arc<Semaphore> {
        let mut busy = self.busy.locked();
        // Forget the slots of callers without a post under way, so that the map does not grow. Nothing is lost: all their slots
        // are free, and so are those of a new entry.
        busy.posts.retain(|_, places| Arc::strong_count(places) > 1);
        let own = busy.posts.entry(caller.to_owned());
        Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(OWN_PLACES))))
    }

    /// Logs why nothing goes to that host: once, because every task may name it, and for 100 hosts at most, because clients
    /// choose them.
    fn tell(&self, url: &Url, why: &OutgoingError) {
        let host = url.host_str().unwrap_or_default();
        let mut told = self.told.locked();
        if told.len() < TOLD_MAX && told.insert(host.to_owned()) {
            say(&format!("no push of A2A goes to {host}: {why}"));
        }
    }
}

/// One event on its way to one receiver.
struct PushPost<'a> {
    due: &'a Due,
    url: &'a Url,
    headers: &'a HeaderMap,
    body: Bytes,
}

/// The member of the configuration that no header can hold.
pub(crate) fn unfit(config: &PushConfig) -> Option<&'static str> {
    let given = config.authentication.as_ref();
    let members = [
        ("token", config.token.as_deref()),
        (
            "authentication.scheme",
            given.map(|given| given.scheme.as_str()),
        ),
        (
            "authentication.credentials",
            given.and_then(|given| given.credentials.as_deref()),
        ),
    ];
    let is_unfit = |text: &str| text.chars().any(char::is_control) || secret(text).is_none();
    let mut unfit = members
        .into_iter()
        .filter(|(_, text)| text.is_some_and(is_unfit));
    unfit.next().map(|(name, _)| name)
}

/// How the receiver knows us; `None` where what the client gave is no header.
fn headers(config: &PushConfig) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(token) = &config.token {
        headers.insert(TOKEN, secret(token)?);
    }
    if let Some(given) = &config.authentication {
        let text = match &given.credentials {
            Some(credentials) => format!("{} {credentials}", given.scheme),
            None => return Some(headers),
        };
        headers.insert(AUTHORIZATION, secret(&text)?);
    }
    Some(headers)
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    // The header is a secret: marked as sensitive, its value is left out where headers are printed for debugging.
    value.set_sensitive(true);
    Some(value)
}

const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");
/// Posts under way at once, of all callers and of one.
const PLACES: usize = 64;
const OWN_PLACES: usize = 16;
const TOLD_MAX: usize = 100;
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);
const HOW: How = How {
    time: Duration::from_secs(10),
    answer_bytes: 64 << 10,
    pinned: None,
};

#[cfg(test)]
mod tests {
    use super::super::words::model::Authentication;
    use super::*;

    #[test]
    fn a_receiver_knows_us_by_what_its_client_gave_and_no_line_gets_in() {
        let config = |token: &str, scheme: &str| PushConfig {
            task_id: "t".to_owned(),
            id: "k".to_owned(),
            url: "https://x.example/".to_owned(),
            token: Some(token.to_owned()),
            authentication: Some(Authentication {
                scheme: scheme.to_owned(),
                credentials: Some("c".to_owned()),
            }),
        };
        let made = headers(&config("s", "Bearer")).unwrap();
        assert_eq!(
            (made[&TOKEN].as_bytes(), made[AUTHORIZATION].as_bytes()),
            (&b"s"[..], &b"Bearer c"[..])
        );
        assert!(made[&TOKEN].is_sensitive() && made[AUTHORIZATION].is_sensitive());
        assert!(headers(&config("s\r\nx: y", "Bearer")).is_none());
        assert!(headers(&config("s", "Bearer\nx: y")).is_none());
        assert_eq!(unfit(&config("s", "Bearer")), None);
        assert_eq!(unfit(&config("s\tt", "Bearer")), Some("token"));
        assert_eq!(
            unfit(&config("s", "Bearer\r\nx: y")),
            Some("authentication.scheme")
        );
    }
}
