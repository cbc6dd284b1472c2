//! Parts: what the body of a message is to an agent of A2A, and what an agent's parts are as the body of an answer.
//!
//! `{"parts": […]}` is how a body says parts of A2A 1.0, here as at the gateway of whoever asked (`words::body`).

use serde_json::{Map, Value, json};
use signet_handlers::Fault;
use signet_json::{Limits, parse_foreign};

use crate::doors::a2a::words::body::{NamedArtifact, as_parts, of_artifacts, of_parts};
use crate::doors::a2a::words::model::{A2aPart, PartContent};
use crate::doors::a2a::words::read::{Fields, part};

/// How bodies and parts stand for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartsForm {
    /// What is no text goes as a text of JSON, and a text that is JSON comes back as that.
    Text,
    /// Data goes as data, and everything comes back as it was said.
    Parts,
}

impl PartsForm {
    /// The parts of a message.
    pub(super) fn parts(self, body: &Value) -> Vec<A2aPart> {
        let alone = || match (body, self) {
            (Value::String(text), _) => A2aPart::text(text),
            (other, Self::Text) => A2aPart::text(other.to_string()),
            (other, Self::Parts) => A2aPart::of(PartContent::Data(other.clone())),
        };
        as_parts(body).unwrap_or_else(|| vec![alone()])
    }

    /// The body of an answer; none of empty texts alone.
    pub(super) fn body(self, mut parts: Vec<A2aPart>) -> Option<Value> {
        parts.retain(says_something);
        // The form `Text` cannot hold a file, so an answer with a file keeps its parts.
        let is_file =
            |part: &A2aPart| matches!(part.content, PartContent::Raw(_) | PartContent::Url(_));
        if self == Self::Text && !parts.iter().any(is_file) {
            return one_or_list(parts.into_iter().map(content).collect());
        }
        (!parts.is_empty()).then(|| of_parts(&parts))
    }

    /// The body of an answer of so many artifacts. Parts of several say each of which it is; those of a single one say nothing
    /// of it, for whoever wants no artifacts.
    pub(super) fn of_all(self, mut artifacts: Vec<NamedArtifact>) -> Option<Value> {
        match artifacts.len() {
            0 | 1 => artifacts.pop().and_then(|only| self.body(only.parts)),
            _ => Some(of_artifacts(artifacts)),
        }
    }
}

/// An artifact as any version writes it; none where it says nothing.
pub(super) fn artifact(artifact: &Map<String, Value>) -> Result<Option<NamedArtifact>, Fault> {
    let mut parts = parts_in(artifact)?;
    parts.retain(says_something);
    let text = |name: &str| {
        let text = artifact.get(name).and_then(Value::as_str);
        text.map(|text| text.chars().take(LONGEST_NAME).collect::<String>())
    };
    Ok((!parts.is_empty()).then(|| NamedArtifact {
        id: text("artifactId"),
        name: text("name"),
        description: text("description"),
        parts,
    }))
}

/// The parts of a message or an artifact. A file is never fetched.
pub(super) fn parts_in(owner: &Map<String, Value>) -> Result<Vec<A2aPart>, Fault> {
    let parts = owner.get("parts").and_then(Value::as_array);
    let parts = parts.ok_or(Fault::Shape("a message or artifact has no parts"))?;
    let read = |item: &Value| {
        let members = item.as_object();
        let members = members.ok_or(Fault::Shape("a part is no object"))?;
        part(&Fields::root(members))
            .map_err(|_| Fault::Shape("a part is neither text, data nor a file"))
    };
    parts.iter().map(read).collect()
}

/// What a part says, for whoever wants no parts.
fn content(part: A2aPart) -> Value {
    match part.content {
        PartContent::Text(text) => read_text(&text),
        PartContent::Data(data) => data,
        PartContent::Raw(_) | PartContent::Url(_) => json!(part),
    }
}

fn says_something(part: &A2aPart) -> bool {
    match &part.content {
        PartContent::Text(text) => !text.is_empty(),
        PartContent::Data(data) => !data.is_null() && data.as_str() != Some(""),
        PartContent::Raw(_) | PartContent::Url(_) => true,
    }
}

