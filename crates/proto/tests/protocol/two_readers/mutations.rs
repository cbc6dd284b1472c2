//! Mutations of messages: of their bytes, of their tokens, of their trees, and of how a tree is spelt.

use serde_json::{Map, Value, json};
use signet_json::{Limits, canonical, parse, write_string};

use crate::household::net::Dice;

/// One to three changes of one of the seeds.
pub fn mutated(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = one_of(seeds, dice).clone();
    // With each further change, fewer messages are taken by any reader: so make only one change most of the time.
    let changes = *one_of(&[1, 1, 1, 2, 3], dice);
    for _ in 0..changes {
        bytes = match dice.below(10) {
            0..2 => of_bytes(bytes, seeds, dice),
            2 => of_tokens(bytes, dice),
            3..5 => of_tree(&bytes, dice).unwrap_or(bytes),
            5..9 => of_content(&bytes, dice).unwrap_or(bytes),
            _ => spelt_otherwise(&bytes, dice).unwrap_or(bytes),
        };
    }
    bytes
}

fn one_of<'a, T>(list: &'a [T], dice: &mut Dice) -> &'a T {
    &list[dice.below(list.len() as u64) as usize]
}

fn place_in(bytes: &[u8], dice: &mut Dice) -> usize {
    dice.below(bytes.len() as u64 + 1) as usize
}

/// What stands nowhere in canonical form, or is easily taken for something else.
const PIECES: [&[u8]; 40] = [
    b" ",
    b"\n",
    b"\t",
    b"\r",
    b"\0",
    b"\x1f",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xf4\x90\x80\x80",
    "\u{1f600}".as_bytes(),
    "\u{2028}".as_bytes(),
    b"\\u0041",
    b"\\/",
    b"\\n",
    b"\\u000a",
    b"\\u001f",
    b"\\u001F",
    b"\\b",
    b"\\u0008",
    b"\\ud800",
    b"\\udc00",
    b"\\ud83d\\ude00",
    b"\\x",
    b"\\",
    b"\"",
    b",",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b"0",
    b"-",
    b"null",
    b"{}",
    b"\"body\":1,",
];

fn of_bytes(mut bytes: Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let (place, other) = (place_in(&bytes, dice), place_in(&bytes, dice));
    let (from, to) = (place.min(other), place.max(other));
    match dice.below(10) {
        0 => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = dice.below(256) as u8;
            }
        }
        2..5 => drop(bytes.splice(place..place, one_of(&PIECES, dice).iter().copied())),
        5 => drop(bytes.drain(from..to.min(from + 4))),
        6 => bytes.truncate(place),
        7 => bytes.extend_from_slice(one_of::<&[u8]>(&PIECES, dice)),
        8 => drop(bytes.splice(0..0, one_of(&PIECES, dice).iter().copied())),
        _ => {
            let tail = one_of(seeds, dice);
            let cut = place_in(tail, dice);
            bytes.truncate(place);
            bytes.extend_from_slice(&tail[cut..]);
        }
    }
    bytes
}

/// Numbers and words in every spelling.
const VALUES: [&str; 42] = [
    "0",
    "-0",
    "00",
    "01",
    "1",
    "-1",
    "+1",
    "1.0",
    "1e0",
    "1E0",
    "1e+0",
    "0.1",
    "0.10",
    ".1",
    "1.",
    "2",
    "4",
    "4.0",
    "5",
    "15",
    "16",
    "255",
    "256",
    "1e21",
    "1e+21",
    "1e20",
    "100000000000000000000",
    "9007199254740990",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740991",
    "-9007199254740992",
    "9e15",
    "0.1000000000000000055511151231257827",
    "1e400",
    "1e-400",
    "5e-324",
    "123456789012345678901234567890",
    "null",
    "true",
    "NaN",
];

/// Another value, spelt somehow, in the place of a number, a word or a string; or another name.
fn of_tokens(bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let tokens = tokens(&bytes);
    if tokens.is_empty() {
        return bytes;
    }
    let (start, end) = *one_of(&tokens, dice);
    let inner = &bytes[start..end];
    let new = match dice.below(6) {
        0..3 => one_of(&VALUES, dice).as_bytes().to_vec(),
        3 => {
            let (other_start, other_end) = *one_of(&tokens, dice);
            bytes[other_start..other_end].to_vec()
        }
        4 => [b" ", inner].concat(),
        // A character of a string is written with an escape, or an escape is put before it.
        _ => {
            let place = 1 + dice.below(inner.len() as u64) as usize;
            let (before, after) = inner.split_at(place.min(inner.len()));
            let escape = match after.first() {
                Some(byte) if dice.percent(50) => format!("\\u{byte:04x}").into_bytes(),
                Some(b'"') | None => b"\\\"".to_vec(),
                Some(_) => one_of(&PIECES, dice).to_vec(),
            };
            [before, &escape, after.get(1..).unwrap_or_default()].concat()
        }
    };
    [&bytes[..start], &new, &bytes[end..]].concat()
}

