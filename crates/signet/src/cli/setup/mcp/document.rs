//! One more server in a client's JSON document, whose other bytes all stay as they are: order, spaces and the
//! settings of others.

use std::ops::Range;

use serde_json::Value;

/// What an edit makes of the settings document of a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// The new text.
    Text(String),
    /// The document has this very server already.
    Already,
}

/// Why nothing can be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DocumentFault {
    /// Not strict JSON.
    #[error("it is no JSON (comments are none): {0}")]
    NoJson(String),
    /// JSON, and no object.
    #[error("it is JSON, and no object")]
    NoObject,
    /// The list of servers is something else, or is there twice.
    #[error("{0} in it is no object, or is there twice")]
    NoSection(&'static str),
    /// There is another server of that name.
    #[error("another server has that name there")]
    Taken,
}

/// `text` with the server `name`, whose settings are the JSON text `entry`, in its object `section`.
pub(super) fn with_server(
    text: &str,
    section: &'static str,
    name: &str,
    entry: &str,
) -> Result<Added, DocumentFault> {
    let bare = text.trim_start_matches('\u{feff}');
    let text = match bare.trim().is_empty() {
        true => "{}\n",
        false => text,
    };
    let strict = text.trim_start_matches('\u{feff}');
    // Let a real parser read the whole text first: the scanner below relies on strict JSON.
    let value: Value =
        serde_json::from_str(strict).map_err(|error| DocumentFault::NoJson(error.to_string()))?;
    if !value.is_object() {
        return Err(DocumentFault::NoObject);
    }
    let unfit = || DocumentFault::NoSection(section);
    let root = text
        .find('{')
        .and_then(|open| Object::at(text, open))
        .ok_or(DocumentFault::NoObject)?;
    let key = Value::from(name).to_string();
    let servers = match root.named(section).as_slice() {
        [] => {
            let inner = format!("{{\n  {key}: {}\n}}", indented(entry, "  "));
            let member = format!("{}: ", Value::from(section));
            return Ok(Added::Text(root.with(text, &member, &inner)));
        }
        [one]
            if text
                .get(one.clone())
                .is_some_and(|value| value.starts_with('{')) =>
        {
            Object::at(text, one.start).ok_or_else(unfit)?
        }
        _ => return Err(unfit()),
    };
    // Compare values and not texts: the entry may be there already with its members in another order, or with other spaces.
    let same = |place: &Range<usize>| {
        let there = text
            .get(place.clone())
            .and_then(|text| serde_json::from_str::<Value>(text).ok());
        there.is_some() && there == serde_json::from_str(entry).ok()
    };
    match servers.named(name).as_slice() {
        [] => Ok(Added::Text(servers.with(text, &format!("{key}: "), entry))),
        [one] if same(one) => Ok(Added::Already),
        _ => Err(DocumentFault::Taken),
    }
}

/// An object in a text that is strict JSON: where it begins and ends, and its members.
struct Object {
    open: usize,
    close: usize,
    members: Vec<JsonMember>,
}

struct JsonMember {
    name: String,
    begins: usize,
    value: Range<usize>,
}

impl Object {
    /// The object whose brace stands at `open`.
    fn at(text: &str, open: usize) -> Option<Self> {
        let mut members = Vec::new();
        let mut at = space(text, open + 1)?;
        loop {
            if text.get(at..)?.starts_with('}') {
                return Some(Self {
                    open,
                    close: at,
                    members,
                });
            }
            let named = at..string(text, at)?;
            let name = serde_json::from_str(text.get(named.clone())?).ok()?;
            let value = space(text, space(text, named.end)? + 1)?;
            let value = value..value_end(text, value)?;
            at = space(text, value.end)?;
            members.push(JsonMember {
                name,
                begins: named.start,
                value,
            });
            if text.get(at..)?.starts_with(',') {
                at = space(text, at + 1)?;
            }
        }
    }

    /// The values of the members of that name.
    fn named(&self, name: &str) -> Vec<Range<usize>> {
        let same = self.members.iter().filter(|member| member.name == name);
        same.map(|member| member.value.clone()).collect()
    }

    /// `text` with one member more in this object, as the last one.
    fn with(&self, text: &str, name: &str, value: &str) -> String {
        let outer = indent(text, self.open);
        let inner = match self.members.first() {
            Some(first) => indent(text, first.begins),
            None => format!("{outer}  "),
        };
        let member = format!("\n{inner}{name}{}", indented(value, &inner));
        let (from, to, around) = match self.members.last() {
            Some(last) => (last.value.end, last.value.end, (",", String::new())),
            None => (self.open + 1, self.close, ("", format!("\n{outer}"))),
        };
        let (before, after) = (
            text.get(..from).unwrap_or_default(),
            text.get(to..).unwrap_or_default(),
        );
        format!("{before}{}{member}{}{after}", around.0, around.1)
    }
}

