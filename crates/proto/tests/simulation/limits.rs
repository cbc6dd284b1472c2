//! Runs that meet the limits: more than may be outstanding, more exceptions than a receipt has room
//! for, more numbers than a window remembers. What is over a limit waits, and no limit stays.

use std::time::Duration;

use serde_json::json;
use signet_proto::node::{Content, Sending, State};
use signet_proto::session::{EXCEPTIONS, OUTSTANDING, WINDOW};

use crate::faults::Fault;
use crate::household::net::Dice;
use crate::mood::Mood;
use crate::world::{Event, World};

const HOUR: i64 = 3_600_000;

fn two(seed: u64, mailbox: bool) -> World {
    let mut dice = Dice(seed);
    let mood = Mood {
        agents: 2,
        mailbox,
        loss: 0,
        copies: 0,
        delay: 20,
        offsets: vec![0, 0],
        skewed: false,
        acts: 0,
        chaos: HOUR,
        faults: Vec::new(),
        restored: None,
        clumsy: 0,
        liar: None,
        strays: false,
        papers: Vec::new(),
        beside: None,
        dialer: None,
    };
    let first = dice.below(u64::MAX);
    let mut world = World::new(seed, mood, Dice(first), false);
    world.begin();
    say(&mut world, 1, None);
    world.run_until(60_000);
    world
}

fn say(world: &mut World, times: u64, life: Option<Duration>) {
    for n in 0..times {
        let content = Content {
            body: json!(n),
            life,
            ..Content::default()
        };
        world.send(0, 1, Sending::Notification(content));
    }
}

fn waits(world: &World) -> (usize, usize) {
    let alice = &world.agents[0];
    let node = alice.node.as_ref().unwrap();
    let standing = node.standing(world.agents[1].id(), alice.at(world.now).now);
    (standing.drafts, standing.unconfirmed)
}

fn ends_well(world: &mut World) {
    world.mend_all();
    world.run_until(world.now + 4 * HOUR);
    world.watch_end();
    assert_eq!(waits(world), (0, 0));
    say(world, 1, None);
    world.run_until(world.now + 60_000);
    world.watch_end();
}

#[test]
fn what_is_over_the_outstanding_limit_waits_and_then_leaves() {
    let mut world = two(1, true);
    world.plan(0, Event::Fault(Fault::Crash(1, HOUR)));
    world.run_until(world.now + 100);
    say(&mut world, OUTSTANDING + 100, None);
    assert_eq!(waits(&world), (100, OUTSTANDING as usize));
    world.run_until(world.now + 600_000);
    world.crash(0);
    world.start(0);
    ends_well(&mut world);
}

#[test]
fn more_refusals_than_a_receipt_has_room_for_are_all_told() {
    for mailbox in [false, true] {
        let mut world = two(2, mailbox);
        world.plan(0, Event::Fault(Fault::Crash(1, 70_000)));
        world.run_until(world.now + 100);
        let many = 2 * EXCEPTIONS as u64 + 10;
        let before = world.sent.len();
        say(&mut world, many, Some(Duration::from_secs(60)));
        say(&mut world, 10, None);
        world.run_until(world.now + HOUR);
        ends_well(&mut world);
        let node = world.agents[0].node.as_ref().unwrap();
        let states = world
            .sent
            .keys()
            .filter_map(|name| node.sent().status(*name));
        let ended = states.filter(|out| {
            out.state == State::Expired || out.state == State::Refused("expired".to_owned())
        });
        assert_eq!(
            ended.count() as u64,
            many,
            "of {}",
            world.sent.len() - before
        );
    }
}

#[test]
#[ignore = "takes half a minute of computing"]
fn more_numbers_than_a_window_remembers_pass_while_some_are_lost() {
    let mut world = two(3, false);
    world.mood.loss = 2;
    let mut sent = 0;
    while sent < WINDOW + 500 {
        say(&mut world, 500, Some(Duration::from_secs(600)));
        world.run_until(world.now + 20_000);
        sent += 500;
    }
    ends_well(&mut world);
}
