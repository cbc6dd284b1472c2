//! Tasks as the sockets show them: who gave what to whom, what narrowed, what can follow.

use signet_api as api;
use signet_proto::entry::Direction;
use signet_proto::handoff::{Authority, Link, TaskId, TaskState};
use signet_proto::keys::fingerprint;
use signet_proto::node::{Task, Tasks};
use signet_proto::time::Timestamp;

use crate::reach::{Reach, Sees as _};

/// A task as a list shows it.
pub fn brief(task: &Task, now: Timestamp) -> api::Task {
    api::Task {
        task: task.id().to_string(),
        direction: match task.direction {
            Direction::In => api::Direction::Held,
            Direction::Out => api::Direction::Given,
        },
        peer: task.peer.to_string(),
        state: state(task.state(now)),
        goal: task.given.goal.clone(),
        reason: task.reason.clone(),
        note: task.note.clone(),
        message_id: task.offer.to_string(),
        data_tier: task.given.tier,
        authority: authority(task.given.chain.authority()),
        began: task.began.to_string(),
        changed: task.changed.to_string(),
        next: next(task, now),
    }
}

/// All that is known of the task of that name: the chain to us, and what we gave on from there.
pub fn whole(tasks: &Tasks, id: TaskId, now: Timestamp, reach: &Reach) -> Option<api::ShownTask> {
    let held = tasks.held(id);
    let given = tasks.given(id).filter(|task| reach.sees_task(task));
    let given: Vec<&Task> = given.collect();
    let shown = held.or(given.first().copied())?;
    let others = given.iter().filter(|_| held.is_some());
    let given_on = others.map(|task| api::TaskWithChain {
        task: brief(task, now),
        chain: steps(task),
    });
    Some(api::ShownTask {
        task: brief(shown, now),
        chain: steps(shown),
        given_on: given_on.collect(),
    })
}

const fn state(state: TaskState) -> api::TaskState {
    match state {
        TaskState::Offered => api::TaskState::Offered,
        TaskState::Accepted => api::TaskState::Accepted,
        TaskState::Working => api::TaskState::Working,
        TaskState::Declined => api::TaskState::Declined,
        TaskState::Completed => api::TaskState::Completed,
        TaskState::Failed => api::TaskState::Failed,
        TaskState::Returned => api::TaskState::Returned,
        TaskState::Expired => api::TaskState::Expired,
    }
}

fn steps(task: &Task) -> Vec<api::Step> {
    let links = task.given.chain.links();
    let before = links.clone().map(|link| &link.mandate.authority);
    let before = std::iter::once(None).chain(before.map(Some));
    let steps = links.zip(before);
    steps.map(|(link, before)| step(link, before)).collect()
}

fn step(link: &Link, before: Option<&Authority>) -> api::Step {
    let (mandate, certificate) = (&link.mandate, &link.certificate);
    api::Step {
        from: mandate.from.to_string(),
        principal: certificate.principal.to_string(),
        to: mandate.to.to_string(),
        authority: authority(&mandate.authority),
        narrowed: before
            .map(|before| narrowed(before, &mandate.authority))
            .unwrap_or_default(),
        issued_at: mandate.issued_at.to_string(),
        key_id: certificate.signing_key.id().to_string(),
        fingerprint: fingerprint(&certificate.root),
        hash: mandate.hash().to_string(),
    }
}

fn authority(authority: &Authority) -> api::Authority {
    api::Authority {
        capabilities: authority
            .capabilities
            .iter()
            .map(ToString::to_string)
            .collect(),
        tier: authority.tier,
        depth: authority.depth,
        not_after: authority.not_after.to_string(),
    }
}

/// What the next holder of a task may no longer do, in plain words.
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
