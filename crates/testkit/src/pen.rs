//! An agent's real key in hostile hands: messages built member by member, canonicalised and signed,
//! and a handshake played by hand.

use std::time::Duration;

use serde_json::{Value, json};
use signet_driver::kept;
use signet_json::canonical;
use signet_proto::certificate::{Certificate, CertificateRequest, KEYS_LIFE, KeyStatement};
use signet_proto::headers::Layers;
use signet_proto::ids::{Digest, MessageId, Version, encode_base64url};
use signet_proto::keys::{Purpose, SealKey, SigningKey};
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use crate::Home;
use crate::bus::{Sender, Watch, sender};

pub use signet_driver::now;

pub const DAY: i64 = 24 * 3_600_000;

/// Now, moved by so many milliseconds.
pub fn time(ms: i64) -> String {
    Timestamp::from_millis(now().as_millis() + ms).to_string()
}

fn random<const N: usize>() -> [u8; N] {
    signet_driver::random().unwrap()
}

/// A name that nobody has used.
pub fn fresh_id() -> String {
    let now = u64::try_from(now().as_millis()).unwrap();
    MessageId::from_parts(now, random()).to_string()
}

/// A key that a home keeps in `keys/<name>.pem`.
pub fn key(home: &Home, name: &str) -> SigningKey {
    kept::signing_key(&home.dir, &format!("{name}.pem")).unwrap()
}

pub fn seed(bytes: [u8; 32]) -> SigningKey {
    SigningKey::from_seed(&Zeroizing::new(bytes)).unwrap()
}

/// What signs as one agent.
pub struct Pen {
    pub agent: String,
    pub principal: String,
    pub signing: SigningKey,
    pub certificate: Value,
    pub statement: Value,
}

impl Pen {
    /// The keys of a home.
    pub fn of(home: &Home) -> Self {
        Self {
            agent: home.agent.clone(),
            principal: home.principal.clone(),
            signing: key(home, "signing"),
            certificate: kept::document(&home.dir, "certificate.json").unwrap(),
            statement: kept::document(&home.dir, "keys.json").unwrap(),
        }
    }

    /// An agent that no home has, certified by `root`; `change` has the last word on the certificate.
    pub fn made(
        agent: &str,
        principal: &str,
        root: &SigningKey,
        change: impl FnOnce(&mut CertificateRequest),
    ) -> Self {
        let now = now();
        let signing = seed(random());
        let mut request = CertificateRequest {
            agent: agent.parse().unwrap(),
            principal: principal.parse().unwrap(),
            signing_key: signing.public().clone(),
            layers: Layers::of(&[0, 1, 2, 3]),
            versions: vec![Version::CURRENT],
            serial: 1,
            not_before: now.saturating_sub(Duration::from_secs(600)),
            not_after: now.saturating_add(Duration::from_secs(365 * 24 * 3600)),
            next_root: Digest([9; 32]),
        };
        change(&mut request);
        let certificate = request.sign(root).unwrap();
        let mut pen = Self {
            agent: agent.to_owned(),
            principal: principal.to_owned(),
            signing,
            certificate: certificate.to_value(),
            statement: Value::Null,
        };
        pen.state(KEYS_LIFE);
        pen
    }

    /// Makes another key statement, which lives so long.
    pub fn state(&mut self, life: Duration) {
        let end = now().saturating_add(life);
        let agent = Certificate::parse(&self.certificate).unwrap().agent;
        let statement =
            KeyStatement::sign(&agent, SealKey::of_secret(&[7; 32]), 1, end, &self.signing)
                .unwrap();
        self.statement = statement.to_value();
    }

    /// Has `home` bind this agent, as its person would.
    pub fn introduced_to(&self, home: &Home) {
        let file = home.dir.join("introduced.json");
        std::fs::write(&file, self.certificate.to_string()).unwrap();
        home.done(&["peer", "add", file.to_str().unwrap()]);
    }

    /// A call, unsigned; whoever writes it may spoil it.
    pub fn call(&self, method: &str, to: &str, body: Value) -> Value {
        let kind = match method {
            "agent.request" => "request",
            "agent.handoff" => "handoff",
            _ => "notification",
        };
        let id = fresh_id();
        let mut call = json!({
            "jsonrpc": "2.0",
            "method": method,
            "params": {"headers": self.headers(to, kind, &id), "body": body},
        });
        if kind != "notification" {
            call["id"] = id.into();
        }
        call
    }

    /// A request in a session.
    pub fn request(&self, to: &str, session: &str, sequence: u64) -> Value {
        in_session(
            self.call("agent.request", to, json!({"n": sequence})),
            session,
            sequence,
        )
    }

    /// A handoff in a session, of the task that its chain is about.
    pub fn handoff(&self, to: &str, session: &str, sequence: u64, chain: &Value) -> Value {
        let last = chain.as_array().and_then(|links| links.last());
        let task = last.map_or(Value::Null, |link| link["mandate"]["task"].clone());
        let body = json!({"task": task, "goal": "Anything", "chain": chain});
        let call = self.call("agent.handoff", to, body);
        with(in_session(call, session, sequence), "conversation-id", task)
    }

