//! Other pages: another web site in the person's browser, whatever it can have the browser send to the desk. Nothing of it decides,
//! and nothing of the desk is seen.

use serde_json::json;

use crate::browser::{Answer, Browser, ask, between, link, raw, split};
use crate::scene::{Scene, View};

/// A desk with a draft that waits, a browser that is in, and the form that would approve it.
struct Attacked {
    scene: Scene,
    view: View,
    browser: Browser,
    /// The page with the button.
    page: String,
}

impl Attacked {
    fn new() -> Self {
        let scene = Scene::new();
        scene.draft("for bob", &json!("a word under seal"));
        let view = scene.view();
        let (mut browser, first) = view.browser();
        let look = browser.go(&link(&first, "A draft")).body;
        let page = browser.go(&link(&look, "It may leave …")).body;
        Self {
            scene,
            view,
            browser,
            page,
        }
    }

    fn token(&self) -> &str {
        between(&self.page, "name=\"token\" value=\"", "\"").unwrap()
    }

    fn form(&self) -> String {
        format!("token={}", self.token())
    }

    /// The address to which the form goes.
    fn action(&self) -> String {
        let (_, path) = split(&self.browser.at);
        format!("{}/do", path.rsplit_once('/').unwrap().0)
    }

    fn cookie(&self) -> String {
        self.browser.cookie(&self.browser.at)
    }

    /// The form as the desk's own page sends it, but for these headers; a header without a value is left out.
    fn posts(&self, changed: &[(&str, &str)], body: &str) -> Answer {
        let (host, cookie) = (self.view.host(), self.cookie());
        let origin = format!("http://{host}");
        let mut headers = vec![
            ("Host", host),
            ("Origin", &origin),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Cookie", &cookie),
        ];
        for (name, value) in changed {
            headers.retain(|(known, _)| known != name);
            headers.push((name, value));
        }
        headers.retain(|(_, value)| !value.is_empty());
        ask(host, "POST", &self.action(), &headers, body)
    }

    /// A request for a page, with everything that the browser has.
    fn gets(&self, path: &str, more: &[(&str, &str)]) -> Answer {
        let (host, cookie) = (self.view.host(), self.cookie());
        let own = [("Host", host), ("Cookie", cookie.as_str())];
        ask(host, "GET", path, &[&own, more].concat(), "")
    }

    /// Nothing was decided, and the form still serves the person.
    fn ends_undecided(mut self) {
        assert_eq!(self.scene.waiting(), 1, "nothing was decided");
        let decisions = self.scene.alice.log().into_iter();
        assert_eq!(
            decisions.filter(|line| line["kind"] == "approval").count(),
            0
        );
        let page = self.page.clone();
        let done = self.browser.submit(&page, "Approve", &[]);
        assert!(done.body.contains("Approved"), "{}", done.body);
    }
}

#[test]
fn a_form_of_another_site_with_cookie_and_token_decides_nothing() {
    let attacked = Attacked::new();
    let port = attacked.view.host().split(':').nth(1).unwrap();
    let neighbour = format!("http://{}", attacked.view.host().replace(port, "1"));
    let own = format!("http://{}", attacked.view.host());
    let (twice, longer) = (format!("{own}, {own}"), format!("{own}.evil.test"));
    let secure = own.replace("http:", "https:");
    let form = attacked.form();
    for origin in [
        "",
        "null",
        "http://evil.test",
        &neighbour,
        "http://127.0.0.1",
        "file://",
        &twice,
        &longer,
        &secure,
    ] {
        let refused = attacked.posts(&[("Origin", origin)], &form);
        assert_eq!(refused.status, 403, "{origin:?}: {}", refused.body);
    }
    for site in ["cross-site", "same-site", "none"] {
        let refused = attacked.posts(&[("Sec-Fetch-Site", site)], &form);
        assert_eq!(refused.status, 403, "{site}");
    }
    attacked.ends_undecided();
}

#[test]
fn a_form_in_another_dress_decides_nothing() {
    let attacked = Attacked::new();
    let form = attacked.form();
    for kind in [
        "",
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json",
    ] {
        let refused = attacked.posts(&[("Content-Type", kind)], &form);
        assert_eq!(refused.status, 415, "{kind:?}");
    }
    let token = attacked.token();
    let (path, cookie) = (attacked.action(), attacked.cookie());
    for by in [
        format!("{path}?token={token}"),
        format!("{path}?token={token}&choice=approve"),
    ] {
        assert_ne!(attacked.gets(&by, &[]).status, 200, "{by}");
    }
    let host = attacked.view.host();
    let origin = format!("http://{host}");
    for method in ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "HEAD"] {
        let headers = [
            ("Host", host),
            ("Origin", origin.as_str()),
            ("Cookie", cookie.as_str()),
        ];
        let refused = ask(host, method, &path, &headers, "");
        assert_eq!(refused.status, 405, "{method}");
        assert_eq!(refused.header("access-control-allow-origin"), None);
    }
    attacked.ends_undecided();
}

