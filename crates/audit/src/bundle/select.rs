//! Which lines of a log belong into a bundle.

use std::collections::BTreeSet;

use signet_proto::entry::{Entry, TrustLine};
use signet_proto::envelope::Message;
use signet_proto::ids::{AgentId, PrincipalId};

use super::LogExcerpt;
use crate::filter::about;
use crate::record::LogLine;

/// Why a line goes into a bundle, or that it does not.
pub(super) enum BundleLine {
    /// The line is about the peer, in the span of time.
    Message,
    /// The line is a draft or an approval of a message that is in the bundle.
    Decision,
    /// The line certifies keys of the two agents.
    Certificate,
    /// The line is about something else, and stays out.
    No,
}

/// Follows a log, line by line.
pub(super) struct Selection<'a> {
    excerpt: &'a LogExcerpt,
    me: Option<AgentId>,
    /// The principals of the two agents.
    people: BTreeSet<PrincipalId>,
}

impl<'a> Selection<'a> {
    pub(super) fn new(excerpt: &'a LogExcerpt) -> Self {
        Self {
            excerpt,
            me: None,
            people: BTreeSet::new(),
        }
    }

    /// Whose log it is.
    pub(super) fn agent(&self) -> Option<&AgentId> {
        self.me.as_ref()
    }

    /// The part that the next line plays in the bundle. Lines about what the log's own agent did alone (drafts, approvals, outcomes)
    /// are left out, but for the decisions that were asked for.
    pub(super) fn judge(&mut self, line: &LogLine) -> BundleLine {
        let LogExcerpt {
            span,
            lines,
            decisions,
        } = self.excerpt;
        if line.ts >= span.to {
            return BundleLine::No;
        }
        let is_mutual = matches!(&line.entry, Some(Entry::Message(_) | Entry::Handoff(_)));
        let is_theirs = about(line).peer.as_ref() == Some(&span.peer);
        let is_wanted = lines.as_ref().is_none_or(|lines| lines.contains(&line.seq));
        if is_mutual && is_theirs && is_wanted && line.ts >= span.from {
            return BundleLine::Message;
        }
        if is_theirs && decisions.contains(&line.seq) {
            return BundleLine::Decision;
        }
        if self.certifies(line, is_theirs) {
            BundleLine::Certificate
        } else {
            BundleLine::No
        }
    }

    fn certifies(&mut self, line: &LogLine, is_theirs: bool) -> bool {
        match &line.entry {
            Some(Entry::Genesis(own)) => {
                self.me = Some(own.agent.clone());
                self.people.insert(own.principal.clone());
                true
            }
            Some(Entry::Trust(TrustLine { certificate, .. })) => {
                let is_ours = Some(&certificate.agent) == self.me.as_ref();
                if is_theirs || is_ours {
                    self.people.insert(certificate.principal.clone());
                }
                self.people.contains(&certificate.principal)
            }
            Some(Entry::Revoked(revocation)) => self.people.contains(&revocation.principal),
            Some(Entry::Message(verdict)) if is_theirs => verdict
                .message()
                .is_some_and(|message| brings_certificate(message)),
            _ => false,
        }
    }
}

fn brings_certificate(message: &Message) -> bool {
    let is_flight = message
        .form
        .method()
        .is_some_and(|method| method.is_handshake());
    let body = message.body().filter(|_| is_flight);
    body.is_some_and(|body| body.get("certificate").is_some())
}
