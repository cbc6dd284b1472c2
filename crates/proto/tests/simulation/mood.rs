//! What kind of run a seed is: how many agents, which network, which faults and when.

use crate::carriers::Beside;
use crate::faults::Fault;
use crate::household::net::Dice;
use crate::papers::Papers;

pub struct Mood {
    pub agents: usize,
    /// A broker that keeps mail, or core NATS.
    pub mailbox: bool,
    /// In percent.
    pub loss: u64,
    /// In percent.
    pub copies: u64,
    /// The longest way, in ms.
    pub delay: u64,
    /// How far each clock is ahead, in ms.
    pub offsets: Vec<i64>,
    /// Whether clocks are, or are set, too far apart for anything to pass.
    pub skewed: bool,
    /// How much somebody wants to send.
    pub acts: u64,
    /// How long everything may go wrong, in ms.
    pub chaos: i64,
    pub faults: Vec<(i64, Fault)>,
    /// Whose log is put back to an older copy.
    pub restored: Option<usize>,
    /// How often a handler fails, in percent.
    pub clumsy: u64,
    /// Whose keys sign lies.
    pub liar: Option<usize>,
    /// Whether clocks leave the dates of the certificates for a while.
    pub strays: bool,
    /// What each agent has of its person, where it runs out.
    pub papers: Vec<Papers>,
    /// A second carrier besides NATS.
    pub beside: Option<Beside>,
    /// Who can only dial out, by the second carrier, and polls the others.
    pub dialer: Option<usize>,
}

impl Mood {
    pub fn of(dice: &mut Dice) -> Self {
        let agents = [2, 2, 2, 3, 3, 4, 5][dice.below(7) as usize];
        let chaos = [20_000, 60_000, 60_000, 300_000, 900_000][dice.below(5) as usize];
        let mut mood = Self {
            agents,
            mailbox: dice.percent(50),
            loss: [0, 0, 5, 20, 40][dice.below(5) as usize],
            copies: [0, 10, 30][dice.below(3) as usize],
            delay: [5, 50, 1_000, 4_000][dice.below(4) as usize],
            offsets: (0..agents)
                .map(|_| dice.below(60_000) as i64 - 30_000)
                .collect(),
            skewed: dice.percent(10),
            acts: 3 + dice.below(12),
            chaos,
            faults: Vec::new(),
            restored: None,
            clumsy: 0,
            liar: None,
            strays: false,
            papers: Vec::new(),
            beside: None,
            dialer: None,
        };
        if dice.percent(30) {
            mood.offsets.fill(0);
        }
        if mood.skewed {
            let who = dice.below(agents as u64) as usize;
            mood.offsets[who] = dice.below(7_200_000) as i64 - 3_600_000;
        }
        for _ in 0..dice.below(6) {
            let when = dice.below(chaos as u64) as i64;
            mood.faults.push((when, Fault::of(dice, &mood)));
        }
        mood
    }
}
