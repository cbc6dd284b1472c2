//! A disk that fails when it is told to, and that forgets what was not synced when power goes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use signet_audit::{Faults, Operation};

/// What goes wrong at an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The process is killed before it.
    Kill,
    /// A write takes some of its bytes, and the process is killed. Any other operation: [`Fault::Kill`].
    Torn,
    /// This and nothing else is answered with an error.
    Answer(Errno),
    /// No room, or no quota, for so many operations that need some.
    NoRoom(u32),
    /// A write takes some of its bytes, and then there is no room for so many operations.
    ShortThenNoRoom(u32),
    /// A write takes some of its bytes, as write(2) may.
    Short,
}

/// One disk, the files on which may outlive several writers.
#[derive(Debug)]
pub(crate) struct Plan {
    dir: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    count: u64,
    armed: Option<(u64, Fault)>,
    is_dead: bool,
    without_room: u32,
    /// What is on the disk under each name, when power goes now.
    durable: BTreeMap<PathBuf, Vec<u8>>,
    /// Changes of names that no fsync of the directory has made durable.
    pending: Vec<Undo>,
    /// What a failed fsync left in memory, where it passes for clean.
    lost: BTreeMap<PathBuf, (usize, usize)>,
    dice: Dice,
}

#[derive(Debug)]
enum Undo {
    Forget(PathBuf),
    Restore(PathBuf, Vec<u8>),
}

impl Plan {
    pub(crate) fn new(dir: &Path, seed: u64) -> Arc<Self> {
        let state = State {
            count: 0,
            armed: None,
            is_dead: false,
            without_room: 0,
            durable: files(dir),
            pending: Vec::new(),
            lost: BTreeMap::new(),
            dice: Dice(seed),
        };
        Arc::new(Self {
            dir: dir.to_owned(),
            state: Mutex::new(state),
        })
    }

    /// Operation number `at` from now, the next being 1, goes wrong.
    pub(crate) fn arm(&self, at: u64, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        state.armed = Some((state.count + at, fault));
    }

    /// How many operations there were.
    pub(crate) fn count(&self) -> u64 {
        self.state.lock().unwrap().count
    }

    /// Nothing goes wrong from here on; another process may write.
    pub(crate) fn heal(&self) {
        let mut state = self.state.lock().unwrap();
        (state.armed, state.is_dead, state.without_room) = (None, false, 0);
    }

    /// Power goes: what was not synced is lost, or torn, or zeros.
    pub(crate) fn power_loss(&self) {
        let mut state = self.state.lock().unwrap();
        let state = &mut *state;
        let kept = state.dice.below(state.pending.len() + 1);
        // Names that lead to their former file again, because the power cut undid a rename: bytes written since then
        // went into the new file, so none of them may turn up in the former.
        let mut former = BTreeSet::new();
        for undo in state.pending.drain(..).skip(kept).rev() {
            match undo {
                Undo::Forget(path) => drop(state.durable.remove(&path)),
                Undo::Restore(path, bytes) => {
                    former.insert(path.clone());
                    state.durable.insert(path, bytes);
                }
            }
        }
        let seen = files(&self.dir);
        for path in seen
            .keys()
            .filter(|path| !state.durable.contains_key(*path))
        {
            fs::remove_file(path).unwrap();
        }
        for (path, durable) in &mut state.durable {
            let seen = seen.get(path).map_or(&[][..], Vec::as_slice);
            let grew = seen.len() > durable.len() && !former.contains(path);
            if grew && !state.lost.contains_key(path) {
                let reached = durable.len() + state.dice.below(seen.len() - durable.len() + 1);
                match state.dice.below(3) {
                    0 => {}
                    1 => durable.extend_from_slice(&seen[durable.len()..reached]),
                    _ => durable.resize(reached, 0),
                }
            }
            fs::write(path, &*durable).unwrap();
        }
        state.lost.clear();
    }
}

