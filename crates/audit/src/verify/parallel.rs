//! The same work on many things, on every core, with the results in order.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

/// How many threads work: one a core, and no more than memory is meant for.
pub(super) fn workers() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores.min(MOST)
}

/// What `work` makes of each of `items`, in their order.
pub(super) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let share = items.len().div_ceil(workers()).max(LEAST);
    if items.len() <= share {
        return items.into_iter().map(work).collect();
    }
    let mut shares = Vec::new();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        shares.push(items.by_ref().take(share).collect::<Vec<T>>());
    }
    let work = &work;
    thread::scope(|scope| {
        let begin = |share: Vec<T>| scope.spawn(move || share.into_iter().map(work).collect());
        let begun: Vec<_> = shares.into_iter().map(begin).collect();
        let done = begun.into_iter().map(|share| share.join());
        done.flat_map(|done: thread::Result<Vec<R>>| {
            done.unwrap_or_else(|panic| resume_unwind(panic))
        })
        .collect()
    })
}

/// The fewest items for a thread: with fewer, starting it costs more than the work.
const LEAST: usize = 16;
const MOST: usize = 16;
