//! `signet nats`: what it makes, what it refuses, and what it never prints.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::house::{House, Server};

#[test]
fn a_key_is_made_once_for_its_owner_alone_and_only_its_public_name_is_printed() {
    let house = House::new();
    let alice = house.home("alice");
    let public = alice.done(&["nats", "key"]);
    assert!(
        public.starts_with('U') && public.trim().len() == 56,
        "{public}"
    );
    assert_eq!(alice.done(&["nats", "key"]), public, "kept");
    let file = alice.dir.join("nats.nk");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let seed = std::fs::read_to_string(&file).unwrap();
    assert!(seed.starts_with("SU") && !public.contains(seed.trim()));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(alice.fails(2, &["nats", "key"]).contains("chmod 600"));
}

#[test]
fn a_secret_seed_given_for_a_public_name_is_refused_and_not_repeated() {
    let house = House::new();
    let alice = house.home("alice");
    let public = alice.done(&["nats", "key"]);
    let seed = std::fs::read_to_string(alice.dir.join("nats.nk")).unwrap();
    let (public, seed) = (public.trim(), seed.trim());
    let agent = format!("agent-alice={seed}");
    for args in [
        ["--admin", seed, "agent-alice=x"],
        ["--admin", public, &agent],
    ] {
        let said = alice.fails(2, &[&["nats", "config"], &args[..]].concat());
        assert!(
            said.contains("secret seed") && !said.contains(seed),
            "{said}"
        );
    }
}

#[test]
fn one_key_for_two_and_one_agent_twice_are_refused() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    let key = |args: &[&str]| alice.done(args).trim().to_owned();
    let admin = key(&["nats", "key", "--file", &house.admin_seed()]);
    let (one, other) = (key(&["nats", "key"]), bob.done(&["nats", "key"]));
    let config = |agents: [&str; 2]| {
        alice.fails(
            2,
            &["nats", "config", "--admin", &admin, agents[0], agents[1]],
        )
    };
    let (a, b) = (format!("agent-alice={one}"), format!("agent-bob={one}"));
    assert!(config([&a, &b]).contains("agent-alice and agent-bob have the same nkey"));
    let again = format!("agent-alice={}", other.trim());
    assert!(config([&a, &again]).contains("agent-alice is named twice"));
    let admins = format!("agent-bob={admin}");
    assert!(config([&a, &admins]).contains("the administrator and agent-bob"));
    for line in ["listen \"x\"", "a b", "\"", "$X"] {
        let args = ["nats", "config", "--admin", &admin, "--store", line, &a];
        let output = alice.cli(&args);
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
}

#[test]
fn agents_are_added_to_a_configuration_that_nobody_changed() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    let key = |args: &[&str]| alice.done(args).trim().to_owned();
    let admin = key(&["nats", "key", "--file", &house.admin_seed()]);
    let system = key(&[
        "nats",
        "key",
        "--file",
        house.path("sys.nk").to_str().unwrap(),
    ]);
    let a = format!("agent-alice={}", key(&["nats", "key"]));
    let b = format!("agent-bob={}", bob.done(&["nats", "key"]).trim());
    let settings = [
        "--admin",
        &admin,
        "--system",
        &system,
        "--listen",
        "10.0.0.1:4333",
        "--store",
        "/srv/nats",
        "--name",
        "n2",
        "--include",
        "cluster.conf",
    ];
    let print =
        |agents: &[&str]| alice.done(&[&["nats", "config"], &settings[..], agents].concat());
    let file = house.path("nats.conf");
    let add = |agent: &str| alice.cli(&["nats", "config", "--add", file.to_str().unwrap(), agent]);
    std::fs::write(&file, print(&[&a])).unwrap();
    let added = add(&b);
    assert_eq!(String::from_utf8(added.stdout).unwrap(), print(&[&a, &b]));
    assert_eq!(add(&a).status.code(), Some(2), "twice");
    // A configuration of an earlier release permits one reply prefix; an agent is added to it, and both prefixes are permitted.
    let before = print(&[&a]).replace(", \"_INBOX.agent-alice.>\"", "");
    assert_ne!(before, print(&[&a]));
    std::fs::write(&file, before).unwrap();
    let added = String::from_utf8(add(&b).stdout).unwrap();
    assert_eq!(added, print(&[&a, &b]));
    // `--add` prints the whole file anew, so it refuses a file that somebody has edited: the edit would be lost.
    let text = print(&[&a]);
    assert!(text.contains("server_name: n2\n") && text.contains("\ninclude \"cluster.conf\"\n"));
    let changed = text.replace("max_connections: 64", "max_connections: 65");
    let included = format!("{text}include \"other.conf\"\n");
    for text in [&changed, &included, "", "listen: \"x\"\n"] {
        std::fs::write(&file, text).unwrap();
        let refused = add(&b);
        assert_eq!(refused.status.code(), Some(1), "{text}");
        assert!(refused.stdout.is_empty());
    }
}

