//! What lies between us and the peers, as rows and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::to_value;
use signet_json::{write_canonical, write_string};

use crate::envelope::Message;
use crate::handshake::{Handshake, Retry, Role};
use crate::ids::{AgentId, DIGEST, Digest, MessageId, SessionId, UUID};
use crate::reject::Reason;
use crate::session::{Session, Slot};
use crate::stored::Stored;
use crate::time::Timestamp;

use super::hops::Hops;
use super::seen::{Name, Shared};
use super::{Peer, Peers};
use crate::node::offers::ToldOffers;
use crate::node::rows::tables::{
    LINKS, Lines, NAMES, OUTBOX, PASSING, Restored, Row, Rows, SESSIONS, Tables, WINDOWS, key_of,
    of_peers, unread, written,
};

/// What a snapshot has of the peers.
#[derive(Clone, Debug)]
pub(in crate::node) struct PeersShot(BTreeMap<AgentId, PeerShot>);

/// What rows are made of that lies between us and one peer.
#[derive(Clone, Debug)]
struct PeerShot {
    row: LinkRow,
    /// A handshake of ours that is under way.
    half: Handshake,
    sessions: Vec<Session>,
    names: Shared,
}

/// Drafts for a peer whose content cannot be opened any more.
pub(in crate::node) type LostDrafts = Vec<(MessageId, Reason)>;

/// What lies between us and one peer, but for what has rows of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LinkRow {
    handshake: Handshake,
    lost: LostDrafts,
    announced: Option<Timestamp>,
    heard_announce: Option<Timestamp>,
    receipted: Option<Timestamp>,
    greets: bool,
    trail: Hops,
    told_offers: Option<ToldOffers>,
}

#[derive(Serialize, Deserialize)]
struct SessionRow {
    /// Its place among the sessions with the peer, the oldest first.
    place: usize,
    session: Session,
}

#[derive(Serialize, Deserialize)]
struct NameRow {
    hash: Digest,
    until: Timestamp,
}

impl PeerShot {
    fn of(peer: &Peer, lost: LostDrafts, now: Timestamp) -> Self {
        let (half, held) = peer.handshake.halves(now);
        Self {
            row: LinkRow {
                handshake: held,
                lost,
                announced: peer.announced,
                heard_announce: peer.heard_announce,
                receipted: peer.receipts.signed_at,
                greets: peer.greets,
                trail: peer.hops.clone(),
                told_offers: peer.offers.told().cloned(),
            },
            half,
            sessions: peer.sessions.clone(),
            names: peer.names.share(),
        }
    }
}

