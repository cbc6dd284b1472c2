//! Who takes part, and the flights as they sign them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use signet_json::{Map, Value};
use signet_proto::draft::{Draft, FLIGHT_LIFE, Identity, Stamp};
use signet_proto::envelope::{Message, Method, Unverified};
use signet_proto::handshake::{self, Grant};
use signet_proto::headers::Tier;
use signet_proto::ids::{AgentId, Digest, MessageId, Version};
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;
use signet_proto::trust::{TrustStore, TrustView};

use crate::household::{START, identity_with};

pub const ALICE: usize = 0;
pub const BOB: usize = 1;
/// A principal of the attacker's own: known to the others, and free to sign whatever it likes.
pub const CAROL: usize = 2;

const NAMES: [(&str, &str); 3] = [
    ("agent-alice", "alice"),
    ("agent-bob", "bob"),
    ("agent-carol", "carol"),
];

/// The versions of each agent, before and after it was upgraded. The best common ones differ from the
/// first and from the last of every list.
const VERSIONS: [[&[&str]; 2]; 3] = [
    [&["1.0.0", "1.1.0"], &["1.0.0", "1.1.0"]],
    [
        &["0.9.0", "1.0.0", "1.1.0", "1.2.0"],
        &["1.0.0", "1.1.0", "1.2.0"],
    ],
    [&["1.0.0", "1.1.0"], &["1.0.0", "1.1.0"]],
];

/// Three agents, each with the identity of before and after an upgrade.
pub struct Cast {
    identities: Vec<[Identity; 2]>,
    proven: Mutex<HashMap<Question, Result<(), Reason>>>,
    said: Mutex<HashMap<Digest, Arc<handshake::Flight>>>,
}

/// Which flight, who judges it, and what that agent knows of the sender: the serials of the newest
/// certificate and key statement. In this cast nothing else of a trust store ever differs.
type Question = (Digest, AgentId, Option<(u64, u64)>);

impl Cast {
    pub fn new() -> Self {
        let grown = |who: usize, upgraded: bool| {
            let versions = VERSIONS[who][usize::from(upgraded)];
            let serial = 1 + u64::from(upgraded);
            identity_with(NAMES[who].0, NAMES[who].1, serial, |request| {
                request.versions = versions.iter().map(|v| v.parse().unwrap()).collect();
            })
        };
        Self {
            identities: (0..3)
                .map(|who| [grown(who, false), grown(who, true)])
                .collect(),
            proven: Mutex::default(),
            said: Mutex::default(),
        }
    }

    /// Checks V01 to V07 of the product, each question asked once: signatures are the most of the work.
    pub fn prove(&self, flight: &Message, view: &TrustView) -> Result<(), Reason> {
        let sender = view.peer(&flight.headers.agent_id);
        let known = sender.map(|peer| (peer.newest().unwrap().serial, peer.keys_serial()));
        let question = (flight.hash(), view.me().clone(), known);
        let answer = || {
            let unverified = Unverified::parse(flight.canonical()).unwrap();
            unverified.verify(view).verified().map(drop)
        };
        *self
            .proven
            .lock()
            .unwrap()
            .entry(question)
            .or_insert_with(answer)
    }

    /// What a flight says, read once. Every flight of the model has credentials that hold.
    pub fn read(&self, flight: &Message) -> Arc<handshake::Flight> {
        let read = || Arc::new(handshake::Flight::recalled(flight).unwrap());
        let mut said = self.said.lock().unwrap();
        Arc::clone(said.entry(flight.hash()).or_insert_with(read))
    }

    pub fn identity(&self, who: usize, upgraded: bool) -> &Identity {
        &self.identities[who][usize::from(upgraded)]
    }

    pub fn id(&self, who: usize) -> &AgentId {
        self.identity(who, false).agent()
    }

    pub fn who(&self, id: &AgentId) -> Option<usize> {
        (0..3).find(|who| self.id(*who) == id)
    }

    /// The store of an agent to whom the others were made known by a person.
    pub fn trust(&self, who: usize) -> TrustStore {
        let mut trust = TrustStore::new(&self.identity(who, false).certificate);
        for peer in (0..3).filter(|peer| *peer != who) {
            trust.bind(&self.identity(peer, false).certificate).unwrap();
        }
        trust
    }

