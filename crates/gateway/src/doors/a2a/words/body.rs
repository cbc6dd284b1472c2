//! What a message of A2A says as the body of a signed one, and what a body says as parts.
//!
//! | parts | body |
//! |---|---|
//! | one text, of `text/plain` and without metadata | the text |
//! | one data, the same of `application/json` | its JSON |
//! | anything else, and whatever says more beside its parts | `{"parts": […]}`, each part as A2A 1.0 writes it |
//!
//! The members of a message beside its parts (`metadata`, `extensions`, `referenceTaskIds`) stand in the metadata of the first,
//! under the name of the extension; and there a part of an answer says of which of several artifacts it is.
//!
//! So a handler that takes text gets a text, one that takes JSON gets JSON, and whatever one side says as parts the other
//! side reads as the same parts. A text stays a text also where it reads as JSON: nobody guesses.

use serde_json::{Map, Value, json};
use signet_api::A2A_EXTENSION;

use super::model::{A2aMessage, A2aPart, PartContent};
use super::read::{Fields, part};

/// The body that says a message. What the message says to a gateway is for no agent: `ours` are the names of that.
pub(crate) fn of(message: &A2aMessage, ours: &[&str]) -> Value {
    let Some(said) = beside(message, ours) else {
        return of_parts(&message.parts);
    };
    let mut parts = message.parts.clone();
    if let Some(first) = parts.first_mut() {
        put_mark(first, "message", Value::Object(said));
    }
    json!({ "parts": parts })
}

/// The body that says these parts.
pub(crate) fn of_parts(parts: &[A2aPart]) -> Value {
    match parts {
        [only] => alone(only).unwrap_or_else(|| json!({ "parts": [only] })),
        parts => json!({ "parts": parts }),
    }
}

/// The members of a message beside its parts.
fn beside(message: &A2aMessage, ours: &[&str]) -> Option<Map<String, Value>> {
    let mut said = Map::new();
    let mut metadata = message.metadata.clone().unwrap_or_default();
    metadata.retain(|name, _| !ours.contains(&name.as_str()));
    if !metadata.is_empty() {
        said.insert(METADATA.to_owned(), Value::Object(metadata));
    }
    let mut extensions = message.extensions.clone();
    extensions.retain(|name| !ours.contains(&name.as_str()));
    let lists = [
        (EXTENSIONS, &extensions),
        (REFERENCES, &message.reference_task_ids),
    ];
    for (name, texts) in lists.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        said.insert(name.to_owned(), json!(texts));
    }
    (!said.is_empty()).then_some(said)
}

/// Takes what was said beside the parts out of the first of them, into the members of the message that they become.
pub(crate) fn put_beside(message: &mut A2aMessage) {
    let first = message.parts.first_mut();
    let Some(Value::Object(mut said)) = first.and_then(|part| take_mark(part, "message")) else {
        return;
    };
    let texts = |list: Option<Value>| match list {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    message.metadata = match said.remove(METADATA) {
        Some(Value::Object(metadata)) => Some(metadata),
        _ => None,
    };
    message.extensions = texts(said.remove(EXTENSIONS));
    message.reference_task_ids = texts(said.remove(REFERENCES));
}

/// One of the artifacts that an answer's parts make.
#[derive(Default)]
pub(crate) struct NamedArtifact {
    /// None of parts that say nothing of it.
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) parts: Vec<A2aPart>,
}

/// The body of an answer of several artifacts: each part says of which it is.
pub(crate) fn of_artifacts(artifacts: Vec<NamedArtifact>) -> Value {
    let mut parts = Vec::new();
    for (number, artifact) in artifacts.into_iter().enumerate() {
        let id = artifact.id.unwrap_or_else(|| number.to_string());
        let named = [
            ("id", Some(id)),
            ("name", artifact.name),
            ("description", artifact.description),
        ];
        let named = named.into_iter();
        let named: Map<String, Value> = named
            .filter_map(|(name, text)| Some((name.to_owned(), Value::String(text?))))
            .collect();
        for mut part in artifact.parts {
            put_mark(&mut part, ARTIFACT, Value::Object(named.clone()));
            parts.push(part);
        }
    }
    json!({ "parts": parts })
}

