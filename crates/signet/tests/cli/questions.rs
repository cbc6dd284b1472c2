//! The questions of audit/README.md, asked of the sample log beside it: each has the answer that is kept
//! there, and the sample is a log of real daemons that `make sample` makes anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use signet::control::Client;

use crate::house::bus::Sender;
use crate::house::{Home, House, PATIENCE, eventually, receive};

/// The repository, where the recipes are typed.
fn top() -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    top.canonicalize().unwrap()
}

fn sample() -> PathBuf {
    top().join("audit/sample")
}

fn read(path: &str) -> String {
    fs::read_to_string(top().join(path)).expect(path)
}

fn shell(script: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_signet")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]);
    command.env("PATH", path).env("NO_COLOR", "1");
    command.current_dir(top()).output().unwrap()
}

/// What the script prints; it must not complain.
fn answer(script: &str) -> String {
    let output = shell(script);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.is_empty(),
        "{script}\n{said}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A question of the README and the line that answers it.
struct Question {
    words: String,
    recipe: String,
}

/// The script of the section's first block, and the questions: each a line of text that ends with a question mark,
/// and a block of one line.
fn questions() -> (String, Vec<Question>) {
    let text = read("audit/README.md");
    let (_, section) = text.split_once("\n## Questions\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let mut blocks = section.split("```sh\n").map(str::to_owned);
    let mut before = blocks.next().unwrap();
    let mut scripts = Vec::new();
    for block in blocks {
        let (script, after) = block.split_once("```").unwrap();
        let words = before.trim().lines().last().unwrap_or_default().to_owned();
        scripts.push(Question {
            words,
            recipe: script.trim_end().to_owned(),
        });
        before = after.to_owned();
    }
    let begin = scripts.remove(0).recipe;
    (begin, scripts)
}

fn answers() -> String {
    let (begin, questions) = questions();
    let mut out = String::new();
    for Question { words, recipe } in questions {
        let said = answer(&format!("{begin}\n{recipe}"));
        writeln!(out, "## {words}\n\n{said}").unwrap();
    }
    out
}

#[test]
fn every_question_of_the_readme_is_one_line_and_has_its_answer() {
    let (_, questions) = questions();
    assert!(questions.len() >= 20, "{}", questions.len());
    for Question { words, recipe } in &questions {
        assert!(words.ends_with('?'), "no question: {words}");
        assert_eq!(recipe.lines().count(), 1, "{recipe}");
    }
    let kept = read("audit/sample/answers.md");
    let found = answers();
    let sections = |text: &str| -> Vec<String> { text.split("## ").map(str::to_owned).collect() };
    for (found, kept) in sections(&found).iter().zip(sections(&kept)) {
        assert_eq!(*found, kept);
    }
    assert_eq!(found, kept);
    for section in sections(&found).iter().skip(1) {
        assert!(
            section.trim().lines().count() > 1,
            "nobody answers: {section}"
        );
    }
}

/// What the sample must hold, so that the questions ask for something.
#[test]
fn the_sample_is_a_whole_log_with_checkpoints_and_every_kind_of_event() {
    let said = answer("signet audit verify audit/sample/*/");
    assert!(!said.contains("without checkpoints"), "{said}");
    let lines: Vec<Value> = fs::read_dir(sample().join("agent-alice-001"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect::<Vec<Value>>()
        })
        .collect();
    let any = |what: &str, fits: &dyn Fn(&Value) -> bool| {
        assert!(lines.iter().any(fits), "the sample has no {what}");
    };
    assert!(lines.iter().all(|line| line["v"] == 2));
    any("handoff that ended", &|line| {
        line["kind"] == "handoff" && line["change"] == "completed"
    });
    any("refusal here", &|line| {
        line["reason"] == "tier-not-granted" && line["id"].is_string()
    });
    any("refusal there", &|line| {
        line["peer-reason"] == "tier-not-granted"
    });
    any("answer that declines", &|line| {
        line["peer-reason"] == "declined"
    });
    any("sealed message that came", &|line| {
        line["dir"] == "in" && line["copy"].is_object()
    });
    any("sealed message that went", &|line| {
        line["dir"] == "out" && line["copy"].is_object()
    });
    any("approval", &|line| line["decision"] == "approved");
    any("approval that was not given", &|line| {
        line["decision"] == "refused"
    });
    any("stranger", &|line| line["change"] == "pending");
    any("pause", &|line| line["kind"] == "pause");
    any("unproven input", &|line| line["raw"].is_string());
    any("try that failed", &|line| line["what"] == "failed");
    any("message that its own side refused", &|line| {
        line["kind"] == "attempt" && line["type"] == "request"
    });
    any("call that its agent may not make", &|line| {
        line["kind"] == "attempt" && line["call"] == "trust.approve"
    });
}

/// The module says the same of lines of either version.
#[test]
fn the_module_reads_the_log_of_an_older_release() {
    let log = "crates/audit/tests/vectors/v1/inter-agent-2026-11.jsonl";
    let ask = |filter: &str| {
        answer(&format!(
            "jq -r -L audit 'include \"signet\"; {filter}' {log}"
        ))
    };
    assert_eq!(ask("said | .id").lines().count(), 13);
    assert!(
        ask("said | row")
            .contains("agent-alice-001 -> me\trequest\tAsks for free evenings next week\n")
    );
    assert_eq!(
        ask("refused | .reason"),
        "root-changed\nsignature-invalid\nduplicate\ncertificate-revoked\n"
    );
    assert_eq!(ask("unanswered"), "");
    assert_eq!(
        ask("select(.kind == \"handoff\") | line | .id")
            .lines()
            .count(),
        6
    );
    let task = "01a1fed2-4b85-7221-874c-f185200d1d47";
    assert_eq!(
        ask(&format!("task(\"{task}\") | .change")).lines().count(),
        6
    );
    assert_eq!(
        ask(&format!("thread(\"{task}\") | .type // .kind"))
            .lines()
            .count(),
        7
    );
}

/// Whatever jq was called with, a question about the whole log reads all of it.
#[test]
fn a_question_about_the_whole_log_is_answered_with_and_without_n_and_s() {
    let log = "crates/audit/tests/vectors/v1/inter-agent-2026-11.jsonl";
    let ask = |flags: &str| {
        answer(&format!(
            "jq {flags} -c -L audit 'include \"signet\"; refused' {log}"
        ))
    };
    let said = ask("");
    assert_eq!(said.lines().count(), 4);
    assert_eq!((ask("-n"), ask("-s")), (said.clone(), said));
}

/// Each kind of what an agent was not allowed, one line each.
const NOT_ALLOWED: &str = r#"{"v":2,"seq":1,"ts":"2026-11-22T10:00:00.000Z","kind":"attempt","peer":"bob","reason":"tier-not-granted","count":1,"type":"request","tier":3,"capability":"door.open"}
{"v":2,"seq":2,"ts":"2026-11-22T10:00:01.000Z","kind":"attempt","peer":null,"reason":"not-for-this-socket","count":7,"call":"trust.approve"}
{"v":2,"seq":3,"ts":"2026-11-22T10:00:02.000Z","kind":"draft","peer":"bob","id":"01","message":{"params":{"headers":{},"body":{"pin":1}}}}
{"v":2,"seq":4,"ts":"2026-11-22T10:00:03.000Z","kind":"approval","peer":"bob","id":"01","decision":"refused"}
{"v":2,"seq":5,"ts":"2026-11-22T10:00:03.500Z","kind":"outcome","peer":"bob","id":"01","what":"draft-refused","try":1,"reason":"not-approved"}
{"v":2,"seq":6,"ts":"2026-11-22T10:00:04.000Z","kind":"message","dir":"out","verdict":"sent","class":"application","peer":"bob","type":"request","id":"02","summary":"Asks for the key","message":{"params":{"headers":{}}}}
{"v":2,"seq":7,"ts":"2026-11-22T10:00:05.000Z","kind":"message","dir":"in","verdict":"accepted","class":"application","peer":"bob","type":"response","id":"03","in-reply-to":"02","peer-reason":"declined","message":{"error":{"message":"no","data":{"headers":{}}}}}
{"v":2,"seq":8,"ts":"2026-11-22T10:00:06.000Z","kind":"loss","line":12,"hash":"00"}
"#;

#[test]
fn all_that_an_agent_was_not_allowed_is_one_question() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log.jsonl");
    fs::write(&log, NOT_ALLOWED).unwrap();
    let ask = |filter: &str| {
        answer(&format!(
            "jq -r -L audit 'include \"signet\"; {filter}' {}",
            log.display()
        ))
    };
    assert_eq!(
        ask("forbidden | [.by, .reason, .count, .what] | @tsv"),
        "me\ttier-not-granted\t1\trequest, tier 3, door.open: tier-not-granted\n\
         me\tnot-for-this-socket\t7\tcalls trust.approve, 7 times: not-for-this-socket\n\
         my person\tnot-approved\t1\t{\"pin\":1}\n\
         bob\tdeclined\t1\tAsks for the key\n"
    );
    let rows = ask("row");
    let ways: Vec<&str> = rows
        .lines()
        .map(|row| row.split('\t').nth(1).unwrap())
        .collect();
    assert_eq!(
        ways,
        [
            "me -> bob",
            "me",
            "me -> bob",
            "me -> bob",
            "me, about bob",
            "me -> bob",
            "bob -> me",
            "me"
        ],
        "{rows}"
    );
    assert!(rows.contains("\tapproval\trefused\n"), "{rows}");
    assert!(
        rows.contains("\tloss\tline 12 was lost, and that was accepted\n"),
        "{rows}"
    );
}

