//! A node again from its rows.

use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::Value;

use super::tables::*;
use super::{DraftRow, Lone};
use crate::draft::{Draft, Identity};
use crate::entry::Alarm;
use crate::ids::{AgentId, KeyId, MessageId};
use crate::node::Node;
use crate::node::inbox::{Gone, Shelved, Tries};
use crate::node::sent::{Keyed, OpenRequest, Waiting};
use crate::node::tasks::Task;
use crate::policy::Policy;
use crate::stored::Stored;
use crate::time::Timestamp;

/// One row, as it is read back.
pub type Read = (String, String, String);

impl Node {
    /// A node that remembers what the rows say. Tell it the lines that came after them
    /// ([`Node::recall`]).
    ///
    /// # Errors
    /// Names the first row that cannot be read.
    pub fn restore(
        identity: Identity,
        policy: Policy,
        seed: [u8; 32],
        rows: impl IntoIterator<Item = Read>,
    ) -> Restored<Self> {
        let mut node = Self::new(identity, policy, seed);
        let mut tables = Tables::default();
        for (table, key, value) in rows {
            match table.as_str() {
                // There are too many names to gather them first: each is put back as it is read.
                NAMES => node.peers.put_back_name(&key, &value)?,
                _ => tables.add(table, key, value),
            }
        }
        Restoring {
            node: &mut node,
            tables: &mut tables,
        }
        .put_back()?;
        tables.end().map(|()| node)
    }
}

/// A node whose parts take back what the rows say, in this order.
struct Restoring<'n> {
    node: &'n mut Node,
    tables: &'n mut Tables,
}

impl Restoring<'_> {
    fn put_back(mut self) -> Restored {
        self.put_back_trust()?;
        self.put_back_peers()?;
        self.put_back_inbox()?;
        self.put_back_sent()?;
        for (_, task) in self.tables.read::<(String, String, AgentId), Task>(TASKS)? {
            self.node.tasks.put_back(task);
        }
        Ok(())
    }

    fn put_back_trust(&mut self) -> Restored {
        let Self { node, tables } = self;
        let principals = tables.read(PRINCIPALS)?.into_iter();
        let principals = principals.map(|((name,), principal)| (name, principal));
        let peers = tables.read(PEERS)?.into_iter();
        let peers = peers.map(|((name,), peer)| (name, Arc::new(peer)));
        let refused = tables.read::<_, bool>(REFUSED)?.into_iter();
        let refused = refused.map(|(name, _)| name);
        let revoked = tables.read_stored(REVOCATIONS)?.into_iter();
        node.trust.put_back(
            principals.collect(),
            peers.collect(),
            refused.collect(),
            revoked.collect(),
        );
        for ((what, root), value) in tables.read::<(String, KeyId), Value>(STRANGERS)? {
            let read = node.people.put_back_stranger(&what, root, value);
            read.ok_or_else(|| unread(STRANGERS, &format!("{what} {root}")))?;
        }
        for ((what, peer), since) in tables.read::<(String, AgentId), Timestamp>(ALARMS)? {
            let read = Alarm::parse(&what);
            let alarm = read.map_err(|_| unread(ALARMS, &format!("{what} {peer}")))?;
            node.alarms.put_back(alarm, peer, since);
        }
        Ok(())
    }

    fn put_back_peers(&mut self) -> Restored {
        let Self { node, tables } = self;
        if let Some(written) = tables.take_one(PASSING, "written")? {
            node.clock.put_back(written);
        }
        for (peer, lost) in node.peers.put_back(tables)? {
            for (name, why) in lost {
                node.sent.drafts_mut().lose(&peer, name, why);
            }
        }
        if let Some(step) = node.peers.newest_step() {
            node.clock.put_back_step(step);
        }
        Ok(())
    }

    fn put_back_sent(&mut self) -> Restored {
        let Self { node, tables } = self;
        let mut drafts = tables.read::<(AgentId, MessageId), DraftRow>(DRAFTS)?;
        drafts.sort_by_key(|(_, row)| row.place);
        for ((peer, name), row) in drafts {
            let stored = Draft::parse(row.value.clone(), Duration::from_secs(row.life));
            let stored = stored.map_err(|_| unread(DRAFTS, &format!("{peer} {name}")))?;
            node.peers.entry(&peer);
            let (own, until) = (node.me.identity(), row.until);
            node.sent.put_back_draft(own, &peer, name, stored, |draft| {
                Waiting::of(draft, row.value, until, row.approval)
            });
        }
        for ((peer, name), (since, state)) in tables.read::<(AgentId, MessageId), _>(FATES)? {
            node.peers.entry(&peer);
            node.sent.results_mut().put_back(&peer, name, since, state);
        }
        for ((name,), open) in tables.read::<(MessageId,), OpenRequest>(REQUESTS)? {
            node.sent.requests_mut().put_back(name, open);
        }
        for (_, ping) in tables.read_stored::<(AgentId, MessageId), _>(PINGS)? {
            node.sent.apply_ping(&ping);
        }
        for ((key,), keyed) in tables.read::<(String,), Keyed>(KEYED)? {
            let tag = HEXLOWER.decode(key.as_bytes()).ok();
            let tag = tag.and_then(|tag| tag.try_into().ok());
            let tag = tag.ok_or_else(|| unread(KEYED, &key))?;
            node.sent.keys_mut().put(tag, keyed);
        }
        Ok(())
    }

    fn put_back_inbox(&mut self) -> Restored {
        let Self { node, tables } = self;
        let lone: Option<Lone> = tables.take_one(NODE, "node")?;
        let lone = lone.ok_or_else(|| unread(NODE, "node"))?;
        node.me.put_back(lone.recorded, lone.rekeyed);
        node.people.put_back(lone.pausing);
        for ((number,), value) in tables.read::<(u64,), Value>(INBOX)? {
            let message = value.get("message").and_then(Stored::from_stored);
            let tries = value.get("tries").cloned();
            let tries = tries.and_then(|tries| serde_json::from_value::<Tries>(tries).ok());
            let row = message.zip(tries);
            let (message, tries) = row.ok_or_else(|| unread(INBOX, &number.to_string()))?;
            node.inbox.put_back(number, &message, tries);
        }
        for (_, shelved) in tables.read::<(AgentId, MessageId), Shelved>(QUARANTINE)? {
            node.inbox.put_back_shelved(shelved);
        }
        let (mut gone, mut aside) = (Vec::new(), Vec::new());
        let mut rows = tables.read::<(usize,), Value>(ASIDE)?;
        rows.sort_by_key(|(place, _)| *place);
        for ((place,), value) in rows {
            // Of the older messages that were set aside only the names are kept.
            if let Ok(name) = serde_json::from_value::<Gone>(value.clone()) {
                gone.push(name);
                continue;
            }
            let message = Stored::from_stored(&value);
            aside.push(message.ok_or_else(|| unread(ASIDE, &place.to_string()))?);
        }
        node.inbox.put_back_rest(lone.arrivals, gone, aside);
        Ok(())
    }
}
