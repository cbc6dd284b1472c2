//! Word from whoever works on a request, before the answer (`agent.progress`).

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use signet_json::{Map, Value};

use crate::envelope::Method;
use crate::reject::Reason;
use crate::schema;
use crate::words::words;

/// The longest note, in characters.
pub const LONGEST_NOTE: usize = 500;
/// The note of a daemon whose agent could not handle the request: a person there decides about it (docs/protocol.md,
/// section 9). It says nothing of why.
pub const WAITS_FOR_A_PERSON: &str = "waits for a person";
/// The highest number of a part.
pub const HIGHEST_PART: u32 = 1_000_000;
/// The longest name of a part, in characters.
pub const LONGEST_NAME: usize = 200;

words! {
    /// How a request is doing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ProgressState {
        /// Somebody works on it.
        Working "working",
        /// It cannot go on without more from whoever asked.
        InputRequired "input-required",
    }
}

/// The body of `agent.progress`.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How the request is doing.
    pub state: ProgressState,
    /// For people, at most [`LONGEST_NOTE`] characters.
    pub note: Option<String>,
    /// A part of what the answer will be.
    pub part: Option<Part>,
}

/// A part of what an answer will be.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// 0, 1, 2 …, at most [`HIGHEST_PART`]: parts may come in another order than they were sent in.
    pub index: u32,
    /// Whether no part of a higher index follows.
    pub last: bool,
    /// To which of several results it belongs, at most [`LONGEST_NAME`] characters.
    pub name: Option<String>,
    /// Any JSON.
    pub body: Option<Value>,
}

impl FromStr for ProgressState {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        Self::of(text).ok_or(Reason::BodyUnfit)
    }
}

impl Progress {
    /// That somebody works on it, and nothing else.
    pub const fn working() -> Self {
        Self {
            state: ProgressState::Working,
            note: None,
            part: None,
        }
    }

    /// That it waits for a person, and nothing else.
    pub fn waiting_for_a_person() -> Self {
        Self {
            note: Some(WAITS_FOR_A_PERSON.to_owned()),
            ..Self::working()
        }
    }

    /// Reads a body.
    ///
    /// # Errors
    /// `body-unfit` when it does not fit `schemas/progress.schema.json`.
    pub fn parse(body: &Value) -> Result<Self, Reason> {
        if !schema::fits(Method::Progress, body) {
            return Err(Reason::BodyUnfit);
        }
        let text = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
        let part = |part: &Value| {
            Ok::<_, Reason>(Part {
                index: part
                    .get("index")
                    .and_then(Value::as_u64)
                    .and_then(|index| u32::try_from(index).ok())
                    .ok_or(Reason::BodyUnfit)?,
                last: part.get("last").and_then(Value::as_bool) == Some(true),
                name: text(part, "name"),
                body: part.get("body").cloned(),
            })
        };
        Ok(Self {
            state: text(body, "state").ok_or(Reason::BodyUnfit)?.parse()?,
            note: text(body, "note"),
            part: body.get("part").map(part).transpose()?,
        })
    }

    /// The body as it is sent.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("state".into(), self.state.as_str().into());
        if let Some(note) = &self.note {
            members.insert("note".into(), note.as_str().into());
        }
        if let Some(part) = &self.part {
            members.insert("part".into(), part.to_value());
        }
        Value::Object(members)
    }
}

impl Part {
    fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("index".into(), self.index.into());
        members.insert("last".into(), self.last.into());
        if let Some(name) = &self.name {
            members.insert("name".into(), name.as_str().into());
        }
        if let Some(body) = &self.body {
            members.insert("body".into(), body.clone());
        }
        Value::Object(members)
    }
}
