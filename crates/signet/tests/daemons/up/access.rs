//! `signet up` at a server that somebody else keeps, where the agents log in by JWTs and show certificates.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use signet_testkit::{Operator, Server, TlsAuthority};

use super::Machine;

/// A server with mailboxes that believes an operator and asks each client for a certificate.
struct Kept {
    server: Server,
    operator: Operator,
    dir: PathBuf,
}

impl Kept {
    fn start() -> Self {
        let (dir, authority, operator) = (
            tempfile::tempdir().unwrap(),
            TlsAuthority::default(),
            Operator::default(),
        );
        let folder = dir.path().to_owned();
        for name in ["server", "admin", "alice", "bob"] {
            authority.certify(&folder, name, "127.0.0.1");
            let key = folder.join(format!("{name}-key.pem"));
            std::fs::set_permissions(key, PermissionsExt::from_mode(0o600)).unwrap();
        }
        std::fs::write(folder.join("ca.pem"), &authority.certificate).unwrap();
        let config = format!(
            "{}jetstream {{ store_dir: \"js\" }}\ntls {{ cert_file: \"server.pem\", key_file: \"server-key.pem\", \
             ca_file: \"ca.pem\", verify: true, timeout: 5 }}",
            operator.server_config()
        );
        Self {
            server: Server::start_in(dir, &config),
            operator,
            dir: folder,
        }
    }

    fn url(&self) -> String {
        format!("tls://127.0.0.1:{}", self.server.port())
    }

    /// The options of that user, with a credentials file that permits what `signet nats config` prints for an agent.
    fn options(&self, user: &str) -> Vec<String> {
        let publish = format!(
            r#"{{"allow":["agent.*.inbox","$JS.API.CONSUMER.INFO.AGENT_INBOX.{user}",
            "$JS.API.CONSUMER.MSG.NEXT.AGENT_INBOX.{user}","$JS.ACK.AGENT_INBOX.{user}.>","$JS.ACK.*.*.AGENT_INBOX.{user}.>"]}}"#
        );
        let subscribe = format!(r#"{{"allow":["agent.{user}.inbox","_INBOX_{user}.>"]}}"#);
        let creds = match user {
            "admin" => self.operator.creds(),
            _ => self.operator.creds_within(&publish, &subscribe),
        };
        let at = |name: String| self.dir.join(name).to_str().unwrap().to_owned();
        let file = at(format!("{user}.creds"));
        write(Path::new(&file), &creds);
        let cert = at(format!("{user}.pem"));
        let key = at(format!("{user}-key.pem"));
        let all = [
            "--creds",
            &file,
            "--tlsca",
            &at("ca.pem".to_owned()),
            "--tlscert",
            &cert,
            "--tlskey",
            &key,
        ];
        all.map(str::to_owned).to_vec()
    }
}

fn write(secret: &Path, text: &str) {
    std::fs::write(secret, text).unwrap();
    std::fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).unwrap();
}

fn check(machine: &Machine, home: &str, name: &str) -> Value {
    let said = machine.run(home, &["doctor", "--json"]).stdout;
    let said = String::from_utf8(said).unwrap();
    let mut all = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.find(|one| one["check"] == name)
        .unwrap_or_else(|| panic!("{name}: {said}"))
}

