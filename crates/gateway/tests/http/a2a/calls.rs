//! What is asked and answered, and what is refused, by each method under both names.

use serde_json::{Value, json};

use super::client::{BOB, Scene, begins, call, code, id_of, says};

#[test]
fn a_message_of_1_0_comes_back_as_a_task_that_is_complete() {
    let scene = Scene::new("");
    let told = scene.gateway.v1("SendMessage", &says("m-1", "hello"));
    let task = &told["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{told}");
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "hello"}]));
    assert_eq!(task["history"][0]["messageId"], "m-1");
    let data = json!({"message": {"messageId": "m-2", "role": "ROLE_USER", "contextId": "mine",
        "parts": [{"data": {"week": 7}}, {"raw": "AAE=", "filename": "f.bin", "mediaType": "application/x"}]}});
    let told = scene.gateway.v1("SendMessage", &data);
    let task = &told["result"]["task"];
    assert_eq!(task["contextId"], "mine");
    assert_eq!(
        task["artifacts"][0]["parts"], data["message"]["parts"],
        "{told}"
    );
}

#[test]
fn a_message_of_0_3_comes_back_in_the_words_of_0_3() {
    let scene = Scene::new("");
    let said = json!({"message": {"kind": "message", "messageId": "m-1", "role": "user",
        "parts": [{"kind": "text", "text": "hello"}]}, "configuration": {"historyLength": 0}});
    let told = scene.gateway.v03("message/send", &said);
    let task = &told["result"];
    assert_eq!(
        (&task["kind"], &task["status"]["state"]),
        (&json!("task"), &json!("completed")),
        "{told}"
    );
    assert_eq!(
        task["artifacts"][0]["parts"],
        json!([{"kind": "text", "text": "hello"}])
    );
    assert!(task.get("history").is_none());
    // The client's own message comes back in these words, too, where its length is not said to be 0.
    let mut said = said.clone();
    said["message"]["messageId"] = "m-2".into();
    said["configuration"]["historyLength"] = 1.into();
    let told = scene.gateway.v03("message/send", &said);
    let asked = &told["result"]["history"][0];
    assert_eq!(
        (&asked["kind"], &asked["role"], &asked["parts"]),
        (&json!("message"), &json!("user"), &said["message"]["parts"]),
        "{told}"
    );
    // Clients older than A2A 0.3 write `type` instead of `kind`, and send no `messageId`: the gateway answers them all
    // the same.
    let oldest = json!({"message": {"role": "user", "parts": [{"type": "text", "text": "ping"}]}});
    let told = scene.gateway.v03("message/send", &oldest);
    assert_eq!(
        told["result"]["artifacts"][0]["parts"][0]["text"], "ping",
        "{told}"
    );
    // The task was begun by a call of A2A 0.3, and a call of A2A 1.0 finds it as well.
    let same = scene.gateway.v1("GetTask", &json!({"id": task["id"]}));
    assert_eq!(same["result"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[test]
fn wrong_parameters_are_refused_by_each_method_and_leave_no_task() {
    let scene = Scene::new("");
    let good = says("m", "hello");
    for (pointer, wrong) in [
        ("/message", json!(null)),
        ("/message/messageId", json!(null)),
        ("/message/role", json!(null)),
        ("/message/parts", json!([])),
        ("/message/parts/0", json!({"kind": "video", "text": "x"})),
        ("/message/taskId", json!(7)),
        ("/configuration", json!({"historyLength": -1})),
        ("/configuration", json!("x")),
    ] {
        let mut params = good.clone();
        match params.pointer_mut(pointer) {
            Some(place) => *place = wrong.clone(),
            None if pointer == "/configuration" => params["configuration"] = wrong.clone(),
            None => params["message"]["taskId"] = wrong.clone(),
        }
        for method in ["SendMessage", "SendStreamingMessage"] {
            let told = scene.gateway.v1(method, &params);
            assert_eq!(code(&told), -32602, "{method} {pointer} {wrong}");
            let data = told["error"]["data"].as_array().unwrap();
            assert!(
                data.iter()
                    .any(|one| one["@type"] == "type.googleapis.com/google.rpc.BadRequest")
            );
        }
    }
    for (method, params) in [
        ("GetTask", json!({})),
        ("GetTask", json!({"id": 7})),
        ("GetTask", json!({"id": "x", "historyLength": -1})),
        ("CancelTask", json!({})),
        ("SubscribeToTask", json!({})),
        ("ListTasks", json!({"pageSize": 0})),
        ("ListTasks", json!({"pageSize": 101})),
        ("ListTasks", json!({"pageSize": -1})),
        ("ListTasks", json!({"pageToken": "x"})),
        ("ListTasks", json!({"status": "done"})),
        ("ListTasks", json!({"statusTimestampAfter": "yesterday"})),
        ("ListTasks", json!({"historyLength": -1})),
        ("CreateTaskPushNotificationConfig", json!({"taskId": "x"})),
        ("GetTaskPushNotificationConfig", json!({"taskId": "x"})),
        ("DeleteTaskPushNotificationConfig", json!({"id": "x"})),
    ] {
        assert_eq!(
            code(&scene.gateway.v1(method, &params)),
            -32602,
            "{method} {params}"
        );
    }
    let listed = scene.gateway.v1("ListTasks", &json!({}));
    assert_eq!(
        listed["result"],
        json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0})
    );
}

#[test]
fn a_number_that_is_too_wide_is_named_and_the_call_keeps_its_id() {
    let scene = Scene::new("");
    let params = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"week":9007199254740993}}]}}"#;
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":"mine","method":"SendMessage","params":{params}}}"#);
    let told = scene
        .gateway
        .post(BOB, "a2a-version: 1.0\r\n", &body)
        .json();
    assert_eq!((code(&told), &told["id"]), (-32602, &json!("mine")));
    let field = &told["error"]["data"][0]["fieldViolations"][0]["field"];
    assert_eq!(*field, "message.parts[0].data.week", "{told}");
}

