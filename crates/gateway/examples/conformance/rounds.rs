//! Calls that are answered in rounds: a result that asks for input, and the call again with what was asked for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    ClientCapabilities, ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::fixture::{Rounds, filled};

/// What a round ends with.
pub(crate) enum Ended<T> {
    Asks(InputRequiredResult),
    Says(T),
}

/// The states that were given out. They are handles: what they stand for stays here, so that nobody changes it.
#[derive(Default)]
pub(crate) struct States(Mutex<BTreeMap<String, (String, usize)>>);

impl States {
    /// One round of a call of that name.
    pub(crate) fn round<T: DeserializeOwned>(
        &self,
        (name, call): (&str, &Rounds),
        responses: Option<&InputResponses>,
        state: Option<&str>,
        can: Option<&ClientCapabilities>,
    ) -> Result<Ended<T>, ErrorData> {
        let round = match state {
            Some(state) => self.taken(name, state)?,
            None => 0,
        };
        let none = InputResponses::new();
        let heard = heard(call, round, responses.unwrap_or(&none));
        // A state that was not given back leaves the call where it began.
        let next = match heard.is_some() && (state.is_some() || !call.state) {
            true => round + 1,
            false => round,
        };
        match call.rounds.get(next) {
            Some(requests) => {
                let requests = requests.iter().filter(|(_, request)| can_do(can, request));
                let requests: Option<InputRequests> = requests
                    .map(|(key, request)| Some((key.clone(), read(request)?)))
                    .collect();
                let requests = requests.ok_or_else(broken)?;
                let state = call.state.then(|| self.given(name, next));
                Ok(Ended::Asks(InputRequiredResult::new(Some(requests), state)))
            }
            None => {
                let says = filled(&call.says, &heard.unwrap_or_default());
                says.map(Ended::Says).ok_or_else(broken)
            }
        }
    }

    fn given(&self, name: &str, round: usize) -> String {
        let state = Uuid::new_v4().to_string();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(state.clone(), (name.to_owned(), round));
        state
    }

    fn taken(&self, name: &str, state: &str) -> Result<usize, ErrorData> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(state).filter(|(of, _)| of == name);
        known.map(|(_, round)| *round).ok_or_else(|| {
            ErrorData::invalid_params("requestState is none that this server gave out", None)
        })
    }
}

/// What the client says to a round, by the names that a result may repeat; `None` where it does not answer all of it.
fn heard(call: &Rounds, round: usize, responses: &InputResponses) -> Option<Map<String, Value>> {
    let mut names = Map::new();
    for key in call.rounds.get(round)?.keys() {
        let response = responses.get(key)?.as_object()?;
        for (name, value) in response {
            match value {
                Value::Object(content) => names.extend(content.clone()),
                other => drop(names.insert(name.clone(), other.clone())),
            }
        }
    }
    Some(names)
}

/// Whether a client of these capabilities is to be asked that.
fn can_do(can: Option<&ClientCapabilities>, request: &Value) -> bool {
    let Some(can) = can else {
        return false;
    };
    match request.get("method").and_then(Value::as_str) {
        Some("elicitation/create") => can.elicitation.is_some(),
        Some("sampling/createMessage") => can.sampling.is_some(),
        Some("roots/list") => can.roots.is_some(),
        _ => false,
    }
}

fn read(request: &Value) -> Option<InputRequest> {
    serde_json::from_value(request.clone()).ok()
}

fn broken() -> ErrorData {
    ErrorData::internal_error("fixture.json does not fit the library", None)
}
