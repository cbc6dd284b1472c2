//! What the other side says of a request while it works on it: the newest word and the pieces of its answer, at a pace.

use std::convert::Infallible;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::{Client, Leased, Part, Progress, ProgressState};
use tokio::sync::{Mutex, watch};

use crate::worker::{Stopped, try_call};

/// Where a handler says how its message goes. A word that the next one overtakes is not passed on; pieces of the answer
/// that come together leave together.
#[derive(Debug)]
pub struct Teller {
    word: watch::Sender<String>,
    pieces: Arc<Lock<Pieces>>,
}

/// Whoever passes it on.
pub(crate) struct Words {
    word: watch::Receiver<String>,
    pieces: Arc<Lock<Pieces>>,
}

/// Parts of A2A 1.0 that were not passed on yet.
#[derive(Debug, Default)]
struct Pieces {
    parts: Vec<Value>,
    bytes: usize,
}

impl Teller {
    pub(crate) fn new() -> (Self, Words) {
        let (sender, word) = watch::channel(String::new());
        let pieces = Arc::<Lock<Pieces>>::default();
        let teller = Self {
            word: sender,
            pieces: Arc::clone(&pieces),
        };
        (teller, Words { word, pieces })
    }

    /// One line for whoever asked; what was said last is not said again.
    pub fn tell(&self, note: String) {
        self.word.send_if_modified(|last| {
            let is_new = !note.is_empty() && *last != note;
            if is_new {
                *last = note;
            }
            is_new
        });
    }

    /// A piece of what the answer will be, as a part of A2A 1.0. The answer itself holds everything: what is too much to
    /// pass on before it is left out.
    pub fn show(&self, part: Value) {
        let size = part.to_string().len();
        {
            let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
            if pieces.bytes + size > PIECES_MAX {
                return;
            }
            pieces.bytes += size;
            pieces.parts.push(part);
        }
        self.word.send_modify(|_| {});
    }
}

impl Words {
    /// The body of a part of progress that holds all new pieces.
    fn pieces(&self) -> Option<Value> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let Pieces { mut parts, .. } = std::mem::take(&mut *pieces);
        if parts.len() > 1 {
            return Some(json!({ "parts": parts }));
        }
        let part = parts.pop()?;
        Some(match part.get("text") {
            Some(text) => text.clone(),
            None => json!({ "parts": [part] }),
        })
    }
}

/// Tells whoever asked what the other side says of its progress, until it is dropped. It settles nothing: where nobody
/// can be told, the work goes on.
pub(crate) async fn pass_on(
    line: &Mutex<Option<Client>>,
    leased: &Leased,
    mut words: Words,
) -> Result<Infallible, Stopped> {
    let (mut last, mut index) = (String::new(), 0);
    while words.word.changed().await.is_ok() {
        let word = words.word.borrow_and_update().clone();
        let mut free = line.lock().await;
        if let Some(client) = free.take() {
            let part = words.pieces().map(|body| Part {
                index,
                last: false,
                body,
            });
            let shows = part.is_some();
            let told = Progress {
                message: leased.message.name(),
                state: ProgressState::Working,
                note: (word != last).then(|| word.clone()),
                part,
            };
            let (client, done) = try_call(client, told).await?;
            // A number that was not passed on would leave a gap, and whoever asked would wait for it.
            index += u32::from(shows && done.is_ok());
            last = word;
            *free = Some(client);
        }
        drop(free);
        tokio::time::sleep(PACE).await;
    }
    std::future::pending().await
}

/// How often progress is passed on at most: each time is a message.
const PACE: Duration = Duration::from_secs(1);
/// Bytes of pieces that leave together.
const PIECES_MAX: usize = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_word_is_there_and_none_is_there_twice() {
        let (teller, mut words) = Teller::new();
        for note in ["", "one", "two", "two"] {
            teller.tell(note.to_owned());
        }
        assert!(words.word.has_changed().unwrap());
        assert_eq!(*words.word.borrow_and_update(), "two");
        teller.tell("two".to_owned());
        assert!(!words.word.has_changed().unwrap());
    }

    #[test]
    fn pieces_leave_together_in_their_order_and_a_flood_of_them_is_cut_off() {
        let (teller, mut words) = Teller::new();
        assert_eq!(words.pieces(), None);
        teller.show(json!({"text": "one"}));
        assert!(words.word.has_changed().unwrap());
        words.word.borrow_and_update();
        assert_eq!(words.pieces(), Some(json!("one")));
        teller.show(json!({"text": "two"}));
        teller.show(json!({"url": "https://x.example/"}));
        let both = json!({"parts": [{"text": "two"}, {"url": "https://x.example/"}]});
        assert_eq!(words.pieces(), Some(both));
        for _ in 0..100 {
            teller.show(json!({"text": "x".repeat(10_000)}));
        }
        let left = words.pieces().unwrap().to_string();
        assert!(left.len() <= PIECES_MAX + 1_000 && left.len() > PIECES_MAX / 2);
        assert_eq!(words.pieces(), None);
    }
}
