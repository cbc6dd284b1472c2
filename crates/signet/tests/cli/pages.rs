//! What pages say next: each command is given to a shell as it stands, where the person stood, with a PATH that has no
//! signet, for a home whose path holds a space.

use std::process::{Command, Output};

use serde_json::json;

use crate::house::{Home, House, eventually, says, signet};

/// The commands on a page. Whatever else it says, no command stands there without its program and its home.
fn commands(page: &str) -> Vec<String> {
    for bare in [" signet ", ";signet ", "`signet "] {
        assert!(!page.contains(bare), "a brief command: {page}");
    }
    let lines = page.lines().map(str::trim_start);
    let next = lines.filter_map(|line| line.strip_prefix("next: "));
    let next: Vec<String> = next.map(str::to_owned).collect();
    for command in &next {
        let begins = format!("{} ", signet().display());
        assert!(
            command.starts_with(&begins) && command.contains(" --home '"),
            "{command}"
        );
    }
    next
}

struct Person {
    house: House,
    alice: Home,
}

impl Person {
    fn new() -> Self {
        let house = House::with_jetstream();
        let mut alice = house.made("Alice's home", "agent-alice", "alice", &[]);
        alice.start();
        Self { house, alice }
    }

    /// With what the person's shell has.
    fn started(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("NATS_URL", self.house.server.url())
            .current_dir("/");
        command
    }

    fn shell(&self, line: &str) -> Output {
        self.started("/bin/sh").args(["-c", line]).output().unwrap()
    }

    #[track_caller]
    fn page(&self, page: &[&str]) -> String {
        let mut command = self.started(signet().to_str().unwrap());
        let output = command
            .arg("--home")
            .arg(&self.alice.dir)
            .args(page)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{page:?}: {}", says(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The commands of a page, each of which a shell runs. One that names a file for the person to put in says so.
    #[track_caller]
    fn pasted(&self, page: &[&str]) -> String {
        let page = self.page(page);
        for line in commands(&page) {
            let output = self.shell(&line);
            let said = says(&output);
            let wants = [" FILE", " answer.json"];
            let (command, _) = line.split_once("  # ").unwrap_or((&line, ""));
            match wants.iter().find(|file| command.ends_with(*file)) {
                Some(file) => assert!(
                    said.starts_with("error: ") && said.contains(&format!("{}: ", file.trim())),
                    "{line}: {said}"
                ),
                None => assert!(output.status.success(), "{line}: {said}"),
            }
        }
        page
    }
}

#[test]
fn the_next_steps_of_a_new_agent_run_as_its_pages_print_them() {
    let person = Person::new();
    for (page, step) in [
        (&["peer", "list"][..], " peer add "),
        (&["policy", "show"], " peer add "),
        (&["trust", "list"], " trust pending "),
    ] {
        let said = person.pasted(page);
        assert!(said.contains(step), "{said}");
    }
    let tasks = person.page(&["handoff", "list"]);
    assert!(
        commands(&tasks)[0].contains(" handoff send --home "),
        "{tasks}"
    );
    // The mailbox that is not there is made at the server that the agent uses.
    let said = person.pasted(&["status"]);
    assert!(
        said.contains("no mailbox") && said.contains(" peer add "),
        "{said}"
    );
    person.alice.has_mailbox(true);
    let said = person.pasted(&["status"]);
    assert!(!said.contains("nats setup"), "{said}");
}

#[test]
fn the_next_steps_of_what_waits_for_a_person_run_as_status_prints_them() {
    let mut person = Person::new();
    let mut bob = person.house.home("bob");
    bob.start();
    person.alice.done(&["pause"]);
    let said = person.pasted(&["status"]);
    assert!(said.contains("note   the agents of this person pause\n"));
    let said = person.page(&["status"]);
    assert!(!said.contains("pause"), "{said}");

    bob.waits(&["send", "agent-alice", "--notify", "1"]);
    eventually("the stranger waits", || {
        let said = person.page(&["status"]);
        said.contains("strangers wait").then_some(())
    });
    person.pasted(&["status"]);
    let waits = person.page(&["trust", "pending"]);
    let (_, approve) = waits.split_once("the same words:  ").unwrap();
    let output = person.shell(approve.lines().next().unwrap());
    assert!(output.status.success(), "{}", says(&output));
    bob.done(&["trust", "approve", "agent-alice"]);
    person.alice.ping(&bob);

    // Give `status` two more things to name: a message that no handler could handle, and withdrawn trust.
    bob.send(&person.alice, "notification", &json!({"poison": true}))
        .unwrap();
    eventually("it arrives", || {
        let inbox = person.alice.inbox();
        inbox
            .iter()
            .find(|item| item["body"]["poison"] == true)
            .map(drop)
    });
    let mut each = person.alice.command(&["inbox", "--each"]);
    let each = each.args(["--retry-after", "0.02", "--", "false"]).output();
    assert_eq!(each.unwrap().status.code(), Some(1));
    let said = person.pasted(&["status"]);
    assert!(said.contains("note   messages could not be handled\n"));
    person.alice.done(&["trust", "withdraw", "agent-bob"]);
    person.pasted(&["status"]);
    assert!(person.alice.stop().success());
}

#[test]
fn the_next_steps_of_keys_run_as_key_show_prints_them() {
    let mut person = Person::new();
    person.alice.done(&["key", "request"]);
    let said = person.pasted(&["key", "show"]);
    assert!(said.contains("A request waits for its answer\n"), "{said}");
    assert!(person.alice.stop().success());
    for name in ["control.json", "control.pem", "audit.pem"] {
        std::fs::remove_file(person.alice.dir.join("keys").join(name)).unwrap();
    }
    std::fs::remove_dir_all(person.alice.dir.join("keys/request")).unwrap();
    let said = person.pasted(&["key", "show"]);
    assert_eq!(said.matches("there is none yet\n").count(), 2, "{said}");
    let said = person.page(&["key", "show"]);
    assert!(said.contains("keys/audit.pem") && commands(&said).is_empty());
    // Revoke the old key by the printed command, then run the next printed one: it enters the revocation in this home,
    // though no daemon runs.
    let said = person.page(&["key", "rotate", "signing"]);
    let revoke = said.lines().last().unwrap().trim();
    let revocation = person.house.path("what was revoked.json");
    let line = format!(
        "{} --out '{}'",
        revoke.replace(" TEXT ", " lost "),
        revocation.display()
    );
    let output = person.shell(&line);
    assert!(output.status.success(), "{line}: {}", says(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    let (_, next) = said.split_once("  next: ").unwrap();
    let output = person.shell(next.lines().next().unwrap());
    assert!(output.status.success(), "{}", says(&output));
}