#[test]
fn a_server_without_mailboxes_or_with_others_is_told_of_in_its_own_words() {
    let house = House::new();
    let alice = house.home("alice");
    let said = alice.fails(1, &["nats", "setup"]);
    assert!(
        said.contains("stream AGENT_INBOX") && said.contains("JetStream"),
        "{said}"
    );
    let said = alice.fails(2, &["nats", "setup", "--tlsca", "/nowhere/ca.pem"]);
    assert!(said.contains("/nowhere/ca.pem"), "{said}");
    let said = alice.fails(3, &["nats", "setup", "--server", "nats://127.0.0.1:1"]);
    assert!(said.contains("cannot be reached"), "{said}");

    let house = House::with_jetstream();
    let alice = house.home("alice");
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(house.server.url()).await.unwrap();
        let foreign = async_nats::jetstream::stream::Config {
            name: "AGENT_INBOX".into(),
            subjects: vec!["agent.*.inbox".into()],
            ..Default::default()
        };
        let context = async_nats::jetstream::new(client);
        context.create_stream(foreign).await.unwrap();
    });
    let said = alice.fails(1, &["nats", "setup"]);
    assert!(said.contains("stream AGENT_INBOX: "), "{said}");
}

#[test]
fn a_context_of_the_nats_tool_names_the_server_and_no_path_of_ones_own() {
    let house = House::with_jetstream();
    let alice = house.home("alice");
    let dir = house.path("config/nats/context");
    std::fs::create_dir_all(&dir).unwrap();
    let context = format!("{{\"url\": \"{}\", \"creds\": \"\"}}", house.server.url());
    std::fs::write(dir.join("house.json"), context).unwrap();
    let with = |name: &str| {
        let mut command = alice.command(&["nats", "setup", "--context", name]);
        command
            .env_remove("NATS_URL")
            .env("XDG_CONFIG_HOME", house.path("config"));
        command.output().unwrap()
    };
    assert!(with("house").status.success());
    for name in ["../house", "none", "a/b"] {
        assert_eq!(with(name).status.code(), Some(2), "{name}");
    }
}

#[test]
fn setup_asks_the_server_of_its_home_with_the_certificates_that_it_names() {
    let house = House::with_jetstream();
    let alice = house.home("alice");
    let servers = format!("servers = [\"{}\"]", house.server.url());
    alice.configure("# servers = [\"nats://127.0.0.1:4222\"]", &servers);
    let setup = |args: &[&str]| {
        let mut command = alice.command(&[&["nats", "setup"], args].concat());
        command.env_remove("NATS_URL").output().unwrap()
    };
    let made = setup(&[]);
    let said = String::from_utf8_lossy(&made.stdout);
    assert!(made.status.success(), "{made:?}");
    assert!(
        said.contains(&format!("at {}", house.server.url())),
        "{said}"
    );
    // A named agent changes nothing about the server: the command still uses the server and the certificates of this
    // home.
    assert!(setup(&["agent-bob"]).status.success());
    alice.configure("# ca = \"ca.pem\"", "ca = \"of-the-home.pem\"");
    let refused = setup(&[]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("alice/of-the-home.pem"), "{said}");
    // For another server the home's certificates are not used: it fails because nobody answers there, and not because
    // of them.
    let other = setup(&["--server", "nats://127.0.0.1:1"]);
    assert_eq!(other.status.code(), Some(3), "{other:?}");
}

