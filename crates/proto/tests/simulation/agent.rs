//! One agent: its node, its log, its clock, its connection, and whoever reads its inbox.

use std::sync::Arc;
use std::time::Duration;

use signet_proto::carrier::{CarrierId, Routes};
use signet_proto::ids::AgentId;
use signet_proto::node::{At, Effect, Node, Outcome, Row, poll_timeout_by_walk};
use signet_proto::time::Timestamp;

use crate::carriers;
use crate::cast;
use crate::disk::{Disk, Line};
use crate::household::START;
use crate::household::net::Dice;
use crate::index::Index;
use crate::papers::Papers;
use crate::restored::Past;
use crate::sabotage::Sabotage;
use crate::tale::same_rows;

pub struct Agent {
    pub who: usize,
    /// `None` while it is down.
    pub node: Option<Node>,
    pub disk: Disk,
    pub index: Index,
    /// How far its clock is ahead, in ms.
    pub offset: i64,
    /// Counts its starts; what was meant for an earlier life is void.
    pub life: u32,
    pub online: bool,
    /// Whether its second carrier is up.
    pub beside: bool,
    /// When its last start was, in the world's time.
    pub begun: i64,
    /// Its state as rows, and how many lines they hold.
    pub rows: Option<(usize, Vec<Row>)>,
    /// A copy of its durable lines.
    pub copy: Option<Vec<Arc<Line>>>,
    /// What it was before it was put back to the copy.
    pub past: Option<Past>,
    /// The slowest commit of its disk, in ms.
    pub sluggish: u64,
    /// The mailbox has been read up to what stood there at the last connect.
    pub drained_to: Option<u64>,
    /// The broker's store that it last saw.
    pub epoch: Option<u32>,
    /// Timer calls at one and the same moment.
    pub spins: (i64, u32),
    /// What it has of its person.
    pub papers: Papers,
    /// How far its clock has left the dates of its certificate, in ms.
    pub stray: i64,
    /// How often its person said that it pauses, or goes on.
    pub words: u64,
    /// What its person said last.
    pub paused: bool,
    /// Somebody wanted to read its inbox while it paused.
    pub shut_out: bool,
    seed: u64,
}

impl Agent {
    pub fn new(who: usize, seed: u64) -> Self {
        Self {
            who,
            node: None,
            disk: Disk::default(),
            index: Index::default(),
            offset: 0,
            life: 0,
            online: false,
            beside: false,
            begun: 0,
            rows: None,
            copy: None,
            past: None,
            sluggish: 5,
            drained_to: None,
            epoch: None,
            spins: (0, 0),
            papers: Papers::Lasting,
            stray: 0,
            words: 0,
            paused: false,
            shut_out: false,
            seed,
        }
    }

    pub fn id(&self) -> &AgentId {
        &cast::certificate(self.who).agent
    }

    pub fn at(&self, now: i64) -> At {
        At {
            now: Timestamp::from_millis(START + now + self.offset + self.stray),
            elapsed: Duration::from_millis(now.try_into().unwrap_or_default()),
            head: self.disk.head(),
        }
    }

    /// When the node next has something to do, in the world's time.
    pub fn due(&self, now: i64) -> Option<i64> {
        let node = self.node.as_ref()?;
        let due = node.poll_timeout(self.at(now));
        let walked = poll_timeout_by_walk(node, self.at(now));
        assert_eq!(due, walked, "another peer of {} is next", self.id());
        let due = due?;
        // A part of a millisecond counts as a whole one: before it nothing is due.
        let whole = due.as_millis();
        let ms = whole + i64::from(due > Timestamp::from_millis(whole));
        Some((ms - START - self.offset - self.stray).max(now))
    }

    pub fn write(&mut self, now: i64, outcome: Outcome, taken: Vec<u64>, dice: &mut Dice) -> i64 {
        let at = self.at(now);
        let due = now + 1 + dice.below(self.sluggish) as i64;
        self.disk.write(at.now, due, outcome, taken)
    }

    /// What the log, durable or not, makes of a new node.
    pub fn retold(&self, sabotage: Option<Sabotage>) -> Node {
        let mut node = cast::node(self.who, self.papers, self.seed, self.life);
        for line in self.disk.lines() {
            if sabotage.is_none_or(|sabotage| !sabotage.hides(&line.entry)) {
                node.recall(line.ts, &line.entry);
            }
        }
        node
    }

    /// Writes the state down, with all that the log was told so far.
    pub fn project(&mut self, now: i64) {
        let at = self.at(now);
        if let Some(node) = &self.node {
            let rows = node.snapshot(at.now).rows();
            self.rows = Some((self.disk.lines().count(), rows));
        }
    }

    /// The state as it was written down, and what the log says since. What the log does not hold the
    /// rows must not say.
    fn caught_up(&self, now: i64) -> Option<Node> {
        let (count, rows) = self.rows.as_ref()?;
        let rest = self.disk.durable.get(*count..)?;
        let read = rows.iter().cloned();
        let read = read.map(|row| (row.table.to_owned(), row.key, row.value));
        let mut node = cast::restored(self.who, self.papers, self.seed, self.life, read);
        for line in rest {
            node.recall(line.ts, &line.entry);
        }
        same_rows(&node, &self.retold(None), self.at(now));
        Some(node)
    }

    /// kill -9. What had become allowed at that very moment may have been done.
    pub fn crash(&mut self, dice: &mut Dice) -> Vec<Effect> {
        self.node = None;
        (self.online, self.beside) = (false, false);
        self.life += 1;
        self.drained_to = None;
        self.epoch = None;
        let written = self.disk.lines().count();
        let before = self.disk.durable.len();
        let done = self.disk.crash(dice);
        for line in &self.disk.durable[before..] {
            self.index.take(line);
        }
        (self.paused, self.shut_out) = (self.index.paused, false);
        if self.disk.durable.len() < written {
            let kept = self.disk.durable.len();
            self.rows = self.rows.take().filter(|(count, _)| *count <= kept);
        }
        done
    }

    pub fn start(
        &mut self,
        now: i64,
        sabotage: Option<Sabotage>,
        routes: Option<Routes>,
    ) -> Outcome {
        let mut node = self.caught_up(now).unwrap_or_else(|| self.retold(sabotage));
        let elapsed = self.at(now).elapsed;
        node.handle_disconnected(&CarrierId::NATS, elapsed);
        if let Some(routes) = routes {
            node.handle_disconnected(&carriers::beside(), elapsed);
            node.set_routes(routes);
        }
        self.begun = now;
        let outcome = node.turn(self.at(now)).resume();
        self.node = Some(node);
        outcome
    }
}
