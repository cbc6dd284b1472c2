//! What an A2A message says as the body of a signed request, and what an answer's body says as parts.
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
use signet_json::canonical;
use signet_proto::envelope::MAX_MESSAGE;

use super::fault::Fault;
use super::model::{Content, Message, Part};
use super::read::{Fields, part};

/// What the call is about, beside its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) capability: Option<String>,
    pub(crate) tier: Option<u8>,
    /// Seconds that the request may wait.
    pub(crate) life: Option<u64>,
}

/// The body of a request of that data tier.
///
/// # Errors
/// -32602 for what no message of the daemon's holds.
pub(crate) fn of(message: &Message, tier: u8) -> Result<Value, Fault> {
    let body = match (message.parts.as_slice(), beside(message)) {
        ([only], None) => alone(only).unwrap_or_else(|| json!({ "parts": [only] })),
        (parts, None) => json!({ "parts": parts }),
        (parts, Some(said)) => {
            let mut parts = parts.to_vec();
            if let Some(first) = parts.first_mut() {
                let metadata = first.metadata.get_or_insert_with(Map::new);
                metadata.insert(A2A_EXTENSION.to_owned(), json!({ "message": said }));
            }
            json!({ "parts": parts })
        }
    };
    match signed_length(&body, tier) > MAX_MESSAGE {
        true => Err(Fault::params(
            "message.parts",
            "hold more than one signed message carries: 240 KiB with what stands around the body, and about 176 KiB where it \
             is sealed (tiers 3 and 4); send a link to what is larger",
        )),
        false => Ok(body),
    }
}

/// The members of a message beside its parts. Those that are meant for this gateway are not for its agent.
fn beside(message: &Message) -> Option<Map<String, Value>> {
    let ours = |name: &str| name == A2A_EXTENSION || name == SHORT;
    let metadata = message.metadata.iter().flatten();
    let metadata: Map<String, Value> = metadata
        .filter(|(name, _)| !ours(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let extensions = message.extensions.iter().filter(|name| !ours(name));
    let lists = [
        ("extensions", extensions.collect::<Vec<_>>()),
        (
            "referenceTaskIds",
            message.reference_task_ids.iter().collect(),
        ),
    ];
    let mut said = Map::new();
    if !metadata.is_empty() {
        said.insert("metadata".to_owned(), Value::Object(metadata));
    }
    for (name, texts) in lists.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        said.insert(name.to_owned(), json!(texts));
    }
    (!said.is_empty()).then_some(said)
}

/// One of the artifacts that an answer's parts make.
#[derive(Default)]
pub(crate) struct NamedArtifact {
    /// None of parts that say nothing of it.
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) parts: Vec<Part>,
}

