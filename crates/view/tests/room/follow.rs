//! Logs that grow, tear, and are written anew while somebody looks.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::diary::{Diary, Words};
use crate::program::Room;

const FEBRUARY: &str = "inter-agent-2026-02.jsonl";

fn asks(diary: &mut Diary, summary: &str) {
    diary.hears(Words {
        summary: Some(summary),
        ..Words::default()
    });
}

fn begun(dir: &Path) -> Diary {
    let mut diary = Diary::begin(&dir.join("agent-alice-001"));
    diary.trusts("bob");
    asks(&mut diary, "the first question");
    diary.commit();
    diary
}

#[test]
fn what_is_added_is_shown_and_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = begun(dir.path());
    let room = Room::open(&dir.path().join("view"), &[&diary.dir]);
    room.shows("conversations", "the first question");
    for number in 0..20 {
        asks(&mut diary, &format!("question {number}"));
        diary.commit();
    }
    room.shows("conversations", "question 19");
    let page = room.get("search?q=question").body;
    assert_eq!(page.matches("question 7<").count(), 1, "{page}");
    // A room that is opened again goes on where the index stands.
    drop(room);
    asks(&mut diary, "asked while nobody looked");
    diary.commit();
    let room = Room::open(&dir.path().join("view"), &[&diary.dir]);
    room.shows("conversations", "asked while nobody looked");
    assert_eq!(
        room.get("search?q=question")
            .body
            .matches("question 7<")
            .count(),
        1
    );
}

#[test]
fn a_torn_end_is_left_out_until_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = begun(dir.path());
    asks(&mut diary, "the second question");
    diary.commit();
    let path = diary.dir.join(FEBRUARY);
    let bytes = std::fs::read(&path).unwrap();
    let bytes = &bytes[..=bytes.iter().rposition(|byte| *byte == b'\n').unwrap()];
    let copy = dir.path().join("copy").join("agent-alice-001");
    std::fs::create_dir_all(&copy).unwrap();
    let (whole, torn) = bytes.split_at(bytes.len() - 40);
    std::fs::write(copy.join(FEBRUARY), whole).unwrap();
    let room = Room::open(&dir.path().join("view"), &[&copy]);
    room.shows("conversations", "the first question");
    assert!(
        !room
            .get("conversations")
            .body
            .contains("the second question")
    );
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(copy.join(FEBRUARY))
        .unwrap();
    file.write_all(torn).unwrap();
    room.shows("conversations", "the second question");
}

#[test]
fn a_log_that_was_written_anew_is_read_anew() {
    let dir = tempfile::tempdir().unwrap();
    let diary = begun(dir.path());
    let shown = dir.path().join("shown").join("agent-alice-001");
    std::fs::create_dir_all(&shown).unwrap();
    std::fs::copy(diary.dir.join(FEBRUARY), shown.join(FEBRUARY)).unwrap();
    let room = Room::open(&dir.path().join("view"), &[&shown]);
    room.shows("conversations", "the first question");
    let mut other = Diary::begin(&dir.path().join("other"));
    asks(&mut other, "of another log");
    asks(&mut other, "and one more");
    other.commit();
    std::fs::remove_file(shown.join(FEBRUARY)).unwrap();
    std::fs::copy(other.dir.join(FEBRUARY), shown.join(FEBRUARY)).unwrap();
    room.shows("conversations", "and one more");
    for page in ["conversations", "search?q=question", "people"] {
        let page = room.get(page).body;
        assert!(!page.contains("the first question"), "{page}");
    }
}

#[test]
fn a_shorter_older_copy_is_read_anew_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = begun(dir.path());
    let shown = dir.path().join("shown").join("agent-alice-001");
    std::fs::create_dir_all(&shown).unwrap();
    let older = std::fs::read(diary.dir.join(FEBRUARY)).unwrap();
    asks(&mut diary, "since taken back");
    diary.commit();
    std::fs::copy(diary.dir.join(FEBRUARY), shown.join(FEBRUARY)).unwrap();
    let room = Room::open(&dir.path().join("view"), &[&shown]);
    room.shows("conversations", "since taken back");
    std::fs::write(shown.join(FEBRUARY), &older).unwrap();
    let begun = std::time::Instant::now();
    while room.get("conversations").body.contains("since taken back") {
        assert!(begun.elapsed() < crate::program::PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }
    room.shows("conversations", "the first question");
}

#[test]
fn a_changed_line_is_named_and_the_page_says_that_the_log_does_not_hold_together() {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = begun(dir.path());
    asks(&mut diary, "the second question");
    asks(&mut diary, "the third question");
    diary.commit();
    let shown = dir.path().join("shown").join("agent-alice-001");
    std::fs::create_dir_all(&shown).unwrap();
    let text = std::fs::read_to_string(diary.dir.join(FEBRUARY)).unwrap();
    let forged = text.replacen("the second question", "the zecond question", 1);
    std::fs::write(shown.join(FEBRUARY), forged.trim_end_matches('\0')).unwrap();
    let room = Room::open(&dir.path().join("view"), &[&shown]);
    room.shows("today", "This log cannot be read");
}

#[test]
fn a_log_of_two_months_is_read_across_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = begun(dir.path());
    diary.wait(Duration::from_secs(30 * 24 * 3600));
    asks(&mut diary, "asked in March");
    diary.commit();
    assert!(diary.dir.join("inter-agent-2026-03.jsonl").exists());
    let room = Room::open(&dir.path().join("view"), &[&diary.dir]);
    room.shows("conversations", "asked in March");
    room.shows("conversations", "the first question");
    room.shows("people", "agent-bob-001");
}

#[test]
fn nothing_of_what_is_sealed_and_no_body_stands_in_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = begun(dir.path());
    diary.hears(Words {
        tier: 3,
        ..Words::default()
    });
    diary.hears(Words {
        summary: Some("With a body"),
        body: serde_json::json!({"sentence": "The whole sentence stands in the log alone"}),
        ..Words::default()
    });
    diary.commit();
    let room = Room::open(&dir.path().join("view"), &[&diary.dir]);
    room.shows("conversations", "With a body");
    let page = room.shows("search?q=sentence", "With a body");
    assert!(!page.contains("stands in the log alone"));
    let (box_, sealed) = (signet_proto::ids::encode_base64url(&[7; 120]), "sealed\":");
    for entry in std::fs::read_dir(dir.path().join("view")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for secret in [box_.as_str(), sealed, "The whole sentence stands"] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}

#[test]
fn an_open_page_hears_of_what_is_added_and_of_no_word_of_it() {
    use std::io::{BufRead as _, BufReader};
    let dir = tempfile::tempdir().unwrap();
    let mut diary = begun(dir.path());
    let room = Room::open(&dir.path().join("view"), &[&diary.dir]);
    room.shows("conversations", "the first question");
    let mut stream = std::net::TcpStream::connect(&room.host).unwrap();
    stream
        .set_read_timeout(Some(crate::program::PATIENCE))
        .unwrap();
    let head = format!(
        "GET {}live HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        room.path, room.host, room.cookie
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(
        lines.any(|line| line.starts_with("retry:")),
        "the stream is open"
    );
    asks(&mut diary, "asked while the page is open");
    diary.commit();
    let told: Vec<String> = lines
        .by_ref()
        .take_while(|line| !line.starts_with("data:"))
        .collect();
    assert!(told.iter().any(|line| line == "event: change"), "{told:?}");
    assert!(!told.concat().contains("asked"), "{told:?}");
    room.shows("conversations", "asked while the page is open");
}
