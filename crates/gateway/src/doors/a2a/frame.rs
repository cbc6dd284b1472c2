//! One body of A2A: the request in it.

use serde_json::{Map, Value};
use signet_api::rpc::{self, Frame, Id};
use signet_json::{Limits, parse_foreign};

use super::fault::{A2aError, A2aErrorKind};

/// A request that was read.
pub(crate) struct A2aRequest {
    pub(crate) id: Id,
    pub(crate) method: String,
    /// An object; an empty one where the client sent none.
    pub(crate) params: Map<String, Value>,
}

/// Reads a request.
///
/// # Errors
/// -32700 and -32600, with the id where one could be read; -32602 for parameters that are no object.
pub(crate) fn read(body: &[u8]) -> Result<A2aRequest, (Id, A2aError)> {
    let parse = || (Id::null(), A2aError::new(A2aErrorKind::Parse, PARSE));
    let unfit = |id: Id, what: &str| {
        let text = format!("Invalid Request: {what}");
        (id, A2aError::new(A2aErrorKind::Request, text))
    };
    let raw = rpc::raw(body).map_err(|_| parse())?;
    if raw.get().starts_with('[') {
        let what = "a batch is no call of A2A; send each call by itself";
        return Err(unfit(Id::null(), what));
    }
    let frame = Frame::read(raw).map_err(|(id, why)| unfit(id, &why.to_string()))?;
    let id = match frame.id {
        Some(id) if id != Id::null() => id,
        _ => {
            let what = "a call of A2A wants an answer, and so has an id that is a text or a number";
            return Err(unfit(Id::null(), what));
        }
    };
    let params = frame
        .params
        .map(|params| parse_foreign(params.get().as_bytes(), LIMITS));
    let params = match params {
        None => None,
        Some(Ok(params)) => Some(params),
        Some(Err(_)) => {
            // The strict parser does not say what it refused. If it was too large a number, parse again leniently to find that
            // number, so that the error can name its place.
            let wide = frame.params.and_then(|params| {
                let value: Value = serde_json::from_str(params.get()).ok()?;
                wide_number(&value)
            });
            let (field, id) = (wide.ok_or_else(parse)?, id);
            return Err((id, A2aError::params(field, WIDE)));
        }
    };
    let params = match params {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err((id, A2aError::params("params", "are not an object"))),
    };
    Ok(A2aRequest {
        id,
        method: frame.method,
        params,
    })
}

/// Where the first number stands that is beyond what every reader of JSON holds, in the form `message.parts[0].data.week`.
fn wide_number(value: &Value) -> Option<String> {
    let below = |step: String, rest: String| match rest.as_bytes().first() {
        None => step,
        Some(b'[') => step + &rest,
        Some(_) => format!("{step}.{rest}"),
    };
    match value {
        Value::Number(number) => {
            let is_wide = number.as_f64().is_none_or(|size| size.abs() > LARGEST);
            is_wide.then(String::new)
        }
        Value::Array(items) => {
            let mut found = items.iter().enumerate();
            found.find_map(|(at, item)| Some(below(format!("[{at}]"), wide_number(item)?)))
        }
        Value::Object(members) => members
            .iter()
            .find_map(|(name, member)| Some(below(name.clone(), wide_number(member)?))),
        _ => None,
    }
}

const WIDE: &str = "is a number beyond 2^53-1, which not every reader holds; send it as a text";
/// 2^53-1 (RFC 7493, section 2.2).
const LARGEST: f64 = 9_007_199_254_740_991.0;
const PARSE: &str = "Parse error: the body is not one JSON text that every reader reads alike, or is too large or too deep";
/// A message of the daemon's with all that A2A puts around it. The listener has a limit of its own.
const LIMITS: Limits = Limits {
    bytes: 4 << 20,
    depth: 72,
    values: 40_000,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &[u8]) -> (String, i64) {
        match read(body) {
            Ok(asked) => (asked.id.as_str().to_owned(), 0),
            Err((id, fault)) => (id.as_str().to_owned(), fault.kind().code()),
        }
    }

    #[test]
    fn an_id_comes_back_digit_for_digit() {
        for id in [
            "1",
            "1.0",
            "\"1\"",
            "-0",
            "1e3",
            "1E+3",
            "0.10",
            "12345678901234567890123",
            "\"\\u0031\"",
            "\"\"",
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0", "id" : {id} ,"method":"x","params":{{"id":7}}}}"#);
            let asked = read(body.as_bytes()).ok().unwrap();
            assert_eq!(asked.id.as_str(), id);
            assert_eq!(asked.params["id"], 7);
            assert_eq!(
                asked.id.result(&Value::Null),
                format!(r#"{{"jsonrpc":"2.0","result":null,"id":{id}}}"#)
            );
        }
    }

    #[test]
    fn what_is_no_call_is_refused_by_its_code() {
        let null = || "null".to_owned();
        for (body, expected) in [
            (&b"{"[..], (null(), -32700)),
            (b"", (null(), -32700)),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"} 1",
                (null(), -32700),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}",
                (null(), -32600),
            ),
            (b"{\"id\":\"\xff\"}", (null(), -32700)),
            (b"[]", (null(), -32600)),
            (
                b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]",
                (null(), -32600),
            ),
            (b"1", (null(), -32600)),
            (b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", (null(), -32600)),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}",
                (null(), -32600),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"x\"}",
                (null(), -32600),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}",
                (null(), -32600),
            ),
            (
                b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}",
                ("1".to_owned(), -32600),
            ),
            (b"{\"id\":1,\"method\":\"x\"}", ("1".to_owned(), -32600)),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1}", ("1".to_owned(), -32600)),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
                ("1".to_owned(), -32600),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}",
                ("1".to_owned(), -32602),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":null}",
                ("1".to_owned(), 0),
            ),
        ] {
            assert_eq!(code(body), expected, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_number_that_is_too_wide_is_named_by_its_place_and_the_call_keeps_its_id() {
        for (params, field) in [
            (
                r#"{"message":{"parts":[{"text":"x"},{"data":{"week":9007199254740993}}]}}"#,
                "message.parts[1].data.week",
            ),
            (r#"{"a":[1,[2,-12345678901234567890123]]}"#, "a[1][1]"),
            (r#"{"metadata":{"n":1e20}}"#, "metadata.n"),
        ] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{params}}}"#);
            let Err((id, fault)) = read(body.as_bytes()) else {
                panic!("{params} was read");
            };
            assert_eq!(
                (id.as_str(), fault.kind()),
                ("7", A2aErrorKind::Params),
                "{params}"
            );
            assert!(
                fault
                    .to_string()
                    .contains(&format!("{field} is a number beyond")),
                "{fault}"
            );
        }
    }

    #[test]
    fn ten_thousand_arrays_within_each_other_cost_no_stack() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","method":"x","params":{}{},"id":1}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        assert_eq!(code(deep.as_bytes()), ("null".to_owned(), -32700));
    }
}
