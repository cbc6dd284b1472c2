//! What must always hold. What one agent can be judged by alone is judged once for each of its
//! states; what two must agree on, in each state of both.

use std::collections::BTreeSet;
use std::sync::Arc;

use signet_proto::envelope::{Message, Method};
use signet_proto::handshake::{Grant, Role, best_common};
use signet_proto::ids::{Digest, Version};

use crate::cast::{CAROL, Cast, extend, method, start, text, versions};
use crate::local::{Held, Line, Local};

/// A session as its holder sees it.
pub struct Claim {
    pub peer: usize,
    pub role: Role,
    pub id: Digest,
    version: Version,
    given: Grant,
    received: Grant,
    peer_key: Digest,
    own_key: Digest,
    /// The four flights of the holder's own log that hash to the id, each naming those before it.
    flights: Option<[Arc<Message>; 4]>,
}

/// One agent's state, and what it shows by itself.
pub struct Judged {
    pub local: Local,
    pub claims: Vec<Claim>,
    /// Nothing came of a handshake before flight 3 (B) or flight 4 (A).
    pub patient: bool,
    /// Every version is the best common one, and none is below what was known of the peer.
    pub undiminished: bool,
    /// What it holds is bounded by what it said itself, and no flight was taken twice.
    pub bounded: bool,
}

impl Judged {
    pub fn of(cast: &Cast, local: Local) -> Self {
        let of_peer = |peer: usize| {
            let sessions = local.links[peer].sessions.iter();
            sessions.map(move |held| (peer, held))
        };
        let held: Vec<_> = (0..3).flat_map(of_peer).collect();
        let claims: Vec<_> = held
            .iter()
            .map(|(peer, held)| claim(&local, *peer, held))
            .collect();
        let undiminished = !local.went_below
            && claims.iter().all(|claim| is_best(cast, local.who, claim))
            && held.iter().all(|(_, held)| is_not_below(held));
        Self {
            patient: is_patient(cast, &local),
            undiminished,
            bounded: is_bounded(cast, &local),
            claims,
            local,
        }
    }
}

/// Injective agreement between honest agents, as the ProVerif model states it: `done ==> trusted` and
/// `trusted ==> capsSent`, on everything that a session consists of.
pub fn agree(one: &Judged, other: &Judged) -> bool {
    let ids: BTreeSet<_> = one.claims.iter().map(|claim| claim.id).collect();
    let answered: Vec<_> = one.claims.iter().filter_map(answered_flight).collect();
    let distinct: BTreeSet<_> = answered.iter().collect();
    let honest = one.claims.iter().filter(|claim| claim.peer != CAROL);
    let backed = |claim: &Claim| match claim.role {
        Role::Initiator => other
            .claims
            .iter()
            .any(|theirs| mirrors(claim, theirs, one, other)),
        Role::Responder => sent(claim, other),
    };
    ids.len() == one.claims.len()
        && distinct.len() == answered.len()
        && one.claims.iter().all(|claim| claim.flights.is_some())
        && honest.clone().all(backed)
}

/// The flight 3 that a responder's session came of.
fn answered_flight(claim: &Claim) -> Option<Digest> {
    let [_, _, capability, _] = claim.flights.as_ref()?;
    (claim.role == Role::Responder).then(|| capability.hash())
}

fn mirrors(mine: &Claim, theirs: &Claim, me: &Judged, them: &Judged) -> bool {
    theirs.peer == me.local.who
        && mine.peer == them.local.who
        && theirs.role == Role::Responder
        && (mine.id, mine.version) == (theirs.id, theirs.version)
        && (&mine.given, &mine.received) == (&theirs.received, &theirs.given)
        && (mine.own_key, mine.peer_key) == (theirs.peer_key, theirs.own_key)
}

/// The initiator really sent this flight 3 to this responder, after this responder's flight 2.
fn sent(claim: &Claim, initiator: &Judged) -> bool {
    let Some([announce, verify, capability, _]) = &claim.flights else {
        return false;
    };
    let has = |own: bool, flight: &Arc<Message>| {
        let same = |line: &Line| line.own == own && line.flight.hash() == flight.hash();
        initiator.local.log.iter().any(same)
    };
    has(true, announce) && has(false, verify) && has(true, capability)
}

fn claim(local: &Local, peer: usize, held: &Held) -> Claim {
    let established = &held.established;
    Claim {
        peer,
        role: established.role,
        id: established.id.0,
        version: established.version,
        given: established.given.clone(),
        received: established.received.clone(),
        peer_key: *established.certificate.signing_key.id().digest(),
        own_key: *established.own_key.digest(),
        flights: flights_of(local, established.role, established.id.0),
    }
}