#[test]
fn a_token_that_is_guessed_or_doubled_or_another_pages_decides_nothing_and_none_serves_twice() {
    let mut attacked = Attacked::new();
    let token = attacked.token().to_owned();
    for body in [
        String::new(),
        "token=".to_owned(),
        format!("token={}", "A".repeat(43)),
        format!("token={token}&token={token}"),
        format!("token={}&choice=approve&id=1", &token[..42]),
        format!("Token={token}"),
    ] {
        let refused = attacked.posts(&[], &body);
        assert_eq!(refused.status, 409, "{body}: {}", refused.body);
    }
    // Another tab's form is about what that tab shows, whatever the first one shows.
    let other = attacked.scene.draft("another", &json!("another word"));
    let first = attacked.browser.go("./").body;
    let is_of_other = |part: &&str| part.split('"').next().is_some_and(|to| to.contains(&other));
    let of_other = first.split("<a href=\"").find(is_of_other).unwrap();
    let to = of_other.split('"').next().unwrap().replace("&amp;", "&");
    let look = attacked.browser.go(&to).body;
    let sure = attacked.browser.go(&link(&look, "It never leaves …")).body;
    let done = attacked.browser.submit(&sure, "Refuse", &[]);
    assert!(done.body.contains(&other), "{}", done.body);
    let again = attacked.browser.submit(&sure, "Refuse", &[]);
    assert_eq!(again.status, 409);
    assert_eq!(attacked.scene.waiting(), 1);
    let kept = attacked.posts(&[], &format!("token={token}"));
    assert!(kept.body.contains("Approved"), "{}", kept.body);
    assert_eq!(attacked.posts(&[], &format!("token={token}")).status, 409);
}

#[test]
fn a_name_bound_anew_to_the_desks_address_is_shown_nothing() {
    let attacked = Attacked::new();
    let (host, cookie) = (attacked.view.host(), attacked.cookie());
    let path = attacked.action().replace("/do", "/");
    let (ip, port) = host.split_once(':').unwrap();
    let (named, doubled) = (
        format!("evil.test:{port}"),
        format!("{ip}.evil.test:{port}"),
    );
    for other in [
        "evil.test",
        &named,
        &doubled,
        "localhost",
        ip,
        "127.0.0.1",
        "",
    ] {
        let shown = ask(
            host,
            "GET",
            &path,
            &[("Host", other), ("Cookie", &cookie)],
            "",
        );
        assert!(
            shown.status == 421 || shown.status == 400,
            "{other}: {}",
            shown.status
        );
        assert!(!shown.body.contains("for bob"), "{other}");
    }
    let twice = raw(
        host,
        &format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nHost: evil.test\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        ),
    );
    assert!(
        twice.status == 421 || twice.status == 400,
        "{}",
        twice.status
    );
    let whole = raw(
        host,
        &format!(
            "GET http://evil.test{path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        ),
    );
    assert!(
        whole.status == 421 || whole.status == 400,
        "{}",
        whole.status
    );
    attacked.ends_undecided();
}

#[test]
fn a_frame_a_fetch_an_image_and_a_socket_of_another_site_see_nothing() {
    let attacked = Attacked::new();
    let path = attacked.action().replace("/do", "/");
    for dest in [
        "iframe", "frame", "embed", "object", "image", "script", "empty", "video", "worker",
    ] {
        let shown = attacked.gets(
            &path,
            &[("Sec-Fetch-Dest", dest), ("Sec-Fetch-Site", "cross-site")],
        );
        assert_eq!(shown.status, 403, "{dest}");
        assert!(!shown.body.contains("for bob"), "{dest}");
    }
    let socket = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-Fetch-Dest", "websocket"),
        ("Origin", "http://evil.test"),
    ];
    assert_eq!(attacked.gets(&path, &socket).status, 403);
    let host = attacked.view.host();
    let asked = [
        ("Host", host),
        ("Origin", "http://evil.test"),
        ("Access-Control-Request-Method", "POST"),
    ];
    let asked = ask(host, "OPTIONS", &path, &asked, "");
    assert_eq!(asked.status, 405);
    assert!(
        asked
            .headers
            .iter()
            .all(|(name, _)| !name.to_ascii_lowercase().starts_with("access-control"))
    );
    attacked.ends_undecided();
}

