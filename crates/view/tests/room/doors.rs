//! Who is let in: other users of the machine, other pages of the browser, and who comes late.

use std::io::ErrorKind;

use crate::program::{Room, sample};

fn opened() -> (tempfile::TempDir, Room) {
    let data = tempfile::tempdir().unwrap();
    let room = Room::open(data.path(), &[&sample("agent-alice-001")]);
    (data, room)
}

/// What stands in a log and in no page for strangers.
const INSIDE: &str = "agent-bob-001";

#[test]
fn the_used_link_again_and_in_another_browser_opens_nothing() {
    let (_data, room) = opened();
    let again = room.ask("GET", &format!("/o/{}", room.once), &[], "");
    assert_eq!(again.status, 410, "{again:?}");
    assert!(!again.heads.contains_key("set-cookie") && !again.body.contains(&room.path));
    let other = "0".repeat(43);
    assert_eq!(room.ask("GET", &format!("/o/{other}"), &[], "").status, 410);
}

#[test]
fn the_path_without_the_cookie_and_the_cookie_without_the_path_open_nothing() {
    let (_data, room) = opened();
    room.shows("people", INSIDE);
    let cookie = room.cookie.clone();
    let wrong = format!("room={}", "A".repeat(43));
    let secret = room
        .path
        .trim_start_matches("/s/")
        .trim_end_matches('/')
        .to_owned();
    let guessed = format!("/s/{}/people", "A".repeat(43));
    let inside = format!("{}people", room.path);
    let double = format!("/{inside}");
    let no_slash = format!("/s/{secret}");
    let upper = inside.to_uppercase();
    let tries: [(&str, Vec<(&str, &str)>); 9] = [
        (&inside, vec![]),
        (&inside, vec![("Cookie", &wrong)]),
        (&inside, vec![("Cookie", "room=")]),
        (&inside, vec![("Cookie", "other=1; rooms=2")]),
        (&guessed, vec![("Cookie", &cookie)]),
        ("/people", vec![("Cookie", &cookie)]),
        (&double, vec![("Cookie", &cookie)]),
        (&no_slash, vec![("Cookie", &cookie)]),
        (&upper, vec![("Cookie", &cookie)]),
    ];
    for (path, heads) in tries {
        let answer = room.ask("GET", path, &heads, "");
        assert_eq!(answer.status, 403, "{path} {heads:?}");
        assert!(
            !answer.body.contains(INSIDE) && !answer.body.contains(&secret),
            "{path}"
        );
    }
}

#[test]
fn a_name_that_resolves_to_the_address_is_not_served() {
    let (_data, room) = opened();
    let cookie = room.cookie.clone();
    let port = room.host.split(':').nth(1).unwrap();
    let (local, bare, dotted) = (
        format!("localhost:{port}"),
        room.host.split(':').next().unwrap().to_owned(),
        format!("{}.", room.host),
    );
    for host in ["evil.example", &local, &bare, &dotted, "0.0.0.0", ""] {
        let answer = room.ask(
            "GET",
            &format!("{}people", room.path),
            &[("Host", host), ("Cookie", &cookie)],
            "",
        );
        assert!(
            matches!(answer.status, 400 | 421),
            "{host:?}: {}",
            answer.status
        );
        assert!(!answer.body.contains(INSIDE), "{host:?}");
        let ticket = room.ask("GET", &format!("/o/{}", room.once), &[("Host", host)], "");
        assert!(!ticket.heads.contains_key("set-cookie"), "{host:?}");
    }
}

/// A local user can connect as often as he likes; whoever proved to be let in is served all the same.
#[test]
fn four_hundred_silent_connections_keep_nobody_out() {
    let (_data, room) = opened();
    let page = room.shows("people", INSIDE);
    assert!(page.contains("<h1"));
    let silent: Vec<_> = (0..400)
        .map(|_| std::net::TcpStream::connect(&room.host).unwrap())
        .collect();
    let answer = room.get("people");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains(INSIDE));
    drop(silent);
}

#[test]
fn another_page_s_form_changes_nothing() {
    let (_data, room) = opened();
    let cookie = room.cookie.clone();
    let origin = format!("http://{}", room.host);
    let page = room.shows("proof", "are complete and unchanged");
    let looked =
        |page: &str| page.split("Looked at <time datetime=\"").nth(1).unwrap()[..24].to_owned();
    let before = looked(&page);
    let token = page
        .split("name=\"token\" value=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let body = format!("token={token}");
    let look = format!("{}look", room.path);
    let other_port = format!("http://{}:1", room.host.split(':').next().unwrap());
    let cases: [(Vec<(&str, &str)>, &str); 6] = [
        (vec![("Cookie", &cookie)], &body),
        (vec![("Cookie", &cookie), ("Origin", "null")], &body),
        (
            vec![("Cookie", &cookie), ("Origin", "http://evil.example")],
            &body,
        ),
        (vec![("Cookie", &cookie), ("Origin", &other_port)], &body),
        (vec![("Cookie", &cookie), ("Origin", &origin)], "token="),
        (vec![("Origin", &origin)], &body),
    ];
    for (heads, body) in cases {
        assert_eq!(
            room.ask("POST", &look, &heads, body).status,
            403,
            "{heads:?} {body}"
        );
    }
    assert_eq!(
        looked(&room.get("proof").body),
        before,
        "none of them began a proof"
    );
    let long = "x".repeat(1_000_000);
    let heads = [("Cookie", cookie.as_str()), ("Origin", origin.as_str())];
    match room.try_to_ask("POST", &look, &heads, &long) {
        Ok(answer) => assert_eq!(answer.status, 403),
        Err(error) => assert!(
            matches!(
                error.kind(),
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
            ),
            "a long body ends the connection, or is answered: {error}"
        ),
    }
    assert_eq!(
        looked(&room.get("proof").body),
        before,
        "a long body began no proof"
    );
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "POST"] {
        let answer = room.ask(
            method,
            &format!("{}people", room.path),
            &[("Cookie", &cookie)],
            "",
        );
        assert_eq!(answer.status, 405, "{method}");
    }
}

#[test]
fn the_index_and_its_folder_are_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("made").join("here");
    let room = Room::open(&folder, &[&sample("agent-alice-001")]);
    room.shows("people", INSIDE);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn an_index_in_a_folder_where_others_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = std::process::Command::new(env!("CARGO_BIN_EXE_signet-view"))
        .arg("--data")
        .arg(data.path())
        .arg("--log")
        .arg(sample("agent-alice-001"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&program.stderr);
    assert!(
        !program.status.success()
            && said.contains("may be written by others")
            && said.contains("next: "),
        "{said}"
    );
}
