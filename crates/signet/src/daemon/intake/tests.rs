use signet_proto::certificate::Certificate;
use signet_proto::envelope::{Message, Unverified};
use signet_proto::ids::AgentId;
use signet_proto::keys::{KeyTables, TableBudget};
use signet_proto::trust::TrustStore;

use super::*;

const PROTOCOL: &str = include_str!("../../../../../docs/protocol.md");

fn examples() -> Vec<Message> {
    let blocks = PROTOCOL.split("```json\n").skip(1);
    let texts = blocks.map(|block| block.split("\n```").next().unwrap());
    let parsed = texts.map(|text| Unverified::parse(text.as_bytes()).unwrap());
    parsed.map(|message| message.claims().clone()).collect()
}

/// The trust of whoever gets this message, in its sender alone, with a table of the sender's key.
fn view(message: &Message, all: &[Message]) -> TrustView {
    let certificates = all
        .iter()
        .filter_map(|message| message.body()?.get("certificate"));
    let certificates: Vec<Certificate> = certificates
        .map(|value| Certificate::parse(value).unwrap())
        .collect();
    let of = |agent: &AgentId| certificates.iter().find(|known| known.agent == *agent);
    let mut store = TrustStore::new(of(&message.headers.recipient_id).unwrap());
    store.bind(of(&message.headers.agent_id).unwrap()).unwrap();
    let tables = Arc::new(KeyTables::new(TableBudget::AT_ONCE));
    store.view().with_tables(tables)
}

fn arrival(bytes: &[u8]) -> RawArrival {
    RawArrival {
        bytes: Bytes::copy_from_slice(bytes),
        kind: ArrivalKind::Whole,
        ticket: None,
    }
}

#[test]
fn forgeries_in_a_peers_name_are_paid_from_the_strangers_allowance() {
    let all = examples();
    let is_flight = |message: &&Message| {
        let method = message.form.method();
        method.is_some_and(|method| method.is_handshake())
    };
    let mut messages = all.iter().filter(|message| !is_flight(message));
    let honest = messages.next().unwrap();
    let other = messages.next().unwrap();
    let text = String::from_utf8(honest.canonical().to_vec()).unwrap();
    let signature = |message: &Message| data_encoding::BASE64URL_NOPAD.encode(message.signature());
    let forged = text.replace(&signature(honest), &signature(other));
    assert_ne!(forged, text);

    let view = view(honest, &all);
    let chunk = (0..640).map(|n| match n % 4 {
        0 => arrival(text.as_bytes()),
        _ => arrival(forged.as_bytes()),
    });
    let allowance = Mutex::new(LineAllowance::default());
    let left = || allowance.lock().unwrap().left(clock::now());
    let before = left();
    let by = CarrierId::NATS;
    let judged = judge(chunk.collect(), &by, &view, &allowance, &Meters::default());
    let strangers: Vec<bool> = judged.iter().map(|(one, _)| one.is_strangers()).collect();
    let wanted: Vec<bool> = (0..640).map(|n| n % 4 != 0).collect();
    assert_eq!(strangers, wanted);
    // The allowance grows by a hundred lines a second: it would take seconds to get all of these back.
    let spent = before - left();
    assert!((1..=480).contains(&spent), "{spent} of 480 were paid");
}
