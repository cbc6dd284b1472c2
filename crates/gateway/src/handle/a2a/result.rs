//! What an agent of A2A answers: a task or a message, in the form of 0.3, of 1.0, or of the migration guide.

use serde_json::{Map, Value, json};

use super::parts::{PartsForm, artifact, parts_in};
use crate::doors::a2a::words::model::{A2aTaskState, PartContent};
use crate::handle::jsonrpc::tamed;
use signet_handlers::{Done, Fault};

/// How far the agent is.
#[derive(PartialEq)]
pub(crate) enum TaskProgress {
    /// It said its last word.
    Done(Done),
    /// It works on the task of that id.
    Working(Value),
}

/// Reads the result of a call.
///
/// # Errors
/// `Shape`, `UnknownState` and `NoOutput`.
pub(crate) fn read(result: Value, form: PartsForm) -> Result<TaskProgress, Fault> {
    let Value::Object(mut members) = result else {
        return Err(Fault::Shape("its result is neither a task nor a message"));
    };
    // A2A 1.0 puts the result into a member named `task` or `message`; 0.3 sends the task or the message itself.
    match (members.remove("task"), members.remove("message")) {
        (Some(Value::Object(task)), None) => read_task(&task, form),
        (None, Some(Value::Object(message))) => said(&message, form),
        (None, None) if members.contains_key("status") => read_task(&members, form),
        (None, None) if members.contains_key("parts") => said(&members, form),
        _ => Err(Fault::Shape("its result is neither a task nor a message")),
    }
}

/// Proves that a result is of the task that was asked for: whoever mixes them up would give one peer another's answer. One
/// that names no task proves nothing.
///
/// # Errors
/// `WrongTask`.
pub(super) fn prove_task(result: &Value, asked: &Value) -> Result<(), Fault> {
    let told = match (result.get("task"), result.get("message")) {
        (Some(task), _) => task.get("id"),
        (None, Some(message)) => message.get("taskId"),
        (None, None) if result.get("status").is_some() => result.get("id"),
        (None, None) => result.get("taskId"),
    };
    match told {
        Some(told) if told == asked => Ok(()),
        _ => Err(Fault::WrongTask),
    }
}

/// The id of the task, where it waits for more than it was told.
pub(super) fn resting(result: &Value) -> Option<String> {
    // In A2A 1.0 the task is a member of the result; in 0.3 the result is the task itself.
    let task = result.get("task").unwrap_or(result).as_object()?;
    let (_, state) = state_of(task).ok()?;
    let id = task.get("id")?.as_str()?;
    state.is_interrupted().then(|| id.to_owned())
}

/// Whether the task is over, or waits for what it will not get.
pub(super) fn is_over(task: &Map<String, Value>) -> Result<bool, Fault> {
    let (_, state) = state_of(task)?;
    Ok(!matches!(
        state,
        A2aTaskState::Submitted | A2aTaskState::Working
    ))
}

fn state_of(task: &Map<String, Value>) -> Result<(&Map<String, Value>, A2aTaskState), Fault> {
    let status = task.get("status").and_then(Value::as_object);
    let status = status.ok_or(Fault::Shape("its task has no status"))?;
    let state = status
        .get("state")
        .ok_or(Fault::Shape("its task's status has no state"))?;
    let state = A2aTaskState::read(state).ok_or(Fault::UnknownState)?;
    Ok((status, state))
}

fn read_task(task: &Map<String, Value>, form: PartsForm) -> Result<TaskProgress, Fault> {
    let (status, state) = state_of(task)?;
    match state {
        A2aTaskState::Completed => {
            output(task, status, form).map(|body| TaskProgress::Done(Done::Answer(body)))
        }
        A2aTaskState::Submitted | A2aTaskState::Working => match task.get("id") {
            Some(id @ Value::String(_)) => Ok(TaskProgress::Working(id.clone())),
            _ => Err(Fault::Shape(
                "its task goes on and has no id to ask for it by",
            )),
        },
        A2aTaskState::Failed
        | A2aTaskState::Canceled
        | A2aTaskState::Rejected
        | A2aTaskState::InputRequired
        | A2aTaskState::AuthRequired => {
            let word = state.v03();
            let said = status.get("message").and_then(Value::as_object);
            let said = said.and_then(|message| parts_in(message).ok());
            let parts = said.unwrap_or_default();
            let texts = parts.iter().filter_map(|part| match &part.content {
                PartContent::Text(text) => Some(text.as_str()),
                PartContent::Raw(_) | PartContent::Url(_) | PartContent::Data(_) => None,
            });
            let text = match tamed(&texts.collect::<Vec<_>>().join(" ")) {
                text if text.is_empty() => word.to_owned(),
                text => format!("{word}: {text}"),
            };
            let body = match parts.is_empty() {
                true => json!({ "state": word }),
                false => json!({ "state": word, "parts": parts }),
            };
            Ok(TaskProgress::Done(Done::Unfinished { text, body }))
        }
    }
}

