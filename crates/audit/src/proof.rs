//! What is wrong with a line that nobody vouches for, as far as the line alone shows it.

use signet_proto::entry::Entry;
use signet_proto::ids::AgentId;

use crate::record::LogLine;
use crate::verify::{broken_chain, contradictions, forged_member, prove_parties};

impl LogLine {
    /// What is wrong with the line of `me`'s log, whatever stands before it, if anything is: a member
    /// that a log would not write so, or a verdict that contradicts its message. Signatures of messages
    /// are left to whoever knows the keys.
    #[must_use]
    pub fn fault(&self, me: &AgentId) -> Option<String> {
        let found = forged_member(self).or_else(|| broken_chain(self).map(str::to_owned));
        found.or_else(|| {
            let said = match &self.entry {
                Some(Entry::Message(verdict)) => {
                    contradictions(verdict, Some(me)).into_iter().next()
                }
                Some(Entry::Handoff(handoff)) => prove_parties(handoff, Some(me)).err(),
                _ => None,
            };
            said.map(str::to_owned)
        })
    }
}
