//! Agents that pass a call on and on, each at once and none saying what it continues: a loop of three to eight
//! of them ends, whatever the order.

use signet_proto::node::Content;

use crate::household::allowed::{content, try_send};
use crate::household::net::{Dice, Net};
use crate::household::{Agent, at};

fn ring(members: usize) -> Net {
    let made = |n| Agent::new(&format!("agent-{n}"), &format!("person-{n}"));
    let mut agents: Vec<Agent> = (0..members).map(made).collect();
    for one in 0..members {
        for other in (0..members).filter(|other| *other != one) {
            let certificate = agents[other].certificate();
            let bound = agents[one]
                .node
                .turn(at(0))
                .people()
                .bind(&certificate)
                .unwrap();
            agents[one].keep(at(0), bound);
        }
    }
    Net::new(agents, 1)
}

/// After how many calls somebody refused to go on.
fn rounds(members: usize, mut next: impl FnMut(usize) -> usize) -> usize {
    let mut net = ring(members);
    let mut from = 0;
    let most = 25 * members;
    for call in 0..most {
        let to = next(from);
        let said = Content {
            conversation_id: "round-and-round".parse().ok(),
            ..content(1, None)
        };
        match try_send(&mut net, from, to, said) {
            Ok(_) => net.run_for(2_000),
            Err(error) => {
                assert_eq!(error.name(), "hops-exceeded");
                return call;
            }
        }
        from = to;
    }
    panic!("a loop of {members} goes on after {most} calls");
}

#[test]
fn a_ring_of_three_to_eight_ends_with_its_eighth_call() {
    for members in 3..=8 {
        assert_eq!(rounds(members, |from| (from + 1) % members), 8);
    }
}

#[test]
fn a_ring_in_changing_order_ends() {
    for members in 3..=8 {
        for seed in 0..6 {
            let mut dice = Dice(seed);
            let anybody = |from: usize| {
                let to = dice.below(members as u64 - 1) as usize;
                if to < from { to } else { to + 1 }
            };
            assert!(rounds(members, anybody) >= 8);
            // Everybody once, then everybody once in another order.
            let mut dice = Dice(seed + 100);
            let mut order: Vec<usize> = Vec::new();
            let in_turn = |from: usize| {
                while order.is_empty() || order.last() == Some(&from) {
                    order = (0..members).collect();
                    for place in (1..members).rev() {
                        order.swap(place, dice.below(place as u64 + 1) as usize);
                    }
                }
                order.pop().unwrap()
            };
            assert!(rounds(members, in_turn) >= 8);
        }
    }
}