/// The transcript recomputed from the log: H1 stands in flight 2, H2 in flight 3, H3 in flight 4, and
/// H4 is the session's id.
fn flights_of(local: &Local, role: Role, id: Digest) -> Option<[Arc<Message>; 4]> {
    let mine = role == Role::Initiator;
    let next = |wanted: Method, own: bool, transcript: Option<Digest>| {
        let named = transcript.map(|digest| digest.to_string());
        local.log.iter().filter(move |line| {
            line.own == own
                && method(&line.flight) == wanted
                && text(&line.flight, "transcript") == named.as_deref()
        })
    };
    for one in next(Method::Announce, mine, None) {
        let h1 = extend(start(), &one.flight);
        for two in next(Method::Verify, !mine, Some(h1)) {
            let h2 = extend(h1, &two.flight);
            for three in next(Method::Capability, mine, Some(h2)) {
                let h3 = extend(h2, &three.flight);
                for four in next(Method::Trust, !mine, Some(h3)) {
                    if extend(h3, &four.flight) == id {
                        return Some([one, two, three, four].map(|line| Arc::clone(&line.flight)));
                    }
                }
            }
        }
    }
    None
}

fn is_best(cast: &Cast, who: usize, claim: &Claim) -> bool {
    let Some([announce, verify, ..]) = &claim.flights else {
        // Without the four flights there are no versions to compare. The property `agreement` finds a session whose
        // flights do not belong together.
        return true;
    };
    let offered = best_common(&versions(announce), &versions(verify));
    let spoken = |who| &cast.identity(who, false).certificate.versions;
    let best = best_common(spoken(who), spoken(claim.peer));
    Some(claim.version) == offered && Some(claim.version) == best
}

fn is_not_below(held: &Held) -> bool {
    let lowest = held.established.lowest_version;
    held.lowest_before.is_none_or(|before| before <= lowest)
}

fn is_patient(cast: &Cast, local: &Local) -> bool {
    let peers = (0..3).filter(|peer| *peer != local.who);
    peers
        .map(|peer| (peer, with_peer(cast, local, peer)))
        .all(|(peer, lines)| {
            let ends: Vec<usize> = (0..lines.len())
                .filter(|n| method(&lines[*n].flight) == Method::Trust)
                .collect();
            let known = local.trust.view().peer(cast.id(peer)).unwrap();
            let untouched = known.lowest_version().is_none()
                && known.keys_serial() == 0
                && known.newest().map(|newest| newest.serial) == Some(1);
            local.links[peer].sessions.len() == ends.len()
                && (untouched || !ends.is_empty())
                && ends.iter().all(|end| comes_last(&lines[..=*end]))
        })
}

/// Before flight 4 of either side came the other's flight 3 or one's own, and before it 2 and 1.
fn comes_last(lines: &[&Line]) -> bool {
    let mine = !lines.last().unwrap().own;
    let order = [
        (Method::Capability, mine),
        (Method::Verify, !mine),
        (Method::Announce, mine),
    ];
    let mut before = lines.iter().rev().skip(1);
    order
        .iter()
        .all(|(wanted, own)| before.any(|line| method(&line.flight) == *wanted && line.own == *own))
}

fn is_bounded(cast: &Cast, local: &Local) -> bool {
    let peers = (0..3).filter(|peer| *peer != local.who);
    peers
        .map(|peer| (peer, with_peer(cast, local, peer)))
        .all(|(peer, lines)| {
            let said = |wanted: Method| {
                let of = |line: &&&Line| line.own && method(&line.flight) == wanted;
                lines.iter().filter(of).count()
            };
            let sessions = local.links[peer].sessions.len();
            let heard: Vec<_> = lines.iter().filter(|line| !line.own).collect();
            let distinct: BTreeSet<_> = heard.iter().map(|line| line.flight.hash()).collect();
            let announced = heard
                .iter()
                .filter(|line| method(&line.flight) == Method::Announce);
            let times: Vec<_> = announced
                .map(|line| line.flight.headers.timestamp)
                .collect();
            sessions <= said(Method::Announce) + said(Method::Verify)
                && distinct.len() == heard.len()
                && times.is_sorted_by(|one, next| one < next)
        })
}

fn with_peer<'a>(cast: &Cast, local: &'a Local, peer: usize) -> Vec<&'a Line> {
    let id = cast.id(peer);
    let with = |line: &&Line| {
        let headers = &line.flight.headers;
        *id == if line.own {
            headers.recipient_id.clone()
        } else {
            headers.agent_id.clone()
        }
    };
    local.log.iter().filter(with).collect()
}
