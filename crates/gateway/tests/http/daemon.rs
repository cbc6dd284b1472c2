//! A stand-in for a daemon: its `carrier.sock` alone, which does what a test says. So a test sees every call that a gateway
//! makes, and a daemon can be as slow, as full or as far away as a test needs it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use signet_proto::certificate::Certificate;
use signet_proto::trust::TrustStore;
use signet_testkit::pen::Pen;

/// What the stand-in has seen, and what it is to do.
#[derive(Default)]
pub(crate) struct Seen {
    /// The messages of every delivery that was answered, in order.
    pub(crate) delivered: Vec<Vec<u8>>,
    /// What the gateway said of parcels.
    pub(crate) left: BTreeMap<u64, bool>,
    /// What is kept for whoever polls; a poll is what names `agent.poll`.
    pub(crate) kept: Vec<Vec<u8>>,
    /// Whom this agent polls, and what the polls were made after.
    pub(crate) polls: Vec<(String, String)>,
    pub(crate) made_after: Vec<Value>,
    /// What may be shown.
    pub(crate) shown: Vec<Value>,
    attached: Vec<(String, UnixStream)>,
}

/// A daemon's `carrier.sock`.
pub(crate) struct Daemon {
    pub(crate) seen: Arc<Mutex<Seen>>,
    /// While it is set no delivery is answered.
    pub(crate) is_stuck: Arc<AtomicBool>,
    parcels: AtomicU64,
    socket: PathBuf,
    stop: Arc<AtomicBool>,
}

impl Daemon {
    /// The daemon of `me`, whose person trusts `peers`.
    pub(crate) fn start(dir: &Path, me: &Pen, peers: &[&Pen]) -> Self {
        let certificate = |pen: &Pen| Certificate::parse(&pen.certificate).unwrap();
        let mut store = TrustStore::new(&certificate(me));
        for peer in peers {
            store.bind(&certificate(peer)).unwrap();
        }
        let snapshot = serde_json::to_value(store.view().to_snapshot()).unwrap();
        let daemon = Self {
            seen: Arc::default(),
            is_stuck: Arc::default(),
            parcels: AtomicU64::new(1),
            socket: dir.join("carrier.sock"),
            stop: Arc::default(),
        };
        let listener = UnixListener::bind(&daemon.socket).unwrap();
        let (seen, stuck, stop) = (
            Arc::clone(&daemon.seen),
            Arc::clone(&daemon.is_stuck),
            Arc::clone(&daemon.stop),
        );
        let agent = me.agent.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let client = Served {
                    stream: stream.unwrap(),
                    seen: Arc::clone(&seen),
                    is_stuck: Arc::clone(&stuck),
                    agent: agent.clone(),
                    snapshot: snapshot.clone(),
                };
                std::thread::spawn(move || client.serve());
            }
        });
        daemon
    }

    /// Gives a parcel to whoever carries; its id.
    pub(crate) fn hand_out(&self, carrier: &str, peer: &str, address: &str, bytes: &[u8]) -> u64 {
        let id = self.parcels.fetch_add(1, Ordering::SeqCst);
        let params = json!({"id": id, "carrier": carrier, "peer": peer, "address": address,
            "bytes": BASE64URL_NOPAD.encode(bytes)});
        let line = format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "method": "carrier.parcel", "params": params})
        );
        let seen = self.seen.lock().unwrap();
        let mut holders = seen.attached.iter().rev();
        let (_, stream) = holders
            .find(|(name, _)| name == carrier)
            .expect("somebody carries");
        (&*stream).write_all(line.as_bytes()).unwrap();
        id
    }

    /// What the gateway says of a parcel.
    pub(crate) fn fate_of(&self, id: u64) -> Option<bool> {
        self.seen.lock().unwrap().left.get(&id).copied()
    }

    pub(crate) fn is_attached(&self, carrier: &str) -> bool {
        self.seen
            .lock()
            .unwrap()
            .attached
            .iter()
            .any(|(name, _)| name == carrier)
    }

    /// Whoever was attached is gone: only who attaches from now on counts.
    pub(crate) fn forget_attached(&self) {
        self.seen.lock().unwrap().attached.clear();
    }

    pub(crate) fn delivered(&self) -> Vec<Vec<u8>> {
        self.seen.lock().unwrap().delivered.clone()
    }

    /// Goes away: nothing answers at the socket any more.
    pub(crate) fn go_away(&self) {
        // This daemon has gone away before, and another one may listen at the same path by now: do not remove its
        // socket.
        if self.stop.swap(true, Ordering::SeqCst) {
            return;
        }
        let _ = UnixStream::connect(&self.socket);
        let _ = std::fs::remove_file(&self.socket);
        for (_, stream) in self.seen.lock().unwrap().attached.drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.go_away();
    }
}

