//! The JSON Schemas (draft 2020-12) of `schemas/`, compiled in (check V03).

use std::collections::BTreeMap;
use std::sync::LazyLock;

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
    // If the schemas did not compile, refuse every message. A test compiles each schema, so this does not occur.
    let schemas = SCHEMAS.as_ref().ok_or(Reason::InvalidShape)?;
    if schemas.shape.is_valid(value) {
        return match schemas.body_fits(value) {
            true => Ok(()),
            false => Err(Reason::InvalidShape),
        };
    }
    // Find out whether only the method is unknown, by a second schema that allows any method name. Asking the first schema for
    // its errors would copy every unknown name.
    match schemas.any_method.is_valid(value) {
        true => Err(Reason::MethodNotFound),
        false => Err(Reason::InvalidShape),
    }
}

/// Whether a body fits the schema of its method: of those that may come sealed, when it was opened (check V12).
pub(crate) fn fits(method: Method, body: &Value) -> bool {
    let schemas = SCHEMAS.as_ref();
    schemas.is_some_and(|schemas| schemas.fits(method, body))
}

struct Schemas {
    /// Of a message, with any object for headers.
    shape: Validator,
    /// The same, and `method` may be any text.
    any_method: Validator,
    /// Of bodies, by name.
    bodies: BTreeMap<&'static str, Validator>,
}

impl Schemas {
    fn body_fits(&self, message: &Value) -> bool {
        let method = message.get("method").and_then(Value::as_str);
        // An answer has no method, and no schema limits the body of an answer.
        let Some(method) = method.and_then(|name| name.parse::<Method>().ok()) else {
            return true;
        };
        match method.body() {
            BodyForm::Free | BodyForm::Sealable(_) => true,
            BodyForm::Clear(_) => {
                let body = message.pointer("/params/body");
                body.is_some_and(|body| self.fits(method, body))
            }
        }
    }

    fn fits(&self, method: Method, body: &Value) -> bool {
        let Some(name) = method.body().schema() else {
            return true;
        };
        let schema = self.bodies.get(name);
        schema.is_some_and(|schema| schema.is_valid(body))
    }
}

/// Compiled once: the sources are constants of this crate, and a test compiles each of them.
static SCHEMAS: LazyLock<Option<Schemas>> = LazyLock::new(compile);

fn compile() -> Option<Schemas> {
    let source = |name: &str| signet_json::parse(text(name)?.as_bytes(), Limits::LINE).ok();
    let common = source("common")?;
    let registry = Registry::new()
        .add("urn:signet:1:common", &common)
        .ok()?
        .prepare()
        .ok()?;
    let build = |schema: &Value| {
        let options = jsonschema::options().with_registry(&registry);
        options.build(schema).ok()
    };
    let bodies = Method::ALL
        .iter()
        .filter_map(|method| method.body().schema());
    let validator = |name| Some((name, build(&source(name)?)?));
    let mut shape = source("message")?;
    *shape.pointer_mut("/$defs/headers")? = serde_json::json!({"type": "object"});
    let mut any_method = shape.clone();
    *any_method.pointer_mut("/properties/method")? = serde_json::json!({"type": "string"});
    Some(Schemas {
        shape: build(&shape)?,
        any_method: build(&any_method)?,
        bodies: bodies.map(validator).collect::<Option<_>>()?,
    })
}
