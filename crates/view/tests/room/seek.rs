//! Search by words, agent, tier and dates.

use serde_json::json;

use crate::diary::{Diary, Words};
use crate::program::Room;

fn opened() -> (tempfile::TempDir, Room) {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = Diary::begin(&dir.path().join("agent-alice-001"));
    for who in ["bob", "carol"] {
        diary.trusts(who);
    }
    for (from, tier, summary) in [
        ("bob", 1, "Grüße aus dem Garten"),
        ("bob", 2, "Where is the spare key"),
        ("carol", 1, "The garden party"),
        ("carol", 2, "Keys and kettles"),
    ] {
        diary.hears(Words {
            from,
            tier,
            summary: Some(summary),
            body: json!({"note": format!("body of {from}")}),
            ..Words::default()
        });
    }
    diary.wait(std::time::Duration::from_secs(2 * 24 * 3600));
    diary.hears(Words {
        summary: Some("Two days later, in the garden"),
        ..Words::default()
    });
    diary.commit();
    let room = Room::open(&dir.path().join("view"), &[&diary.dir]);
    room.shows("conversations", "Grüße aus dem Garten");
    (dir, room)
}

fn found(room: &Room, query: &str) -> Vec<String> {
    let page = room.get(&format!("search?{query}")).body;
    let all = [
        "Grüße aus dem Garten",
        "Where is the spare key",
        "The garden party",
        "Keys and kettles",
        "Two days later, in the garden",
    ];
    all.iter()
        .filter(|summary| page.contains(*summary))
        .map(|summary| (*summary).to_owned())
        .collect()
}

#[test]
fn words_are_found_in_small_letters_by_their_beginning_and_all_of_them_together() {
    let (_dir, room) = opened();
    assert_eq!(found(&room, "q=GR%C3%9CSSE"), Vec::<String>::new());
    assert_eq!(found(&room, "q=gr%C3%BC%C3%9Fe"), ["Grüße aus dem Garten"]);
    assert_eq!(
        found(&room, "q=key"),
        ["Where is the spare key", "Keys and kettles"]
    );
    assert_eq!(found(&room, "q=spare+key"), ["Where is the spare key"]);
    assert_eq!(
        found(&room, "q=gard"),
        ["The garden party", "Two days later, in the garden"]
    );
    assert_eq!(
        found(&room, "q=body+of+carol"),
        ["The garden party", "Keys and kettles"]
    );
    assert_eq!(found(&room, "q=nowhere"), Vec::<String>::new());
}

#[test]
fn agent_tier_and_dates_narrow_what_is_found() {
    let (_dir, room) = opened();
    assert_eq!(
        found(&room, "q=garden&peer=agent-carol-001"),
        ["The garden party"]
    );
    assert_eq!(
        found(&room, "tier=2"),
        ["Where is the spare key", "Keys and kettles"]
    );
    assert_eq!(
        found(&room, "tier=2&peer=agent-bob-001"),
        ["Where is the spare key"]
    );
    assert_eq!(found(&room, "q=garden&to=2026-02-09"), ["The garden party"]);
    assert_eq!(
        found(&room, "q=garden&from=2026-02-09"),
        ["Two days later, in the garden"]
    );
    assert_eq!(
        found(&room, "from=2026-02-10&to=2026-02-10"),
        ["Two days later, in the garden"]
    );
}

#[test]
fn signs_words_without_end_and_the_signs_of_sql_find_nothing_and_break_nothing() {
    let (_dir, room) = opened();
    for query in [
        "q=%25".to_owned(),
        "q=*".to_owned(),
        "q='%20OR%201=1--".to_owned(),
        "q=%22%3B%20DROP%20TABLE%20line".to_owned(),
        format!("q={}", "garden+".repeat(1000)),
        format!("q={}", "x".repeat(20_000)),
        "tier=99&q=garden".to_owned(),
        "peer=%27&q=garden".to_owned(),
        "from=yesterday&before=-1".to_owned(),
        "before=99999999999999999999&q=%00".to_owned(),
    ] {
        let answer = room.get(&format!("search?{query}"));
        assert_eq!(answer.status, 200, "{query}");
    }
    assert_eq!(found(&room, "q=kettles"), ["Keys and kettles"]);
}

/// Said at half past eleven in the evening of the 8th, as Greenwich has it: in Vienna that is the 9th.
#[test]
fn a_day_of_the_search_and_a_square_of_the_calendar_are_the_persons_own() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("agent-alice-001");
    let mut diary = Diary::begin_at(&log, "2026-02-08T23:30:00.000Z");
    diary.trusts("bob");
    let asked = diary.hears(Words {
        summary: Some("Is the gate shut"),
        ..Words::default()
    });
    diary.answers(
        "bob",
        Words {
            answers: Some(asked),
            ..Words::default()
        },
    );
    diary.commit();
    let mut room = Room::open(&dir.path().join("view"), &[&diary.dir]);
    room.shows("search?q=gate", "Is the gate shut");
    let entered = room.cookie.clone();
    for (days, day, other) in [
        ("", "2026-02-08", "2026-02-09"),
        ("; days=60", "2026-02-09", "2026-02-08"),
        ("; days=120_1774746000_60", "2026-02-09", "2026-02-08"),
        ("; days=-660", "2026-02-08", "2026-02-09"),
        ("; days=60_x", "2026-02-08", "2026-02-09"),
    ] {
        room.cookie = format!("{entered}{days}");
        let finds = |day: &str| {
            let page = room.get(&format!("search?q=gate&from={day}&to={day}"));
            page.body.contains("Is the gate shut")
        };
        assert!(finds(day) && !finds(other), "{days}");
        let spoken = format!("{} Feb 2026: 1</title>", &day[9..]);
        let left = room.get("left").body;
        assert!(left.contains(&spoken), "{days}: {left}");
    }
}
