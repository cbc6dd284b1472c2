//! Work that goes from hand to hand with less authority each time, and a thief of it.

use serde_json::{Value, json};
use signet_api::{
    AcceptTask, ListInbox, Message, ReportState, ReportTask, SendHandoff, ShowTask, ShownTask,
    State, Step, TaskState,
};
use signet_driver::{now, random};
use signet_json::canonical;
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::envelope::Method;
use signet_proto::handoff::{Authority, MandateRequest, TaskId};
use signet_proto::headers::ConversationId;
use signet_proto::ids::{Digest, MessageId, SessionId, Version};

use crate::attack::{Attacker, refused};
use crate::converse::ping;
use crate::household::Household;
use crate::member::{Member, header, text};
use crate::{DemoError, expect, step};

/// Alice hands bob a task, bob hands carol a part of it, and the result comes back. Gives the task.
pub(crate) fn hand_on(house: &Household) -> Result<String, DemoError> {
    let Household {
        alice, bob, carol, ..
    } = house;
    let handing = SendHandoff {
        peer: bob.id.clone(),
        goal: GOAL.to_owned(),
        capabilities: Some(vec![LOOK.to_owned(), "calendar.write".to_owned()]),
        tier: Some(2),
        depth: Some(1),
        lasts: Some(3600),
        ..SendHandoff::default()
    };
    let task = hand(alice, bob, &handing)?;
    let part = SendHandoff {
        peer: carol.id.clone(),
        goal: "Ask the choir which evenings are free".to_owned(),
        under: Some(task.clone()),
        capabilities: Some(vec![LOOK.to_owned()]),
        tier: Some(1),
        ..SendHandoff::default()
    };
    expect(hand(bob, carol, &part)? == task, "it stays the same task")?;
    let show = ShowTask { task: task.clone() };
    let shown = carol.call(&show)?;
    step(&format!(
        "handoff \"{GOAL}\", as carol's agent sees it: {}",
        chain(&shown.chain)?
    ))?;
    let result = json!({"evening": "Tue"});
    let report = ReportTask {
        task: task.clone(),
        state: ReportState::Completed,
        note: None,
        result: Some(result.clone()),
    };
    // Report from the last agent back to the first: each holder of the task reports only to the agent that gave it the task.
    for (holder, giver) in [(carol, bob), (bob, alice)] {
        holder.call(&report)?;
        reported(giver, holder, &result)?;
    }
    let shown = alice.call(&show)?;
    expect(
        shown.task.state == TaskState::Completed,
        "the task is completed for whoever began it",
    )?;
    step(&format!(
        "carol's agent reports it completed, bob's to alice's: {result}"
    ))?;
    Ok(task)
}

/// Alice's second agent spins on the mandate that bob holds, as if it were its own.
pub(crate) fn steal(
    house: &Household,
    attacker: &mut Attacker,
    task: &str,
) -> Result<(), DemoError> {
    let Household {
        bob, helper, carol, ..
    } = house;
    // Make a session first: without one the forged handoff would be refused before its mandate is looked at.
    acquaint(helper, carol)?;
    let stolen = bob.wait_line("bob's log holds the handoff", |line| {
        text(line, "kind") == "handoff" && text(line, "dir") == "in" && text(line, "task") == task
    })?;
    let first = stolen.pointer("/chain/0");
    let first = first.ok_or_else(|| DemoError::Missed("a mandate is in the log".into()))?;
    let message = forge(helper, carol, first)?;
    let what = "alice's second agent uses the handoff that was given to bob's";
    refused(carol, "mandate-invalid", what, || {
        attacker.publish(&carol.id, &message)
    })
}

/// Gives, and waits until it is there and accepted.
fn hand(from: &Member, to: &Member, handing: &SendHandoff) -> Result<String, DemoError> {
    let task = from.call(handing)?.task;
    let task = task.ok_or_else(|| DemoError::Missed("a handoff has a task".into()))?;
    let show = ShowTask { task: task.clone() };
    let is_offered = |shown: &ShownTask| shown.task.state == TaskState::Offered;
    to.wait_answer("a handoff arrives", &show, is_offered)?;
    to.call(&AcceptTask { task: task.clone() })?;
    let accepted = |line: &Value| {
        text(line, "kind") == "handoff"
            && text(line, "dir") == "out"
            && text(line, "task") == task
            && text(line, "change") == "accepted"
    };
    from.wait_line("a handoff is accepted", accepted)?;
    Ok(task)
}