/// The words in quotes between two texts of a source.
fn words_between(source: &str, from: &str, to: &str) -> BTreeSet<String> {
    let (_, rest) = source.split_once(from).unwrap();
    let (part, _) = rest.split_once(to).unwrap();
    let words = part.split('"').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

/// Every kind that the writer knows stands in the table of the page, and can be asked for.
#[test]
fn the_table_of_the_page_has_every_kind_of_line() {
    let entries = read("crates/proto/src/entry.rs");
    let (_, table) = entries.split_once("\nlines! {\n").unwrap();
    let (table, _) = table.split_once("\n}\n").unwrap();
    let kind = |row: &str| row.split('"').nth(1).unwrap().to_owned();
    let mut kinds: BTreeSet<_> = table.lines().map(kind).collect();
    let marks = read("crates/audit/src/record.rs");
    let marks = words_between(&marks, "impl Mark {", "pub(crate) const ALL:");
    assert!(kinds.len() >= 16 && marks.len() == 4, "{kinds:?} {marks:?}");
    kinds.extend(marks);
    let (page, protocol) = (read("audit/README.md"), read("docs/protocol.md"));
    let row = page.lines().find(|line| line.starts_with("- `kind`: "));
    for kind in &kinds {
        assert!(row.unwrap().contains(&format!("`{kind}`")), "{kind}");
        assert!(protocol.contains(&format!("`{kind}`")), "{kind}");
    }
    let asked: BTreeSet<_> = signet_audit::kinds()
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(asked, kinds);
}

#[test]
fn the_recipes_and_the_clients_are_where_the_page_says_after_an_install() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display().to_string();
    let program = env!("CARGO_BIN_EXE_signet");
    let installed = Command::new("sh")
        .args(["scripts/install", "install"])
        .env("DESTDIR", &root)
        .env("PREFIX", "/usr")
        .env("SIGNET", program)
        .current_dir(top())
        .output()
        .unwrap();
    assert!(installed.status.success(), "{installed:?}");
    // As the page says it: in the folder above, and from anywhere else by its path.
    let log = "audit/sample/agent-alice-001/inter-agent-*.jsonl";
    let there = answer(&format!(
        "cd {root}/usr/share/signet && jq -r -L audit 'include \"signet\"; unanswered | row' {log}"
    ));
    assert!(there.contains("me -> agent-bob-001"), "{there}");
    let elsewhere = answer(&format!(
        "jq -r -L {root}/usr/share/signet/audit 'include \"signet\"; unanswered | row' {log}"
    ));
    assert_eq!(there, elsewhere);
    let page = read("audit/README.md");
    assert!(page.contains("jq -L /usr/share/signet/audit"));
    let listed = answer(&format!(
        "tar -tzf {root}/usr/share/signet/clients/signet_agent-0.1.0.tar.gz"
    ));
    for file in [
        "pyproject.toml",
        "README.md",
        "src/signet_agent/agent.py",
        "src/signet_agent/py.typed",
    ] {
        let file = format!("signet_agent-0.1.0/{file}");
        assert!(listed.lines().any(|line| line == file), "{file}: {listed}");
    }
    assert!(!listed.contains("pycache"), "{listed}");
    let said = String::from_utf8_lossy(&installed.stderr);
    let is_built = top().join("clients/typescript/dist/index.js").exists();
    assert_eq!(said.contains(LEFT_OUT), !is_built, "{said}");
    if is_built {
        let listed = answer(&format!(
            "tar -tzf {root}/usr/share/signet/clients/signet-agent-*.tgz"
        ));
        for file in ["package.json", "README.md", "dist/index.js"] {
            let file = format!("package/{file}");
            assert!(listed.lines().any(|line| line == file), "{file}: {listed}");
        }
    }
}

