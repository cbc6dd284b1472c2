//! A home is told of its hub by `signet up` and by `signet doctor`; the commands that they print are run as printed.

use serde_json::Value;
use signet_testkit::says;

use super::Machine;
use super::servers::server_of;
use crate::house::eventually;
use crate::sites::hub::Hub;

/// The finding of `signet doctor` about the hub, once its words are there.
fn leaf(machine: &Machine, name: &str, words: &str) -> Value {
    eventually(words, || {
        let said = machine.run(name, &["doctor", "--json"]).stdout;
        let said = String::from_utf8(said).unwrap();
        let mut all = said
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let found = all.find(|one| one["check"] == "leaf")?;
        found["found"].as_str()?.contains(words).then_some(found)
    })
}

/// The command behind the first `next: ` of what was printed.
fn next(said: &str) -> String {
    let (_, next) = said.split_once("next: ").unwrap();
    next.lines().next().unwrap().to_owned()
}

#[test]
fn a_hub_that_turns_a_household_out_takes_it_back_and_dies_is_told_of_by_doctor() {
    let mut hub = Hub::of(&["house-one=alice", "house-two=bob"]);
    let machine = Machine::new();
    let line = hub.line("house-one");
    machine.joins("alice", &line);
    let found = leaf(&machine, "alice", "and the line stands");
    assert_eq!(found["health"], "well", "{found}");
    let said = hub.keep(&["--remove", "house-one"]);
    hub.restart_as(&said);
    let found = leaf(&machine, "alice", "does not let this household in");
    assert_eq!(found["health"], "warning", "{found}");
    assert!(
        found["means"]
            .as_str()
            .unwrap()
            .contains("mail within it goes on")
    );
    let said = machine.refuses("alice", 1, &line);
    assert!(said.contains("does not let house-one in"), "{said}");
    std::fs::remove_file(hub.dir.path().join("house-one.line")).unwrap();
    let said = hub.keep(&["--add", "house-one=alice"]);
    hub.restart_as(&said);
    // The line has another password, and takes the place of the one before.
    machine.goes_on_by("alice", &hub.line("house-one"));
    leaf(&machine, "alice", "and the line stands");
    std::fs::remove_file(hub.dir.path().join("house-one.line")).unwrap();
    hub.keep(&["--again", "house-one"]);
    let (same, _) = machine.goes_on_by("alice", &hub.line("house-one"));
    assert!(same.contains(", as house-one with "), "{same}");
    hub.dies();
    let found = leaf(&machine, "alice", "the hub does not answer");
    assert_eq!(found["health"], "warning", "{found}");
    // A household whose hub is away leaves it, and joins another, by the words of `signet up`.
    let other = Hub::of(&["house-nine=alice"]);
    let said = machine.refuses("alice", 1, &other.line("house-nine"));
    let left = machine.types("alice", &next(&said));
    assert!(left.status.success(), "{}", says(&left));
    let found = leaf(&machine, "alice", "it is none");
    assert_eq!(found["health"], "well", "{found}");
    let said = machine.joins("alice", &other.line("house-nine"));
    assert!(said.contains("as house-nine with alice"), "{said}");
}

/// The hub takes one connection of a household alone, and the servers of both homes make it anew within a second.
#[test]
fn a_second_server_that_joins_by_the_line_of_a_household_is_told_of_in_the_first_until_it_leaves() {
    let hub = Hub::of(&["house-one=alice,al"]);
    let machine = Machine::new();
    machine.joins("alice", &hub.line("house-one"));
    leaf(&machine, "alice", "and the line stands");
    machine.begins_by("al", &hub.line("house-one"));
    let found = leaf(&machine, "alice", "throws it out for another server");
    assert_eq!(found["health"], "warning", "{found}");
    let next = found["next"].as_str().unwrap();
    assert!(next.starts_with("in the other home: "), "{found}");
    machine.done("al", &["up", "--background", "--leave"]);
    leaf(&machine, "alice", "and the line stands");
    machine.done("al", &["down"]);
    let beside = machine.beside("al", "alice");
    let beside: Vec<&str> = beside.iter().map(String::as_str).collect();
    machine.done("al", &beside);
}

#[test]
fn a_hub_that_never_answers_is_a_warning_and_the_home_leaves_it_as_printed() {
    let mut hub = Hub::of(&["house-one=alice"]);
    let line = hub.line("house-one");
    hub.dies();
    let machine = Machine::new();
    let (_, said) = machine.begins_by("alice", &line);
    assert!(said.contains("does not answer yet"), "{said}");
    leaf(&machine, "alice", "the hub does not answer");
    let left = machine.done("alice", &["up", "--background", "--leave"]);
    assert!(left.contains("as house-one: left"), "{left}");
}

