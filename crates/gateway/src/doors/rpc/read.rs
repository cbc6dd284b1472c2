//! A body of `POST /rpc` becomes requests, their parameters read strictly: what two readers could read differently is no
//! call.

use signet_api::ApiError;
use signet_api::rpc::{self, Incoming};

/// Reads one body.
///
/// # Errors
/// What the whole of it is answered with, under the id `null`.
pub(crate) fn parse(body: &[u8]) -> Result<Incoming, ApiError> {
    rpc::read(body, BATCH_MAX)
}

/// Each may take a while, and the listener has many clients.
const BATCH_MAX: usize = 50;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use signet_api::rpc::{Asked, Id, Item};

    use super::*;

    /// What a server without any method answers.
    fn answer(body: &[u8]) -> Option<Value> {
        let one = |item| match item {
            Item::Ignored | Item::Call(Asked { id: None, .. }) => None,
            Item::Faulty(id, error) => Some(id.refusal(&error)),
            Item::Call(Asked { id: Some(id), .. }) => {
                Some(id.refusal(&ApiError::method_not_found()))
            }
        };
        let text = match parse(body) {
            Err(error) => Some(Id::null().refusal(&error)),
            Ok(Incoming::One(item)) => one(item),
            Ok(Incoming::Batch(items)) => {
                let all: Vec<String> = items.into_iter().filter_map(one).collect();
                (!all.is_empty()).then(|| format!("[{}]", all.join(",")))
            }
        };
        text.map(|text| serde_json::from_str(&text).unwrap())
    }

    fn bytes(input: &str) -> Vec<u8> {
        if let Some(hex) = input.strip_prefix("hex:") {
            return data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
        }
        match input
            .strip_prefix("rep:")
            .and_then(|rep| rep.split_once('*'))
        {
            Some((piece, times)) => piece.repeat(times.parse().unwrap()).into_bytes(),
            None => input.as_bytes().to_vec(),
        }
    }

    #[test]
    fn every_case_of_the_vectors_is_answered_as_they_say() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/http/jsonrpc20.json")).unwrap();
        assert_eq!(cases.len(), 51);
        for case in cases {
            let needs_methods = case["needs_demo_methods"] == true;
            let answer = answer(&bytes(case["input"].as_str().unwrap()));
            let mut got = answer.clone().unwrap_or_else(|| json!("__NOTHING__"));
            let mut expected = [case["expect"].clone(), case["also_acceptable"].clone()];
            // These test cases call demonstration methods, which the gateway lacks, so only the id and the frame of each answer are
            // compared.
            if needs_methods {
                for value in expected.iter_mut().chain([&mut got]) {
                    blur(value);
                }
            }
            assert!(expected.contains(&got), "{}: {got}", case["id"]);
        }
    }

    fn blur(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(blur),
            Value::Object(members) if members["id"] != Value::Null => {
                members.retain(|name, _| name == "id" || name == "jsonrpc");
            }
            _ => {}
        }
    }

    #[test]
    fn an_id_comes_back_byte_for_byte() {
        for id in [
            "1",
            "1.0",
            "-0",
            "1e3",
            "0.10",
            "12345678901234567890123",
            "\"1\"",
            "\"\\u0031\"",
            "\"\"",
            "null",
        ] {
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\": {id} ,\"method\":\"x\"}}");
            let Ok(Incoming::One(Item::Call(asked))) = parse(body.as_bytes()) else {
                panic!("{id}")
            };
            let answer = asked.id.unwrap().answer(&Ok(Value::Null));
            assert_eq!(
                answer,
                format!("{{\"jsonrpc\":\"2.0\",\"result\":null,\"id\":{id}}}")
            );
        }
    }

    #[test]
    fn ten_thousand_arrays_within_each_other_cost_no_stack() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let within = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{deep}}}");
        assert_eq!(answer(within.as_bytes()).unwrap()["error"]["code"], -32602);
        assert_eq!(answer(deep.as_bytes()).unwrap()[0]["error"]["code"], -32600);
        let aside = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"y\":{deep}}}");
        assert!(answer(aside.as_bytes()).is_some());
    }

    #[test]
    fn what_two_readers_read_differently_is_no_call() {
        let refused = |body: &str| answer(body.as_bytes()).unwrap();
        let twice = refused(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":1,\"\\u0061\":2}}",
        );
        assert_eq!(
            (&twice["error"]["code"], &twice["id"]),
            (&json!(-32602), &json!(1))
        );
        let ids = refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"\\u0069d\":2,\"method\":\"x\"}");
        assert_eq!(
            (&ids["error"]["code"], &ids["id"]),
            (&json!(-32600), &Value::Null)
        );
        let both = refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":1}");
        assert_eq!(
            (&both["error"]["code"], &both["id"]),
            (&json!(-32600), &json!(1))
        );
        let quiet = "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":1,\"a\":2}}";
        assert_eq!(
            answer(quiet.as_bytes()),
            None,
            "nobody hears of a notification"
        );
    }

    /// Bodies made of the vectors' by chance, always the same: none makes the reader panic, and each answer is JSON with an
    /// id that stood in the body, or null.
    #[test]
    fn forty_thousand_spoilt_bodies_are_answered_in_json() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/http/jsonrpc20.json")).unwrap();
        let bodies = cases
            .iter()
            .map(|case| bytes(case["input"].as_str().unwrap()));
        let bodies: Vec<Vec<u8>> = bodies.filter(|body| body.len() < 1000).collect();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        let pieces: [&[u8]; 10] = [
            b"{", b"]", b"\"id\":", b"\\u", b"\xff", b"1e999", b"null", b"\"", b",", b"[[[[",
        ];
        for _ in 0..40_000 {
            let mut body = bodies[next(bodies.len())].clone();
            for _ in 0..=next(4) {
                let at = next(body.len() + 1);
                match next(3) {
                    0 => body.truncate(at),
                    1 => drop(body.splice(at..at, pieces[next(pieces.len())].iter().copied())),
                    _ if at < body.len() => body[at] = u8::try_from(next(256)).unwrap(),
                    _ => {}
                }
            }
            for answer in answer(&body).into_iter().flat_map(|answer| match answer {
                Value::Array(all) => all,
                one => vec![one],
            }) {
                assert_eq!(answer["jsonrpc"], "2.0");
                assert!(!answer["id"].is_object() && !answer["id"].is_array());
            }
        }
    }

    #[test]
    fn a_batch_has_an_end() {
        let one = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}";
        let of =
            |many: usize| answer(format!("[{}]", vec![one; many].join(",")).as_bytes()).unwrap();
        assert_eq!(of(BATCH_MAX).as_array().unwrap().len(), BATCH_MAX);
        assert_eq!(of(BATCH_MAX + 1)["error"]["code"], -32600);
    }
}