/// What an install says where the TypeScript client was not compiled.
const LEFT_OUT: &str = "the TypeScript client is left out: it is not built";

#[test]
fn an_install_without_the_built_typescript_client_says_that_it_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    // The repository as it is on a machine without Node.
    let source = dir.path().join("source");
    let clients = source.join("clients");
    fs::create_dir_all(clients.join("typescript")).unwrap();
    let link = |from: PathBuf, to: PathBuf| std::os::unix::fs::symlink(from, to).unwrap();
    for entry in fs::read_dir(top()).unwrap() {
        let name = entry.unwrap().file_name();
        if name != "clients" {
            link(top().join(&name), source.join(&name));
        }
    }
    for part in ["python", "typescript/README.md", "typescript/package.json"] {
        link(top().join("clients").join(part), clients.join(part));
    }
    let root = dir.path().join("root");
    let mut install = Command::new("sh");
    install.arg(source.join("scripts/install")).arg("install");
    install.env("DESTDIR", &root).env("PREFIX", "/usr");
    install.env("SIGNET", env!("CARGO_BIN_EXE_signet"));
    let installed = install.output().unwrap();
    let said = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success(), "{said}");
    assert!(said.contains(LEFT_OUT), "{said}");
    let given = fs::read_dir(root.join("usr/share/signet/clients")).unwrap();
    let given = given.map(|entry| entry.unwrap().path());
    let mut archives = given.filter(|path| path.extension().is_some_and(|end| end == "tgz"));
    assert_eq!(archives.next(), None);
}