/// Such a server gives mail up: the home is told before it starts, and leaves the hub or takes a newer one.
#[test]
fn a_household_behind_a_hub_whose_server_became_a_2_9_is_not_started_with_it() {
    let Some(old) = server_of("nats-server") else {
        return;
    };
    let hub = Hub::of(&["house-one=alice"]);
    let mut machine = Machine::new();
    machine.joins("alice", &hub.line("house-one"));
    machine.done("alice", &["down"]);
    machine.server = Some(old);
    let said = machine.fails("alice", 1, &["up", "--background"]);
    assert!(said.contains("nats-server 2.9 is too old"), "{said}");
    let left = machine.done("alice", &["up", "--background", "--leave"]);
    assert!(left.contains("as house-one: left"), "{left}");
    leaf(&machine, "alice", "it is none");
}

/// A listener that takes the connection and says nothing: a dead proxy, or the wrong port.
#[test]
fn a_hub_that_takes_connections_and_says_nothing_does_not_count_as_one_that_lets_the_household_in()
{
    let mut hub = Hub::of(&["house-one=alice"]);
    let line = hub.line("house-one");
    hub.dies();
    let listener = std::net::TcpListener::bind(("127.0.0.1", hub.port)).unwrap();
    std::thread::spawn(move || {
        let mut taken: Vec<_> = Vec::new();
        for connection in listener.incoming() {
            taken.push(connection);
        }
    });
    let machine = Machine::new();
    let (_, said) = machine.begins_by("alice", &line);
    assert!(said.contains("warning: the hub at"), "{said}");
    let found = leaf(&machine, "alice", "it is one of the hub");
    assert_eq!(found["health"], "warning", "{found}");
}

/// The lists of the hub name the replies of all agents by one entry, so the agents' confirmations cross by that prefix alone.
#[test]
fn households_behind_a_hub_with_lists_of_two_tokens_take_that_prefix_and_talk() {
    let hub = Hub::of(&["--two-tokens", "house-one=alice,al", "house-two=bob"]);
    let machine = Machine::new();
    let config =
        |name: &str| std::fs::read_to_string(machine.home(name).join("config.toml")).unwrap();
    let is_set = |name: &str| config(name).contains("\nreply-prefix = \"two-tokens\"\n");
    // The daemon of the first runs already, and is started anew by the command that is printed for it. An agent that came before
    // is named, and takes the prefix when it comes again; a configuration of an earlier release has no line for it.
    machine.up("alice");
    let beside = machine.beside("al", "alice");
    let beside: Vec<&str> = beside.iter().map(String::as_str).collect();
    machine.done("al", &beside);
    let config_of_al = config("al");
    let older = config_of_al
        .lines()
        .filter(|line| !line.contains("reply-prefix"));
    let older = older.fold(String::new(), |all, line| all + line + "\n");
    std::fs::write(machine.home("al").join("config.toml"), older).unwrap();
    let (_, said) = machine.goes_on_by("alice", &hub.line("house-one"));
    assert!(is_set("alice"), "{said}");
    assert!(said.contains("runs with the prefix of before"), "{said}");
    assert!(
        said.contains("in [nats] of their config.toml: al\n"),
        "{said}"
    );
    let again = machine.types("alice", &next(&said));
    assert!(again.status.success(), "{}", says(&again));
    let said = machine.joins("bob", &hub.line("house-two"));
    assert!(said.contains("reply-prefix = \"two-tokens\""), "{said}");
    assert!(is_set("bob") && !is_set("al"));
    machine.done("al", &beside);
    assert!(is_set("al"));
    machine.acquaint("alice", "bob");
    machine.talks("alice", "bob");
    machine.talks("bob", "alice");
    // Bob's mailbox confirms what comes while his daemon is away: `--notify` ends well by that word alone.
    machine.done("bob", &["down", "--keep-nats"]);
    machine.done("alice", &["send", "bob", "--notify", "\"later\""]);
    let sent = machine.done("alice", &["outbox", "--json"]);
    let sent: Value = serde_json::from_str(sent.lines().next().unwrap()).unwrap();
    assert_eq!(sent["stored"], true, "{sent}");
    leaf(&machine, "alice", "and the line stands");
    // A person who takes the setting out again is told.
    let without = config("alice").replace("reply-prefix = \"two-tokens\"", "");
    std::fs::write(machine.home("alice").join("config.toml"), without).unwrap();
    let found = leaf(
        &machine,
        "alice",
        "whose lists are for reply-prefix = \"two-tokens\"",
    );
    assert_eq!(found["health"], "warning", "{found}");
    // A hub with lists of the usual kind wants the usual prefix again.
    machine.done("bob", &["up", "--background", "--leave"]);
    let other = Hub::of(&["house-nine=bob"]);
    let (said, _) = machine.goes_on_by("bob", &other.line("house-nine"));
    assert!(said.contains("reply-prefix = \"one-token\""), "{said}");
    assert!(!is_set("bob"));
}
