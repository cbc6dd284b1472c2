//! The JSON Schemas (draft 2020-12) of `schemas/`, compiled in (check V03).

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use jsonschema::{Registry, Validator};
use signet_json::{Limits, Value};

use crate::method::{BodyForm, Method};
use crate::reject::Reason;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        /// The schemas of everything but bodies, by name.
        const OTHERS: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../schemas/", $name, ".schema.json")))),*
        ];
    };
}

sources!(
    "common",
    "message",
    "task",
    "invitation",
    "certificate",
    "keys",
    "reason",
    "audit-line",
);

/// Every schema: its name and its text. Those of bodies are in the table of methods.
pub static ALL: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let mut all = OTHERS.to_vec();
    for body in Method::BODIES {
        if !all.contains(body) {
            all.push(*body);
        }
    }
    all
});

/// The text of the schema `name`, as `signet schema` prints it.
pub fn text(name: &str) -> Option<&'static str> {
    ALL.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Fits a message, and the body of a flight or receipt, to its schema (check V03).
///
/// The headers' own members are check V04, [`crate::headers::Headers::parse`]: it says the same as
/// the schema of the headers, which a test holds, and names what is wrong.
///
/// # Errors
/// `method-not-found` when only the method is unknown, else `invalid-shape`.
pub(crate) fn fit_message(value: &Value) -> Result<(), Reason> {
    // If a schema did not compile, refuse what it would judge. A test compiles each schema, so this does not occur.
    let shape = SHAPE.as_ref().ok_or(Reason::InvalidShape)?;
    if shape.is_valid(value) {
        return match body_fits(value) {
            true => Ok(()),
            false => Err(Reason::InvalidShape),
        };
    }
    // Find out whether only the method is unknown, by a second schema that allows any method name. Asking the first schema for
    // its errors would copy every unknown name.
    let any_method = ANY_METHOD.as_ref();
    match any_method.is_some_and(|schema| schema.is_valid(value)) {
        true => Err(Reason::MethodNotFound),
        false => Err(Reason::InvalidShape),
    }
}

fn body_fits(message: &Value) -> bool {
    let method = message.get("method").and_then(Value::as_str);
    // An answer has no method, and no schema limits the body of an answer.
    let Some(method) = method.and_then(|name| name.parse::<Method>().ok()) else {
        return true;
    };
    match method.body() {
        BodyForm::Free | BodyForm::Sealable(_) => true,
        BodyForm::Clear(_) => {
            let body = message.pointer("/params/body");
            body.is_some_and(|body| fits(method, body))
        }
    }
}

/// Whether a body fits the schema of its method: of those that may come sealed, when it was opened (check V12).
pub(crate) fn fits(method: Method, body: &Value) -> bool {
    let Some(name) = method.body().schema() else {
        return true;
    };
    let Some(schema) = BODIES.get(name) else {
        return false;
    };
    let schema = schema.get_or_init(|| compile(&source(name)?));
    schema.as_ref().is_some_and(|schema| schema.is_valid(body))
}

// Compile each schema when the first value is held against it: all of them take a megabyte of a daemon's memory, and the fast
// reader judges most messages without any.

/// Of a message, with any object for headers.
static SHAPE: LazyLock<Option<Validator>> = LazyLock::new(|| compile(&shape()?));

/// The same, and `method` may be any text.
static ANY_METHOD: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let mut shape = shape()?;
    *shape.pointer_mut("/properties/method")? = serde_json::json!({"type": "string"});
    compile(&shape)
});

/// Of bodies, by name.
static BODIES: LazyLock<BTreeMap<&'static str, OnceLock<Option<Validator>>>> =
    LazyLock::new(|| {
        let bodies = Method::ALL
            .iter()
            .filter_map(|method| method.body().schema());
        bodies.map(|name| (name, OnceLock::new())).collect()
    });

fn shape() -> Option<Value> {
    let mut shape = source("message")?;
    *shape.pointer_mut("/$defs/headers")? = serde_json::json!({"type": "object"});
    Some(shape)
}

fn source(name: &str) -> Option<Value> {
    signet_json::parse(text(name)?.as_bytes(), Limits::LINE).ok()
}

/// Compiles a schema, which may refer to that of common definitions.
fn compile(schema: &Value) -> Option<Validator> {
    let common = source("common")?;
    let registry = Registry::new()
        .add("urn:signet:1:common", &common)
        .ok()?
        .prepare()
        .ok()?;
    let options = jsonschema::options().with_registry(&registry);
    options.build(schema).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema that did not compile would refuse every message that it judges, and nobody would be told why.
    #[test]
    fn each_schema_that_judges_messages_compiles_as_it_is_used() {
        assert!(SHAPE.is_some() && ANY_METHOD.is_some());
        for name in BODIES.keys() {
            assert!(compile(&source(name).unwrap()).is_some(), "{name}");
        }
    }
}
