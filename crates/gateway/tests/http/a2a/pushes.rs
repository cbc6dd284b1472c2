//! Pushes: to whom, in which form, and to whom not.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Scene, begins, code, id_of, says};

/// A receiver: the heads and bodies that came.
fn receiver() -> (String, Receiver<(String, Value)>) {
    receiver_that_says("200 OK")
}

fn receiver_that_says(status: &'static str) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (came, all) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                let line = line.to_ascii_lowercase();
                if let Some(text) = line.strip_prefix("content-length: ") {
                    length = text.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            stream
                .get_mut()
                .write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes())
                .unwrap();
            if came
                .send((head, serde_json::from_slice(&body).unwrap()))
                .is_err()
            {
                return;
            }
        }
    });
    (url, all)
}

const LOOPBACK: &str = "[outgoing]\nloopback = true\n";
const SOON: Duration = Duration::from_secs(20);

#[test]
fn what_moves_is_pushed_with_the_secret_that_was_given() {
    let scene = Scene::new(LOOPBACK);
    let (url, came) = receiver();
    let mut said = says("m", "hello");
    said["configuration"] = json!({"taskPushNotificationConfig": {"id": "k", "url": url, "token": "secret",
        "authentication": {"scheme": "Bearer", "credentials": "letmein"}}});
    let task = id_of(&scene.gateway.v1("SendMessage", &said));
    loop {
        let (head, event) = came.recv_timeout(SOON).unwrap();
        assert!(
            head.contains("x-a2a-notification-token: secret")
                && head.contains("authorization: bearer letmein"),
            "{head}"
        );
        let status = event["statusUpdate"]["status"]["state"].clone();
        if status == "TASK_STATE_COMPLETED" {
            assert_eq!(event["statusUpdate"]["taskId"], json!(task));
            break;
        }
    }
}

#[test]
fn a_receiver_of_0_3_gets_the_task_itself() {
    let scene = Scene::new(LOOPBACK);
    let (url, came) = receiver();
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "wait")));
    let set = json!({"taskId": task, "pushNotificationConfig": {"url": url}});
    let told = scene.gateway.v03("tasks/pushNotificationConfig/set", &set);
    assert_eq!(
        told["result"]["pushNotificationConfig"]["id"], "default",
        "{told}"
    );
    scene.gateway.v1("CancelTask", &json!({"id": task}));
    let (_, pushed) = came.recv_timeout(SOON).unwrap();
    assert_eq!(
        (&pushed["kind"], &pushed["status"]["state"]),
        (&json!("task"), &json!("canceled"))
    );
}

#[test]
fn configurations_are_made_found_listed_and_deleted_under_both_names() {
    let scene = Scene::new(LOOPBACK);
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "wait")));
    let v1 = |method: &str, params: Value| scene.gateway.v1(method, &params);
    let v03 = |method: &str, params: Value| scene.gateway.v03(method, &params);
    let made = v1(
        "CreateTaskPushNotificationConfig",
        json!({"taskId": task, "id": "a", "url": "https://x.example/"}),
    );
    assert_eq!(
        made["result"],
        json!({"taskId": task, "id": "a", "url": "https://x.example/"})
    );
    v03(
        "tasks/pushNotificationConfig/set",
        json!({"taskId": task, "pushNotificationConfig": {"url": "https://y.example/"}}),
    );
    let found = v1(
        "GetTaskPushNotificationConfig",
        json!({"taskId": task, "id": "a"}),
    );
    assert_eq!(found["result"]["url"], "https://x.example/");
    let found = v03(
        "tasks/pushNotificationConfig/get",
        json!({"id": task, "pushNotificationConfigId": "default"}),
    );
    assert_eq!(
        found["result"]["pushNotificationConfig"]["url"],
        "https://y.example/"
    );
    for method in [
        "ListTaskPushNotificationConfigs",
        "ListTaskPushNotificationConfig",
    ] {
        let listed = v1(method, json!({"taskId": task}));
        assert_eq!(listed["result"]["configs"].as_array().unwrap().len(), 2);
        assert_eq!(listed["result"]["nextPageToken"], "");
    }
    let listed = v03("tasks/pushNotificationConfig/list", json!({"id": task}));
    assert_eq!(listed["result"][0]["taskId"], json!(task));
    let gone = v03(
        "tasks/pushNotificationConfig/delete",
        json!({"id": task, "pushNotificationConfigId": "default"}),
    );
    assert!(
        gone.as_object().unwrap().contains_key("result") && gone["result"].is_null(),
        "{gone}"
    );
    assert_eq!(
        v1(
            "DeleteTaskPushNotificationConfig",
            json!({"taskId": task, "id": "a"})
        )["result"],
        json!({})
    );
    assert_eq!(
        code(&v1(
            "GetTaskPushNotificationConfig",
            json!({"taskId": task, "id": "a"})
        )),
        -32001
    );
    for url in ["", "ftp://x.example/", "x", "file:///etc/passwd"] {
        let bad = v1(
            "CreateTaskPushNotificationConfig",
            json!({"taskId": task, "url": url}),
        );
        assert_eq!(code(&bad), -32602, "{url}");
    }
}

