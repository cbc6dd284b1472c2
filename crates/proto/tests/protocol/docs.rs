//! docs/protocol.md says what the code does: its table of reasons is the code's, and its examples
//! are real messages that verify.

use signet_proto::certificate::Certificate;
use signet_proto::entry::Entry;
use signet_proto::envelope::{Message, Unverified};
use signet_proto::ids::Digest;
use signet_proto::reject::Reason;
use signet_proto::trust::TrustStore;

use crate::generated::keep_between;

const PROTOCOL: &str = include_str!("../../../../docs/protocol.md");
/// Of the table of reasons.
const HEAD: &str = "| reason | code | check | what it means and what to do |\n|---|---|---|---|\n";

#[test]
fn the_table_of_reasons_is_that_of_the_code() {
    let rows = Reason::ALL.iter().map(|reason| {
        let (name, code, check) = (reason.name(), reason.code(), reason.check());
        format!("| `{name}` | {code} | {check} | {} |\n", reason.text())
    });
    let rows: String = rows.collect();
    keep_between("docs/protocol.md", HEAD, "<!-- /reasons -->", &rows);
}

/// The kinds of the log's files are not in the table of kinds: they stand behind these on the page.
#[test]
fn the_kinds_of_the_page_are_those_of_the_table() {
    let kinds = Entry::kinds().into_iter().filter(|kind| *kind != "message");
    let names: Vec<String> = kinds.map(|kind| format!("`{kind}`")).collect();
    let start = "- `kind`: `message`, or what else happened: ";
    let end = "; of the log's files ";
    keep_between("audit/README.md", start, end, &names.join(", "));
}

#[test]
fn every_reason_is_explained_under_its_check() {
    let acceptance = between("## 8. Acceptance", "## 9.");
    for reason in Reason::ALL
        .iter()
        .filter(|reason| !matches!(reason, Reason::PeerRefused | Reason::Declined))
    {
        let name = format!("`{}`", reason.name());
        assert!(
            acceptance.contains(&name),
            "{name} stands nowhere in section 8 of docs/protocol.md: write there when it is given"
        );
        assert!(
            acceptance.contains(&format!("### {} ", reason.check())),
            "{name}"
        );
    }
}

#[test]
fn the_reasons_that_a_peer_can_give_are_those_that_section_9_names() {
    let named = between("be one that a peer can give", "which cost a number (V06)");
    for reason in Reason::ALL {
        let by_check = matches!(reason.check(), "V09" | "V10" | "V12");
        let by_name = named.contains(&format!("`{}`", reason.name()));
        assert_eq!(reason.travels(), by_check || by_name, "{reason}");
    }
}

/// Tables of keys give the verdict of one version of each library, as docs/decisions/0016 says.
#[test]
fn the_libraries_are_those_that_tables_were_held_against() {
    let lock = include_str!("../../../../Cargo.lock");
    let decision = include_str!("../../../../docs/decisions/0016-tables-of-keys.md");
    let versions = |name: &str| -> Vec<&str> {
        let packages = lock.split("[[package]]").map(str::trim);
        let named = packages.filter_map(|text| {
            let text = text.strip_prefix("name = \"")?.strip_prefix(name)?;
            let version = text.strip_prefix("\"\nversion = \"")?;
            version.split('"').next()
        });
        named.collect()
    };
    for name in ["ed25519-dalek", "curve25519-dalek", "crrl"] {
        let found = versions(name);
        assert!(!found.is_empty(), "Cargo.lock has no {name}");
        for version in found {
            assert!(
                decision.contains(&format!("{name} {version}")),
                "Cargo.lock has {name} {version}, which docs/decisions/0016-tables-of-keys.md does not name: look at \
                 verify_strict and at the differential tests in crates/proto/src/keys/tables/tests.rs (with the ten million \
                 mutations), and write the version there once they hold"
            );
        }
    }
}

#[test]
fn the_examples_are_messages_that_verify() {
    let messages = examples();
    assert_eq!(messages.len(), 9, "one of each form and method served");
    let certificates: Vec<Certificate> = messages
        .iter()
        .filter_map(|message| message.body()?.get("certificate"))
        .map(|value| Certificate::parse(value).expect("its root signature holds"))
        .collect();
    for message in messages {
        let of = |name| certificates.iter().find(|known| known.agent == name);
        let headers = &message.headers;
        let own = of(headers.recipient_id.clone()).expect("both agents announce themselves");
        let peer = of(headers.agent_id.clone()).expect("both agents announce themselves");
        let mut store = TrustStore::new(own);
        store.bind(peer).expect("two people, one agent each");
        let unverified = Unverified::parse(message.canonical()).unwrap();
        unverified
            .verify(store.view())
            .verified()
            .expect("the signature holds");
    }
}

#[test]
fn the_flights_of_the_examples_hash_to_their_session() {
    let messages = examples();
    let flights = messages.iter().filter(|message| {
        let method = message.form.method();
        method.is_some_and(|method| method.is_handshake())
    });
    let mut running = Digest::of(&[b"signet/1 handshake"]);
    for flight in flights {
        let carried = flight
            .body()
            .and_then(|body| body.get("transcript"))
            .and_then(|text| text.as_str());
        assert!(
            carried.is_none_or(|text| text == running.to_string()),
            "{:?}",
            flight.form
        );
        running = Digest::of(&[running.as_bytes(), flight.hash().as_bytes()]);
    }
    let sessions = messages
        .iter()
        .filter_map(|message| message.headers.session);
    for session in sessions {
        assert_eq!(session.to_string(), running.to_string());
    }
}

fn examples() -> Vec<Message> {
    let blocks = PROTOCOL.split("```json\n").skip(1);
    let text = |block: &'static str| block.split("\n```").next().expect("the block ends");
    blocks
        .map(|block| {
            let parsed = Unverified::parse(text(block).as_bytes());
            parsed
                .expect("an example is a whole message")
                .claims()
                .clone()
        })
        .collect()
}

fn between(start: &str, end: &str) -> &'static str {
    let from = PROTOCOL.split_once(start).expect("the start is there").1;
    from.split_once(end).expect("the end is there").0
}