/// The parts of an answer by the artifacts that they say they are of, in the order in which those begin.
pub(crate) fn artifacts_of(body: Value) -> Vec<NamedArtifact> {
    let mut groups: Vec<NamedArtifact> = Vec::new();
    for mut part in parts_of(body) {
        let mut named = match take_mark(&mut part, ARTIFACT) {
            Some(Value::Object(named)) => named,
            _ => Map::new(),
        };
        let mut text = |name: &str| match named.remove(name) {
            Some(Value::String(text)) if text.len() <= LONGEST_NAME && !text.is_empty() => {
                Some(text)
            }
            _ => None,
        };
        let id = text("id");
        match groups.iter_mut().find(|group| group.id == id) {
            Some(group) => group.parts.push(part),
            None => groups.push(NamedArtifact {
                id,
                name: text("name"),
                description: text("description"),
                parts: vec![part],
            }),
        }
    }
    groups
}

fn put_mark(part: &mut A2aPart, name: &str, said: Value) {
    let metadata = part.metadata.get_or_insert_with(Map::new);
    metadata.insert(A2A_EXTENSION.to_owned(), json!({ name: said }));
}

/// What a part says by that name under the name of the extension, taken out of it.
fn take_mark(part: &mut A2aPart, name: &str) -> Option<Value> {
    let metadata = part.metadata.as_mut()?;
    let mark = metadata.get_mut(A2A_EXTENSION)?.as_object_mut()?;
    let said = mark.remove(name);
    if mark.is_empty() {
        metadata.remove(A2A_EXTENSION);
    }
    if metadata.is_empty() {
        part.metadata = None;
    }
    said
}

/// What a single part is as a body, where nothing of it gets lost: a text, or data that is neither a text nor says parts.
fn alone(part: &A2aPart) -> Option<Value> {
    let is_plain = |natural: &str| {
        let media = part.media_type.as_deref();
        media.is_none_or(|media| media.eq_ignore_ascii_case(natural))
            && part.filename.is_none()
            && part.metadata.is_none()
    };
    match &part.content {
        PartContent::Text(text) if is_plain("text/plain") => Some(Value::String(text.clone())),
        // These values stay in a list of parts (`None`). Alone, a string would be read back as a text and not as data, and
        // `null` as nothing.
        PartContent::Data(Value::String(_) | Value::Null) => None,
        PartContent::Data(data) if is_plain("application/json") => {
            // Alone, data of the form `{"parts": […]}` would be read back as a list of parts: so it stays in a list as well.
            as_parts(data).is_none().then(|| data.clone())
        }
        PartContent::Text(_) | PartContent::Raw(_) | PartContent::Url(_) | PartContent::Data(_) => {
            None
        }
    }
}

/// The parts that a body says. What was said as parts is the same parts; a text is a text, and every other JSON is data.
pub(crate) fn parts_of(body: Value) -> Vec<A2aPart> {
    if let Some(parts) = as_parts(&body) {
        return parts;
    }
    match body {
        Value::Null => Vec::new(),
        Value::String(text) => vec![A2aPart::text(text)],
        other => vec![A2aPart::of(PartContent::Data(other))],
    }
}

/// The parts of a body that says parts and nothing else.
pub(crate) fn as_parts(body: &Value) -> Option<Vec<A2aPart>> {
    let members = body.as_object().filter(|members| members.len() == 1)?;
    let items = members.get("parts")?.as_array()?;
    if items.is_empty() {
        return None;
    }
    let read = |item: &Value| part(&Fields::root(item.as_object()?)).ok();
    // If one item is not a valid part, treat the whole body as data: otherwise that item would be lost.
    items.iter().map(read).collect()
}

const METADATA: &str = "metadata";
const EXTENSIONS: &str = "extensions";
const REFERENCES: &str = "referenceTaskIds";
const ARTIFACT: &str = "artifact";
/// Bytes of what names an artifact: 200 characters, each as long as it may be.
const LONGEST_NAME: usize = 800;

#[cfg(test)]
mod tests {
    use super::super::model::A2aRole;
    use super::*;

    fn message(parts: Vec<A2aPart>) -> A2aMessage {
        A2aMessage::of("m", A2aRole::User, parts)
    }

