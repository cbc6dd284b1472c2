//! The parameters of a call, and those that a person has to sign.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ApiError, Params};

/// The parameters of one call: what it is called, and what comes back.
pub trait Request: Serialize + DeserializeOwned {
    /// The name on the wire.
    const METHOD: &'static str;
    /// What the daemon gives back.
    type Answer: Serialize + DeserializeOwned;

    /// Reads the parameters; null stands for none.
    ///
    /// # Errors
    /// `invalid_params` with what is wrong, which repeats no value.
    fn parse(params: Params) -> Result<Self, ApiError> {
        let read = params.typed();
        read.map_err(|error| ApiError::invalid_params(fault(&error)))
    }
}

/// A request that decides about trust: its person may have to say with a signature that it is theirs.
pub trait Decides: Request {
    /// The signed word.
    fn decision(&self) -> Option<&Value>;

    /// The same request with that word, or without.
    #[must_use]
    fn with_decision(self, decision: Option<Value>) -> Self;
}

/// The calls that decide about trust, by their requests.
macro_rules! decides {
    ($($name:ident),*) => {
        $( impl Decides for $name {
            fn decision(&self) -> Option<&Value> {
                self.decision.as_ref()
            }

            fn with_decision(mut self, decision: Option<Value>) -> Self {
                self.decision = decision;
                self
            }
        } )*

        impl Call {
            /// Of a call that decides about trust, the signed word, and what it has to be about: the parameters
            /// without it.
            pub fn decision(&self) -> Option<(Option<&Value>, Value)> {
                match self {
                    $( Self::$name(call) => {
                        let bare = call.clone().with_decision(None);
                        let params = serde_json::to_value(bare).unwrap_or_default();
                        Some((call.decision(), params))
                    } )*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use decides;

/// What is wrong with parameters, without the value that is: it may be part of a message.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // Leave out the place: it is one of the canonical text, and the caller may have written another.
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    // Split the text at the last `, expected `: the value before it may contain the same words, and the answer must not repeat
    // the value.
    match (
        text.starts_with("unknown field"),
        text.rsplit_once(", expected "),
    ) {
        (false, Some((_, expected))) => {
            format!("a parameter has the wrong form; expected {expected}")
        }
        // Said of a word alone, where something else stands.
        _ if text == "expected value" => {
            "a parameter has the wrong form; expected a word".to_owned()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Call;

    #[test]
    fn a_wrong_parameter_is_not_repeated_in_the_error() {
        let wrong = [
            json!({"peer": "agent-bob", "kind": "secret"}),
            json!({"peer": "agent-bob", "kind": "request", "data-tier": "secret"}),
            json!({"peer": "agent-bob", "kind": "request", "data-tier": "secret, expected secret"}),
            json!({"peer": "agent-bob", "kind": {"secret": "secret"}}),
            json!({"peer": ["secret"], "kind": "request"}),
            json!("secret"),
        ];
        for params in wrong {
            let error = Call::parse("send", params.clone()).unwrap_err();
            let text = format!("{error:?}");
            assert!(!text.contains("secret"), "{params}: {text}");
        }
        let typo = Call::parse("peer.show", json!({"pear": "agent-bob"})).unwrap_err();
        assert!(typo.fault().unwrap().contains("`pear`"));
        // Neither is its place in a text that the caller may have written in another way.
        assert!(!typo.fault().unwrap().contains("column"));
        let number = json!({"peer": "agent-bob", "kind": 7});
        let error = Call::parse("send", number).unwrap_err();
        assert!(
            error.fault().unwrap().ends_with("expected a word"),
            "{error:?}"
        );
    }

    #[test]
    fn what_takes_nothing_takes_null_and_an_empty_object_and_no_member_that_it_does_not_know() {
        for method in ["status", "inbox.list", "pause.show"] {
            for nothing in [Value::Null, json!({})] {
                assert!(Call::parse(method, nothing).is_ok(), "{method}");
            }
            let error = Call::parse(method, json!({"x": 1})).unwrap_err();
            assert!(error.is_of_params() && error.fault().unwrap().contains("`x`"));
        }
    }

    #[test]
    fn a_decision_is_about_the_parameters_without_itself() {
        let params = json!({"agent": "agent-bob", "decision": {"type": "decision"}});
        let call = Call::parse("trust.approve", params).unwrap();
        let (said, about) = call.decision().unwrap();
        assert_eq!(said, Some(&json!({"type": "decision"})));
        assert_eq!(about, json!({"agent": "agent-bob"}));
        let asks = Call::parse("trust.list", json!({})).unwrap();
        assert_eq!(asks.decision(), None);
    }
}
