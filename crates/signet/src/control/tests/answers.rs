//! What is answered, in which order and under which id.

use super::*;

#[test]
fn every_json_rpc_case_is_answered_as_expected() {
    let cases: Vec<Value> = serde_json::from_str(include_str!(
        "../../../../proto/tests/vectors/jsonrpc/jsonrpc20.json"
    ))
    .unwrap();
    assert_eq!(cases.len(), 51);
    for case in cases {
        let answer = answer_to(&input_of(&case));
        let answer = answer.map_or(json!("__NOTHING__"), |answer| {
            serde_json::from_str(&answer).unwrap()
        });
        let expected =
            [&case["expect"], &case["also_acceptable"]].map(|answer| sorted(answer.clone()));
        assert!(
            expected.contains(&sorted(answer.clone())),
            "{}: {answer}",
            case["id"]
        );
    }
}

#[test]
fn an_id_comes_back_byte_for_byte() {
    let ids = [
        "12345678901234567890",
        "1.50",
        "-0",
        "1e300",
        "\"\\u0041\\/\"",
        "null",
        "\"\\ud83d\\ude00\"",
    ];
    for id in ids {
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\": {id} ,\"method\":\"sum\",\"params\":[1]}}");
        assert_eq!(
            answer_to(line.as_bytes()).unwrap(),
            format!("{{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":{id}}}")
        );
    }
    let long = format!("\"{}\"", "x".repeat(1024));
    for id in ["1e400", "true", "[1]", &long] {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"sum\"}}");
        let answer = answer_to(line.as_bytes()).unwrap();
        assert!(
            answer.contains("-32600") && answer.ends_with("\"id\":null}"),
            "{id}"
        );
    }
}

#[test]
fn parameters_are_as_strict_as_a_message() {
    for params in [
        "{\"a\":1,\"a\":2}",
        "[9007199254740993]",
        "[\"\\ud800\"]",
        "[1e999]",
    ] {
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{params}}}");
        let answer: Value = serde_json::from_str(&answer_to(line.as_bytes()).unwrap()).unwrap();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(-32602), &json!(1)),
            "{params}"
        );
        let line = line.replace("\"id\":1,", "");
        assert_eq!(answer_to(line.as_bytes()), None, "{params}");
    }
}

#[test]
fn a_request_that_says_two_things_is_refused() {
    let line =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get_data\",\"m\\u0065thod\":\"get_data\"}";
    let answer: Value = serde_json::from_str(&answer_to(line.as_bytes()).unwrap()).unwrap();
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32600), &json!(1))
    );
}

#[test]
fn a_batch_cannot_ask_for_an_endless_answer() {
    let line = format!("[{}1]", "1,".repeat(500_000));
    assert!(answer_to(line.as_bytes()).unwrap().len() < 200);
}

#[test]
fn calls_and_batches_are_answered_over_the_socket() {
    let daemon = Daemon::new();
    let mut client = daemon.client();
    assert_eq!(
        client
            .raw("subtract", &json!({ "minuend": 42, "subtrahend": 23 }))
            .unwrap(),
        19
    );
    let error = client.raw("nonsense", &Value::Null);
    // JSON-RPC knows no `params: null`: the daemon answers that this is no valid request.
    assert!(matches!(
        error,
        Err(ClientError::Refused(ApiError { code: -32600, .. }))
    ));
    let error = client.raw("nonsense", &json!({}));
    assert!(matches!(
        error,
        Err(ClientError::Refused(ApiError { code: -32601, .. }))
    ));
    let mut stream = daemon.stream();
    stream
        .write_all(b"[{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1,2],\"id\":\"a\"},{\"jsonrpc\":\"2.0\",\"method\":\"update\"},7]\n")
        .unwrap();
    let answers: Value = serde_json::from_str(&line(&stream)).unwrap();
    assert_eq!(answers.as_array().unwrap().len(), 2);
    assert_eq!(
        answers[0],
        json!({ "jsonrpc": "2.0", "result": 3, "id": "a" })
    );
    assert_eq!(answers[1]["error"]["code"], -32600);
}

#[test]
fn who_has_finished_asking_is_still_answered() {
    let daemon = Daemon::new();
    let mut stream = daemon.stream();
    stream
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1,2],\"id\":1}\n")
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "{\"jsonrpc\":\"2.0\",\"result\":3,\"id\":1}\n");
}

#[test]
fn calls_of_one_client_arrive_in_their_order() {
    let daemon = Daemon::new();
    let stream = daemon.stream();
    let mut writer = stream.try_clone().unwrap();
    let call = |id| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"turn\",\"id\":{id}}}\n");
    let calls: String = (0..200).map(call).collect();
    let sender = std::thread::spawn(move || writer.write_all(calls.as_bytes()).unwrap());
    for _ in 0..200 {
        let answer: Value = serde_json::from_str(&line(&stream)).unwrap();
        assert_eq!(answer["result"], answer["id"]);
    }
    sender.join().unwrap();
}

#[test]
fn a_call_that_the_daemon_drops_is_answered_that_nothing_was_done() {
    let daemon = Daemon::new();
    let error = daemon.client().raw("forget", &json!([]));
    let Err(ClientError::Stopped(error)) = error else {
        panic!("{error:?}");
    };
    assert!(error.is(&signet_api::Reason::Stopping));
}

#[test]
fn a_call_that_hangs_holds_up_neither_its_client_nor_others() {
    let daemon = Daemon::new();
    let mut client = daemon.client();
    client.set_timeout(Duration::from_millis(100));
    assert!(matches!(
        client.raw("hang", &json!([])),
        Err(ClientError::TimedOut(_))
    ));
    client.set_timeout(Duration::from_secs(10));
    assert_eq!(client.raw("sum", &json!([1])).unwrap(), 1);
    daemon.lives();
}

#[test]
fn notifications_follow_a_call_in_order() {
    let daemon = Daemon::new();
    let mut client = daemon.client();
    assert_eq!(client.raw("count", &json!([200])).unwrap(), "counting");
    let numbers = client
        .notifications()
        .take(200)
        .map(|told| told.unwrap().params[0].as_u64().unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
}
