//! `[notify] command`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    WORDS, approve, certified, command, draft, is_told, keeps, program, strangers,
    strangers_message, told,
};
use crate::house::{Ear, Home, House, eventually};

/// A command as whoever reads it far from the daemon can type it.
fn typed(home: &Home, verb: &str) -> String {
    format!("signet {verb} --home {}", home.dir.display())
}

/// Nothing that a peer says or chose may stand in what a program, perhaps of a model, reads as news.
#[test]
fn a_stranger_a_draft_a_false_name_and_a_message_in_quarantine_are_told_and_no_word_of_any() {
    let house = House::new();
    let (mut alice, bob) = strangers(&house);
    keeps(&alice);
    alice.configure("# tier = 2", "tier = 4");
    bob.configure("# tier = 2", "tier = 4");
    alice.start();
    strangers_message(&bob, &alice);
    let record = is_told(&alice, "introduction");
    let expected = json!({
        "version": 1, "kind": "introduction", "time": record["time"], "agent": "agent-alice", "id": record["id"],
        "peer": "agent-bob", "principal": "bob", "verified": false, "count": 1, "still": false,
        "text": "the stranger agent-bob, who says that it acts for bob, waits for an introduction; nobody has verified either name",
        "next": typed(&alice, "trust pending"),
    });
    assert_eq!(record, expected);
    approve(&alice, &bob);
    approve(&bob, &alice);
    alice.ping(&bob);

    let id = draft(&alice, &bob);
    let record = is_told(&alice, "draft");
    assert_eq!(
        (
            &record["peer"],
            &record["principal"],
            &record["verified"],
            &record["next"]
        ),
        (
            &json!("agent-bob"),
            &json!("bob"),
            &json!(true),
            &json!(typed(&alice, "drafts"))
        )
    );
    alice.done(&["drafts", "drop", &id]);

    let body = json!({ "words": WORDS });
    let asked = json!({"peer": alice.agent, "kind": "request", "body": body, "summary": WORDS});
    bob.call("send", &asked).unwrap();
    eventually("it arrives", || {
        let inbox = alice.inbox();
        inbox.iter().any(|item| item["body"] == body).then_some(())
    });
    let mut each = alice.command(&["inbox", "--each", "--retry-after", "0.02"]);
    let script = format!("echo {WORDS} >&2; exit 3");
    let ended = each
        .args(["--", "/bin/sh", "-c", &script])
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let record = is_told(&alice, "quarantine");
    assert_eq!(
        (&record["peer"], &record["verified"], &record["next"]),
        (
            &json!("agent-bob"),
            &json!(true),
            &json!(typed(&alice, "quarantine list"))
        )
    );

    // Somebody under the name of a person who is known, with another root key.
    let mut mallory = house.made("mallory", "agent-mallory", "bob", &[]);
    mallory.start();
    strangers_message(&mallory, &alice);
    let record = is_told(&alice, "alarm");
    assert_eq!(
        (&record["alarm"], &record["principal"], &record["verified"]),
        (&json!("root-changed"), &json!("bob"), &json!(false))
    );
    let all = told(&alice);
    assert_eq!(all.len(), 4, "{all:?}");
    for record in &all {
        assert!(!record.to_string().contains(WORDS), "{record}");
    }
    let ids = all.iter().map(|record| record["id"].as_str().unwrap());
    let ids: std::collections::BTreeSet<&str> = ids.collect();
    assert_eq!(ids.len(), all.len());
}