    /// A link of a chain: a mandate of this agent, and its certificate.
    pub fn mandate(&self, task: &str, to: &str, parent: Option<&Value>, tier: u8) -> Value {
        let mut mandate = json!({
            "type": "handoff", "task": task, "from": self.agent, "to": to, "capabilities": [],
            "tier": tier, "depth": if parent.is_some() { 0 } else { 1 },
            "not-after": time(DAY), "issued-at": time(0),
        });
        if let Some(parent) = parent {
            // Use the end of the parent mandate: a mandate that outlasts its parent would be refused for that alone.
            mandate["not-after"] = parent["not-after"].clone();
            mandate["parent"] = Digest::of(&[&canonical(parent)]).to_string().into();
        }
        let signature = self.signing.sign(Purpose::Handoff, &[&canonical(&mandate)]);
        mandate["signature"] = encode_base64url(&signature).into();
        json!({"mandate": mandate, "certificate": self.certificate})
    }

    /// A notification in a session.
    pub fn notification(&self, to: &str, session: &str, sequence: u64) -> Value {
        in_session(
            self.call("agent.notification", to, json!({"n": sequence})),
            session,
            sequence,
        )
    }

    /// An answer to the request `to_id`.
    pub fn answer(&self, to: &str, to_id: &str, session: &str, sequence: u64) -> Value {
        let mut headers = self.headers(to, "response", &fresh_id());
        headers["in-reply-to"] = to_id.into();
        let mut answer =
            json!({"jsonrpc": "2.0", "id": to_id, "result": {"headers": headers, "body": {}}});
        answer["result"]["headers"]["session"] = session.into();
        answer["result"]["headers"]["sequence"] = sequence.into();
        answer
    }

    /// Flight 1.
    pub fn announce(&self, to: &str) -> Value {
        let body = json!({
            "certificate": self.certificate, "keys": self.statement, "nonce": encode_base64url(&random::<32>()),
            "versions": ["1.0.0"], "layers": [0, 1, 2, 3], "sessions": [],
        });
        flight(self.call("agent.announce", to, body))
    }

    /// Flight 3.
    pub fn capability(&self, to: &str, transcript: &Digest) -> Value {
        let body = json!({
            "certificate": self.certificate, "keys": self.statement, "capabilities": [],
            "grant": {"capabilities": [], "tier": 2}, "transcript": transcript.to_string(),
        });
        flight(self.call("agent.capability", to, body))
    }

    /// Signs what was built: `signature` over the canonical rest.
    pub fn sign(&self, mut message: Value) -> Vec<u8> {
        let signature = self.signing.sign(Purpose::Message, &[&canonical(&message)]);
        place(&mut message)["signature"] = encode_base64url(&signature).into();
        canonical(&message)
    }

    /// The whole handshake with a daemon, as initiator, and a ping that confirms it under sequence 1.
    /// Gives the session.
    pub fn meet(&self, sender: &mut Sender, watch: &Watch, to: &Home) -> String {
        // Mark this place in the recorded traffic before sending: the answer may be recorded before `flight` begins to look for
        // it.
        let mark = watch.mark();
        let first = self.sign(self.announce(&to.agent));
        sender.send(&to.subject(), &first);
        let (_, second) = self.flight(watch, mark, to, "agent.verify");
        let so_far = transcript(&[&first, &second]);
        let third = self.sign(self.capability(&to.agent, &so_far));
        sender.send(&to.subject(), &third);
        let (_, fourth) = self.flight(watch, mark, to, "agent.trust");
        let session = transcript(&[&first, &second, &third, &fourth]).to_string();
        let mut ping = self.request(&to.agent, &session, 1);
        ping["params"]["headers"]["capability"] = "signet.ping".into();
        sender.send(&to.subject(), &self.sign(ping));
        watch.find(mark, |message| {
            message["result"]["headers"]["recipient-id"] == self.agent.as_str()
        });
        session
    }

    /// The flight that a daemon sent to this agent.
    pub fn flight(
        &self,
        watch: &Watch,
        mark: usize,
        from: &Home,
        method: &str,
    ) -> (Value, Vec<u8>) {
        let mine = |message: &Value| {
            message["method"] == method
                && sender(message) == from.agent
                && message["params"]["headers"]["recipient-id"] == self.agent.as_str()
        };
        watch.find(mark, mine)
    }

    fn headers(&self, to: &str, kind: &str, id: &str) -> Value {
        json!({
            "agent-id": self.agent, "principal-id": self.principal, "timestamp": time(0), "message-type": kind,
            "trust-layer-version": "1.0.0", "skill-layers-loaded": [0, 1, 2, 3], "recipient-id": to,
            "message-id": id, "expires-at": time(3_600_000), "key-id": self.signing.public().id().to_string(),
        })
    }
}

/// The envelope of a message, to spoil.
pub fn place(message: &mut Value) -> &mut Value {
    let found = ["/params", "/result", "/error/data"]
        .into_iter()
        .find(|place| message.pointer(place).is_some());
    message.pointer_mut(found.unwrap()).unwrap()
}

/// Sets one header.
pub fn with(mut message: Value, header: &str, value: impl Into<Value>) -> Value {
    place(&mut message)["headers"][header] = value.into();
    message
}

pub fn in_session(message: Value, session: &str, sequence: u64) -> Value {
    with(with(message, "session", session), "sequence", sequence)
}

fn flight(message: Value) -> Value {
    // Stay below five minutes: a flight that is valid for longer is refused.
    with(message, "expires-at", time(290_000))
}

/// H(n) over the flights so far.
pub fn transcript(flights: &[&[u8]]) -> Digest {
    let start = Digest::of(&[b"signet/1 handshake"]);
    flights.iter().fold(start, |before, flight| {
        Digest::of(&[before.as_bytes(), Digest::of(&[flight]).as_bytes()])
    })
}
