//! The same work on many things, on every core, with the results in order: all at once, or while more is read.

use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
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

/// Takes things, works on them on every core, and follows the results in their order: all three at the same time. What
/// `follow` is done with is room for `take` to fill again. Ends when `take` has nothing more, or with the first error.
pub(super) fn in_order<B: Default, T: Send, R: Send, E>(
    mut take: impl FnMut(B) -> Result<Option<T>, E>,
    work: impl Fn(T) -> R + Sync,
    mut follow: impl FnMut(R) -> Result<B, E>,
) -> Result<(), E> {
    let (jobs, queue) = channel();
    let (queue, work) = (&Mutex::new(queue), &work);
    thread::scope(|scope| {
        // This thread's end of the queue goes with this closure, and then the workers end.
        let jobs = jobs;
        for _ in 0..workers() {
            scope.spawn(move || work_off(queue, work));
        }
        let (mut waiting, mut spare) = (VecDeque::new(), Vec::new());
        loop {
            while waiting.len() < workers() + AHEAD
                && let Some(thing) = take(spare.pop().unwrap_or_default())?
            {
                let (done, result) = sync_channel(1);
                // The queue is open as long as the workers are there, and where one panicked, so does the end of the scope.
                let _ = jobs.send((thing, done));
                waiting.push_back(result);
            }
            let next: Option<Receiver<R>> = waiting.pop_front();
            let Some(Ok(done)) = next.map(|result| result.recv()) else {
                return Ok(());
            };
            spare.push(follow(done)?);
        }
    })
}

type JobQueue<T, R> = Mutex<Receiver<(T, SyncSender<R>)>>;

fn work_off<T, R>(queue: &JobQueue<T, R>, work: &impl Fn(T) -> R) {
    let next = || {
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.recv().ok()
    };
    while let Some((thing, done)) = next() {
        // Where nobody waits for it any more, an error has ended the whole.
        let _ = done.send(work(thing));
    }
}

/// How many things are ready beside those that are worked on, so that no core waits for the reader.
const AHEAD: usize = 2;
/// The fewest items for a thread: with fewer, starting it costs more than the work.
const LEAST: usize = 16;
const MOST: usize = 16;
