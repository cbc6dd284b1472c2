//! Tasks as the control socket shows them: who gave what to whom, what narrowed, what can follow.

use serde_json::{Map, Value, json};
use signet_proto::entry::Direction;
use signet_proto::handoff::{Authority, Link, TaskId, TaskState};
use signet_proto::keys::fingerprint;
use signet_proto::node::{Task, Tasks};
use signet_proto::time::Timestamp;

/// One task in short.
pub fn brief(task: &Task, now: Timestamp) -> Value {
    let mut out = Map::new();
    let mut put =
        |name: &str, value: Option<Value>| value.map(|value| out.insert(name.to_owned(), value));
    put("task", Some(task.id().to_string().into()));
    put("direction", Some(direction(task).into()));
    put("peer", Some(task.peer.as_str().into()));
    put("state", Some(task.state(now).as_str().into()));
    put("goal", task.given.goal.as_deref().map(Into::into));
    put("reason", task.reason.as_deref().map(Into::into));
    put("note", task.note.as_deref().map(Into::into));
    put("message-id", Some(task.offer.to_string().into()));
    put("data-tier", Some(task.given.tier.into()));
    put("authority", Some(authority(task.given.chain.authority())));
    put("began", Some(task.began.to_string().into()));
    put("changed", Some(task.changed.to_string().into()));
    put("next", Some(next(task, now).into()));
    Value::Object(out)
}

/// All that is known of the task of that name: the chain to us, and what we gave on from there.
pub fn whole(tasks: &Tasks, id: TaskId, now: Timestamp) -> Option<Value> {
    let held = tasks.held(id);
    let given: Vec<&Task> = tasks.given(id).collect();
    let shown = held.or(given.first().copied())?;
    let mut out = brief(shown, now);
    let others = given.iter().filter(|_| held.is_some());
    let given: Vec<Value> = others.map(|task| with_chain(task, now)).collect();
    if let Some(members) = out.as_object_mut() {
        members.insert("chain".into(), steps(shown));
        members.insert("given-on".into(), given.into());
    }
    Some(out)
}

fn with_chain(task: &Task, now: Timestamp) -> Value {
    let mut out = brief(task, now);
    if let Some(members) = out.as_object_mut() {
        members.insert("chain".into(), steps(task));
    }
    out
}

fn steps(task: &Task) -> Value {
    let links = task.given.chain.links();
    let before = links.clone().map(|link| &link.mandate.authority);
    let before = std::iter::once(None).chain(before.map(Some));
    let steps = links.zip(before);
    steps.map(|(link, before)| step(link, before)).collect()
}

fn step(link: &Link, before: Option<&Authority>) -> Value {
    let (mandate, certificate) = (&link.mandate, &link.certificate);
    json!({
        "from": mandate.from.as_str(),
        "principal": certificate.principal.as_str(),
        "to": mandate.to.as_str(),
        "authority": authority(&mandate.authority),
        "narrowed": before.map(|before| narrowed(before, &mandate.authority)).unwrap_or_default(),
        "issued-at": mandate.issued_at.to_string(),
        "key-id": certificate.signing_key.id().to_string(),
        "fingerprint": fingerprint(&certificate.root),
        "hash": mandate.hash().to_string(),
    })
}

fn authority(authority: &Authority) -> Value {
    let names = authority.capabilities.iter().map(|name| name.as_str());
    json!({
        "capabilities": names.collect::<Vec<_>>(),
        "tier": authority.tier,
        "depth": authority.depth,
        "not-after": authority.not_after.to_string(),
    })
}

/// In plain words, what the next holder may no longer do.
fn narrowed(before: &Authority, next: &Authority) -> Vec<String> {
    let lost = before.capabilities.difference(&next.capabilities);
    let mut words: Vec<String> = lost.map(|name| format!("without {name}")).collect();
    if next.tier < before.tier {
        words.push(format!("tier {} instead of {}", next.tier, before.tier));
    }
    words.push(format!("depth {} instead of {}", next.depth, before.depth));
    if next.not_after < before.not_after {
        let (until, instead) = (next.not_after, before.not_after);
        words.push(format!("until {until} instead of {instead}"));
    }
    words
}

fn direction(task: &Task) -> &'static str {
    match task.direction {
        Direction::In => "held",
        Direction::Out => "given",
    }
}

/// The exact next command.
fn next(task: &Task, now: Timestamp) -> String {
    let id = task.id();
    match (task.direction, task.state(now)) {
        (Direction::In, TaskState::Offered) => format!("signet handoff accept {id}"),
        (Direction::In, TaskState::Accepted) => format!("signet handoff report {id} working"),
        (Direction::In, TaskState::Working) => format!("signet handoff report {id} completed"),
        (Direction::In, _) => "signet handoff list".to_owned(),
        (Direction::Out, state) if state.is_open() => "signet inbox --follow".to_owned(),
        (Direction::Out, TaskState::Completed) => "signet inbox".to_owned(),
        (Direction::Out, _) => "signet handoff send PEER --goal TEXT".to_owned(),
    }
}
