//! One agent's memory: its state, and the log that is the truth of it.

mod compare;
mod error;
mod past;

use std::path::Path;

use signet_audit::{
    CheckpointKeys, Custody, FileIdentity, Head, Log, LogOpening, Outlook, UnreadMonth, counted,
};
use signet_proto::entry::{Alarm, CauseLine, Entry, LossLine};
use signet_proto::node::{At, Node, Outcome};
use signet_proto::time::Timestamp;
use tracing::warn;
use zeroize::Zeroizing;

use crate::clock;
use crate::config::Config;
use crate::group;
use crate::home::Home;
use crate::keystore::{AgentKeys, KeystoreError};
use crate::lock::HomeLock;
use crate::random;
use crate::state::{StateError, StateStore};
pub use error::MemoryError;
pub(crate) use error::next_for_log;
use past::{Past, StoredState, known, recall_all, recall_and_inspect, tell};

/// A node that remembers everything, and the log it goes on in.
#[derive(Debug)]
pub struct Memory {
    /// The node.
    pub node: Node,
    /// The agent's log.
    pub log: Log,
    /// Where its state is kept.
    pub store: StateStore,
    /// How many lines the state lacks; all there can be when it has just been made and is empty.
    pub told: u64,
    /// The damage to the log that the start found.
    pub log_fault: Option<String>,
    /// The lines of the newest month that the start took by the anchor's word.
    pub unread: Option<UnreadMonth>,
}

impl Memory {
    /// Opens keys, log and state of a locked home. The node remembers what the state says, and is told
    /// the lines of the log behind it; a state that is lost, damaged or does not fit is made again from
    /// the whole log, and a `rebuilt` line says so. Lines that nothing in the home vouches for are
    /// proved before anything is signed on.
    ///
    /// # Errors
    /// What stands in the way, and what to do about it.
    pub fn open(lock: &HomeLock, config: &Config) -> Result<Self, MemoryError> {
        Self::open_by(lock, config, |custody| custody)
    }

    /// As [`Memory::open`], but the lines of the newest month whose tree the anchor has are not read: who calls this reads
    /// them by [`Memory::unread`] while the agent runs, and ends when they are not what was written.
    ///
    /// # Errors
    /// As there.
    pub fn open_to_run(lock: &HomeLock, config: &Config) -> Result<Self, MemoryError> {
        Self::open_by(lock, config, Custody::reading_later)
    }

    fn open_by(
        lock: &HomeLock,
        config: &Config,
        reading: impl FnOnce(Custody) -> Custody,
    ) -> Result<Self, MemoryError> {
        let now = clock::now();
        let path = lock.home().state_file();
        // Read the state before the keys: reading the keys may change files, and a home whose
        // state a newer release wrote must stay as it is.
        let stored = StoredState::read_if_sound(&path, config)?;
        let keys = AgentKeys::settle(lock, &config.agent, now)?;
        let genesis = Entry::Genesis(keys.certificate.clone());
        let custody = reading(custody(lock.home(), config)?.knowing(known(&stored)));
        let opening = LogOpening::look(&config.audit_dir, &genesis, custody)?;
        let (lacks_anchor, unread) = (opening.lacks_anchor(), opening.unread());
        let recalled = match stored {
            Ok(stored) => stored.recall(keys, config, &opening),
            Err(fault) => Err(fault.into()),
        };
        let mut memory = match recalled {
            Ok((mut past, store)) => Self {
                log: open_log(&mut past, opening, now)?,
                node: past.node,
                store,
                told: past.told,
                log_fault: None,
                unread,
            },
            // Make the state anew only where it is lost: a state that could merely not be read may be sound at the next start.
            Err(MemoryError::State(fault)) if fault.is_lost() => {
                // Read the keys again: where the state could be read, `recall` has used up the first ones for a node that could
                // not be made.
                let keys = AgentKeys::settle(lock, &config.agent, now)?;
                let mut past = recall_all(keys, config, &opening)?;
                let mut log = open_log(&mut past, opening, now)?;
                // Write no `rebuilt` line for an agent that has never run: it had no state that could be lost.
                if !matches!(fault, StateError::Missing) || past.has_run {
                    let lines = counted(past.told, "line");
                    let cause = format!("{fault}; made again from {lines} of the log");
                    warn!("{cause}");
                    log.append(now, &Entry::Rebuilt(CauseLine { cause }))?;
                    // Commit the log's line about the new state before that state is made: after a crash in between, the next
                    // start finds the old fault and does all of it again.
                    log.commit()?;
                }
                Self {
                    node: past.node,
                    log,
                    store: StateStore::create(&path, &config.agent.agent)?,
                    // The new state is empty and lacks every line: the highest number makes the first
                    // batch write a snapshot into it.
                    told: u64::MAX,
                    log_fault: None,
                    unread,
                }
            }
            Err(error) => return Err(error),
        };
        // From here on the log stops writing when another file is at the state's path. Take the file's identity only now,
        // because the state may have been made anew above, as a new file.
        memory.log.demand_also(FileIdentity::at(&path)?);
        // Tell the node the log's newest time: the start may have written lines that the node did
        // not see, and no later line may have an earlier time.
        memory.node.pass_time(memory.log.time());
        if lacks_anchor {
            memory.note_lost_anchor(now, &lock.home().log_anchor())?;
        }
        Ok(memory)
    }

