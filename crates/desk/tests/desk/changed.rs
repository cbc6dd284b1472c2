//! A daemon that says one thing when it is shown and another when the button is pressed: nothing is signed that was not shown.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::browser::link;
use crate::house::eventually;
use crate::scene::Scene;

/// What listens in the daemon's place: it answers as the daemon did, but for what is changed, and notes what it is asked.
struct Impostor {
    asked: Arc<Mutex<Vec<(String, Value)>>>,
    lies: Arc<AtomicBool>,
}

impl Impostor {
    fn listen(socket: &Path, answers: Value, lie: Value) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let lies = Arc::new(AtomicBool::new(false));
        let (notes, lying) = (Arc::clone(&asked), Arc::clone(&lies));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (notes, lying) = (Arc::clone(&notes), Arc::clone(&lying));
                let (answers, lie) = (answers.clone(), lie.clone());
                std::thread::spawn(move || {
                    let mut out = stream.try_clone().unwrap();
                    for line in BufReader::new(stream).lines().map_while(Result::ok) {
                        let call: Value = serde_json::from_str(&line).unwrap();
                        let method = call["method"].as_str().unwrap().to_owned();
                        notes
                            .lock()
                            .unwrap()
                            .push((method.clone(), call["params"].clone()));
                        let known = if lying.load(Ordering::SeqCst) {
                            &lie
                        } else {
                            &answers
                        };
                        let result = known.get(&method).or_else(|| answers.get(&method)).cloned();
                        let answer = match result {
                            Some(result) => {
                                json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
                            }
                            None => {
                                json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": "none"}})
                            }
                        };
                        let _ = writeln!(out, "{answer}");
                    }
                });
            }
        });
        Self { asked, lies }
    }

    fn decided(&self) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        let decided = asked.iter().filter(|(method, _)| method == "drafts.decide");
        decided.map(|(_, params)| params.clone()).collect()
    }
}

/// What the real daemon says, and the same with another body or recipient's words.
fn answers(scene: &Scene) -> Value {
    let ask = |method: &str, params: Value| scene.alice.call(method, &params).unwrap();
    json!({
        "status": ask("status", json!({})),
        "trust.pending": ask("trust.pending", json!({})),
        "trust.list": ask("trust.list", json!({})),
        "alarms.list": ask("alarms.list", json!({})),
        "pause.show": ask("pause.show", json!({})),
        "drafts.list": ask("drafts.list", json!({})),
        "peer.show": ask("peer.show", json!({"peer": scene.bob.agent})),
        "drafts.decide": {"decision": "approved", "sent": true},
    })
}

#[test]
fn a_draft_that_changes_between_showing_and_the_button_is_shown_again_and_not_signed() {
    let mut scene = Scene::new();
    scene.draft("the same summary", &json!("ten euros"));
    let honest = answers(&scene);
    scene.alice.stop();
    let changes: Vec<(&str, Value)> = vec![
        ("body", json!("ten thousand euros")),
        ("summary", json!("another summary")),
        ("capability", json!("pay.now")),
        ("until", json!("2030-01-01T00:00:00.000Z")),
    ];
    for (member, other) in changes {
        let mut lie = honest.clone();
        lie["drafts.list"]["drafts"][0][member] = other.clone();
        looks_again(&scene, &honest, lie, other.as_str().unwrap());
    }
    let mut lie = honest.clone();
    lie["peer.show"]["fingerprint"] = json!("x-other words than those that were read out");
    looks_again(&scene, &honest, lie, "<li>x-other</li>");
}

/// The page shows what is true at first; at the button the daemon lies, and the page shows that, and then nothing else is signed.
fn looks_again(scene: &Scene, honest: &Value, lie: Value, shown: &str) {
    let socket = scene.alice.dir.join("control.sock");
    let _ = std::fs::remove_file(&socket);
    let impostor = Impostor::listen(&socket, honest.clone(), lie);
    let view = scene.view();
    let (mut browser, first) = view.browser();
    let look = browser.go(&link(&first, "A draft")).body;
    let sure = browser.go(&link(&look, "It may leave …")).body;
    assert!(!sure.contains(shown), "{sure}");
    impostor.lies.store(true, Ordering::SeqCst);
    let again = browser.submit(&sure, "Approve", &[]);
    assert_eq!(again.status, 200, "{}", again.body);
    assert!(
        again.body.contains("has changed since it was shown"),
        "{}",
        again.body
    );
    assert!(again.body.contains(shown), "{}", again.body);
    assert_eq!(
        impostor.decided(),
        Vec::<Value>::new(),
        "nothing was signed"
    );
    impostor.lies.store(false, Ordering::SeqCst);
    let once_more = browser.submit(&again.body, "Approve", &[]);
    assert!(once_more.body.contains("has changed"), "{}", once_more.body);
    assert_eq!(impostor.decided(), Vec::<Value>::new());
    let done = browser.submit(&once_more.body, "Approve", &[]);
    assert!(done.body.contains("Approved"), "{}", done.body);
    let decided = impostor.decided();
    assert_eq!(decided.len(), 1);
    let hash = &honest["drafts.list"]["drafts"][0]["hash"];
    assert_eq!(
        &decided[0]["statement"]["draft"], hash,
        "what was shown is what is signed"
    );
}

#[test]
fn a_list_that_shows_another_draft_than_would_be_signed_is_refused() {
    let mut scene = Scene::new();
    scene.draft("one", &json!("one"));
    let mut lying = answers(&scene);
    scene.alice.stop();
    let socket = scene.alice.dir.join("control.sock");
    lying["drafts.list"]["drafts"][0]["peer"] = json!("agent-mallory");
    let impostor = Impostor::listen(&socket, lying, json!({}));
    let view = scene.view();
    let (mut browser, first) = view.browser();
    let look = browser.go(&link(&first, "A draft"));
    assert_eq!(look.status, 409);
    assert!(
        look.body
            .contains("shows something else than what would be signed"),
        "{}",
        look.body
    );
    assert_eq!(impostor.decided(), Vec::<Value>::new());
}

#[test]
fn what_was_decided_elsewhere_meanwhile_is_told_and_not_decided_again() {
    let scene = Scene::new();
    let id = scene.draft("one", &json!("one"));
    let view = scene.view();
    let (mut browser, first) = view.browser();
    let look = browser.go(&link(&first, "A draft")).body;
    let sure = browser.go(&link(&look, "It may leave …")).body;
    scene.alice.done(&["approve", &id, "--refuse"]);
    let told = browser.submit(&sure, "Approve", &[]);
    assert_eq!(told.status, 410, "{}", told.body);
    let approvals = scene.alice.log().into_iter();
    assert_eq!(
        approvals.filter(|line| line["kind"] == "approval").count(),
        1
    );
}

#[test]
fn a_daemon_that_went_and_came_back_is_decided_with_again() {
    let mut scene = Scene::new();
    scene.draft("one", &json!("one"));
    let view = scene.view();
    let (mut browser, _) = view.browser();
    scene.alice.stop();
    let away = browser.go("./").body;
    assert!(away.contains("does not answer"), "{away}");
    scene.alice.start();
    let first = eventually("the desk shows the draft", || {
        let first = browser.go("./").body;
        first.contains(">A draft</a>").then_some(first)
    });
    let look = browser.go(&link(&first, "A draft")).body;
    let sure = browser.go(&link(&look, "It may leave …")).body;
    let done = browser.submit(&sure, "Approve", &[]);
    assert!(done.body.contains("Approved"), "{}", done.body);
}
