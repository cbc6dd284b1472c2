//! What only two people may read: a sealed exchange, and how a person opens it in the log.

use serde_json::{Value, json};
use signet_api::{Kind, Send};
use signet_audit::Sight;

use crate::converse::WEEK;
use crate::household::Household;
use crate::{DemoError, expect, step};

/// A request and an answer of tier 3, searched for in the logs, and opened with the person's key.
pub(crate) fn seal(house: &Household) -> Result<(), DemoError> {
    let Household { alice, bob, .. } = house;
    let question = json!({ "what": ASKED });
    let answer = json!({ "what": ANSWERED });
    exchange(house, &question, &answer)?;
    for member in [alice, bob] {
        let log = member.log_text()?;
        // Try the search on a word that was sent in clear: a search that finds nothing at all would prove nothing.
        expect(log.contains(WEEK), "a search finds what is in clear")?;
        expect(
            WORDS.iter().all(|word| !log.contains(word)),
            "no word of what was sealed stands in a log",
        )?;
    }
    step(
        "sealed request of tier 3, sealed answer: both logs were searched, no word of it is there",
    )?;

    let opened = alice.sights(&alice.audit_key()?)?;
    let bodies: Vec<&Value> = opened.iter().filter_map(body_of).collect();
    expect(
        bodies == [&question, &answer] && bodies.len() == opened.len(),
        "alice's audit key opens what alice's log holds",
    )?;
    let read: Vec<String> = bodies.into_iter().map(Value::to_string).collect();
    step(&format!(
        "alice's person opens both in the log with her audit key: {}",
        read.join(", ")
    ))?;
    let foreign = alice.sights(&bob.audit_key()?)?;
    expect(
        foreign.len() == 2 && foreign.iter().all(|sight| *sight == Sight::OtherKey),
        "bob's audit key opens nothing in alice's log",
    )?;
    step("bob's audit key opens neither of the two in alice's log")?;
    Ok(())
}

fn exchange(house: &Household, question: &Value, answer: &Value) -> Result<(), DemoError> {
    let Household { alice, bob, .. } = house;
    let answering = bob.answer_next(answer.clone())?;
    let sent = alice.call(&Send {
        wait: 10.0,
        summary: Some(SUMMARY.to_owned()),
        data_tier: Some(3),
        ..Send::new(&bob.id, Kind::Request, question.clone())
    })?;
    answering.finish()?;
    let came = sent.answer.filter(|came| came.sealed == Some(true));
    expect(
        came.and_then(|came| came.body).as_ref() == Some(answer),
        "a sealed request is answered, sealed",
    )
}

fn body_of(sight: &Sight) -> Option<&Value> {
    let Sight::Opened(_, opened) = sight else {
        return None;
    };
    opened.body.as_ref()
}

const SUMMARY: &str = "About the blood test";
const ASKED: &str = "Which doctor read my blood test?";
const ANSWERED: &str = "Dr Okafor; she calls on Friday";
/// Each with a space, so that no ciphertext spells it by chance.
const WORDS: [&str; 5] = [SUMMARY, ASKED, ANSWERED, "blood test", "Dr Okafor"];
