//! Parts: what the body of a message is to an agent of A2A, and what an agent's parts are as the body of an answer.
//!
//! `{"parts": […]}` is how a body says parts of A2A 1.0, here as at the gateway of whoever asked: files, links, data and
//! texts pass through both sides as the same parts.

use serde_json::{Map, Value, json};
use signet_json::{Limits, parse_foreign};

use std::borrow::Cow;

use signet_api::A2A_EXTENSION;

use super::Version;
use signet_handlers::Fault;

/// How bodies and parts stand for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// What is no text goes as a text of JSON, and a text that is JSON comes back as that.
    Text,
    /// Data goes as data, and everything comes back as it was said.
    Parts,
}

/// One part of an answer.
pub(super) struct Piece {
    /// What it says, for whoever wants no parts.
    pub(super) content: Value,
    /// Itself, as 1.0 writes it.
    pub(super) part: Value,
}

/// One result of a task.
pub(super) struct TaskOutput {
    /// What tells it from the others: `id`, and where there are such `name` and `description`.
    named: Map<String, Value>,
    pieces: Vec<Piece>,
}

impl TaskOutput {
    /// An artifact as any version writes it; none where it says nothing.
    pub(super) fn read(artifact: &Map<String, Value>) -> Result<Option<Self>, Fault> {
        let mut pieces = pieces(artifact)?;
        pieces.retain(Piece::says_something);
        let mut named = Map::new();
        for (member, name) in [
            ("artifactId", "id"),
            ("name", "name"),
            ("description", "description"),
        ] {
            let text = artifact.get(member).and_then(Value::as_str);
            let text = text.map(|text| text.chars().take(LONGEST_NAME).collect::<String>());
            named.extend(text.map(|text| (name.to_owned(), json!(text))));
        }
        Ok((!pieces.is_empty()).then_some(Self { named, pieces }))
    }
}

/// The body of an answer of so many artifacts. Parts of several say each of which it is; those of a single one say nothing of
/// it, for whoever wants no artifacts.
pub(super) fn of_artifacts(mut artifacts: Vec<TaskOutput>, form: Form) -> Option<Value> {
    if artifacts.len() < 2 {
        return artifacts.pop().and_then(|only| form.body(only.pieces));
    }
    let mut parts = Vec::new();
    for (number, TaskOutput { mut named, pieces }) in artifacts.into_iter().enumerate() {
        named
            .entry("id")
            .or_insert_with(|| json!(number.to_string()));
        let mark = json!({ "artifact": named });
        for mut piece in pieces {
            put_mark(&mut piece.part, &mark);
            parts.push(piece.part);
        }
    }
    Some(json!({ "parts": parts }))
}

fn put_mark(part: &mut Value, mark: &Value) {
    if let Some(members) = part.as_object_mut() {
        let metadata = members.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert(A2A_EXTENSION.to_owned(), mark.clone());
        }
    }
}

/// The body without what was said beside its parts, and that: `metadata`, `extensions` and `referenceTaskIds` of the message of
/// A2A that it was. It stands in the metadata of the first part, where older releases leave it.
pub(super) fn beside(body: &Value) -> (Cow<'_, Value>, Map<String, Value>) {
    let mut bare = body.clone();
    let metadata = bare.pointer_mut("/parts/0/metadata");
    let Some(metadata) = metadata.and_then(Value::as_object_mut) else {
        return (Cow::Borrowed(body), Map::new());
    };
    let Some(Value::Object(mut mark)) = metadata.remove(A2A_EXTENSION) else {
        return (Cow::Borrowed(body), Map::new());
    };
    let Some(Value::Object(mut said)) = mark.remove("message") else {
        return (Cow::Borrowed(body), Map::new());
    };
    said.retain(|name, value| match name.as_str() {
        "metadata" => value.is_object(),
        "extensions" | "referenceTaskIds" => value.is_array(),
        _ => false,
    });
    if !mark.is_empty() {
        metadata.insert(A2A_EXTENSION.to_owned(), Value::Object(mark));
    }
    let is_empty = metadata.is_empty();
    let first = bare.pointer_mut("/parts/0").and_then(Value::as_object_mut);
    if let (true, Some(first)) = (is_empty, first) {
        first.remove("metadata");
    }
    (Cow::Owned(bare), said)
}

impl Piece {
    fn says_something(&self) -> bool {
        !self.content.is_null() && self.content.as_str() != Some("")
    }
}

impl Form {
    /// The parts of a message.
    pub(super) fn parts(self, body: &Value, version: Version) -> Vec<Value> {
        if let Some(items) = said_as_parts(body) {
            return items.iter().map(|item| version.part(item)).collect();
        }
        let part = match (body, self) {
            (Value::String(text), _) => json!({ "text": text }),
            (other, Self::Text) => json!({ "text": other.to_string() }),
            (other, Self::Parts) => json!({ "data": other }),
        };
        part.as_object()
            .map(|part| vec![version.part(part)])
            .unwrap_or_default()
    }

