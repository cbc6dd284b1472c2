//! The JSON Schemas (draft 2020-12) of `schemas/`, compiled in (check V03).

use std::sync::LazyLock;

use jsonschema::{Registry, Validator};

use crate::headers::Headers;
use crate::json::{self, Limits, Value};
use crate::reject::Reason;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        /// Every schema: its name and its text.
        pub const ALL: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../schemas/", $name, ".schema.json")))),*
        ];
    };
}

sources!(
    "common",
    "message",
    "announce",
    "verify",
    "capability",
    "trust",
    "receipt",
    "certificate",
    "keys",
    "reason",
    "audit-line",
);

/// The text of the schema `name`, as `signet schema` prints it.
pub fn text(name: &str) -> Option<&'static str> {
    ALL.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Fits a message, and the body of a flight or receipt, to its schema.
///
/// # Errors
/// `method-not-found` when only the method is unknown, the header's own reason when only headers
/// are at fault, else `invalid-shape`.
pub(crate) fn fit_message(value: &Value) -> Result<(), Reason> {
    let schemas = SCHEMAS.as_ref().ok_or(Reason::InvalidShape)?;
    let fault = if schemas.message.is_valid(value) {
        None
    } else {
        Some(name_fault(&schemas.message, value))
    };
    // The body of a flight is shape (V03) and the headers are not (V04): it is judged before them.
    match fault {
        Some(reason @ (Reason::InvalidShape | Reason::MethodNotFound)) => Err(reason),
        _ if !schemas.body_fits(value) => Err(Reason::InvalidShape),
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}

struct Schemas {
    message: Validator,
    announce: Validator,
    verify: Validator,
    capability: Validator,
    trust: Validator,
    receipt: Validator,
}

impl Schemas {
    fn body_fits(&self, message: &Value) -> bool {
        let schema = match message.get("method").and_then(Value::as_str) {
            Some("agent.announce") => &self.announce,
            Some("agent.verify") => &self.verify,
            Some("agent.capability") => &self.capability,
            Some("agent.trust") => &self.trust,
            Some("agent.receipt") => &self.receipt,
            _ => return true,
        };
        let body = message.pointer("/params/body");
        body.is_some_and(|body| schema.is_valid(body))
    }
}

/// Compiled once: the sources are constants of this crate, and a test compiles each of them.
static SCHEMAS: LazyLock<Option<Schemas>> = LazyLock::new(compile);

fn compile() -> Option<Schemas> {
    let source = |name: &str| json::parse(text(name)?.as_bytes(), Limits::LINE).ok();
    let common = source("common")?;
    let registry = Registry::new()
        .add("urn:signet:1:common", &common)
        .ok()?
        .prepare()
        .ok()?;
    let validator = |name: &str| {
        jsonschema::options()
            .with_registry(&registry)
            .build(&source(name)?)
            .ok()
    };
    Some(Schemas {
        message: validator("message")?,
        announce: validator("announce")?,
        verify: validator("verify")?,
        capability: validator("capability")?,
        trust: validator("trust")?,
        receipt: validator("receipt")?,
    })
}

fn name_fault(validator: &Validator, value: &Value) -> Reason {
    let mut fault = None;
    for error in validator.iter_errors(value) {
        let path = error.instance_path().to_string();
        let here = if path.ends_with("/headers") || path.contains("/headers/") {
            Fault::Headers
        } else if path == "/method" {
            Fault::Method
        } else {
            return Reason::InvalidShape;
        };
        fault = fault.max(Some(here));
    }
    match fault {
        Some(Fault::Headers) => header_fault(value),
        Some(Fault::Method) if value.get("method").is_some_and(Value::is_string) => {
            Reason::MethodNotFound
        }
        _ => Reason::InvalidShape,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Headers,
    Method,
}

fn header_fault(value: &Value) -> Reason {
    let places = ["/params/headers", "/result/headers", "/error/data/headers"];
    let headers = places
        .iter()
        .find_map(|place| value.pointer(place))
        .and_then(Value::as_object);
    headers
        .and_then(|headers| Headers::parse(headers).err())
        .unwrap_or(Reason::HeaderInvalid)
}
