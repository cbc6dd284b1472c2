//! Two hundred texts that are made to break out of the desk's page: nothing but their own box changes.

use serde_json::{Value, json};

use crate::browser::link;
use crate::scene::Scene;

/// Texts that other programs have tripped over.
const TEXTS: [&str; 25] = [
    "<script>alert(1)</script>",
    "</pre></article><form method=\"post\" action=\"do\"><button>Approve</button></form>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<svg/onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<meta http-equiv=\"refresh\" content=\"0; url=http://evil.test\">",
    "<base href=\"http://evil.test/\">",
    "<iframe src=javascript:alert(1)>",
    "javascript:alert(1)",
    "&lt;script&gt;&#60;script&#62;",
    "]]></title><title>",
    "<!-- -->--!><!DOCTYPE>",
    "\u{202e}gnihtemos esle\u{202c}",
    "\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}",
    "\u{200b}\u{feff}\u{2060}zero",
    "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    "line\nline\r\nline\u{2028}line\u{2029}\u{85}",
    "tab\tbell\u{7}escape\u{1b}[2J\u{9b}31m",
    "\u{e0001}\u{e0041}tags",
    "аgent-bob with a Cyrillic letter",
    "{{7*7}}${7*7}<%= 7*7 %>#{7*7}",
    "\\u003cscript\\u003e\\x3c",
    "%3Cscript%3E+%00",
    "data:text/html;base64,PHNjcmlwdD4=",
];

/// The tags of a page, in order, without what their attributes say.
fn tags(page: &str) -> Vec<String> {
    let parts = page.split('<').skip(1);
    let name = |part: &str| {
        part.split([' ', '>', '/'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    parts
        .map(|part| {
            format!(
                "{}{}",
                if part.starts_with('/') { "/" } else { "" },
                name(part.trim_start_matches('/'))
            )
        })
        .collect()
}

/// The page of one draft, with nothing in it that is different for each.
fn page_of(
    scene: &Scene,
    browser: &mut crate::browser::Browser,
    summary: &str,
    body: &Value,
) -> (String, String) {
    let id = scene.draft(summary, body);
    let first = browser.go("./").body;
    let look = browser.go(&link(&first, "A draft")).body;
    assert!(look.contains(&id), "{look}");
    scene.alice.done(&["drafts", "drop", &id]);
    (first, look)
}

#[test]
fn two_hundred_hostile_texts_change_nothing_outside_their_box() {
    let scene = Scene::new();
    let view = scene.view();
    let (mut browser, _) = view.browser();
    let (first, look) = page_of(&scene, &mut browser, "plain", &json!({"plain": "plain"}));
    let (first_tags, look_tags) = (tags(&first), tags(&look));
    let mut tried = 0;
    for text in TEXTS {
        let places: [(&str, Value); 4] = [
            ("plain", json!({"plain": text})),
            ("plain", json!({(text): "plain"})),
            ("plain", json!({"plain": [text, text, {"a": text}]})),
            (text, json!({"plain": format!("{text}{text}")})),
        ];
        for (summary, body) in places {
            let (first, look) = page_of(&scene, &mut browser, summary, &body);
            for (page, known) in [(&first, &first_tags), (&look, &look_tags)] {
                tried += 1;
                assert_eq!(&tags(page), known, "{text:?}: {page}");
                let hidden = |c: char| {
                    (c.is_control() && c != '\n')
                        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
                };
                assert!(!page.contains(hidden), "{text:?}: {page:?}");
            }
        }
    }
    assert_eq!(tried, 200);
}

#[test]
fn a_word_of_a_hundred_kilobytes_is_bounded_and_the_whole_is_plain_text() {
    let scene = Scene::new();
    let view = scene.view();
    let (mut browser, _) = view.browser();
    let long = format!("{}<script>", "W".repeat(100_000));
    scene.draft("long", &json!(long));
    let first = browser.go("./").body;
    let look = browser.go(&link(&first, "A draft")).body;
    assert!(look.len() < 64 * 1024, "{}", look.len());
    assert!(look.contains("SHA-256") && look.contains("This is the beginning"));
    let whole = browser.go(&link(&look, "the whole text"));
    assert_eq!(
        whole.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(whole.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(whole.body, format!("\"{long}\""));
}

#[test]
fn sixty_levels_of_a_body_are_shown_and_the_desk_goes_on() {
    let scene = Scene::new();
    let view = scene.view();
    let (mut browser, _) = view.browser();
    let deep = (0..50).fold(json!("deep"), |inner, _| json!([inner]));
    let (_, look) = page_of(&scene, &mut browser, "deep", &deep);
    assert!(look.contains("&quot;deep&quot;"), "{look}");
    assert_eq!(browser.go("./").status, 200);
}
