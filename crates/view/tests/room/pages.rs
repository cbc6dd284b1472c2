//! What each page shows of the sample log.

use crate::program::{Room, sample};

const PAGES: [&str; 7] = [
    "today",
    "conversations",
    "people",
    "left",
    "refused",
    "proof",
    "search?q=evenings",
];

fn sampled() -> (tempfile::TempDir, Room) {
    let data = tempfile::tempdir().unwrap();
    let room = Room::open(
        data.path(),
        &[&sample("agent-alice-001"), &sample("agent-bob-001")],
    );
    // Both logs are read and proved.
    room.shows("today", "All 119 lines are complete and unchanged");
    room.shows("today", "All 90 lines are complete and unchanged");
    (data, room)
}

#[test]
fn every_page_is_whole_and_says_the_same_heads() {
    let (_data, room) = sampled();
    for page in PAGES {
        let answer = room.get(page);
        assert_eq!(answer.status, 200, "{page}");
        assert!(answer.body.ends_with("</html>"), "{page}");
        let policy = &answer.heads["content-security-policy"];
        for word in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(word), "{page}: {policy}");
        }
        assert_eq!(answer.heads["cache-control"], "no-store", "{page}");
        assert_eq!(answer.heads["x-content-type-options"], "nosniff", "{page}");
        assert_eq!(
            answer.heads["cross-origin-opener-policy"], "same-origin",
            "{page}"
        );
        // Neither a script nor a style nor a handler within the page, and one heading of the first order.
        for mark in ["<style", " style=", " onclick", "javascript:"] {
            assert!(!answer.body.contains(mark), "{page} has {mark}");
        }
        assert_eq!(answer.body.matches("<script").count(), 1, "{page}");
        assert_eq!(answer.body.matches("<h1").count(), 1, "{page}");
        assert_eq!(answer.body.matches("<main").count(), 1, "{page}");
        let is_way = page.split('?').next().unwrap();
        let here = format!("href=\"{is_way}\" aria-current=\"page\"");
        assert!(is_way == "search" || answer.body.contains(&here), "{page}");
    }
}

