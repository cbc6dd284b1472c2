//! Three households whose servers are leaves of one hub, configured as docs/scale.md says.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Home, Proxy, Server, TlsAuthority, free_port};

/// The names of the households, as the page has them.
pub const HOUSEHOLDS: [&str; 3] = ["house-one", "house-two", "house-three"];

/// The hub and the servers of three households.
pub struct Leaves {
    pub hub: Server,
    pub households: Vec<LeafServer>,
    authority: String,
}

/// The server of one household, and the line to the hub.
pub struct LeafServer {
    pub server: Server,
    pub line: Proxy,
}

impl Leaves {
    /// Each household's server has a login for each of its homes and for an administrator, as `signet nats config` prints
    /// them. The seed of the administrator is made in `admin`.
    pub fn of(homes: &[Vec<&Home>; 3], admin: &Path) -> Self {
        Self::by(homes, admin, |conf| conf)
    }

    /// The same for agents whose replies have the prefix of two tokens: the hub's list of what a household may confirm is one
    /// entry for all agents.
    pub fn by_two_tokens(homes: &[Vec<&Home>; 3], admin: &Path) -> Self {
        Self::by(homes, admin, |conf| {
            let line = |line: &str| match line.trim_start().starts_with("publish: ") {
                true => "publish: { allow: [ \"agent.*.inbox\", \"_INBOX.*.>\" ] }".to_owned(),
                false => line.replace("\"_INBOX_", "\"_INBOX."),
            };
            conf.lines().map(line).collect::<Vec<_>>().join("\n")
        })
    }

    fn by(homes: &[Vec<&Home>; 3], admin: &Path, edit: impl Fn(String) -> String) -> Self {
        let port = free_port();
        let dir = certified();
        let authority = std::fs::read_to_string(dir.path().join("hub-ca.pem")).unwrap();
        let mut conf = HUB.replace("0.0.0.0:7422", &format!("127.0.0.1:{port}"));
        // The hub tells of an address where nobody listens: households are to come by their own line, which tests cut.
        conf = conf.replace("hub.example:7422", "127.0.0.1:1");
        for (homes, agent) in homes.iter().zip(AGENTS) {
            let inbox = |home: &&Home| format!("\"agent.{}.inbox\"", home.agent);
            let replies = |home: &&Home| format!("\"_INBOX_{}.>\"", home.agent);
            for (one, all) in [
                (format!("\"agent.{agent}.inbox\""), listed(homes, inbox)),
                (format!("\"_INBOX_{agent}.>\""), listed(homes, replies)),
            ] {
                assert!(conf.contains(&one), "{one}");
                conf = conf.replace(&one, &all);
            }
        }
        let hub = Server::start_in(dir, &edit(conf));
        let household = |(name, homes): (&str, &Vec<&Home>)| {
            let line = Proxy::before(port);
            let server = leaf(&line, name, homes, admin, &authority);
            LeafServer { server, line }
        };
        Self {
            households: HOUSEHOLDS.into_iter().zip(homes).map(household).collect(),
            hub,
            authority,
        }
    }

    /// A server that logs in to the hub as that household and lets everybody do everything: in the hands of somebody who
    /// has the household's password.
    pub fn hostile(&self, household: usize) -> Server {
        let port = self.households[household].line.port;
        let dir = tempfile::tempdir().unwrap();
        let conf = leaf_conf(port, HOUSEHOLDS[household]).replace("account: AGENTS", "");
        let refuses = |line: &&str| line.trim_start().starts_with("deny_");
        assert_eq!(conf.lines().filter(refuses).count(), 2);
        let conf: Vec<&str> = conf.lines().filter(|line| !refuses(line)).collect();
        let conf = conf.join("\n");
        std::fs::write(dir.path().join("hub-ca.pem"), &self.authority).unwrap();
        household_server(dir, &format!("server_name: hostile\n{conf}"))
    }
}

/// The server of a household; `admin` is the file of the administrator's seed, `authority` the certificate of the hub's.
fn leaf(line: &Proxy, name: &str, homes: &[&Home], admin: &Path, authority: &str) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let own = format!("\"agent.{}.inbox\"", AGENTS[0]);
    let inboxes = listed(homes, |home| format!("\"agent.{}.inbox\"", home.agent));
    let conf = leaf_conf(line.port, name);
    assert!(conf.contains(&own), "{conf}");
    let conf = conf.replace(&own, &inboxes);
    std::fs::write(dir.path().join("leaf.conf"), conf).unwrap();
    std::fs::write(dir.path().join("hub-ca.pem"), authority).unwrap();
    let args = ["nats", "config", "--name", name, "--domain", name];
    let more = ["--include", "leaf.conf", "--store", "js"];
    let own = own_config(homes, admin);
    let own = own.iter().map(String::as_str);
    let args: Vec<&str> = args.into_iter().chain(more).chain(own).collect();
    household_server(dir, &homes[0].done(&args))
}

/// By the program that `SIGNET_LEAF_SERVER` names, where it is set: a hub may be older than the servers of its households.
fn household_server(dir: TempDir, conf: &str) -> Server {
    match std::env::var_os("SIGNET_LEAF_SERVER") {
        Some(program) => Server::start_in_by(&PathBuf::from(program), dir, conf),
        None => Server::start_in(dir, conf),
    }
}

/// `--admin` and the agents of a household, for `signet nats config`.
fn own_config(homes: &[&Home], admin: &Path) -> Vec<String> {
    let key = |home: &Home, args: &[&str]| home.done(args).trim().to_owned();
    let file = admin.to_str().unwrap();
    let admin = key(homes[0], &["nats", "key", "--file", file]);
    let agent = |home: &&Home| format!("{}={}", home.agent, key(home, &["nats", "key"]));
    let agents = homes.iter().map(agent);
    ["--admin".to_owned(), admin]
        .into_iter()
        .chain(agents)
        .collect()
}

fn leaf_conf(port: u16, household: &str) -> String {
    let number = household.trim_start_matches("house-").to_uppercase();
    let conf = LEAF.replace(
        "house-one:PASSWORD-ONE",
        &format!("{household}:PASSWORD-{number}"),
    );
    conf.replace("hub.example:7422", &format!("127.0.0.1:{port}"))
}

fn listed(homes: &[&Home], form: impl Fn(&&Home) -> String) -> String {
    homes.iter().map(form).collect::<Vec<_>>().join(", ")
}

/// A folder with the certificate of an authority, and the hub's own certificate and key: `hub-ca.pem`, `hub.pem`, `hub-key.pem`.
pub fn certified() -> TempDir {
    let (authority, dir) = (TlsAuthority::default(), tempfile::tempdir().unwrap());
    authority.certify(dir.path(), "hub", "127.0.0.1");
    std::fs::write(dir.path().join("hub-ca.pem"), authority.certificate).unwrap();
    dir
}

/// The agents of the page, one a household.
const AGENTS: [&str; 3] = ["agent-alice-001", "agent-bob-001", "agent-carol-001"];
/// As they stand on the page.
const HUB: &str = include_str!("../../../docs/scale/hub.conf");
const LEAF: &str = include_str!("../../../docs/scale/leaf.conf");
