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
        // Room for the one result: a worker never waits for the thread that takes it.
        let (done, result) = sync_channel(1);
        // Where nobody waits for the result any more, an error has ended the whole.
        let job: PoolJob<'env> = Box::new(move || drop(done.send(work())));
        // The queue is open as long as a worker is there, and where all of them panicked, nothing is done any more.
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
        // This thread's end of the queue goes with this closure, and then the workers end.
        serve(&CorePool { threads, jobs })
    })
}

fn work_off(queue: &Mutex<Receiver<PoolJob<'_>>>) {
    let next = || {
        // One idle worker waits with the lock held, and the others wait for the lock; each job wakes one of them.
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.recv().ok()
    };
    while let Some(job) = next() {
        job();
    }
}

/// Takes things, works on them on every core, and follows the results in their order: all three at the same time. What
/// `follow` is done with is room for `take` to fill again. Ends when `take` has nothing more, or with the first error.
pub(super) fn in_order<B: Default, T: Send, R: Send, E>(
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
