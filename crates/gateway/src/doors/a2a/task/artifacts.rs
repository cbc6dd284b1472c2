//! The artifacts of a task: what comes in parts and out of order is shown in order, within bounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::words::body;
use super::super::words::model::{A2aEvent, A2aPart, Artifact, ArtifactUpdate};
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
    /// Whether the client has said more since: the request that this made numbers its parts from 0 again, and the one before
    /// may still go on with its own.
    #[serde(default)]
    pub(super) may_begin_anew: bool,
    pub(super) waiting: BTreeMap<u32, (Vec<A2aPart>, bool)>,
}

impl Record {
    /// Puts a part into its artifact, once all parts with lower numbers are there.
    pub(super) fn part(&mut self, part: ProgressPart) -> Vec<A2aEvent> {
        let name = part.name.unwrap_or_else(|| ANSWER.to_owned());
        if part.index == 0
            && self
                .early
                .get(&name)
                .is_some_and(|early| early.may_begin_anew)
        {
            self.early.remove(&name);
        }
        let is_new = !self.early.contains_key(&name);
        // The peer chooses the names of artifacts: without a limit, it could begin any number of them.
        if is_new && self.early.len() >= ARTIFACTS_MAX {
            return Vec::new();
        }
        // Every change writes the record of the task together with all parts that wait in it: so limit the bytes of all these
        // parts together.
        let is_full = serde_json::to_vec(&self.early).is_ok_and(|early| early.len() >= EARLY_BYTES);
        let known = self.early.get(&name);
        let (next, waiting) = known.map_or((0, 0), |early| (early.next, early.waiting.len()));
        // The parts below `next` have gone to the client and cannot be taken back: so drop a second part with such a
        // number. The part with the number `next` is taken even if the limit is reached, because it lets waiting parts go
        // to the client.
        let is_full = is_full || waiting >= EARLY_MAX;
        if part.index < next || (part.index > next && is_full) {
            return Vec::new();
        }
        // Note the name only now: a part that is dropped must not use up one of the names.
        let early = self.early.entry(name.clone()).or_default();
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

    /// The answer is the whole result: it takes the place of the parts that came before. Parts that name no artifact, and the
    /// first artifact where pieces without a name came before, are the artifact `answer`.
    pub(super) fn put_artifacts(&mut self, answer: Value) -> Vec<A2aEvent> {
        let groups = body::artifacts_of(answer);
        let mut begun = self.task.artifacts.iter();
        let was_begun = begun.any(|it| it.artifact_id == ANSWER);
        let mut events = Vec::new();
        let mut put = Vec::new();
        for (number, group) in groups.into_iter().take(ARTIFACTS_MAX).enumerate() {
            let is_begun = number == 0 && was_begun;
            let id = group.id.filter(|_| !is_begun);
            let id = id.unwrap_or_else(|| ANSWER.to_owned());
            events.extend(self.put_parts(&id, group.parts, false, true));
            let artifact = self
                .task
                .artifacts
                .iter_mut()
                .find(|it| it.artifact_id == id);
            if let Some(artifact) = artifact {
                artifact.name.clone_from(&group.name);
                artifact.description.clone_from(&group.description);
            }
            if let Some(A2aEvent::ArtifactUpdate(update)) = events.last_mut() {
                (update.artifact.name, update.artifact.description) =
                    (group.name, group.description);
            }
            put.push(id);
        }
        if !put.is_empty() {
            self.task
                .artifacts
                .retain(|it| put.contains(&it.artifact_id));
        }
        events
    }

    pub(super) fn put_parts(
        &mut self,
        name: &str,
        parts: Vec<A2aPart>,
        append: bool,
        last_chunk: bool,
    ) -> Option<A2aEvent> {
        let update = Artifact {
            artifact_id: name.to_owned(),
            name: None,
            description: None,
            parts: parts.clone(),
            extensions: self.extensions.clone(),
        };
        let artifacts = &mut self.task.artifacts;
        let found = artifacts.iter_mut().find(|it| it.artifact_id == name);
        match found {
            // In A2A an artifact has at least one part: so the client is told nothing of an update without parts.
            _ if parts.is_empty() => return None,
            Some(artifact) if append => {
                if artifact.parts.len() + parts.len() > PARTS_MAX {
                    return None;
                }
                artifact.parts.extend(parts);
            }
            Some(artifact) => artifact.parts = parts,
            None => artifacts.push(update.clone()),
        }
        Some(A2aEvent::ArtifactUpdate(ArtifactUpdate {
            task_id: self.task.id.clone(),
            context_id: self.task.context_id.clone(),
            artifact: update,
            append,
            last_chunk,
        }))
    }
}

pub(super) const ARTIFACTS_MAX: usize = 32;
/// Parts that wait for others, of one artifact.
pub(super) const EARLY_MAX: usize = 64;
/// Bytes of all parts that wait for others in one task; the last that is taken may lie above.
pub(super) const EARLY_BYTES: usize = 1024 * 1024;
const PARTS_MAX: usize = 1_000;