    /// The body of an answer; none of empty texts alone.
    pub(super) fn body(self, mut pieces: Vec<Piece>) -> Option<Value> {
        pieces.retain(Piece::says_something);
        let has_file = pieces.iter().any(|piece| is_file(&piece.part));
        if self == Self::Text && !has_file {
            let contents = pieces.into_iter().map(|piece| piece.content);
            return one_or_list(contents.collect());
        }
        let parts: Vec<Value> = pieces.into_iter().map(|piece| piece.part).collect();
        match parts.as_slice() {
            [] => None,
            [only] => Some(alone(only).unwrap_or_else(|| json!({ "parts": [only] }))),
            _ => Some(json!({ "parts": parts })),
        }
    }
}

impl Version {
    /// A part as this version writes it.
    fn part(self, part: &Map<String, Value>) -> Value {
        if self == Self::V1_0 {
            return Value::Object(part.clone());
        }
        let mut metadata = part.get("metadata").and_then(Value::as_object).cloned();
        let named = [("filename", "name"), ("mediaType", "mimeType")];
        let file = |member: &str, value: &Value| {
            let mut file = Map::from_iter([(member.to_owned(), value.clone())]);
            for (name, old) in named {
                file.extend(part.get(name).map(|value| (old.to_owned(), value.clone())));
            }
            json!({ "kind": "file", "file": file })
        };
        let mut written = match CONTENTS.map(|name| part.get(name)) {
            [Some(text), ..] => json!({ "kind": "text", "text": text }),
            [_, Some(bytes), ..] => file("bytes", bytes),
            [_, _, Some(address), _] => file("uri", address),
            [_, _, _, Some(data @ Value::Object(_))] => json!({ "kind": "data", "data": data }),
            // 0.3 has no place for other data; the SDKs wrap it so.
            [_, _, _, data] => {
                let members = metadata.get_or_insert_with(Map::new);
                members.insert(WRAPPED.to_owned(), Value::Bool(true));
                json!({ "kind": "data", "data": { "value": data } })
            }
        };
        if let (Some(metadata), Some(members)) = (metadata, written.as_object_mut()) {
            members.insert("metadata".to_owned(), Value::Object(metadata));
        }
        written
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

/// The pieces of a message or an artifact.
pub(super) fn pieces(owner: &Map<String, Value>) -> Result<Vec<Piece>, Fault> {
    let parts = owner.get("parts").and_then(Value::as_array);
    let parts = parts.ok_or(Fault::Shape("a message or artifact has no parts"))?;
    parts.iter().map(piece).collect()
}

/// One part: its text, its data, or a file, which is never fetched.
fn piece(part: &Value) -> Result<Piece, Fault> {
    let part = part
        .as_object()
        .ok_or(Fault::Shape("a part is no object"))?;
    let kind = part.get("kind").or_else(|| part.get("type"));
    let kind = kind.map(|kind| kind.as_str().unwrap_or_default());
    let file = part.get("file").and_then(Value::as_object);
    let content = match (kind, part.get("text"), part.get("data"), file) {
        (None | Some("text"), Some(Value::String(text)), None, None) => {
            return Ok(Piece {
                content: read_text(text),
                part: whole("text", json!(text), part, part),
            });
        }
        (None | Some("data"), None, Some(data), None) => {
            let is_wrapped =
                part.get("metadata").and_then(|more| more.get(WRAPPED)) == Some(&Value::Bool(true));
            let data = data.get("value").filter(|_| is_wrapped).unwrap_or(data);
            return Ok(Piece {
                content: data.clone(),
                part: whole("data", data.clone(), part, part),
            });
        }
        (Some("file"), None, None, Some(file)) => [("bytes", "raw"), ("uri", "url")]
            .into_iter()
            .find_map(|(old, name)| Some(whole(name, file.get(old)?.clone(), file, part))),
        (None, None, None, None) => ["raw", "url"]
            .into_iter()
            .find_map(|name| Some(whole(name, part.get(name)?.clone(), part, part))),
        _ => None,
    };
    let whole = content.ok_or(Fault::Shape("a part is neither text, data nor a file"))?;
    Ok(Piece {
        content: whole.clone(),
        part: whole,
    })
}

/// A part of 1.0, with the name and the type that stand in `named`.
fn whole(
    member: &str,
    value: Value,
    named: &Map<String, Value>,
    part: &Map<String, Value>,
) -> Value {
    let mut whole = Map::from_iter([(member.to_owned(), value)]);
    for (name, old) in [("filename", "name"), ("mediaType", "mimeType")] {
        let found = named.get(name).or_else(|| named.get(old));
        whole.extend(found.map(|value| (name.to_owned(), value.clone())));
    }
    let metadata = part.get("metadata").and_then(Value::as_object);
    let mut metadata = metadata.cloned().unwrap_or_default();
    metadata.remove(WRAPPED);
    if !metadata.is_empty() {
        whole.insert("metadata".to_owned(), Value::Object(metadata));
    }
    Value::Object(whole)
}

/// What a single part is as a body, where nothing of it gets lost.
fn alone(part: &Value) -> Option<Value> {
    let members = part.as_object().filter(|members| members.len() == 1)?;
    match (members.get("text"), members.get("data")) {
        (Some(text), _) => Some(text.clone()),
        (_, Some(data)) if !data.is_string() && !data.is_null() => {
            said_as_parts(data).is_none().then(|| data.clone())
        }
        _ => None,
    }
}

fn is_file(part: &Value) -> bool {
    part.get("raw").is_some() || part.get("url").is_some()
}

/// The parts that a body says, where it says parts and nothing else.
fn said_as_parts(body: &Value) -> Option<Vec<&Map<String, Value>>> {
    let members = body.as_object().filter(|members| members.len() == 1)?;
    let items = members.get("parts")?.as_array()?;
    let item = |item: &'_ Value| -> bool {
        let contents = CONTENTS.iter().filter(|name| item.get(**name).is_some());
        contents.count() == 1
    };
    let all = items.iter().all(item) && !items.is_empty();
    all.then(|| items.iter().filter_map(Value::as_object).collect())
}

/// Characters of what names an artifact: those of a part of progress (docs/protocol.md, section 9).
pub(super) const LONGEST_NAME: usize = 200;
/// What a part of 1.0 holds one of.
const CONTENTS: [&str; 4] = ["text", "raw", "url", "data"];
/// In the metadata of a part of 0.3 whose data is no object.
const WRAPPED: &str = "data_part_compat";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_body_says_as_parts_reaches_the_agent_and_comes_back_as_the_same_parts() {
        let parts = json!([
            {"text": "see"}, {"raw": "AAE=", "filename": "f.bin", "mediaType": "application/x"},
            {"url": "https://x.example/a", "mediaType": "text/plain"}, {"data": {"week": 7}}, {"data": [1]},
            {"text": "x", "metadata": {"a": 1}},
        ]);
        let body = json!({ "parts": parts });
        for version in [Version::V0_3, Version::V1_0] {
            for form in [Form::Text, Form::Parts] {
                let sent = form.parts(&body, version);
                assert_eq!(sent.len(), 6);
                let owner = Map::from_iter([("parts".to_owned(), Value::Array(sent))]);
                let back = form.body(pieces(&owner).unwrap());
                assert_eq!(back, Some(body.clone()), "{version:?} {form:?}");
            }
        }
        let old = Form::Text.parts(&body, Version::V0_3);
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
            for version in [Version::V0_3, Version::V1_0] {
                let sent = Form::Parts.parts(&body, version);
                let owner = Map::from_iter([("parts".to_owned(), Value::Array(sent))]);
                let back = Form::Parts.body(pieces(&owner).unwrap());
                assert_eq!(back, Some(body.clone()), "{version:?}");
            }
        }
        // Data that reads as parts does not become those.
        let owner = json!({"parts": [{"data": {"parts": [{"text": "x"}]}}]});
        let back = Form::Parts.body(pieces(owner.as_object().unwrap()).unwrap());
        assert_eq!(back, Some(owner));
    }

    #[test]
    fn what_was_said_beside_the_parts_is_beside_them_again() {
        let said =
            json!({"metadata": {"trace": "7"}, "extensions": ["urn:x"], "referenceTaskIds": ["t"]});
        let mark = |more: Value| json!({"text": "hi", "metadata": more});
        let body =
            json!({"parts": [mark(json!({A2A_EXTENSION: {"message": said}})), {"text": "b"}]});
        let (bare, found) = beside(&body);
        assert_eq!(*bare, json!({"parts": [{"text": "hi"}, {"text": "b"}]}));
        assert_eq!(Value::Object(found), said);
        let body = json!({"parts": [mark(json!({"own": 1, A2A_EXTENSION: {"message": {"taskId": "x", "metadata": 7}}}))]});
        let (bare, found) = beside(&body);
        assert_eq!(*bare, json!({"parts": [mark(json!({"own": 1}))]}));
        assert!(
            found.is_empty(),
            "nobody puts another member there: {found:?}"
        );
        for plain in [
            json!("hi"),
            json!({"parts": [{"text": "hi"}]}),
            json!({"parts": [mark(json!({"own": 1}))]}),
        ] {
            assert_eq!((*beside(&plain).0).clone(), plain);
        }
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
            assert!(pieces(owner.as_object().unwrap()).is_err(), "{owner}");
        }
    }
}
