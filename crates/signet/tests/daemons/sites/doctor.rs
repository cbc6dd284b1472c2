//! `signet doctor` on servers that are many: each wrong state of a cluster, a domain and a crossing is named, and what it
//! says to do next mends it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::leaves::set_up;
use crate::doctor::{findings, ill, says_next};
use crate::house::{
    Cluster, HOUSEHOLDS, Home, House, Leaves, Server, certified, eventually, free_port, says,
};
use crate::mailbox::all_arrive_once;

fn found(finding: &Value) -> &str {
    finding["found"].as_str().unwrap()
}

/// By its configuration, as what the doctor says to type finds it.
fn uses(home: &mut Home, url: &str) {
    home.unserved();
    let servers = format!("servers = [\"{url}\"]");
    home.configure("# servers = [\"nats://127.0.0.1:4222\"]", &servers);
}

/// Until the doctor says so of that check.
#[track_caller]
fn says_of(home: &Home, check: &str, health: &str, words: &[&str]) -> Value {
    let says_all = |one: &Value| words.iter().all(|word| found(one).contains(word));
    until(home, check, |one| one["health"] == health && says_all(one))
}

#[track_caller]
fn until(home: &Home, check: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let limit = Instant::now() + PATIENCE;
    loop {
        let all = findings(home);
        let of_check = all.iter().find(|one| one["check"] == check);
        if let Some(one) = of_check.filter(|one| is_so(one)) {
            return one.clone();
        }
        assert!(Instant::now() < limit, "{check}: {of_check:#?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[track_caller]
fn all_copies_are_back(home: &Home) {
    until(home, "replicas", |one| {
        // 2.9 may tell of a copy that it is behind, or was not heard of, until something is stored again; here nobody stores.
        // In 2 of 30 runs on a busy machine 2.10.25 had not heard of the last copy for 150 s.
        let known_away = found(one).replace("is away, not heard of since", "");
        let is_older = is_of(&["2.9", "2.10"]) && !known_away.contains("away");
        let is_back = is_older || one["health"] == "well";
        found(one).contains("leads") && is_back
    });
}

/// Whether the tests run on a server of one of these versions.
fn is_of(versions: &[&str]) -> bool {
    let tools = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools"));
    let server = signet_driver::find_nats_server(tools).unwrap();
    let said = Command::new(server).arg("--version").output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    let is_it = |version: &&str| said.contains(&format!(" v{version}."));
    versions.iter().any(is_it)
}

/// The command that a finding prints, typed in a shell by somebody who has the administrator's login at hand.
fn typed(home: &Home, finding: &Value, admin: &Path) -> String {
    let next = finding["next"].as_str().unwrap();
    let program = home.command(&[]).get_program().to_owned();
    let bin = Path::new(&program).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("/bin/sh");
    let output = { shell.args(["-c", next]).env("PATH", path) }
        .env("NATS_NKEY", admin)
        .output()
        .unwrap();
    assert!(output.status.success(), "{next}: {}", says(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_mailbox_on_one_server_of_a_cluster_a_copy_that_is_away_and_a_lonely_address_are_told_of() {
    let house = House::with_jetstream();
    let mut alice = house.home("alice");
    let admin = house.path("admin.nk");
    let mut cluster = Cluster::of(&[&alice], &admin);
    let own = format!("servers = [\"{}\"]", cluster.urls()[0]);
    uses(&mut alice, &cluster.urls()[0]);
    set_up(&[&alice], &admin);

    let lonely = says_of(
        &alice,
        "cluster",
        "warning",
        &["of the cluster house", "names 1 server"],
    );
    assert!(found(&lonely).contains("tells of 2 others"), "{lonely}");
    let single = ill(&alice, "replicas", "warning");
    assert!(
        found(&single).contains("alone, in the cluster house"),
        "{single}"
    );
    let made = typed(&alice, &single, &admin);
    assert!(
        made.contains("replicas: each mailbox lies on 3 servers"),
        "{made}"
    );
    says_of(&alice, "replicas", "well", &["leads", "is current"]);

    // `discover = false` makes a lonely address worse.
    alice.configure("# discover = true", "discover = false");
    let worse = ill(&alice, "cluster", "warning");
    assert!(
        worse["means"]
            .as_str()
            .unwrap()
            .contains("goes to no other"),
        "{worse}"
    );
    let next = worse["next"].as_str().unwrap();
    let line = { next.strip_prefix("write ") }.and_then(|next| next.split_once(" in [nats]"));
    alice.configure(&own, line.unwrap().0);
    let well = ill(&alice, "cluster", "well");
    assert!(found(&well).contains("names 3 servers"), "{well}");

    // One server was given a configuration without this agent.
    let config = cluster.servers[1].config();
    let key = alice.done(&["nats", "key"]);
    let other = alice.done(&[
        "nats",
        "key",
        "--file",
        house.path("other.nk").to_str().unwrap(),
    ]);
    cluster.servers[1].kill();
    cluster.servers[1].configure(&config.replace(key.trim(), other.trim()));
    cluster.servers[1].restart();
    let stranger = ill(&alice, "cluster", "warning");
    assert!(found(&stranger).contains(&cluster.urls()[1]), "{stranger}");
    assert!(found(&stranger).contains("refuses the login"), "{stranger}");
    says_next(&stranger, "signet nats key");
    cluster.servers[1].kill();
    cluster.servers[1].configure(&config);
    cluster.servers[1].restart();
    all_copies_are_back(&alice);

    cluster.servers[2].kill();
    let away = says_of(&alice, "replicas", "warning", &["n3 is away, "]);
    says_next(&away, "start nats-server on n3 again");
    let closed = ill(&alice, "cluster", "warning");
    assert!(found(&closed).contains(&cluster.urls()[2]), "{closed}");
    ill(&alice, "mailbox", "well");
    cluster.servers[1].kill();
    let most = says_of(
        &alice,
        "mailbox",
        "fault",
        &["cluster house does not answer"],
    );
    says_next(&most, "start the servers of the cluster");
    // One behind the other: in a run of CI two nats-servers 2.10 began together, and one was still silent after 37 s.
    cluster.servers[1].restart();
    // Where the server that has just begun leads, it does not know what the other is called.
    says_of(&alice, "replicas", "warning", &["leads", " is away, "]);
    cluster.servers[2].restart();
    all_copies_are_back(&alice);
    ill(&alice, "cluster", "well");
}

#[test]
fn peers_beyond_a_hub_whose_household_the_hub_or_the_hubs_list_is_missing_are_named() {
    let house = House::with_jetstream();
    let mut homes = ["alice", "bob", "carol"].map(|name| house.home(name));
    house.acquaint(&homes.each_ref());
    let admin = house.path("admin.nk");
    let mut leaves = Leaves::of(&homes.each_ref().map(|home| vec![home]), &admin);
    for (home, household) in homes.iter_mut().zip(&leaves.households) {
        home.served_by(household.server.port());
        set_up(&[home], &admin);
    }
    let [alice, ..] = &homes;
    says_of(
        alice,
        "crossing",
        "well",
        &["the mailboxes of 2 peers answer"],
    );
    match is_of(&["2.9"]) {
        true => says_of(alice, "leaf", "warning", &["2.9 is too old"]),
        false => says_of(alice, "leaf", "well", &["it is one"]),
    };
    assert!(found(&ill(alice, "domain", "well")).contains("house-one"));
    assert!(found(&ill(alice, "cluster", "well")).contains("no cluster"));

    leaves.households[1].line.part();
    let one = says_of(
        alice,
        "crossing",
        "warning",
        &["nobody is there for agent-bob;"],
    );
    assert!(
        found(&one).contains("the mailboxes of 1 peer answer"),
        "{one}"
    );
    says_next(&one, "by their signet nats setup agent-bob");
    leaves.households[1].line.join();
    leaves.hub.kill();
    let hub = says_of(
        alice,
        "crossing",
        "warning",
        &["agent-bob agent-carol;", "no other"],
    );
    says_next(&hub, "see that the hub runs");
    ill(alice, "mailbox", "well");

    // The second household may not send to Alice what her messages are confirmed with.
    let config = leaves.hub.config();
    let bobs = config.find("user: \"house-two\"").unwrap();
    let (before, after) = config.split_at(bobs);
    let list = after.replacen("\"_INBOX_agent-alice.>\"", "\"_INBOX_nobody.>\"", 1);
    assert_ne!(list, after);
    leaves.hub.configure(&format!("{before}{list}"));
    leaves.hub.restart();
    let list = says_of(
        alice,
        "crossing",
        "advice",
        &["no mailbox answers for agent-bob,"],
    );
    assert!(
        found(&list).contains("the mailboxes of 1 peer answer"),
        "{list}"
    );
    says_next(&list, "docs/scale.md");
}

/// A hub that keeps the mail, and the server of a household without JetStream for each home.
struct ThinLeaves {
    hub: Server,
    leaves: Vec<Server>,
    authority: String,
    /// Where the hub listens for households.
    address: String,
}

impl ThinLeaves {
    /// The seed of who makes the mailboxes on the hub is made in `admin`.
    fn of(homes: &[&Home], admin: &Path) -> Self {
        let (dir, address) = (certified(), format!("127.0.0.1:{}", free_port()));
        let authority = std::fs::read_to_string(dir.path().join("hub-ca.pem")).unwrap();
        let admin = homes[0].done(&["nats", "key", "--file", admin.to_str().unwrap()]);
        let (before, user) = THIN_HUB.split_at(THIN_HUB.find("      {\n        user: ").unwrap());
        let (user, after) = user.split_once("    ]\n").unwrap();
        let households = homes.iter().zip(HOUSEHOLDS);
        let users = households.map(|(home, household)| of_household(user, household, home));
        let conf = format!("{before}{}    ]\n{after}", users.collect::<String>());
        let conf = conf
            .replace("0.0.0.0:7422", &address)
            .replace("hub.example:7422", &address)
            .replace("nkey: ADMIN", &format!("nkey: {}", admin.trim()));
        let mut thin = Self {
            hub: Server::start_in(dir, &conf),
            leaves: Vec::new(),
            authority,
            address,
        };
        for (home, household) in homes.iter().zip(HOUSEHOLDS) {
            let leaf = thin.leaf(&of_household(THIN_LEAF, household, home), home);
            thin.leaves.push(leaf);
        }
        thin
    }

    fn leaf(&self, conf: &str, home: &Home) -> Server {
        let (dir, key) = (tempfile::tempdir().unwrap(), home.done(&["nats", "key"]));
        std::fs::write(dir.path().join("hub-ca.pem"), &self.authority).unwrap();
        let conf = conf
            .replace("hub.example:7422", &self.address)
            .replace("nkey: ALICE", &format!("nkey: {}", key.trim()));
        Server::start_in(dir, &conf)
    }

    /// A server that logs in to the hub as the household of that home and lets everybody do everything: in the hands of
    /// somebody who has the household's password.
    fn hostile(&self, household: &str, home: &Home) -> Server {
        let conf = of_household(THIN_LEAF, household, home);
        let (remotes, _) = conf.split_once("accounts {").unwrap();
        let name = format!("server_name: {household}");
        let conf = remotes
            .replace("account: AGENTS", "")
            .replace(&name, "server_name: hostile");
        self.leaf(&conf, home)
    }

    /// `signet nats setup` on the hub, by whoever keeps it.
    fn set_up(&self, homes: &[&Home], admin: &Path) -> String {
        let (url, admin) = (self.hub.url(), admin.to_str().unwrap());
        let args = ["nats", "setup", "--server", &url, "--nkey", admin];
        let agents = homes.iter().map(|home| home.agent.as_str());
        let args: Vec<&str> = args.into_iter().chain(agents).collect();
        homes[0].done(&args)
    }
}

/// The same for another household and its agent.
fn of_household(conf: &str, household: &str, home: &Home) -> String {
    conf.replace("house-one", household)
        .replace("PASSWORD-ONE", &format!("PASSWORD-{household}"))
        .replace("agent-alice-001", &home.agent)
}

#[test]
fn a_domain_that_is_missing_wrong_away_or_the_servers_own_is_told_of() {
    let house = House::with_jetstream();
    let mut alice = house.home("alice");
    let admin = house.path("admin.nk");
    let mut thin = ThinLeaves::of(&[&alice], &admin);
    uses(&mut alice, &thin.leaves[0].url());
    let none = ill(&alice, "domain", "fault");
    assert!(
        found(&none).contains("is a leaf of a hub and has no JetStream"),
        "{none}"
    );
    says_next(&none, "write domain = ");
    says_next(&ill(&alice, "mailbox", "fault"), "`domain`");

    alice.configure("# domain = \"hub\"", "domain = \"nowhere\"");
    let wrong = ill(&alice, "domain", "fault");
    assert!(
        found(&wrong).contains("nobody answers for the domain nowhere"),
        "{wrong}"
    );
    alice.configure("domain = \"nowhere\"", "domain = \"hub\"");
    says_of(&alice, "mailbox", "fault", &["there is none"]);
    ill(&alice, "domain", "well");
    let made = thin.set_up(&[&alice], &admin);
    assert!(made.contains("agent-alice: created"), "{made}");
    ill(&alice, "mailbox", "well");
    assert!(found(&ill(&alice, "domain", "well")).contains("hub, beyond the server"));
    thin.hub.kill();
    says_of(
        &alice,
        "domain",
        "fault",
        &["nobody answers for the domain hub"],
    );
    thin.hub.restart();
    says_of(&alice, "mailbox", "well", &[]);

    // An agent that is at home on such a hub needs no domain.
    let hub = Server::start("server_name: hub\njetstream { store_dir: \"js\", domain: hub }");
    alice.served_by(hub.port());
    let missing = says_of(&alice, "mailbox", "fault", &["there is none"]);
    let made = typed(&alice, &missing, &admin);
    assert!(made.contains("agent-alice: created"), "{made}");
    let own = ill(&alice, "domain", "advice");
    assert!(
        found(&own).contains("the domain of this server itself"),
        "{own}"
    );
    says_next(&own, "take the line `domain` out");
    alice.configure("domain = \"hub\"", "# domain = \"hub\"");
    ill(&alice, "domain", "well");
    ill(&alice, "mailbox", "well");
    let plain = Server::start("server_name: plain");
    alice.served_by(plain.port());
    let none = ill(&alice, "domain", "fault");
    assert!(
        found(&none).starts_with("the server has no JetStream"),
        "{none}"
    );
}

#[test]
fn households_whose_mail_lies_on_a_hub_talk_and_each_reads_its_own_mailboxes_alone() {
    let house = House::with_jetstream();
    let mut homes = ["alice", "bob"].map(|name| house.home(name));
    house.acquaint(&homes.each_ref());
    let admin = house.path("admin.nk");
    let thin = ThinLeaves::of(&homes.each_ref(), &admin);
    thin.set_up(&homes.each_ref(), &admin);
    for (home, leaf) in homes.iter_mut().zip(&thin.leaves) {
        home.configure("# domain = \"hub\"", "domain = \"hub\"");
        home.served_by(leaf.port());
        home.start();
        home.has_mailbox(true);
    }
    let [alice, bob] = &mut homes;
    alice.ping(bob);
    bob.ping(alice);
    for check in ["domain", "permissions", "mailbox", "reader", "crossing"] {
        says_of(alice, check, "well", &[]);
    }
    bob.stop();
    let kept = alice.send(bob, "notification", &json!({"for": "bob"}));
    let kept = kept.unwrap();
    eventually("the mailbox says that it holds it", || {
        (alice.standing(&bob.agent, "unconfirmed") == 1).then_some(())
    });
    let hostile = thin.hostile(HOUSEHOLDS[0], alice);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = async_nats::ConnectOptions::new()
            .custom_inbox_prefix("_INBOX_agent-alice")
            .request_timeout(Some(Duration::from_secs(2)));
        let client = options.connect(hostile.url()).await.unwrap();
        let asked = async |what: &str| {
            let subject = format!("$JS.hub.API.{what}");
            client.request(subject, "".into()).await
        };
        // Its own mailbox answers: so a question that nobody answers could have been answered.
        let limit = Instant::now() + PATIENCE;
        let own = "CONSUMER.INFO.AGENT_INBOX.agent-alice";
        while asked(own).await.is_err() {
            assert!(Instant::now() < limit, "it is let in");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        for what in [
            "CONSUMER.INFO.AGENT_INBOX.agent-bob",
            "CONSUMER.MSG.NEXT.AGENT_INBOX.agent-bob",
            "CONSUMER.DELETE.AGENT_INBOX.agent-alice",
            "STREAM.INFO.AGENT_INBOX",
            "STREAM.PURGE.AGENT_INBOX",
            "STREAM.MSG.GET.AGENT_INBOX",
        ] {
            let answer = asked(what).await;
            assert!(answer.is_err(), "{what}: {answer:?}");
        }
    });
    drop(hostile);
    bob.start();
    all_arrive_once(alice, bob, &[kept]);
}

#[test]
fn a_server_of_this_machine_that_leads_to_another_in_clear_is_told_of() {
    let house = House::with_jetstream();
    let mut alice = house.home("alice");
    assert!(found(&ill(&alice, "encryption", "well")).contains("is this machine"));
    let port = crate::house::free_port();
    let server = Server::start(&format!(
        "server_name: n1\ncluster {{ name: house, listen: \"127.0.0.1:{port}\" }}"
    ));
    let _other = Server::start(&format!(
        "server_name: n2\nclient_advertise: \"n2.house.example:4222\"\n\
         cluster {{ name: house, listen: \"127.0.0.1:-1\", routes: [ \"nats://127.0.0.1:{port}\" ] }}"
    ));
    alice.served_by(server.port());
    let clear = says_of(&alice, "encryption", "warning", &["IN CLEAR"]);
    assert!(found(&clear).contains("IN CLEAR to another machine: nats://n2.house.example:4222"));
    says_next(&clear, "tls://n2.house.example:4222");
    // A password goes over the line as it is.
    std::fs::write(alice.dir.join("password"), "hunter2\n").unwrap();
    let secret = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(alice.dir.join("password"), secret).unwrap();
    alice.configure(
        "[nats]\n",
        "[nats]\nuser = \"alice\"\npassword-file = \"password\"\n",
    );
    let clear = ill(&alice, "encryption", "fault");
    assert!(
        clear["means"]
            .as_str()
            .unwrap()
            .contains("has the password"),
        "{clear}"
    );
    assert!(!format!("{clear}").contains("hunter2"));
    alice.configure("# discover = true", "discover = false");
    ill(&alice, "encryption", "well");
}

/// As they stand on the page.
const THIN_HUB: &str = include_str!("../../../../../docs/scale/thin-hub.conf");
const THIN_LEAF: &str = include_str!("../../../../../docs/scale/thin-leaf.conf");
/// A server that was killed counts as current for some seconds.
const PATIENCE: Duration = Duration::from_secs(40);
