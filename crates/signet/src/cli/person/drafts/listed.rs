//! The list of drafts: from the daemon, or from the file that a person carried to another machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use signet_api::{Draft, Drafts, ListDrafts, WaitsFor};
use signet_json::Limits;
use signet_proto::draft;

use super::next_for;
use crate::cli::CliError;
use crate::cli::ask::decide;
use crate::cli::names::{Candidate, MESSAGE, ambiguous, refuse_short};
use crate::cli::pages::every;

/// A draft with all that a machine without the daemon needs to sign the decision about it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Listed {
    #[serde(flatten)]
    pub(crate) draft: Draft,
    /// Of one that waits for approval, the certificate of the person's control key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) control: Option<Value>,
}

/// Every draft: the daemon gives them page by page.
pub(super) fn all(home: Option<PathBuf>) -> Result<Vec<Listed>, CliError> {
    let name = |listed: &Listed| listed.draft.message_id.clone();
    every(name, |skip| {
        let list = ListDrafts {
            skip,
            ..ListDrafts::default()
        };
        let page = decide(home.clone(), list)?;
        Ok((page.waiting, listed(page).collect()))
    })
}

/// Those whose message-id begins so.
pub(super) fn named(home: Option<PathBuf>, name: &str) -> Result<Vec<Listed>, CliError> {
    let list = ListDrafts {
        name: name.to_owned(),
        ..ListDrafts::default()
    };
    Ok(listed(decide(home, list)?).collect())
}

/// The output of `signet drafts --json`, which may hold many messages.
pub(super) fn read(file: &Path) -> Result<Vec<Listed>, CliError> {
    let fault = |what: String| {
        let what = format!("{}: {what}", file.display());
        CliError::usage(what, "make it with: signet drafts --json > FILE")
    };
    let size = std::fs::metadata(file).map_err(|error| fault(error.to_string()))?;
    if !size.is_file() || size.len() > LARGEST {
        return Err(fault("not a plain file of drafts".to_owned()));
    }
    let bytes = std::fs::read(file).map_err(|error| fault(error.to_string()))?;
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let draft = |line| {
        let value = signet_json::parse(line, LISTED).map_err(|error| fault(error.to_string()))?;
        serde_json::from_value(value).map_err(|_| fault("a line of it is no draft".to_owned()))
    };
    lines.map(draft).collect()
}

/// The one draft whose message-id begins so.
pub(super) fn only(waiting: Vec<Listed>, name: &str) -> Result<Listed, CliError> {
    let is_named = |listed: &Listed| listed.draft.message_id.starts_with(name);
    refuse_short(name, &MESSAGE, "signet drafts")?;
    let mut found: Vec<Listed> = waiting.into_iter().filter(is_named).collect();
    let candidates: Vec<Candidate> = found
        .iter()
        .map(|listed| Candidate {
            id: listed.draft.message_id.clone(),
            peer: listed.draft.peer.clone(),
        })
        .collect();
    match (found.pop(), candidates.len()) {
        (Some(listed), 1) => Ok(listed),
        (Some(_), _) => Err(ambiguous(name, &MESSAGE, &candidates)),
        (None, _) => Err(CliError::refused(
            format!("draft-unknown: no draft {name} waits"),
            "signet drafts  # shows what waits; where a message is that has left: signet status ID",
        )),
    }
}

impl Listed {
    /// The draft itself, of which the hash is signed. What is shown beside it must be what it says: the
    /// list may come from a machine that the person does not trust.
    pub(crate) fn what_is_signed(&self) -> Result<&Value, CliError> {
        let shown = &self.draft;
        if shown.waits_for != WaitsFor::Approval {
            let what = format!("draft-unknown: {} waits for no approval", shown.message_id);
            return Err(CliError::refused(what, next_for(shown)));
        }
        let value = shown.draft.as_ref();
        value.filter(|value| says(value, shown)).ok_or_else(|| {
            CliError::refused(
                "the list of drafts shows something else than what would be signed",
                "make it anew with signet drafts --json, and see who could change it on its way",
            )
        })
    }
}

/// Whether a draft says what is shown of it. Words that are sealed in it cannot be compared.
fn says(value: &Value, shown: &Draft) -> bool {
    let Ok(stored) = draft::Draft::parse(value.clone(), Duration::ZERO) else {
        return false;
    };
    let message = stored.message();
    let headers = &message.headers;
    let body = message.body().unwrap_or(&Value::Null);
    shown.peer == headers.recipient_id.as_str()
        && shown.message_id == headers.message_id.to_string()
        && shown.message_type == message.form.message_type().as_str()
        && shown.data_tier == headers.data_tier.number()
        && (message.sealed.is_some() || (shown.summary == message.summary && shown.body == *body))
}

/// Each draft of an answer, with the certificate where a person has to decide.
pub(crate) fn listed(drafts: Drafts) -> impl Iterator<Item = Listed> {
    let control = drafts.control;
    drafts.drafts.into_iter().map(move |draft| {
        let asks = draft.waits_for == WaitsFor::Approval;
        let control = control.clone().filter(|_| asks);
        Listed { draft, control }
    })
}

const LARGEST: u64 = 64 << 20;
const LISTED: Limits = Limits {
    bytes: 64 << 20,
    values: 4_000_000,
    ..Limits::LINE
};