#[test]
fn a_webhook_on_this_machine_or_in_a_private_network_is_refused_by_its_address() {
    let scene = Scene::new("[outgoing]\nnetworks = [\"192.168.7.0/24\"]\n");
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "wait")));
    let create = |config: Value| {
        let mut params = config;
        params["taskId"] = json!(task);
        scene
            .gateway
            .v1("CreateTaskPushNotificationConfig", &params)
    };
    for url in [
        "http://127.0.0.1:9/",
        "http://169.254.169.254/latest",
        "http://10.0.0.1/",
        "https://10.0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://8.8.8.8/",
        "https://user:secret@x.example/",
    ] {
        let told = create(json!({"url": url}));
        assert_eq!(code(&told), -32602, "{url}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("url is never called"), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
    let told = create(json!({"url": "http://192.168.7.9/"}));
    assert!(told.get("result").is_some(), "{told}");
    let mut said = says("other", "must not leave");
    said["configuration"] = json!({"taskPushNotificationConfig": {"url": "http://127.0.0.1:9/"}, "returnImmediately": true});
    let told = scene.gateway.v1("SendMessage", &said);
    assert_eq!(code(&told), -32602, "{told}");
    let listed = scene.gateway.v1("ListTasks", &json!({}));
    assert_eq!(listed["result"]["totalSize"], 1, "nothing was sent");
}

#[test]
fn a_line_in_what_a_receiver_is_to_be_told_is_refused() {
    let scene = Scene::new("");
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "wait")));
    for (config, named) in [
        (json!({"token": "a\r\nX: y"}), "token"),
        (
            json!({"authentication": {"scheme": "Bearer\r\nHost: x"}}),
            "authentication.scheme",
        ),
        (
            json!({"authentication": {"scheme": "Bearer", "credentials": "a\u{0}"}}),
            "authentication.credentials",
        ),
    ] {
        let mut params = config;
        params["taskId"] = json!(task);
        params["url"] = json!("https://x.example/");
        let told = scene
            .gateway
            .v1("CreateTaskPushNotificationConfig", &params);
        assert_eq!(code(&told), -32602, "{told}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn a_name_that_leads_to_this_machine_is_never_called_and_the_log_says_so_once() {
    let scene = Scene::new("");
    let (url, came) = receiver();
    let url = url.replace("127.0.0.1", "localhost");
    for id in ["m1", "m2"] {
        let mut said = says(id, "hello");
        said["configuration"] = json!({"taskPushNotificationConfig": {"url": url}});
        let task = id_of(&scene.gateway.v1("SendMessage", &said));
        scene.until(&task, "COMPLETED");
    }
    assert!(came.recv_timeout(Duration::from_secs(3)).is_err());
    let log = scene.gateway.log.lock().unwrap().clone();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("push")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(
        lines[0].contains("localhost") && lines[0].contains("`networks` under [outgoing]"),
        "{log}"
    );
}

#[test]
fn where_pushes_are_off_every_method_says_so() {
    let scene = Scene::new("[a2a]\npush = false\n");
    for method in [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ] {
        let params = json!({"taskId": "x", "id": "y", "url": "https://x.example/"});
        assert_eq!(code(&scene.gateway.v1(method, &params)), -32003, "{method}");
    }
    let card = scene.gateway.get("/.well-known/agent-card.json", "").json();
    assert_eq!(card["capabilities"]["pushNotifications"], false);
}

/// Names a receiver of the task's pushes.
fn tell(scene: &Scene, task: &str, id: &str, url: &str) {
    let config = json!({"taskId": task, "id": id, "url": url});
    let told = scene
        .gateway
        .v1("CreateTaskPushNotificationConfig", &config);
    assert_eq!(told["result"]["url"], url, "{told}");
}

#[test]
fn a_receiver_that_was_taken_away_or_given_anew_hears_nothing_more() {
    let scene = Scene::new(LOOPBACK);
    let (url, came) = receiver_that_says("503 Later");
    let (other, came_to_other) = receiver();
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "wait")));
    tell(&scene, &task, "gone", &url);
    tell(&scene, &task, "anew", &url);
    scene.gateway.v1("CancelTask", &json!({"id": task}));
    for _ in 0..2 {
        came.recv_timeout(SOON).unwrap();
    }
    let gone = json!({"taskId": task, "id": "gone"});
    scene.gateway.v1("DeleteTaskPushNotificationConfig", &gone);
    tell(&scene, &task, "anew", &other);
    // The receiver that says 503 would get further tries half a second and two seconds after the first: wait longer
    // than that.
    std::thread::sleep(Duration::from_secs(4));
    assert!(came.try_recv().is_err(), "both addresses are done with");
    assert!(
        came_to_other.try_recv().is_err(),
        "a new receiver hears what comes after it"
    );
}

#[test]
fn a_receiver_that_does_not_answer_holds_up_no_other() {
    let scene = Scene::new(LOOPBACK);
    let dead = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead_url = format!("http://{}/", dead.local_addr().unwrap());
    let (url, came) = receiver();
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "ask me")));
    tell(&scene, &task, "dead", &dead_url);
    tell(&scene, &task, "well", &url);
    scene.until(&task, "INPUT_REQUIRED");
    scene.gateway.v1("CancelTask", &json!({"id": task}));
    loop {
        let (_, event) = came.recv_timeout(Duration::from_secs(8)).unwrap();
        if event["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED" {
            break;
        }
    }
}
