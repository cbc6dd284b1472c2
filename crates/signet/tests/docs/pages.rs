//! The pages hang together: their contents are their headings, and what is linked or cited is there.

use std::path::{Path, PathBuf};

use super::text;

/// The pages that several readers share: each begins with its contents.
const LONG: [&str; 10] = [
    "docs/by-hand.md",
    "docs/troubleshooting.md",
    "docs/operations.md",
    "docs/agents.md",
    "docs/person.md",
    "docs/disk.md",
    "docs/handlers.md",
    "docs/mcp.md",
    "docs/gateway.md",
    "docs/metrics.md",
];

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every document for people: path from the root, and text.
pub fn documents() -> Vec<(String, String)> {
    let mut found = files_in("", "md");
    for folder in folders_in("") {
        found.extend(files_below(&folder, "md"));
    }
    assert!(found.len() >= 25, "{}", found.len());
    found
}

/// The folders of one folder, but for what is compiled, fetched or hidden.
pub fn folders_in(folder: &str) -> Vec<String> {
    let listed = std::fs::read_dir(root().join(folder)).unwrap();
    let entries = listed.map(Result::unwrap);
    let entries = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let ours = names.filter(|name| {
        !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str())
    });
    ours.map(|name| {
        format!("{folder}/{name}")
            .trim_start_matches('/')
            .to_owned()
    })
    .collect()
}

/// The files of one folder whose name ends so.
pub fn files_in(folder: &str, ending: &str) -> Vec<(String, String)> {
    let listed = std::fs::read_dir(root().join(folder)).unwrap();
    let names = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(&format!(".{ending}")))
        .map(|name| {
            format!("{folder}/{name}")
                .trim_start_matches('/')
                .to_owned()
        })
        .collect();
    names.sort();
    let read = |name: String| {
        let text = text(&name);
        (name, text)
    };
    names.into_iter().map(read).collect()
}

/// The same in every folder below.
pub fn files_below(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = files_in(folder, ending);
    for below in folders_in(folder) {
        found.extend(files_below(&below, ending));
    }
    found
}

/// The headings of a page, of any depth, outside blocks.
fn headings(page: &str) -> Vec<&str> {
    let mut is_fenced = false;
    let mut found = Vec::new();
    for line in page.lines() {
        is_fenced ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if !is_fenced && title.len() < line.len() && title.starts_with(' ') {
            found.push(title.trim());
        }
    }
    found
}

/// The name by which a heading is linked.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    let kept: String = kept.collect();
    kept.to_lowercase().replace(' ', "-")
}

/// Targets of links, outside blocks and backticks.
fn links(page: &str) -> Vec<&str> {
    let mut is_fenced = false;
    let mut found = Vec::new();
    for line in page.lines() {
        is_fenced ^= line.starts_with("```");
        if is_fenced {
            continue;
        }
        let outside = line.split('`').step_by(2);
        for part in outside.flat_map(|part| part.split("](").skip(1)) {
            found.extend(part.split_once(')').map(|(target, _)| target));
        }
    }
    found
}

#[test]
fn the_contents_of_a_long_page_are_its_headings() {
    for page in LONG {
        let text = text(page);
        let contents = text.split("\n## ").next().unwrap();
        let listed: Vec<&str> = contents
            .lines()
            .filter_map(|line| line.strip_prefix("- ["))
            .collect();
        let titles = text
            .split("\n## ")
            .skip(1)
            .map(|part| part.lines().next().unwrap());
        let titles: Vec<String> = titles
            .map(|title| format!("{title}](#{})", anchor(title)))
            .collect();
        assert_eq!(
            listed.len(),
            titles.len(),
            "{page}: {listed:#?}\n{titles:#?}"
        );
        for (listed, title) in listed.iter().zip(&titles) {
            assert!(
                listed.starts_with(title.as_str()),
                "{page}: {listed}: {title}"
            );
        }
    }
}

#[test]
fn every_link_leads_to_something_that_is_there() {
    let mut followed = 0;
    for (page, text) in documents() {
        for target in links(&text) {
            if target.contains("://") {
                continue;
            }
            let (file, part) = target.split_once('#').unwrap_or((target, ""));
            let folder = Path::new(&page).parent().unwrap();
            let at = if file.is_empty() {
                PathBuf::from(&page)
            } else {
                folder.join(file)
            };
            let at = root().join(at);
            assert!(at.exists(), "{page}: {target}");
            if !part.is_empty() {
                let linked = std::fs::read_to_string(&at).unwrap();
                let is_there = headings(&linked)
                    .into_iter()
                    .any(|heading| anchor(heading) == part);
                assert!(is_there, "{page}: {target}");
            }
            followed += 1;
        }
    }
    assert!(followed > 40, "{followed}");
}

/// `docs/person.md, "Keys"` and `"Keys" in docs/person.md`, in documents, sources and units alike.
#[test]
fn every_page_and_section_that_is_cited_is_there() {
    let mut texts = documents();
    for (folder, ending) in [
        ("crates", "rs"),
        ("systemd", "service"),
        ("schemas", "json"),
    ] {
        texts.extend(files_below(folder, ending));
    }
    let mut cited = 0;
    for (file, text) in texts {
        // Comments break lines anywhere.
        let lines = text
            .lines()
            .map(|line| line.trim_start().trim_start_matches(['/', '#', '!']));
        let text = lines.map(str::trim).collect::<Vec<_>>().join(" ");
        for (at, _) in text.match_indices("docs/") {
            let path: String = text[at..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || ['/', '-', '.', '_'].contains(c))
                .collect();
            let path = path.trim_end_matches('.');
            let is_ours =
                !text[..at].ends_with(['/', '-', '_', '.']) || text[..at].ends_with("../");
            if !path.ends_with(".md") || !is_ours {
                continue;
            }
            assert!(root().join(path).exists(), "{file} cites {path}");
            cited += 1;
            if let Some(section) = section(&text[..at], &text[at + path.len()..]) {
                let page = super::text(path);
                let is_there = headings(&page)
                    .iter()
                    .any(|heading| heading.starts_with(section));
                assert!(is_there, "{file} cites \"{section}\" of {path}");
            }
        }
    }
    assert!(cited > 30, "{cited}");
}

/// The section that a citation names, before the path or behind it.
fn section<'a>(before: &'a str, after: &'a str) -> Option<&'a str> {
    let before = before.trim_end_matches('`').trim_end();
    if let Some(quoted) = before.strip_suffix("\" in") {
        let section = quoted.rsplit_once('"').map(|(_, section)| section);
        // In source code the two quotation marks may belong to different texts. Then there is code between them, and
        // that is no heading.
        return section.filter(|section| !section.contains([';', '(', '{']));
    }
    let after = after.trim_start_matches('`').strip_prefix(',')?;
    let quoted = after.trim_start().strip_prefix('"')?;
    quoted.split_once('"').map(|(section, _)| section)
}

#[test]
fn a_citation_names_its_section_before_or_behind() {
    assert_eq!(section("see \"Keys\" in ", " says"), Some("Keys"));
    assert_eq!(section("see `", "`, \"Keys\"."), Some("Keys"));
    assert_eq!(section("see ", ", section 12, has"), None);
    assert_eq!(section("(\"", "\"); between(\"one\")"), None);
}
