//! Whether another program reads the mailbox as well: a daemon of the same agent-id at a server without logins, or a
//! thief.
//!
//! A server shares a mailbox among all who pull from it, and each message goes to one of them alone. So a connection
//! that finds the mailbox read by another does not begin to read, and one that reads already goes on and says so. The
//! server tells in two ways: how many pulls stand, and the number that it gives to each delivery.

use std::time::Duration;

use tokio::time::Instant;

use crate::standing::ConsumerInfo;

/// Who reads the mailbox of this agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Readership {
    /// This connection alone.
    #[default]
    Own,
    /// Another program, and this connection waits until that ends.
    Other,
    /// Another program beside this connection: part of the mail goes there.
    Both,
}

/// What this side knows of the readers of its mailbox, from one connection to the next.
#[derive(Debug, Default)]
pub(crate) struct ReaderWatch {
    turn: ReaderTurn,
    /// What was told last.
    told: Readership,
    /// Until when pulls of a lost connection of this process may stand at the server.
    own_pulls_until: Option<Instant>,
    /// From when on pulls and deliveries to others are certainly not those of a lost connection.
    certain_from: Option<Instant>,
    /// The number of the next delivery, unless another is given one.
    next_number: Option<u64>,
    /// How many looks in a row showed the opposite of what was told.
    looks: u32,
    next_look: Option<Instant>,
    /// The number of deliveries that a look found where mail waited, and when it was found first.
    untaken: Option<(u64, Instant)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ReaderTurn {
    /// No connection has begun.
    #[default]
    NotYet,
    /// To look until no other program reads, since then.
    Waits(Instant),
    /// To read, since then.
    Reads(Instant),
}

impl ReaderWatch {
    /// A connection begins, and finds the mailbox so.
    pub(crate) fn begin(&mut self, standing: &ConsumerInfo, now: Instant) {
        self.certain_from = self.own_pulls_until.filter(|until| *until > now);
        self.looks = 0;
        let before = self.turn;
        let is_read = standing.pulls > 0 && self.certain_from.is_none();
        if is_read || self.told == Readership::Other {
            self.wait(now, LOOK);
        } else {
            self.read(standing, now);
            // A reader that was away for seconds is no beginner: it would step back for a thief who never does.
            if self.certain_from.is_some() && matches!(before, ReaderTurn::Reads(_)) {
                self.turn = before;
            }
        }
    }

    /// Whether this connection may pull.
    pub(crate) fn may_read(&self) -> bool {
        matches!(self.turn, ReaderTurn::Reads(_))
    }

    /// When the mailbox is to be looked at.
    pub(crate) fn next_look(&self, now: Instant) -> Instant {
        self.next_look.unwrap_or(now)
    }

    /// A pull of this connection goes out.
    pub(crate) fn pulled(&mut self, now: Instant, lasts: Duration) {
        self.own_pulls_until = Some(now + lasts + MARGIN);
    }

    /// A delivery of this number came. A number left out was given to another program; in a cluster it may have been
    /// lost on its way from one server to the next, so there it is no more than a reason to look.
    pub(crate) fn came(
        &mut self,
        number: u64,
        in_cluster: bool,
        now: Instant,
    ) -> Option<Readership> {
        let expected = self.next_number.replace(number.saturating_add(1));
        let left_out = expected.is_some_and(|expected| number > expected);
        if !left_out || !self.is_certain(now) {
            return None;
        }
        if in_cluster {
            self.next_look = Some(now);
            return None;
        }
        // A beginner goes on to count its looks: they decide whether it steps back.
        if self.is_settled(now) {
            self.looks = 0;
            self.next_look = Some(now + LOOK);
        }
        self.tell(Readership::Both)
    }

    /// The mailbox was looked at, while at most `own` pulls of this connection stood. Returns what is to be told.
    pub(crate) fn looked(
        &mut self,
        standing: &ConsumerInfo,
        own: usize,
        now: Instant,
    ) -> Option<Readership> {
        match self.turn {
            ReaderTurn::NotYet => None,
            ReaderTurn::Waits(since) => self.looked_while_waiting(standing, since, now),
            ReaderTurn::Reads(_) => self.looked_while_reading(standing.pulls > own, now),
        }
    }

    /// The server did not answer.
    pub(crate) fn postpone(&mut self, now: Instant) {
        self.next_look = Some(now + LOOK);
    }

