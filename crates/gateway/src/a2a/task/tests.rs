use serde_json::json;

use super::artifacts::{ARTIFACTS_MAX, EARLY_MAX};
use super::moved::EXPIRED;
use super::*;

fn record() -> Record {
    let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED", "timestamp": "x"}});
    let task = serde_json::from_value(task).unwrap();
    Record::new(task, "me", "agent-bob", 2, false)
}

fn moved(state: Sent, by: Option<Whose>, waits_for: Option<WaitsFor>) -> Change {
    Change::Moved {
        state,
        reason: Some("tier-denied".to_owned()),
        by,
        waits_for,
    }
}

fn progress(value: Value) -> Change {
    Change::Progress(serde_json::from_value(value).unwrap(), 1)
}

fn answer(body: Value, tier: u8) -> Change {
    Change::Answer {
        body,
        tier,
        name: "a".to_owned(),
    }
}

fn said(record: &Record) -> Value {
    serde_json::to_value(&record.task.status).unwrap()["message"]["parts"][0]["text"].clone()
}

#[test]
fn an_answer_completes_a_task_and_nothing_moves_it_afterwards() {
    let (mut record, now) = (record(), Now::at_start());
    let events = record.apply(answer(json!({"evenings": ["Tue"]}), 1), now);
    assert_eq!(events.len(), 2);
    assert_eq!(record.task.status.state, State::Completed);
    assert!(record.apply(Change::Canceled, now).is_empty());
    assert!(record.apply(answer(json!("late"), 1), now).is_empty());
    let task = serde_json::to_value(&record.task).unwrap();
    assert_eq!(
        task["artifacts"],
        json!([{"artifactId": "answer", "parts": [{"data": {"evenings": ["Tue"]}}]}])
    );
}

#[test]
fn a_draft_that_waits_for_the_person_is_a_task_that_says_so_once() {
    let (mut record, now) = (record(), Now::at_start());
    let waits = || moved(Sent::Queued, None, Some(WaitsFor::Approval));
    assert_eq!(record.apply(waits(), now).len(), 1);
    assert!(record.apply(waits(), now).is_empty());
    assert_eq!(record.task.status.state, State::Submitted);
    assert!(said(&record).as_str().unwrap().contains("approval"));
    assert_eq!(
        record.apply(moved(Sent::Received, None, None), now).len(),
        1
    );
    assert_eq!(said(&record), Value::Null);
    assert!(
        record
            .apply(moved(Sent::Published, None, None), now)
            .is_empty()
    );
}

#[test]
fn a_refusal_says_in_plain_words_whose_it_is() {
    let now = Now::at_start();
    for (change, state, words) in [
        (
            moved(Sent::Refused, Some(Whose::Own), None),
            State::Rejected,
            "not sent: this side does not allow it (tier-denied)",
        ),
        (
            moved(Sent::Refused, Some(Whose::Peer), None),
            State::Rejected,
            "refused by the other side (tier-denied)",
        ),
        (moved(Sent::Expired, None, None), State::Failed, EXPIRED),
        (
            moved(Sent::Unknown, None, None),
            State::Failed,
            "nobody can say",
        ),
        (Change::Withheld, State::Failed, WITHHELD),
        (Change::NotTaken("no".to_owned()), State::Rejected, "no"),
        (Change::Canceled, State::Canceled, CANCELED),
    ] {
        let mut record = record();
        assert_eq!(record.apply(change, now).len(), 1);
        assert_eq!(record.task.status.state, state);
        assert!(
            said(&record).as_str().unwrap().starts_with(words),
            "{words}"
        );
    }
    let mut record = record();
    let failure = json!({"code": -32000, "message": "not \u{1b}[2Jtoday", "reason": "declined"});
    let failure = serde_json::from_value(failure).unwrap();
    record.apply(Change::Refused(failure), now);
    assert_eq!(record.task.status.state, State::Rejected);
    assert!(!said(&record).as_str().unwrap().contains('\u{1b}'));
}

