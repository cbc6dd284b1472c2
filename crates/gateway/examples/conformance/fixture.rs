//! What the fixture says, as data.

use std::collections::BTreeMap;

use rmcp::model::{JsonObject, Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The whole of `fixture.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixture {
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    /// The results of tools and prompts that ask nothing.
    says: BTreeMap<String, Value>,
    /// What a tool asks the client in a session, before it says what it heard.
    asks: BTreeMap<String, Value>,
    /// What a tool or a prompt asks in results, round by round.
    pub(crate) rounds: BTreeMap<String, Rounds>,
    contents: BTreeMap<String, Value>,
    template: Template,
}

/// A call that is answered in rounds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rounds {
    /// Whether a round is known by a state that the client gives back.
    #[serde(default)]
    pub(crate) state: bool,
    /// The requests of each round, by their keys.
    pub(crate) rounds: Vec<BTreeMap<String, Value>>,
    pub(crate) says: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Template {
    before: String,
    after: String,
    mime_type: String,
    text: String,
}

impl Fixture {
    pub(crate) fn read() -> Result<Self, serde_json::Error> {
        serde_json::from_str(include_str!("fixture.json"))
    }

    /// The result of a tool or prompt for these arguments.
    pub(crate) fn says<T: DeserializeOwned>(
        &self,
        name: &str,
        arguments: &JsonObject,
    ) -> Option<T> {
        filled(self.says.get(name)?, arguments)
    }

    /// What a tool asks the client for these arguments.
    pub(crate) fn asks<T: DeserializeOwned>(
        &self,
        name: &str,
        arguments: &JsonObject,
    ) -> Option<T> {
        filled(self.asks.get(name)?, arguments)
    }

    /// What is at that address.
    pub(crate) fn contents<T: DeserializeOwned>(&self, uri: &str) -> Option<T> {
        let found = self.contents.get(uri).cloned();
        let mut contents = found.or_else(|| self.by_template(uri))?;
        contents
            .as_object_mut()?
            .insert("uri".to_owned(), uri.into());
        serde_json::from_value(
            serde_json::json!({ "resultType": "complete", "contents": [contents] }),
        )
        .ok()
    }

    fn by_template(&self, uri: &str) -> Option<Value> {
        let template = &self.template;
        let id = uri.strip_prefix(&template.before)?;
        let id = id.strip_suffix(&template.after)?;
        let text = template.text.replace("{id}", id);
        Some(serde_json::json!({ "mimeType": template.mime_type, "text": text }))
    }
}

/// The same with each `{name}` in its texts replaced.
pub(crate) fn filled<T: DeserializeOwned>(value: &Value, names: &Map<String, Value>) -> Option<T> {
    serde_json::from_value(written(value, names)).ok()
}

fn written(value: &Value, names: &Map<String, Value>) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (name, value) in names {
                let value = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                text = text.replace(&format!("{{{name}}}"), &value);
            }
            text.into()
        }
        Value::Array(all) => all.iter().map(|one| written(one, names)).collect(),
        Value::Object(all) => {
            let all = all
                .iter()
                .map(|(key, one)| (key.clone(), written(one, names)));
            Value::Object(all.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_and_prompt_has_something_to_say() {
        let fixture = Fixture::read().unwrap();
        let tools = fixture.tools.iter().map(|tool| tool.name.to_string());
        let prompts = fixture.prompts.iter().map(|prompt| prompt.name.clone());
        for name in tools.chain(prompts) {
            let known = fixture.says.contains_key(&name)
                || fixture.asks.contains_key(&name)
                || fixture.rounds.contains_key(&name);
            assert!(known, "{name}");
        }
        for resource in &fixture.resources {
            let contents: Option<Value> = fixture.contents(&resource.uri);
            assert!(contents.is_some(), "{}", resource.uri);
        }
    }
}
