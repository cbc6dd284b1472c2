//! What a person says with their own keys and every daemon obeys: pause, resume, revocation.

use serde_json::{Value, json};
use signet_proto::certificate::ControlCertificate;
use signet_proto::statement::{PauseStatement, Revocation};

use crate::clock;

use super::attack::{Attacker, announce_as, refused};
use super::household::Household;
use super::member::{Member, is_verdict, text};
use super::{DemoError, expect, step};

/// Told to one agent, a pause holds for the person's other agent as well, until both go on.
pub(super) fn pause(house: &Household) -> Result<(), DemoError> {
    let Household {
        alice, bob, helper, ..
    } = house;
    tell(alice, helper, true)?;
    let note = json!({
        "peer": bob.id, "kind": "notification", "summary": "Written during the pause", "body": {},
    });
    let sent = helper.call("send", &note)?;
    let message_id = text(&sent, "message-id");
    expect(
        text(&sent, "waits-for") == "resume"
            && helper.count(|line| is_verdict(line, "sent", message_id))? == 0,
        "nothing leaves during a pause",
    )?;
    step("alice pauses: her second agent hears of it and obeys, what it wants to send waits")?;
    tell(alice, helper, false)?;
    bob.wait_line("what waited arrives", |line| {
        is_verdict(line, "accepted", message_id)
    })?;
    step("alice resumes: what waited has arrived at bob's agent")?;
    Ok(())
}

/// A root key takes an agent's certificate back: every peer is told, and what the agent sends
/// afterwards is refused.
pub(super) fn revoke(house: &Household, attacker: &Attacker) -> Result<(), DemoError> {
    let Household {
        alice,
        bob,
        helper,
        carol,
    } = house;
    let taken = helper.certificate()?;
    let statement = Revocation::sign(
        &taken.principal,
        &taken.agent,
        taken.serial,
        "the machine was stolen",
        clock::now(),
        &alice.persons_key("root.pem")?,
    )?;
    alice.call(
        "trust.revocation",
        &json!({"statement": statement.to_value()}),
    )?;
    let is_told = |line: &Value| {
        text(line, "change") == "revoked"
            && text(line, "peer") == helper.id
            && line.get("revocation") == Some(statement.to_value())
    };
    for member in [bob, carol, helper] {
        member.wait_line("every peer is told of the revocation", is_told)?;
    }
    step(&format!(
        "alice's root key revokes {}: it stands in the logs of bob's and carol's agents",
        helper.id
    ))?;
    // Its own daemon sends nothing any more; a thief has one that does.
    let thief = announce_as(helper.identity()?, &bob.certificate()?)?;
    let what = "what a thief sends to bob with the keys of the revoked agent";
    refused(bob, "certificate-revoked", what, || {
        attacker.publish(&bob.id, thief)
    })
}

/// Signs the person's word, hands it to one agent, and waits until the other has it in its log.
fn tell(first: &Member, second: &Member, paused: bool) -> Result<(), DemoError> {
    let state = first.call("pause.show", &json!({}))?;
    let control = ControlCertificate::parse(state.get("control").unwrap_or(&Value::Null))?;
    let last = state.get("serial").and_then(Value::as_u64);
    let serial = last.unwrap_or_default().saturating_add(1);
    let key = first.persons_key("control.pem")?;
    let said = PauseStatement::sign(paused, serial, clock::now(), &control, &key)?;
    let params = json!({"statement": said.to_value(), "control": control.to_value()});
    let state = first.call("pause.tell", &params)?;
    expect(
        state.get("paused") == Some(&json!(paused)),
        "the agent that was told obeys",
    )?;
    let is_heard = |line: &Value| line.get("statement") == Some(said.to_value());
    second
        .wait_line("the person's other agent hears of it", is_heard)
        .map(drop)
}