/// Keys, log, state and sockets are open in the daemon.
#[test]
fn the_command_inherits_no_descriptor_of_the_daemon_and_no_word_for_its_manager() {
    let house = House::new();
    let mut alice = house.home("alice");
    let (fds, env) = (house.path("fds"), house.path("env"));
    let script = format!(
        "env > '{}'; ls -l /proc/self/fd > '{1}.new'; mv '{1}.new' '{1}'",
        env.display(),
        fds.display()
    );
    command(&alice, &script);
    certified(&alice, 340);
    let mut ear = Ear::new();
    let mut run = ear.told_of(alice.command(&["run"]));
    run.env("CREDENTIALS_DIRECTORY", &alice.dir)
        .env("SECRET", "x");
    alice.spawn(run);
    ear.word("READY=1");
    let text = eventually("the command has run", || std::fs::read_to_string(&fds).ok());
    let targets = |text: &str| -> Vec<String> {
        let targets = text
            .lines()
            .filter_map(|line| Some(line.split_once(" -> ")?.1.to_owned()));
        targets.collect()
    };
    let held = targets(&text);
    assert!(held.len() >= 3, "{text}");
    // Leave out the descriptors of the test itself: those that its own shell left open reach every process below it, so
    // the command has them too.
    let own = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let own: Vec<String> = own
        .filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.display().to_string()))
        .collect();
    let (output, proc) = (format!("{}.new", fds.display()), "/proc/".to_owned());
    for target in held {
        let is_given = target == "/dev/null" || target.starts_with("pipe:") || target == output;
        assert!(
            is_given || target.starts_with(&proc) || own.contains(&target),
            "{target}: {text}"
        );
    }
    let env = std::fs::read_to_string(env).unwrap();
    assert!(
        env.contains(&format!("SIGNET_HOME={}", alice.dir.display())),
        "{env}"
    );
    for name in [
        "NOTIFY_SOCKET",
        "CREDENTIALS_DIRECTORY",
        "SECRET",
        "NATS_URL",
    ] {
        assert!(!env.contains(name), "{env}");
    }
}

#[test]
fn many_strangers_start_one_process_and_the_rest_waits_its_minute() {
    let house = House::new();
    let (mut alice, bob) = strangers(&house);
    keeps(&alice);
    alice.start();
    strangers_message(&bob, &alice);
    is_told(&alice, "introduction");
    for name in ["carol", "dave"] {
        let mut home = house.home(name);
        home.start();
        strangers_message(&home, &alice);
        eventually("it waits", || {
            let waiting = alice.json(&["trust", "pending"]);
            let agent = json!(home.agent);
            waiting
                .iter()
                .any(|one| one["agent"] == agent)
                .then_some(())
        });
    }
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(told(&alice).len(), 1);
    assert!(alice.done(&["status", "--json"]).contains("\"pending\":3"));
}

#[test]
fn a_start_says_what_still_stands_once_and_a_certificate_that_ends_soon() {
    let house = House::new();
    let (mut alice, bob) = strangers(&house);
    alice.start();
    strangers_message(&bob, &alice);
    eventually("a stranger waits", || {
        (!alice.json(&["trust", "pending"]).is_empty()).then_some(())
    });
    alice.stop();
    certified(&alice, 340);
    keeps(&alice);
    alice.start();
    let stranger = is_told(&alice, "introduction");
    assert_eq!(
        (&stranger["still"], &stranger["count"], &stranger["next"]),
        (
            &json!(true),
            &json!(1),
            &json!(typed(&alice, "trust pending"))
        )
    );
    let end = is_told(&alice, "certificate");
    assert_eq!(
        (&end["next"], &end["still"]),
        (&json!(typed(&alice, "key rotate signing")), &json!(true))
    );
    let said = end["text"].as_str().unwrap();
    assert!(
        said.contains("ends ") && said.contains("in 24 days"),
        "{said}"
    );
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(told(&alice).len(), 2, "{:?}", told(&alice));
}

