//! What lies between us and the peers, as rows and back.

mod packed;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::envelope::Message;
use crate::handshake::{Handshake, Retry, Role};
use crate::ids::{AgentId, MessageId, SessionId};
use crate::reject::Reason;
use crate::session::Session;
use crate::time::Timestamp;

use super::hops::Hops;
use super::seen::Shared;
use super::{Peer, Peers};
use crate::node::offers::ToldOffers;
use crate::node::rows::tables::{
    LINKS, Lines, NAMES, OUTBOX, PASSING, RestoreError, Restored, Rows, SESSIONS, Tables, WINDOWS,
    of_peers, row, unread,
};
use packed::{NamesRow, WindowRow};

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
                shot.names.groups().map(move |names| {
                    let (first, names) = NamesRow::of(&names);
                    row(NAMES, &format!("{peer} {first}"), &names)
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
        for (group, slots) in WindowRow::all(session.window.slots()) {
            rows.put(WINDOWS, &format!("{peer} {} {group}", session.id), &slots);
        }
    }
}

fn put_outbox(peer: &AgentId, shot: &PeerShot, rows: &mut Rows) {
    for session in &shot.sessions {
        for (number, waiting) in session.ledger.waiting() {
            let key = format!("{peer} {} {number}", session.id);
            rows.put_message(OUTBOX, key, waiting.message());
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

    /// Puts back a group of message-ids as they were remembered: so many that their rows are not gathered first.
    pub(in crate::node) fn put_back_names(&mut self, key: &str, value: &str) -> Restored {
        let unread = || unread(NAMES, key);
        let (peer, first) = key.split_once(' ').ok_or_else(unread)?;
        let peer: AgentId = peer.parse().map_err(|_| unread())?;
        let row: NamesRow = serde_json::from_str(value).map_err(|_| unread())?;
        let known = &mut self.entry(&peer).names;
        for name in row.read(first).ok_or_else(unread)? {
            known.put_back(name);
        }
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
        for (place, row) in tables.read::<Place, WindowRow>(WINDOWS)? {
            let window = &mut self.session_at(WINDOWS, &place)?.window;
            let slots = row
                .read(place.2)
                .ok_or_else(|| unread_at(WINDOWS, &place))?;
            for (number, slot) in slots {
                window.put_back(number, slot);
            }
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
        let (name, id, _) = place;
        let session = self.get_mut(name).and_then(|peer| peer.session_mut(*id));
        session.ok_or_else(|| unread_at(table, place))
    }
}

fn unread_at(table: &str, place: &Place) -> RestoreError {
    let (name, id, number) = place;
    unread(table, &format!("{name} {id} {number}"))
}

/// A number in a session with a peer, or that of a group of them.
type Place = (AgentId, SessionId, u64);
