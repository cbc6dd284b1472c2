//! What the other side says of a request while it works on it: the newest word, at a pace.

use std::convert::Infallible;
use std::time::Duration;

use signet_api::{Client, Leased, Progress, ProgressState};
use tokio::sync::{Mutex, watch};

use crate::worker::{Stopped, try_call};

/// Where a handler says how its message goes. A word that the next one overtakes is not passed on.
#[derive(Debug)]
pub struct Teller(watch::Sender<String>);

/// Whoever passes it on.
pub(crate) type Words = watch::Receiver<String>;

impl Teller {
    pub(crate) fn new() -> (Self, Words) {
        let (teller, words) = watch::channel(String::new());
        (Self(teller), words)
    }

    /// One line for whoever asked; what was said last is not said again.
    pub fn tell(&self, note: String) {
        self.0.send_if_modified(|last| {
            let is_new = !note.is_empty() && *last != note;
            if is_new {
                *last = note;
            }
            is_new
        });
    }
}

/// Tells whoever asked what the other side says of its progress, until it is dropped. It settles nothing: where nobody
/// can be told, the work goes on.
pub(crate) async fn pass_on(
    line: &Mutex<Option<Client>>,
    leased: &Leased,
    mut words: Words,
) -> Result<Infallible, Stopped> {
    while words.changed().await.is_ok() {
        let note = words.borrow_and_update().clone();
        let mut free = line.lock().await;
        if let Some(client) = free.take() {
            let told = Progress {
                message: leased.message.name(),
                state: ProgressState::Working,
                note: Some(note),
                part: None,
            };
            let (client, _) = try_call(client, told).await?;
            *free = Some(client);
        }
        drop(free);
        tokio::time::sleep(PACE).await;
    }
    std::future::pending().await
}

/// How often words of progress are passed on at most: each is a message.
const PACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_word_is_there_and_none_is_there_twice() {
        let (teller, mut words) = Teller::new();
        for note in ["", "one", "two", "two"] {
            teller.tell(note.to_owned());
        }
        assert!(words.has_changed().unwrap());
        assert_eq!(*words.borrow_and_update(), "two");
        teller.tell("two".to_owned());
        assert!(!words.has_changed().unwrap());
    }
}