fn said(message: &Map<String, Value>, form: PartsForm) -> Result<TaskProgress, Fault> {
    let body = form.body(parts_in(message)?).ok_or(Fault::NoOutput)?;
    Ok(TaskProgress::Done(Done::Answer(body)))
}

/// What the agent says in the status of a task that it works on, in one line; empty where it says nothing.
pub(super) fn word(result: &Value) -> String {
    let task = result.get("task").unwrap_or(result);
    let parts = task.pointer("/status/message/parts");
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    tamed(&texts.join(" "))
}

/// What came of a task: its artifacts, else what the agent said last.
fn output(
    task: &Map<String, Value>,
    status: &Map<String, Value>,
    form: PartsForm,
) -> Result<Value, Fault> {
    let mut found = Vec::new();
    for given in list(task, "artifacts", "its artifacts are no list")? {
        let given = given
            .as_object()
            .ok_or(Fault::Shape("an artifact is no object"))?;
        found.extend(artifact(given)?);
    }
    // The history is read even where the artifacts are enough, so that a history of a wrong shape is always refused.
    let mut last = None;
    for item in list(task, "history", "its history is no list")? {
        let item = item
            .as_object()
            .ok_or(Fault::Shape("an item of its history is no object"))?;
        let role = item.get("role").and_then(Value::as_str);
        let role = role.ok_or(Fault::Shape("an item of its history has no role"))?;
        let parts = parts_in(item)?;
        if matches!(role, "agent" | "ROLE_AGENT") {
            last = form.body(parts);
        }
    }
    let now = status.get("message").and_then(Value::as_object);
    let now = now.map(parts_in).transpose()?;
    let now = now.and_then(|parts| form.body(parts));
    form.of_all(found).or(now).or(last).ok_or(Fault::NoOutput)
}

fn list<'a>(
    task: &'a Map<String, Value>,
    name: &str,
    fault: &'static str,
) -> Result<&'a [Value], Fault> {
    match task.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(Fault::Shape(fault)),
    }
}

#[cfg(test)]
mod tests {
    use signet_api::A2A_EXTENSION;

    use super::*;

    fn answer(result: Value) -> Value {
        match read(result, PartsForm::Text) {
            Ok(TaskProgress::Done(Done::Answer(body))) => body,
            Ok(_) => panic!("no answer"),
            Err(fault) => json!(fault.to_string()),
        }
    }

    fn declined(result: Value) -> String {
        match read(result, PartsForm::Text) {
            Ok(TaskProgress::Done(Done::Unfinished { text, body })) => {
                assert!(text.starts_with(body["state"].as_str().unwrap()));
                text
            }
            _ => panic!("not declined"),
        }
    }

    #[test]
    fn the_guides_result_gives_its_output() {
        let mut result = json!({
            "status": {"state": "completed"},
            "artifacts": [{"parts": [{"kind": "text", "text": "The weather is sunny"}]}],
            "history": [
                {"role": "user", "parts": [{"kind": "text", "text": "What is the weather?"}]},
                {"role": "agent", "parts": [{"kind": "text", "text": "It is sunny"}]},
            ],
        });
        assert_eq!(answer(result.clone()), "The weather is sunny");
        result["artifacts"] = json!([]);
        assert_eq!(answer(result.clone()), "It is sunny", "what it said last");
        result["artifacts"] = json!([{"parts": [{"kind": "text", "text": "{\"result\": 1}"}]}]);
        assert_eq!(answer(result), json!({"result": 1}));
    }