/// A summary from outside cannot move the cursor, forge a second row, or turn the text around.
#[test]
fn a_row_is_one_harmless_line_whatever_a_stranger_wrote() {
    let evil = "a\u{1b}[2J\r\nb\t\u{202e}c\u{200b}\u{9b}31m\u{2028}d\u{7f}";
    let line = json!({"v": 2, "kind": "message", "class": "application", "verdict": "accepted", "dir": "in",
        "ts": "2026-11-22T10:00:00.000Z", "peer": "agent-bob", "type": "request", "summary": evil});
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("line.jsonl");
    fs::write(&file, line.to_string()).unwrap();
    let row = answer(&format!(
        "jq -r -L audit 'include \"signet\"; said | row' {}",
        file.display()
    ));
    let hidden = |c: char| c.is_control() || "\u{202e}\u{200b}\u{2028}".contains(c);
    assert_eq!(
        row.trim_end_matches('\n').matches('\t').count(),
        3,
        "{row:?}"
    );
    assert!(
        !row.trim_end_matches('\n')
            .replace('\t', " ")
            .contains(hidden),
        "{row:?}"
    );
}

/// Alice's agent, Bob's, and Carol's, whom nobody knows yet.
struct Household {
    house: House,
    alice: Home,
    bob: Home,
    carol: Home,
}

impl Household {
    fn found() -> Self {
        let house = House::new();
        let home = |name: &str| {
            let home = house.made(name, &format!("agent-{name}-001"), name, &[]);
            home.configure("# tier = 2", "tier = 4");
            home
        };
        let mut all = Self {
            alice: home("alice"),
            bob: home("bob"),
            carol: home("carol"),
            house,
        };
        all.house.acquaint(&[&all.alice, &all.bob]);
        for home in [&mut all.alice, &mut all.bob, &mut all.carol] {
            home.start();
        }
        all.alice.ping(&all.bob);
        all
    }
}

