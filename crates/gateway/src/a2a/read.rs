//! Reads what clients send, as leniently as A2A asks for: camelCase and snake_case, enums by name and number, unknown
//! members ignored, null as absent; and refuses by name what cannot be meant.

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD};
use serde_json::{Map, Value};

use super::fault::Fault;
use super::model::{Authentication, Content, Message, Part, PushConfig, Role};

/// An object, and where it stands in the parameters.
pub(crate) struct Fields<'a> {
    members: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    /// The parameters themselves.
    pub(crate) const fn root(members: &'a Map<String, Value>) -> Self {
        Self {
            members,
            path: String::new(),
        }
    }

    fn of(value: &'a Value, path: String) -> Result<Self, Fault> {
        match value {
            Value::Object(members) => Ok(Self { members, path }),
            _ => Err(Fault::params(path, "is not an object")),
        }
    }

    /// The member of that name in camelCase, or in snake_case.
    pub(crate) fn member(&self, name: &str) -> Option<&'a Value> {
        let found = self.members.get(name);
        let found = found.or_else(|| self.members.get(&snake(name)));
        found.filter(|value| !value.is_null())
    }

    pub(crate) fn fault(&self, name: &str, wrong: &str) -> Fault {
        Fault::params(self.at(name), wrong)
    }

    fn at(&self, name: &str) -> String {
        match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        }
    }

    /// A text that is not empty; an empty one counts as absent, as protobuf has it.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Fault> {
        match self.member(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) if text.len() <= LONGEST_TEXT => Ok(Some(text.clone())),
            Some(Value::String(_)) => Err(self.fault(name, "is longer than 1,024 bytes")),
            Some(_) => Err(self.fault(name, "is not a text")),
        }
    }

    pub(crate) fn needed(&self, name: &str) -> Result<String, Fault> {
        self.text(name)?
            .ok_or_else(|| self.fault(name, "is missing"))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.member(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.fault(name, "is neither true nor false")),
        }
    }

    /// A whole number from 0 on, which may stand as a text.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, Fault> {
        let wrong = || self.fault(name, "is not a whole number from 0 on");
        let Some(value) = self.member(name) else {
            return Ok(None);
        };
        let number = match value {
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| *number <= u64::from(i32::MAX.unsigned_abs()));
        let number = number.ok_or_else(wrong)?;
        usize::try_from(number).map(Some).map_err(|_| wrong())
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<Fields<'a>>, Fault> {
        let value = self.member(name);
        value
            .map(|value| Fields::of(value, self.at(name)))
            .transpose()
    }

    fn map(&self, name: &str) -> Result<Option<Map<String, Value>>, Fault> {
        let found = self.object(name)?;
        let found = found.filter(|fields| !fields.members.is_empty());
        Ok(found.map(|fields| fields.members.clone()))
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, Fault> {
        let wrong = || self.fault(name, "is not a list of texts");
        match self.member(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }
}

/// The message that a client sends. `make_id` names one of the oldest form, which has no name.
pub(crate) fn message(
    fields: &Fields<'_>,
    make_id: impl FnOnce() -> String,
) -> Result<Message, Fault> {
    let items = match fields.member("parts") {
        Some(Value::Array(items)) if !items.is_empty() => items,
        Some(Value::Array(_)) => return Err(fields.fault("parts", "is empty")),
        Some(_) => return Err(fields.fault("parts", "is not a list")),
        None => return Err(fields.fault("parts", "is missing")),
    };
    // The form before 0.3 says `type` for `kind`, and its messages have no names.
    let is_oldest = items
        .iter()
        .all(|part| part.get("type").is_some() && part.get("kind").is_none());
    let mut parts = Vec::with_capacity(items.len());
    for (number, item) in items.iter().enumerate() {
        let path = fields.at(&format!("parts[{number}]"));
        parts.push(part(&Fields::of(item, path)?)?);
    }
    let message_id = match fields.text("messageId")? {
        None if is_oldest => make_id(),
        None => return Err(fields.fault("messageId", "is missing")),
        Some(id) => id,
    };
    Ok(Message {
        message_id,
        context_id: fields.text("contextId")?,
        task_id: fields.text("taskId")?,
        role: role(fields)?,
        parts,
        metadata: fields.map("metadata")?,
        extensions: fields.texts("extensions")?,
        reference_task_ids: fields.texts("referenceTaskIds")?,
    })
}

fn role(fields: &Fields<'_>) -> Result<Role, Fault> {
    match fields.member("role") {
        None => Err(fields.fault("role", "is missing")),
        Some(Value::String(name)) if matches!(name.as_str(), "user" | "ROLE_USER") => {
            Ok(Role::User)
        }
        Some(Value::String(name)) if matches!(name.as_str(), "agent" | "ROLE_AGENT") => {
            Ok(Role::Agent)
        }
        Some(value) if value.as_u64() == Some(1) => Ok(Role::User),
        Some(value) if value.as_u64() == Some(2) => Ok(Role::Agent),
        Some(_) => Err(fields.fault("role", "is neither user nor agent")),
    }
}

/// One part, as 1.0, 0.3 or the form before writes it.
pub(crate) fn part(fields: &Fields<'_>) -> Result<Part, Fault> {
    let kind = fields.text("kind")?.or(fields.text("type")?);
    let file = fields.object("file")?;
    let found = match (kind.as_deref(), &file) {
        (Some("file"), Some(file)) => of_file(file)?,
        (Some("text"), None) => vec![of_text(fields)?],
        (Some("data"), None) => vec![of_data(fields)?],
        (None, None) => of_members(fields)?,
        (Some("text" | "data" | "file") | None, _) => {
            return Err(fields.fault("kind", "does not fit what the part holds"));
        }
        (Some(_), _) => return Err(fields.fault("kind", "is neither text, file nor data")),
    };
    let mut found = found.into_iter();
    let (Some(content), None) = (found.next(), found.next()) else {
        return Err(Fault::params(
            fields.path.clone(),
            "holds not exactly one of text, raw, url and data",
        ));
    };
    let mut metadata = fields.map("metadata")?;
    if let (Content::Data(_), Some(members)) = (&content, metadata.as_mut()) {
        members.remove(WRAPPED);
    }
    let named = file.as_ref().unwrap_or(fields);
    let filename = match &file {
        Some(file) => file.text("name")?,
        None => fields.text("filename")?,
    };
    Ok(Part {
        content,
        filename,
        media_type: named.text("mediaType")?.or(named.text("mimeType")?),
        metadata: metadata.filter(|members| !members.is_empty()),
    })
}

fn of_members(fields: &Fields<'_>) -> Result<Vec<Content>, Fault> {
    let mut found = Vec::new();
    if fields.member("text").is_some() {
        found.push(of_text(fields)?);
    }
    if fields.member("raw").is_some() {
        found.push(of_raw(fields, "raw")?);
    }
    if fields.member("url").is_some() {
        found.push(of_url(fields, "url")?);
    }
    if fields.members.contains_key("data") {
        found.push(of_data(fields)?);
    }
    Ok(found)
}

fn of_file(file: &Fields<'_>) -> Result<Vec<Content>, Fault> {
    let mut found = Vec::new();
    if file.member("bytes").is_some() {
        found.push(of_raw(file, "bytes")?);
    }
    if file.member("uri").is_some() {
        found.push(of_url(file, "uri")?);
    }
    Ok(found)
}

fn of_text(fields: &Fields<'_>) -> Result<Content, Fault> {
    match fields.member("text") {
        Some(Value::String(text)) => Ok(Content::Text(text.clone())),
        _ => Err(fields.fault("text", "is not a text")),
    }
}

fn of_data(fields: &Fields<'_>) -> Result<Content, Fault> {
    let data = fields.members.get("data");
    let data = data.ok_or_else(|| fields.fault("data", "is missing"))?;
    // What an SDK makes of a value that is no object, which 0.3 has no place for.
    let wrapped = fields.object("metadata")?;
    let is_wrapped =
        wrapped.is_some_and(|metadata| metadata.member(WRAPPED) == Some(&Value::Bool(true)));
    Ok(Content::Data(match (is_wrapped, data.get("value")) {
        (true, Some(value)) => value.clone(),
        _ => data.clone(),
    }))
}

fn of_raw(fields: &Fields<'_>, name: &str) -> Result<Content, Fault> {
    let text = match fields.member(name) {
        Some(Value::String(text)) => text,
        _ => return Err(fields.fault(name, "is not a text")),
    };
    let alphabets = [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD];
    let mut decoded = alphabets
        .iter()
        .filter_map(|alphabet| alphabet.decode(text.as_bytes()).ok());
    match decoded.next() {
        Some(bytes) => Ok(Content::Raw(BASE64.encode(&bytes))),
        None => Err(fields.fault(name, "is not base64")),
    }
}

fn of_url(fields: &Fields<'_>, name: &str) -> Result<Content, Fault> {
    let url = fields.text(name)?;
    let url = url.ok_or_else(|| fields.fault(name, "is missing"))?;
    Ok(Content::Url(url))
}

/// Where pushes go. `task` names the task where another member does.
pub(crate) fn push(
    fields: &Fields<'_>,
    task: Option<String>,
    unless_named: &str,
) -> Result<PushConfig, Fault> {
    let authentication = match fields.object("authentication")? {
        None => None,
        Some(given) => {
            // 0.3 has a list of schemes.
            let listed = given.texts("schemes")?.into_iter().next();
            let scheme = given.text("scheme")?.or(listed);
            scheme
                .map(|scheme| {
                    let credentials = given.text("credentials")?;
                    Ok::<_, Fault>(Authentication {
                        scheme,
                        credentials,
                    })
                })
                .transpose()?
        }
    };
    Ok(PushConfig {
        task_id: match task {
            Some(task) => task,
            None => fields.needed("taskId")?,
        },
        id: fields
            .text("id")?
            .unwrap_or_else(|| unless_named.to_owned()),
        url: fields.needed("url")?,
        token: fields.text("token")?,
        authentication,
    })
}

fn whole(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&number);
    // Between 0 and 2^31 every whole number is exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    is_whole.then_some(number as u64)
}

fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(character.to_ascii_lowercase());
    }
    out
}

/// In the metadata of a part of 0.3 whose data is no object.
pub(crate) const WRAPPED: &str = "data_part_compat";
const LONGEST_TEXT: usize = 1024;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Result<Message, Fault> {
        let Value::Object(members) = value else {
            panic!("no object");
        };
        message(&Fields::root(members), || "made".to_owned())
    }

    fn wrong(value: &Value) -> String {
        let fault = read(value).err().map(|fault| fault.to_string());
        fault.unwrap_or_else(|| panic!("{value} was read"))
    }

    #[test]
    fn the_same_message_is_read_in_every_spelling() {
        let meant = read(&json!({"messageId": "m", "contextId": "c", "role": "ROLE_USER",
            "parts": [{"text": "hello"}, {"raw": "AAE=", "filename": "f", "mediaType": "x/y"}, {"data": {"a": 1}}]}))
        .unwrap();
        for same in [
            json!({"message_id": "m", "context_id": "c", "role": 1, "taskId": null, "odd": [1],
                "parts": [{"text": "hello"}, {"raw": "AAE", "filename": "f", "media_type": "x/y"}, {"data": {"a": 1}}]}),
            json!({"kind": "message", "messageId": "m", "contextId": "c", "role": "user", "parts": [{"kind": "text", "text": "hello"},
                {"kind": "file", "file": {"bytes": "AAE=", "name": "f", "mimeType": "x/y"}}, {"kind": "data", "data": {"a": 1}}]}),
        ] {
            assert!(read(&same).unwrap() == meant, "{same}");
        }
    }

    #[test]
    fn the_oldest_form_says_type_and_has_no_message_id() {
        let oldest = json!({"role": "user", "parts": [{"type": "text", "text": "ping"}]});
        let read_as = read(&oldest).unwrap();
        assert_eq!(read_as.message_id, "made");
        assert!(read_as.parts == vec![Part::text("ping")]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_and_named() {
        let good = json!({"messageId": "m", "role": "user", "parts": [{"text": "x"}]});
        for (member, value, named) in [
            ("messageId", Value::Null, "messageId is missing"),
            ("messageId", json!(""), "messageId is missing"),
            ("messageId", json!(7), "messageId is not a text"),
            ("messageId", json!("x".repeat(1025)), "messageId is longer"),
            ("role", Value::Null, "role is missing"),
            ("role", json!("system"), "role is neither"),
            ("role", json!(0), "role is neither"),
            ("parts", Value::Null, "parts is missing"),
            ("parts", json!([]), "parts is empty"),
            ("parts", json!({}), "parts is not a list"),
            ("parts", json!(["x"]), "parts[0] is not an object"),
            ("parts", json!([{}]), "parts[0] holds not exactly one"),
            (
                "parts",
                json!([{"text": "x", "url": "y"}]),
                "parts[0] holds not exactly one",
            ),
            (
                "parts",
                json!([{"kind": "video"}]),
                "parts[0].kind is neither",
            ),
            (
                "parts",
                json!([{"kind": "text", "text": 1}]),
                "parts[0].text is not a text",
            ),
            (
                "parts",
                json!([{"kind": "data"}]),
                "parts[0].data is missing",
            ),
            (
                "parts",
                json!([{"kind": "file", "file": {}}]),
                "parts[0] holds not exactly one",
            ),
            (
                "parts",
                json!([{"kind": "text", "file": {"uri": "x"}}]),
                "parts[0].kind does not fit",
            ),
            (
                "parts",
                json!([{"text": "x"}, {"raw": "?"}]),
                "parts[1].raw is not base64",
            ),
            ("metadata", json!([]), "metadata is not an object"),
            ("extensions", json!("x"), "extensions is not a list"),
            ("contextId", json!({}), "contextId is not a text"),
        ] {
            let mut bad = good.clone();
            bad[member] = value;
            let said = wrong(&bad);
            assert!(said.contains(named), "{bad}: {said}");
        }
    }

    #[test]
    fn a_count_is_a_whole_number_from_zero_on() {
        let members = json!({"a": 5, "b": "5", "c": 5.0, "d": -1, "e": 0.5, "f": "x", "g": 1e300, "history_length": 0});
        let members = members.as_object().unwrap();
        let fields = Fields::root(members);
        for name in ["a", "b", "c"] {
            assert_eq!(fields.count(name), Ok(Some(5)));
        }
        for name in ["d", "e", "f", "g"] {
            assert!(fields.count(name).is_err(), "{name}");
        }
        assert_eq!(fields.count("historyLength"), Ok(Some(0)));
        assert_eq!(fields.count("absent"), Ok(None));
    }

    #[test]
    fn where_a_push_goes_is_read_in_both_forms() {
        let members = json!({"url": "https://x.example/", "authentication": {"schemes": ["Bearer"], "credentials": "s"}});
        let read = push(
            &Fields::root(members.as_object().unwrap()),
            Some("t".to_owned()),
            "default",
        )
        .unwrap();
        assert_eq!((read.id.as_str(), read.task_id.as_str()), ("default", "t"));
        assert_eq!(read.authentication.unwrap().scheme, "Bearer");
        let members = json!({"id": "k", "url": ""});
        let fields = Fields::root(members.as_object().unwrap());
        assert!(push(&fields, Some("t".to_owned()), "default").is_err());
    }
}