#[test]
fn an_answer_without_a_word_before_is_a_message_alone_where_the_configuration_says_so() {
    let scene = Scene::new("[a2a]\ndirect = true\n");
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    let message = &told["result"]["message"];
    assert_eq!(message["parts"], json!([{"text": "hello"}]), "{told}");
    let task = scene
        .gateway
        .v1("GetTask", &json!({"id": message["taskId"]}));
    assert_eq!(task["result"]["status"]["state"], "TASK_STATE_COMPLETED");
    let old = json!({"message": {"kind": "message", "messageId": "n", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}});
    let told = scene.gateway.v03("message/send", &old);
    assert_eq!(
        (&told["result"]["kind"], &told["result"]["role"]),
        (&json!("message"), &json!("agent")),
        "{told}"
    );
    // A quick agent's progress may come before the gateway follows its message, and then the gateway does not know of it. So
    // the agent asks back here, which the gateway is sure to know, and answers what its client says next.
    let asked = scene.gateway.v1("SendMessage", &says("o", "ask me"));
    let task = id_of(&asked);
    let mut more = says("p", "the next");
    more["message"]["taskId"] = json!(task);
    let answered = scene.gateway.v1("SendMessage", &more);
    assert_eq!(
        id_of(&answered),
        task,
        "what was told before the answer makes it a task"
    );
    assert_eq!(
        answered["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[test]
fn what_is_not_there_is_not_found_by_any_method() {
    let scene = Scene::new("");
    for (method, params) in [
        ("GetTask", json!({"id": "x"})),
        ("CancelTask", json!({"id": "x"})),
        ("SubscribeToTask", json!({"id": "x"})),
        (
            "CreateTaskPushNotificationConfig",
            json!({"taskId": "x", "url": "https://x.example/"}),
        ),
        (
            "GetTaskPushNotificationConfig",
            json!({"taskId": "x", "id": "y"}),
        ),
        ("ListTaskPushNotificationConfigs", json!({"taskId": "x"})),
        (
            "DeleteTaskPushNotificationConfig",
            json!({"taskId": "x", "id": "y"}),
        ),
        (
            "SendMessage",
            json!({"message": {"messageId": "m", "taskId": "x", "role": "user", "parts": [{"text": "x"}]}}),
        ),
    ] {
        let told = scene.gateway.v1(method, &params);
        assert_eq!(code(&told), -32001, "{method}");
        assert_eq!(
            told["error"]["data"][0]["reason"], "TASK_NOT_FOUND",
            "{method}"
        );
        assert_eq!(told["error"]["data"][0]["domain"], "a2a-protocol.org");
    }
    for (method, params) in [
        ("tasks/get", json!({"id": "x"})),
        ("tasks/cancel", json!({"id": "x"})),
        ("tasks/resubscribe", json!({"id": "x"})),
        ("task/subscribe", json!({"id": "x"})),
        ("tasks/pushNotificationConfig/get", json!({"id": "x"})),
        ("tasks/pushNotificationConfig/list", json!({"id": "x"})),
    ] {
        assert_eq!(
            code(&scene.gateway.v03(method, &params)),
            -32001,
            "{method}"
        );
    }
    for method in [
        "tasks/list",
        "SendMessages",
        "message",
        "rpc.discover",
        "sendMessage",
    ] {
        assert_eq!(
            code(&scene.gateway.v1(method, &json!({}))),
            -32601,
            "{method}"
        );
    }
}

#[test]
fn versions_that_do_not_fit_are_refused_and_ids_come_back_digit_for_digit() {
    let scene = Scene::new("");
    let gateway = &scene.gateway;
    let send = call("SendMessage", &says("m", "hello"));
    let old = call("message/send", &says("m", "hello"));
    for (body, header, expected) in [
        (&send, "", -32009),
        (&send, "a2a-version: 0.3\r\n", -32009),
        (&send, "a2a-version: 9.9\r\n", -32009),
        (&send, "a2a-version:\r\n", -32009),
        (&old, "a2a-version: 1.0\r\n", -32009),
        (&old, "A2A-VERSION: 2.0\r\n", -32009),
    ] {
        let told = gateway.post(BOB, header, body).json();
        assert_eq!(code(&told), expected, "{header}");
    }
    for header in ["a2a-version: 1.0.4\r\n", "A2A-Version: 1.0\r\n"] {
        let told = gateway.post(BOB, header, &send).json();
        assert!(told.get("result").is_some(), "{header}: {told}");
    }
    let told = gateway
        .post("/a2a/agent-bob/?A2A-Version=1.0", "", &send)
        .json();
    assert!(told.get("result").is_some(), "{told}");
    for id in ["1", "1.0", "\"1\"", "-7", "12345678901234567890123"] {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask","params":{{"id":"x"}}}}"#);
        let told = gateway.post(BOB, "a2a-version: 1.0\r\n", &body);
        assert!(
            told.body.ends_with(&format!("\"id\":{id}}}")),
            "{}",
            told.body
        );
    }
}

#[test]
fn what_is_no_call_is_refused_with_status_200_and_the_strange_content_type_is_not_read() {
    let scene = Scene::new("");
    for (body, expected) in [
        ("{", -32700),
        ("[]", -32600),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\"}]",
            -32600,
        ),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"ListTasks\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"GetTask\"}", -32602),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"message/ssend\"}", -32601),
        (
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"GetTask\"}",
            -32600,
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":[1]}",
            -32602,
        ),
    ] {
        let told = scene.gateway.post(BOB, "a2a-version: 1.0\r\n", body);
        assert_eq!((told.status, code(&told.json())), (200, expected), "{body}");
    }
    let request = format!(
        "POST {BOB} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 1\r\n\r\n{{",
        scene.gateway.address
    );
    let told = scene.gateway.ask(&request);
    assert_eq!((told.status, code(&told.json())), (415, -32005));
    assert_eq!(told.json()["id"], Value::Null);
    // At `/rpc` the same request is no call of A2A, so its error is the listener's own and not that of A2A.
    let elsewhere = request.replace(BOB, "/rpc");
    let told = scene.gateway.ask(&elsewhere);
    assert_eq!(
        (told.status, told.json()["error"]["reason"].clone()),
        (415, json!("content-type"))
    );
}

