//! What agents of people who know each other say, in clear.

use serde_json::json;
use signet_api::{Kind, Send, State};

use crate::household::Household;
use crate::{DemoError, expect, method_of, step};

/// A word of the request that travels in clear.
pub(crate) const WEEK: &str = "2026-W07";

/// A handshake, a request, a notification, a sign of life.
pub(crate) fn converse(house: &Household) -> Result<(), DemoError> {
    let Household {
        alice, bob, helper, ..
    } = house;
    let evenings = json!({"evenings": ["Tue", "Thu"]});
    let answering = bob.answer_next(evenings.clone())?;
    let sent = alice.call(&Send {
        wait: 10.0,
        summary: Some("Asks for free evenings next week".to_owned()),
        capability: Some("calendar.free-busy".to_owned()),
        data_tier: Some(2),
        ..Send::new(&bob.id, Kind::Request, json!({"week": WEEK}))
    })?;
    let answer = sent.answer.and_then(|answer| answer.body);
    expect(
        answer.as_ref() == Some(&evenings),
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
        "request \"Asks for free evenings next week\", answered {evenings}, both signatures verified"
    ))?;

    let told = bob.call(&Send {
        wait: 10.0,
        summary: Some("Dinner is at half past seven".to_owned()),
        ..Send::new(&helper.id, Kind::Notification, json!({"dinner": "19:30"}))
    })?;
    expect(
        told.state == State::Received,
        "the notification is received durably",
    )?;
    step(&format!(
        "notification from {} to {}, received durably (signed receipt)",
        bob.id, helper.id
    ))?;
    let pinged = helper.call(&ping(&alice.id))?;
    expect(
        pinged.state == State::Answered,
        "one agent of alice reaches the other",
    )?;
    Ok(())
}

/// A sign of life from a peer's daemon, which is waited for.
pub(crate) fn ping(peer: &str) -> Send {
    Send {
        wait: 10.0,
        ..Send::new(peer, Kind::Ping, serde_json::Value::Null)
    }
}

const FLIGHTS: [&str; 4] = [
    "agent.announce",
    "agent.verify",
    "agent.capability",
    "agent.trust",
];
