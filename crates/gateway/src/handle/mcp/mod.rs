//! Kind `mcp`: a tool of an MCP server, called with the body as its arguments.
//!
//! The client is the crate's own and not that of rmcp, whose server the doors use. It has to bound every line and event, to
//! read JSON strictly, to give ids that a server cannot guess (rmcp counts up: a server could answer a call before it is
//! made), and to name each fault for the log. All of that sits below rmcp's client, which would save `initialize` and the
//! match of ids alone.

mod stdio;
mod streamable;

use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};

use crate::handle::a2a::{about, one_or_list, read_text};
use crate::handle::jsonrpc::{RpcAnswer, tamed};
use crate::handle::trace::Trace;
use signet_handlers::{Attempt, Done, Fault, Handler, Trying};

pub(crate) use stdio::ServerStdio;
pub(crate) use streamable::Streamable;

/// Calls one tool. The server is started, or greeted, before the first message and kept for the next ones.
pub(crate) struct Mcp {
    pub(crate) server: McpServer,
    pub(crate) tool: String,
    pub(crate) trace: Trace,
}

/// How the server is reached.
pub(crate) enum McpServer {
    Stdio(ServerStdio),
    Streamable(Streamable),
}

impl Handler for Mcp {
    fn handle<'a>(&'a mut self, attempt: &'a Attempt<'a>) -> Trying<'a> {
        async move {
            let Value::Object(arguments) = attempt.body() else {
                return Ok(Done::Declined(
                    "the body has to be a JSON object".to_owned(),
                ));
            };
            // The attempt's key is the progress token, so that progress of another call is not taken for progress of this one.
            let params = json!({
                "name": self.tool, "arguments": arguments,
                "_meta": { "signet": about(attempt), "progressToken": attempt.key },
            });
            let called = match &mut self.server {
                McpServer::Stdio(stdio) => stdio.call(attempt, &self.trace, params).await?,
                McpServer::Streamable(http) => http.call(attempt, &self.trace, params).await?,
            };
            match called {
                Ok(result) => outcome(result),
                Err(error) => Ok(Done::Declined(error.to_string())),
            }
        }
        .boxed_local()
    }

    fn look(&self) -> Result<(), Fault> {
        match &self.server {
            McpServer::Stdio(stdio) => stdio.look(),
            McpServer::Streamable(_) => Ok(()),
        }
    }
}

/// The parameters of `initialize`.
fn greeting() -> Value {
    json!({
        "protocolVersion": VERSIONS[0],
        "capabilities": {},
        "clientInfo": { "name": "signet", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// Which version the server chose.
fn greeted(answer: RpcAnswer) -> Result<&'static str, Fault> {
    let result = answer.map_err(|_| Fault::Mcp("the server refuses to be initialized"))?;
    let chosen = result.get("protocolVersion").and_then(Value::as_str);
    let known = VERSIONS.iter().find(|known| chosen == Some(**known));
    known.copied().ok_or(Fault::Mcp(
        "the server speaks no version of MCP that is known here",
    ))
}

/// What a server says of its progress on this very call.
fn pass_on(attempt: &Attempt<'_>, said: &Value) {
    let params = said.get("params").filter(|params| {
        said.get("method") == Some(&json!("notifications/progress"))
            && params.get("progressToken") == Some(&json!(attempt.key))
    });
    let number = |name| params.and_then(|params| params.get(name)?.as_f64());
    let text = params.and_then(|params| params.get("message")?.as_str());
    match (text, number("progress"), number("total")) {
        (Some(text), _, _) => attempt.tell(tamed(text)),
        (None, Some(done), Some(total)) => attempt.tell(format!("{done} of {total}")),
        (None, Some(done), None) => attempt.tell(format!("{done}")),
        (None, None, _) => {}
    }
}

pub(crate) fn outcome(result: Value) -> Result<Done, Fault> {
    let Value::Object(mut result) = result else {
        return Err(Fault::Shape("the tool's result is no object"));
    };
    let contents = contents(&result)?;
    if result.get("isError") == Some(&Value::Bool(true)) {
        let texts: Vec<&str> = contents.iter().filter_map(Value::as_str).collect();
        return Ok(Done::Declined(format!(
            "error: {}",
            tamed(&texts.join(" "))
        )));
    }
    let structured = result
        // Prefer structured content, which the tool's schema promises: the text only repeats it for clients
        // that cannot read it.
        .remove("structuredContent")
        .filter(|content| !content.is_null());
    let answer = structured.or_else(|| one_or_list(contents));
    answer.map(Done::Answer).ok_or(Fault::NoOutput)
}

fn contents(result: &Map<String, Value>) -> Result<Vec<Value>, Fault> {
    let contents = match result.get("content") {
        Some(Value::Array(contents)) => contents,
        None if result.contains_key("structuredContent") => return Ok(Vec::new()),
        _ => return Err(Fault::Shape("the tool's result has no list `content`")),
    };
    contents.iter().map(content).collect()
}

/// A text, or the content itself where it is another: nothing that it points to is fetched.
fn content(content: &Value) -> Result<Value, Fault> {
    let kind = content.get("type").and_then(Value::as_str);
    match (kind, content.get("text")) {
        (Some("text"), Some(Value::String(text))) => Ok(read_text(text)),
        (None | Some("text"), _) => Err(Fault::Shape("a content of the tool's result is none")),
        (Some(_), _) => Ok(content.clone()),
    }
}

/// Those that are told apart by `initialize`; the first is asked for.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tools_result_becomes_a_body() {
        for (result, body) in [
            (
                json!({"content": [{"type": "text", "text": "sunny"}]}),
                json!("sunny"),
            ),
            (
                json!({"content": [{"type": "text", "text": "{\"a\": 1}"}]}),
                json!({"a": 1}),
            ),
            (
                json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {"b": 2}}),
                json!({"b": 2}),
            ),
            (
                json!({"content": [{"type": "text", "text": "x"}, {"type": "resource_link", "uri": "file:///etc/shadow"}]}),
                json!(["x", {"type": "resource_link", "uri": "file:///etc/shadow"}]),
            ),
        ] {
            assert!(
                outcome(result.clone()) == Ok(Done::Answer(body)),
                "{result}"
            );
        }
        let failed =
            json!({"isError": true, "content": [{"type": "text", "text": "no\u{1b}[2J week"}]});
        assert!(outcome(failed) == Ok(Done::Declined("error: no\\u001b[2J week".to_owned())));
    }

    #[test]
    fn a_tools_result_that_does_not_fit_is_refused_by_name() {
        for (result, name) in [
            (json!(null), "wrong-shape"),
            (json!({}), "wrong-shape"),
            (json!({"content": "x"}), "wrong-shape"),
            (json!({"content": [{"text": "x"}]}), "wrong-shape"),
            (json!({"content": [{"type": "text"}]}), "wrong-shape"),
            (json!({"content": []}), "no-output"),
        ] {
            let Err(fault) = outcome(result.clone()) else {
                panic!("{result}");
            };
            assert!(fault.to_string().starts_with(name), "{result}: {fault}");
        }
    }
}