struct Served {
    stream: UnixStream,
    seen: Arc<Mutex<Seen>>,
    is_stuck: Arc<AtomicBool>,
    agent: String,
    snapshot: Value,
}

impl Served {
    fn serve(self) {
        let this = Arc::new(self);
        let reader = BufReader::new(this.stream.try_clone().unwrap());
        for line in reader.lines() {
            let Ok(line) = line else { return };
            let call: Value = serde_json::from_str(&line).unwrap();
            // As the daemon does, each call is answered when it is done, in whatever order.
            let this = Arc::clone(&this);
            std::thread::spawn(move || {
                let result = this.answer(call["method"].as_str().unwrap(), &call["params"]);
                let answer = format!(
                    "{}\n",
                    json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
                );
                let _ = (&this.stream).write_all(answer.as_bytes());
            });
        }
    }

    fn answer(&self, method: &str, params: &Value) -> Value {
        match method {
            "carrier.attach" => {
                let name = params["carrier"].as_str().unwrap().to_owned();
                let stream = self.stream.try_clone().unwrap();
                self.seen.lock().unwrap().attached.push((name, stream));
                json!({"agent": self.agent, "largest": 262_144})
            }
            "carrier.deliver" => self.deliver(params),
            "carrier.left" => {
                let (id, held) = (
                    params["id"].as_u64().unwrap(),
                    params["held"].as_bool().unwrap(),
                );
                self.seen.lock().unwrap().left.insert(id, held);
                json!({"known": true})
            }
            "carrier.trust" if params["epoch"] == "1" => {
                std::thread::sleep(Duration::from_secs_f64(
                    params["wait"].as_f64().unwrap_or(0.0).min(2.0),
                ));
                json!({"epoch": "1"})
            }
            "carrier.trust" => json!({"epoch": "1", "snapshot": self.snapshot}),
            "carrier.routes" => {
                let seen = self.seen.lock().unwrap();
                let peers = seen
                    .polls
                    .iter()
                    .map(|(peer, address)| json!({"peer": peer, "address": address}));
                json!({"peers": peers.collect::<Vec<_>>(), "dials-out": !seen.polls.is_empty()})
            }
            "carrier.poll" => {
                let mut seen = self.seen.lock().unwrap();
                seen.made_after.push(params["after"].clone());
                let address = &seen
                    .polls
                    .iter()
                    .find(|(peer, _)| params["peer"] == **peer)
                    .unwrap()
                    .1;
                json!({"address": address, "bytes": BASE64URL_NOPAD.encode(b"{\"a\":\"poll\"}")})
            }
            "carrier.transparency" => self.transparency(params),
            other => panic!("the gateway calls {other}"),
        }
    }

    fn deliver(&self, params: &Value) -> Value {
        while self.is_stuck.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let messages = params["messages"].as_array().unwrap();
        assert!((1..=64).contains(&messages.len()), "{}", messages.len());
        let bytes = messages.iter().map(|text| {
            BASE64URL_NOPAD
                .decode(text.as_str().unwrap().as_bytes())
                .unwrap()
        });
        let bytes: Vec<_> = bytes.collect();
        let is_poll = bytes
            .iter()
            .any(|bytes| String::from_utf8_lossy(bytes).contains("agent.poll"));
        let mut seen = self.seen.lock().unwrap();
        seen.delivered.extend(bytes);
        let mut answer = json!({"accepted": messages.len(), "refused": 0, "counted": 0});
        if is_poll {
            answer["kept"] = seen
                .kept
                .iter()
                .map(|bytes| BASE64URL_NOPAD.encode(bytes))
                .collect();
        }
        answer
    }

    fn transparency(&self, params: &Value) -> Value {
        let after = params["after"].as_u64();
        let until = Instant::now()
            + Duration::from_secs_f64(params["wait"].as_f64().unwrap_or(0.0).min(1.0));
        loop {
            let seen = self.seen.lock().unwrap();
            let newest = seen
                .shown
                .iter()
                .filter_map(|one| one["line"].as_u64())
                .max()
                .unwrap_or(0);
            let after = after.unwrap_or(newest);
            let new = seen
                .shown
                .iter()
                .filter(|one| one["line"].as_u64() > Some(after));
            let new: Vec<Value> = new.take(32).cloned().collect();
            drop(seen);
            if !new.is_empty() || Instant::now() > until {
                let through = new
                    .last()
                    .map_or(after, |last| last["line"].as_u64().unwrap());
                return json!({"messages": new, "through": through});
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
