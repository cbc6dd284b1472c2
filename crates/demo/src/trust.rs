//! What waits for people: a stranger, and a message that leaves only with its person's approval.

use serde_json::json;
use signet_api::{Decided, Kind, ListPending, Send, Stranger, WaitsFor};
use signet_proto::keys::fingerprint;

use crate::household::Household;
use crate::member::{Member, is_verdict, text};
use crate::{DemoError, expect, step};

/// A stranger writes; both people compare the twelve words and approve; then the message arrives.
pub(crate) fn introduce(house: &Household) -> Result<(), DemoError> {
    let Household { alice, carol, .. } = house;
    let hello = json!({"from": "the choir"});
    let sent = carol.call(&Send {
        summary: Some(HELLO.to_owned()),
        ..Send::new(&alice.id, Kind::Notification, hello)
    })?;
    expect(
        sent.waits_for == Some(WaitsFor::Introduction),
        "a stranger's message waits for people",
    )?;
    let waits = pending(alice, carol)?;
    step(&format!(
        "carol, a stranger, writes to alice: nothing is delivered, {} waits for an introduction, its root key reads: {}",
        carol.id, waits.fingerprint
    ))?;
    approve(alice, &waits)?;
    let waits = pending(carol, alice)?;
    let message_id = sent.message_id;
    expect(
        alice.count(|line| is_verdict(line, "accepted", &message_id))? == 0,
        "one person's approval is not both",
    )?;
    approve(carol, &waits)?;
    let arrived = alice.wait_line("the stranger's message arrives", |line| {
        is_verdict(line, "accepted", &message_id)
    })?;
    step(&format!(
        "alice approves carol, carol approves alice: the message arrives: \"{}\"",
        text(&arrived, "summary")
    ))?;
    Ok(())
}

/// A message of tier 4 is held back until its person signs that it may leave.
pub(crate) fn release(house: &Household) -> Result<(), DemoError> {
    let Household { alice, bob, .. } = house;
    let secret = json!({"alarm": "off at noon"});
    let sent = alice.call(&Send {
        summary: Some("For the locksmith".to_owned()),
        data_tier: Some(4),
        ..Send::new(&bob.id, Kind::Notification, secret)
    })?;
    let message_id = sent.message_id;
    expect(
        sent.waits_for == Some(WaitsFor::Approval)
            && alice.count(|line| is_verdict(line, "sent", &message_id))? == 0,
        "a message of tier 4 is held back",
    )?;
    let decided: Decided = alice.decide(&["approve", &message_id])?;
    expect(decided.sent, "an approved message leaves")?;
    bob.wait_line("the approved message arrives", |line| {
        is_verdict(line, "accepted", &message_id)
    })?;
    step(
        "a message of tier 4 is held back; alice's person signs that it may leave; bob receives it",
    )?;
    Ok(())
}

/// Who waits at `member`, with the words of its root key, which are those that it reads out.
fn pending(member: &Member, stranger: &Member) -> Result<Stranger, DemoError> {
    let what = "a stranger waits for a person's decision";
    let is_it = |waiting: &Stranger| waiting.agent == stranger.id;
    let answer = member.wait_answer(what, &ListPending {}, |answer| {
        answer.pending.iter().any(is_it)
    })?;
    let found = answer.pending.into_iter().find(is_it);
    let found = found.ok_or_else(|| DemoError::Missed(what.into()))?;
    expect(
        found.fingerprint == fingerprint(&stranger.certificate()?.root),
        "the words shown are those of the stranger's own root key",
    )?;
    Ok(found)
}

/// The person says yes, to this key.
fn approve(member: &Member, stranger: &Stranger) -> Result<(), DemoError> {
    member.command(&[
        "trust",
        "approve",
        &stranger.agent,
        "--root",
        &stranger.root,
    ])
}

const HELLO: &str = "Carol of the choir would like to meet";
