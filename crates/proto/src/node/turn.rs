//! One input to the node: its time, and the lines and effects that come of it.
//!
//! Every public function of [`Node`] that makes lines or effects opens a [`Turn`], runs it, and gives back its
//! outcome. Within a turn each line is written by [`Turn::write`], so that no caller forgets to tell what the line
//! changed.

use crate::entry::{Entry, TrustChange};
use crate::handshake::Established;
use crate::headers::CapabilityName;
use crate::ids::AgentId;

use super::memory::Changed;
use super::rule::ruled::Ruled;
use super::{At, Effect, Node, Notice, Outcome, State};

/// What the node makes of one input. Everything that it does in answer has the same time and adds to the same
/// outcome, in the order in which it comes about.
#[derive(Debug)]
pub struct Turn<'n> {
    pub(super) node: &'n mut Node,
    pub(super) at: At,
    /// The lines and effects so far.
    pub(super) out: Outcome,
}

impl Node {
    /// Opens a turn: what comes in at `at`, and all that is done in answer.
    pub fn turn(&mut self, at: At) -> Turn<'_> {
        Turn {
            node: self,
            at,
            out: Outcome::default(),
        }
    }
}

impl Turn<'_> {
    /// The lines and effects so far; the next ones begin anew.
    pub(super) fn take(&mut self) -> Outcome {
        std::mem::take(&mut self.out)
    }

    /// Writes a line: the node changes by it, and whoever waits for such a change hears of it.
    pub(super) fn write(&mut self, entry: Entry) {
        self.write_ruled(entry, None);
    }

    /// As [`Turn::write`]: `ruled` is the message of the line, where it was ruled on just now.
    pub(super) fn write_ruled(&mut self, entry: Entry, ruled: Option<&Ruled>) {
        let changed = self.node.apply(self.at.now, &entry, ruled);
        self.out.entries.push(entry);
        self.follow(changed);
    }

    /// Tells our person. Before the line about it is written: then the notice comes before what follows from the line.
    pub(super) fn notify(&mut self, notice: Notice) {
        let notice = Effect::Notice(Box::new(notice));
        self.out.effects.push(notice);
    }

    /// Lets the workers verify by the trust store as it is now.
    pub(super) fn tell_trust(&mut self) {
        let view = self.node.trust().clone();
        self.out.effects.push(Effect::Trust(view));
    }

    /// What follows from what a line changed: effects tell where messages of ours are, a new session is welcomed and
    /// may show a second copy of us, and an alarm rings where a log was put back.
    fn follow(&mut self, changed: Changed) {
        let fates = changed.fates.into_iter();
        let settled = fates.map(|(peer, message_id, state)| Effect::Settle {
            offers: self.offers_beside(&peer, &state),
            peer,
            message_id,
            state,
        });
        let settled: Vec<_> = settled.collect();
        self.out.effects.extend(settled);
        if let Some(established) = changed.established {
            self.welcome(&established, changed.renewed);
            let peer = &established.certificate.agent;
            self.offers().mark_offers(peer);
            self.node.mark_outdated(peer);
            self.alarms().suspect_copy_by_number(peer);
        }
        if let Some((peer, misfit)) = changed.misfit {
            self.alarms().follow_misfit(&peer, misfit);
        }
    }

    /// What the peer offers, where a message ended because it named none of several capabilities.
    fn offers_beside(&self, peer: &AgentId, state: &State) -> Vec<CapabilityName> {
        let session = self.node.session(peer, self.at.now);
        let session = session.filter(|_| state.needs_capability());
        session.map_or_else(Vec::new, |session| session.offers_for(1))
    }

    /// What a finished handshake is worth: the peer's newer certificate, and whoever waits for it.
    fn welcome(&mut self, established: &Established, renewed: Option<TrustChange>) {
        let certificate = &established.certificate;
        // The binding moved with the flight already; the line tells the person.
        if let Some(change) = renewed {
            let entry = Entry::trust(change, certificate.clone());
            self.out.entries.push(entry);
        }
        if renewed == Some(TrustChange::RootSucceeded) {
            self.notify(Notice::RootSucceeded(certificate.clone()));
        }
        self.tell_trust();
        let peer = certificate.agent.clone();
        self.out.effects.push(Effect::Established(peer));
    }
}
