//! Bounds of what is offered: how much work a schema may ask for, and how much fits into one flight.

use serde_json::{Map, Value, json};
use signet_proto::headers::Tier;
use signet_proto::policy::{BodySchema, Capability, OfferError, Policy, SchemaError};

/// Schemas that weigh more than this are refused.
const MOST: usize = 4_096;

fn compiled(schema: &Value) -> Result<BodySchema, SchemaError> {
    BodySchema::compile(schema.to_string().as_bytes())
}

fn is_too_costly(schema: &Value) -> bool {
    match compiled(schema) {
        Ok(_) => false,
        Err(SchemaError::TooCostly) => true,
        Err(other) => panic!("{other}"),
    }
}

/// So many members, each of that schema.
fn named(count: usize, schema: &Value) -> Value {
    let members = (0..count).map(|n| (format!("p{n}"), schema.clone()));
    members.collect::<Map<String, Value>>().into()
}

#[test]
fn a_schema_weighs_its_parts_and_every_pattern_sixteen_times() {
    let fits = |schema: Value| !is_too_costly(&schema);
    assert!(fits(json!({"properties": named(MOST - 1, &json!({}))})));
    assert!(!fits(json!({"properties": named(MOST, &json!({}))})));
    let patterned = json!({"pattern": "^a"});
    assert!(fits(json!({"properties": named(240, &patterned)})));
    assert!(!fits(json!({"properties": named(241, &patterned)})));
    assert!(fits(json!({"patternProperties": named(240, &json!({}))})));
    assert!(!fits(json!({"patternProperties": named(241, &json!({}))})));
}

#[test]
fn what_a_body_is_compared_with_weighs_as_much_as_it_has_values() {
    let items = |count: usize| Value::from_iter(0..count);
    assert!(!is_too_costly(&json!({"enum": items(MOST - 2)})));
    assert!(is_too_costly(&json!({"enum": items(MOST - 1)})));
    let members = |count| named(count, &json!(1));
    assert!(!is_too_costly(&json!({"const": members(MOST - 2)})));
    assert!(is_too_costly(&json!({"const": members(MOST - 1)})));
    // No body is compared with `default` and `examples`, which are for people: their values cost nothing.
    for told in ["default", "examples"] {
        assert!(!is_too_costly(&json!({told: items(7_000)})), "{told}");
    }
}

#[test]
fn the_one_dialect_may_be_named_and_no_other() {
    let served = "https://json-schema.org/draft/2020-12/schema";
    assert!(compiled(&json!({"$schema": served})).is_ok());
    for other in [json!("http://json-schema.org/draft-07/schema#"), json!(7)] {
        let refused = compiled(&json!({"$schema": other}));
        assert!(
            matches!(refused, Err(SchemaError::At { ref place, .. }) if place == "#/$schema"),
            "{refused:?}"
        );
    }
}

#[test]
fn the_place_of_a_fault_is_a_pointer_that_leads_there() {
    let schema = json!({"properties": {"a/b~c": {"$ref": "http://elsewhere"}}});
    let Err(SchemaError::At { place, .. }) = compiled(&schema) else {
        panic!("a reference leads outside");
    };
    assert_eq!(place, "#/properties/a~1b~0c/$ref");
}

#[test]
fn a_schema_is_another_when_its_text_says_something_else() {
    let of = |maximum: u8| compiled(&json!({"maximum": maximum})).unwrap();
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

fn offering(capabilities: Vec<Capability>) -> Result<(), OfferError> {
    let policy = Policy {
        capabilities,
        ..Policy::default()
    };
    policy.fit_offer()
}

fn lamp(schema: Option<Value>, description: Option<String>) -> Capability {
    Capability {
        description,
        schema: schema.map(|schema| compiled(&schema).unwrap()),
        ..Capability::new("lamp.set".parse().unwrap(), Tier::Public)
    }
}

#[test]
fn an_offer_has_64_capabilities_at_most() {
    let several = |count: usize| -> Vec<Capability> {
        let name = |n: usize| format!("lamp.n{n}").parse().unwrap();
        (0..count)
            .map(|n| Capability::new(name(n), Tier::Public))
            .collect()
    };
    assert_eq!(offering(several(64)), Ok(()));
    assert_eq!(offering(several(65)), Err(OfferError::TooMany));
}

#[test]
fn an_offer_has_160_kib_at_most_and_8_000_values() {
    let empty = |words: usize| lamp(None, Some("a".repeat(words)));
    let around = r#"[{"description":"","name":"lamp.set","tier":1}]"#.len();
    let room = 160 * 1024 - around;
    assert_eq!(offering(vec![empty(room)]), Ok(()));
    assert_eq!(offering(vec![empty(room + 1)]), Err(OfferError::TooLarge));
    // Six values stand beside the numbers: the list of offers, the capability, its name, tier and schema, and the list
    // in `default`.
    let numbers = |count: usize| lamp(Some(json!({"default": Value::from_iter(0..count)})), None);
    assert_eq!(offering(vec![numbers(8_000 - 6)]), Ok(()));
    let over = offering(vec![numbers(8_000 - 5)]);
    assert_eq!(over, Err(OfferError::TooLarge));
}
