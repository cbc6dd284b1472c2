//! A node again from its rows.

use super::tables::*;
use super::{Lone, trust};
use crate::draft::Identity;
use crate::node::Node;
use crate::policy::Policy;

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
                // Put back each group of names at once, as it is read: there are too many names to gather all of them first.
                NAMES => node.peers.put_back_names(&key, &value)?,
                _ => tables.add(table, key, value),
            }
        }
        trust::put_back(&mut node.trust, &mut tables)?;
        node.people.put_back_strangers(&mut tables)?;
        node.alarms.put_back(&mut tables)?;
        // Take the row `written` out before `peers` reads this table, whose other rows are handshakes of ours.
        if let Some(written) = tables.take_one(PASSING, "written")? {
            node.clock.put_back(written);
        }
        for (peer, lost) in node.peers.put_back(&mut tables)? {
            for (name, why) in lost {
                node.sent.drafts_mut().lose(&peer, name, why);
            }
        }
        // Each call that is noted gets a later time than all calls noted before: so begin after the newest call in the hops of
        // any peer.
        if let Some(step) = node.peers.known().newest_step() {
            node.clock.put_back_step(step);
        }
        let lone: Option<Lone> = tables.take_one(NODE, "node")?;
        let lone = lone.ok_or_else(|| unread(NODE, "node"))?;
        node.me.put_back(lone.recorded, lone.rekeyed);
        node.people.put_back(lone.pausing);
        node.inbox.put_back(&mut tables, lone.arrivals)?;
        let peers = &mut node.peers;
        node.sent
            .put_back(&mut tables, node.me.identity(), |peer| {
                peers.entry(peer);
            })?;
        node.tasks.put_back(&mut tables)?;
        // A row that no part has taken is an error: a state that is read in part would differ from its log.
        tables.end().map(|()| node)
    }
}
