//! docs/performance.md is what the benches of today hold: its table by their names and limits, and its words by the
//! numbers in their sources.

use std::collections::{BTreeMap, BTreeSet};

use super::bench::Limit;
use super::pages::{files_below, folders_in};
use super::text;

const PAGE: &str = "docs/performance.md";
const HEAD: &str = "| bench | figure | measured | limit | |\n|---|---|---|---|---|\n";

/// A figure that a bench holds against a limit.
#[derive(Debug)]
struct Held {
    bench: String,
    /// The text around what is put in when it runs.
    what: Vec<String>,
    /// Where it stands in the source as a number; else it is of what was measured before.
    limit: Option<Limit>,
}

impl Held {
    /// Whether a row of that name is its.
    fn is_named(&self, name: &str) -> bool {
        let (first, last) = (self.what.first().unwrap(), self.what.last().unwrap());
        let mut rest = name;
        let has_all = self
            .what
            .iter()
            .all(|part| match rest.split_once(part.as_str()) {
                Some((_, behind)) => {
                    rest = behind;
                    true
                }
                None => false,
            });
        has_all && name.starts_with(first.as_str()) && name.ends_with(last.as_str())
    }
}

/// The sources of all benches, by the folder or the file that they are, and each file's text.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for package in folders_in("crates") {
        if folders_in(&package).contains(&format!("{package}/benches")) {
            found.extend(files_below(&format!("{package}/benches"), "rs"));
        }
    }
    assert!(found.len() >= 12, "{}", found.len());
    found
}

/// The names of all benches: `Bench::begin` has them, and the parts of `daemon` stand in its list.
fn benches() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, source) in sources() {
        let begun = source.split("Bench::begin(\"").skip(1);
        names.extend(begun.map(|rest| rest.split('"').next().unwrap().to_owned()));
        if let Some((_, parts)) = source.split_once("const PARTS:") {
            let (parts, _) = parts.split_once("];").unwrap();
            names.extend(parts.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
    assert!(names.len() >= 12, "{names:?}");
    names
}

/// Every figure that is held.
fn held() -> Vec<Held> {
    let mut found = Vec::new();
    for (path, source) in sources() {
        let file = path.rsplit('/').next().unwrap().trim_end_matches(".rs");
        let folder = path.rsplit('/').nth(1).unwrap();
        let bench = if file == "main" { folder } else { file };
        for (at, _) in source.match_indices(".held(") {
            let (before, call) = source.split_at(at);
            let call = inside(&call[".held".len()..]);
            let named = call.trim_start();
            // A name that was made before stands in the last format before the call.
            let named = match named.starts_with(['"', 'f']) {
                true => named,
                false => &before[before.rfind("format!(").unwrap()..],
            };
            let name = named.split('"').nth(1).unwrap();
            let pieces = name.split('{').enumerate();
            let what = pieces.map(|(n, piece)| match n {
                0 => piece.to_owned(),
                _ => piece.split_once('}').unwrap().1.to_owned(),
            });
            found.push(Held {
                bench: bench.to_owned(),
                what: what.collect(),
                limit: limit(call, &source),
            });
        }
    }
    assert!(found.len() >= 18, "{found:#?}");
    found
}

/// What stands between the first parenthesis and its other half.
fn inside(text: &str) -> &str {
    let (mut depth, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1..at];
        }
    }
    panic!("no end: {text}")
}

fn limit(call: &str, source: &str) -> Option<Limit> {
    let (_, limit) = call.split_once("Limit::").unwrap();
    let (kind, _) = limit.split_once('(').unwrap();
    let value = inside(&limit[kind.len()..]);
    let value = value.trim_end_matches(" as f64");
    let constant = source.split_once(&format!("const {value}: "));
    let value = constant.map_or(value, |(_, rest)| {
        let (declared, _) = rest.split_once(';').unwrap();
        declared.split_once(" = ").unwrap().1
    });
    let factors = value.split(" * ");
    let factors = factors.map(|factor| factor.replace('_', "").parse::<f64>().ok());
    let value = factors.product::<Option<f64>>()?;
    Some(match kind {
        "Most" => Limit::Most(value),
        _ => Limit::Least(value),
    })
}

