//! Tasks for people: the chain step by step, in plain words.

use std::fmt::Write as _;

use serde_json::Value;
use signet_audit::{printable, visible};

use crate::cli::ask::{items, text};

/// All tasks, one on a line.
pub(super) fn list(tasks: &Value) -> String {
    let tasks = items(tasks, "tasks");
    if tasks.is_empty() {
        return "no tasks yet; signet handoff send PEER --goal TEXT\n".to_owned();
    }
    let line = |task: &Value| {
        let by = match text(task, "direction") {
            "held" => "from",
            _ => "to",
        };
        let line = format!(
            "{}  {:<9}  {by:<4}  {}  {}",
            text(task, "task"),
            text(task, "state"),
            text(task, "peer"),
            quoted(task, "goal"),
        );
        format!("{}\n", visible(line.trim_end()))
    };
    tasks.iter().map(line).collect()
}

/// One task: every step, where it stands, and what can follow.
pub(super) fn page(task: &Value) -> String {
    let mut page = String::new();
    put(
        &mut page,
        "task",
        &format!("{}  {}", text(task, "task"), quoted(task, "goal")),
    );
    write_steps(&mut page, task, 1);
    for given in items(task, "given-on") {
        let steps = items(given, "chain").len();
        put(&mut page, "and on", &standing(given));
        let last = items(given, "chain").last();
        if let Some(step) = last {
            write_step(&mut page, step, steps);
        }
    }
    put(&mut page, "stands", &standing(task));
    put(&mut page, "next", text(task, "next"));
    page
}

fn write_steps(page: &mut String, task: &Value, first: usize) {
    for (step, number) in items(task, "chain").iter().zip(first..) {
        write_step(page, step, number);
    }
}

fn write_step(page: &mut String, step: &Value, number: usize) {
    let giver = format!(
        "{} of {} gave it to {} at {}",
        text(step, "from"),
        text(step, "principal"),
        text(step, "to"),
        text(step, "issued-at"),
    );
    put(page, &format!("step {number}"), &giver);
    let authority = step.get("authority").unwrap_or(&Value::Null);
    let names: Vec<&str> = words(authority, "capabilities");
    let may = if names.is_empty() {
        "ask nobody for anything".to_owned()
    } else {
        format!("ask others for {}", names.join(", "))
    };
    put(page, "  may", &may);
    let number = |name: &str| {
        authority
            .get(name)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    };
    let on = match number("depth") {
        0 => "not to be handed on".to_owned(),
        1 => "to be handed on once more".to_owned(),
        times => format!("to be handed on {times} more times"),
    };
    let limits = format!(
        "data up to tier {}, {on}, until {}",
        number("tier"),
        text(authority, "not-after")
    );
    put(page, "  within", &limits);
    let narrowed = words(step, "narrowed");
    if !narrowed.is_empty() {
        put(page, "  narrowed", &narrowed.join(", "));
    }
    let proof = format!(
        "signature of {}, a key certified by {}'s root: {}",
        text(step, "key-id"),
        text(step, "principal"),
        text(step, "fingerprint")
    );
    put(page, "  proof", &proof);
}

fn standing(task: &Value) -> String {
    let (peer, state) = (text(task, "peer"), text(task, "state"));
    let held = text(task, "direction") == "held";
    let who = if held {
        format!("{state}, by this agent for {peer}")
    } else {
        format!("{state}, by {peer} for this agent")
    };
    let mut out = format!("{who}, since {}", text(task, "changed"));
    for said in [
        task.get("reason")
            .map(|_| format!("reason {}", text(task, "reason"))),
        Some(quoted(task, "note")),
    ] {
        if let Some(said) = said.filter(|said| !said.is_empty()) {
            let _ = write!(out, "  {said}");
        }
    }
    out
}

/// One line that nothing in it can leave.
fn put(page: &mut String, name: &str, words: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(
        page,
        "{}",
        visible(format!("{name:<11} {words}").trim_end())
    );
}

fn quoted(value: &Value, name: &str) -> String {
    let text = value.get(name).and_then(Value::as_str);
    text.map(|text| format!("\"{}\"", printable(text)))
        .unwrap_or_default()
}

fn words<'a>(value: &'a Value, name: &str) -> Vec<&'a str> {
    items(value, name)
        .iter()
        .filter_map(Value::as_str)
        .collect()
}
