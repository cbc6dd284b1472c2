//! Asking the running daemon.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::Reason;
use signet_proto::node::At;

use super::{Exit, Failure, print};
use crate::clock;
use crate::config::Config;
use crate::control::{ApiError, Client, ClientError};
use crate::daemon::people;
use crate::home::Home;
use crate::lock::HomeLock;
use crate::memory::Memory;

/// How long the daemon may take for what is its own to do: a slow disk is slow.
const PROMPT: Duration = Duration::from_secs(30);

/// A connection to the daemon of `home`; each call may wait `wait` for others besides.
pub(super) fn connect(home: Option<PathBuf>, wait: Duration) -> Result<Client, Failure> {
    let config = Config::load(&Home::find(home)?)?;
    Ok(Client::connect(&config.control_socket, PROMPT + wait)?)
}

/// One call.
pub(super) fn ask(home: Option<PathBuf>, method: &str, params: &Value) -> Result<Value, Failure> {
    Ok(connect(home, Duration::ZERO)?.raw(method, params)?)
}

/// One call that changes something: where no answer comes, it may be done all the same.
pub(super) fn change(client: &mut Client, method: &str, params: &Value) -> Result<Value, Failure> {
    client.raw(method, params).map_err(|error| match error {
        ClientError::Refused(_) | ClientError::Stopped(_) | ClientError::NotReachable { .. } => {
            error.into()
        }
        lost => Failure::new(
            Exit::NotReachable,
            format!(
                "{}: {lost}; nobody can say here whether it was done",
                Reason::OutcomeUnknown
            ),
            "look before you repeat it: signet outbox shows what is on its way, signet audit show \
             what was sent",
        )
        .named(Reason::OutcomeUnknown.as_str()),
    })
}

/// Tells the daemon that an answer is read: until then it waits in the inbox.
pub(super) fn acknowledge(client: &mut Client, message: &Value) -> Result<(), Failure> {
    let name = json!({"from": text(message, "from"), "message-id": text(message, "message-id")});
    match client.raw("inbox.acknowledge", &json!({ "messages": [name] })) {
        // Somebody else, such as `signet inbox --take`, has taken it before.
        Ok(_) | Err(ClientError::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The same for an answer that was printed already: whoever asked has it, whatever becomes of the daemon.
pub(super) fn acknowledge_read(client: &mut Client, answer: &Value) {
    if acknowledge(client, answer).is_err() {
        anstream::eprintln!(
            "the daemon could not be told that the answer is read: it also stands in signet inbox"
        );
    }
}

/// One JSON document on one line.
pub(super) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{}\n", safe_json(value)))
}

/// A list: one JSON document a line, and nothing where there is nothing.
pub(super) fn print_each<'a>(items: impl IntoIterator<Item = &'a Value>) -> Result<(), Failure> {
    let lines = items
        .into_iter()
        .map(|item| format!("{}\n", safe_json(item)));
    print(&lines.collect::<String>())
}

/// The items of a list that the daemon gave: the array itself, or that member of an object.
pub(super) fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let items = value.as_array().or_else(|| value.get(name)?.as_array());
    items.map(Vec::as_slice).unwrap_or_default()
}

/// JSON text that cannot drive a terminal: what JSON leaves unescaped is escaped as JSON escapes.
pub(super) fn safe_json(value: &Value) -> String {
    signet_audit::visible(&value.to_string()).into_owned()
}

/// The text of a member, or a dash.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("-")
}

/// Asks the daemon; where none runs, does it on the state itself, under the lock.
pub(super) fn with_daemon(
    home: &Home,
    method: &str,
    params: &Value,
    offline: impl FnOnce(&mut Memory) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    let config = Config::load(home)?;
    match Client::connect(&config.control_socket, Duration::from_secs(30)) {
        Ok(mut client) => change(&mut client, method, params),
        Err(ClientError::NotReachable { .. }) => {
            let lock = HomeLock::acquire(home)?;
            offline(&mut Memory::open(&lock, &config)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// A person's decision: by the daemon, or where none runs, on the state itself.
pub(super) fn decide(
    home: Option<PathBuf>,
    method: &str,
    params: &Value,
) -> Result<Value, Failure> {
    let home = Home::find(home)?;
    with_daemon(&home, method, params, |memory| {
        let at = At {
            now: clock::now(),
            elapsed: clock::elapsed(),
            head: None,
        };
        let served = people::serve(&mut memory.node, at, method, params.clone());
        let (shown, outcome) = served
            .unwrap_or_else(|| Err(ApiError::method_not_found()))
            .map_err(ClientError::Refused)?;
        memory.write(at.now, &outcome)?;
        Ok(shown)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_for_a_terminal_is_still_the_same_json() {
        let value = json!({"a \"b\" \\": "\u{1b}[2J\n\u{2028}\u{202e}\u{9b}\u{7f}\u{e0001}", "Grüße": "東京 🙂"});
        let text = safe_json(&value);
        let hidden = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}' | '\u{e0001}');
        assert!(!text.contains(hidden) && text.contains("東京 🙂"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
