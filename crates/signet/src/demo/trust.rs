//! What waits for people: a stranger, and a message that leaves only with its person's approval.

use serde_json::{Value, json};
use signet_proto::certificate::ControlCertificate;
use signet_proto::keys::fingerprint;
use signet_proto::node::hash_of_draft;
use signet_proto::statement::{Approval, Decision};

use crate::clock;

use super::household::Household;
use super::member::{Member, is_verdict, text};
use super::{DemoError, expect, step};

/// A stranger writes; both people compare fingerprint words and approve; then the message arrives.
pub(super) fn introduce(house: &Household) -> Result<(), DemoError> {
    let Household { alice, carol, .. } = house;
    let hello = json!({
        "peer": alice.id, "kind": "notification", "summary": HELLO, "body": {"from": "the choir"},
    });
    let sent = carol.call("send", &hello)?;
    expect(
        text(&sent, "waits-for") == "introduction",
        "a stranger's message waits for people",
    )?;
    let (root, words) = pending(alice, carol)?;
    step(&format!(
        "carol, a stranger, writes to alice: nothing is delivered, {} is pending, its root key reads: {words}",
        carol.id
    ))?;
    alice.approves_stranger(carol, &root)?;
    let (root, _) = pending(carol, alice)?;
    let message_id = text(&sent, "message-id");
    expect(
        alice.count(|line| is_verdict(line, "accepted", message_id))? == 0,
        "one person's approval is not both",
    )?;
    carol.approves_stranger(alice, &root)?;
    let arrived = alice.wait_line("the stranger's message arrives", |line| {
        is_verdict(line, "accepted", message_id)
    })?;
    step(&format!(
        "alice approves carol, carol approves alice: the message arrives: \"{}\"",
        text(&arrived, "summary")
    ))?;
    Ok(())
}

/// A message of tier 4 is held back until its person signs that it may leave.
pub(super) fn release(house: &Household) -> Result<(), DemoError> {
    let Household { alice, bob, .. } = house;
    let secret = json!({
        "peer": bob.id, "kind": "notification", "summary": "For the locksmith", "data-tier": 4,
        "body": {"alarm": "off at noon"},
    });
    let sent = alice.call("send", &secret)?;
    let message_id = text(&sent, "message-id");
    expect(
        text(&sent, "waits-for") == "approval"
            && alice.count(|line| is_verdict(line, "sent", message_id))? == 0,
        "a message of tier 4 is held back",
    )?;
    let params = approval(alice, message_id)?;
    let decided = alice.call("drafts.decide", &params)?;
    expect(
        decided.get("sent") == Some(&json!(true)),
        "an approved message leaves",
    )?;
    bob.wait_line("the approved message arrives", |line| {
        is_verdict(line, "accepted", message_id)
    })?;
    step(
        "a message of tier 4 is held back; alice's person signs that it may leave; bob receives it",
    )?;
    Ok(())
}

/// Who waits at `member`: the key-id and the words of its root key, which are those it reads out.
fn pending(member: &Member, stranger: &Member) -> Result<(String, String), DemoError> {
    let waits = |answer: &Value| {
        let first = answer.pointer("/pending/0");
        first.is_some_and(|first| text(first, "agent") == stranger.id)
    };
    let what = "a stranger waits for a person's decision";
    let answer = member.wait_answer(what, ("trust.pending", json!({})), waits)?;
    let first = answer.pointer("/pending/0").cloned().unwrap_or_default();
    expect(
        text(&first, "fingerprint") == fingerprint(&stranger.certificate()?.root),
        "the words shown are those of the stranger's own root key",
    )?;
    Ok((
        text(&first, "root").to_owned(),
        text(&first, "fingerprint").to_owned(),
    ))
}

/// The person's signed word that a draft may leave.
fn approval(member: &Member, message_id: &str) -> Result<Value, DemoError> {
    let waiting = member.call("drafts.list", &json!({}))?;
    let control = ControlCertificate::parse(waiting.get("control").unwrap_or(&Value::Null))?;
    let drafts = waiting.get("drafts").and_then(Value::as_array);
    let mut drafts = drafts.into_iter().flatten();
    let draft = drafts.find(|draft| text(draft, "message-id") == message_id);
    let draft = draft.and_then(|draft| draft.get("draft"));
    let draft = draft.ok_or_else(|| DemoError::Missed("the draft is listed".into()))?;
    let key = member.persons_key("control.pem")?;
    let hash = hash_of_draft(draft);
    let signed = Approval::sign(hash, Decision::Approved, clock::now(), &control, &key)?;
    Ok(json!({"statement": signed.to_value(), "control": control.to_value()}))
}

const HELLO: &str = "Carol of the choir would like to meet";
