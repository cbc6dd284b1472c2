//! What the index of calls says, held against a walk over all of them.

use super::*;
use crate::node::peers::Peers;

/// Numbers by chance, the same in each run (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 31)) % end
    }
}

fn agent(n: u64) -> AgentId {
    format!("agent-{n}").parse().unwrap()
}

fn topic(n: u64) -> ConversationId {
    format!("talk-{n}").parse().unwrap()
}

/// Every call in a conversation that the peers' hops hold, found by a walk over all of them.
struct Walked<'p> {
    peers: &'p Peers,
    topic: &'p ConversationId,
}

impl<'p> Walked<'p> {
    fn calls(&self, side: Direction) -> impl Iterator<Item = (&'p AgentId, &'p Hop)> {
        let topic = self.topic;
        self.peers.known.iter().flat_map(move |(peer, known)| {
            let steps = known.hops.side(side).0.iter();
            let here = steps.filter(move |step| step.conversation.as_ref() == Some(topic));
            here.map(move |step| (peer, step.as_ref()))
        })
    }

    fn firsts(&self, side: Direction) -> impl Iterator<Item = (&'p AgentId, Timestamp)> {
        let topic = self.topic;
        let of = move |(peer, known): (&'p AgentId, &'p crate::node::peers::Peer)| {
            Some((peer, *known.hops.side(side).1.get(topic)?))
        };
        let before = self.peers.known.iter().filter_map(of);
        before.chain(self.calls(side).map(|(peer, step)| (peer, step.at)))
    }

    fn goes_on(&self, clock: &Clock, now: Duration, peer: &AgentId) -> Option<(MessageId, u8)> {
        let ours: Vec<_> = self.calls(Direction::Out).map(|(_, step)| step).collect();
        let first = self.firsts(Direction::In).min_by_key(|(_, at)| *at);
        let beginner = first.filter(|(_, first)| {
            let mut went = self.firsts(Direction::Out);
            !went.any(|(_, at)| at < *first)
        });
        let weighed = self.calls(Direction::In).filter_map(|(from, step)| {
            if clock.age(step.came, step.at, now) >= LOOP {
                return None;
            }
            let chain = step.chain();
            let own = ours
                .iter()
                .any(|ours| ours.chain.is_none() && ours.name == chain);
            let mut all = self.calls(Direction::In).chain(self.calls(Direction::Out));
            let round = own && all.any(|(with, step)| with == peer && step.chain() == chain);
            let counts = round || from == peer || beginner.is_some_and(|(is, _)| is == from);
            let furthest = ours.iter().filter(|ours| round && ours.chain() == chain);
            let furthest = furthest.map(|ours| ours.hops).max().unwrap_or_default();
            let hops = if counts { step.hops.max(furthest) } else { 0 };
            (counts || !own).then_some((hops, counts, step.at, chain))
        });
        let (hops, _, _, chain) = weighed.max()?;
        Some((chain, hops.saturating_add(1)))
    }
}

/// Calls by chance of five peers in three conversations, hours and seconds apart, some of them in chains of others.
fn by_chance(seed: u64, calls: u64, check: impl Fn(&Peers, &Clock, Duration)) {
    let (mut dice, mut peers, mut clock) = (Dice(seed), Peers::default(), Clock::default());
    let mut elapsed = Duration::ZERO;
    clock.resume(elapsed);
    let mut names = Vec::new();
    for n in 0..calls {
        let pause = [10, 1_000, 30_000, 20 * 3_600_000][dice.below(4) as usize];
        let pause = if dice.below(4) == 0 { pause } else { 5 };
        elapsed += Duration::from_millis(dice.below(pause) + 1);
        clock.run(elapsed);
        let name = MessageId::from_parts(n, [dice.below(200) as u8; 10]);
        names.push(name);
        let chain = (dice.below(3) > 0).then(|| names[dice.below(n + 1) as usize]);
        let step = Hop {
            at: clock.next_step(Timestamp::EPOCH.saturating_add(elapsed)),
            came: (n > calls / 4).then_some(elapsed),
            name,
            conversation: (dice.below(5) > 0).then(|| topic(dice.below(3))),
            chain: chain.filter(|chain| *chain != name),
            hops: dice.below(9) as u8,
        };
        let went = dice.below(2) == 0 && step.conversation.is_some();
        let side = if went { Direction::Out } else { Direction::In };
        peers.known.remember_step(side, &agent(dice.below(5)), step);
        if n % 7 == 0 {
            check(&peers, &clock, elapsed);
        }
    }
}

fn says_what_a_walk_says(peers: &Peers, clock: &Clock, elapsed: Duration) {
    for topic in (0..4).map(topic) {
        for peer in (0..6).map(agent) {
            let walked = Walked {
                peers,
                topic: &topic,
            };
            let walked = walked.goes_on(clock, elapsed, &peer);
            let talk = peers.known.talks().of(&topic);
            let found = talk.and_then(|talk| talk.goes_on(clock, elapsed, &peer));
            assert_eq!(found, walked, "{topic:?} to {peer}");
        }
    }
}

#[test]
fn a_call_goes_on_as_a_walk_over_all_calls_says() {
    for seed in 0..40 {
        by_chance(seed, 150, says_what_a_walk_says);
    }
}

#[test]
fn what_the_hops_forget_is_in_no_talk() {
    for (seed, calls) in [(1, 400), (2, 400), (3, 12_000)] {
        by_chance(seed, calls, |peers, _, _| {
            if peers
                .known
                .iter()
                .map(|(_, known)| known.hops.side(Direction::In).0.len())
                .sum::<usize>()
                % 64
                > 0
            {
                return;
            }
            let mut again = Talks::default();
            for (peer, known) in peers.known.iter() {
                again.put_in(peer, &known.hops);
            }
            assert_eq!(format!("{again:?}"), format!("{:?}", peers.known.talks()));
        });
    }
}

#[test]
fn a_new_conversation_with_each_call_fills_no_index() {
    let mut peers = Peers::default();
    for n in 0..5_000 {
        let step = Hop {
            at: Timestamp::from_millis(n as i64),
            came: None,
            name: MessageId::from_parts(n, [1; 10]),
            conversation: Some(topic(n)),
            chain: None,
            hops: 1,
        };
        (peers.known).remember_step(Direction::In, &agent(1), step);
    }
    let talks = peers.known.talks();
    assert_eq!((talks.named.len(), talks.talks.len()), (STEPS, 2 * STEPS));
}