/// Sends and does not wait; the message-id.
fn says(from: &Home, to: &Home, summary: &str, mut params: Value) -> String {
    params["peer"] = to.agent.as_str().into();
    params["summary"] = summary.into();
    let sent = from.call("send", &params).unwrap();
    sent["message-id"].as_str().unwrap().to_owned()
}

/// Until the message waits in the inbox.
fn arrives(at: &Home, id: &str) {
    eventually(&format!("{id} arrives at {}", at.agent), || {
        at.inbox()
            .iter()
            .any(|item| item["message-id"] == id)
            .then_some(())
    });
}

fn answers_with(home: &Home, id: &str, summary: &str, body: &Value) {
    arrives(home, id);
    let reply = json!({"message": {"message-id": id}, "summary": summary, "body": body});
    home.call("respond", &reply).unwrap();
}

fn takes(home: &Home, from: &Home, id: &str) {
    arrives(home, id);
    let taken = json!({"messages": [{"from": from.agent, "message-id": id}]});
    home.call("acknowledge", &taken).unwrap();
}

/// Until the log has a line that fits.
fn logs(home: &Home, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    eventually(&format!("{} logs {what}", home.agent), || {
        home.log().into_iter().find(|line| fits(line))
    })
}

/// Another limit from now on; the peer's agent goes by what it heard in the session.
fn restarts_with(home: &mut Home, from: &str, to: &str) {
    assert!(home.stop().success());
    home.configure(from, to);
    home.start();
}

fn dinner(all: &Household) {
    let (alice, bob) = (&all.alice, &all.bob);
    let asked = says(
        bob,
        alice,
        "Asks for free evenings next week",
        json!({"kind": "request", "body": {"week": "2026-W48"}, "data-tier": 2, "conversation-id": "dinner-2026-48"}),
    );
    answers_with(
        alice,
        &asked,
        "Tuesday and Thursday are free",
        &json!({"evenings": ["Tue", "Thu"]}),
    );
    let fixed = says(
        bob,
        alice,
        "Dinner on Tuesday at half past seven",
        json!({"kind": "notification", "body": {"dinner": "Tue 19:30"}, "data-tier": 2, "conversation-id": "dinner-2026-48"}),
    );
    takes(alice, bob, &fixed);
    let asked = says(
        alice,
        bob,
        "Shall we bring dessert?",
        json!({"kind": "request", "body": {"dessert": true}, "conversation-id": "dinner-2026-48"}),
    );
    arrives(bob, &asked);
    bob.call(
        "respond",
        &json!({"message": {"message-id": asked}, "decline": "there will be cake"}),
    )
    .unwrap();
    logs(alice, "the answer", |line| {
        line["peer-reason"] == "declined"
    });
    // Nobody answers these two.
    let cat = says(
        alice,
        bob,
        "Can you feed the cat in January?",
        json!({"kind": "request", "body": {"from": "2027-01-04", "to": "2027-01-10"}, "conversation-id": "cat-2027"}),
    );
    arrives(bob, &cat);
    let ladder = says(
        bob,
        alice,
        "May I borrow the ladder?",
        json!({"kind": "request", "body": {"until": "Sunday"}}),
    );
    arrives(alice, &ladder);
}

fn secrets(all: &Household) {
    let (alice, bob) = (&all.alice, &all.bob);
    let asked = says(
        bob,
        alice,
        "Who is your doctor?",
        json!({"kind": "request", "body": {"for": "a fever"}, "data-tier": 3}),
    );
    answers_with(
        alice,
        &asked,
        "Doctor Ames",
        &json!({"telephone": "555 0100"}),
    );
    let held = |summary: &str| {
        let params =
            json!({"kind": "notification", "body": {"alarm": "off at noon"}, "data-tier": 4});
        says(alice, bob, summary, params)
    };
    let approved = held("For the locksmith");
    alice.done(&["approve", &approved]);
    takes(bob, alice, &approved);
    let kept = held("The code of the safe");
    alice.done(&["approve", &kept, "--refuse"]);
}

