//! What agents of people who know each other say, in clear.

use serde_json::json;

use super::household::Household;
use super::{DemoError, expect, method_of, step};

/// A word of the request that travels in clear.
pub(super) const WEEK: &str = "2026-W07";

/// A handshake, a request, a notification, a sign of life.
pub(super) fn converse(house: &Household) -> Result<(), DemoError> {
    let Household {
        alice, bob, helper, ..
    } = house;
    let answering = bob.answer_next(json!({"evenings": ["Tue", "Thu"]}))?;
    let request = json!({
        "peer": bob.id, "kind": "request", "wait": 10, "summary": "Asks for free evenings next week",
        "capability": "calendar.free-busy", "data-tier": 2, "body": {"week": WEEK},
    });
    let sent = alice.call("send", &request)?;
    let answer = sent.pointer("/answer/body").cloned().unwrap_or_default();
    expect(
        answer == json!({"evenings": ["Tue", "Thu"]}),
        "alice's agent is answered",
    )?;
    answering.finish()?;
    let flights =
        alice.count(|line| method_of(line).is_some_and(|method| FLIGHTS.contains(&method)))?;
    expect(
        flights == FLIGHTS.len(),
        "a handshake of four flights comes first",
    )?;
    step("handshake: announce, verify, capability, trust: one session on both sides")?;
    step(&format!(
        "request \"Asks for free evenings next week\", answered {answer}, both signatures verified"
    ))?;

    let notification = json!({
        "peer": helper.id, "kind": "notification", "wait": 10, "summary": "Dinner is at half past seven",
        "body": {"dinner": "19:30"},
    });
    let told = bob.call("send", &notification)?;
    expect(
        told.get("state") == Some(&json!("received")),
        "the notification is received durably",
    )?;
    step(&format!(
        "notification from {} to {}, received durably (signed receipt)",
        bob.id, helper.id
    ))?;
    let pinged = helper.call(
        "send",
        &json!({"peer": alice.id, "kind": "ping", "wait": 10}),
    )?;
    expect(
        pinged.get("state") == Some(&json!("answered")),
        "one agent of alice reaches the other",
    )?;
    Ok(())
}

const FLIGHTS: [&str; 4] = [
    "agent.announce",
    "agent.verify",
    "agent.capability",
    "agent.trust",
];
