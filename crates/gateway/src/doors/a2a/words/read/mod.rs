//! Reads what clients send, as leniently as A2A asks for: camelCase and snake_case, enums by name and number, unknown
//! members ignored, null as absent; and refuses by name what cannot be meant.

mod fields;
mod part;

use serde_json::Value;

pub(crate) use fields::{Fields, Misread};
pub(crate) use part::part;

use super::model::{A2aMessage, A2aRole, Authentication, PushConfig};

/// The message that a client sends. `make_id` names one of the oldest form, which has no name.
pub(crate) fn message(
    fields: &Fields<'_>,
    make_id: impl FnOnce() -> String,
) -> Result<A2aMessage, Misread> {
    let items = match fields.member("parts") {
        Some(Value::Array(items)) if !items.is_empty() => items,
        Some(Value::Array(_)) => return Err(fields.fault("parts", "is empty")),
        Some(_) => return Err(fields.fault("parts", "is not a list")),
        None => return Err(fields.fault("parts", "is missing")),
    };
    // Clients older than A2A 0.3 write `type` where 0.3 writes `kind`, and send no `messageId`: their messages get an id here,
    // and any other message without an id is refused.
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
    Ok(A2aMessage {
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

fn role(fields: &Fields<'_>) -> Result<A2aRole, Misread> {
    match fields.member("role") {
        None => Err(fields.fault("role", "is missing")),
        Some(Value::String(name)) if matches!(name.as_str(), "user" | "ROLE_USER") => {
            Ok(A2aRole::User)
        }
        Some(Value::String(name)) if matches!(name.as_str(), "agent" | "ROLE_AGENT") => {
            Ok(A2aRole::Agent)
        }
        // A role may also be written as its number in the specification's protobuf, in which 1 is the user.
        Some(value) if value.as_u64() == Some(1) => Ok(A2aRole::User),
        Some(value) if value.as_u64() == Some(2) => Ok(A2aRole::Agent),
        Some(_) => Err(fields.fault("role", "is neither user nor agent")),
    }
}

/// Where pushes go. `task` names the task where another member does.
pub(crate) fn push(
    fields: &Fields<'_>,
    task: Option<String>,
    unless_named: &str,
) -> Result<PushConfig, Misread> {
    let authentication = match fields.object("authentication")? {
        None => None,
        Some(given) => {
            // A2A 0.3 has a list `schemes` where 1.0 has one `scheme`, and only one is kept here: take the first of the list.
            let listed = given.texts("schemes")?.into_iter().next();
            let scheme = given.text("scheme")?.or(listed);
            scheme
                .map(|scheme| {
                    let credentials = given.text("credentials")?;
                    Ok::<_, Misread>(Authentication {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::model::A2aPart;
    use super::*;

    fn read(value: &Value) -> Result<A2aMessage, Misread> {
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
        assert!(read_as.parts == vec![A2aPart::text("ping")]);
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