#[test]
fn without_a_default_agent_the_root_names_the_agents_that_there_are() {
    let scene = Scene::new("");
    for path in ["/", "/a2a", "/a2a/", "/a2a/agent-nobody"] {
        let told = scene
            .gateway
            .post(
                path,
                "a2a-version: 1.0\r\n",
                &call("SendMessage", &says("m", "x")),
            )
            .json();
        assert_eq!(code(&told), -32004, "{path}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("/a2a/agent-bob"), "{message}");
        assert_eq!(message.contains("`default`"), path != "/a2a/agent-nobody");
        let addresses = told["error"]["data"][0]["metadata"]["addresses"]
            .as_str()
            .unwrap();
        assert!(addresses.ends_with("/a2a/agent-bob"), "{addresses}");
    }
    drop(scene);
    let scene = Scene::new("[a2a]\ndefault = \"agent-bob\"\n");
    for path in ["/", "/a2a", "/a2a/", "/a2a/agent-bob", "/a2a/agent-bob/"] {
        let said = says(&format!("m{path}"), "hello");
        let told = scene
            .gateway
            .post(path, "a2a-version: 1.0\r\n", &call("SendMessage", &said))
            .json();
        assert_eq!(
            told["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED",
            "{path}: {told}"
        );
    }
}

#[test]
fn a_message_id_that_comes_again_with_other_content_is_another_task() {
    let scene = Scene::new("");
    let first = id_of(&scene.gateway.v1("SendMessage", &says("same", "one")));
    let again = id_of(&scene.gateway.v1("SendMessage", &says("same", "one")));
    let other = scene.gateway.v1("SendMessage", &says("same", "two"));
    assert_eq!(first, again);
    assert_ne!(first, id_of(&other));
    assert_eq!(
        other["result"]["task"]["artifacts"][0]["parts"][0]["text"],
        "two"
    );
    assert_eq!(
        scene.gateway.v1("ListTasks", &json!({}))["result"]["totalSize"],
        2
    );
}

#[test]
fn the_same_message_after_its_task_went_on_or_was_given_up_is_another_task() {
    let scene = Scene::new("");
    let first = id_of(&scene.gateway.v1("SendMessage", &says("kit", "ask me")));
    let mut more = says("kit-2", "7");
    more["message"]["taskId"] = json!(first);
    scene.gateway.v1("SendMessage", &more);
    let told = scene.gateway.v1("SendMessage", &says("kit", "ask me"));
    let second = id_of(&told);
    assert_ne!(first, second);
    assert_eq!(
        told["result"]["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
        "its agent was asked again: {told}"
    );
    let canceled = scene.gateway.v1("CancelTask", &json!({"id": second}));
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    let third = id_of(&scene.gateway.v1("SendMessage", &says("kit", "ask me")));
    assert!(third != first && third != second);
}

#[test]
fn what_comes_of_an_extension_that_its_client_named_carries_its_name() {
    let scene = Scene::new("");
    let ours = "urn:signet:a2a:request:1";
    let body = call("SendMessage", &says("m", "x"));
    let named = format!("a2a-version: 1.0\r\na2a-extensions: urn:other, {ours}\r\n");
    let told = scene.gateway.post(BOB, &named, &body).json();
    let artifact = &told["result"]["task"]["artifacts"][0];
    assert_eq!(artifact["extensions"], json!([ours]), "{told}");
    let old = json!({"message": {"kind": "message", "messageId": "m2", "role": "user", "parts": [{"kind": "text", "text": "x"}]}});
    let told = scene
        .gateway
        .post(
            BOB,
            &format!("x-a2a-extensions: {ours}\r\n"),
            &call("message/send", &old),
        )
        .json();
    assert_eq!(
        told["result"]["artifacts"][0]["extensions"],
        json!([ours]),
        "{told}"
    );
    let plain = scene.gateway.v1("SendMessage", &says("m3", "x"));
    assert!(
        plain["result"]["task"]["artifacts"][0]
            .get("extensions")
            .is_none()
    );
}

#[test]
fn a_required_extension_that_is_not_named_is_minus_32008() {
    let scene = Scene::new("[a2a]\nrequire-extension = true\n");
    let body = call("SendMessage", &says("m", "x"));
    let told = scene.gateway.post(
        BOB,
        "a2a-version: 1.0\r\na2a-extensions: urn:other\r\n",
        &body,
    );
    assert_eq!(code(&told.json()), -32008);
    let named = "a2a-version: 1.0\r\nA2A-EXTENSIONS: urn:other , urn:signet:a2a:request:1\r\n";
    let told = scene.gateway.post(BOB, named, &body);
    assert!(told.json().get("result").is_some(), "{}", told.body);
    assert_eq!(
        told.header("a2a-extensions"),
        Some("urn:signet:a2a:request:1")
    );
}

#[test]
fn a_file_above_the_message_limit_says_how_much_fits() {
    let scene = Scene::new("");
    let file = |length: usize| json!({"message": {"messageId": format!("m{length}"), "role": "user", "parts": [{"raw": "A".repeat(length)}]}});
    let told = scene.gateway.v1("SendMessage", &file(300 * 1024));
    assert_eq!(code(&told), -32602);
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("240 KiB"),
        "{told}"
    );
    // The limit is for the whole message: this text alone is below it, but the headers and the signature count as well.
    let body = "x".repeat(240 * 1024 - 10);
    let told = scene.gateway.v1("SendMessage", &says("near", &body));
    assert_eq!(code(&told), -32602);
    for (id, tier, fits) in [("t1", 1, 238 * 1024 - 2), ("t3", 3, 176 * 1024)] {
        let mut said = says(id, &"x".repeat(fits));
        said["message"]["metadata"] = json!({"signet": {"tier": tier}});
        let told = scene.gateway.v1("SendMessage", &said);
        let state = told["result"]["task"]["status"]["state"].as_str();
        assert_ne!(state.unwrap(), "TASK_STATE_REJECTED", "{id}");
    }
    let told = scene.gateway.v1("SendMessage", &file(200 * 1024));
    assert_eq!(
        told["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[test]
fn tasks_are_listed_in_pages_newest_first_with_as_much_as_was_asked_for() {
    let scene = Scene::new("");
    let mut ids: Vec<String> = Vec::new();
    for number in 0..7 {
        let mut said = says(&format!("m{number}"), &format!("text {number}"));
        said["message"]["contextId"] = json!(if number < 5 { "a" } else { "b" });
        ids.push(id_of(&scene.gateway.v1("SendMessage", &said)));
    }
    ids.reverse();
    let (mut seen, mut token) = (Vec::<String>::new(), String::new());
    loop {
        let page = scene
            .gateway
            .v1("ListTasks", &json!({"pageSize": 3, "pageToken": token}));
        let page = &page["result"];
        assert_eq!(
            (&page["pageSize"], &page["totalSize"]),
            (&json!(3), &json!(7)),
            "{page}"
        );
        for task in page["tasks"].as_array().unwrap() {
            assert!(task.get("artifacts").is_none());
            seen.push(task["id"].as_str().unwrap().to_owned());
        }
        token = page["nextPageToken"].as_str().unwrap().to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, ids);
    let count =
        |params: Value| scene.gateway.v1("ListTasks", &params)["result"]["totalSize"].clone();
    assert_eq!(count(json!({"contextId": "b"})), 2);
    assert_eq!(count(json!({"status": "TASK_STATE_COMPLETED"})), 7);
    assert_eq!(count(json!({"status": 3})), 7);
    assert_eq!(count(json!({"status": "TASK_STATE_WORKING"})), 0);
    assert_eq!(
        count(json!({"statusTimestampAfter": "2999-01-01T00:00:00Z"})),
        0
    );
    let whole = scene.gateway.v1(
        "ListTasks",
        &json!({"includeArtifacts": true, "historyLength": 0}),
    );
    let task = &whole["result"]["tasks"][0];
    assert!(
        task.get("artifacts").is_some() && task.get("history").is_none(),
        "{task}"
    );
}

#[test]
fn a_task_is_canceled_once_and_then_takes_nothing_more() {
    let scene = Scene::new("");
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "wait")));
    let told = scene.gateway.v1("CancelTask", &json!({"id": task}));
    assert_eq!(
        told["result"]["status"]["state"], "TASK_STATE_CANCELED",
        "{told}"
    );
    assert_eq!(
        code(&scene.gateway.v1("CancelTask", &json!({"id": task}))),
        -32002
    );
    assert_eq!(
        code(&scene.gateway.v03("tasks/cancel", &json!({"id": task}))),
        -32002
    );
    assert_eq!(
        code(&scene.gateway.v1("SubscribeToTask", &json!({"id": task}))),
        -32004
    );
    let mut more = says("m2", "more");
    more["message"]["taskId"] = json!(task);
    assert_eq!(code(&scene.gateway.v1("SendMessage", &more)), -32004);
}
