//! Households with a server and mailboxes of their own, and a hub between them that keeps nothing: one household is away for
//! a while, then the hub.
//!
//! `SIGNET_SITES=all` takes six pairs and outages of minutes; without it there are three pairs and outages are short.

use std::path::Path;
use std::time::Duration;

use super::account::{LONGEST, Outages, Pairs, Talk};
use crate::house::{Home, House, Leaves, eventually};

struct Plan {
    pairs: usize,
    site_away: Duration,
    hub_away: Duration,
    /// How long nothing happens before and behind each.
    pause: Duration,
    is_whole: bool,
}

impl Plan {
    fn named() -> Self {
        let seconds = |pairs, site, hub, pause, is_whole| Self {
            pairs,
            site_away: Duration::from_secs(site),
            hub_away: Duration::from_secs(hub),
            pause: Duration::from_secs(pause),
            is_whole,
        };
        match std::env::var("SIGNET_SITES").as_deref() {
            Ok("all") => seconds(6, 180, 60, 20, true),
            _ => seconds(3, 4, 2, 2, false),
        }
    }
}

#[test]
fn three_households_one_away_for_a_while_and_then_the_hub_lose_nothing_and_double_nothing() {
    let plan = Plan::named();
    let house = House::with_jetstream();
    let mut pairs = Pairs::of(&house, plan.pairs);
    let admin = house.path("admin.nk");
    let mut leaves = Leaves::of(&by_household(&pairs), &admin);
    for (number, pair) in pairs.each_mut().enumerate() {
        for (home, household) in pair.iter_mut().zip(sides(number)) {
            home.served_by(leaves.households[household].server.port());
        }
    }
    for homes in by_household(&pairs) {
        set_up(&homes, &admin);
    }
    for home in pairs.all_mut() {
        home.start();
        home.has_mailbox(true);
    }
    pairs.ping();
    let outages = pairs.talk(|talk| happen(&plan, &mut leaves, talk));
    let told = pairs.account(&outages);
    println!("{told}");
    assert!(
        told.sent > 20,
        "a test in which nobody talked proves nothing: {told}"
    );
    assert!(
        told.slowest >= plan.site_away,
        "a household that another way leads to was not away: {told}"
    );
    if plan.is_whole {
        assert!(told.beyond <= LONGEST, "{told}");
        assert!(told.copies * 50 < told.sent, "2 in a hundred: {told}");
    }
    for home in pairs.all() {
        let said = home.said();
        for alarm in ["lost its mailboxes", "another program"] {
            assert!(!said.contains(alarm), "{}: {said}", home.agent);
        }
    }
}

#[test]
fn one_entry_of_the_hubs_list_is_for_all_agents_whose_reply_prefix_has_two_tokens() {
    let house = House::with_jetstream();
    let mut homes = ["alice", "bob", "carol"].map(|name| house.home(name));
    for home in &homes {
        home.configure(
            "# reply-prefix = \"one-token\"",
            "reply-prefix = \"two-tokens\"",
        );
    }
    house.acquaint(&homes.each_ref());
    let admin = house.path("admin.nk");
    let leaves = Leaves::by_two_tokens(&homes.each_ref().map(|home| vec![home]), &admin);
    for (home, household) in homes.iter_mut().zip(&leaves.households) {
        home.served_by(household.server.port());
        set_up(&[home], &admin);
        home.start();
        home.has_mailbox(true);
    }
    let [alice, bob, carol] = &mut homes;
    alice.ping(bob);
    carol.ping(bob);
    bob.stop();
    // The word of Bob's mailbox crosses the hub.
    for home in [alice, carol] {
        let said = home.done(&["send", "agent-bob", "--notify", "{}"]);
        assert!(
            said.starts_with("the mailbox of agent-bob holds it"),
            "{said}"
        );
    }
}

/// The households of a pair's two homes.
const fn sides(pair: usize) -> [usize; 2] {
    [pair % 3, (pair + 1) % 3]
}

fn by_household(pairs: &Pairs) -> [Vec<&Home>; 3] {
    let mut homes = [const { Vec::new() }; 3];
    for (number, pair) in pairs.each().enumerate() {
        for (home, household) in pair.iter().zip(sides(number)) {
            homes[household].push(home);
        }
    }
    homes
}

fn happen(plan: &Plan, leaves: &mut Leaves, talk: &Talk) -> Outages {
    let mut outages = Outages::default();
    let mut outage = |name: &str, run: &mut dyn FnMut()| {
        outages.during(name, talk, run);
        std::thread::sleep(plan.pause);
    };
    std::thread::sleep(plan.pause);
    outage("a household away", &mut || {
        leaves.households[1].line.part();
        std::thread::sleep(plan.site_away);
        leaves.households[1].line.join();
    });
    outage("the hub away", &mut || {
        leaves.hub.kill();
        std::thread::sleep(plan.hub_away);
        leaves.hub.restart();
    });
    outages
}

/// `signet nats setup` on the household's own server.
pub fn set_up(homes: &[&Home], admin: &Path) {
    let agents = homes.iter().map(|home| home.agent.as_str());
    let args = ["nats", "setup", "--nkey"];
    let args = args.into_iter().chain(admin.to_str()).chain(agents);
    let args: Vec<&str> = args.collect();
    eventually("the mailboxes are made", || {
        homes[0].cli(&args).status.success().then_some(())
    });
}
