//! Chains: from whoever began a task to whoever holds it, each step within the one before.

use std::time::Duration;

use signet_json::{Map, Value};

use super::{Authority, LONGEST_CHAIN, Mandate, TaskId};
use crate::certificate::Certificate;
use crate::headers::Headers;
use crate::ids::AgentId;
use crate::reject::Reason;
use crate::time::Timestamp;
use crate::trust::TrustView;

/// A mandate, and the certificate of the key that signed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Who gives what to whom.
    pub mandate: Mandate,
    /// Whose key signed.
    pub certificate: Certificate,
}

/// One to eight mandates, the first giver's first.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    links: Vec<Link>,
    // The last link has its own field, so that no chain can be empty: `last` and `task` always have an answer.
    last: Link,
}

impl Chain {
    /// A chain of one: a task that begins here.
    pub fn begin(link: Link) -> Self {
        let links = Vec::new();
        Self { links, last: link }
    }

    /// The chain with one more step.
    pub fn extended(&self, link: Link) -> Self {
        let links = self.links().cloned().collect();
        Self { links, last: link }
    }

    /// Reads a chain whose signatures are not yet verified.
    ///
    /// # Errors
    /// `mandate-invalid` when a member is absent, unknown or malformed.
    pub fn read(value: &Value) -> Result<Self, Reason> {
        let items = value.as_array().ok_or(Reason::MandateInvalid)?;
        if items.len() > LONGEST_CHAIN {
            return Err(Reason::MandateInvalid);
        }
        let mut links = items.iter().map(read_link).collect::<Result<Vec<_>, _>>()?;
        let last = links.pop().ok_or(Reason::MandateInvalid)?;
        Ok(Self { links, last })
    }

    /// Every step, the first giver's first.
    pub fn links(&self) -> impl DoubleEndedIterator<Item = &Link> + Clone {
        self.links.iter().chain([&self.last])
    }

    /// The mandate of whoever holds the task now.
    pub fn last(&self) -> &Mandate {
        &self.last.mandate
    }

    /// Which task it is about.
    pub fn task(&self) -> TaskId {
        self.last.mandate.task
    }

    /// What its holder may do.
    pub fn authority(&self) -> &Authority {
        &self.last.mandate.authority
    }

    /// The chain as it is sent and logged.
    pub fn to_value(&self) -> Value {
        let link = |link: &Link| {
            let mut members = Map::new();
            members.insert("mandate".into(), link.mandate.to_value());
            members.insert("certificate".into(), link.certificate.to_value());
            Value::Object(members)
        };
        self.links().map(link).collect()
    }

    /// Judges a chain that a message with these headers brought to the agent of `view` (check V12): that agent is
    /// its holder now, every issuer stands, nothing has ended, the message ends with the mandate, every signature
    /// holds, and each step is within the one before.
    ///
    /// # Errors
    /// `mandate-invalid` or `authority-widened`.
    pub fn verify(
        &self,
        view: &TrustView,
        headers: &Headers,
        now: Timestamp,
    ) -> Result<(), Reason> {
        let last = &self.last;
        let given_to_us = last.mandate.to == *view.me()
            && last.mandate.from == headers.agent_id
            && last.certificate.signing_key.id() == headers.key_id;
        let stands = |link: &Link| issuer_stands(view, link) && in_time(link, now);
        // The message has to expire by the end of its mandate, because nobody may take the task after that end.
        let ends_with_it = headers.expires_at <= last.mandate.authority.not_after;
        if !(given_to_us && self.links().all(stands) && ends_with_it) {
            return Err(Reason::MandateInvalid);
        }
        // Verify the signatures last, after the cheap checks: each of up to eight links has two.
        self.prove()
    }

    /// What the chain proves of itself, whoever reads it: signatures, links, and that it narrows.
    ///
    /// # Errors
    /// `mandate-invalid` or `authority-widened`.
    pub fn prove(&self) -> Result<(), Reason> {
        if !(self.is_linked() && self.links().all(is_signed)) {
            return Err(Reason::MandateInvalid);
        }
        for (before, next) in self.links().zip(self.links().skip(1)) {
            let (before, next) = (&before.mandate.authority, &next.mandate.authority);
            before
                .contains(next)
                .map_err(|_| Reason::AuthorityWidened)?;
        }
        Ok(())
    }

    /// Each step is the one before's holder's, of the same task, and names the one before; nobody
    /// stands in it twice.
    fn is_linked(&self) -> bool {
        let follows = |(before, next): (&Link, &Link)| {
            next.mandate.task == before.mandate.task
                && next.mandate.from == before.mandate.to
                && next.mandate.parent == Some(before.mandate.hash())
        };
        let mut seen: Vec<&AgentId> = self.links().map(|link| &link.mandate.from).collect();
        seen.push(&self.last.mandate.to);
        seen.sort_unstable();
        let begins = self.links().next();
        begins.is_some_and(|first| first.mandate.parent.is_none())
            && self.links().zip(self.links().skip(1)).all(follows)
            && seen.is_sorted_by(|a, b| a < b)
    }
}

fn read_link(value: &Value) -> Result<Link, Reason> {
    let members = value.as_object().filter(|members| members.len() == 2);
    let member = |name: &str| members.and_then(|members| members.get(name));
    let (Some(mandate), Some(certificate)) = (member("mandate"), member("certificate")) else {
        return Err(Reason::MandateInvalid);
    };
    Ok(Link {
        mandate: Mandate::read(mandate).map_err(|_| Reason::MandateInvalid)?,
        certificate: Certificate::read(certificate).map_err(|_| Reason::MandateInvalid)?,
    })
}

/// The certificate was good when the mandate was signed, and is of a root that is pinned here: the
/// newest, one newer still, or an older one that is still known.
fn issuer_stands(view: &TrustView, link: &Link) -> bool {
    let certificate = &link.certificate;
    // A renewed certificate must not end the tasks that its agent handed on before: an older certificate counts as long as our
    // trust store holds it, unless the trust in that agent was withdrawn.
    let known = || {
        let peer = view.peer(&certificate.agent);
        let peer = peer.filter(|peer| !peer.is_withdrawn());
        peer.and_then(|peer| peer.certificate(certificate.signing_key.id())) == Some(certificate)
    };
    certificate.covers(link.mandate.issued_at)
        && match view.admit(certificate) {
            Ok(_) => true,
            // The agent that gave this mandate is a stranger, but its person's root key is known. Allow it: `view.admit` has
            // another error for an agent that was revoked, since we keep revocations for strangers too.
            Err(Reason::AgentUnknown) => true,
            Err(Reason::SerialRolledBack) => known(),
            Err(_) => false,
        }
}

fn in_time(link: &Link, now: Timestamp) -> bool {
    let mandate = &link.mandate;
    mandate.issued_at <= now.saturating_add(CLOCK_TOLERANCE) && now <= mandate.authority.not_after
}

fn is_signed(link: &Link) -> bool {
    let Link {
        mandate,
        certificate,
    } = link;
    certificate.agent == mandate.from
        && certificate.prove().is_ok()
        && mandate.prove(&certificate.signing_key).is_ok()
}

/// How far a giver's clock may be ahead of ours.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);