    /// The anchor was taken away: the log holds as far as anything else tells, and its person hears of it.
    fn note_lost_anchor(&mut self, now: Timestamp, anchor: &Path) -> Result<(), MemoryError> {
        let what = format!(
            "{} was missing at the start; the state and the checkpoints vouched for the log in its place, and \
             it is made anew",
            anchor.display()
        );
        warn!("{what}");
        self.log_fault = Some(what);
        self.ring(now, Alarm::LogChanged)
    }

    /// Raises an alarm about the log itself, and writes it into the log.
    fn ring(&mut self, now: Timestamp, alarm: Alarm) -> Result<(), MemoryError> {
        let at = At { now, ..clock::at() };
        let outcome = self.node.turn(at).alarms().ring_own(alarm);
        self.write(now, &outcome)
    }

    /// What state and log tell of a home, for whoever only looks: nothing is locked, mended or written, and
    /// nothing may be signed on what comes of it. A line that cannot be read ends the look.
    ///
    /// # Errors
    /// What stands in the way; a state that is of no use is not: the log is read whole then.
    pub fn glance(home: &Home, config: &Config) -> Result<Node, MemoryError> {
        let dir = &config.audit_dir;
        let identity = || {
            let keys = AgentKeys::open(home, &config.agent)?;
            Ok::<_, KeystoreError>(keys.into_identity(config.agent.layers))
        };
        // Refuse a state of a later release, and do not replace it by the log: this release would
        // leave out what the later one knows.
        let kept = match StateStore::glance(&home.state_file(), &config.agent.agent) {
            Err(newer @ StateError::Newer { .. }) => return Err(newer.into()),
            Err(_) => None,
            Ok((position, rows)) => {
                let lines = signet_audit::read_from(dir, &position)?;
                let node =
                    Node::restore(identity()?, config.policy.clone(), random::bytes()?, rows);
                lines.zip(node.ok())
            }
        };
        if let Some((lines, mut node)) = kept {
            tell(&mut node, lines);
            return Ok(node);
        }
        let mut node = Node::new(identity()?, config.policy.clone(), random::bytes()?);
        if dir.is_dir() {
            tell(&mut node, signet_audit::read(dir)?);
        }
        Ok(node)
    }

    /// What a start will make of the log of a home that no daemon uses, by the start's own judgement; nothing is locked or
    /// written.
    ///
    /// # Errors
    /// What the start is refused for, as far as it is the log's.
    pub fn foresee(home: &Home, config: &Config) -> Result<Outlook, MemoryError> {
        let agent = &config.agent.agent;
        let look = || {
            let stored = StateStore::glance(&home.state_file(), agent).ok();
            let custody = custody(home, config)?.knowing(stored.map(|(position, _)| position));
            Ok(signet_audit::foresee(&config.audit_dir, agent, custody)?)
        };
        // Look once more where the first look fails: a daemon that starts meanwhile may have written between the reads of two
        // files. It writes all of them at one go, so they fit together at the second look.
        look().or_else(|_: MemoryError| look())
    }

