//! Other users of the machine: what they see of the desk, and what they get by asking it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::json;

use crate::browser::{Browser, ask, link, split};
use crate::scene::{Scene, texts};

/// What an answer tells nobody who is not in.
const WORD: &str = "for nobody else";

/// One request as another user of the machine sends it: the answer as text; `None` where this test may not become another user.
fn as_another_user(host: &str, request: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let (ip, port) = host.split_once(':').unwrap();
    let script = format!("exec 3<>/dev/tcp/{ip}/{port} && printf '%b' \"$1\" >&3 && cat <&3");
    let mut command = Command::new("/bin/bash");
    command
        .args(["-c", &script, "bash", request])
        .uid(65_534)
        .gid(65_534)
        .current_dir("/");
    let output = command.output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn another_user_who_knows_address_and_both_secrets_is_shown_nothing() {
    let scene = Scene::new();
    scene.draft(WORD, &json!(WORD));
    let view = scene.view();
    let (browser, page) = view.browser();
    assert!(page.contains(WORD));
    let (host, path) = split(&browser.at);
    let cookie = browser.cookie(&browser.at);
    for path in [
        path,
        "/home",
        "/to/draft?home=alice",
        "/desk.css",
        "/o/guess",
    ] {
        let request = format!(
            "GET {path} HTTP/1.1\\r\\nHost: {host}\\r\\nCookie: {cookie}\\r\\nConnection: close\\r\\n\\r\\n"
        );
        let Some(answer) = as_another_user(host, &request) else {
            return;
        };
        assert!(answer.starts_with("HTTP/1.1 403"), "{path}: {answer}");
        assert!(
            !answer.contains(WORD) && !answer.contains("/s/"),
            "{path}: {answer}"
        );
    }
    assert_eq!(scene.waiting(), 1);
}

#[test]
fn another_user_who_reads_the_process_list_finds_no_secret() {
    let scene = Scene::new();
    let view = scene.view();
    let (browser, _) = view.browser();
    let secret = split(&browser.at).1.split('/').nth(2).unwrap().to_owned();
    let once = view.once.rsplit('/').next().unwrap();
    let cookie = browser
        .cookie(&browser.at)
        .split_once('=')
        .unwrap()
        .1
        .to_owned();
    let processes = view.processes();
    assert!(processes.len() >= 2, "{processes:?}");
    for pid in std::fs::read_dir("/proc").unwrap() {
        let place = pid.unwrap().path();
        let line = std::fs::read(place.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        for known in [&secret, once, &cookie] {
            assert!(!line.contains(known), "{line}");
        }
    }
    for pid in &processes[1..] {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert!(environ.is_empty(), "{}", String::from_utf8_lossy(&environ));
    }
    for table in ["/proc/net/tcp", "/proc/net/unix"] {
        let table = std::fs::read_to_string(table).unwrap_or_default();
        assert!(!table.contains(&secret));
    }
}

#[test]
fn the_file_that_the_browser_is_given_is_the_persons_alone() {
    let scene = Scene::new();
    let view = scene.view();
    let mode = std::fs::metadata(&view.file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let path = view.file.to_str().unwrap().to_owned();
    assert!(
        !path.contains(view.once.rsplit('/').next().unwrap()),
        "{path}"
    );
    let told = texts(view.file.parent().unwrap()).concat();
    assert!(told.contains(&view.once) && !told.contains("/s/"), "{told}");
}

#[test]
fn the_used_address_lets_neither_this_browser_nor_another_in_again() {
    let scene = Scene::new();
    scene.draft(WORD, &json!(WORD));
    let view = scene.view();
    let (mut browser, _) = view.browser();
    for again in [&mut browser, &mut Browser::default()] {
        let shown = again.follow(None, &view.once);
        assert_eq!(shown.status, 410, "{}", shown.body);
        assert!(!shown.body.contains(WORD) && shown.header("set-cookie").is_none());
    }
    let host = view.host();
    let guesses = [
        "",
        "A",
        &"A".repeat(43),
        "../s/",
        "%00",
        &view.once.rsplit('/').next().unwrap()[1..],
    ];
    for guess in guesses {
        let shown = ask(host, "GET", &format!("/o/{guess}"), &[("Host", host)], "");
        assert!(
            [404, 410].contains(&shown.status),
            "{guess}: {}",
            shown.status
        );
        assert!(shown.header("set-cookie").is_none());
    }
}

#[test]
fn a_listener_on_another_port_of_the_address_collects_no_cookie_that_lets_it_in() {
    let scene = Scene::new();
    scene.draft(WORD, &json!(WORD));
    let view = scene.view();
    let (mut browser, _) = view.browser();
    let (host, inside) = split(&browser.at);
    let (ip, host, inside) = (
        host.split(':').next().unwrap().to_owned(),
        host.to_owned(),
        inside.to_owned(),
    );
    // A program that listens on 0.0.0.0 is also reached at the desk's address, on another port. Cookies ignore ports,
    // so only their paths keep the desk's cookies from that program.
    let thief = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = thief.local_addr().unwrap().port();
    let reached = std::net::TcpStream::connect((ip.as_str(), port)).unwrap();
    drop((reached, thief));
    let mut stolen: Vec<String> = [
        "/",
        "/s/",
        "/s/guess/",
        "/o/x",
        "/to/draft",
        "/home",
        "/desk.css",
        &format!("/s/{}/", "A".repeat(43)),
    ]
    .iter()
    .map(|path| browser.cookie(&format!("http://{ip}:{port}{path}")))
    .filter(|cookie| !cookie.is_empty())
    .collect();
    // The program may get the cookie for `/home`, since that cookie is used up once the browser is in: below it opens
    // nothing.
    stolen.retain(|cookie| !cookie.starts_with("desk-arriving="));
    assert_eq!(stolen, Vec::<String>::new());
    let arriving = browser.cookie(&format!("http://{ip}:{port}/home"));
    let shown = ask(
        &host,
        "GET",
        "/home",
        &[("Host", &host), ("Cookie", &arriving)],
        "",
    );
    assert!(
        shown.status == 200 && !shown.body.contains("/s/"),
        "{}",
        shown.body
    );
    // The cookie without the secret path opens nothing, and neither does the path with a guessed cookie.
    let cookie = browser.cookie(&browser.at.clone());
    for path in [
        "/",
        "/home",
        "/to/draft?home=alice&id=x",
        "/s/",
        "/s//",
        &format!("/s/{}/", "A".repeat(43)),
    ] {
        let shown = ask(
            &host,
            "GET",
            path,
            &[("Host", &host), ("Cookie", &cookie)],
            "",
        );
        assert!(
            !shown.body.contains(WORD) && !shown.body.contains(&inside),
            "{path}: {}",
            shown.body
        );
        assert_eq!(shown.header("location"), None, "{path}");
    }
    let guess = format!("desk={}", "A".repeat(43));
    let both = format!("{cookie}; {guess}");
    for cookie in [
        "",
        "desk=",
        &guess,
        &both,
        &cookie.replace("desk=", "room="),
    ] {
        let shown = ask(
            &host,
            "GET",
            &inside,
            &[("Host", &host), ("Cookie", cookie)],
            "",
        );
        assert_eq!(shown.status, 403, "{cookie}");
        assert!(!shown.body.contains(WORD), "{cookie}");
    }
    let again = browser.go("./");
    assert!(again.body.contains(WORD), "the person is in all the while");
}

#[test]
fn a_path_spelt_otherwise_lets_nobody_in() {
    let scene = Scene::new();
    scene.draft(WORD, &json!(WORD));
    let view = scene.view();
    let (browser, _) = view.browser();
    let (host, path) = split(&browser.at);
    let cookie = browser.cookie(&browser.at);
    let secret = path.split('/').nth(2).unwrap();
    let flipped: String = secret
        .chars()
        .map(|c| {
            if c.is_ascii_lowercase() {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect();
    let first = format!("%{:02x}{}", secret.as_bytes()[0], &secret[1..]);
    for path in [
        format!("/s/{flipped}/"),
        format!("/s/{first}/"),
        format!("/s/x/../{secret}/"),
        format!("//s/{secret}/"),
        format!("/S/{secret}/"),
        format!("/s/{secret}%00/"),
        format!("/s/{}/", &secret[..42]),
        format!("/s/{secret}A/"),
        format!("/home/../s/{secret}/"),
    ] {
        let shown = ask(
            host,
            "GET",
            &path,
            &[("Host", host), ("Cookie", &cookie)],
            "",
        );
        assert!(shown.status >= 400, "{path}: {}", shown.status);
        assert!(!shown.body.contains(WORD), "{path}");
    }
}

#[test]
fn whoever_takes_the_port_when_the_view_has_ended_has_nothing_that_lets_into_the_next() {
    let scene = Scene::new();
    scene.draft(WORD, &json!(WORD));
    let view = scene.view();
    let (mut browser, _) = view.browser();
    let (host, path) = split(&browser.at);
    let (host, path) = (host.to_owned(), path.to_owned());
    let desk = view.processes()[1];
    drop(view);
    crate::house::eventually("the desk has ended", || {
        (!std::path::Path::new(&format!("/proc/{desk}")).exists()).then_some(())
    });
    let thief = TcpListener::bind(&host).unwrap();
    // The browser's old tab asks again, so the thief at the old address hears the old path and cookie: the next desk
    // must refuse both.
    let cookie = browser.cookie(&format!("http://{host}{path}"));
    assert!(!cookie.is_empty());
    drop(thief);
    let next = scene.view();
    let host = next.host().to_owned();
    let shown = ask(
        &host,
        "GET",
        &path,
        &[("Host", &host), ("Cookie", &cookie)],
        "",
    );
    assert_eq!(shown.status, 403);
    assert!(!shown.body.contains(WORD));
    let fresh = browser.follow(None, &next.once);
    assert!(fresh.body.contains(WORD));
    assert!(!link(&fresh.body, "A draft").is_empty());
}
