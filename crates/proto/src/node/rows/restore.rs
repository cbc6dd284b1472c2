//! A node again from its rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::*;
use crate::draft::{Draft, Identity};
use crate::handshake::{Retry, Role};
use crate::node::inbox::Gone;
use crate::node::inbox::{Shelved, Tries};
use crate::node::peers::seen::Name;
use crate::node::sent::{Keyed, OpenRequest, Waiting};
use crate::node::tasks::Task;
use crate::policy::Policy;
use crate::session::Slot;

/// A row does not say what its table must. The log has it all: the state is made again from it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the row {key:?} of the table {table} cannot be read")]
pub struct RestoreError {
    /// The table.
    pub table: String,
    /// The key.
    pub key: String,
}

type Restored<T = ()> = Result<T, RestoreError>;

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
        let mut tables: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for (table, key, value) in rows {
            match table.as_str() {
                // So many that they are not gathered first.
                NAMES => node.take_name(&key, &value)?,
                _ => tables.entry(table).or_default().push((key, value)),
            }
        }
        let mut tables = Tables(tables);
        node.take_trust(&mut tables)?;
        node.take_links(&mut tables)?;
        node.take_inbox(&mut tables)?;
        for (key, open) in tables.take::<OpenRequest>(REQUESTS)? {
            let [name] = tables.parts(REQUESTS, &key)?;
            node.sent
                .put_back(tables.parse(REQUESTS, &key, name)?, open);
        }
        for (key, ping) in tables.take::<Value>(PINGS)? {
            let ping = tables.message(PINGS, &key, &ping)?;
            node.sent.apply_ping(&ping);
        }
        for (_, task) in tables.take::<Task>(TASKS)? {
            node.tasks.put_back(task);
        }
        for (key, keyed) in tables.take::<Keyed>(KEYED)? {
            let tag = HEXLOWER.decode(key.as_bytes()).ok();
            let tag = tag.and_then(|tag| tag.try_into().ok());
            node.sent
                .put_back_key(tag.ok_or_else(|| fault(KEYED, &key))?, keyed);
        }
        match tables.0.into_iter().find(|(_, rows)| !rows.is_empty()) {
            Some((table, rows)) => {
                let key = rows.into_iter().next().unwrap_or_default().0;
                Err(RestoreError { table, key })
            }
            None => Ok(node),
        }
    }

    fn take_trust(&mut self, tables: &mut Tables) -> Restored {
        let mut principals = BTreeMap::new();
        for (key, principal) in tables.take(PRINCIPALS)? {
            principals.insert(tables.parse(PRINCIPALS, &key, &key)?, principal);
        }
        let mut peers = BTreeMap::new();
        for (key, peer) in tables.take(PEERS)? {
            peers.insert(tables.parse(PEERS, &key, &key)?, Arc::new(peer));
        }
        let mut refused = BTreeSet::new();
        for (key, _) in tables.take::<bool>(REFUSED)? {
            let [root, agent] = tables.parts(REFUSED, &key)?;
            let root = tables.parse(REFUSED, &key, root)?;
            refused.insert((root, tables.parse(REFUSED, &key, agent)?));
        }
        let mut revocations = BTreeMap::new();
        for (key, value) in tables.take::<Value>(REVOCATIONS)? {
            let [principal, agent] = tables.parts(REVOCATIONS, &key)?;
            let principal = tables.parse(REVOCATIONS, &key, principal)?;
            let agent = tables.parse(REVOCATIONS, &key, agent)?;
            let known = Vec::from_stored(&value).ok_or_else(|| fault(REVOCATIONS, &key))?;
            revocations.insert((principal, agent), known);
        }
        self.trust.put_back(principals, peers, refused, revocations);
        for (key, value) in tables.take::<Value>(STRANGERS)? {
            let [what, root] = tables.parts(STRANGERS, &key)?;
            let root: KeyId = tables.parse(STRANGERS, &key, root)?;
            let read = self.people.put_back_stranger(what, root, value);
            read.ok_or_else(|| fault(STRANGERS, &key))?;
        }
        for (key, since) in tables.take::<Timestamp>(ALARMS)? {
            let [what, peer] = tables.parts(ALARMS, &key)?;
            let what = crate::entry::Alarm::parse(what).map_err(|_| fault(ALARMS, &key))?;
            let peer = tables.parse(ALARMS, &key, peer)?;
            self.alarms.put_back(what, peer, since);
        }
        Ok(())
    }

    fn take_links(&mut self, tables: &mut Tables) -> Restored {
        for (key, row) in tables.take::<LinkRow>(LINKS)? {
            let peer: AgentId = tables.parse(LINKS, &key, &key)?;
            for (name, why) in row.lost {
                self.sent.put_back_lost(&peer, name, why);
            }
            let link = self.peers.entry(&peer);
            link.handshake = row.handshake;
            link.announced = row.announced;
            link.heard_announce = row.heard_announce;
            link.receipted = row.receipted;
            link.greets = row.greets;
            link.trail = row.trail;
            link.told_offers = row.told_offers;
        }
        let links = self.peers.iter();
        let steps = links.filter_map(|(_, link)| link.trail.newest());
        let newest = steps.max();
        newest
            .into_iter()
            .for_each(|step| self.clock.put_back_step(step));
        for (key, value) in tables.take::<Value>(PASSING)? {
            self.take_passing(tables, &key, value)?;
        }
        self.take_sessions(tables)?;
        let mut drafts = tables.take::<DraftRow>(DRAFTS)?;
        drafts.sort_by_key(|(_, row)| row.place);
        for (key, row) in drafts {
            let [peer, name] = tables.parts(DRAFTS, &key)?;
            let name = tables.parse(DRAFTS, &key, name)?;
            let life = Duration::from_secs(row.life);
            let stored = Draft::parse(row.value.clone(), life);
            let stored = stored.map_err(|_| fault(DRAFTS, &key))?;
            let peer = tables.parse(DRAFTS, &key, peer)?;
            self.peers.entry(&peer);
            let (own, until) = (self.me.identity(), row.until);
            self.sent.put_back_draft(own, &peer, name, stored, |draft| {
                Waiting::of(draft, row.value, until, row.approval)
            });
        }
        for (key, (since, state)) in tables.take(FATES)? {
            let [peer, id] = tables.parts(FATES, &key)?;
            let id = tables.parse(FATES, &key, id)?;
            let peer = tables.parse(FATES, &key, peer)?;
            self.peers.entry(&peer);
            self.sent.put_back_result(&peer, id, since, state);
        }
        Ok(())
    }

    fn take_name(&mut self, key: &str, value: &str) -> Restored {
        let [peer, name] = parts(NAMES, key)?;
        let (peer, name) = (parse(NAMES, key, peer)?, parse(NAMES, key, name)?);
        let NameRow { hash, until } = serde_json::from_str(value).map_err(|_| fault(NAMES, key))?;
        let name = Name { until, name, hash };
        self.peers.entry(&peer).names.put_back(name);
        Ok(())
    }

    fn take_passing(&mut self, tables: &Tables, key: &str, value: Value) -> Restored {
        let unread = |_| fault(PASSING, key);
        if key == "written" {
            let written = serde_json::from_value(value).map_err(unread)?;
            self.clock.put_back(written);
            return Ok(());
        }
        let [_, peer] = tables.parts(PASSING, key)?;
        let half = serde_json::from_value(value).map_err(unread)?;
        self.peers
            .entry(&tables.parse(PASSING, key, peer)?)
            .handshake = half;
        Ok(())
    }

    fn take_sessions(&mut self, tables: &mut Tables) -> Restored {
        let mut sessions = tables.take::<SessionRow>(SESSIONS)?;
        sessions.sort_by_key(|(_, row)| row.place);
        for (key, row) in sessions {
            let [peer, _] = tables.parts(SESSIONS, &key)?;
            let mut session = row.session;
            let waits = session.role == Role::Responder && !session.confirmed;
            session.retry = waits.then(|| Retry::from(session.began));
            self.peers
                .entry(&tables.parse(SESSIONS, &key, peer)?)
                .sessions
                .push(session);
        }
        for (key, slot) in tables.take::<Slot>(WINDOWS)? {
            let (number, session) = self.session_of(tables, WINDOWS, &key)?;
            session.window.put_back(number, slot);
        }
        for (key, value) in tables.take::<Value>(OUTBOX)? {
            let message = tables.message(OUTBOX, &key, &value)?;
            let (number, session) = self.session_of(tables, OUTBOX, &key)?;
            let at = message.headers.timestamp;
            session.ledger.record(number, message, at);
        }
        Ok(())
    }

    fn session_of(
        &mut self,
        tables: &Tables,
        table: &'static str,
        key: &str,
    ) -> Restored<(u64, &mut Session)> {
        let [peer, id, number] = tables.parts(table, key)?;
        let (id, number) = (
            tables.parse(table, key, id)?,
            tables.parse(table, key, number)?,
        );
        let link = self
            .peers
            .get_mut(&tables.parse::<AgentId>(table, key, peer)?);
        let session = link.and_then(|link| link.session_mut(id));
        Ok((number, session.ok_or_else(|| fault(table, key))?))
    }

    fn take_inbox(&mut self, tables: &mut Tables) -> Restored {
        let mut lone = tables.take::<Lone>(NODE)?;
        let (_, lone) = lone.pop().ok_or_else(|| fault(NODE, "node"))?;
        self.me.put_back(lone.recorded, lone.rekeyed);
        self.people.put_back(lone.pausing);
        for (key, value) in tables.take::<Value>(INBOX)? {
            let number = tables.parse(INBOX, &key, &key)?;
            let parts = (value.get("message"), value.get("tries"));
            let (Some(message), Some(tries)) = parts else {
                return Err(fault(INBOX, &key));
            };
            let message = tables.message(INBOX, &key, message)?;
            let tries: Result<Tries, _> = serde_json::from_value(tries.clone());
            let tries = tries.map_err(|_| fault(INBOX, &key))?;
            self.inbox.put_back(number, &message, tries);
        }
        for (_, shelved) in tables.take::<Shelved>(QUARANTINE)? {
            self.inbox.put_back_shelved(shelved);
        }
        let (mut gone, mut aside) = (Vec::new(), Vec::new());
        for (key, value) in tables.take::<Value>(ASIDE)? {
            let place: usize = tables.parse(ASIDE, &key, &key)?;
            // Of the older ones the names alone are kept.
            if let Ok(name) = serde_json::from_value::<Gone>(value.clone()) {
                gone.push((place, name));
                continue;
            }
            aside.push((place, tables.message(ASIDE, &key, &value)?));
        }
        aside.sort_by_key(|(place, _)| *place);
        gone.sort_by_key(|(place, _)| *place);
        let aside = aside.into_iter().map(|(_, message)| message);
        let gone = gone.into_iter().map(|(_, name)| name);
        (self.inbox).put_back_rest(lone.arrivals, gone.collect(), aside.collect());
        Ok(())
    }
}