    #[test]
    fn whatever_is_said_as_parts_is_read_as_the_same_parts() {
        let file = A2aPart {
            filename: Some("f".to_owned()),
            media_type: Some("x/y".to_owned()),
            ..A2aPart::of(PartContent::Raw("AAE=".to_owned()))
        };
        for parts in [
            vec![A2aPart::text("hello")],
            vec![A2aPart::text("{\"week\":7}")],
            vec![A2aPart::of(PartContent::Data(json!({"week": 7})))],
            vec![A2aPart::of(PartContent::Data(json!([1])))],
            vec![A2aPart::text("a"), A2aPart::text("b")],
            vec![A2aPart::of(PartContent::Data(json!("a text as data")))],
            vec![A2aPart::of(PartContent::Data(
                json!({"parts": [{"text": "x"}]}),
            ))],
            vec![A2aPart {
                media_type: Some("text/markdown".to_owned()),
                ..A2aPart::text("# x")
            }],
            vec![A2aPart {
                metadata: json!({"lang": "en"}).as_object().cloned(),
                ..A2aPart::text("x")
            }],
            vec![file.clone()],
            vec![
                A2aPart::text("see"),
                file,
                A2aPart::of(PartContent::Url("https://x.example/".to_owned())),
            ],
        ] {
            let body = of(&message(parts.clone()), &[]);
            assert!(parts_of(body.clone()) == parts, "{body}");
        }
    }

    #[test]
    fn what_a_message_says_beside_its_parts_goes_along_and_what_it_says_to_us_does_not() {
        let mut said = message(vec![A2aPart::text("hi")]);
        said.metadata = json!({"signet": {"tier": 1}}).as_object().cloned();
        said.extensions = vec![A2A_EXTENSION.to_owned()];
        assert_eq!(of(&said, &[A2A_EXTENSION, "signet"]), "hi");
        said.metadata = json!({"signet": {"tier": 1}, "trace": {"id": 7}})
            .as_object()
            .cloned();
        said.extensions.push("urn:example".to_owned());
        said.reference_task_ids = vec!["t-1".to_owned()];
        let beside = json!({"metadata": {"trace": {"id": 7}}, "extensions": ["urn:example"], "referenceTaskIds": ["t-1"]});
        let first = json!({"text": "hi", "metadata": {A2A_EXTENSION: {"message": beside}}});
        assert_eq!(
            of(&said, &[A2A_EXTENSION, "signet"]),
            json!({ "parts": [first] })
        );
        let mut back = message(as_parts(&of(&said, &[A2A_EXTENSION, "signet"])).unwrap());
        put_beside(&mut back);
        said.metadata.as_mut().unwrap().remove("signet");
        said.extensions.remove(0);
        assert!(
            back == said,
            "what was said beside the parts is beside them again"
        );
    }

    #[test]
    fn nobody_puts_another_member_beside_the_parts() {
        let own = |more: Value| json!({"parts": [{"text": "hi", "metadata": more}]});
        let odd =
            own(json!({"own": 1, A2A_EXTENSION: {"message": {"taskId": "x", "metadata": 7}}}));
        let mut said = message(as_parts(&odd).unwrap());
        put_beside(&mut said);
        assert!(said == message(as_parts(&own(json!({"own": 1}))).unwrap()));
        for plain in [json!({"parts": [{"text": "hi"}]}), own(json!({"own": 1}))] {
            let mut said = message(as_parts(&plain).unwrap());
            put_beside(&mut said);
            assert!(said == message(as_parts(&plain).unwrap()), "{plain}");
        }
    }

    #[test]
    fn parts_that_name_their_artifacts_are_those_artifacts_again() {
        let of = |text: &str, named: Value| json!({"text": text, "metadata": {A2A_EXTENSION: {"artifact": named}}});
        let body = json!({"parts": [of("a", json!({"id": "1", "name": "first"})), of("b", json!({"id": "2"})),
            of("c", json!({"id": "1"})), {"text": "d"}, of("e", json!({"id": 7}))]});
        let groups = artifacts_of(body);
        let seen: Vec<_> = groups
            .iter()
            .map(|group| {
                (
                    group.id.as_deref(),
                    group.name.as_deref(),
                    group.parts.len(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (Some("1"), Some("first"), 2),
                (Some("2"), None, 1),
                (None, None, 2)
            ]
        );
        let bare = |group: &NamedArtifact| group.parts.iter().all(|part| part.metadata.is_none());
        assert!(groups.iter().all(bare));
    }

    #[test]
    fn a_handler_gets_what_is_natural() {
        let text = of(&message(vec![A2aPart::text("{\"week\":7}")]), &[]);
        assert_eq!(text, json!("{\"week\":7}"));
        let data = of_parts(&[A2aPart::of(PartContent::Data(json!({"week": 7})))]);
        assert_eq!(data, json!({"week": 7}));
        assert!(
            parts_of(json!({"parts": []}))
                == vec![A2aPart::of(PartContent::Data(json!({"parts": []})))]
        );
        let odd = json!({"parts": [{"text": "x"}], "more": 1});
        assert!(parts_of(odd.clone()) == vec![A2aPart::of(PartContent::Data(odd))]);
        assert!(parts_of(Value::Null).is_empty());
    }
}
