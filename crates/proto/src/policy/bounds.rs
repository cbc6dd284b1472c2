//! How much work a schema asks for: known before it is compiled.
//!
//! Every reference is followed, and none may lead back to itself: then the work for one value of a
//! body is bounded by the schema with its references written out.

use std::collections::BTreeMap;

use signet_json::{JsonError, Map, Value};

/// The text is no schema that a body may be fitted to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Over [`SCHEMA_BYTES`](super::SCHEMA_BYTES), nested deeper than 32, or no JSON.
    #[error("no JSON of at most 64 KiB and depth 32: {0}")]
    Json(#[from] JsonError),
    /// A part of it is not allowed or not right.
    #[error("at {place}: {fault}")]
    At {
        /// The JSON Pointer (RFC 6901) to it, as a URI fragment.
        place: String,
        /// What is wrong and what would be right.
        fault: String,
    },
    /// With every reference written out it is too large.
    #[error(
        "it asks for too much work with every body; use fewer references, alternatives and patterns"
    )]
    TooCostly,
}

/// Measures a schema.
///
/// # Errors
/// A reference that leads outside, nowhere or back to itself, a keyword that changes what references
/// mean, or more work than [`MOST`].
pub(super) fn measure(schema: &Value) -> Result<(), SchemaError> {
    let mut scale = Scale {
        root: schema,
        known: BTreeMap::new(),
        under_way: Vec::new(),
    };
    let weight = scale.weigh(schema, "#")?;
    if weight > MOST {
        return Err(SchemaError::TooCostly);
    }
    Ok(())
}

/// How many values there are, the outermost included.
pub(super) fn values(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        _ => 0,
    };
    1 + inner
}

struct Scale<'a> {
    root: &'a Value,
    known: BTreeMap<String, u64>,
    under_way: Vec<String>,
}

impl<'a> Scale<'a> {
    fn weigh(&mut self, schema: &'a Value, place: &str) -> Result<u64, SchemaError> {
        let Some(members) = schema.as_object() else {
            return Ok(1);
        };
        admit_names(members, place)?;
        let mut weight = 1_u64;
        for (keyword, value) in members {
            let place = format!("{place}/{}", escaped(keyword));
            let of_keyword = self.weigh_keyword(keyword, value, &place)?;
            weight = weight.saturating_add(of_keyword);
        }
        // Each of these two keywords runs the other keywords of the schema once more, to find what they left over: so each
        // multiplies the weight.
        let leftovers = ["unevaluatedProperties", "unevaluatedItems"];
        let again = leftovers.iter().filter(|name| members.contains_key(**name));
        Ok(again.fold(weight, |weight, _| weight.saturating_mul(4)))
    }

    fn weigh_keyword(
        &mut self,
        keyword: &str,
        value: &'a Value,
        place: &str,
    ) -> Result<u64, SchemaError> {
        match (keyword, value) {
            ("$ref", value) => self.weigh_target(value, place),
            // `const` and `enum` hold data and not a schema: each value in the data costs one comparison.
            ("const" | "enum", data) => Ok(values(data) as u64),
            // No body is checked against `default` and `examples`, which are for people.
            ("default" | "examples", _) => Ok(0),
            ("pattern", _) => Ok(PATTERN),
            (name, Value::Object(named)) if MAPS.contains(&name) => {
                let each = named.iter();
                let pattern = if name == "patternProperties" {
                    PATTERN
                } else {
                    0
                };
                self.sum(
                    each.map(|(name, schema)| (escaped(name), schema)),
                    place,
                    pattern,
                )
            }
            // Count an object under any other keyword as a schema: a weight that is
            // too high is safe, one that is too low is not.
            (_, Value::Object(_)) => self.weigh(value, place),
            (_, Value::Array(items)) => {
                let each = items.iter().enumerate();
                self.sum(each.map(|(n, schema)| (n.to_string(), schema)), place, 0)
            }
            _ => Ok(1),
        }
    }

    fn sum(
        &mut self,
        each: impl Iterator<Item = (String, &'a Value)>,
        place: &str,
        more: u64,
    ) -> Result<u64, SchemaError> {
        let mut sum = 0_u64;
        for (name, schema) in each {
            let weight = self.weigh(schema, &format!("{place}/{name}"))?;
            sum = sum.saturating_add(weight).saturating_add(more);
        }
        Ok(sum)
    }

    fn weigh_target(&mut self, reference: &Value, place: &str) -> Result<u64, SchemaError> {
        let text = reference.as_str().unwrap_or_default();
        let pointer = text.strip_prefix('#');
        let local = pointer.filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
        let pointer = local.ok_or_else(|| {
            at(
                place,
                "write it as \"#/$defs/NAME\": a schema refers to nothing outside itself",
            )
        })?;
        // Weigh the target of a reference once, however many references name it: weighing it each time would take exponential
        // time where targets hold references as well.
        if let Some(weight) = self.known.get(pointer) {
            return Ok(*weight);
        }
        // An empty pointer means the whole schema, which contains this reference: so that is a loop as well.
        if self.under_way.iter().any(|under_way| under_way == pointer) || pointer.is_empty() {
            return Err(at(
                place,
                "it leads back to itself, and a body could make it work without end; write the levels out",
            ));
        }
        if self.under_way.len() >= REFERENCES {
            return Err(at(
                place,
                "references follow references more than 16 deep; write some out",
            ));
        }
        let root = self.root;
        let target = root
            .pointer(pointer)
            .ok_or_else(|| at(place, "it leads to nothing in this schema"))?;
        self.under_way.push(pointer.to_owned());
        let weight = self.weigh(target, text)?;
        self.under_way.pop();
        self.known.insert(pointer.to_owned(), weight);
        Ok(weight)
    }
}

/// Names and dialects other than ours change what a reference means, or fetch something.
fn admit_names(members: &Map<String, Value>, place: &str) -> Result<(), SchemaError> {
    let unfit = OTHER_NAMES.iter().find(|name| members.contains_key(**name));
    if let Some(name) = unfit {
        return Err(at(
            &format!("{place}/{name}"),
            "leave it out; name parts in $defs and refer to them by \"#/$defs/NAME\"",
        ));
    }
    if place != "#" && members.contains_key("$id") {
        return Err(at(
            &format!("{place}/$id"),
            "only the whole schema has an $id",
        ));
    }
    match members.get("$schema") {
        Some(dialect) if dialect.as_str() != Some(DIALECT) => Err(at(
            &format!("{place}/$schema"),
            "only \"https://json-schema.org/draft/2020-12/schema\" is served",
        )),
        _ => Ok(()),
    }
}

fn at(place: &str, fault: &str) -> SchemaError {
    SchemaError::At {
        place: place.to_owned(),
        fault: fault.to_owned(),
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const OTHER_NAMES: [&str; 6] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
    "$vocabulary",
];
/// Keywords whose members are names with a schema each.
const MAPS: [&str; 5] = [
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// How much work there may be for one value of a body: schemas with all references written out.
const MOST: u64 = 4_096;
/// What fitting a pattern weighs beside looking at a type.
const PATTERN: u64 = 16;
/// How deep references may follow each other.
const REFERENCES: usize = 16;
