//! What the other side says of a request while it works on it: the newest word and the pieces of its answer, at a pace.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::{Client, Leased, Part, Progress, ProgressState};
use tokio::sync::{Mutex, watch};

use crate::call::{Stopped, try_call};

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

/// Parts of A2A 1.0 that were not passed on yet, each with the name of the result that it is of.
#[derive(Debug, Default)]
struct Pieces {
    parts: VecDeque<(Option<String>, Value)>,
    bytes: usize,
}

/// Pieces of one result that leave together.
#[derive(Debug, PartialEq)]
struct Excerpt {
    name: Option<String>,
    body: Value,
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
    pub fn show(&self, part: Value, name: Option<String>) {
        let size = part.to_string().len();
        {
            let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
            if pieces.bytes + size > PIECES_MAX {
                return;
            }
            pieces.bytes += size;
            pieces.parts.push_back((name, part));
        }
        // Do not change the progress text: this call only wakes `pass_on`, which then takes the pieces.
        self.word.send_modify(|_| {});
    }
}

impl Words {
    /// The new pieces up to the first that is of another result.
    fn pieces(&self) -> Option<Excerpt> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, first) = pieces.parts.pop_front()?;
        let mut parts = vec![first];
        while pieces.parts.front().is_some_and(|(next, _)| *next == name) {
            parts.extend(pieces.parts.pop_front().map(|(_, part)| part));
        }
        let size = |part: &Value| part.to_string().len();
        pieces.bytes = pieces.parts.iter().map(|(_, part)| size(part)).sum();
        let alone = match parts.as_slice() {
            [only] => only.get("text").cloned(),
            _ => None,
        };
        let body = alone.unwrap_or_else(|| json!({ "parts": parts }));
        Some(Excerpt { name, body })
    }

    fn has_pieces(&self) -> bool {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        !pieces.parts.is_empty()
    }
}

/// Tells whoever asked what the other side says of its progress, until it is dropped. It settles nothing: where nobody
/// can be told, the work goes on.
pub(crate) async fn pass_on(
    line: &Mutex<Option<Client>>,
    leased: &Leased,
    mut words: Words,
) -> Result<Infallible, Stopped> {
    let (mut last, mut indices) = (String::new(), HashMap::<_, u32>::new());
    while words.has_pieces() || words.word.changed().await.is_ok() {
        let word = words.word.borrow_and_update().clone();
        let mut free = line.lock().await;
        if let Some(client) = free.take() {
            let part = words.pieces().map(|Excerpt { name, body }| Part {
                index: indices.get(&name).copied().unwrap_or(0),
                last: false,
                name,
                body,
            });
            let shows = part.as_ref().map(|part| part.name.clone());
            let told = Progress {
                message: leased.message.name(),
                state: ProgressState::Working,
                note: (word != last).then(|| word.clone()),
                part,
            };
            let (client, done) = try_call(client, told).await?;
            // Raise the index only if the part was passed on: with a gap in the indices the requester would wait for
            // the missing part.
            if let (Some(name), Ok(_)) = (shows, done) {
                *indices.entry(name).or_default() += 1;
            }
            last = word;
            *free = Some(client);
        }
        // Release the connection before the pause, so that the end of the try need not wait for the pause.
        drop(free);
        tokio::time::sleep(PACE).await;
    }
    // This future must never end by itself: the caller drops it when the try that runs beside it has ended.
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
        let body = |words: &Words| words.pieces().map(|bundle| bundle.body);
        assert_eq!(body(&words), None);
        teller.show(json!({"text": "one"}), None);
        assert!(words.word.has_changed().unwrap());
        words.word.borrow_and_update();
        assert_eq!(body(&words), Some(json!("one")));
        teller.show(json!({"text": "two"}), None);
        teller.show(json!({"url": "https://x.example/"}), None);
        let both = json!({"parts": [{"text": "two"}, {"url": "https://x.example/"}]});
        assert_eq!(body(&words), Some(both));
        for _ in 0..100 {
            teller.show(json!({"text": "x".repeat(10_000)}), None);
        }
        let left = body(&words).unwrap().to_string();
        assert!(left.len() <= PIECES_MAX + 1_000 && left.len() > PIECES_MAX / 2);
        assert_eq!(body(&words), None);
    }

    #[test]
    fn pieces_of_two_results_leave_apart_and_in_their_order() {
        let (teller, words) = Teller::new();
        for (text, name) in [("a", None), ("b", None), ("c", Some("second")), ("d", None)] {
            teller.show(json!({"text": text}), name.map(str::to_owned));
        }
        let mut left = Vec::new();
        while words.has_pieces() {
            left.push(words.pieces().unwrap());
        }
        let names: Vec<_> = left.iter().map(|bundle| bundle.name.as_deref()).collect();
        assert_eq!(names, [None, Some("second"), None]);
        assert_eq!(
            left[0].body,
            json!({"parts": [{"text": "a"}, {"text": "b"}]})
        );
    }
}