#[test]
fn setup_makes_mailboxes_on_a_server_that_asks_for_the_homes_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::new();
    let alice = house.home("alice");
    certificates(dir.path(), &alice.dir);
    let server = Server::start_in(
        dir,
        "jetstream { store_dir: \"js\" }
        tls { cert_file: server.pem, key_file: server.key, ca_file: ca.pem, verify: true }",
    );
    let url = format!("tls://127.0.0.1:{}", server.port());
    let servers = format!("servers = [\"{url}\"]");
    alice.configure("# servers = [\"nats://127.0.0.1:4222\"]", &servers);
    alice.configure("# ca = \"ca.pem\"", "ca = \"ca.pem\"");
    let setup = || {
        let mut command = alice.command(&["nats", "setup"]);
        command.env_remove("NATS_URL").output().unwrap()
    };
    let nameless = setup();
    assert!(!nameless.status.success(), "{nameless:?}");
    alice.configure("# cert = \"client.pem\"", "cert = \"client.pem\"");
    alice.configure("# key = \"client-key.pem\"", "key = \"client-key.pem\"");
    let made = setup();
    let said = String::from_utf8_lossy(&made.stdout);
    assert!(made.status.success(), "{made:?}");
    assert!(said.contains("stream AGENT_INBOX: created"), "{said}");
    assert!(said.contains(&format!("at {url}")), "{said}");
    // The server refuses a client's certificate of the same name that another authority issued.
    let ca = std::fs::read(alice.dir.join("ca.pem")).unwrap();
    certificates(&house.path(""), &alice.dir);
    std::fs::write(alice.dir.join("ca.pem"), ca).unwrap();
    let refused = setup();
    assert!(!refused.status.success(), "{refused:?}");
}

/// An authority: its certificate and that of a server of this machine in the one folder, a client's in the other.
fn certificates(server: &Path, client: &Path) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let issue = |folder: &Path, name: &str, files: [&str; 2]| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let signed = params.signed_by(&key, &issuer).unwrap();
        std::fs::write(folder.join("ca.pem"), &ca).unwrap();
        std::fs::write(folder.join(files[0]), signed.pem()).unwrap();
        let file = folder.join(files[1]);
        std::fs::write(&file, key.serialize_pem()).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    issue(server, "127.0.0.1", ["server.pem", "server.key"]);
    issue(client, "agent-alice", ["client.pem", "client-key.pem"]);
}

#[test]
fn each_mailbox_has_64_mib_and_what_an_earlier_setup_gave_more_of_is_told() {
    let house = House::with_jetstream();
    let alice = house.home("alice");
    let setup = |args: &[&str]| alice.done(&[&["nats", "setup", "agent-alice"], args].concat());
    assert!(setup(&["agent-bob"]).contains("room: 128 MiB for 2"));
    assert_eq!(room(&house.server), 128 << 20);
    // Make a mailbox of 1 GiB each, as earlier releases did.
    assert!(setup(&["--mailbox-mib", "1024"]).contains("stream AGENT_INBOX: updated"));
    assert_eq!(room(&house.server), 2 << 30);
    let said = setup(&["agent-carol"]);
    assert_eq!(room(&house.server), 2 << 30, "{said}");
    assert!(
        said.contains("room: 2048 MiB, kept as it was; 192 MiB are usual"),
        "{said}"
    );
    let said = setup(&["--mailbox-mib", "64"]);
    assert_eq!(room(&house.server), 192 << 20, "{said}");
}

#[test]
fn a_store_without_the_room_is_told_of_in_numbers() {
    let house = House::new();
    let alice = house.home("alice");
    let small = Server::start("jetstream { store_dir: \"js\", max_file: 100MB }");
    let url = small.url();
    let setup = ["nats", "setup", "--server", &url, "agent-alice"];
    alice.done(&setup);
    let said = alice.fails(1, &[&setup[..], &["agent-bob", "agent-carol"]].concat());
    for part in [
        "3 mailboxes are to have 192 MiB together, and have 64 MiB",
        "all streams of this account have 64 MiB",
        "max_file",
        "--mailbox-mib",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// What the stream of the mailboxes has reserved, in bytes.
fn room(server: &Server) -> i64 {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("AGENT_INBOX").await.unwrap();
        stream.cached_info().config.max_bytes
    })
}
