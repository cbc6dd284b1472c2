//! What is left of a line when its place is known: its message, and who signed it. Done on every core.

use std::sync::Arc;

use signet_proto::certificate::Certificate;
use signet_proto::entry::{Direction, Evidence, Verdict};
use signet_proto::envelope::Message;
use signet_proto::ids::{AgentId, Digest};

use super::agreement::contradictions;
use super::authority::forgery;

/// What is known of a line when it was followed, and what is left to prove.
pub(super) struct Followed {
    pub(super) place: u64,
    pub(super) seq: Option<u64>,
    pub(super) hash: Digest,
    pub(super) misfit: bool,
    pub(super) faults: Vec<String>,
    pub(super) work: Work,
}

pub(super) enum Work {
    /// A line that could not be read.
    Unreadable,
    /// Nothing of it is left to prove.
    None,
    /// What it says of a message has to agree with the message.
    Verdict(Box<Verdict>, Option<Arc<Certificate>>, Option<AgentId>),
}

/// A verdict proven.
pub(super) enum Proof {
    None,
    Skipped,
    Uncertified,
    Signed(Arc<Message>, Direction),
}

/// Proves what does not depend on any other line any more.
pub(super) fn prove(mut line: Followed) -> (Followed, Proof) {
    let Work::Verdict(verdict, certificate, me) = std::mem::replace(&mut line.work, Work::None)
    else {
        return (line, Proof::None);
    };
    let found = contradictions(&verdict, me.as_ref());
    line.faults.extend(found.into_iter().map(str::to_owned));
    let Evidence::Whole(message) = verdict.evidence else {
        return (line, Proof::Skipped);
    };
    let Some(certificate) = certificate else {
        return (line, Proof::Uncertified);
    };
    match forgery(&certificate, &message) {
        Some(what) => {
            line.faults.push(what.to_owned());
            (line, Proof::None)
        }
        None => (line, Proof::Signed(message, verdict.direction)),
    }
}