impl PeersShot {
    /// The rows of one table, by key; none of another part's.
    pub(in crate::node) fn table(&self, table: &'static str) -> Lines<'_> {
        match table {
            LINKS => self.of_peers(|name, peer, rows| rows.put(LINKS, name.as_str(), &peer.row)),
            PASSING => self.of_peers(|name, peer, rows| {
                if !peer.half.is_idle() {
                    rows.put(PASSING, &format!("half {name}"), &peer.half);
                }
            }),
            SESSIONS => self.of_peers(put_sessions),
            WINDOWS => self.of_peers(put_windows),
            OUTBOX => self.of_peers(put_outbox),
            NAMES => Box::new(self.0.iter().flat_map(|(peer, shot)| {
                shot.names.by_name().map(move |name| Row {
                    table: NAMES,
                    key: [peer.as_str(), " ", name.name.write_into(&mut [0; UUID])].concat(),
                    value: name_value(&name),
                })
            })),
            _ => Box::new(std::iter::empty()),
        }
    }

    fn of_peers(&self, put: impl Fn(&AgentId, &PeerShot, &mut Rows) + 'static) -> Lines<'_> {
        of_peers(self.0.iter(), put)
    }
}

fn put_sessions(peer: &AgentId, shot: &PeerShot, rows: &mut Rows) {
    for (place, session) in shot.sessions.iter().enumerate() {
        let id: SessionId = session.id;
        let session = session.bare();
        let row = SessionRow { place, session };
        rows.put(SESSIONS, &format!("{peer} {id}"), &row);
    }
}

fn put_windows(peer: &AgentId, shot: &PeerShot, rows: &mut Rows) {
    for session in &shot.sessions {
        for (number, slot) in session.window.slots() {
            let key = format!("{peer} {} {number}", session.id);
            rows.put_written(WINDOWS, key, slot_value(slot));
        }
    }
}

/// A [`NameRow`] in canonical form. Most rows are of names and windows, so their text is written as it is, without a tree.
fn name_value(name: &Name) -> String {
    let mut text = Vec::with_capacity(SHORT_ROW);
    write_hash(&name.hash, &mut text);
    write_time("until", name.until, &mut text);
    written(text)
}

/// A [`Slot`] likewise.
fn slot_value(slot: &Slot) -> String {
    let mut text = Vec::with_capacity(SHORT_ROW);
    write_hash(&slot.hash, &mut text);
    text.extend_from_slice(b",\"refused\":");
    match slot.refused {
        Some(reason) => write_string(reason.name(), &mut text),
        None => text.extend_from_slice(b"null"),
    }
    write_time("signed_at", slot.signed_at, &mut text);
    written(text)
}

fn write_hash(hash: &Digest, text: &mut Vec<u8>) {
    text.extend_from_slice(b"{\"hash\":");
    write_string(hash.write_into(&mut [0; DIGEST]), text);
}

/// The last member, and the brace behind it.
fn write_time(name: &str, time: Timestamp, text: &mut Vec<u8>) {
    text.push(b',');
    write_string(name, text);
    text.push(b':');
    write_canonical(&to_value(time).unwrap_or_default(), text);
    text.push(b'}');
}

fn put_outbox(peer: &AgentId, shot: &PeerShot, rows: &mut Rows) {
    for session in &shot.sessions {
        for (number, waiting) in session.ledger.waiting() {
            let key = format!("{peer} {} {number}", session.id);
            rows.put_value(OUTBOX, key, &waiting.message().to_stored());
        }
    }
}

impl Peers {
    /// For rows. `lost` says which drafts for a peer cannot be opened any more.
    pub(in crate::node) fn snapshot(
        &self,
        now: Timestamp,
        lost: impl Fn(&AgentId) -> LostDrafts,
    ) -> PeersShot {
        let known = self.known.iter();
        let shots = known.map(|(name, peer)| (name.clone(), PeerShot::of(peer, lost(name), now)));
        PeersShot(shots.collect())
    }

    /// Puts back one message-id as it was remembered: so many that their rows are not gathered first.
    pub(in crate::node) fn put_back_name(&mut self, key: &str, value: &str) -> Restored {
        let (peer, name): (AgentId, MessageId) = key_of(NAMES, key)?;
        let row = serde_json::from_str(value);
        let NameRow { hash, until } = row.map_err(|_| unread(NAMES, key))?;
        self.entry(&peer).names.put_back(Name { until, name, hash });
        Ok(())
    }

    /// Puts back what stands in the other rows. Gives back the drafts that cannot be opened any more.
    pub(in crate::node) fn put_back(
        &mut self,
        tables: &mut Tables,
    ) -> Restored<Vec<(AgentId, LostDrafts)>> {
        let mut lost = Vec::new();
        for ((name,), row) in tables.read::<(AgentId,), LinkRow>(LINKS)? {
            let peer = self.entry(&name);
            peer.handshake = row.handshake;
            peer.announced = row.announced;
            peer.heard_announce = row.heard_announce;
            peer.receipts.signed_at = row.receipted;
            peer.greets = row.greets;
            peer.hops = row.trail;
            peer.offers.put_back(row.told_offers);
            lost.push((name, row.lost));
        }
        for ((_, name), half) in tables.read::<(String, AgentId), Handshake>(PASSING)? {
            self.entry(&name).handshake = half;
        }
        let mut sessions = tables.read::<(AgentId, SessionId), SessionRow>(SESSIONS)?;
        // Rows come in the order of the sessions' ids, which says nothing of their age. Sort them by age: the newest session
        // has to be the last one.
        sessions.sort_by_key(|(_, row)| row.place);
        for ((peer, _), SessionRow { mut session, .. }) in sessions {
            // An initiator that has not spoken in the session yet may lack our flight 4: send flight 4 again until it speaks.
            let waits = session.role == Role::Responder && !session.confirmed;
            session.retry = waits.then(|| Retry::from(session.began));
            let link = self.entry(&peer);
            session.window.put_back_said(link.receipts.signed_at);
            link.sessions.reserve_exact(1);
            link.sessions.push(session);
        }
        for (place, slot) in tables.read::<Place, Slot>(WINDOWS)? {
            self.session_at(WINDOWS, &place)?
                .window
                .put_back(place.2, slot);
        }
        for (place, message) in tables.read_stored::<Place, Arc<Message>>(OUTBOX)? {
            // The rows do not say when the message was last resent: begin to resend anew, as if the message had left when it
            // was signed.
            let at = message.headers.timestamp;
            let session = self.session_at(OUTBOX, &place)?;
            session.ledger.record(place.2, message, at);
        }
        Ok(lost)
    }

    fn session_at(&mut self, table: &str, place: &Place) -> Restored<&mut Session> {
        let (name, id, number) = place;
        let session = self.get_mut(name).and_then(|peer| peer.session_mut(*id));
        session.ok_or_else(|| unread(table, &format!("{name} {id} {number}")))
    }
}

/// A number in a session with a peer.
type Place = (AgentId, SessionId, u64);

/// In bytes: no row of a name or of a number in a window is longer.
const SHORT_ROW: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::rows::tables::row;

    /// Rows are compared by their bytes.
    #[test]
    fn what_is_written_without_a_tree_is_the_canonical_form_of_the_tree() {
        let hash = Digest::of(&[b"a message"]);
        let times = [0, 1, 1_798_384_578_771].map(Timestamp::from_millis);
        let uneven = times.map(|time| time.saturating_add(std::time::Duration::from_nanos(12_345)));
        for time in times.into_iter().chain(uneven) {
            let name = MessageId::from_parts(7, [7; 10]);
            let expected = row(NAMES, "", &NameRow { hash, until: time }).value;
            let until = time;
            assert_eq!(name_value(&Name { until, name, hash }), expected);
            for refused in [None, Some(Reason::TimestampInFuture)] {
                let signed_at = time;
                let slot = Slot {
                    hash,
                    signed_at,
                    refused,
                };
                assert_eq!(slot_value(&slot), row(WINDOWS, "", &slot).value);
            }
        }
    }
}