/// The chain in a few words: who gave it to whom, and what became less.
fn chain(steps: &[Step]) -> Result<String, DemoError> {
    let words = steps.iter().map(|step| {
        let way = format!("{} to {}", step.from, step.to);
        match step.narrowed.is_empty() {
            true => way,
            false => format!("{way} ({})", step.narrowed.join(", ")),
        }
    });
    let words: Vec<String> = words.collect();
    let narrowed = words.last().is_some_and(|last| {
        last.contains("without calendar.write") && last.contains("tier 1 instead of 2")
    });
    expect(
        words.len() == 2 && narrowed,
        "the chain shows both steps, and the second is narrower",
    )?;
    Ok(words.join(", then "))
}

/// The result reaches the agent of whoever gave the task.
fn reported(giver: &Member, holder: &Member, result: &Value) -> Result<(), DemoError> {
    let came = |message: &Message| {
        let body = message.body.as_ref();
        message.from == holder.id
            && message.capability.as_deref() == Some("signet.task")
            && body.and_then(|body| body.get("result")) == Some(result)
    };
    let list = ListInbox::default();
    giver
        .wait_answer("a report arrives", &list, |inbox| {
            inbox.messages.iter().any(|waiting| came(&waiting.message))
        })
        .map(drop)
}

/// Both people add the other's agent, and a ping makes a session.
fn acquaint(one: &Member, other: &Member) -> Result<(), DemoError> {
    one.add(other)?;
    other.add(one)?;
    let pinged = one.call(&ping(&other.id))?;
    expect(
        pinged.state == State::Answered,
        "alice's second agent and carol's meet",
    )
}

/// A handoff from `thief` in its real session and with its real key, under a mandate for another.
fn forge(thief: &Member, victim: &Member, first: &Value) -> Result<Vec<u8>, DemoError> {
    let identity = thief.identity()?;
    let mandate = first.get("mandate").unwrap_or(&Value::Null);
    let task: TaskId = parsed(text(mandate, "task"))?;
    let next = MandateRequest {
        task,
        from: parsed(&thief.id)?,
        to: parsed(&victim.id)?,
        authority: Authority {
            capabilities: std::iter::once(parsed(LOOK)?).collect(),
            tier: 1,
            depth: 0,
            not_after: parsed(text(mandate, "not-after"))?,
        },
        parent: Some(Digest::of(&[&canonical(mandate)])),
        issued_at: now(),
    };
    let next = next.sign(&identity.signing)?;
    let certificate = identity.certificate.to_value();
    let spun_on = json!({"mandate": next.to_value(), "certificate": certificate});
    let body = json!({"task": task.to_string(), "goal": GOAL, "chain": [first, spun_on]});
    let id = message_id()?;
    let mut draft = Draft::call(Method::Handoff, parsed(&victim.id)?, id, body);
    // A handoff has its task as its conversation: a message with another conversation would be refused for that.
    draft.conversation_id = Some(parsed::<ConversationId>(text(mandate, "task"))?);
    sign(draft, &identity, thief, victim)
}

fn sign(
    draft: Draft,
    identity: &Identity,
    thief: &Member,
    victim: &Member,
) -> Result<Vec<u8>, DemoError> {
    let is_ours = |line: &Value| {
        text(line, "verdict") == "sent"
            && text(line, "peer") == victim.id
            && header(line, "session").is_some()
    };
    let line = thief.wait_line("the thief has a session", is_ours)?;
    let session: SessionId = parsed(header(&line, "session").unwrap_or_default())?;
    let version: Version = parsed(header(&line, "trust-layer-version").unwrap_or_default())?;
    let stamp = Stamp {
        now: now(),
        session: Some(session),
        sequence: Some(AHEAD),
        audit_head: None,
        version,
    };
    let missed = |reason| DemoError::Missed(format!("the thief signs a message: {reason}"));
    let signed = draft.sign(identity, stamp).map_err(missed)?;
    Ok(signed.bytes().to_vec())
}

fn message_id() -> Result<MessageId, DemoError> {
    let random = random().map_err(|error| DemoError::Missed(error.to_string()))?;
    let now = u64::try_from(now().as_millis()).unwrap_or_default();
    Ok(MessageId::from_parts(now, random))
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, DemoError> {
    let missed = |_| DemoError::Missed(format!("a name in a log is read: {text}"));
    text.parse().map_err(missed)
}

const GOAL: &str = "Find an evening for the choir";
const LOOK: &str = "calendar.free-busy";
/// A sequence number that the session has not reached.
const AHEAD: u64 = 20;