/// The parts of an answer by the artifacts that they say they are of, in the order in which those begin.
pub(crate) fn artifacts_of(body: Value) -> Vec<NamedArtifact> {
    let mut groups: Vec<NamedArtifact> = Vec::new();
    for mut part in parts_of(body) {
        let mut named = take_mark(&mut part);
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

/// The members by which a part names its artifact, taken out of it.
fn take_mark(part: &mut Part) -> Map<String, Value> {
    let Some(metadata) = &mut part.metadata else {
        return Map::new();
    };
    let mark = metadata
        .get_mut(A2A_EXTENSION)
        .and_then(Value::as_object_mut);
    let Some(mark) = mark else {
        return Map::new();
    };
    let named = mark.remove("artifact");
    if mark.is_empty() {
        metadata.remove(A2A_EXTENSION);
    }
    if metadata.is_empty() {
        part.metadata = None;
    }
    match named {
        Some(Value::Object(named)) => named,
        _ => Map::new(),
    }
}

/// As how much the daemon will measure the whole message, at most. What is sealed travels as base64url.
fn signed_length(body: &Value, tier: u8) -> usize {
    let body = canonical(body).len();
    match tier < SEALED {
        true => body.saturating_add(AROUND),
        false => {
            let sealed = body.saturating_add(AROUND).saturating_mul(4).div_ceil(3);
            sealed.saturating_add(AROUND)
        }
    }
}

/// What a single part is as a body, where nothing of it gets lost: a text, or data that is neither a text nor says parts.
fn alone(part: &Part) -> Option<Value> {
    let is_plain = |natural: &str| {
        let media = part.media_type.as_deref();
        media.is_none_or(|media| media.eq_ignore_ascii_case(natural))
            && part.filename.is_none()
            && part.metadata.is_none()
    };
    match &part.content {
        Content::Text(text) if is_plain("text/plain") => Some(Value::String(text.clone())),
        Content::Data(Value::String(_) | Value::Null) => None,
        Content::Data(data) if is_plain("application/json") => {
            as_parts(data).is_none().then(|| data.clone())
        }
        _ => None,
    }
}

/// The parts of an answer. What was said as parts is the same parts; a text is a text, and every other JSON is data.
pub(crate) fn parts_of(body: Value) -> Vec<Part> {
    if let Some(parts) = as_parts(&body) {
        return parts;
    }
    match body {
        Value::Null => Vec::new(),
        Value::String(text) => vec![Part::text(text)],
        other => vec![Part::of(Content::Data(other))],
    }
}

fn as_parts(body: &Value) -> Option<Vec<Part>> {
    let members = body.as_object().filter(|members| members.len() == 1)?;
    let items = members.get("parts")?.as_array()?;
    if items.is_empty() {
        return None;
    }
    let read = |item: &Value| part(&Fields::root(item.as_object()?)).ok();
    items.iter().map(read).collect()
}

impl About {
    /// What the metadata of the message and of the call say under the name of the extension, or under `signet`; the
    /// message's comes first.
    ///
    /// # Errors
    /// -32602 for a member that does not fit.
    pub(crate) fn read(all: &[Option<&Map<String, Value>>]) -> Result<Self, Fault> {
        let mut about = Self::default();
        for metadata in all.iter().copied().flatten() {
            for name in [A2A_EXTENSION, SHORT] {
                let Some(Value::Object(given)) = metadata.get(name) else {
                    continue;
                };
                let fields = Fields::root(given);
                about.capability = about.capability.or(fields.text("capability")?);
                about.tier = match (about.tier, fields.count("tier")?) {
                    (None, Some(tier @ 1..=4)) => u8::try_from(tier).ok(),
                    (None, Some(_)) => {
                        return Err(Fault::params("metadata.tier", "is none of 1 to 4"));
                    }
                    (known, _) => known,
                };
                let life = fields.count("life")?;
                about.life = about.life.or(life.map(|life| life as u64));
            }
        }
        Ok(about)
    }
}

/// The short name of the extension, as our own handlers write it.
const SHORT: &str = "signet";
/// Bytes of what names an artifact: 200 characters, each as long as it may be.
const LONGEST_NAME: usize = 800;
/// More than the headers and the signature of a request ever take, each name as long as it may be (docs/protocol.md, section 2).
const AROUND: usize = 2 * 1024;
/// From this tier on what is said travels sealed.
pub(crate) const SEALED: u8 = 3;

#[cfg(test)]
mod tests {
    use super::super::model::Role;
    use super::*;

    fn message(parts: Vec<Part>) -> Message {
        Message {
            message_id: "m".to_owned(),
            context_id: None,
            task_id: None,
            role: Role::User,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    #[test]
    fn whatever_is_said_as_parts_is_read_as_the_same_parts() {
        let file = Part {
            filename: Some("f".to_owned()),
            media_type: Some("x/y".to_owned()),
            ..Part::of(Content::Raw("AAE=".to_owned()))
        };
        for parts in [
            vec![Part::text("hello")],
            vec![Part::text("{\"week\":7}")],
            vec![Part::of(Content::Data(json!({"week": 7})))],
            vec![Part::of(Content::Data(json!([1])))],
            vec![Part::text("a"), Part::text("b")],
            vec![Part::of(Content::Data(json!("a text as data")))],
            vec![Part::of(Content::Data(json!({"parts": [{"text": "x"}]})))],
            vec![Part {
                media_type: Some("text/markdown".to_owned()),
                ..Part::text("# x")
            }],
            vec![Part {
                metadata: json!({"lang": "en"}).as_object().cloned(),
                ..Part::text("x")
            }],
            vec![file.clone()],
            vec![
                Part::text("see"),
                file,
                Part::of(Content::Url("https://x.example/".to_owned())),
            ],
        ] {
            let body = of(&message(parts.clone()), 1).unwrap();
            assert!(parts_of(body.clone()) == parts, "{body}");
        }
    }

    #[test]
    fn what_a_message_says_beside_its_parts_goes_along_and_what_it_says_to_us_does_not() {
        let mut said = message(vec![Part::text("hi")]);
        said.metadata = json!({"signet": {"tier": 1}}).as_object().cloned();
        said.extensions = vec![A2A_EXTENSION.to_owned()];
        assert_eq!(of(&said, 1).unwrap(), "hi");
        said.metadata = json!({"signet": {"tier": 1}, "trace": {"id": 7}})
            .as_object()
            .cloned();
        said.extensions.push("urn:example".to_owned());
        said.reference_task_ids = vec!["t-1".to_owned()];
        let beside = json!({"metadata": {"trace": {"id": 7}}, "extensions": ["urn:example"], "referenceTaskIds": ["t-1"]});
        let first = json!({"text": "hi", "metadata": {A2A_EXTENSION: {"message": beside}}});
        assert_eq!(of(&said, 1).unwrap(), json!({ "parts": [first] }));
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
        let text = of(&message(vec![Part::text("{\"week\":7}")]), 1).unwrap();
        assert_eq!(text, json!("{\"week\":7}"));
        let data = of(
            &message(vec![Part::of(Content::Data(json!({"week": 7})))]),
            1,
        )
        .unwrap();
        assert_eq!(data, json!({"week": 7}));
        assert!(
            parts_of(json!({"parts": []})) == vec![Part::of(Content::Data(json!({"parts": []})))]
        );
        let odd = json!({"parts": [{"text": "x"}], "more": 1});
        assert!(parts_of(odd.clone()) == vec![Part::of(Content::Data(odd))]);
        assert!(parts_of(Value::Null).is_empty());
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_before_it_is_sent() {
        let fits = |length: usize, tier: u8| {
            of(&message(vec![Part::text("A".repeat(length))]), tier).map(drop)
        };
        assert!(fits(MAX_MESSAGE - AROUND - 2, 1).is_ok());
        let fault = fits(MAX_MESSAGE - AROUND - 1, 1).unwrap_err();
        assert!(fault.to_string().contains("240 KiB"), "{fault}");
        assert!(fits(176 * 1024, 3).is_ok() && fits(178 * 1024, 3).is_err());
        // Each is five bytes here and seventeen more as the daemon signs it.
        let numbers = Part::of(Content::Data(json!(vec![1e20; 15_000])));
        assert!(of(&message(vec![numbers]), 1).is_err());
    }

    #[test]
    fn what_is_asked_for_stands_in_the_metadata() {
        let mine = json!({"signet": {"capability": "a.b", "tier": 2}});
        let calls =
            json!({"urn:signet:a2a:request:1": {"capability": "c.d", "life": 60}, "other": 1});
        let about = About::read(&[mine.as_object(), None, calls.as_object()]).unwrap();
        assert_eq!(
            about,
            About {
                capability: Some("a.b".to_owned()),
                tier: Some(2),
                life: Some(60)
            }
        );
        for bad in [
            json!({"signet": {"tier": 5}}),
            json!({"signet": {"tier": "x"}}),
            json!({"signet": {"capability": 1}}),
        ] {
            assert!(About::read(&[bad.as_object()]).is_err(), "{bad}");
        }
    }
}
