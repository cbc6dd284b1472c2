//! The artifacts of a task: what comes in parts and out of order is shown in order, within bounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::body;
use super::super::model::{Artifact, ArtifactUpdate, Event, Part};
use super::{ANSWER, Record};

/// A part of what the answer will be.
#[derive(Clone, PartialEq, Deserialize)]
pub(crate) struct ProgressPart {
    index: u32,
    #[serde(default)]
    last: bool,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    body: Option<Value>,
}

/// The parts of one artifact, which come in any order.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Early {
    next: u32,
    pub(super) waiting: BTreeMap<u32, (Vec<Part>, bool)>,
}

impl Record {
    /// A part goes into its artifact when all that go before it have.
    pub(super) fn part(&mut self, part: ProgressPart) -> Vec<Event> {
        let name = part.name.unwrap_or_else(|| ANSWER.to_owned());
        let is_new = !self.early.contains_key(&name);
        if is_new && self.early.len() >= ARTIFACTS_MAX {
            return Vec::new();
        }
        let early = self.early.entry(name.clone()).or_default();
        let is_late = part.index < early.next;
        if is_late || early.waiting.len() >= EARLY_MAX {
            return Vec::new();
        }
        let parts = part.body.map(body::parts_of).unwrap_or_default();
        early.waiting.insert(part.index, (parts, part.last));
        let mut ready = Vec::new();
        while let Some(found) = early.waiting.remove(&early.next) {
            ready.push((early.next > 0, found));
            early.next += 1;
        }
        let ready = ready.into_iter();
        let events =
            ready.filter_map(|(append, (parts, last))| self.put_parts(&name, parts, append, last));
        events.collect()
    }

    pub(super) fn put_parts(
        &mut self,
        name: &str,
        parts: Vec<Part>,
        append: bool,
        last_chunk: bool,
    ) -> Option<Event> {
        let artifacts = &mut self.task.artifacts;
        let found = artifacts.iter_mut().find(|it| it.artifact_id == name);
        match found {
            _ if parts.is_empty() => return None,
            Some(artifact) if append => {
                if artifact.parts.len() + parts.len() > PARTS_MAX {
                    return None;
                }
                artifact.parts.extend(parts.clone());
            }
            Some(artifact) => artifact.parts.clone_from(&parts),
            None => artifacts.push(Artifact {
                artifact_id: name.to_owned(),
                parts: parts.clone(),
                extensions: self.extensions.clone(),
            }),
        }
        Some(Event::ArtifactUpdate(ArtifactUpdate {
            task_id: self.task.id.clone(),
            context_id: self.task.context_id.clone(),
            artifact: Artifact {
                artifact_id: name.to_owned(),
                parts,
                extensions: self.extensions.clone(),
            },
            append,
            last_chunk,
        }))
    }
}

pub(super) const ARTIFACTS_MAX: usize = 32;
/// Parts that wait for others, of one artifact.
pub(super) const EARLY_MAX: usize = 64;
const PARTS_MAX: usize = 1_000;
