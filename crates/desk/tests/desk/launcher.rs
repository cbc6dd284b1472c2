//! The launcher beside the reading room, or beside a stand-in for it, which notes what it is given, or is an attacker's.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::house::{Home, House, copy_program, eventually, reading_room, signet};

/// Which program lies beside `signet` as the reading room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoomBeside {
    Real,
    StandIn,
    Captured,
}

/// A folder with the programs, and `signet view` from there.
struct Launched {
    child: Child,
    /// Held to the end: the command ends when nobody reads what it says.
    out: BufReader<ChildStdout>,
    place: PathBuf,
}

impl Launched {
    fn start(house: &House, homes: &[&Home], beside: RoomBeside) -> Self {
        let named = homes
            .iter()
            .flat_map(|home| ["--home", home.dir.to_str().unwrap()]);
        Self::with(house, &named.collect::<Vec<_>>(), beside)
    }

    fn with(house: &House, args: &[&str], beside: RoomBeside) -> Self {
        let place = house.path("programs");
        std::fs::create_dir_all(&place).unwrap();
        let desk = PathBuf::from(env!("CARGO_BIN_EXE_signet-desk"));
        for (program, name) in [(signet(), "signet"), (desk, "signet-desk")] {
            copy_program(program, place.join(name));
        }
        let room = place.join("signet-view");
        match beside {
            RoomBeside::Real => copy_program(reading_room(), &room),
            RoomBeside::StandIn | RoomBeside::Captured => {
                std::fs::write(&room, include_str!("room.py")).unwrap();
                std::fs::set_permissions(&room, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        if beside == RoomBeside::Captured {
            std::fs::write(place.join("captured"), "").unwrap();
        }
        let mut command = Command::new(place.join("signet"));
        command
            .arg("view")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("XDG_CACHE_HOME", house.path("cache"))
            .env("SIGNET_SECRET", "not for the room");
        command.args(args);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out, place }
    }

    /// What the room noted under that name.
    fn noted(&self, what: &str) -> Vec<Value> {
        let notes = std::fs::read_to_string(self.place.join("notes")).unwrap_or_default();
        let notes = notes
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        notes.filter_map(|note| note.get(what).cloned()).collect()
    }

    fn noted_soon(&self, what: &str, how_often: usize) -> Vec<Value> {
        eventually(what, || {
            let noted = self.noted(what);
            (noted.len() >= how_often).then_some(noted)
        })
    }

    /// The address that the command says.
    fn said(&mut self) -> String {
        let mut said = String::new();
        while !said.contains("/o/") {
            assert!(self.out.read_line(&mut said).unwrap() > 0, "{said}");
        }
        said.split_whitespace()
            .find(|word| word.contains("/o/"))
            .unwrap()
            .to_owned()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_room_is_given_a_listener_logs_and_connections_that_only_look_and_new_ones_when_a_daemon_comes_back()
 {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    let mut launched = Launched::start(&house, &[&alice, &bob], RoomBeside::StandIn);
    launched.noted_soon("home", 2);
    let homes = launched.noted("home");
    assert_eq!(
        (&homes[0]["name"], &homes[1]["name"]),
        (&json!("alice"), &json!("bob"))
    );
    assert_eq!(homes[0]["agent"], alice.agent.as_str());
    assert!(
        homes[0]["log"].as_str().unwrap().contains("audit"),
        "{}",
        homes[0]
    );
    assert_eq!(homes[0]["data"], homes[1]["data"]);
    let data = homes[0]["data"].as_str().unwrap();
    let mode = std::fs::metadata(data).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(launched.noted("arguments"), [json!(["--cord"])]);
    let environment = launched.noted("environment");
    assert!(
        !environment[0].to_string().contains("not for the room"),
        "{environment:?}"
    );
    let listen = &launched.noted("listen")[0];
    assert!(
        listen["host"]
            .as_str()
            .unwrap()
            .starts_with(listen["bound"].as_str().unwrap()),
        "{listen}"
    );
    assert!(
        listen["desk"].as_str().unwrap().starts_with("http://127."),
        "{listen}"
    );
    assert_eq!(launched.noted_soon("status", 1)[0], "shown");
    assert_eq!(launched.noted_soon("pause.show", 1)[0], "shown");
    for decides in ["trust.approve", "reload"] {
        assert_eq!(launched.noted_soon(decides, 1)[0], "not-for-this-socket");
    }
    // The browser is let in at the desk, and led on to the room's own address.
    let once = launched.said();
    let mut browser = Browser::default();
    let host = crate::browser::split(&once).0.to_owned();
    let first = crate::browser::ask(
        &host,
        "GET",
        crate::browser::split(&once).1,
        &[("Host", &host)],
        "",
    );
    assert!(first.body.contains("url=/home"), "{}", first.body);
    drop(browser.at.split_off(0));
    alice.stop();
    assert_eq!(launched.noted_soon("lost", 1)[0], "alice");
    alice.start();
    assert_eq!(launched.noted_soon("connection", 1)[0], "alice");
    assert_eq!(launched.noted_soon("status", 2)[1], "shown");
    assert_eq!(
        launched.noted_soon("trust.approve", 2)[1],
        "not-for-this-socket"
    );
}

#[test]
fn the_one_time_address_leads_by_the_desk_into_the_room_and_both_logs_stand_there() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let mut launched = Launched::start(&house, &[&alice, &bob], RoomBeside::Real);
    let once = launched.said();
    let mut browser = Browser::default();
    let entered = browser.follow(None, &once);
    assert_eq!(entered.status, 200, "{}", entered.body);
    let room = crate::browser::split(&browser.at).0.to_owned();
    assert_ne!(room, crate::browser::split(&once).0, "{}", browser.at);
    let today = eventually("both logs were looked at", || {
        let today = browser.go("today").body;
        (today.matches("are complete and unchanged").count() == 2).then_some(today)
    });
    assert!(
        today.contains("<bdi>alice</bdi>") && today.contains("<bdi>bob</bdi>"),
        "{today}"
    );
    let index = alice.dir.join("view/view.db");
    let mode = std::fs::metadata(&index).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(launched);
    let forget = |home: &Home| {
        let mut command = Command::new(signet());
        command.args(["view", "--forget", "--home"]).arg(&home.dir);
        command.output().unwrap()
    };
    let forgot = forget(&alice);
    assert!(forgot.status.success(), "{forgot:?}");
    assert!(!index.exists());
}

#[test]
fn a_page_says_how_each_daemon_does_and_finds_one_that_comes_back() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let mut launched = Launched::start(&house, &[&alice, &bob], RoomBeside::Real);
    let once = launched.said();
    let mut browser = Browser::default();
    browser.follow(None, &once);
    let of = |who: &str, does: &str| {
        let name = format!("<b class=\"name\"><bdi>{who}</bdi></b>");
        format!("The daemon of {name}{does}")
    };
    let mut shows = |page: &str, what: &str| {
        eventually(what, || {
            let shown = browser.go(page).body;
            shown.contains(what).then_some(shown)
        })
    };
    shows("today", &of("alice", " is at work."));
    let today = shows("today", &of("bob", " is at work."));
    assert!(today.contains("/to/pause?home=alice"), "{today}");
    let person = shows("person?log=1&agent=agent-bob", "<dt>Session</dt><dd>until ");
    assert!(
        person.contains("/to/agent?home=alice&amp;id=agent-bob"),
        "{person}"
    );
    alice.done(&["pause"]);
    shows("today", &of("alice", " pauses, as you decided"));
    alice.done(&["resume"]);
    for _ in 0..2 {
        alice.stop();
        let away = shows("today", &of("alice", " does not answer"));
        assert!(away.contains(&of("bob", " is at work.")), "{away}");
        alice.start();
        shows("today", &of("alice", " is at work."));
    }
}

#[test]
fn a_log_alone_is_shown_without_a_desk_a_daemon_or_a_home_and_what_is_kept_of_it_goes() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let log = alice.dir.join("audit").join(&alice.agent);
    let args = ["--log", log.to_str().unwrap()];
    let mut launched = Launched::with(&house, &args, RoomBeside::Real);
    let once = launched.said();
    let mut browser = Browser::default();
    // A test is quicker than the room hears of the address; it is not used up by asking too early.
    eventually("the room lets the browser in", || {
        browser.follow(None, &once);
        browser.at.contains("/s/").then_some(())
    });
    assert_eq!(
        crate::browser::split(&browser.at).0,
        crate::browser::split(&once).0,
        "there is no desk to go by"
    );
    let today = eventually("the log was looked at", || {
        let today = browser.go("today").body;
        today
            .contains("are complete and unchanged")
            .then_some(today)
    });
    assert!(!today.contains("The daemon of"), "{today}");
    let person = browser.go("person?log=1&agent=agent-bob").body;
    assert!(
        person.contains("signet trust withdraw agent-bob") && !person.contains("/to/agent"),
        "{person}"
    );
    let children = format!("/proc/{0}/task/{0}/children", launched.child.id());
    let children = std::fs::read_to_string(children).unwrap();
    assert_eq!(children.split_whitespace().count(), 1, "the room alone");
    let index = house.path("cache/signet/view/view.db");
    let mode = std::fs::metadata(&index).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(launched);
    let forgets = [&args[..], &["--forget"]].concat();
    let mut forgot = Launched::with(&house, &forgets, RoomBeside::Real);
    assert!(forgot.child.wait().unwrap().success());
    assert!(!index.exists());
}

#[test]
fn what_a_captured_room_says_on_the_cord_changes_nothing_and_the_desk_goes_on() {
    let house = House::new();
    let (alice, _bob) = house.alice_and_bob();
    let mut launched = Launched::start(&house, &[&alice], RoomBeside::Captured);
    let once = launched.said();
    let mut browser = Browser::default();
    let host = crate::browser::split(&once).0.to_owned();
    let entered = crate::browser::ask(
        &host,
        "GET",
        crate::browser::split(&once).1,
        &[("Host", &host)],
        "",
    );
    assert_eq!(entered.status, 200, "{}", entered.body);
    let files = std::fs::read_dir(format!("/proc/{}/fd", launched.child.id()))
        .unwrap()
        .count();
    assert!(files < 64, "{files} descriptors");
    let threads = std::fs::read_dir(format!("/proc/{}/task", launched.child.id()))
        .unwrap()
        .count();
    assert!(threads < 16, "{threads} threads");
    assert!(launched.child.try_wait().unwrap().is_none());
    browser.language = None;
}