/// What in this table is not of these benches.
fn faults(table: &str, benches: &BTreeSet<String>, held: &[Held]) -> Vec<String> {
    let mut faults = Vec::new();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    for name in benches {
        if !rows.iter().any(|row| row[1] == name) {
            faults.push(format!("{name} has no row"));
        }
    }
    for row in &rows {
        let (bench, name, limit) = (row[1], row[2], row[4]);
        if !benches.contains(bench) {
            faults.push(format!("there is no bench {bench}"));
        }
        if row[5].contains("missed") {
            faults.push(format!("{bench} missed: {name}"));
        }
        let mut of_it = held.iter().filter(|held| held.bench == bench);
        let of_it = of_it.find(|held| held.is_named(name));
        let fits = match of_it.map(|held| held.limit) {
            _ if limit.is_empty() => true,
            Some(Some(of_code)) => of_code.to_string() == limit,
            Some(None) => limit.starts_with("at most ") || limit.starts_with("at least "),
            None => false,
        };
        if !fits {
            faults.push(format!("{bench}: {name}: {limit}; of the code: {of_it:?}"));
        }
    }
    for held in held {
        let mut own = rows.iter().filter(|row| row[1] == held.bench);
        if !own.any(|row| held.is_named(row[2]) && !row[4].is_empty()) {
            faults.push(format!("no row is held as the code has it: {held:?}"));
        }
    }
    faults
}

#[test]
fn the_table_of_what_was_measured_is_of_the_benches_of_today_and_nothing_in_it_was_missed() {
    let page = text(PAGE);
    let (_, table) = page.split_once(HEAD).unwrap();
    let faults = faults(table, &benches(), &held());
    assert!(
        faults.is_empty(),
        "make bench measures anew:\n{}",
        faults.join("\n")
    );
}

#[test]
fn a_table_of_other_benches_or_limits_or_with_a_missed_one_is_noticed() {
    let (benches, held) = (benches(), held());
    let mut good = String::new();
    for name in &benches {
        good.push_str(&format!("| {name} | what has no limit, ms | 1 |  |  |\n"));
    }
    for held in &held {
        let (bench, what) = (&held.bench, held.what.join("x"));
        let limit = held.limit.unwrap_or(Limit::Most(1.0));
        good.push_str(&format!("| {bench} | {what} | 1 | {limit} |  |\n"));
    }
    assert_eq!(faults(&good, &benches, &held), Vec::<String>::new());
    let parts = "| parts | what has no limit, ms | 1 |  |  |\n";
    let reads = "| reading | servers compared | 1 | at least 3 |  |\n";
    for (from, to) in [
        (parts, ""),
        (
            parts,
            &format!("{parts}| part | sign | 1 |  |  |\n") as &str,
        ),
        (reads, ""),
        (reads, "| reading | servers compared | 3 |  |  |\n"),
        (
            reads,
            "| reading | servers compared | 3 | at least 2 |  |\n",
        ),
        (reads, "| reading | servers compared | 3 | at most 3 |  |\n"),
        (
            reads,
            "| reading | servers compared | 2 | at least 3 | **missed** |\n",
        ),
    ] {
        assert!(good.contains(from), "{from}{good}");
        let faults = faults(&good.replace(from, to), &benches, &held);
        assert!(!faults.is_empty(), "{to}");
    }
}

/// Each item begins with the benches that it tells of, and has the numbers of their limits and no other.
#[test]
fn what_the_page_says_of_the_limits_are_those_in_force() {
    let page = text(PAGE);
    let (_, section) = page.split_once("\n## What the limits say\n").unwrap();
    let mut told: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for item in section.split("\n- ").skip(1) {
        let (item, _) = item.split_once("\n\n").unwrap_or((item, ""));
        let (names, words) = item.split_once(": ").unwrap();
        let words = words.replace('\n', " ");
        let words = words
            .split(' ')
            .map(|word| word.trim_end_matches(['.', ',', ';', ':']));
        let numbers = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let numbers: BTreeSet<String> = numbers
            .map(|number| number.parse::<f64>().unwrap().to_string())
            .collect();
        for name in names.split('`').skip(1).step_by(2) {
            assert!(told.insert(name, numbers.clone()).is_none(), "{name} twice");
        }
    }
    let held = held();
    for name in benches() {
        let own = held.iter().filter(|held| held.bench == name);
        let own = own.filter_map(|held| match held.limit? {
            Limit::Most(value) | Limit::Least(value) => Some(value.to_string()),
        });
        let own: BTreeSet<String> = own.collect();
        assert_eq!(told.get(name.as_str()), Some(&own), "{name}");
    }
}
