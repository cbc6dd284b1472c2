//! Calls without an id. JSON-RPC leaves them unanswered. Some clients of 0.3 leave out the id in a call that has another
//! fault besides, and wait for an answer all the same: they get the error.

use serde_json::{Map, Value};
use signet_json::{Limits, parse_foreign};

use super::clock::Moment;
use super::fault::{A2aError, A2aErrorKind};
use super::words::method::{A2aMethod, A2aVersion};
use super::words::read::{self, Fields};

/// What is wrong with such a call beside that it has no id, and the version to say it in; `None` where nothing is, or the body
/// is another one.
pub(crate) fn fault(body: &[u8]) -> Option<(A2aError, A2aVersion)> {
    let value = parse_foreign(body, Limits::MESSAGE).ok()?;
    let members = value.as_object()?;
    if members.contains_key("id") || members.get("jsonrpc")? != "2.0" {
        return None;
    }
    let Some((method, version)) = A2aMethod::named(members.get("method")?.as_str()?) else {
        return Some((
            A2aError::new(A2aErrorKind::Method, "Method not found"),
            A2aVersion::V03,
        ));
    };
    let none = Map::new();
    let params = match members.get("params") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(params)) => params,
        Some(_) => return Some((A2aError::params("params", "are not an object"), version)),
    };
    let fault = named(method, version, &Fields::root(params)).err()?;
    Some((fault, version))
}

/// That the parameters name what the method is about.
fn named(method: A2aMethod, version: A2aVersion, fields: &Fields<'_>) -> Result<(), A2aError> {
    let about = match (method, version) {
        (A2aMethod::Send | A2aMethod::Stream, _) => {
            let message = fields.object("message")?;
            let message = message.ok_or_else(|| fields.fault("message", "is missing"))?;
            read::message(&message, || Moment::read().id())?;
            return Ok(());
        }
        (A2aMethod::List | A2aMethod::ExtendedCard, _) => return Ok(()),
        (A2aMethod::SetPush, _) => "taskId",
        (A2aMethod::GetPush | A2aMethod::ListPush | A2aMethod::DeletePush, A2aVersion::V1) => {
            "taskId"
        }
        _ => "id",
    };
    fields.needed(about)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_without_an_id_hears_what_is_wrong_with_it() {
        let kind = |body: Value| fault(body.to_string().as_bytes()).map(|(fault, _)| fault.kind());
        let call = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
        for (body, found) in [
            (call("message/ssend", json!({})), Some(A2aErrorKind::Method)),
            (
                call("message/send", json!({"": "x"})),
                Some(A2aErrorKind::Params),
            ),
            (
                call("message/send", json!({"message": {}})),
                Some(A2aErrorKind::Params),
            ),
            (call("message/send", json!([1])), Some(A2aErrorKind::Params)),
            (call("tasks/get", json!({})), Some(A2aErrorKind::Params)),
            (
                call("GetTaskPushNotificationConfig", json!({"id": "x"})),
                Some(A2aErrorKind::Params),
            ),
            // `fault` finds nothing from here on: these two calls lack nothing but the id, and the bodies after them are no
            // calls of JSON-RPC 2.0 without an id.
            (call("tasks/get", json!({"id": "x"})), None),
            (call("ListTasks", json!({})), None),
            (json!({"jsonrpc": "1.0", "method": "message/ssend"}), None),
            (json!({"jsonrpc": "2.0", "method": 7}), None),
            (
                json!({"jsonrpc": "2.0", "id": null, "method": "message/ssend"}),
                None,
            ),
            (json!([]), None),
        ] {
            assert_eq!(kind(body.clone()), found, "{body}");
        }
        assert!(fault(b"{").is_none());
    }
}