    /// Makes the rows of a locked home again from the whole log. Returns the lines read and the rows
    /// made.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn rebuild(lock: &HomeLock, config: &Config) -> Result<(u64, usize), MemoryError> {
        let now = clock::now();
        let position = known(&StoredState::read_if_sound(
            &lock.home().state_file(),
            config,
        )?);
        let tell = |reading: fn(Custody) -> Custody| {
            let keys = AgentKeys::settle(lock, &config.agent, now)?;
            let genesis = Entry::Genesis(keys.certificate.clone());
            let custody = reading(custody(lock.home(), config)?.knowing(position.clone()));
            let opening = LogOpening::look(&config.audit_dir, &genesis, custody)?;
            let past = recall_and_inspect(keys, config, &opening)?;
            Ok::<_, MemoryError>((past, opening))
        };
        // Read each line once where all of them hold. Where one does not, look at the log before the node is told anything, as
        // a start does: that says which fault comes first.
        let told = tell(Custody::reading_later).or_else(|_| tell(|custody| custody));
        let (mut past, opening) = told?;
        let log = open_log(&mut past, opening, now)?;
        let snapshot = past.node.snapshot(now);
        let mut count = 0;
        let rows = snapshot.each_row().inspect(|_| count += 1);
        let mut store = StateStore::create(&lock.home().state_file(), &config.agent.agent)?;
        store.replace(&log.position(), rows)?;
        Ok((past.told, count))
    }

    /// A person accepts that the log of a locked home lost its end: it goes on with what is left, a
    /// `loss` line names the line that is gone, and an alarm rings. The state that knew more is set
    /// aside. Returns the newest line lost, and the last that is left.
    ///
    /// # Errors
    /// What stands in the way; [`MemoryError::NothingLost`] when nothing is.
    pub fn accept_loss(
        lock: &HomeLock,
        config: &Config,
    ) -> Result<(Head, Option<Head>), MemoryError> {
        let now = clock::now();
        let path = lock.home().state_file();
        let stored = StoredState::read_if_sound(&path, config)?;
        let keys = AgentKeys::settle(lock, &config.agent, now)?;
        let genesis = Entry::Genesis(keys.certificate.clone());
        let custody = custody(lock.home(), config)?
            .knowing(known(&stored))
            .accepting_loss();
        drop(stored);
        let opening = LogOpening::look(&config.audit_dir, &genesis, custody)?;
        // Look whether lines are lost before anything is set aside: if none is lost, the home has to stay as it is.
        let lost = opening.loss().ok_or(MemoryError::NothingLost)?;
        let left = opening.last();
        let mut past = recall_all(keys, config, &opening)?;
        StateStore::set_aside(&path)?;
        let mut memory = Self {
            log: open_log(&mut past, opening, now)?,
            node: past.node,
            store: StateStore::create(&path, &config.agent.agent)?,
            told: u64::MAX,
            log_fault: None,
            unread: None,
        };
        let line = Entry::Loss(LossLine {
            line: lost.seq,
            hash: lost.hash,
        });
        // `open_log` has written the line about the loss to the log already; only tell the node of it here, as a start would.
        memory.node.recall(now, &line);
        memory.ring(now, Alarm::LogLost)?;
        let rows = memory.node.snapshot(now).rows();
        memory.store.replace(&memory.log.position(), rows)?;
        Ok((lost, left))
    }

    /// Writes what a person decided while no daemon runs. What would have been sent is not written:
    /// the next start sends it.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn write(&mut self, now: Timestamp, outcome: &Outcome) -> Result<(), MemoryError> {
        let sent = |entry: &&Entry| matches!(entry, Entry::Message(_));
        for entry in outcome.entries.iter().filter(|entry| !sent(entry)) {
            self.log.append(now, entry)?;
        }
        self.log.commit()?;
        self.log.checkpoint()?;
        Ok(())
    }
}

/// The keys of the log's checkpoints, and where its end is anchored.
fn custody(home: &Home, config: &Config) -> Result<Custody, MemoryError> {
    let dir = home.join("checkpoint-keys");
    let keys = CheckpointKeys::new(dir, || random::bytes().map(Zeroizing::new));
    let custody = Custody::new(keys, home.log_anchor());
    let access = &config.audit_access;
    if access.mode & GROUP_READS == 0 {
        return Ok(custody);
    }
    // Refuse a group that does not exist: if the daemon's own group took its place, its members could read
    // a log that is not for them.
    let group = access
        .group
        .as_ref()
        .map(|name| group::number_of(name).ok_or_else(|| MemoryError::NoGroup(name.clone())));
    Ok(custody.shared_with(group.transpose()?))
}

/// The mode bit by which a file's group reads it.
pub(crate) const GROUP_READS: u32 = 0o040;

/// Opens the log for writing. A new log begins with our own certificate, and its node is told of that line as well.
fn open_log(past: &mut Past, opening: LogOpening, now: Timestamp) -> Result<Log, MemoryError> {
    let genesis = Entry::Genesis(past.node.identity().certificate.clone());
    let is_new = opening.end() == 0;
    let log = opening.open(now, &genesis)?;
    if is_new {
        past.node.recall(log.time(), &genesis);
    }
    if log.lacks_checkpoint_key() {
        warn!(
            "the key of this month's checkpoints (checkpoint-keys/ in the home) is missing: no \
             checkpoints are made before the next month, or before the key is put back"
        );
    }
    Ok(log)
}
