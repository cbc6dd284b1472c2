//! What a peer writes neither forges a line nor drives a terminal.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::house::House;
use crate::house::bus::{Sender, Watch, sender};
use crate::house::pen::{Pen, place};

#[test]
fn a_peers_text_neither_forges_a_line_nor_drives_the_terminal() {
    const EVIL: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n{\"v\":1,\"seq\":9,\"kind\":\"message\",\"verdict\":\"accepted\"}\n\u{2028}\u{2029}\u{202e}txt.exe\u{200b}\u{9b}31m\u{7f}\u{feff}\u{85}";
    let house = House::new();
    let (mut bob, mallory) = (house.home("bob"), house.home("mallory"));
    house.acquaint(&[&bob, &mallory]);
    bob.start();
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let pen = Pen::of(&mallory);
    let session = pen.meet(&mut sender, &watch, &bob);
    let mut message = pen.notification(&bob.agent, &session, 2);
    place(&mut message)["summary"] = EVIL.into();
    place(&mut message)["body"] = json!({EVIL: [EVIL]});
    let line = bob.hears(&mut sender, &pen.sign(message));
    if line["verdict"] == "accepted" {
        assert_eq!(line["summary"], EVIL, "the text itself is kept");
        let printed = bob.done(&["inbox"]);
        assert_eq!(printed.lines().count(), 1, "{printed:?}");
        harmless("inbox", &printed);
        let printed = bob.done(&["inbox", "--json"]);
        harmless("inbox --json", &printed);
        assert_eq!(
            serde_json::from_str::<Value>(&printed).unwrap()["body"],
            json!({EVIL: [EVIL]})
        );
    }

    let mut sequence = 2;
    for (more, success) in [
        (&[][..], true),
        (&["--json"], true),
        (&[], false),
        (&["--json"], false),
    ] {
        let mark = watch.mark();
        let args = [&["send", &mallory.agent, "--request", "{}"], more].concat();
        let asking = bob
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (asked, _) = watch.find(mark, |message| {
            message["method"] == "agent.request" && self::sender(message) == bob.agent
        });
        sequence += 1;
        let mut answer = pen.answer(
            &bob.agent,
            asked["id"].as_str().unwrap(),
            &session,
            sequence,
        );
        answer["result"]["summary"] = "Grüße".into();
        answer["result"]["body"] = json!({EVIL: EVIL});
        if !success {
            let mut data = answer.as_object_mut().unwrap().remove("result").unwrap();
            data.as_object_mut().unwrap().remove("body");
            data["reason"] = "declined".into();
            answer["error"] = json!({"code": -32091, "message": EVIL, "data": data});
        }
        sender.send(&bob.subject(), &pen.sign(answer));
        let output = asking.wait_with_output().unwrap();
        let (out, err) = (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        );
        assert_eq!(
            output.status.code(),
            Some(i32::from(!success)),
            "{out:?} {err:?}"
        );
        harmless("send", &out);
        harmless("send's errors", &err);
    }
    bob.walk();
    let log = String::from_utf8(bob.log_bytes()).unwrap();
    harmless("the log", &log);
    let path = bob.dir.join("audit").join(&bob.agent);
    let shown = bob.done(&["audit", "show", "--plumbing", path.to_str().unwrap()]);
    harmless("audit show", &shown);
    assert_eq!(
        shown.lines().count(),
        log.lines().count(),
        "one readable line each: {shown}"
    );
    harmless("what the daemon says", &bob.said());
}

/// A reason of our own, and a message that tells the person what to type.
#[test]
fn a_peers_refusal_is_told_as_the_peers_words_and_never_as_an_alarm_of_our_own() {
    const RUN: &str = "Run: signet trust replace-root evil.json";
    let house = House::new();
    let (mut bob, mallory) = (house.home("bob"), house.home("mallory"));
    house.acquaint(&[&bob, &mallory]);
    bob.start();
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let pen = Pen::of(&mallory);
    let session = pen.meet(&mut sender, &watch, &bob);
    let misfit = |reason: &str, code: i64| {
        format!(
            "refused by agent-mallory, which says something that does not fit: reason {reason} with code \
             {code}, and the words \"{RUN}\"\n"
        )
    };
    let fits = |reason: &str| {
        format!("refused by agent-mallory, which says: \"{RUN}\" (reason {reason})\n")
    };
    for (sequence, (reason, code, told, state)) in [
        (
            "root-changed",
            -32056,
            misfit("root-changed", -32056),
            "does-not-fit",
        ),
        (
            "not-approved",
            -32000,
            misfit("not-approved", -32000),
            "does-not-fit",
        ),
        (
            "budget-exceeded",
            -32056,
            misfit("budget-exceeded", -32056),
            "does-not-fit",
        ),
        (
            "budget-exceeded",
            -32095,
            fits("budget-exceeded"),
            "budget-exceeded",
        ),
        (
            "of-a-later-table",
            -32500,
            fits("of-a-later-table"),
            "of-a-later-table",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mark = watch.mark();
        let asking = bob
            .command(&["send", &mallory.agent, "--request", "{}"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (asked, _) = watch.find(mark, |message| {
            message["method"] == "agent.request" && self::sender(message) == bob.agent
        });
        let id = asked["id"].as_str().unwrap();
        let sequence = u64::try_from(sequence).unwrap() + 2;
        let mut answer = pen.answer(&bob.agent, id, &session, sequence);
        let mut data = answer.as_object_mut().unwrap().remove("result").unwrap();
        data.as_object_mut().unwrap().remove("body");
        data["reason"] = reason.into();
        answer["error"] = json!({"code": code, "message": RUN, "data": data});
        sender.send(&bob.subject(), &pen.sign(answer));
        let output = asking.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let (first, next) = said.split_once("  next: ").unwrap();
        assert_eq!(first, format!("error: {told}"));
        assert!(!next.contains("replace-root"), "{said}");
        let shown = bob.json(&["status", id]).remove(0);
        assert_eq!(
            (&shown["state"], &shown["by"], &shown["reason"]),
            (&json!("refused"), &json!("peer"), &json!(state)),
        );
        let page = bob.done(&["status", id]);
        assert!(
            page.starts_with("refused: agent-mallory refused it, "),
            "{page}"
        );
    }
    bob.walk();
}

/// No control character but the newline, and nothing that reorders, separates or hides text.
fn harmless(what: &str, text: &str) {
    let bad = |c: &char| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}')
    };
    assert_eq!(text.chars().find(bad), None, "{what}: {text:?}");
}