fn work(all: &Household) {
    let (alice, bob) = (&all.alice, &all.bob);
    let hand = |from: &Home, to: &Home, goal: &str| {
        let handing = json!({"peer": to.agent, "goal": goal, "capabilities": ["calendar.free-busy"], "tier": 2, "depth": 0, "lasts": 86_400});
        let task = from.call("handoff.send", &handing).unwrap()["task"]
            .as_str()
            .unwrap()
            .to_owned();
        eventually("it arrives", || {
            to.call("handoff.show", &json!({"task": task})).ok()
        });
        task
    };
    let choir = hand(alice, bob, "Find an evening for the choir");
    bob.done(&["handoff", "accept", &choir]);
    bob.done(&[
        "handoff",
        "report",
        &choir,
        "working",
        "--note",
        "asking the altos",
    ]);
    bob.done(&[
        "handoff",
        "report",
        &choir,
        "completed",
        "--result",
        "{\"evening\":\"Wed\"}",
    ]);
    let roof = hand(bob, alice, "Find somebody who mends the roof");
    alice.done(&["handoff", "accept", &roof]);
    alice.done(&[
        "handoff",
        "report",
        &roof,
        "failed",
        "--note",
        "nobody before spring",
    ]);
    let trip = hand(alice, bob, "Plan the trip to the sea");
    bob.done(&["handoff", "decline", &trip, "--why", "too much to do"]);
    let garden = hand(bob, alice, "Water the garden");
    alice.done(&["handoff", "accept", &garden]);
    for (task, change) in [(&choir, "completed"), (&trip, "declined")] {
        logs(alice, change, |line| {
            line["task"] == task.as_str() && line["change"] == change
        });
    }
}

/// Each side has become stricter, and the other does not know it yet.
fn refusals(all: &mut Household) {
    restarts_with(&mut all.alice, "\ntier = 4", "\ntier = 1");
    let (alice, bob) = (&all.alice, &all.bob);
    says(
        bob,
        alice,
        "Asks for the code of the door",
        json!({"kind": "request", "body": {"door": "front"}, "data-tier": 2}),
    );
    logs(alice, "a refusal", |line| {
        line["reason"] == "tier-not-granted"
    });
    restarts_with(&mut all.alice, "\ntier = 1", "\ntier = 4");
    restarts_with(&mut all.bob, "\ntier = 4", "\ntier = 1");
    let (alice, bob) = (&all.alice, &all.bob);
    let asked = says(
        alice,
        bob,
        "Asks where the spare key is",
        json!({"kind": "request", "body": {"key": "spare"}, "data-tier": 2}),
    );
    let told = says(
        alice,
        bob,
        "The plumber comes at ten",
        json!({"kind": "notification", "body": {"plumber": "10:00"}, "data-tier": 2}),
    );
    logs(alice, "bob's refusal", |line| {
        line["peer-reason"] == "tier-not-granted" && line["in-reply-to"] == asked.as_str()
    });
    logs(bob, "his refusal", |line| {
        line["reason"] == "tier-not-granted" && line["id"] == told.as_str()
    });
    logs(alice, "bob's receipt", |line| {
        let except = &line["message"]["params"]["body"]["except"];
        line["method"] == "agent.receipt"
            && line["dir"] == "in"
            && except.as_array().is_some_and(|list| list.len() == 2)
    });
    restarts_with(&mut all.bob, "\ntier = 1", "\ntier = 4");
}

