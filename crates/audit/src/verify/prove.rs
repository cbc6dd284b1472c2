//! What is left of a line when its place is known: its message, and who signed it. Done on every core.

use std::sync::Arc;

use signet_proto::certificate::Certificate;
use signet_proto::entry::{Direction, Evidence, Ruling, Verdict};
use signet_proto::envelope::Message;
use signet_proto::ids::{AgentId, Digest};
use signet_proto::keys::KeyTables;
use signet_proto::reject::Reason;

use super::agreement::contradictions;
use super::authority::{OUT_OF_DATES, Worth, worth};
use crate::claim::Told;

/// What is known of a line when it was followed, and what is left to prove.
pub(super) struct FollowedLine {
    pub(super) place: u64,
    pub(super) seq: Option<u64>,
    pub(super) hash: Digest,
    pub(super) misfit: bool,
    /// What it says about a message with the peer, when somebody is told.
    pub(super) told: Option<Told>,
    pub(super) faults: Vec<String>,
    pub(super) work: ProofWork,
}

pub(super) enum ProofWork {
    /// A line that could not be read.
    Unreadable,
    /// The line holds nothing that a signature could prove.
    None,
    /// The verdict in the line has to agree with the message that it is about.
    Verdict(Box<Verdict>, Option<Arc<Certificate>>, Option<AgentId>),
}

/// A verdict proven.
pub(super) enum Proof {
    None,
    Skipped,
    Uncertified,
    Signed(Arc<Message>, Direction),
    /// The log's own agent signed it while its clock stood outside its certificate's dates.
    WrongClock(Arc<Message>),
}

/// Proves what does not depend on any other line any more.
pub(super) fn prove(mut line: FollowedLine, tables: &KeyTables) -> (FollowedLine, Proof) {
    let ProofWork::Verdict(verdict, certificate, me) =
        std::mem::replace(&mut line.work, ProofWork::None)
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
    let refused = Ruling::Rejected(Reason::CertificateExpired);
    let fault = match (worth(&certificate, &message, tables), verdict.direction) {
        (Worth::Holds, direction) => return (line, Proof::Signed(message, direction)),
        // No fault: the peer's certificate had expired, or the peer's clock was wrong, and the message was refused for that.
        (Worth::OutOfDates, Direction::In) if verdict.ruling == refused => {
            return (line, Proof::Signed(message, Direction::In));
        }
        (Worth::OutOfDates, Direction::Out) => return (line, Proof::WrongClock(message)),
        (Worth::OutOfDates, Direction::In) => OUT_OF_DATES,
        (Worth::Forged(what), _) => what,
    };
    line.faults.push(fault.to_owned());
    (line, Proof::None)
}
