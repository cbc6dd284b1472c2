//! Pairs of daemons on a cluster of three: its leader is killed, frozen, and all its servers are replaced one by one.
//!
//! `SIGNET_SITES=all` takes six pairs and the outages of docs/scale.md; without it there is one pair and outages are short.

use std::path::Path;
use std::time::Duration;

use super::account::{LONGEST, Outages, Pairs, Talk};
use crate::house::{Cluster, Home, House, eventually};

/// The outages of one run, and who talks meanwhile.
struct Plan {
    pairs: usize,
    killed: Duration,
    frozen: Duration,
    /// How long nothing happens before and behind each.
    pause: Duration,
    is_whole: bool,
}

impl Plan {
    fn named() -> Self {
        match std::env::var("SIGNET_SITES").as_deref() {
            Ok("all") => Self {
                pairs: 6,
                killed: Duration::from_secs(15),
                frozen: Duration::from_secs(30),
                pause: Duration::from_secs(20),
                is_whole: true,
            },
            _ => Self {
                pairs: 1,
                killed: Duration::from_secs(2),
                frozen: Duration::from_secs(4),
                pause: Duration::from_secs(2),
                is_whole: false,
            },
        }
    }
}

#[test]
fn a_cluster_whose_servers_die_freeze_and_are_replaced_loses_nothing_and_doubles_nothing() {
    let plan = Plan::named();
    let house = House::with_jetstream();
    let mut pairs = Pairs::of(&house, plan.pairs);
    let admin = house.path("admin.nk");
    let mut cluster = Cluster::of(&pairs.all(), &admin);
    let ports: Vec<u16> = cluster.servers.iter().map(|one| one.port()).collect();
    // Each daemon knows one server of the three and is told of the others.
    for (number, home) in pairs.all_mut().enumerate() {
        home.served_by(ports[number % ports.len()]);
    }
    set_up(&pairs.all(), &admin);
    for home in pairs.all_mut() {
        home.start();
        home.has_mailbox(true);
    }
    pairs.ping();
    let outages = pairs.talk(|talk| happen(&plan, &mut cluster, &admin, talk));
    let told = pairs.account(&outages);
    println!("{told}");
    // A server that was started again leads with a copy of each consumer that it made at another time than the others.
    for home in pairs.all() {
        let said = home.said();
        assert!(
            !said.contains("lost its mailboxes"),
            "{}: {said}",
            home.agent
        );
    }
    assert!(
        told.sent > 20,
        "a test in which nobody talked proves nothing: {told}"
    );
    if plan.is_whole {
        assert!(told.beyond <= LONGEST, "{told}");
        assert!(told.copies * 50 < told.sent, "2 in a hundred: {told}");
    }
}

fn happen(plan: &Plan, cluster: &mut Cluster, admin: &Path, talk: &Talk) -> Outages {
    let mut outages = Outages::default();
    let mut outage = |name: &str, run: &mut dyn FnMut()| {
        outages.during(name, talk, run);
        std::thread::sleep(plan.pause);
    };
    std::thread::sleep(plan.pause);
    let leads = leader(cluster, admin);
    outage("leader killed", &mut || {
        cluster.servers[leads].kill();
        std::thread::sleep(plan.killed);
        cluster.servers[leads].restart();
    });
    let leads = leader(cluster, admin);
    outage("leader frozen", &mut || {
        cluster.servers[leads].hang();
        std::thread::sleep(plan.frozen);
        cluster.servers[leads].go_on();
    });
    for server in 0..cluster.servers.len() {
        // The next one is replaced when the cluster is whole again.
        leader(cluster, admin);
        outage("server replaced", &mut || cluster.servers[server].restart());
    }
    outages
}

/// `signet nats setup --replicas 3`, once the servers have become one.
fn set_up(homes: &[&Home], admin: &Path) {
    let agents = homes.iter().map(|home| home.agent.as_str());
    let args = ["nats", "setup", "--replicas", "3", "--nkey"];
    let args = args.into_iter().chain(admin.to_str()).chain(agents);
    let args: Vec<&str> = args.collect();
    let said = eventually("the mailboxes are made", || {
        let output = homes[0].cli(&args);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(printed)
    });
    assert!(
        said.contains("replicas: each mailbox lies on 3 servers"),
        "{said}"
    );
}

/// The number of the server that leads the stream, once all three have its newest state, and that of its consumers.
fn leader(cluster: &Cluster, admin: &Path) -> usize {
    let seed = std::fs::read_to_string(admin).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    eventually("the stream has a leader and two that follow", || {
        runtime.block_on(async {
            let options = async_nats::ConnectOptions::with_nkey(seed.trim().to_owned());
            let options = options.custom_inbox_prefix("_INBOX_admin");
            let client = options.connect(cluster.urls()[0].clone()).await.ok()?;
            let context = async_nats::jetstream::new(client);
            let stream = context.get_stream("AGENT_INBOX").await.ok()?;
            let seen = stream.cached_info().cluster.as_ref()?;
            let is_whole = seen.replicas.len() == 2 && seen.replicas.iter().all(|one| one.current);
            let number = seen
                .leader
                .as_deref()?
                .strip_prefix('n')?
                .parse::<usize>()
                .ok()?;
            (is_whole && cluster.is_up_to_date()).then_some(number - 1)
        })
    })
}