impl Faults for Plan {
    fn before(&self, operation: Operation<'_>) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let answer = state.answer(matches!(
            operation,
            Operation::Reserve(_) | Operation::Create(_) | Operation::MakeDir(_)
        ));
        match answer {
            Ok(()) => state.remember(operation),
            Err(_) => {
                if let (Operation::Sync(path), false) = (operation, state.is_dead) {
                    state.lose(path);
                }
            }
        }
        answer
    }

    fn takes(&self, _path: &Path, bytes: usize) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap();
        let some = state.dice.below(bytes).max(1).min(bytes);
        match state.armed {
            Some((at, Fault::Torn)) if state.count + 1 == at => {
                state.count += 1;
                state.armed = Some((at + 1, Fault::Kill));
                Ok(some)
            }
            Some((at, Fault::ShortThenNoRoom(operations))) if state.count + 1 == at => {
                state.count += 1;
                state.armed = None;
                state.without_room = operations;
                Ok(some)
            }
            Some((at, Fault::Short)) if state.count + 1 == at => {
                state.count += 1;
                state.armed = None;
                Ok(some)
            }
            _ => state.answer(true).map(|()| bytes),
        }
    }
}

impl State {
    fn answer(&mut self, needs_room: bool) -> io::Result<()> {
        self.count += 1;
        if let Some((at, fault)) = self.armed
            && self.count == at
        {
            self.armed = None;
            match fault {
                Fault::Kill | Fault::Torn => self.is_dead = true,
                Fault::Answer(errno) => return Err(errno.into()),
                Fault::NoRoom(operations) | Fault::ShortThenNoRoom(operations) => {
                    self.without_room = operations;
                }
                Fault::Short => {}
            }
        }
        if self.is_dead {
            return Err(io::Error::other("the process is dead"));
        }
        if needs_room && self.without_room > 0 {
            self.without_room -= 1;
            let full = if self.without_room.is_multiple_of(2) {
                Errno::NOSPC
            } else {
                Errno::DQUOT
            };
            return Err(full.into());
        }
        Ok(())
    }

    fn remember(&mut self, operation: Operation<'_>) {
        match operation {
            Operation::Create(path) => {
                self.lost.remove(path);
                self.durable.insert(path.to_owned(), Vec::new());
                self.pending.push(Undo::Forget(path.to_owned()));
            }
            Operation::Sync(path) => {
                let mut bytes = fs::read(path).unwrap();
                if let Some((from, to)) = self.lost.get(path) {
                    let to = bytes.len().min(*to);
                    bytes[*from..to].fill(0);
                }
                self.durable.insert(path.to_owned(), bytes);
            }
            Operation::SyncDir(_) => self.pending.clear(),
            Operation::Rename(from, to) => {
                let bytes = self.durable.remove(from).unwrap();
                let old = self.durable.insert(to.to_owned(), bytes.clone());
                let lost = self.lost.remove(from);
                self.lost.remove(to);
                self.lost.extend(lost.map(|lost| (to.to_owned(), lost)));
                self.pending
                    .extend(old.map(|old| Undo::Restore(to.to_owned(), old)));
                self.pending.push(Undo::Restore(from.to_owned(), bytes));
            }
            Operation::Remove(path) => {
                let old = self.durable.remove(path);
                self.pending
                    .extend(old.map(|old| Undo::Restore(path.to_owned(), old)));
            }
            _ => {}
        }
    }

    /// After a failed fsync the pages pass for clean: no later fsync writes them.
    fn lose(&mut self, path: &Path) {
        let durable = self.durable.get(path).map_or(0, Vec::len);
        let seen = fs::metadata(path).unwrap().len() as usize;
        self.lost.insert(path.to_owned(), (durable, seen));
    }
}

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    all
}

/// SplitMix64: the same numbers for the same seed.
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)) >> 16) as usize % limit.max(1)
    }
}
