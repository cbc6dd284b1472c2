//! The lines of people's decisions: whose the log is, who is trusted, what is revoked, what is approved, who pauses.

use super::line::{Line, LineMembers};
use super::members::names;
#[cfg(test)]
use super::schema_tests::*;
use super::{EntryError, LineKind, LineSubject, quoted};
use crate::certificate::{Certificate, ControlCertificate};
use crate::ids::{AgentId, MessageId};
use crate::keys::fingerprint;
use crate::statement::{Approval, PauseStatement, Revocation};
use signet_json::{Map, Value};

names! {
    /// How a peer's standing changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TrustChange in "change" {
        /// A person pinned the root and bound the agent-id.
        Bound "bound",
        /// A newer certificate of the same root came with a handshake.
        Renewed "renewed",
        /// A stranger announced itself and waits for a person's decision.
        Pending "pending",
        /// A person refused a stranger.
        Refused "refused",
        /// A person took back the trust in an agent.
        Withdrawn "withdrawn",
        /// A pinned principal appeared with another root key: an alarm, and nothing else.
        RootChanged "root-changed",
        /// The successor that a root key had named took its place.
        RootSucceeded "root-succeeded",
        /// A person pinned another root key, which nobody had named.
        RootReplaced "root-replaced",
        /// A root key took certificates back ([`crate::entry::Entry::Revoked`]).
        Revoked "revoked",
    }
}

/// A peer's standing changed.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustLine {
    /// How.
    pub change: TrustChange,
    /// Whose certificate it is about.
    pub certificate: Certificate,
}

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

impl LineKind for Certificate {
    fn write(&self, line: &mut Line<'_>) {
        line.certificate(self);
    }

    fn parse(line: Map<String, Value>) -> Result<Self, EntryError> {
        LineMembers(&line).certificate()
    }

    fn describe(&self) -> String {
        let root = fingerprint(&self.root);
        format!("{} of {}  {root}", self.agent, self.principal)
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        LineShape::default()
            .with("fingerprint", text())
            .with("certificate", common("certificate"))
            .maybe("checkpoint-key", common("key"))
    }
}

impl LineKind for TrustLine {
    fn is_meant(line: &LineMembers<'_>) -> bool {
        !Revocation::is_meant(line)
    }

    fn write(&self, line: &mut Line<'_>) {
        line.text("change", self.change.as_str());
        line.text("peer", self.certificate.agent.as_str());
        line.certificate(&self.certificate);
    }

    fn parse(line: Map<String, Value>) -> Result<Self, EntryError> {
        let members = LineMembers(&line);
        Ok(Self {
            change: TrustChange::parse(members.text("change")?)?,
            certificate: members.certificate()?,
        })
    }

    fn about(&self) -> LineSubject {
        LineSubject::peer(&self.certificate.agent)
    }

    fn describe(&self) -> String {
        let words = fingerprint(&self.certificate.root);
        let Certificate {
            agent,
            principal,
            serial,
            ..
        } = &self.certificate;
        let change = self.change.as_str();
        format!("{change:<12}  {agent:<14}  of {principal}, serial {serial}  {words}")
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        standing()
            .when("change", serde_json::json!({"not": revoked()}))
            .with("certificate", common("certificate"))
    }
}

impl LineKind for Revocation {
    fn is_meant(line: &LineMembers<'_>) -> bool {
        line.text("change") == Ok(TrustChange::Revoked.as_str())
    }

    fn write(&self, line: &mut Line<'_>) {
        line.text("change", TrustChange::Revoked.as_str());
        line.text("peer", self.agent.as_str());
        line.text("fingerprint", &fingerprint(&self.root));
        line.value("revocation", &self.to_value());
    }

    fn parse(line: Map<String, Value>) -> Result<Self, EntryError> {
        let value = LineMembers(&line).value("revocation")?;
        // `parse` verifies the signature by the root key that the revocation names. Whether we know that root key is checked
        // later, where the revocation is applied.
        Self::parse(value).map_err(|_| EntryError("revocation"))
    }

    fn about(&self) -> LineSubject {
        LineSubject::peer(&self.agent)
    }

    fn describe(&self) -> String {
        let (agent, principal, serial) = (&self.agent, &self.principal, self.serial);
        let why = quoted(&self.why);
        let change = TrustChange::Revoked.as_str();
        format!("{change:<12}  {agent:<14}  of {principal}, serial {serial} and lower  {why}")
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        standing()
            .when("change", revoked())
            .with("revocation", common("revocation"))
    }
}

#[cfg(test)]
fn standing() -> LineShape {
    LineShape::default()
        .with(
            "change",
            <TrustChange as super::members::LineMember>::schema(),
        )
        .with("peer", common("agent-id"))
        .with("fingerprint", text())
}

#[cfg(test)]
fn revoked() -> Value {
    serde_json::json!({"const": TrustChange::Revoked.as_str()})
}

impl LineKind for ApprovalLine {
    fn write(&self, line: &mut Line<'_>) {
        line.text("peer", self.peer.as_str());
        line.message_id(&self.message_id);
        line.text("decision", self.approval.decision.as_str());
        line.value("approval", &self.approval.to_value());
        line.value("control", &self.approval.control.to_value());
    }

    fn parse(line: Map<String, Value>) -> Result<Self, EntryError> {
        let members = LineMembers(&line);
        let value = members.value("approval")?;
        // `Approval::parse` verifies the signature by the control key that the line itself brings. Whether that key is our
        // person's is asked when the approval is handed in (`is_our_control`), and by an audit.
        let approval = Approval::parse(value, &control(&members)?);
        Ok(Self {
            peer: members.parsed("peer")?,
            message_id: members.message_id()?,
            approval: approval.map_err(|_| EntryError("approval"))?,
        })
    }

    fn about(&self) -> LineSubject {
        LineSubject::message(&self.peer, self.message_id)
    }

    fn describe(&self) -> String {
        let (decision, person) = (self.approval.decision.as_str(), &self.approval.principal);
        let (peer, id) = (&self.peer, self.message_id);
        format!("{decision:<12}  {peer:<14}  by {person}  {id}")
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        let decisions = serde_json::json!({"enum": ["approved", "refused"]});
        LineShape::default()
            .with("peer", common("agent-id"))
            .message_id()
            .with("decision", decisions)
            .with("approval", common("approval"))
            .with("control", common("control"))
    }
}

impl LineKind for PauseStatement {
    fn write(&self, line: &mut Line<'_>) {
        line.value("paused", &self.paused.into());
        line.value("statement", &self.to_value());
        line.value("control", &self.control.to_value());
    }

    fn parse(line: Map<String, Value>) -> Result<Self, EntryError> {
        let members = LineMembers(&line);
        let value = members.value("statement")?;
        Self::parse(value, &control(&members)?).map_err(|_| EntryError("statement"))
    }

    fn describe(&self) -> String {
        let state = if self.paused { "paused" } else { "resumed" };
        let (person, serial) = (&self.principal, self.serial);
        format!("{state:<12}  by {person}, number {serial}")
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        LineShape::default()
            .with("paused", boolean())
            .with("statement", common("pause"))
            .with("control", common("control"))
    }
}

fn control(line: &LineMembers<'_>) -> Result<ControlCertificate, EntryError> {
    ControlCertificate::parse(line.value("control")?).map_err(|_| EntryError("control"))
}
