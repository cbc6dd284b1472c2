//! Work on every core while others read and follow: threads that take what they are given, and the same work on many things
//! with the results in order.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How many threads work: one a core, and no more than memory is meant for. The system says it by several files.
fn workers() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores.min(MOST)
}

/// Threads that do what they are given, in the order in which it is given.
pub(super) struct CorePool<'env> {
    /// How many they are.
    pub(super) threads: usize,
    jobs: Sender<PoolJob<'env>>,
}

type PoolJob<'env> = Box<dyn FnOnce() + Send + 'env>;

impl<'env> CorePool<'env> {
    /// Gives them `work`. Its result never comes where it panicked; then so does the end of [`with_pool`].
    pub(super) fn begin<R: Send + 'env>(
        &self,
        work: impl FnOnce() -> R + Send + 'env,
    ) -> Receiver<R> {
        // The channel has room for the one result, so a worker never waits for the thread that takes it.
        let (done, result) = sync_channel(1);
        // `send` fails only if nobody waits for the result any more, because an error has ended all the work: ignore that.
        let job: PoolJob<'env> = Box::new(move || drop(done.send(work())));
        // This `send` cannot fail: `with_pool` keeps the receiver of the queue until `serve` has returned.
        let _ = self.jobs.send(job);
        result
    }
}

/// Runs `serve` beside threads that work for it, one a core, and ends them with it.
pub(super) fn with_pool<'env, O>(serve: impl FnOnce(&CorePool<'env>) -> O) -> O {
    let (jobs, queue) = channel();
    let queue = &Mutex::new(queue);
    let threads = workers();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || work_off(queue));
        }
        // `jobs` is the only sender of the queue. It is dropped when this closure ends, and that ends the workers.
        serve(&CorePool { threads, jobs })
    })
}

fn work_off(queue: &Mutex<Receiver<PoolJob<'_>>>) {
    let next = || {
        // One idle worker holds the lock while it waits for a job, and the other workers wait for the lock: a job wakes
        // only one worker.
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.recv().ok()
    };
    while let Some(job) = next() {
        job();
    }
}

/// Takes things, works on them on every core, and follows the results in their order: all three at the same time. What
/// `follow` is done with is room for `take` to fill again. Ends when `take` has nothing more, or with the first error.
pub(crate) fn in_order<B: Default, T: Send, R: Send, E>(
    mut take: impl FnMut(B) -> Result<Option<T>, E>,
    work: impl Fn(T) -> R + Sync,
    mut follow: impl FnMut(R) -> Result<B, E>,
) -> Result<(), E> {
    let work = &work;
    with_pool(|pool| {
        let (mut waiting, mut spare) = (VecDeque::new(), Vec::new());
        loop {
            while waiting.len() < pool.threads + AHEAD
                && let Some(thing) = take(spare.pop().unwrap_or_default())?
            {
                waiting.push_back(pool.begin(move || work(thing)));
            }
            let next: Option<Receiver<R>> = waiting.pop_front();
            let Some(Ok(done)) = next.map(|result| result.recv()) else {
                return Ok(());
            };
            spare.push(follow(done)?);
        }
    })
}

/// How many things are ready beside those that are worked on, so that no core waits for the reader.
const AHEAD: usize = 2;
const MOST: usize = 16;