/// Where numbers, words and strings stand, roughly.
fn tokens(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at] == b'"' {
            at += 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at += 1 + usize::from(bytes[at] == b'\\');
            }
            at = (at + 1).min(bytes.len());
        } else {
            let is_part =
                |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
            at += bytes[at..].iter().take_while(|byte| is_part(byte)).count();
        }
        if at > start {
            found.push((start, at));
        } else {
            at += 1;
        }
    }
    found
}

/// Names of members that there are, and some that there are not.
const NAMES: [&str; 36] = [
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "headers",
    "summary",
    "body",
    "sealed",
    "signature",
    "reason",
    "agent-id",
    "principal-id",
    "timestamp",
    "message-type",
    "trust-layer-version",
    "skill-layers-loaded",
    "recipient-id",
    "message-id",
    "expires-at",
    "key-id",
    "session",
    "sequence",
    "data-tier",
    "capability",
    "conversation-id",
    "in-reply-to",
    "audit-head",
    "hops",
    "extra",
    "",
    "a",
    "zz",
    "\u{e000}",
    "\u{10000}",
];

/// Texts that a header, a method or a summary may hold, or just not.
fn text(dice: &mut Dice) -> String {
    let length = *one_of(&[0, 1, 62, 63, 64, 126, 127, 128, 129, 499, 500, 501], dice);
    match dice.below(12) {
        0 => "a".repeat(length),
        1 => "\u{1f600}".repeat(length),
        2 => "\"".repeat(length),
        3 => (*one_of(
            &["request", "response", "notification", "handoff", "Request"],
            dice,
        ))
        .to_owned(),
        4 => {
            let methods = signet_proto::envelope::Method::ALL;
            one_of(methods, dice).as_str().to_owned()
        }
        5 => (*one_of(
            &[
                "agent.unknown",
                "agent-bob",
                "-agent",
                "agent-\u{e9}",
                "signet.ping",
                "1.0.0",
                "1.1.0",
                "01.0.0",
                "1.0",
            ],
            dice,
        ))
        .to_owned(),
        6 => (*one_of(
            &[
                "2026-02-08T17:00:10.000Z",
                "2026-02-08T17:00:10Z",
                "2026-02-30T17:00:10.000Z",
                "2026-02-08t17:00:10.000z",
                "1969-12-31T23:59:59.999Z",
                "2262-01-01T00:00:00.000Z",
                "2026-02-08T17:00:60.000Z",
                "2026-02-08T17:00:10.0000000001Z",
            ],
            dice,
        ))
        .to_owned(),
        7 => (*one_of(
            &[
                "019c3e32-2680-796c-ad5b-e8d08a12e7b5",
                "019C3E32-2680-796C-AD5B-E8D08A12E7B5",
                "019c3e32-2680-496c-ad5b-e8d08a12e7b5",
                "019c3e322680796cad5be8d08a12e7b5",
                "{019c3e32-2680-796c-ad5b-e8d08a12e7b5}",
            ],
            dice,
        ))
        .to_owned(),
        8 => {
            let last = *one_of(&["A", "B", "w", "=", "8", ""], dice);
            let length = *one_of(&[42, 43, 85, 86], dice);
            format!("{}{last}", "A".repeat(length - last.len()))
        }
        9 => format!("ed25519:{}", "A".repeat(*one_of(&[42, 43, 44], dice))),
        10 => "0a".repeat(*one_of(&[31, 32, 33], dice)),
        _ => "2.0".to_owned(),
    }
}

fn value(dice: &mut Dice) -> Value {
    match dice.below(14) {
        0 => Value::Null,
        1 => json!({}),
        2 => json!([]),
        3 => json!(true),
        4..9 => Value::from(text(dice)),
        9 => json!(*one_of(
            &[
                0,
                1,
                2,
                3,
                4,
                5,
                15,
                16,
                255,
                256,
                -1,
                (1_i64 << 53) - 1,
                1_i64 << 53
            ],
            dice
        )),
        10 => json!(*one_of(&[0.5, 1.5, 1e21, 1e300], dice)),
        11 => {
            let depth = 55 + dice.below(12);
            (0..depth).fold(json!(1), |inner, _| json!([inner]))
        }
        // Each long list costs as much as a hundred other mutations.
        12 if dice.percent(3) => Value::from(vec![0; 9_960 + dice.below(50) as usize]),
        12 => json!([0, 1, 2, 3, 3]),
        _ => json!({"a": {"b": [1, "\u{1}"]}}),
    }
}