    #[test]
    fn tasks_and_messages_of_both_versions_give_their_output() {
        for (result, body) in [
            (
                json!({"kind": "message", "role": "agent", "messageId": "m", "parts": [{"kind": "text", "text": "hi"}]}),
                json!("hi"),
            ),
            (
                json!({"message": {"role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}),
                json!("hi"),
            ),
            (
                json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"data": {"a": 1}}]}]}}),
                json!({"a": 1}),
            ),
            (
                json!({"task": {"id": "t", "status": {"state": 3, "message": {"role": 2, "parts": [{"text": "done"}]}}}}),
                json!("done"),
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{"parts": [{"type": "text", "text": "old"}]}]}),
                json!("old"),
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{"parts": [{"kind": "text", "text": "a"}, {"kind": "data", "data": 1}]}]}),
                json!(["a", 1]),
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{"parts": [{"kind": "file", "file": {"uri": "file:///etc/passwd"}}]}]}),
                json!({"parts": [{"url": "file:///etc/passwd"}]}),
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{"parts": [{"kind": "text", "text": "{\"a\":1,\"a\":2}"}]}]}),
                json!("{\"a\":1,\"a\":2}"),
            ),
        ] {
            assert_eq!(answer(result.clone()), body, "{result}");
        }
    }

    #[test]
    fn a_task_that_ended_otherwise_is_declined_with_its_state_and_its_tamed_words() {
        for state in [
            "failed",
            "rejected",
            "canceled",
            "input-required",
            "auth-required",
        ] {
            assert_eq!(declined(json!({"status": {"state": state}})), state);
        }
        let words =
            json!({"role": "agent", "parts": [{"kind": "text", "text": "no\u{1b}[2J\nroom"}]});
        let text = declined(json!({"status": {"state": "failed", "message": words}}));
        assert_eq!(text, "failed: no\\u001b[2J room");
    }

    #[test]
    fn the_words_of_a_task_that_rests_stay_whole_for_programs() {
        let parts = json!([{"text": "which week? ".repeat(40)}, {"data": {"weeks": [7, 8]}}]);
        let task = json!({"id": "t", "status": {"state": 6, "message": {"parts": parts}}});
        let Ok(TaskProgress::Done(Done::Unfinished { body, .. })) =
            read(task.clone(), PartsForm::Text)
        else {
            panic!("not unfinished");
        };
        assert_eq!(body, json!({"state": "input-required", "parts": parts}));
        assert_eq!(resting(&task).as_deref(), Some("t"));
        assert_eq!(
            resting(&json!({"id": "t", "status": {"state": "failed"}})),
            None
        );
    }

    #[test]
    fn several_artifacts_stay_apart_and_one_alone_is_what_it_says() {
        let artifact = |id: &str, text: &str| json!({"artifactId": id, "name": id.to_uppercase(), "parts": [{"text": text}]});
        let done =
            |artifacts: Value| json!({"status": {"state": "completed"}, "artifacts": artifacts});
        assert_eq!(answer(done(json!([artifact("a", "one")]))), "one");
        let empty = json!({"artifactId": "e", "parts": [{"text": ""}]});
        assert_eq!(answer(done(json!([artifact("a", "one"), empty]))), "one");
        let mark =
            |id: &str| json!({A2A_EXTENSION: {"artifact": {"id": id, "name": id.to_uppercase()}}});
        let both = answer(done(json!([artifact("a", "one"), artifact("b", "{}")])));
        let parts =
            json!([{"text": "one", "metadata": mark("a")}, {"text": "{}", "metadata": mark("b")}]);
        assert_eq!(both, json!({ "parts": parts }));
    }

    #[test]
    fn a_task_that_goes_on_is_asked_for_by_its_id() {
        let working = json!({"id": "t-1", "kind": "task", "status": {"state": "working"}});
        let under = read(working, PartsForm::Text);
        assert!(matches!(under, Ok(TaskProgress::Working(id)) if id == "t-1"));
        let lost = read(json!({"status": {"state": "submitted"}}), PartsForm::Text);
        assert!(matches!(lost, Err(Fault::Shape(_))));
    }

    #[test]
    fn a_result_that_does_not_fit_is_refused_by_name() {
        let text = json!([{"kind": "text", "text": "x"}]);
        for (result, name) in [
            (json!("x"), "wrong-shape"),
            (json!({}), "wrong-shape"),
            (json!({"status": "completed"}), "wrong-shape"),
            (json!({"status": {}}), "wrong-shape"),
            (json!({"status": {"state": "success"}}), "unknown-state"),
            (json!({"status": {"state": "done"}}), "unknown-state"),
            (json!({"status": {"state": 17}}), "unknown-state"),
            (
                json!({"status": {"state": "TASK_STATE_UNSPECIFIED"}}),
                "unknown-state",
            ),
            (json!({"status": {"state": "completed"}}), "no-output"),
            (
                json!({"status": {"state": "completed"}, "artifacts": [], "history": []}),
                "no-output",
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": {}}),
                "wrong-shape",
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{}]}),
                "wrong-shape",
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{"parts": [{"kind": "text"}]}]}),
                "wrong-shape",
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{"parts": [{"kind": "odd", "text": "x"}]}]}),
                "wrong-shape",
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{"parts": text}], "history": [{"parts": text}]}),
                "wrong-shape",
            ),
            (
                json!({"status": {"state": "completed"}, "artifacts": [{"parts": text}], "history": [{"role": "agent"}]}),
                "wrong-shape",
            ),
        ] {
            let found = answer(result.clone());
            assert!(
                found.as_str().is_some_and(|text| text.starts_with(name)),
                "{result}: {found}"
            );
        }
    }
}