#[test]
fn parts_in_any_order_are_shown_in_theirs_and_the_answer_takes_their_place() {
    let (mut record, now) = (record(), Now::at_start());
    let part = |index: u32, last: bool, text: &str| {
        progress(json!({"state": "working", "part": {"index": index, "last": last, "body": text}}))
    };
    assert_eq!(
        record.apply(part(1, false, "b"), now).len(),
        1,
        "the state alone"
    );
    assert_eq!(record.apply(part(2, true, "c"), now).len(), 0);
    let events = record.apply(part(0, false, "a"), now);
    let events: Vec<Value> = events.iter().map(|event| json!(event)).collect();
    let order: Vec<&Value> = events
        .iter()
        .map(|event| &event["artifactUpdate"]["artifact"]["parts"][0]["text"])
        .collect();
    assert_eq!(order, ["a", "b", "c"]);
    assert_eq!(events[0]["artifactUpdate"].get("append"), None);
    assert_eq!(events[1]["artifactUpdate"]["append"], true);
    assert_eq!(events[2]["artifactUpdate"]["lastChunk"], true);
    assert!(record.apply(part(1, false, "again"), now).is_empty());
    assert_eq!(record.task.artifacts[0].parts.len(), 3);
    record.apply(answer(json!("abc"), 1), now);
    assert!(record.task.artifacts[0].parts == vec![Part::text("abc")]);
}

#[test]
fn parts_that_never_fit_are_bounded() {
    let (mut record, now) = (record(), Now::at_start());
    for index in 1..1_000 {
        record.apply(
            progress(
                json!({"state": "working", "part": {"index": index, "last": false, "body": "x"}}),
            ),
            now,
        );
        record.apply(progress(json!({"state": "working", "part": {"index": 1, "last": false, "name": format!("n{index}"), "body": "x"}})), now);
    }
    assert!(record.early.len() <= ARTIFACTS_MAX);
    assert!(
        record
            .early
            .values()
            .all(|early| early.waiting.len() <= EARLY_MAX)
    );
}

#[test]
fn who_is_asked_for_more_says_more_and_goes_on() {
    let (mut record, now) = (record(), Now::at_start());
    record.apply(
        progress(json!({"state": "input-required", "note": "which week?"})),
        now,
    );
    assert_eq!(record.task.status.state, State::InputRequired);
    let again = progress(json!({"state": "input-required", "note": "which week?"}));
    assert!(record.apply(again, now).is_empty(), "told twice");
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "7"}]});
    let events = record.say(serde_json::from_value(message).unwrap(), 1, now);
    assert_eq!(
        (events.len(), record.task.status.state),
        (1, State::Submitted)
    );
    let history = json!(record.task.history);
    assert_eq!(history[0]["parts"][0]["text"], "which week?");
    assert_eq!(history[1]["messageId"], "m");
}

#[test]
fn an_answer_above_the_tokens_tier_is_withheld_and_one_of_tier_3_is_not_kept() {
    let (mut low, now) = (record(), Now::at_start());
    low.apply(answer(json!("secret"), 3), now);
    assert_eq!(low.task.status.state, State::Failed);
    assert!(!serde_json::to_string(&low).unwrap().contains("secret"));
    let mut high = Record {
        reach: 4,
        ..record()
    };
    high.apply(answer(json!("secret"), 3), now);
    assert!(!high.is_kept && high.answer.as_deref() == Some("a"));
    assert!(
        serde_json::to_string(&high.task)
            .unwrap()
            .contains("secret")
    );
    high.apply(Change::Shown, now);
    assert_eq!(high.answer, None);
    let mut kept = Record {
        reach: 4,
        keeps_all: true,
        ..record()
    };
    kept.apply(answer(json!("secret"), 3), now);
    assert!(kept.is_kept && kept.answer.is_none());
}

#[test]
fn what_is_not_kept_leaves_no_word_behind() {
    let (mut record, now) = (record(), Now::at_start());
    record.apply(progress(json!({"state": "working", "note": "secret", "part": {"index": 3, "last": false, "body": "secret"}})), now);
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "secret"}]});
    record.say(serde_json::from_value(message).unwrap(), 1, now);
    record.apply(answer(json!({"secret": 1}), 1), now);
    let bare = serde_json::to_string(&record.without_words()).unwrap();
    assert!(!bare.contains("secret"), "{bare}");
}