#[test]
fn a_command_that_fails_is_warned_of_once_is_seen_by_the_doctor_and_another_one_tells() {
    let house = House::new();
    let (mut alice, bob) = strangers(&house);
    command(&alice, "exit 3");
    alice.start();
    strangers_message(&bob, &alice);
    let state = |member: &str| {
        let status = alice.call("status", &json!({})).unwrap();
        status["notify"][member].clone()
    };
    eventually("it is noted", || {
        (state("fault") == "exit status 3").then_some(())
    });
    assert_eq!(
        (state("program"), state("tries")),
        (json!("/bin/sh"), json!(1))
    );
    let warned = |said: &str| said.matches("the command of [notify] failed").count();
    assert_eq!(warned(&alice.said()), 1, "{}", alice.said());
    let doctor = |alice: &crate::house::Home| {
        let output = alice.cli(&["doctor", "--json"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let checks = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut checks = checks.filter(|check| check["check"] == "notify");
        checks.next().expect("a line of the doctor")
    };
    let found = doctor(&alice);
    assert_eq!(found["health"], "fault");
    let said = found["found"].as_str().unwrap();
    assert!(said.contains("failed 1 time: exit status 3"), "{said}");
    // The doctor prints a record to try the command with by hand, and a recipe takes it.
    let next = found["next"].as_str().unwrap();
    let (_, piped) = next.split_once("user: ").unwrap();
    let (echo, _) = piped.split_once(" | COMMAND").unwrap();
    let bin = house.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/true", bin.join("sendmail")).unwrap();
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/notify");
    let line = format!("{echo} | '{}/mail' alice@example.org", recipes.display());
    let path = std::env::var("PATH").unwrap();
    let tried = Command::new("/bin/sh")
        .args(["-c", &line])
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    assert!(tried.status.success(), "{line}: {tried:?}");

    // The reload sets another command, and the daemon tells it at once of the introduction that still waits.
    alice.configure("\"exit 3\"", "\"true\"");
    let tells = format!("cat >> '{}'", super::told_file(&alice).display());
    alice.configure("\"true\"", &json!(tells).to_string());
    assert_eq!(alice.done(&["reload"]), "in force now: [notify]\n");
    let record = is_told(&alice, "introduction");
    assert_eq!(
        (&record["peer"], &record["count"]),
        (&json!("agent-bob"), &json!(1))
    );
    eventually("it is well", || state("fault").is_null().then_some(()));
    assert_eq!(doctor(&alice)["health"], "well");
    assert_eq!(warned(&alice.said()), 1);

    // Doctor finds a command that others may change, or that is missing, before the daemon has to run it.
    let open = program(&house.path("bin"), "tell", "cat >/dev/null");
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(&open, mode(0o777)).unwrap();
    alice.configure("[\"/bin/sh\",\"-c\",", "[\"/bin/sh\", \"-c\",");
    let text = std::fs::read_to_string(alice.dir.join("config.toml")).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("command = "))
        .unwrap();
    alice.configure(line, &format!("command = [\"{}\"]", open.display()));
    let found = doctor(&alice);
    assert!(
        found["next"].as_str().unwrap().contains("chmod go-w"),
        "{found}"
    );
    std::fs::remove_file(open).unwrap();
    assert_eq!(doctor(&alice)["health"], "fault");
}

#[test]
fn a_command_that_hangs_delays_no_message_and_no_stop_and_ends_with_the_daemon() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let pid = house.path("pid");
    command(
        &alice,
        &format!("echo $$ > '{}'; exec sleep 600", pid.display()),
    );
    certified(&alice, 340);
    alice.start();
    bob.start();
    let pid = eventually("it hangs", || {
        std::fs::read_to_string(&pid)
            .ok()?
            .trim()
            .parse::<u32>()
            .ok()
    });
    alice.ping(&bob);
    bob.ping(&alice);
    let begun = Instant::now();
    assert!(alice.stop().success());
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    eventually("it is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z")).then_some(())
    });
}

#[test]
fn a_command_that_is_no_list_or_lies_beside_the_daemon_is_refused() {
    let house = House::new();
    let alice = house.home("alice");
    let mut line = "# command = [\"/usr/local/bin/tell-me\"]".to_owned();
    for wrong in [
        "\"tell-me\"",
        "[]",
        "[\"\"]",
        "[\"./tell-me\"]",
        "[\"bin/tell-me\"]",
        "[\"a\\u0000\"]",
        "[1]",
    ] {
        let with = format!("command = {wrong}");
        alice.configure(&line, &with);
        let said = alice.fails(2, &["status"]);
        assert!(said.contains("`command` in [notify]"), "{wrong}: {said}");
        line = with;
    }
}