#[test]
fn a_conversation_is_shown_in_its_order_with_what_it_carries() {
    let (_data, room) = sampled();
    let list = room.get("conversations").body;
    let at = list.find("Can you feed the cat").expect("the question");
    let link = list[..at]
        .rfind("conversation?id=")
        .map(|begin| &list[begin..])
        .unwrap();
    let link = link.split('"').next().unwrap();
    let page = room.get(link).body;
    for words in [
        "Can you feed the cat in January?",
        "2027-01-04",
        "signature verified",
        "cat-2027",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let found = room.shows("search?q=dessert", "Shall we bring dessert?");
    assert!(found.contains("conversation?id="));
    let line = found
        .split("conversation?id=")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let page = room
        .get(&format!(
            "conversation?id={}",
            line.split('#').next().unwrap()
        ))
        .body;
    let order = [
        "Asks for free evenings next week",
        "Tuesday and Thursday are free",
        "Dinner on Tuesday",
        "Shall we bring dessert?",
    ];
    let places: Vec<_> = order
        .iter()
        .map(|words| page.find(words).expect(words))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn people_are_shown_with_their_words_and_since_when() {
    let (_data, room) = sampled();
    let page = room.shows("people", "agent-carol-001");
    let link = page
        .split("person?")
        .find(|part| part.contains("agent-bob-001"))
        .unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let page = room.get(&format!("person?{link}")).body;
    for words in [
        "also",
        "almost",
        "strike",
        "trusted",
        "May ask of you",
        "up to tier",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[test]
fn what_was_refused_stands_with_its_reason_in_plain_words() {
    let (_data, room) = sampled();
    let page = room.shows("refused", "Asks for the code of the door");
    for words in [
        "more confidential than was agreed",
        "not for programs to decide",
        "something that was not granted",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_sealed_message_says_that_it_is_sealed_and_nothing_more() {
    let (_data, room) = sampled();
    let page = room.shows("search?tier=3", "sealed");
    assert!(page.contains("3 sensitive"), "{page}");
    let link = page
        .split("conversation?id=")
        .nth(1)
        .unwrap()
        .split(['#', '"'])
        .next()
        .unwrap();
    let page = room.get(&format!("conversation?id={link}")).body;
    let sealed = page.split("<li ");
    let sealed: Vec<_> = sealed
        .filter(|bubble| bubble.contains("nobody without the key reads it"))
        .collect();
    assert!(!sealed.is_empty(), "{page}");
    for bubble in sealed {
        for more in ["class=\"body\"", "class=\"summary\"", "class=\"quote\""] {
            assert!(!bubble.contains(more), "{bubble}");
        }
    }
    // The box itself is for nobody's eyes either.
    let log = sample("agent-alice-001").join("inter-agent-2026-11.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    let boxes: Vec<_> = log.split("\"sealed\":{\"box\":\"").skip(1).collect();
    assert!(!boxes.is_empty());
    for sealed in boxes {
        assert!(!page.contains(&sealed[..20]), "{page}");
    }
}

#[test]
fn a_german_browser_reads_german() {
    let (_data, room) = sampled();
    let cookie = room.cookie.clone();
    let path = format!("{}today", room.path);
    let heads = [
        ("Cookie", cookie.as_str()),
        ("Accept-Language", "de-DE,de;q=0.9,en;q=0.5"),
    ];
    let page = room.ask("GET", &path, &heads, "").body;
    assert!(
        page.contains("<html lang=\"de\">") && page.contains("Wartet auf dich"),
        "{page}"
    );
}

#[test]
fn the_proof_is_that_of_audit_verify_and_is_made_when_asked() {
    let (_data, room) = sampled();
    let page = room.get("proof").body;
    let token = page
        .split("name=\"token\" value=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let (cookie, origin) = (room.cookie.clone(), format!("http://{}", room.host));
    let heads = [
        ("Cookie", cookie.as_str()),
        ("Origin", origin.as_str()),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let answer = room.ask(
        "POST",
        &format!("{}look", room.path),
        &heads,
        &format!("token={token}"),
    );
    assert_eq!(
        (answer.status, answer.heads["location"].as_str()),
        (303, "proof")
    );
    let page = room.shows("proof", "are complete and unchanged");
    let report = signet_audit::verify(&[sample("agent-alice-001"), sample("agent-bob-001")]);
    assert!(report.holds());
    for log in &report.logs {
        let (lines, head) = (log.lines, log.head.unwrap());
        assert!(
            page.contains(&format!("All {lines} lines are complete and unchanged")),
            "{page}"
        );
        assert!(page.contains(&head.hash.to_hex()), "{page}");
        for witness in &log.witnesses {
            assert!(
                page.contains(&format!("confirms them up to line {}", witness.head.seq)),
                "{page}"
            );
        }
    }
}

#[test]
fn a_line_is_had_whole_and_byte_for_byte() {
    let (_data, room) = sampled();
    let page = room.shows("search?q=ladder", "May I borrow the ladder?");
    let id = page.split("#l").nth(1).unwrap().split('"').next().unwrap();
    let shown = room.get(&format!("line?id={id}")).body;
    assert!(shown.contains("SHA-256 of the line"));
    let whole = room.get(&format!("whole?id={id}"));
    assert!(whole.heads["content-disposition"].starts_with("attachment"));
    let log = std::fs::read_to_string(sample("agent-alice-001").join("inter-agent-2026-11.jsonl"))
        .unwrap();
    let other =
        std::fs::read_to_string(sample("agent-bob-001").join("inter-agent-2026-11.jsonl")).unwrap();
    assert!(
        log.lines()
            .chain(other.lines())
            .any(|line| line == whole.body),
        "{}",
        whole.body
    );
}

/// A text that is not escaped says so by this word: where it stands nowhere, every text that a template is given is escaped.
#[test]
fn no_template_passes_a_text_that_is_not_escaped() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("PreEscaped"), "{}", path.display());
        }
    }
    assert!(files > 30, "{files}");
}