#[test]
fn every_answer_forbids_scripts_frames_and_other_forms_and_no_page_has_a_script() {
    let mut attacked = Attacked::new();
    let (host, inside) = (
        attacked.view.host().to_owned(),
        attacked.action().replace("/do", ""),
    );
    let mut paths = vec![
        "/o/x".to_owned(),
        "/home".to_owned(),
        "/to/draft".to_owned(),
        "/desk.css".to_owned(),
        "/nothing".to_owned(),
    ];
    for page in [
        "",
        "draft?home=alice",
        "stranger",
        "alarms?home=alice",
        "pause?home=alice",
        "agent?home=alice&agent=agent-bob",
        "open?home=alice",
        "whole?home=alice",
        "do",
        "x",
    ] {
        paths.push(format!("{inside}/{page}"));
    }
    for path in &paths {
        let answer = attacked.gets(path, &[]);
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(
            !policy.contains("script-src") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(
            answer.header("cross-origin-opener-policy"),
            Some("same-origin"),
            "{path}"
        );
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        let body = answer.body.to_ascii_lowercase();
        for active in [
            "<script",
            "javascript:",
            " onclick",
            " onload",
            "<iframe",
            "<img",
            "<object",
            "<svg",
            " style=",
        ] {
            assert!(!body.contains(active), "{path}: {active}");
        }
    }
    // A page that leads the browser to the desk lands on its first page and decides nothing: the address of a button
    // holds a secret that no other page can guess.
    let to = format!("http://{host}/to/draft?home=alice&id=x&choice=approve");
    let landed = attacked.browser.follow(Some("http://evil.test/"), &to);
    assert!(landed.body.contains("The desk"), "{}", landed.body);
    attacked.ends_undecided();
}

#[test]
fn a_link_with_parameters_leads_to_the_first_page_and_to_no_button() {
    let mut attacked = Attacked::new();
    let (host, inside) = (
        attacked.view.host().to_owned(),
        attacked.action().replace("/do", ""),
    );
    let odd = [
        "/to/draft?home=alice&id=1%0d%0aSet-Cookie:%20desk=x",
        "/to/draft?home=alice&id=\"><script>alert(1)</script>",
        "/to//evil.test/",
        "/to/..%2f..%2fs",
        "/to/draft?home=%2f%2fevil.test&id=1",
        "/to/stranger?home=alice&id=agent-bob&choice=approve",
        "/to/pause?home=alice",
        "/to/open?home=alice&id=01a1fe0d-660c-76a6-899d-ca65a487796c",
        "/to/open?home=<b>&id=<script>",
    ];
    for path in odd {
        let answer = ask(&host, "GET", path, &[("Host", &host)], "");
        assert_eq!(answer.header("set-cookie"), None, "{path}");
        assert_eq!(answer.header("location"), None, "{path}");
        assert!(
            !answer.body.contains("<script") && !answer.body.contains("evil.test"),
            "{path}: {}",
            answer.body
        );
        assert!(
            !answer.body.contains(&inside),
            "{path}: the secret of the path"
        );
        let landed = attacked
            .browser
            .follow(Some("http://127.9.9.9:1/"), &format!("http://{host}{path}"));
        if landed.status == 200 {
            assert!(!landed.body.contains("name=\"token\""), "{path}: a button");
        }
    }
    let first = attacked.browser.go(&format!("{inside}/")).body;
    assert!(
        first.contains("01a1fe0d-660c-76a6-899d-ca65a487796c"),
        "a hint: {first}"
    );
    attacked.ends_undecided();
}

#[test]
fn a_form_of_ten_megabytes_and_one_without_an_end_take_nothing_from_the_person() {
    let attacked = Attacked::new();
    let long = format!("token={}&x={}", attacked.token(), "x".repeat(10_000_000));
    assert_eq!(attacked.posts(&[], &long).status, 413);
    let (host, cookie) = (attacked.view.host().to_owned(), attacked.cookie());
    let begun = format!(
        "POST {} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken=",
        attacked.action()
    );
    // Open more connections than the desk keeps, each with a half-sent form: the desk has to close some of these for
    // the person.
    let held: Vec<std::net::TcpStream> = (0..200)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(&host).unwrap();
            let _ = std::io::Write::write_all(&mut stream, begun.as_bytes());
            stream
        })
        .collect();
    attacked.ends_undecided();
    drop(held);
}
