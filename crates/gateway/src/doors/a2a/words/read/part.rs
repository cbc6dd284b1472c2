//! One part of a message or an artifact, as each version writes it.

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD};
use serde_json::Value;

use super::super::model::{A2aPart, PartContent};
use super::super::v03::WRAPPED;
use super::fields::{Fields, Misread};

/// One part, as 1.0, 0.3 or the form before writes it.
pub(crate) fn part(fields: &Fields<'_>) -> Result<A2aPart, Misread> {
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
        return Err(Misread::at(
            fields.path.clone(),
            "holds not exactly one of text, raw, url and data",
        ));
    };
    let mut metadata = fields.map("metadata")?;
    // `of_data` has unwrapped the value if the part bore the mark `WRAPPED`. Remove the mark: from here on it would be wrong.
    if let (PartContent::Data(_), Some(members)) = (&content, metadata.as_mut()) {
        members.remove(WRAPPED);
    }
    let named = file.as_ref().unwrap_or(fields);
    let either = |name: &str, old: &str| Ok(named.long_text(name)?.or(named.long_text(old)?));
    Ok(A2aPart {
        content,
        filename: either("filename", "name")?,
        media_type: either("mediaType", "mimeType")?,
        metadata: metadata.filter(|members| !members.is_empty()),
    })
}

fn of_members(fields: &Fields<'_>) -> Result<Vec<PartContent>, Misread> {
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
    // Do not use `member` here: it treats `null` as absent, and `null` is valid data.
    if fields.members.contains_key("data") {
        found.push(of_data(fields)?);
    }
    Ok(found)
}

fn of_file(file: &Fields<'_>) -> Result<Vec<PartContent>, Misread> {
    let mut found = Vec::new();
    if file.member("bytes").is_some() {
        found.push(of_raw(file, "bytes")?);
    }
    if file.member("uri").is_some() {
        found.push(of_url(file, "uri")?);
    }
    Ok(found)
}

fn of_text(fields: &Fields<'_>) -> Result<PartContent, Misread> {
    match fields.member("text") {
        Some(Value::String(text)) => Ok(PartContent::Text(text.clone())),
        _ => Err(fields.fault("text", "is not a text")),
    }
}

fn of_data(fields: &Fields<'_>) -> Result<PartContent, Misread> {
    let data = fields.members.get("data");
    let data = data.ok_or_else(|| fields.fault("data", "is missing"))?;
    // A2A 0.3 allows only objects as data, so an SDK wraps any other value as `{"value": …}`, and marks the part in its
    // metadata: unwrap a value that is so marked.
    let wrapped = fields.object("metadata")?;
    let is_wrapped =
        wrapped.is_some_and(|metadata| metadata.member(WRAPPED) == Some(&Value::Bool(true)));
    Ok(PartContent::Data(match (is_wrapped, data.get("value")) {
        (true, Some(value)) => value.clone(),
        _ => data.clone(),
    }))
}

fn of_raw(fields: &Fields<'_>, name: &str) -> Result<PartContent, Misread> {
    let text = match fields.member(name) {
        Some(Value::String(text)) => text,
        _ => return Err(fields.fault(name, "is not a text")),
    };
    let alphabets = [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD];
    let mut decoded = alphabets
        .iter()
        .filter_map(|alphabet| alphabet.decode(text.as_bytes()).ok());
    match decoded.next() {
        Some(bytes) => Ok(PartContent::Raw(BASE64.encode(&bytes))),
        None => Err(fields.fault(name, "is not base64")),
    }
}

fn of_url(fields: &Fields<'_>, name: &str) -> Result<PartContent, Misread> {
    let url = fields.long_text(name)?;
    let url = url.ok_or_else(|| fields.fault(name, "is missing"))?;
    Ok(PartContent::Url(url))
}
