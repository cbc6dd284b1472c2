//! Sealed lines, for the person who has a key: what a message or draft of tier 3 or 4 says.

use std::time::Duration;

use signet_proto::draft::Draft;
use signet_proto::entry::{DraftLine, Entry, Verdict};
use signet_proto::envelope::Message;
use signet_proto::ids::MessageId;
use signet_proto::keys::SealSecret;
use signet_proto::reject::Reason;
use signet_proto::seal::{self, Opened, Sealed};

use crate::record::LogLine;

/// What a key makes of one line.
#[derive(Clone, Debug, PartialEq)]
pub enum Sight {
    /// Nothing is sealed in it.
    Plain,
    /// The key opened the sealed body of this message.
    Opened(MessageId, Opened),
    /// What is sealed in it is for other keys.
    OtherKey,
    /// It was refused, or written without an audit key: it has no box for the person.
    NoCopy,
    /// A box for this key does not open, or was made for another message: the line is not honest.
    Damaged(Reason),
}

impl LogLine {
    /// What the owner of `secret` sees in the line: an audit key opens the copies, an agent's sealing
    /// key what was sealed for the agent itself.
    #[must_use]
    pub fn open(&self, secret: &SealSecret) -> Sight {
        match &self.entry {
            Some(Entry::Message(verdict)) => open_verdict(verdict, secret),
            Some(Entry::Draft(draft)) => open_draft(draft, secret),
            _ => Sight::Plain,
        }
    }
}

fn open_verdict(verdict: &Verdict, secret: &SealSecret) -> Sight {
    match verdict.message() {
        Some(message) if message.sealed.is_some() => {
            open_either(verdict.copy.as_ref(), message, secret)
        }
        _ => Sight::Plain,
    }
}

fn open_draft(draft: &DraftLine, secret: &SealSecret) -> Sight {
    let life = Duration::from_secs(draft.life);
    match Draft::parse(draft.message.clone(), life) {
        Ok(stored) if stored.message().sealed.is_some() => {
            open_either(draft.copy.as_ref(), stored.message(), secret)
        }
        _ => Sight::Plain,
    }
}

fn open_either(copy: Option<&Sealed>, message: &Message, secret: &SealSecret) -> Sight {
    let boxes = [copy, message.sealed.as_ref()];
    let mine = |sealed: &&Sealed| sealed.is_for(secret.public());
    match boxes.into_iter().flatten().find(mine) {
        Some(sealed) => match seal::open(sealed, secret, message) {
            Ok((opened, _)) => Sight::Opened(message.headers.message_id, opened),
            Err(reason) => Sight::Damaged(reason),
        },
        None if copy.is_none() => Sight::NoCopy,
        None => Sight::OtherKey,
    }
}
