//! What only some runs have: people who pause their agents, handlers that fail, a bound peer that lies,
//! clocks beyond a certificate's dates. They come from dice of their own, so that every other run stays
//! what it was.

use crate::faults::Fault;
use crate::household::net::Dice;
use crate::liar::Lie;
use crate::mood::Mood;

const DAY: i64 = 24 * 3_600_000;
/// How far a clock leaves the time: to before the certificates begin, or far ahead.
const AWAY: [i64; 4] = [-DAY / 12, -DAY, -20 * DAY, 20 * DAY];

impl Mood {
    /// The mood of a seed, with what only some seeds have.
    pub fn whole(seed: u64, dice: &mut Dice) -> Self {
        let mut mood = Self::of(dice);
        let mut dice = Dice(seed ^ 0x7061_7573_6520_6c69);
        let pauses = mood.may_pause(&mut dice);
        if dice.percent(if pauses { 40 } else { 10 }) {
            mood.clumsy = 20 + dice.below(76);
            mood.acts += 10;
        }
        if dice.percent(10) && !mood.skewed {
            mood.has_liar(&mut dice);
        }
        if dice.percent(8) && !mood.skewed {
            mood.strays(&mut dice);
        }
        mood
    }

    fn may_pause(&mut self, dice: &mut Dice) -> bool {
        if !dice.percent(12) {
            return false;
        }
        self.acts += 5;
        for _ in 0..=dice.below(3) {
            let who = dice.below(self.agents as u64) as usize;
            let when = dice.below(self.chaos as u64) as i64;
            let span = 1 + dice.below(self.chaos as u64) as i64;
            self.faults.push((when, Fault::Pause(who, span)));
        }
        true
    }

    /// One more agent, whom everybody knows; the others go on as if it were not there.
    fn has_liar(&mut self, dice: &mut Dice) {
        self.agents = self.agents.min(4) + 1;
        self.offsets.resize(self.agents, 0);
        let liar = self.agents - 1;
        self.liar = Some(liar);
        self.acts += 5;
        for _ in 0..5 + dice.below(20) {
            let victim = dice.below(liar as u64) as usize;
            let when = dice.below(self.chaos as u64) as i64;
            self.faults.push((when, Fault::Lie(victim, Lie::of(dice))));
        }
    }

    fn strays(&mut self, dice: &mut Dice) {
        self.strays = true;
        self.acts += 5;
        for _ in 0..=dice.below(2) {
            let who = dice.below(self.agents as u64) as usize;
            let when = dice.below(self.chaos as u64) as i64;
            let by = AWAY[dice.below(AWAY.len() as u64) as usize];
            let span = 1 + dice.below(60_000) as i64;
            self.faults.push((when, Fault::Stray(who, by, span)));
        }
    }
}
