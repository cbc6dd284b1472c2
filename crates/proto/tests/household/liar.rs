//! A bound peer that lies: it signs what no honest daemon of its agent would.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::envelope::Method;
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::receipt::Receipt;

use super::forger::name;
use super::net::Net;

type Bytes = Arc<[u8]>;

pub struct Liar {
    pub identity: Identity,
    /// Its place in the net; an honest daemon of the same agent runs there too.
    pub who: usize,
    victim: usize,
    count: u64,
}

impl Liar {
    pub fn new(net: &Net, who: usize, victim: usize) -> Self {
        let own = net.agents[who].certificate();
        Self {
            identity: super::identity(own.agent.as_str(), own.principal.as_str()),
            who,
            victim,
            count: 0,
        }
    }

    /// A number that it has not used yet.
    pub fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// As if it had said so much already.
    pub fn skip(&mut self, count: u64) {
        self.count += count;
    }

    /// The session that stands with the victim, or one that it makes up.
    pub fn session(&mut self, net: &Net) -> SessionId {
        let id = net.agents[self.who].id();
        let now = net.at(self.victim).now;
        let standing = net.agents[self.victim].node.standing(&id, now);
        standing.session.unwrap_or_else(|| self.no_session())
    }

    /// A session that nobody ever made.
    pub fn no_session(&mut self) -> SessionId {
        SessionId(Digest::of(&[b"made up", &self.next().to_be_bytes()]))
    }

    pub fn say(
        &mut self,
        net: &Net,
        method: Method,
        body: Value,
        change: impl FnOnce(&mut Draft, &mut Stamp),
    ) -> Bytes {
        let n = self.next();
        let mut draft = Draft::call(
            method,
            net.agents[self.victim].id(),
            name(1 << 50 | n),
            body,
        );
        let mut stamp = Stamp {
            now: net.at(self.victim).now,
            session: None,
            sequence: None,
            audit_head: None,
            version: Version::CURRENT,
        };
        change(&mut draft, &mut stamp);
        Arc::clone(draft.sign(&self.identity, stamp).unwrap().bytes())
    }

    /// A notification in the session that stands, under a number that is new.
    pub fn call(&mut self, net: &Net, change: impl FnOnce(&mut Draft, &mut Stamp)) -> Bytes {
        let (session, n) = (self.session(net), self.next());
        self.say(
            net,
            Method::Notification,
            json!({"n": n}),
            |draft, stamp| {
                (stamp.session, stamp.sequence) = (Some(session), Some(2_000 + n));
                change(draft, stamp);
            },
        )
    }

    /// A flight that answers nothing.
    pub fn flight(&mut self, net: &Net, method: Method) -> Bytes {
        let digest = Digest::of(&[b"flight", &self.next().to_be_bytes()]).to_string();
        let body = flight_body(&self.identity, method, &digest);
        self.say(net, method, body, |draft, _| {
            draft.life = Duration::from_secs(300);
        })
    }

    pub fn receipt(&mut self, net: &Net, receipt: &Receipt) -> Bytes {
        let session = self.session(net);
        self.say(net, Method::Receipt, receipt.to_value(), |_, stamp| {
            stamp.session = Some(session);
        })
    }
}

/// What a flight says that answers nothing; `digest` is its nonce and what it answers.
pub fn flight_body(identity: &Identity, method: Method, digest: &str) -> Value {
    let mut body = json!({
        "certificate": identity.certificate.to_value(),
        "keys": identity.keys.to_value(),
    });
    let members = body.as_object_mut().unwrap();
    let mut put = |name: &str, value: Value| members.insert(name.into(), value);
    if matches!(method, Method::Announce | Method::Verify) {
        put("nonce", digest.into());
        put("versions", json!(["1.0.0"]));
        put("layers", json!([0, 1, 2, 3]));
        put("sessions", json!([]));
    } else {
        put("capabilities", json!([]));
        put("grant", json!({"capabilities": [], "tier": 4}));
    }
    if method == Method::Verify {
        put("choice", "1.0.0".into());
    }
    if method != Method::Announce {
        put("transcript", digest.into());
    }
    if method == Method::Trust {
        put("decision", "granted".into());
    }
    body
}