struct Tables(BTreeMap<String, Vec<(String, String)>>);

impl Tables {
    fn take<T: DeserializeOwned>(&mut self, table: &'static str) -> Restored<Vec<(String, T)>> {
        let rows = self.0.remove(table).unwrap_or_default().into_iter();
        let read = |(key, value): (String, String)| match serde_json::from_str(&value) {
            Ok(value) => Ok((key, value)),
            Err(_) => Err(fault(table, &key)),
        };
        rows.map(read).collect()
    }

    fn parts<'k, const N: usize>(
        &self,
        table: &'static str,
        key: &'k str,
    ) -> Restored<[&'k str; N]> {
        parts(table, key)
    }

    fn parse<T: std::str::FromStr>(
        &self,
        table: &'static str,
        key: &str,
        part: &str,
    ) -> Restored<T> {
        parse(table, key, part)
    }

    fn message(&self, table: &'static str, key: &str, value: &Value) -> Restored<Arc<Message>> {
        Stored::from_stored(value).ok_or_else(|| fault(table, key))
    }
}

fn parts<'k, const N: usize>(table: &str, key: &'k str) -> Restored<[&'k str; N]> {
    let parts: Vec<&str> = key.split(' ').collect();
    parts.try_into().map_err(|_| fault(table, key))
}

fn parse<T: std::str::FromStr>(table: &str, key: &str, part: &str) -> Restored<T> {
    part.parse().map_err(|_| fault(table, key))
}

fn fault(table: &str, key: &str) -> RestoreError {
    let (table, key) = (table.to_owned(), key.to_owned());
    RestoreError { table, key }
}
