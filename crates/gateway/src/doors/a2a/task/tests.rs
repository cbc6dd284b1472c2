use serde_json::json;

use super::artifacts::{ARTIFACTS_MAX, EARLY_BYTES, EARLY_MAX};
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
    let (mut record, now) = (record(), Moment::at_start());
    let events = record.apply(answer(json!({"evenings": ["Tue"]}), 1), now);
    assert_eq!(events.len(), 2);
    assert_eq!(record.task.status.state, A2aTaskState::Completed);
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
    let (mut record, now) = (record(), Moment::at_start());
    let waits = || moved(Sent::Queued, None, Some(WaitsFor::Approval));
    assert_eq!(record.apply(waits(), now).len(), 1);
    assert!(record.apply(waits(), now).is_empty());
    assert_eq!(record.task.status.state, A2aTaskState::Submitted);
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
    let now = Moment::at_start();
    for (change, state, words) in [
        (
            moved(Sent::Refused, Some(Whose::Own), None),
            A2aTaskState::Rejected,
            "not sent: this side does not allow it (tier-denied)",
        ),
        (
            moved(Sent::Refused, Some(Whose::Peer), None),
            A2aTaskState::Rejected,
            "refused by the other side (tier-denied)",
        ),
        (
            moved(Sent::Expired, None, None),
            A2aTaskState::Failed,
            EXPIRED,
        ),
        (
            moved(Sent::Unknown, None, None),
            A2aTaskState::Failed,
            "nobody can say",
        ),
        (Change::Withheld, A2aTaskState::Failed, WITHHELD),
        (
            Change::NotTaken("no".to_owned()),
            A2aTaskState::Rejected,
            "no",
        ),
        (Change::Canceled, A2aTaskState::Canceled, CANCELED),
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
    record.apply(Change::Refused(failure, None, 1), now);
    assert_eq!(record.task.status.state, A2aTaskState::Rejected);
    assert!(!said(&record).as_str().unwrap().contains('\u{1b}'));
}

#[test]
fn a_decline_above_the_tier_of_its_token_is_withheld_and_one_of_tier_3_is_not_written() {
    let failure = json!({"code": -32000, "message": "the diagnosis", "reason": "declined"});
    let failure: Failure = serde_json::from_value(failure).unwrap();
    let now = Moment::at_start();
    // The token of `record()` reaches up to tier 2, and this decline has tier 3: so its text must not be shown.
    let mut beyond = record();
    beyond.apply(Change::Refused(failure.clone(), None, 3), now);
    let shown = serde_json::to_string(&beyond.task).unwrap();
    assert!(!shown.contains("diagnosis"), "{shown}");
    assert!(beyond.is_withheld() && beyond.is_over());
    let mut sealed = record();
    sealed.reach = 4;
    sealed.apply(Change::Refused(failure, None, 3), now);
    assert!(!sealed.is_kept && !sealed.is_withheld());
}

#[test]
fn how_the_agents_own_task_ended_is_how_this_one_ends() {
    let now = Moment::at_start();
    let refused = |reason: &str, message: &str, more: Value, tier| {
        let failure = json!({"code": -32091, "message": message, "reason": reason});
        let mut record = record();
        let failure = serde_json::from_value(failure).unwrap();
        record.apply(Change::Refused(failure, Some(more), tier), now);
        record
    };
    for (name, state) in [
        ("failed", A2aTaskState::Failed),
        ("rejected", A2aTaskState::Rejected),
        ("canceled", A2aTaskState::Canceled),
        ("input-required", A2aTaskState::InputRequired),
        ("auth-required", A2aTaskState::AuthRequired),
    ] {
        let plain = refused(
            "declined",
            &format!("{name}: which week?"),
            json!({"state": name}),
            1,
        );
        assert_eq!(
            (plain.task.status.state, said(&plain)),
            (state, json!("which week?"))
        );
        let bare = refused("declined", name, json!({"state": name}), 1);
        assert!(
            bare.task.status.message.is_none(),
            "{name} says nothing more"
        );
        let parts = json!([{"text": "which week?"}, {"data": {"weeks": [7, 8]}}]);
        let whole = refused(
            "declined",
            "cut short",
            json!({"state": name, "parts": parts}),
            1,
        );
        let written = serde_json::to_value(&whole.task.status).unwrap();
        assert_eq!(written["message"]["parts"], parts);
        let hidden = refused(
            "declined",
            name,
            json!({"state": name, "parts": [{"text": "secret"}]}),
            3,
        );
        assert!(hidden.is_withheld() && hidden.is_over());
        assert!(!serde_json::to_string(&hidden).unwrap().contains("secret"));
    }
    // The peer may name a state in its refusal. It counts only if a refused task can end in it, and only with the reason
    // `declined`, which alone is the word of the peer's agent: otherwise the task ends as for any refusal.
    for (reason, name, state) in [
        ("declined", "completed", A2aTaskState::Rejected),
        ("declined", "working", A2aTaskState::Rejected),
        ("budget-exceeded", "input-required", A2aTaskState::Failed),
    ] {
        let record = refused(reason, "no", json!({"state": name}), 1);
        assert_eq!(record.task.status.state, state, "{reason} {name}");
    }
    // The agent declined because it wants input, so the task is not over: the client's next message sets it going again.
    let mut rests = refused("declined", "x", json!({"state": "input-required"}), 1);
    let more = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "week 7"}]});
    rests.say(serde_json::from_value(more).unwrap(), 1, now);
    assert_eq!(rests.task.status.state, A2aTaskState::Submitted);
}

