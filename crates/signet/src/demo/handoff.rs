//! Work that goes from hand to hand with less authority each time, and a thief of it.

use serde_json::{Value, json};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::envelope::Method;
use signet_proto::handoff::{Authority, MandateRequest, TaskId};
use signet_proto::headers::ConversationId;
use signet_proto::ids::{Digest, MessageId, SessionId, Version};
use signet_proto::json::canonical;

use crate::{clock, random};

use super::attack::{Attacker, refused};
use super::household::Household;
use super::member::{Member, header, text};
use super::{DemoError, expect, step};

/// Alice hands bob a task, bob hands carol a part of it, and the result comes back. Gives the task.
pub(super) fn hand_on(house: &Household) -> Result<String, DemoError> {
    let Household {
        alice, bob, carol, ..
    } = house;
    let task = hand(
        alice,
        bob,
        &json!({
            "peer": bob.id, "goal": GOAL, "capabilities": ["calendar.free-busy", "calendar.write"],
            "tier": 2, "depth": 1, "lasts": 3600,
        }),
    )?;
    let part = json!({
        "peer": carol.id, "goal": "Ask the choir which evenings are free", "under": task,
        "capabilities": ["calendar.free-busy"], "tier": 1,
    });
    expect(hand(bob, carol, &part)? == task, "it stays the same task")?;
    let shown = carol.call("handoff.show", &json!({"task": task}))?;
    step(&format!(
        "handoff \"{GOAL}\", as carol's agent sees it: {}",
        chain(&shown)?
    ))?;
    let result = json!({"evening": "Tue"});
    let report = json!({"task": task, "state": "completed", "result": result});
    for (holder, giver) in [(carol, bob), (bob, alice)] {
        holder.call("handoff.report", &report)?;
        reported(giver, holder, &result)?;
    }
    let shown = alice.call("handoff.show", &json!({"task": task}))?;
    expect(
        text(&shown, "state") == "completed",
        "the task is completed for whoever began it",
    )?;
    step(&format!(
        "carol's agent reports it completed, bob's to alice's: {result}"
    ))?;
    Ok(task)
}

/// Alice's second agent spins on the mandate that bob holds, as if it were its own.
pub(super) fn steal(house: &Household, attacker: &Attacker, task: &str) -> Result<(), DemoError> {
    let Household {
        bob, helper, carol, ..
    } = house;
    acquaint(helper, carol)?;
    let stolen = bob.wait_line("bob's log holds the handoff", |line| {
        text(line, "kind") == "handoff" && text(line, "dir") == "in" && text(line, "task") == task
    })?;
    let first = stolen.pointer("/chain/0");
    let first = first.ok_or_else(|| DemoError::Missed("a mandate is in the log".into()))?;
    let message = forge(helper, carol, first)?;
    let what = "alice's second agent uses the handoff that was given to bob's";
    refused(carol, "mandate-invalid", what, || {
        attacker.publish(&carol.id, message)
    })
}

/// Gives, and waits until it is there and accepted.
fn hand(from: &Member, to: &Member, handing: &Value) -> Result<String, DemoError> {
    let sent = from.call("handoff.send", handing)?;
    let task = text(&sent, "task").to_owned();
    let params = json!({ "task": task });
    let stands = |state: &'static str| move |shown: &Value| text(shown, "state") == state;
    let show = ("handoff.show", params.clone());
    to.wait_answer("a handoff arrives", show, stands("offered"))?;
    to.call("handoff.accept", &params)?;
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
fn chain(shown: &Value) -> Result<String, DemoError> {
    let steps = shown.get("chain").and_then(Value::as_array);
    let words = steps.into_iter().flatten().map(|step| {
        let narrowed = step.get("narrowed").and_then(Value::as_array);
        let narrowed = narrowed.into_iter().flatten().filter_map(Value::as_str);
        let narrowed = narrowed.collect::<Vec<_>>().join(", ");
        let way = format!("{} to {}", text(step, "from"), text(step, "to"));
        match narrowed.is_empty() {
            true => way,
            false => format!("{way} ({narrowed})"),
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
    let came = |item: &Value| {
        text(item, "from") == holder.id
            && text(item, "capability") == "signet.task"
            && item.pointer("/body/result") == Some(result)
    };
    let is_there = |listed: &Value| {
        let items = listed
            .as_array()
            .or_else(|| listed.get("messages")?.as_array());
        items.into_iter().flatten().any(came)
    };
    giver
        .wait_answer("a report arrives", ("inbox.list", json!({})), is_there)
        .map(drop)
}

/// Both add the other's certificate, and a ping makes a session.
fn acquaint(one: &Member, other: &Member) -> Result<(), DemoError> {
    for (member, peer) in [(one, other), (other, one)] {
        let certificate = peer.certificate()?;
        let params = json!({"certificate": certificate.to_value()});
        member.call("peer.add", &params)?;
    }
    let ping = json!({"peer": other.id, "kind": "ping", "wait": 10});
    let pinged = one.call("send", &ping)?;
    expect(
        text(&pinged, "state") == "answered",
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
            capabilities: std::iter::once(parsed("calendar.free-busy")?).collect(),
            tier: 1,
            depth: 0,
            not_after: parsed(text(mandate, "not-after"))?,
        },
        parent: Some(Digest::of(&[&canonical(mandate)])),
        issued_at: clock::now(),
    };
    let next = next.sign(&identity.signing)?;
    let certificate = identity.certificate.to_value();
    let spun_on = json!({"mandate": next.to_value(), "certificate": certificate});
    let body = json!({"task": task.to_string(), "goal": GOAL, "chain": [first, spun_on]});
    let id = message_id()?;
    let mut draft = Draft::call(Method::Handoff, parsed(&victim.id)?, id, body);
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
        now: clock::now(),
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
    let random = random::bytes().map_err(|error| DemoError::Missed(error.to_string()))?;
    let now = u64::try_from(clock::now().as_millis()).unwrap_or_default();
    Ok(MessageId::from_parts(now, random))
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, DemoError> {
    let missed = |_| DemoError::Missed(format!("a name in a log is read: {text}"));
    text.parse().map_err(missed)
}

const GOAL: &str = "Find an evening for the choir";
/// A sequence number that the session has not reached.
const AHEAD: u64 = 20;
