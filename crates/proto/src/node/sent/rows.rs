//! What we say, as rows and back.

use std::time::Duration;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Approving, Keyed, OpenRequest, PeerDrafts, Sent, Waiting};
use crate::draft::{Draft, Identity};
use crate::ids::{AgentId, MessageId};
use crate::node::rows::tables::{
    DRAFTS, FATES, KEYED, Lines, PINGS, REQUESTS, Restored, Rows, Tables, all, of_peers, unread,
};
use crate::time::Timestamp;

#[derive(Serialize, Deserialize)]
struct DraftRow {
    place: usize,
    until: Timestamp,
    /// How long it may live once it is signed, in seconds.
    life: u64,
    value: Value,
    approval: Option<Approving>,
}

fn put_drafts(peer: &AgentId, drafts: &PeerDrafts, rows: &mut Rows) {
    for (place, waiting) in drafts.waiting().enumerate() {
        let row = DraftRow {
            place,
            until: waiting.until,
            life: waiting.draft.life.as_secs(),
            value: waiting.value.as_ref().clone(),
            approval: waiting.approval.clone(),
        };
        let name = waiting.draft.message_id;
        rows.put(DRAFTS, &format!("{peer} {name}"), &row);
    }
}

impl Sent {
    /// The rows of one table, by key; none of another part's.
    pub(in crate::node) fn table(&self, table: &'static str) -> Lines<'_> {
        match table {
            DRAFTS => of_peers(self.drafts.iter(), put_drafts),
            FATES => of_peers(self.results.iter(), |peer, results, rows| {
                for (name, (since, state)) in results.iter() {
                    rows.put(FATES, &format!("{peer} {name}"), &(since, state));
                }
            }),
            REQUESTS => all(|rows| {
                for (name, open) in self.requests.iter() {
                    rows.put(REQUESTS, &name.to_string(), open);
                }
            }),
            PINGS => all(|rows| {
                for ((peer, name), ping) in &self.pings {
                    rows.put_message(PINGS, format!("{peer} {name}"), ping);
                }
            }),
            KEYED => all(|rows| {
                for (key, keyed) in self.keys.iter() {
                    rows.put(KEYED, &HEXLOWER.encode(key), keyed);
                }
            }),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// Takes back what its rows say. Drafts are opened with our keys; `meet` hears of
    /// each peer that something is for.
    pub(in crate::node) fn put_back(
        &mut self,
        tables: &mut Tables,
        own: &Identity,
        mut meet: impl FnMut(&AgentId),
    ) -> Restored {
        let mut drafts = tables.read::<(AgentId, MessageId), DraftRow>(DRAFTS)?;
        // Sort the drafts by their places: rows come in the order of their keys, but drafts have to leave in the order in which
        // they were written.
        drafts.sort_by_key(|(_, row)| row.place);
        for ((peer, name), row) in drafts {
            let stored = Draft::parse(row.value.clone(), Duration::from_secs(row.life));
            let stored = stored.map_err(|_| unread(DRAFTS, &format!("{peer} {name}")))?;
            meet(&peer);
            self.put_back_draft(own, &peer, name, stored, |draft| {
                Waiting::of(draft, row.value, row.until, row.approval)
            });
        }
        for ((peer, name), (since, state)) in tables.read::<(AgentId, MessageId), _>(FATES)? {
            meet(&peer);
            self.results.put_back(&peer, name, since, state);
        }
        for ((name,), open) in tables.read::<(MessageId,), OpenRequest>(REQUESTS)? {
            self.requests.put_back(name, open);
        }
        for (_, ping) in tables.read_stored::<(AgentId, MessageId), _>(PINGS)? {
            self.apply_ping(&ping);
        }
        for ((key,), keyed) in tables.read::<(String,), Keyed>(KEYED)? {
            let tag = HEXLOWER.decode(key.as_bytes()).ok();
            let tag = tag.and_then(|tag| tag.try_into().ok());
            let tag = tag.ok_or_else(|| unread(KEYED, &key))?;
            self.keys.put(tag, keyed);
        }
        Ok(())
    }
}