    /// What each accepts from anybody: different tiers, so that a mix-up shows.
    #[allow(clippy::needless_update)]
    pub fn grant(&self, who: usize) -> Grant {
        Grant {
            capabilities: vec![["a.one", "b.two", "c.three"][who].parse().unwrap()],
            tier: Tier::ALL[who],
            ..Grant::default()
        }
    }

    /// Signs the `count`th flight of `who`. The same arguments give the same bytes, so that equal
    /// states of the model are equal; another count gives another nonce, name and time.
    pub fn sign(&self, who: usize, upgraded: bool, count: u64, flight: Flight) -> Arc<Message> {
        let identity = self.identity(who, upgraded);
        let random = fresh(who, count).0;
        let name = MessageId::from_parts(START as u64, random[..10].try_into().unwrap());
        let draft = Draft {
            life: FLIGHT_LIFE,
            ..Draft::call(flight.method, flight.to, name, Value::Object(flight.body))
        };
        let stamp = Stamp {
            now: moment(count),
            session: None,
            sequence: None,
            audit_head: None,
            version: identity.certificate.lowest_version(),
        };
        Arc::clone(draft.sign(identity, stamp).unwrap().message())
    }

    pub fn credentials(&self, who: usize, upgraded: bool) -> Map<String, Value> {
        let identity = self.identity(who, upgraded);
        let mut body = Map::new();
        body.insert("certificate".into(), identity.certificate.to_value());
        body.insert("keys".into(), identity.keys.to_value());
        body
    }

    /// What flights 1 and 2 offer.
    pub fn offer(
        &self,
        who: usize,
        upgraded: bool,
        nonce: String,
        held: Vec<Value>,
    ) -> Map<String, Value> {
        let identity = self.identity(who, upgraded);
        let versions = identity.certificate.versions.iter();
        let mut body = self.credentials(who, upgraded);
        body.insert("nonce".into(), nonce.into());
        body.insert(
            "versions".into(),
            versions.map(|v| Value::from(v.to_string())).collect(),
        );
        body.insert("layers".into(), identity.layers.to_value());
        body.insert("sessions".into(), Value::Array(held));
        body
    }

    /// What flights 3 and 4 grant.
    pub fn granting(&self, who: usize, upgraded: bool) -> Map<String, Value> {
        let mut body = self.credentials(who, upgraded);
        let offers = self.grant(who).capabilities.into_iter();
        let offers = offers.map(|name| serde_json::json!({"name": name.as_str(), "tier": 4}));
        body.insert("capabilities".into(), offers.collect());
        body.insert("grant".into(), self.grant(who).to_value());
        body
    }
}

/// What is to be signed.
pub struct Flight {
    pub method: Method,
    pub to: AgentId,
    pub body: Map<String, Value>,
}

pub fn fresh(who: usize, count: u64) -> Digest {
    Digest::of(&[b"fresh", &[who as u8], &count.to_be_bytes()])
}

/// Each agent's clock moves by a millisecond a flight: only the order of one agent's own times counts.
pub fn moment(count: u64) -> Timestamp {
    Timestamp::from_millis(START).saturating_add(Duration::from_millis(count))
}

pub fn text<'a>(flight: &'a Message, member: &str) -> Option<&'a str> {
    flight.body()?.get(member)?.as_str()
}

pub fn versions(flight: &Message) -> Vec<Version> {
    let list = flight.body().unwrap()["versions"].as_array().unwrap();
    list.iter()
        .map(|v| v.as_str().unwrap().parse().unwrap())
        .collect()
}

pub fn method(flight: &Message) -> Method {
    flight.form.method().unwrap()
}

/// H(n) by H(n−1) and flight n, computed here and not by the code under test.
pub fn extend(transcript: Digest, flight: &Message) -> Digest {
    Digest::of(&[transcript.as_bytes(), flight.hash().as_bytes()])
}

pub fn start() -> Digest {
    Digest::of(&[b"signet/1 handshake"])
}