#[test]
fn several_artifacts_of_an_answer_are_several_and_the_streamed_one_stays_itself() {
    let now = Moment::at_start();
    let of = |text: &str, id: &str| {
        let named = json!({"urn:signet:a2a:request:1": {"artifact": {"id": id, "name": id.to_uppercase()}}});
        json!({"text": text, "metadata": named})
    };
    let both = json!({"parts": [of("one", "a"), of("two", "b"), of("more", "a")]});
    let ids = |record: &Record| -> Vec<(String, usize)> {
        let all = record.task.artifacts.iter();
        all.map(|it| (it.artifact_id.clone(), it.parts.len()))
            .collect()
    };
    let mut plain = record();
    let events = plain.apply(answer(both.clone(), 1), now);
    assert_eq!(events.len(), 3, "two artifacts and the end");
    assert_eq!(ids(&plain), [("a".to_owned(), 2), ("b".to_owned(), 1)]);
    assert_eq!(plain.task.artifacts[0].name.as_deref(), Some("A"));
    assert!(
        !serde_json::to_string(&plain.task.artifacts)
            .unwrap()
            .contains("urn:signet")
    );
    let mut streamed = record();
    let part = |name: Option<&str>, text: &str| {
        progress(
            json!({"state": "working", "part": {"index": 0, "last": false, "name": name, "body": text}}),
        )
    };
    streamed.apply(part(None, "on"), now);
    streamed.apply(part(Some("b"), "tw"), now);
    streamed.apply(part(Some("lost"), "x"), now);
    streamed.apply(answer(both, 1), now);
    assert_eq!(
        ids(&streamed),
        [(ANSWER.to_owned(), 2), ("b".to_owned(), 1)]
    );
}

#[test]
fn what_waits_for_a_person_of_the_other_side_says_so_until_somebody_takes_it_again() {
    let (mut record, now) = (record(), Moment::at_start());
    record.apply(progress(json!({"state": "working"})), now);
    let waits = || progress(json!({"state": "working", "note": WAITS_FOR_A_PERSON}));
    assert_eq!(record.apply(waits(), now).len(), 1);
    assert!(
        said(&record)
            .as_str()
            .unwrap()
            .contains("waits for a person of the other side")
    );
    assert!(record.waits_for_people() && !record.is_over());
    assert_eq!(record.apply(waits(), now).len(), 0, "it is said once");
    assert_eq!(
        record
            .apply(progress(json!({"state": "working"})), now)
            .len(),
        1
    );
    assert!(record.task.status.message.is_none() && !record.waits_for_people());
}

#[test]
fn an_answer_that_nothing_came_before_may_be_a_message_alone() {
    let now = Moment::at_start();
    let mut quick = record();
    assert!(quick.direct().is_none());
    quick.apply(answer(json!("hi"), 1), now);
    let message = json!(quick.direct().unwrap());
    assert_eq!(
        (&message["parts"], &message["role"]),
        (&json!([{"text": "hi"}]), &json!("ROLE_AGENT"))
    );
    assert_eq!(
        (&message["taskId"], &message["contextId"]),
        (&json!("t"), &json!("c"))
    );
    let mut slow = record();
    slow.apply(progress(json!({"state": "working"})), now);
    slow.apply(answer(json!("hi"), 1), now);
    assert!(slow.direct().is_none());
}

#[test]
fn parts_in_any_order_are_shown_in_theirs_and_the_answer_takes_their_place() {
    let (mut record, now) = (record(), Moment::at_start());
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
    assert!(record.task.artifacts[0].parts == vec![A2aPart::text("abc")]);
}

