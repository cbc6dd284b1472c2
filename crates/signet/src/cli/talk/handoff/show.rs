//! Tasks for people: the chain step by step, in plain words.

use std::fmt::Write as _;

use signet_api::{Direction, ShownTask, Step, Task};
use signet_audit::{printable, visible};

/// All tasks, one on a line.
pub(super) fn list(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "no tasks yet\n  next: signet handoff send PEER --goal TEXT\n".to_owned();
    }
    let line = |task: &Task| {
        let by = match task.direction {
            Direction::Held => "from",
            Direction::Given => "to",
        };
        let line = format!(
            "{}  {:<9}  {by:<4}  {}  {}",
            task.task,
            task.state.as_str(),
            task.peer,
            quoted(task.goal.as_deref()),
        );
        format!("{}\n", visible(line.trim_end()))
    };
    tasks.iter().map(line).collect()
}

/// One task: every step, where it stands, and what can follow.
pub(super) fn page(shown: &ShownTask) -> String {
    let (mut page, task) = (String::new(), &shown.task);
    let goal = quoted(task.goal.as_deref());
    put(&mut page, "task", &format!("{}  {goal}", task.task));
    for (step, number) in shown.chain.iter().zip(1..) {
        write_step(&mut page, step, number);
    }
    for given in &shown.given_on {
        put(&mut page, "and on", &standing(&given.task));
        if let Some(step) = given.chain.last() {
            write_step(&mut page, step, given.chain.len());
        }
    }
    put(&mut page, "stands", &standing(task));
    put(&mut page, "next", &task.next);
    page
}

fn write_step(page: &mut String, step: &Step, number: usize) {
    let giver = format!(
        "{} of {} gave it to {} at {}",
        step.from, step.principal, step.to, step.issued_at,
    );
    put(page, &format!("step {number}"), &giver);
    let authority = &step.authority;
    let may = match authority.capabilities.as_slice() {
        [] => "ask nobody for anything".to_owned(),
        names => format!("ask others for {}", names.join(", ")),
    };
    put(page, "  may", &may);
    let on = match authority.depth {
        0 => "not to be handed on".to_owned(),
        1 => "to be handed on once more".to_owned(),
        times => format!("to be handed on {times} more times"),
    };
    let limits = format!(
        "data up to tier {}, {on}, until {}",
        authority.tier, authority.not_after
    );
    put(page, "  within", &limits);
    if !step.narrowed.is_empty() {
        put(page, "  narrowed", &step.narrowed.join(", "));
    }
    let proof = format!(
        "signature of {}, a key certified by {}'s root: {}",
        step.key_id, step.principal, step.fingerprint
    );
    put(page, "  proof", &proof);
}

fn standing(task: &Task) -> String {
    let (peer, state) = (&task.peer, task.state.as_str());
    let who = match task.direction {
        Direction::Held => format!("{state}, by this agent for {peer}"),
        Direction::Given => format!("{state}, by {peer} for this agent"),
    };
    let mut out = format!("{who}, since {}", task.changed);
    if let Some(reason) = &task.reason {
        // Writing to a String cannot fail.
        let _ = write!(out, "  reason {reason}");
    }
    if task.note.is_some() {
        let _ = write!(out, "  {}", quoted(task.note.as_deref()));
    }
    out
}

/// Adds one line to the page. Control characters in the words are escaped, so they begin no other line.
fn put(page: &mut String, name: &str, words: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(
        page,
        "{}",
        visible(format!("{name:<11} {words}").trim_end())
    );
}

fn quoted(text: Option<&str>) -> String {
    text.map(|text| format!("\"{}\"", printable(text)))
        .unwrap_or_default()
}
