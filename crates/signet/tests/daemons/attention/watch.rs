//! `signet watch`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{approve, draft, program, strangers, strangers_message};
use crate::house::{Home, House, PATIENCE, eventually, says};

/// `signet watch`, and the lines that it prints.
struct Watching {
    child: Child,
    out: Receiver<String>,
    told: Receiver<String>,
}

impl Watching {
    fn by(home: &Home, args: &[&str], path: &str) -> Self {
        let mut command = home.command(&[&["watch"], args].concat());
        command
            .env("PATH", path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = lines(child.stdout.take().unwrap());
        let told = lines(child.stderr.take().unwrap());
        Self { child, out, told }
    }

    fn line(&self) -> String {
        self.out.recv_timeout(PATIENCE).expect("a line")
    }

    fn record(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    fn says(&self, what: &str) {
        loop {
            let line = self.told.recv_timeout(PATIENCE).expect(what);
            if line.contains(what) {
                return;
            }
        }
    }

    fn is_silent(&self) {
        let more = self.out.recv_timeout(Duration::from_millis(500));
        assert!(more.is_err(), "{more:?}");
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (line, out) = channel();
    thread::spawn(move || {
        for text in BufReader::new(from).lines().map_while(Result::ok) {
            if line.send(text).is_err() {
                return;
            }
        }
    });
    out
}

#[test]
fn what_stands_and_what_comes_is_shown_with_the_next_command_and_again_by_nobody() {
    let house = House::new();
    let (mut alice, bob) = strangers(&house);
    alice.start();
    let words = Watching::by(&alice, &[], "");
    assert!(words.line().starts_with("nothing waits for you"));
    strangers_message(&bob, &alice);
    let line = words.line();
    assert!(
        line.contains("  introduction  the stranger agent-bob, "),
        "{line}"
    );
    let typed = format!("signet trust pending --home {}", alice.dir.display());
    let line = words.line();
    assert!(
        line.starts_with("  next: ") && line.ends_with(&typed),
        "{line}"
    );

    // A watch that starts later first shows the introduction that waits already (`still`), then the records that come.
    let json = Watching::by(&alice, &["--json"], "");
    let still = json.record();
    assert_eq!(
        (&still["kind"], &still["still"]),
        (&json!("introduction"), &json!(true))
    );
    approve(&alice, &bob);
    approve(&bob, &alice);
    alice.ping(&bob);
    let id = draft(&alice, &bob);
    let record = json.record();
    assert_eq!(
        (&record["kind"], &record["still"]),
        (&json!("draft"), &json!(false))
    );
    assert!(
        words
            .line()
            .contains("a message to agent-bob waits for your approval")
    );
    words.line();

    // The watch outlives its daemon, and does not repeat the records of the old daemon when a new one answers.
    alice.kill();
    json.says("waiting for it to come back");
    alice.start();
    json.says("the daemon answers again");
    json.is_silent();
    let another = draft(&alice, &bob);
    assert_eq!(json.record()["still"], false);
    assert_ne!(id, another);
}

#[test]
fn what_comes_while_the_daemon_is_away_is_shown_when_it_is_back() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    alice.ping(&bob);
    draft(&alice, &bob);
    let watching = Watching::by(&alice, &["--json"], "");
    assert_eq!(watching.record()["kind"], "draft");
    alice.stop();
    watching.says("waiting for it to come back");
    super::certified(&alice, 340);
    alice.start();
    let record = watching.record();
    assert_eq!(
        (&record["kind"], &record["still"]),
        (&json!("certificate"), &json!(true))
    );
    watching.is_silent();
}

#[test]
fn the_desktop_shows_it_by_notify_send_and_a_machine_without_one_says_so() {
    let house = House::new();
    let (mut alice, bob) = strangers(&house);
    alice.start();
    let said = alice.fails(2, &["watch", "--desktop"]);
    assert!(
        said.contains("no notify-send") && said.contains("libnotify-bin"),
        "{said}"
    );
    let (bin, shown) = (house.path("bin"), house.path("shown"));
    let script = format!("for word; do echo \"$word\" >> '{}'; done", shown.display());
    program(&bin, "notify-send", &script);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let watching = Watching::by(&alice, &["--desktop"], &path);
    watching.line();
    strangers_message(&bob, &alice);
    watching.line();
    let text = eventually("the desktop shows it", || {
        let text = std::fs::read_to_string(&shown).ok()?;
        text.contains("next: ").then_some(text)
    });
    let lines: Vec<&str> = text.lines().collect();
    let text = "the stranger agent-bob, who says that it acts for bob, waits for an introduction; nobody has verified either name";
    assert_eq!(
        lines,
        [
            "--app-name=signet",
            "--urgency",
            "normal",
            "--",
            "signet: agent-alice",
            text,
            &format!(
                "next: {} trust pending --home {}",
                crate::house::signet().display(),
                alice.dir.display()
            )
        ]
    );
}

#[test]
fn a_desktop_that_fails_is_told_of_once_and_the_terminal_goes_on() {
    let house = House::new();
    let (mut alice, bob) = strangers(&house);
    house.acquaint(&[&alice, &bob]);
    alice.start();
    alice.ping(&bob);
    let bin = house.path("bin");
    program(&bin, "notify-send", "exit 1");
    let watching = Watching::by(&alice, &["--desktop", "--json"], &bin.display().to_string());
    draft(&alice, &bob);
    assert_eq!(watching.record()["kind"], "draft");
    watching.says("notify-send failed: exit status: 1");
    draft(&alice, &bob);
    assert_eq!(watching.record()["kind"], "draft");
}

#[test]
fn an_agent_may_not_watch_for_its_person() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let agent = alice.dir.join("agent.sock");
    let mut program = signet_api::Client::connect(&agent, PATIENCE).unwrap();
    let refused = program.raw("attention.follow", &json!({})).unwrap_err();
    assert!(
        refused.to_string().contains("is the person's call"),
        "{refused}"
    );
    alice.stop();
    let output = alice.cli(&["watch"]);
    assert_eq!(output.status.code(), Some(3), "{}", says(&output));
}