/// Every line but the first begins with `by`.
fn indented(text: &str, by: &str) -> String {
    text.replace('\n', &format!("\n{by}"))
}

/// The spaces at the beginning of the line in which `at` stands.
fn indent(text: &str, at: usize) -> String {
    let line = text.get(..at).unwrap_or_default();
    let line = line.rsplit('\n').next().unwrap_or_default();
    line.chars()
        .take_while(|next| matches!(next, ' ' | '\t'))
        .collect()
}

/// Where the spaces end that begin at `at`.
fn space(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    Some(at + rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len())
}

/// Where the string ends that begins at `at`.
fn string(text: &str, at: usize) -> Option<usize> {
    let mut is_escaped = false;
    for (from, next) in text.get(at..)?.char_indices().skip(1) {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + from + 1),
            _ => {}
        }
    }
    None
}

/// Where the value ends that begins at `at`.
fn value_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if rest.starts_with('"') {
        return string(text, at);
    }
    if !rest.starts_with(['{', '[']) {
        let length = rest.find([',', '}', ']', ' ', '\t', '\n', '\r']);
        return Some(at + length.unwrap_or(rest.len()));
    }
    // Count the depth instead of recursing: somebody else wrote the text, and may have nested it very deep.
    let (mut depth, mut from) = (0_usize, at);
    loop {
        match text.get(from..)?.chars().next()? {
            '"' => {
                from = string(text, from)?;
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        from += text.get(from..)?.chars().next()?.len_utf8();
        if depth == 0 {
            return Some(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "{\n  \"command\": \"/usr/bin/signet\"\n}";

    fn added(text: &str) -> String {
        match with_server(text, "mcpServers", "signet", ENTRY) {
            Ok(Added::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_empty_document_becomes_one() {
        let whole = "{\n  \"mcpServers\": {\n    \"signet\": {\n      \"command\": \"/usr/bin/signet\"\n    }\n  }\n}\n";
        for empty in ["", "  \n", "{}\n", "\u{feff}"] {
            assert_eq!(added(empty), whole, "{empty:?}");
        }
    }

    #[test]
    fn what_others_wrote_stays_byte_for_byte() {
        let others = "{\"z\": [1, {\"a\": \"}\\\"{\"}],\n\t\"mcpServers\": {\n\t\t\"other\": {\"command\": \"x\", \"args\": [\"{\", \"ü\"]}\n\t},\n\t\"a\": 1e3}";
        let text = added(others);
        let at = others.find("]}\n\t}").unwrap() + 2;
        let (before, after) = others.split_at(at);
        assert!(text.starts_with(before) && text.ends_with(after), "{text}");
        assert_eq!(
            text.get(before.len()..text.len() - after.len()).unwrap(),
            ",\n\t\t\"signet\": {\n\t\t  \"command\": \"/usr/bin/signet\"\n\t\t}"
        );
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value["mcpServers"]["other"]["args"][1] == "ü" && value["a"] == 1e3);
        // Adding the same server a second time must change nothing, so that the command can be repeated.
        assert_eq!(
            with_server(&text, "mcpServers", "signet", ENTRY),
            Ok(Added::Already)
        );
    }

    #[test]
    fn a_document_on_one_line_and_one_without_servers_are_still_json() {
        for text in [
            "{\"mcpServers\":{}}",
            "{\"mcpServers\":{\"o\":{}}}",
            "{\"a\":1}",
            "{ \"a\" : [ ] }",
            "{\"mcpServers\": { } , \"a\": null}",
        ] {
            let value: Value = serde_json::from_str(&added(text)).unwrap();
            assert_eq!(
                value["mcpServers"]["signet"]["command"], "/usr/bin/signet",
                "{text}"
            );
            let before: Value = serde_json::from_str(text).unwrap();
            for (name, there) in before
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, _)| *name != "mcpServers")
            {
                assert_eq!(&value[name], there, "{text}");
            }
        }
    }

    #[test]
    fn a_broken_document_and_a_name_that_is_taken_are_refused() {
        let refused = |text: &str| with_server(text, "mcpServers", "signet", ENTRY).unwrap_err();
        for broken in ["{", "{\"a\": 1,}", "// comment\n{}", "{} {}", "nonsense"] {
            assert!(
                matches!(refused(broken), DocumentFault::NoJson(_)),
                "{broken}"
            );
        }
        assert_eq!(refused("[]"), DocumentFault::NoObject);
        for odd in [
            "{\"mcpServers\": []}",
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
        ] {
            assert_eq!(
                refused(odd),
                DocumentFault::NoSection("mcpServers"),
                "{odd}"
            );
        }
        assert_eq!(
            refused("{\"mcpServers\": {\"signet\": {\"command\": \"y\"}}}"),
            DocumentFault::Taken
        );
    }
}