#[test]
fn agents_with_jwts_and_certificates_are_set_up_looked_at_and_talk_as_any_others() {
    let machine = Machine::new();
    let kept = Kept::start();
    let url = kept.url();
    let typed = |home: &str, start: &[&str], user: &str, end: &[&str]| {
        let options = kept.options(user);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        machine.done(home, &[start, &options, end].concat())
    };
    let up = |name: &str, more: &[&str]| {
        let start = [
            "up",
            "--agent",
            name,
            "--principal",
            name,
            "--background",
            "--nats",
            &url,
        ];
        typed(name, &[&start[..], more].concat(), name, &[])
    };
    // The first home is made before there is a mailbox, and its login may make none.
    let said = up("alice", &[]);
    assert!(said.contains("signet nats setup alice"), "{said}");
    assert_eq!(check(&machine, "alice", "mailbox")["health"], "fault");
    let setup = ["nats", "setup", "--server", &url];
    let made = typed("alice", &setup, "admin", &["alice", "bob"]);
    assert!(
        made.contains("alice: created") && made.contains("bob: created"),
        "{made}"
    );
    let said = up("bob", &[]);
    assert!(said.contains("mailbox  it is there"), "{said}");
    for home in ["alice", "bob"] {
        for name in ["broker", "encryption", "permissions", "mailbox", "crossing"] {
            let found = check(&machine, home, name);
            assert_eq!(found["health"], "well", "{found}");
        }
        let config = std::fs::read_to_string(machine.home(home).join("config.toml")).unwrap();
        assert!(config.contains(&format!("/{home}.creds\"\n")), "{config}");
    }
    let invited = machine.done("alice", &["invite"]);
    let line = { invited.lines() }.find(|line| line.starts_with("signet:1:"));
    let accepted = machine.done(
        "bob",
        &["accept", line.unwrap(), "--words", &machine.words("alice")],
    );
    machine.done(
        "alice",
        &["accept", accepted.trim(), "--words", &machine.words("bob")],
    );
    machine.talks("alice", "bob");
    assert_eq!(check(&machine, "alice", "crossing")["health"], "well");

    // A login of somebody else's account, and none of the certificates: each is told of with what to do.
    let creds = kept.dir.join("alice.creds");
    let right = std::fs::read_to_string(&creds).unwrap();
    write(&creds, &Operator::default().creds());
    let found = check(&machine, "alice", "broker");
    assert_eq!(found["health"], "fault", "{found}");
    let next = found["next"].as_str().unwrap();
    assert!(next.contains("nsc generate creds"), "{found}");
    write(&creds, &right);
    assert_eq!(check(&machine, "alice", "broker")["health"], "well");
    let file = machine.home("alice").join("config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let bare = |line: &&str| !line.starts_with("cert = ") && !line.starts_with("key = ");
    let without: Vec<&str> = config.lines().filter(bare).collect();
    assert_eq!(without.len() + 2, config.lines().count());
    write(&file, &without.join("\n"));
    let found = check(&machine, "alice", "broker");
    assert_eq!(found["health"], "fault", "{found}");
    let next = found["next"].as_str().unwrap();
    assert!(
        next.contains("name the agent's as `cert` and `key`"),
        "{found}"
    );
}

#[test]
fn a_login_that_others_may_read_or_that_is_one_too_many_is_refused_and_nothing_is_written() {
    let machine = Machine::new();
    machine.done(
        "alice",
        &["init", "--agent", "alice", "--principal", "alice"],
    );
    let config = || std::fs::read_to_string(machine.home("alice").join("config.toml")).unwrap();
    let before = config();
    let creds = machine.home("alice.creds");
    let creds = creds.to_str().unwrap();
    write(Path::new(creds), &Operator::default().creds());
    std::fs::set_permissions(creds, PermissionsExt::from_mode(0o644)).unwrap();
    let up = [
        "up",
        "--background",
        "--nats",
        "nats://127.0.0.1:1",
        "--creds",
        creds,
    ];
    let said = machine.fails("alice", 2, &up);
    assert!(said.contains("alice.creds"), "{said}");
    std::fs::set_permissions(creds, PermissionsExt::from_mode(0o600)).unwrap();
    let with_key = before.replace("# nkey = \"nats.nk\"", "nkey = \"nats.nk\"");
    write(&machine.home("alice").join("config.toml"), &with_key);
    let said = machine.fails("alice", 2, &up);
    assert!(said.contains("only one of `creds`, `nkey`"), "{said}");
    assert_eq!(config(), with_key);
}
