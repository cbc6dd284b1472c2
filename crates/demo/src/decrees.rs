//! What a person says with their own keys and every daemon obeys: pause, resume, revocation.

use serde_json::{Value, json};
use signet_api::{Kind, Pausing, Send, WaitsFor};
use signet_driver::DriverError;

use crate::attack::{Attacker, announce_as, refused};
use crate::household::Household;
use crate::member::{Member, is_verdict, text};
use crate::{DemoError, expect, step};

/// Told to one agent, a pause holds for the person's other agent as well, until both go on.
pub(crate) fn pause(house: &Household) -> Result<(), DemoError> {
    let Household {
        alice, bob, helper, ..
    } = house;
    tell(alice, helper, true)?;
    let sent = helper.call(&Send {
        summary: Some("Written during the pause".to_owned()),
        ..Send::new(&bob.id, Kind::Notification, json!({}))
    })?;
    let message_id = sent.message_id;
    expect(
        sent.waits_for == Some(WaitsFor::Resume)
            && helper.count(|line| is_verdict(line, "sent", &message_id))? == 0,
        "nothing leaves during a pause",
    )?;
    step("alice pauses: her second agent hears of it and obeys, what it wants to send waits")?;
    tell(alice, helper, false)?;
    bob.wait_line("what waited arrives", |line| {
        is_verdict(line, "accepted", &message_id)
    })?;
    step("alice resumes: what waited has arrived at bob's agent")?;
    Ok(())
}

/// A root key takes an agent's certificate back: every peer is told, and what the agent sends
/// afterwards is refused.
pub(crate) fn revoke(house: &Household, attacker: &mut Attacker) -> Result<(), DemoError> {
    let Household {
        alice,
        bob,
        helper,
        carol,
    } = house;
    let statement = sign_revocation(alice, helper)?;
    let is_told = |line: &Value| {
        text(line, "change") == "revoked"
            && text(line, "peer") == helper.id
            && line.get("revocation") == Some(&statement)
    };
    for member in [bob, carol, helper] {
        member.wait_line("every peer is told of the revocation", is_told)?;
    }
    step(&format!(
        "alice's root key revokes {}: it stands in the logs of bob's and carol's agents",
        helper.id
    ))?;
    // The revoked agent's own daemon sends nothing any more: sign the message here with its keys, as a thief who stole them
    // would.
    let thief = announce_as(helper.identity()?, &bob.certificate()?)?;
    let what = "what a thief sends to bob with the keys of the revoked agent";
    refused(bob, "certificate-revoked", what, || {
        attacker.publish(&bob.id, &thief)
    })
}

/// The person of `holder` revokes `taken` with the root key, and `holder` hears of it first.
fn sign_revocation(holder: &Member, taken: &Member) -> Result<Value, DemoError> {
    let serial = taken.certificate()?.serial.to_string();
    let (root, out) = (holder.file("keys/root.pem"), holder.file("revocation.json"));
    let (root, written) = (root.to_string_lossy(), out.to_string_lossy());
    let reason = "the machine was stolen";
    let whose = ["key", "revoke", "--agent", &taken.id, "--serial", &serial];
    let how = ["--reason", reason, "--root", &root, "--out", &written];
    holder.command(&[whose, how].concat())?;
    let bytes = std::fs::read(&out).map_err(DriverError::io(&out))?;
    let missed = |_| DemoError::Missed("a revocation is signed".into());
    serde_json::from_slice(&bytes).map_err(missed)
}

/// The person says it to one agent; waits until the other has the same signed word in its log.
fn tell(first: &Member, second: &Member, paused: bool) -> Result<(), DemoError> {
    let word = if paused { "pause" } else { "resume" };
    let state: Pausing = first.decide(&[word])?;
    expect(state.paused == paused, "the agent that was told obeys")?;
    let said = |line: &Value| {
        let statement = line.get("statement");
        statement.and_then(|said| said.get("serial")) == Some(&json!(state.serial))
            && text(line, "kind") == "pause"
    };
    let told = first.wait_line("the agent that was told notes it", said)?;
    let is_heard = |line: &Value| line.get("statement") == told.get("statement");
    second
        .wait_line("the person's other agent hears of it", is_heard)
        .map(drop)
}
