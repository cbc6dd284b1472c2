//! How a gateway begins: what is wrong with its configuration is said before it listens, with what to write.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use signet_testkit::{Home, House, Loose, eventually};

use crate::authority::Authority;
use crate::client::Gateway;
use crate::discord::TOKEN;

const DISCORD: &str = "[discord]\nchannel = \"77\"\n";

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A start that comes to nothing; what it says.
fn refused(home: &Home, file: &str) -> String {
    std::fs::write(home.dir.join("gateway.toml"), file).unwrap();
    let output = home.cli(&["gateway"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{file}: {said}");
    assert!(
        said.contains("next: ") && !said.contains("listens at"),
        "{file}: {said}"
    );
    said
}

#[test]
fn what_would_start_and_do_nothing_is_named_with_what_to_write() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    write(&alice.dir.join("open"), TOKEN, 0o644);
    write(&alice.dir.join("closed"), TOKEN, 0o600);
    for (file, what) in [
        ("[listen]\naddress = \"localhost:8801\"\n", "127.0.0.1:8787"),
        (
            "[listen]\nhosts = [\"https://agent.example.org/\"]\n",
            "\"agent.example.org\"",
        ),
        ("[listen]\nhosts = [\"*\"]\n", "`hosts` under [listen]"),
        (
            "[listen]\norigins = [\"app.example.org\"]\n",
            "\"https://app.example.org\"",
        ),
        ("[listen]\norigins = [\"*\"]\n", "`origins` under [listen]"),
        ("[mcp]\ntier = 9\n", "1, 2, 3 or 4"),
        ("[discord]\nchannel = \"abc\"\n", "digits alone"),
        (
            "[tls]\ncertificate = \"no.pem\"\nkey = \"no.pem\"\n",
            "there is no ",
        ),
    ] {
        let said = refused(&alice, &format!("{file}\n"));
        assert!(said.contains(what), "{file}: {said}");
    }
    // The daemon's carrier socket is not configured either. A fault of the token file is named first, and only with a
    // good file ("closed") the missing socket.
    let port = "[listen]\naddress = \"127.0.0.1:0\"\n";
    for (name, what) in [
        ("nothere", "there is no "),
        ("open", "chmod 600"),
        ("closed", "config.toml"),
    ] {
        let said = refused(&alice, &format!("{port}{DISCORD}token-file = \"{name}\"\n"));
        assert!(said.contains(what) && !said.contains(TOKEN), "{said}");
    }
    let said = refused(&alice, &format!("{port}[inbox]\n"));
    assert!(
        said.contains("next: set `socket` under [carrier-socket] of the daemon's config.toml"),
        "{said}"
    );
    let none = ["token", "make", "board", "--certificate", "/nonexistent"];
    let said = String::from_utf8(alice.cli(&none).stderr).unwrap();
    assert!(said.contains("there is no /nonexistent"), "{said}");
}

/// A start that opened such a pipe waited for somebody to write into it, and said nothing.
#[test]
fn a_pipe_in_the_place_of_the_gateways_file_or_of_a_tls_file_is_named_and_not_waited_at() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let tls = "[listen]\naddress = \"127.0.0.1:0\"\n[tls]\ncertificate = \"own.pem\"\nkey = \"own.key\"\n";
    for pipe in ["gateway.toml", "own.pem", "own.key"] {
        write(&alice.dir.join("gateway.toml"), tls, 0o600);
        Authority::new().issue("localhost").write(&alice.dir, "own");
        let place = alice.dir.join(pipe);
        std::fs::remove_file(&place).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &place, fifo, mode, 0).unwrap();
        let mut gateway = alice
            .command(&["gateway"])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let _loose = Loose(gateway.id());
        let ended = eventually("the start ends", || gateway.try_wait().unwrap());
        let mut said = String::new();
        std::io::Read::read_to_string(gateway.stderr.as_mut().unwrap(), &mut said).unwrap();
        assert!(!ended.success(), "{pipe}: {said}");
        assert!(said.contains(pipe) && said.contains("next: "), "{said}");
        std::fs::remove_file(&place).unwrap();
    }
}

#[test]
fn a_second_gateway_on_the_same_tasks_does_not_say_that_it_listens() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut first = Gateway::start(&alice, "");
    let said = refused(&alice, "[listen]\naddress = \"127.0.0.1:0\"\n");
    assert!(said.contains("gateway-a2a.db"), "{said}");
    assert!(first.is_up());
}

#[test]
fn names_that_nobody_knows_are_named_in_the_log() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    for named in [
        "default = \"bbo\"",
        "keep = [\"agent-bob\", \"bbo\"]",
        "capabilities = {agent-bob = \"a.b\", bbo = \"a.b\"}",
    ] {
        let gateway = Gateway::start(&alice, &format!("[a2a]\n{named}\n"));
        let key = named.split(' ').next().unwrap();
        let warning = format!(
            "`{key}` under [a2a] of gateway.toml names bbo, and the daemon knows no such agent"
        );
        assert!(gateway.said.contains(&warning), "{}", gateway.said);
        assert_eq!(gateway.said.matches("warning").count(), 1);
    }
    let said = refused(&alice, "[a2a]\ndefault = \"not an id!\"\n");
    assert!(said.contains("no agent's id"), "{said}");
    let gateway = Gateway::start(&alice, "[a2a]\ndefault = \"agent-bob\"\n");
    assert!(!gateway.said.contains("warning"), "{}", gateway.said);
}

#[test]
fn a_file_of_tokens_that_is_broken_at_the_start_is_named_with_its_line() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let broken = "# mine\n\nname = [\n";
    write(&alice.dir.join("gateway-tokens.toml"), broken, 0o600);
    let gateway = Gateway::start(&alice, "");
    assert!(
        gateway.said.contains("gateway-tokens.toml: line ")
            && gateway.said.contains("next: correct the file"),
        "{}",
        gateway.said
    );
    assert!(
        !gateway.said.contains("there is no token yet"),
        "{}",
        gateway.said
    );
}
