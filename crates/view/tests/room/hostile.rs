//! What strangers write, made to break out of its box.

use serde_json::{Value, json};
use signet_proto::reject::Reason;

use crate::diary::{Diary, Words};
use crate::program::Room;

/// Marks of what would break out, were one of them to stand in a page as markup.
const PAYLOADS: [&str; 20] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><animate onbegin=alert(1)>",
    "\"><a href=javascript:alert(1)>x</a>",
    "' onmouseover='alert(1)",
    "<style>*{display:none}</style>",
    "</main></body></html><h1>Not the room</h1>",
    "<iframe src=http://evil.example></iframe>",
    "<form action=http://evil.example><button>Approve</button></form>",
    "<meta http-equiv=refresh content=0;url=http://evil.example>",
    "<base href=http://evil.example/>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<!--",
    "]]><![CDATA[",
    "{{7*7}}${7*7}#{7*7}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u{202e}txt.exe\u{2066}evil\u{2069}",
    "a\u{200b}gent-b\u{00ad}ob-001",
    "Z\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}algo",
    "\u{1F468}\u{200d}\u{1F469} \u{feff}\u{2028}line",
];

fn page_of(diary: &Diary, dir: &std::path::Path) -> (Room, Vec<String>) {
    let room = Room::open(&dir.join("view"), &[&diary.dir]);
    room.shows("conversations", "the last of all");
    let mut pages = Vec::new();
    let mut address = "conversations".to_owned();
    for _ in 0..20 {
        let page = room.get(&address).body;
        pages.extend(page.split("conversation?id=").skip(1).map(|part| {
            let id = part.split(['"', '#']).next().unwrap();
            room.get(&format!("conversation?id={id}")).body
        }));
        let older = page.split("conversations?before=").nth(1);
        match older {
            Some(older) => {
                address = format!("conversations?before={}", older.split('"').next().unwrap())
            }
            None => break,
        }
    }
    for page in [
        "today",
        "conversations",
        "people",
        "left",
        "refused",
        "proof",
        "search?q=agent",
        "search?tier=1",
    ] {
        pages.push(room.get(page).body);
    }
    (room, pages)
}

/// What a page may hold: the tags of the templates, and no attribute that runs something.
fn holds_its_box(page: &str) {
    for mark in [
        "<img",
        "<iframe",
        "<style",
        "<base",
        "<object",
        "<embed",
        "onerror=\"",
        "onload=\"",
        "<animate",
        "=\"javascript:",
        "Not the room</h1>",
        "action=\"http",
        "alert(1)>",
        "\u{202e}",
        "\u{2066}",
        "\u{200b}",
        "\u{feff}",
        "\u{2028}",
    ] {
        assert!(!page.contains(mark), "{mark:?} stands in {page}");
    }
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</html>").count(), 1);
    assert_eq!(page.matches("</main>").count(), 1);
    assert!(page.ends_with("</html>"));
}

#[test]
fn two_hundred_texts_made_to_break_out_stay_in_their_box() {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = Diary::begin(&dir.path().join("agent-alice-001"));
    diary.trusts("bob");
    for (number, payload) in PAYLOADS.iter().enumerate() {
        let named = json!({ *payload: payload, "list": [payload, {"deep": payload}] });
        for (index, body) in [
            json!(payload),
            named,
            json!([payload, payload, payload]),
            Value::Null,
        ]
        .into_iter()
        .enumerate()
        {
            diary.hears(Words {
                summary: (index != 0).then_some(*payload),
                conversation: (index == 1).then_some("talk"),
                body,
                ..Words::default()
            });
        }
        for reason in [Reason::BodyUnfit, Reason::TierNotGranted] {
            let words = Words {
                summary: Some(payload),
                body: json!({"n": number, "text": payload}),
                ..Words::default()
            };
            diary.refuses(words, reason);
        }
        for index in 0..4 {
            let id = diary.hears(Words {
                summary: Some(payload),
                ..Words::default()
            });
            diary.answers(
                "bob",
                Words {
                    summary: Some(payload),
                    body: json!({ "index": index, "answer": payload }),
                    answers: Some(id),
                    ..Words::default()
                },
            );
        }
    }
    diary.hears(Words {
        summary: Some("the last of all"),
        ..Words::default()
    });
    diary.commit();
    let (_room, pages) = page_of(&diary, dir.path());
    assert!(pages.len() > 100, "{}", pages.len());
    pages.iter().for_each(|page| holds_its_box(page));
    let all = pages.concat();
    assert!(
        all.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "they are shown as what they are"
    );
}

#[test]
fn words_of_a_hundred_kilobytes_and_deep_bodies_are_bounded_with_their_hash_and_a_way_to_the_whole()
{
    let dir = tempfile::tempdir().unwrap();
    let mut diary = Diary::begin(&dir.path().join("agent-alice-001"));
    diary.trusts("bob");
    let long = "w".repeat(100_000);
    let mut deep = json!("bottom");
    for _ in 0..55 {
        deep = json!([deep]);
    }
    let wide: Vec<Value> = (0..5_000).map(Value::from).collect();
    for (summary, body) in [
        ("long", json!({ "text": long })),
        ("deep", deep),
        ("wide", Value::Array(wide)),
    ] {
        diary.hears(Words {
            summary: Some(summary),
            body: body.clone(),
            conversation: Some("big"),
            ..Words::default()
        });
        let canonical = signet_json::canonical(&body);
        let hash = signet_proto::ids::Digest::of(&[&canonical]).to_hex();
        diary.commit();
        let room = Room::open(&dir.path().join("view"), &[&diary.dir]);
        let list = room.shows("conversations", summary);
        let id = list
            .split("conversation?id=")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let page = room.get(&format!("conversation?id={id}")).body;
        assert!(
            page.contains(&hash) && page.contains("whole?id="),
            "{summary}: {}",
            &page[..2000]
        );
        assert!(page.len() < 120_000, "{summary}: {}", page.len());
        let whole = page
            .rsplit("whole?id=")
            .next()
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let whole = room.get(&format!("whole?id={whole}")).body;
        assert!(
            whole.contains(std::str::from_utf8(&canonical).unwrap()),
            "{summary}"
        );
    }
}

#[test]
fn a_stranger_that_claims_a_known_person_s_name_is_shown_by_its_agent_id() {
    let dir = tempfile::tempdir().unwrap();
    let mut diary = Diary::begin(&dir.path().join("agent-alice-001"));
    diary.trusts("bob");
    diary.meets("mallory");
    diary.commit();
    let room = Room::open(&dir.path().join("view"), &[&diary.dir]);
    let page = room.shows("today", "A stranger");
    assert!(page.contains("<bdi>agent-mallory-001</bdi>"), "{page}");
    assert!(page.contains("Nobody has verified either name"), "{page}");
    assert!(page.contains("signet trust pending"), "{page}");
}
