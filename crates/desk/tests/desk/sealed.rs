//! Sealed messages, opened at the desk one at a time with the person's audit key.

use serde_json::{Value, json};

use crate::browser::{ask, link, split};
use crate::house::eventually;
use crate::scene::{Scene, View, texts};

const SECRET: &str = "the pin is 4711";

/// Bob writes to Alice under seal: the message-id.
fn sealed(scene: &Scene, body: &Value) -> String {
    let sent = json!({
        "peer": scene.alice.agent, "kind": "notification", "summary": "under seal", "body": body, "data-tier": 3, "wait": 60.0
    });
    let sent = scene.bob.call("send", &sent).unwrap();
    assert_eq!(sent["state"], "received", "{sent}");
    sent["message-id"].as_str().unwrap().to_owned()
}

#[test]
fn a_sealed_message_is_opened_by_a_button_and_nothing_of_it_is_kept_or_logged() {
    let scene = Scene::new();
    let id = sealed(&scene, &json!({"for": SECRET}));
    let view = scene.view();
    let (mut browser, _) = view.browser();
    let host = view.host().to_owned();
    // A link of the reading room: the browser comes from another site, and lands on the first page.
    let to = format!("http://{host}/to/open?home=alice&id={id}");
    let landed = browser.follow(Some("http://127.99.99.99:1/s/x/"), &to);
    assert!(browser.at.ends_with("#asked-alice"), "{}", browser.at);
    assert!(!landed.body.contains(SECRET));
    let shown = browser
        .go(&link(&landed.body, &format!("<code>{id}</code>")))
        .body;
    assert!(
        shown.contains("came from") && shown.contains("agent-bob"),
        "{shown}"
    );
    assert!(!shown.contains(SECRET), "a link opens nothing: {shown}");
    let lines = scene.alice.log().len();
    let opened = browser.submit(&shown, "Open", &[]);
    assert!(
        opened.body.contains(SECRET) && opened.body.contains("under seal"),
        "{}",
        opened.body
    );
    assert_eq!(opened.header("cache-control"), Some("no-store"));
    let again = browser.submit(&shown, "Open", &[]);
    assert_eq!(again.status, 409);
    assert!(!again.body.contains(SECRET));
    assert_eq!(scene.alice.log().len(), lines, "opening leaves no line");
    let home = texts(&scene.alice.dir).concat();
    assert!(!home.contains(SECRET), "nothing is kept");
    let logs = texts(&scene.alice.dir.join("audit").join(&scene.alice.agent)).concat();
    assert!(!logs.contains(SECRET));
}

#[test]
fn without_the_audit_key_nothing_is_opened_and_another_persons_key_opens_nothing() {
    let scene = Scene::new();
    let id = sealed(&scene, &json!(SECRET));
    let stick = scene.house.path("audit.pem");
    std::fs::rename(scene.alice.dir.join("keys/audit.pem"), &stick).unwrap();
    let foreign = scene.bob.dir.join("keys/audit.pem");
    for (key, says) in [
        (None, "audit key is not at"),
        (Some(&foreign), "does not fit"),
        (Some(&scene.house.path("none.pem")), "none.pem"),
        (Some(&stick), SECRET),
    ] {
        let key: Vec<&str> = key
            .iter()
            .flat_map(|key| ["--audit-key", key.to_str().unwrap()])
            .collect();
        let view = View::open(&scene.house, &[&scene.alice], &key);
        let (mut browser, _) = view.browser();
        let shown = browser.go(&format!("open?home=alice&id={id}")).body;
        let opened = browser.submit(&shown, "Open", &[]);
        assert!(opened.body.contains(says), "{says}: {}", opened.body);
        assert_eq!(opened.body.contains(SECRET), says == SECRET);
    }
}

#[test]
fn an_address_that_names_a_message_opens_nothing_whatever_it_names() {
    let scene = Scene::new();
    let id = sealed(&scene, &json!(SECRET));
    let view = scene.view();
    let (mut browser, _) = view.browser();
    let names = [
        id.as_str(),
        "",
        "01a1fe0d-660c-76a6-899d-ca65a487796c",
        "../../keys/audit.pem",
        "%00",
        "<script>",
        &id[..8],
    ];
    for name in names {
        for page in ["open", "whole", "draft"] {
            let shown = browser.go(&format!(
                "{page}?home=alice&id={name}&choice=approve&as_text=true"
            ));
            assert!(
                !shown.body.contains(SECRET),
                "{page} {name}: {}",
                shown.body
            );
            browser.go("./");
        }
    }
    // A made-up form, whose token is missing, opens nothing either.
    let (host, path) = split(&browser.at);
    let cookie = browser.cookie(&browser.at);
    let origin = format!("http://{host}");
    let headers = [
        ("Host", host),
        ("Cookie", cookie.as_str()),
        ("Origin", origin.as_str()),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let made_up = ask(
        host,
        "POST",
        &format!("{path}do"),
        &headers,
        &format!("home=alice&id={id}&choice=open"),
    );
    assert_eq!(made_up.status, 409);
    assert!(!made_up.body.contains(SECRET));
}

#[test]
fn a_long_sealed_message_is_bounded_with_its_hash_and_a_button_shows_the_whole() {
    let scene = Scene::new();
    let long = json!(format!("{}{SECRET}", "word ".repeat(20_000)));
    let id = sealed(&scene, &long);
    let view = scene.view();
    let (mut browser, _) = view.browser();
    let shown = browser.go(&format!("open?home=alice&id={id}")).body;
    let opened = browser.submit(&shown, "Open", &[]);
    assert!(
        !opened.body.contains(SECRET) && opened.body.contains("This is the beginning"),
        "{}",
        opened.body.len()
    );
    assert!(opened.body.len() < 64 * 1024);
    let whole = browser.submit(&opened.body, "the whole text", &[]);
    assert_eq!(
        whole.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(whole.body.ends_with(&format!("{SECRET}\"")));
    eventually("the daemon goes on", || {
        scene.alice.call("status", &json!({})).ok()
    });
}