/// A text that is a JSON object or array is that; every other one stays a text.
pub(crate) fn read_text(text: &str) -> Value {
    let is_nested = text.trim_start().starts_with(['{', '[']);
    let read = || parse_foreign(text.as_bytes(), Limits::MESSAGE).ok();
    is_nested
        .then(read)
        .flatten()
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// One content is itself, several are a list; none, or nothing but empty texts, is no output.
pub(crate) fn one_or_list(mut contents: Vec<Value>) -> Option<Value> {
    contents.retain(|content| !content.is_null() && content.as_str() != Some(""));
    match contents.len() {
        0 | 1 => contents.pop(),
        _ => Some(Value::Array(contents)),
    }
}

/// Characters of what names an artifact: those of a part of progress (docs/protocol.md, section 9).
pub(super) const LONGEST_NAME: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doors::a2a::words::method::A2aVersion;
    use crate::doors::a2a::words::v03;

    /// The parts as that version writes and as we read them again.
    fn sent(parts: &[A2aPart], version: A2aVersion) -> (Vec<Value>, Vec<A2aPart>) {
        let written = parts.iter().map(|part| match version {
            A2aVersion::V03 => v03::part(part),
            A2aVersion::V1 => json!(part),
        });
        let written: Vec<Value> = written.collect();
        let owner = Map::from_iter([("parts".to_owned(), json!(written))]);
        (written, parts_in(&owner).unwrap())
    }

    #[test]
    fn what_a_body_says_as_parts_reaches_the_agent_and_comes_back_as_the_same_parts() {
        let parts = json!([
            {"text": "see"}, {"raw": "AAE=", "filename": "f.bin", "mediaType": "application/x"},
            {"url": "https://x.example/a", "mediaType": "text/plain"}, {"data": {"week": 7}}, {"data": [1]},
            {"text": "x", "metadata": {"a": 1}},
        ]);
        let body = json!({ "parts": parts });
        for version in [A2aVersion::V03, A2aVersion::V1] {
            for form in [PartsForm::Text, PartsForm::Parts] {
                let (sent, read) = sent(&form.parts(&body), version);
                assert_eq!(sent.len(), 6);
                let back = form.body(read);
                assert_eq!(back, Some(body.clone()), "{version:?} {form:?}");
            }
        }
        let (old, _) = sent(&PartsForm::Text.parts(&body), A2aVersion::V03);
        assert_eq!(
            old[1],
            json!({"kind": "file", "file": {"bytes": "AAE=", "name": "f.bin", "mimeType": "application/x"}})
        );
        assert_eq!(
            old[4],
            json!({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}})
        );
    }

    #[test]
    fn a_text_stays_a_text_and_data_stays_data_where_parts_are_wanted() {
        for body in [
            json!("hello"),
            json!("{\"week\":7}"),
            json!({"week": 7}),
            json!([1, 2]),
            json!(7),
            json!({"parts": []}),
            json!({"parts": [{"odd": 1}]}),
        ] {
            for version in [A2aVersion::V03, A2aVersion::V1] {
                let (_, read) = sent(&PartsForm::Parts.parts(&body), version);
                let back = PartsForm::Parts.body(read);
                assert_eq!(back, Some(body.clone()), "{version:?}");
            }
        }
        // The value of this data part looks like a list of parts. It must be read back as one data part, and not as the parts
        // in that list.
        let owner = json!({"parts": [{"data": {"parts": [{"text": "x"}]}}]});
        let back = PartsForm::Parts.body(parts_in(owner.as_object().unwrap()).unwrap());
        assert_eq!(back, Some(owner));
    }

    #[test]
    fn a_part_that_is_two_things_or_none_is_refused() {
        for part in [
            json!({"kind": "text", "text": 1}),
            json!({"kind": "file", "file": {}}),
            json!({"kind": "file", "text": "x"}),
            json!({"text": "x", "data": 1}),
            json!({"text": "x", "file": {"uri": "y"}}),
            json!({}),
            json!("x"),
        ] {
            let owner = json!({ "parts": [part] });
            assert!(parts_in(owner.as_object().unwrap()).is_err(), "{owner}");
        }
    }
}
