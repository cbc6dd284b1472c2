//! The lines of people's decisions: who is trusted, what is revoked, what is approved, who pauses.

use signet_json::{Map, Value};

use super::line::{Line, Members};
use super::{EntryError, TrustChange};
use crate::certificate::ControlCertificate;
use crate::ids::{AgentId, MessageId};
use crate::statement::{Approval, PauseStatement, Revocation};

/// A person decided about a draft.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalLine {
    /// For whom the draft is.
    pub peer: AgentId,
    /// The draft.
    pub message_id: MessageId,
    /// What the person signed.
    pub approval: Approval,
}

impl TrustChange {
    const ALL: [Self; 9] = [
        Self::Bound,
        Self::Renewed,
        Self::Pending,
        Self::Refused,
        Self::Withdrawn,
        Self::RootChanged,
        Self::RootSucceeded,
        Self::RootReplaced,
        Self::Revoked,
    ];

    /// As the line's `change` names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Renewed => "renewed",
            Self::Pending => "pending",
            Self::Refused => "refused",
            Self::Withdrawn => "withdrawn",
            Self::RootChanged => "root-changed",
            Self::RootSucceeded => "root-succeeded",
            Self::RootReplaced => "root-replaced",
            Self::Revoked => "revoked",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, EntryError> {
        Self::ALL
            .into_iter()
            .find(|known| known.as_str() == text)
            .ok_or(EntryError("change"))
    }
}

pub(super) fn write_revocation(revocation: &Revocation, line: &mut Line<'_>) {
    line.text("change", TrustChange::Revoked.as_str());
    line.text("peer", revocation.agent.as_str());
    line.text("fingerprint", &crate::keys::fingerprint(&revocation.root));
    line.value("revocation", revocation.to_value());
}

pub(super) fn parse_revocation(line: &Map<String, Value>) -> Result<Revocation, EntryError> {
    let value = line.get("revocation").ok_or(EntryError("revocation"))?;
    Revocation::parse(value).map_err(|_| EntryError("revocation"))
}

pub(super) fn write_approval(approved: &ApprovalLine, line: &mut Line<'_>) {
    line.text("peer", approved.peer.as_str());
    line.message_id(&approved.message_id);
    line.text("decision", approved.approval.decision.as_str());
    line.value("approval", approved.approval.to_value());
    line.value("control", approved.approval.control.to_value());
}

pub(super) fn parse_approval(line: &Map<String, Value>) -> Result<ApprovalLine, EntryError> {
    let members = Members(line);
    let value = line.get("approval").ok_or(EntryError("approval"))?;
    Ok(ApprovalLine {
        peer: members.parsed("peer")?,
        message_id: members.message_id()?,
        approval: Approval::parse(value, &control(line)?).map_err(|_| EntryError("approval"))?,
    })
}

pub(super) fn write_pause(statement: &PauseStatement, line: &mut Line<'_>) {
    line.value("paused", &statement.paused.into());
    line.value("statement", statement.to_value());
    line.value("control", statement.control.to_value());
}

pub(super) fn parse_pause(line: &Map<String, Value>) -> Result<PauseStatement, EntryError> {
    let value = line.get("statement").ok_or(EntryError("statement"))?;
    PauseStatement::parse(value, &control(line)?).map_err(|_| EntryError("statement"))
}

fn control(line: &Map<String, Value>) -> Result<ControlCertificate, EntryError> {
    let value = line.get("control").ok_or(EntryError("control"))?;
    ControlCertificate::parse(value).map_err(|_| EntryError("control"))
}