fn strangers(all: &Household) {
    let Household {
        house,
        alice,
        carol,
        ..
    } = all;
    let hello = says(
        carol,
        alice,
        "Carol of the choir would like to meet",
        json!({"kind": "notification", "body": {"from": "the choir"}}),
    );
    let root = |home: &Home, of: &Home| {
        let first = eventually("a stranger waits", || {
            let pending = home.call("trust.pending", &json!({})).unwrap();
            pending["pending"]
                .as_array()?
                .iter()
                .find(|waits| waits["agent"] == of.agent.as_str())
                .cloned()
        });
        first["root"].as_str().unwrap().to_owned()
    };
    alice.done(&[
        "trust",
        "approve",
        &carol.agent,
        "--root",
        &root(alice, carol),
    ]);
    carol.done(&[
        "trust",
        "approve",
        &alice.agent,
        "--root",
        &root(carol, alice),
    ]);
    takes(alice, carol, &hello);
    let mut eve = house.made("eve", "agent-eve-001", "eve", &[]);
    eve.start();
    says(
        &eve,
        alice,
        "You have won a prize",
        json!({"kind": "notification", "body": {"prize": true}}),
    );
    root(alice, &eve);
    alice.done(&["trust", "refuse", &eve.agent]);
    alice.hears(&mut Sender::new(house), b"GET / HTTP/1.1\r\n\x1b[2J");
    assert!(eve.stop().success());
}

fn troubles(all: &Household) {
    let (alice, carol) = (&all.alice, &all.carol);
    let odd = says(
        carol,
        alice,
        "The notes of the new song",
        json!({"kind": "notification", "body": {"notes": "c d e"}}),
    );
    let mut handler = alice.client().unwrap();
    for _ in 1..=2 {
        let lease = receive(&mut handler, &odd)["lease"].clone();
        let failed = json!({"lease": lease, "reason": "exit status 1", "pause": 0});
        handler.raw("fail", &failed).unwrap();
    }
    let leased = receive(&mut handler, &odd);
    let done = json!({"lease": leased["lease"]});
    handler.raw("acknowledge", &done).unwrap();
    alice.done(&["pause"]);
    alice.done(&["resume"]);
    logs(alice, "that it goes on", |line| {
        line["kind"] == "pause" && line["paused"] == false
    });
}

/// What Alice's agent tries and her own side refuses.
fn attempts(all: &Household) {
    let (alice, bob) = (&all.alice, &all.bob);
    let open = json!({"peer": bob.agent, "kind": "request", "capability": "door.open", "summary": "Open the door", "body": {}});
    alice.call("send", &open).unwrap_err();
    let mut agent = Client::connect(&alice.dir.join("agent.sock"), PATIENCE).unwrap();
    let eve = json!({"agent": "agent-eve-001"});
    agent.raw("trust.approve", &eve).unwrap_err();
    for member in ["type", "call"] {
        logs(alice, member, |line| {
            line["kind"] == "attempt" && line[member].is_string()
        });
    }
}

fn copy_log(home: &Home) {
    let to = sample().join(&home.agent);
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(home.dir.join("audit").join(&home.agent)).unwrap() {
        let from = entry.unwrap().path();
        if from
            .extension()
            .is_some_and(|end| end == "jsonl" || end == "checkpoints")
        {
            fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
        }
    }
}

/// Plays an afternoon of a household with real daemons, and keeps the logs of Alice's agent and of Bob's.
/// Read what it changes in `answers.md` before it is committed.
#[test]
#[ignore = "writes audit/sample anew: make sample"]
fn make_the_sample() {
    let mut all = Household::found();
    dinner(&all);
    secrets(&all);
    work(&all);
    refusals(&mut all);
    strangers(&all);
    troubles(&all);
    attempts(&all);
    for home in [&mut all.alice, &mut all.bob, &mut all.carol] {
        assert!(home.stop().success());
    }
    let day = all.alice.log().last().unwrap()["ts"].as_str().unwrap()[..10].to_owned();
    let _ = fs::remove_dir_all(sample());
    copy_log(&all.alice);
    copy_log(&all.bob);
    let readme = read("audit/README.md");
    let begin = format!(
        "log=audit/sample/agent-alice-001/inter-agent-{}.jsonl day={day} peer=agent-bob-001",
        &day[..7]
    );
    let line = |line: &str| match line.starts_with("log=audit/sample/") {
        true => format!("{begin}\n"),
        false => format!("{line}\n"),
    };
    fs::write(
        top().join("audit/README.md"),
        readme.lines().map(line).collect::<String>(),
    )
    .unwrap();
    fs::write(sample().join("answers.md"), answers()).unwrap();
    for (lang, page) in crate::digest::pages() {
        fs::write(crate::digest::kept(lang), page).unwrap();
    }
}
