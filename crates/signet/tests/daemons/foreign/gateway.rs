//! A stand-in for the program that carries bytes by HTTP: it hands what leaves one daemon to the carrier socket
//! of the other, and knows nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::{Client, ClientError};

use crate::house::{Home, PATIENCE, eventually};

/// What stands for the network between gateways: whose carrier socket is behind which address.
#[derive(Clone, Default)]
pub struct Wire {
    inboxes: Arc<Mutex<BTreeMap<String, PathBuf>>>,
    /// What went by it: to which address, as base64url.
    sent: Arc<Mutex<Vec<(String, String)>>>,
}

/// One that is attached to a daemon, until the daemon ends.
pub struct Gateway {
    thread: JoinHandle<()>,
}

/// The address of an agent on the wire.
pub fn address(home: &Home) -> String {
    format!(
        "https://{}.example/agent/{}/inbox",
        home.principal, home.agent
    )
}

impl Wire {
    pub fn sent(&self) -> Vec<(String, String)> {
        self.sent.lock().unwrap().clone()
    }

    /// Others reach the agent by the wire.
    pub fn opens(&self, home: &Home) {
        let mut inboxes = self.inboxes.lock().unwrap();
        inboxes.insert(address(home), socket(home));
    }

    /// Whether what is behind that address took it, and what it gave for a poll.
    pub fn post(&self, to: &str, bytes: &str, wait: f64) -> Option<Value> {
        self.sent
            .lock()
            .unwrap()
            .push((to.to_owned(), bytes.to_owned()));
        let inbox = self.inboxes.lock().unwrap().get(to).cloned()?;
        let mut client = Client::connect(&inbox, PATIENCE).ok()?;
        let params = json!({"carrier": "http", "messages": [bytes], "wait": wait});
        client.raw("carrier.deliver", &params).ok()
    }
}

fn socket(home: &Home) -> PathBuf {
    home.dir.join("carrier.sock")
}

/// A connection to the carrier socket of a home.
pub fn carrier(home: &Home) -> Client {
    Client::connect(&socket(home), PATIENCE).unwrap()
}

/// Attaches to the daemon, and delivers what leaves it by the wire.
pub fn attach(home: &Home, wire: &Wire) -> Gateway {
    attach_with(home, wire, |wire, to, bytes| {
        wire.post(to, bytes, 0.0).is_some()
    })
}

/// The same for one that does as it likes with what it is given, and says of it what it likes.
pub fn attach_with(
    home: &Home,
    wire: &Wire,
    takes: impl Fn(&Wire, &str, &str) -> bool + Send + 'static,
) -> Gateway {
    let socket = socket(home);
    let mut holder = eventually("the carrier socket", || {
        Client::connect(&socket, PATIENCE).ok()
    });
    holder
        .raw("carrier.attach", &json!({"carrier": "http"}))
        .unwrap();
    let (mut reports, wire) = (carrier(home), wire.clone());
    let thread = std::thread::spawn(move || {
        for parcel in holder.notifications() {
            let Ok(parcel) = parcel else { return };
            assert_eq!(parcel.method, "carrier.parcel");
            let (to, bytes) = (&parcel.params["address"], &parcel.params["bytes"]);
            let held = takes(&wire, to.as_str().unwrap(), bytes.as_str().unwrap());
            let id = parcel.params["id"].clone();
            let left = json!({"carrier": "http", "id": id, "held": held});
            // Ignore a failure: the daemon may have stopped before this report.
            let _ = reports.raw("carrier.left", &left);
        }
    });
    eventually("the carrier is up", || {
        let status = home.call("status", &json!({})).ok()?;
        (status["connected"] == true).then_some(())
    });
    Gateway { thread }
}

impl Gateway {
    /// The daemon has stopped.
    pub fn ended(self) {
        self.thread.join().unwrap();
    }
}

/// The program of an agent that can only dial out: it polls its peers until the daemon is gone.
pub fn poll_for_ever(home: &Home, wire: &Wire) -> JoinHandle<()> {
    let (mut client, wire) = (carrier(home), wire.clone());
    std::thread::spawn(move || {
        let mut after: BTreeMap<String, String> = BTreeMap::new();
        while let Ok(routes) = client.raw("carrier.routes", &json!({"carrier": "http"})) {
            assert_eq!(routes["dials-out"], true);
            for route in routes["peers"].as_array().unwrap() {
                let peer = route["peer"].as_str().unwrap();
                let last = after.get(peer);
                match poll_once(&mut client, &wire, peer, last.map(String::as_str)) {
                    Ok(Some(last)) => drop(after.insert(peer.to_owned(), last)),
                    Ok(None) => {}
                    Err(_) => return,
                }
            }
            std::thread::sleep(Duration::from_millis(110));
        }
    })
}

/// One poll; the message-id of the last message that it brought.
pub fn poll_once(
    client: &mut Client,
    wire: &Wire,
    peer: &str,
    after: Option<&str>,
) -> Result<Option<String>, ClientError> {
    let mut asked = json!({"carrier": "http", "peer": peer});
    if let Some(after) = after {
        asked["after"] = after.into();
    }
    let made = client.raw("carrier.poll", &asked)?;
    let (to, bytes) = (
        made["address"].as_str().unwrap(),
        made["bytes"].as_str().unwrap(),
    );
    let Some(kept) = wire
        .post(to, bytes, 0.2)
        .and_then(|answer| answer.get("kept").cloned())
    else {
        return Ok(None);
    };
    let kept = kept.as_array().unwrap().clone();
    let Some(last) = kept.last().map(|last| message_id(last.as_str().unwrap())) else {
        return Ok(None);
    };
    client.raw(
        "carrier.deliver",
        &json!({"carrier": "http", "messages": kept}),
    )?;
    Ok(Some(last))
}

/// The bytes of one message.
pub fn decoded(text: &str) -> Vec<u8> {
    data_encoding::BASE64URL_NOPAD
        .decode(text.as_bytes())
        .unwrap()
}

fn message_id(text: &str) -> String {
    let message: Value = serde_json::from_slice(&decoded(text)).unwrap();
    let places = ["/params", "/result", "/error/data"];
    let found = places
        .iter()
        .find_map(|place| message.pointer(&format!("{place}/headers/message-id")));
    found.unwrap().as_str().unwrap().to_owned()
}