#[test]
fn parts_that_never_fit_are_bounded() {
    let (mut record, now) = (record(), Moment::at_start());
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

/// Many parts for which the first is missing, as large as messages may be, would fill the gateway's disk.
#[test]
fn large_parts_that_come_too_early_are_bounded_and_the_missing_one_is_still_taken() {
    let (mut record, now) = (record(), Moment::at_start());
    let body = "x".repeat(200_000);
    let part = |name: &str, index: u32| {
        let part = json!({"index": index, "last": false, "name": name, "body": body});
        progress(json!({"state": "working", "part": part}))
    };
    for number in 1..20 {
        record.apply(part("one", number), now);
        record.apply(part("two", number), now);
    }
    let waiting = serde_json::to_vec(&record.early).unwrap();
    assert!(waiting.len() < EARLY_BYTES + body.len() + 1_000);
    let shown = record.apply(part("one", 0), now);
    assert!(shown.len() > 1, "with it, those that waited for it");
    assert!(serde_json::to_vec(&record.early).unwrap().len() < waiting.len());
}

#[test]
fn a_part_that_is_dropped_for_lack_of_room_uses_up_no_name_of_an_artifact() {
    let (mut record, now) = (record(), Moment::at_start());
    let body = "x".repeat(EARLY_BYTES);
    let part = |name: &str, index: u32, body: &str| {
        let part = json!({"index": index, "last": false, "name": name, "body": body});
        progress(json!({"state": "working", "part": part}))
    };
    record.apply(part("large", 1, &body), now);
    for number in 0..ARTIFACTS_MAX {
        record.apply(part(&format!("dropped {number}"), 1, "x"), now);
    }
    let shown = record.apply(part("in order", 0, "y"), now);
    assert_eq!(shown.len(), 1, "it is taken all the same");
    assert_eq!(record.early.len(), 2);
}

#[test]
fn who_is_asked_for_more_says_more_and_goes_on() {
    let (mut record, now) = (record(), Moment::at_start());
    record.apply(
        progress(json!({"state": "input-required", "note": "which week?"})),
        now,
    );
    assert_eq!(record.task.status.state, A2aTaskState::InputRequired);
    let again = progress(json!({"state": "input-required", "note": "which week?"}));
    assert!(record.apply(again, now).is_empty(), "told twice");
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "7"}]});
    let events = record.say(serde_json::from_value(message).unwrap(), 1, now);
    assert_eq!(
        (events.len(), record.task.status.state),
        (1, A2aTaskState::Submitted)
    );
    let history = json!(record.task.history);
    assert_eq!(history[0]["parts"][0]["text"], "which week?");
    assert_eq!(history[1]["messageId"], "m");
}

#[test]
fn parts_of_the_request_that_a_client_s_further_words_make_are_shown_from_the_first_on() {
    let (mut record, now) = (record(), Moment::at_start());
    let part = |index: u32, body: &str| {
        progress(json!({"state": "working", "part": {"index": index, "body": body}}))
    };
    record.apply(part(0, "a"), now);
    record.apply(part(1, "b"), now);
    record.apply(
        progress(json!({"state": "input-required", "note": "which week?"})),
        now,
    );
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "7"}]});
    record.say(serde_json::from_value(message).unwrap(), 1, now);
    let shown = |record: &Record| json!(record.task.artifacts[0].parts);
    // The request before is not over, and may go on with its own numbers.
    record.apply(part(2, "c"), now);
    assert_eq!(
        shown(&record),
        json!([{"text": "a"}, {"text": "b"}, {"text": "c"}])
    );
    for (index, body) in [(0, "d"), (0, "again"), (1, "e")] {
        record.apply(part(index, body), now);
    }
    assert_eq!(shown(&record), json!([{"text": "d"}, {"text": "e"}]));
}

#[test]
fn an_answer_above_the_tokens_tier_is_withheld_and_one_of_tier_3_is_not_kept() {
    let (mut low, now) = (record(), Moment::at_start());
    low.apply(answer(json!("secret"), 3), now);
    assert_eq!(low.task.status.state, A2aTaskState::Failed);
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
    let (mut record, now) = (record(), Moment::at_start());
    record.apply(progress(json!({"state": "working", "note": "secret", "part": {"index": 3, "last": false, "body": "secret"}})), now);
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "secret"}]});
    record.say(serde_json::from_value(message).unwrap(), 1, now);
    record.apply(answer(json!({"secret": 1}), 1), now);
    let bare = serde_json::to_string(&record.without_words()).unwrap();
    assert!(!bare.contains("secret"), "{bare}");
}