/// What a message may say, said otherwise, in canonical form: both readers take most of these.
fn of_content(bytes: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut tree = parse(bytes, Limits::MESSAGE).ok()?;
    let mut places = ["/params", "/result", "/error/data"].into_iter();
    let place = places.find(|place| tree.pointer(place).is_some())?;
    let envelope = tree.pointer_mut(place)?.as_object_mut()?;
    if dice.percent(60) {
        let content = match dice.below(4) {
            0 => {
                json!({"\u{10000}": value(dice), "\u{ffff}": value(dice), "b": [value(dice), value(dice)]})
            }
            1 => json!([value(dice), {"": value(dice)}]),
            2 => Value::from(text(dice)),
            _ => value(dice),
        };
        let name = if dice.percent(80) { "body" } else { "summary" };
        envelope.insert(name.into(), content);
        return Some(canonical(&tree));
    }
    let headers = envelope.get_mut("headers")?.as_object_mut()?;
    let (name, new) = match dice.below(8) {
        0 => ("data-tier", json!(1 + dice.below(5))),
        1 => ("hops", json!(dice.below(257))),
        2 => ("sequence", json!((1_i64 << 53) - 2 + dice.below(3) as i64)),
        3 => (
            "conversation-id",
            json!("A".repeat(dice.below(130) as usize)),
        ),
        4 => (
            "capability",
            json!(format!("a{}", ".".repeat(dice.below(128) as usize))),
        ),
        5 => ("audit-head", json!("0f".repeat(32))),
        6 => (
            "skill-layers-loaded",
            (0..dice.below(17)).rev().map(Value::from).collect(),
        ),
        _ => (
            "agent-id",
            json!(format!("a{}", "-".repeat(dice.below(64) as usize))),
        ),
    };
    headers.insert(name.into(), new);
    Some(canonical(&tree))
}

/// A change of the tree, written in canonical form: most of these are read to their end in one pass.
fn of_tree(bytes: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut tree = parse(bytes, Limits::MESSAGE).ok()?;
    let mut places = Vec::new();
    objects(&tree, &mut String::new(), &mut places);
    if places.is_empty() {
        return None;
    }
    let place = one_of(&places, dice).clone();
    let taken = tree.pointer(one_of::<String>(&places, dice)).cloned();
    let object = tree.pointer_mut(&place)?.as_object_mut()?;
    let names: Vec<String> = object.keys().cloned().collect();
    let known = (!names.is_empty()).then(|| one_of(&names, dice).clone());
    let other = (*one_of(&NAMES, dice)).to_owned();
    match (dice.below(8), known) {
        (0, Some(known)) => drop(object.remove(&known)),
        (1, Some(known)) => {
            let member = object.remove(&known)?;
            object.insert(other, member);
        }
        (2, Some(known)) => drop(object.insert(known, Value::Null)),
        (3..6, Some(known)) => drop(object.insert(known, value(dice))),
        (6, Some(known)) => drop(object.insert(known, taken.unwrap_or_default())),
        _ => drop(object.insert(other, value(dice))),
    }
    Some(canonical(&tree))
}

fn objects(value: &Value, place: &mut String, places: &mut Vec<String>) {
    let Value::Object(members) = value else {
        return;
    };
    places.push(place.clone());
    for (name, member) in members
        .iter()
        .filter(|(name, _)| !name.contains(['/', '~']))
    {
        let length = place.len();
        place.push('/');
        place.push_str(name);
        objects(member, place, places);
        place.truncate(length);
    }
}

/// The same tree, with one or a few of its places spelt otherwise.
fn spelt_otherwise(bytes: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let tree = parse(bytes, Limits::MESSAGE).ok()?;
    let mut out = Vec::new();
    let chance = *one_of(&[1, 3, 30], dice);
    spell(&tree, chance, dice, &mut out);
    Some(out)
}

fn spell(value: &Value, chance: u64, dice: &mut Dice, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => spell_members(members, chance, dice, out),
        Value::Array(items) => {
            out.push(b'[');
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                spell(item, chance, dice, out);
            }
            out.push(b']');
        }
        Value::String(text) => spell_text(text, chance, dice, out),
        Value::Number(number) if dice.percent(chance) => {
            let other = one_of(&["{}.0", "{}e0", "{}E+0", "{}.00"], dice);
            out.extend(other.replace("{}", &number.to_string()).into_bytes());
        }
        plain => out.extend(canonical(plain)),
    }
    if dice.percent(chance) {
        out.push(*one_of(b" \n\t\r", dice));
    }
}

fn spell_members(members: &Map<String, Value>, chance: u64, dice: &mut Dice, out: &mut Vec<u8>) {
    let mut list: Vec<_> = members.iter().collect();
    if list.len() > 1 && dice.percent(chance) {
        let place = dice.below(list.len() as u64 - 1) as usize;
        list.swap(place, place + 1);
    }
    if !list.is_empty() && dice.percent(chance / 2) {
        list.push(*one_of(&list, dice));
    }
    out.push(b'{');
    for (number, (name, member)) in list.into_iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        spell_text(name, chance / 3, dice, out);
        out.push(b':');
        spell(member, chance, dice, out);
    }
    out.push(b'}');
}

fn spell_text(text: &str, chance: u64, dice: &mut Dice, out: &mut Vec<u8>) {
    if !dice.percent(chance) {
        return write_string(text, out);
    }
    let at = dice.below(text.chars().count() as u64 + 1) as usize;
    out.push(b'"');
    for (number, character) in text.chars().enumerate() {
        if number == at {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.extend(format!("\\u{unit:04x}").into_bytes());
            }
        } else {
            let mut quoted = Vec::new();
            write_string(character.encode_utf8(&mut [0; 4]), &mut quoted);
            out.extend_from_slice(&quoted[1..quoted.len() - 1]);
        }
    }
    out.push(b'"');
}
