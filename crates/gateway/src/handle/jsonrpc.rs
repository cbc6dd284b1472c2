//! Kind `http`: JSON-RPC 2.0 by POST. Here is also how every kind reads a JSON-RPC answer.

use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};
use signet_text::visible;

use crate::handle::http::{self, HandlerPost, JSON};
use crate::handle::trace::Trace;
use crate::outgoing::{Endpoint, HttpAnswer};
use signet_handlers::answer::{self, ANSWER};
use signet_handlers::{Attempt, Done, Fault, Handler, Trying};

/// Calls one method, with the body as its parameters.
pub(crate) struct JsonRpc {
    pub(crate) endpoint: Endpoint,
    pub(crate) method: String,
    pub(crate) trace: Trace,
}

impl Handler for JsonRpc {
    fn handle<'a>(&'a mut self, attempt: &'a Attempt<'a>) -> Trying<'a> {
        async move {
            let request = call(attempt.key, &self.method, params(attempt.body()));
            let reply =
                exchange(&self.endpoint, &self.trace, attempt, &request, Vec::new()).await?;
            Ok(match outcome(&reply, &json!(attempt.key))? {
                Ok(result) => Done::Answer(result),
                Err(error) => Done::Declined(error.to_string()),
            })
        }
        .boxed_local()
    }
}

/// A request of JSON-RPC 2.0.
pub(crate) fn call(id: &str, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Posts a request and shows both ways to whoever traces.
pub(crate) async fn exchange(
    endpoint: &Endpoint,
    trace: &Trace,
    attempt: &Attempt<'_>,
    request: &Value,
    more: Vec<(&'static str, String)>,
) -> Result<HttpAnswer, Fault> {
    let body = request.to_string().into_bytes();
    trace.sent(attempt, &body);
    let mut headers = http::who_asks(attempt);
    headers.extend(more);
    let post = HandlerPost {
        body,
        accept: JSON,
        headers,
    };
    let reply = http::post(endpoint, post).await?;
    trace.heard(attempt, &reply.body);
    Ok(reply)
}

/// What the other side refused, in JSON-RPC's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcError {
    code: i64,
    message: String,
}

/// What a call came to: its result, or the other side's refusal.
pub(crate) type RpcAnswer = Result<Value, RpcError>;

impl RpcError {
    pub(crate) const fn code(&self) -> i64 {
        self.code
    }
}

impl std::fmt::Display for RpcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "error {}: {}", self.code, self.message)
    }
}

/// Reads what came by HTTP: an error of JSON-RPC counts with any status, a result with a success alone.
pub(crate) fn outcome(reply: &HttpAnswer, id: &Value) -> Result<RpcAnswer, Fault> {
    let failed = (!reply.status.is_success()).then(|| Fault::Status(reply.status.as_u16()));
    let read = || answer::read(reply.json_bytes()?, ANSWER).and_then(|value| answer(value, id));
    match (read(), failed) {
        (Ok(Err(error)), _) => Ok(Err(error)),
        (_, Some(fault)) => Err(fault),
        (read, None) => read,
    }
}

/// Reads one response of JSON-RPC 2.0 to the request `id`.
pub(crate) fn answer(value: Value, id: &Value) -> Result<RpcAnswer, Fault> {
    let Value::Object(mut members) = value else {
        return Err(Fault::Shape("its answer is no object of JSON-RPC"));
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(Fault::Shape("its answer does not say \"jsonrpc\": \"2.0\""));
    }
    if members.get("id") != Some(id) {
        return Err(Fault::WrongId);
    }
    match (members.remove("result"), members.remove("error")) {
        // One of the two members has to be absent (JSON-RPC 2.0, section 5). Some libraries write both, with `null` in the
        // unused one: take that as absent.
        (Some(result), None | Some(Value::Null)) => Ok(Ok(result)),
        (None | Some(Value::Null), Some(Value::Object(error))) => rpc_error(&error).map(Err),
        (Some(_), Some(_)) => Err(Fault::Shape("its answer has both a result and an error")),
        (None, None) => Err(Fault::Shape("its answer has neither a result nor an error")),
        (None, Some(_)) => Err(ERROR),
    }
}

fn rpc_error(error: &Map<String, Value>) -> Result<RpcError, Fault> {
    let code = error.get("code").and_then(Value::as_i64);
    let message = error.get("message").and_then(Value::as_str);
    let (Some(code), Some(message)) = (code, message) else {
        return Err(ERROR);
    };
    Ok(RpcError {
        code,
        message: tamed(message),
    })
}

/// The other side's words as they may be said to a peer: one line of at most 200 characters that drives no terminal.
pub(crate) fn tamed(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&line).chars().take(LONGEST_WORDS).collect()
}

/// JSON-RPC takes an object or an array; anything else is the one parameter of a list.
fn params(body: &Value) -> Value {
    match body {
        Value::Object(_) | Value::Array(_) => body.clone(),
        other => json!([other]),
    }
}

const ERROR: Fault =
    Fault::Shape("its error has not both a whole number `code` and a text `message`");
const LONGEST_WORDS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_does_not_fit_is_refused_by_name() {
        let id = json!("a/1");
        let good = json!({"jsonrpc": "2.0", "id": "a/1", "result": 1});
        assert_eq!(answer(good.clone(), &id), Ok(Ok(json!(1))));
        for (member, value, fault) in [
            ("jsonrpc", json!("1.0"), "wrong-shape"),
            ("jsonrpc", json!(2.0), "wrong-shape"),
            ("id", json!("a/2"), "wrong-id"),
            ("id", json!(null), "wrong-id"),
            ("id", json!(["a/1"]), "wrong-id"),
            ("error", json!({"code": 1, "message": "x"}), "wrong-shape"),
        ] {
            let mut bad = good.clone();
            bad[member] = value.clone();
            let found = answer(bad, &id).unwrap_err().to_string();
            assert!(found.starts_with(fault), "{member} {value}: {found}");
        }
        for bad in [
            json!([good]),
            json!("x"),
            json!({"jsonrpc": "2.0", "id": "a/1"}),
            json!({"jsonrpc": "2.0", "id": "a/1", "error": "x"}),
            json!({"jsonrpc": "2.0", "id": "a/1", "error": {"code": "1", "message": "x"}}),
            json!({"jsonrpc": "2.0", "id": "a/1", "error": {"code": 1}}),
        ] {
            let found = answer(bad.clone(), &id).unwrap_err().to_string();
            assert!(found.starts_with("wrong-shape"), "{bad}: {found}");
        }
    }

    #[test]
    fn an_error_full_of_escapes_is_one_harmless_line() {
        let message = format!("Internal\r\n\u{1b}[2J\u{202e} {}", "x".repeat(1000));
        let error =
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": message}});
        let said = answer(error, &json!(1)).unwrap().unwrap_err().to_string();
        assert!(
            said.starts_with("error -32603: Internal \\u001b[2J\\u202e x"),
            "{said}"
        );
        assert!(said.chars().count() <= LONGEST_WORDS + 20 && !said.contains('\u{1b}'));
    }
}