    fn looked_while_waiting(
        &mut self,
        standing: &ConsumerInfo,
        since: Instant,
        now: Instant,
    ) -> Option<Readership> {
        self.next_look = Some(now + LOOK);
        if standing.pulls > 0 && !self.is_left_untaken(standing, now) {
            self.looks = 0;
            // The pulls of a process of ours that was killed end within this time.
            let is_other = now.duration_since(since) >= LEFT_PULLS;
            return is_other.then(|| self.tell(Readership::Other)).flatten();
        }
        self.looks += 1;
        // A reader that lost its connection with us comes back within seconds: it goes first.
        if standing.pulls == 0 && self.told == Readership::Other && self.looks < LOOKS_BEFORE_A_TURN
        {
            return None;
        }
        self.read(standing, now);
        self.tell(Readership::Own)
    }

    /// Whether mail has waited for long and nobody took any, whatever pulls the server counts: a program that reads takes
    /// what there is at once.
    fn is_left_untaken(&mut self, standing: &ConsumerInfo, now: Instant) -> bool {
        let waits = standing.fresh > 0;
        let before = self
            .untaken
            .filter(|(deliveries, _)| waits && *deliveries == standing.deliveries);
        let (_, since) = *self
            .untaken
            .insert(before.unwrap_or((standing.deliveries, now)));
        now.duration_since(since) >= UNTAKEN
    }

    fn looked_while_reading(&mut self, others: bool, now: Instant) -> Option<Readership> {
        let is_settled = self.is_settled(now);
        self.next_look = Some(now + if is_settled { SELDOM } else { LOOK });
        let is_told = others == (self.told == Readership::Both);
        // News that was told already needs no more looks, but for a beginner beside another: it has to step back.
        let is_old = is_told && (is_settled || !others);
        if !self.is_certain(now) || is_old {
            self.looks = 0;
            return None;
        }
        self.looks += 1;
        if !others {
            // Somebody who pulls now and then is seen at few looks: take it back late.
            let is_over = self.looks >= LOOKS_TO_TAKE_BACK;
            return is_over.then(|| self.tell(Readership::Own)).flatten();
        }
        self.next_look = Some(now + LOOK);
        if self.looks < LOOKS_TO_TELL {
            return None;
        }
        self.looks = 0;
        if !is_settled {
            // Both began in the same moment: each steps back for a time of its own, and who returns first reads.
            let pause = FIRST_PAUSE + LONGEST_PAUSE.mul_f64(crate::backoff::fraction());
            self.wait(now, pause);
            return self.tell(Readership::Other);
        }
        self.tell(Readership::Both)
    }

    fn read(&mut self, standing: &ConsumerInfo, now: Instant) {
        self.turn = ReaderTurn::Reads(now);
        self.looks = 0;
        self.next_number = Some(standing.deliveries.saturating_add(1));
        self.next_look = Some(now + LOOK);
    }

    fn wait(&mut self, now: Instant, pause: Duration) {
        self.turn = ReaderTurn::Waits(now);
        self.looks = 0;
        self.next_number = None;
        self.untaken = None;
        self.next_look = Some(now + pause);
    }

    /// Whether it has read for so long that it does not step back.
    fn is_settled(&self, now: Instant) -> bool {
        matches!(self.turn, ReaderTurn::Reads(since) if now.duration_since(since) >= SETTLED)
    }

    fn is_certain(&self, now: Instant) -> bool {
        self.certain_from.is_none_or(|from| now >= from)
    }

    fn tell(&mut self, readers: Readership) -> Option<Readership> {
        let before = std::mem::replace(&mut self.told, readers);
        (before != readers).then_some(readers)
    }
}

/// The pause between two looks, while it matters who reads.
const LOOK: Duration = Duration::from_secs(2);
/// How long the pulls of a process that is gone may stand: as long as a pull lasts, and the margin of a look.
const LEFT_PULLS: Duration = Duration::from_secs(10);
/// For how long mail waits untaken until the pulls that stand are nobody's.
const UNTAKEN: Duration = Duration::from_secs(30);
/// The pause between two looks of a connection that has read alone for long.
const SELDOM: Duration = Duration::from_secs(60);
/// From when on a reader counts as the one whose mailbox it is, and does not step back.
const SETTLED: Duration = Duration::from_secs(30);
/// How many looks in a row have to show another program: one may fall between a pull and its end.
const LOOKS_TO_TELL: u32 = 2;
/// How many looks in a row have to show nobody else, before that is told.
const LOOKS_TO_TAKE_BACK: u32 = 5;
/// How many looks in a row have to show nobody, before a connection reads that had waited.
const LOOKS_BEFORE_A_TURN: u32 = 3;
/// How long two that began together step back: at least, and how much longer at most.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// What a pull may take longer to end at the server than it was to last.
const MARGIN: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
