use serde_json::{Value, json};
use signet_audit::Log;
use signet_proto::draft::{Draft, Stamp};
use signet_proto::envelope::Method;
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::node::Node;

use super::*;
use crate::keystore::tests::{Made, now};

/// What Alice says to Bob in her message of that number, as her log has it.
fn said(alice: &Node, number: u64) -> Entry {
    let name = format!("019c3e32-2680-7101-8101-{number:012}");
    let mut draft = Draft::call(
        Method::Notification,
        "agent-bob-001".parse().unwrap(),
        name.parse().unwrap(),
        json!({"n": number}),
    );
    draft.summary = Some(format!("message {number}"));
    let stamp = Stamp {
        now: now(),
        session: Some(SessionId(Digest([1; 32]))),
        sequence: Some(number),
        audit_head: None,
        version: Version::CURRENT,
    };
    let signed = draft.sign(alice.identity(), stamp).unwrap();
    Entry::Message(Verdict {
        direction: Direction::Out,
        ruling: Ruling::Sent,
        bytes: signed.bytes().len() as u64,
        hash: Digest::of(&[signed.bytes()]),
        evidence: Evidence::Whole(Arc::clone(signed.message())),
        copy: None,
    })
}

#[tokio::test]
async fn a_line_that_is_written_and_not_durable_yet_is_shown_to_nobody() {
    let alice = Made::new("agent-alice-001").node();
    let directory = tempfile::tempdir().unwrap();
    let genesis = Entry::Genesis(alice.identity().certificate.clone());
    let mut log = Log::open(directory.path(), now(), &genesis).unwrap();
    for number in 1..=2 {
        log.append(now(), &said(&alice, number)).unwrap();
    }
    let durable = log.commit().unwrap();
    // The third message is in the file too, but `head`, the channel of the newest durable line, does not know of it yet.
    log.append(now(), &said(&alice, 3)).unwrap();
    let later = log.commit().unwrap();
    let (told, head) = watch::channel(Some(durable));
    let reader = TransparencyReader::default();
    let follow = async |after| {
        let sight = TransparencyView {
            reach: Arc::default(),
            trust: alice.trust().clone(),
            log: directory.path().to_owned(),
        };
        let (reply, answered) = ReplySender::new();
        reader.follow(
            sight,
            Some(after),
            MOST,
            Duration::ZERO,
            head.clone(),
            reply,
        );
        let read = answered.await.unwrap().unwrap();
        let read: Value = serde_json::from_str(read.get()).unwrap();
        let shown = read["messages"].as_array().unwrap().iter();
        let shown: Vec<u64> = shown.map(|one| one["line"].as_u64().unwrap()).collect();
        (shown, read["through"].as_u64().unwrap())
    };
    assert_eq!(follow(0).await, (vec![2, 3], 3));
    assert_eq!(follow(3).await, (vec![], 3));
    assert_eq!(follow(0).await, (vec![2, 3], 3));
    told.send_replace(Some(later));
    assert_eq!(follow(3).await, (vec![4], 4), "it goes on where it was");
    assert_eq!(follow(4).await, (vec![], 4));
}
