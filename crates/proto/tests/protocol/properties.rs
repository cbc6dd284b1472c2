//! What is written is read again unchanged, and no bytes make anything panic.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{
    Alarm, AlarmLine, ApprovalLine, AttemptLine, CauseLine, ClockLine, Did, Direction, DraftLine,
    Entry, Evidence, Flood, HoleLine, OutcomeLine, Ruling, TrustChange, Verdict,
};
use signet_proto::envelope::{Claimed, Form, KeptIn, Method, Unverified};
use signet_proto::headers::{MessageType, Tier};
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::reject::Reason;
use signet_proto::seal::{self, Opened};
use signet_proto::statement::{Approval, Decision, Revocation};

use crate::forge::{self, id, in_session, recipient, sign};
use crate::household::{self, Agent, alice_and_bob, at, audit_secret, identity, reread, rng};

/// What has been used to drive terminals, forge lines and hide words.
const HOSTILE: [&str; 10] = [
    "\u{1b}[2J\u{1b}]0;owned\u{7}",
    "one line\n{\"v\":1,\"seq\":2}",
    "\u{202e}txt.exe\u{2066}\u{2069}",
    "\u{2028}\u{2029}\u{85}\u{7f}\u{9b}31m",
    "\u{feff}zero\u{200b}width\u{200d}",
    "\"},\"signature\":\"AAAA\",\"x\":{\"",
    "\\u0022\\",
    "\0\u{1}\u{1f}",
    "\u{1f469}\u{200d}\u{1f680}\u{e000}\u{10ffff}",
    "e\u{301} is not \u{e9}",
];

/// A poll has no line in the log.
fn that_leave_a_line() -> Vec<Method> {
    let mut methods = Method::ALL.to_vec();
    methods.retain(|method| method.kept() != KeptIn::Nowhere);
    methods
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53) + 1..1 << 53).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Call(Method::Request)),
        Just(Form::Call(Method::Notification)),
        Just(Form::Call(Method::Handoff)),
        Just(Form::Success),
        (any::<i32>(), text()).prop_map(|(code, message)| Form::Failure {
            code: code.into(),
            message,
            reason: "declined".into(),
        }),
    ]
}

prop_compose! {
    fn draft()(
        form in form(),
        summary in prop::option::of(text()),
        body in json_value(),
        data_tier in prop::sample::select(Tier::ALL.to_vec()),
        named in any::<bool>(),
        hops in 1_u8..=9,
        life in 1_u64..604_800,
    ) -> Draft {
        let answer = form.method().is_none();
        Draft {
            summary,
            data_tier,
            capability: named.then(|| "calendar.free-busy".parse().unwrap()),
            conversation_id: named.then(|| "talk:1".parse().unwrap()),
            in_reply_to: (named || answer).then(|| id("earlier")),
            hops,
            life: Duration::from_secs(life),
            form,
            ..Draft::call(Method::Request, recipient("agent-bob"), id("m"), body)
        }
    }
}

fn alice() -> Identity {
    identity("agent-alice", "alice")
}

fn stamp() -> Stamp {
    Stamp {
        now: at(0).now,
        session: Some(SessionId(Digest([3; 32]))),
        sequence: Some(7),
        audit_head: None,
        version: Version::CURRENT,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_draft_survives_the_log(draft in draft(), needs_approval in any::<bool>()) {
        let root = alice().certificate.root.id();
        let (value, copy) = draft.to_value(&alice(), at(0).now, &mut rng()).unwrap();
        let entry = Entry::Draft(DraftLine {
            peer: draft.recipient.clone(),
            message_id: draft.message_id,
            approve: needs_approval.then_some(root),
            life: draft.life.as_secs(),
            message: value,
            copy,
            client_key: None,
        });
        let again = reread(&entry);
        prop_assert_eq!(&again, &entry);
        let Entry::Draft(line) = again else { panic!() };
        let life = Duration::from_secs(line.life);
        let stored = Draft::parse(line.message, life).unwrap();
        prop_assert_eq!(stored.open(&alice()), Ok(draft));
    }

    #[test]
    fn a_revocation_survives_the_log(serial in 1_u64..1 << 53, why in text(), ms in 0_i64..1 << 40) {
        let (person, agent) = ("alice".parse().unwrap(), recipient("agent-alice"));
        let root = household::key("root of alice");
        let signed = Revocation::sign(&person, &agent, serial, &why, at(ms).now, &root);
        prop_assume!(!why.is_empty());
        let entry = Entry::Revoked(signed.unwrap());
        prop_assert_eq!(reread(&entry), entry);
    }

    #[test]
    fn a_pause_survives_the_log(paused in any::<bool>(), serial in 1_u64..1 << 53) {
        let entry = Entry::Pause(household::people::pause("alice", paused, serial));
        prop_assert_eq!(reread(&entry), entry);
    }

    #[test]
    fn an_approval_survives_the_log(draft in any::<[u8; 32]>(), granted in any::<bool>()) {
        let decision = if granted { Decision::Approved } else { Decision::Refused };
        let (control, key) = (household::control("alice"), household::key("control of alice"));
        let approval = Approval::sign(Digest(draft), decision, at(0).now, &control, &key);
        let entry = Entry::Approval(ApprovalLine {
            peer: recipient("agent-bob"),
            message_id: id("m"),
            approval: approval.unwrap(),
        });
        prop_assert_eq!(reread(&entry), entry);
    }

    #[test]
    fn a_signed_message_says_what_the_draft_said(draft in draft()) {
        let bob = &identity("agent-bob", "bob").secrets[0];
        let sealing = draft.clone().seal_and_sign(&alice(), stamp(), bob.public(), &mut rng());
        let (signed, copy) = sealing.unwrap();
        let read = Unverified::parse(signed.bytes()).unwrap();
        let message = read.claims();
        prop_assert_eq!(message, &**signed.message());
        prop_assert_eq!(message.sealed.is_some(), draft.data_tier > Tier::Household);
        prop_assert_eq!(copy.is_some(), draft.data_tier > Tier::Household);
        for (sealed, secret) in [(&message.sealed, bob), (&copy, &audit_secret("alice"))] {
            let opened = match sealed {
                Some(sealed) => seal::open(sealed, secret, message).unwrap().0,
                None => Opened { summary: message.summary.clone(), body: message.body().cloned() },
            };
            prop_assert_eq!(&opened.summary, &draft.summary);
            prop_assert_eq!(&opened.body, &draft.body);
        }
        prop_assert_eq!(&message.form, &draft.form);
        prop_assert_eq!(message.signed_parts().concat(), {
            let mut value = forge::read(signed.bytes());
            forge::envelope(&mut value).remove("signature");
            signet_json::canonical(&value)
        });
        let entry = Entry::Message(Verdict {
            direction: Direction::Out,
            ruling: Ruling::Sent,
            bytes: signed.bytes().len() as u64,
            hash: message.hash(),
            evidence: Evidence::Whole(signed.message().clone()),
            copy,
        });
        prop_assert_eq!(reread(&entry), entry);
    }

    #[test]
    fn random_bytes_never_panic_and_are_never_answered(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (_, mut bob) = alice_and_bob();
        prop_assert!(bob.hear(at(0), &bytes).is_empty());
        prop_assert_eq!(bob.refusals().len(), 1);
    }

    #[test]
    fn any_json_never_panics_and_is_never_answered(value in json_value()) {
        let (_, mut bob) = alice_and_bob();
        prop_assert!(bob.hear(at(0), &serde_json::to_vec(&value).unwrap()).is_empty());
        prop_assert_eq!(bob.refusals().len(), 1);
    }

    /// Alice herself may be hostile: what she changes is signed again, so that it reaches every check.
    #[test]
    fn signed_mutations_never_panic(method in prop::sample::select(that_leave_a_line()), at_leaf in any::<prop::sample::Index>(), to in json_value()) {
        let alice = alice();
        let place = Some((SessionId(Digest([3; 32])), 1));
        let (from, mut bob) = alice_and_bob();
        let mut value = if method.is_handshake() || method == Method::Receipt {
            announce(from)
        } else {
            in_session(&alice, "agent-bob", method, "m", 0, place)
        };
        let leaves = forge::leaves(&value);
        *value.pointer_mut(&leaves[at_leaf.index(leaves.len())]).unwrap() = to;
        if value.pointer("/params/headers").is_some() {
            bob.hear(at(0), &sign(value, &alice.signing));
            prop_assert!(bob.log.len() >= 2);
        }
    }

    #[test]
    fn bytes_changed_anywhere_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()
    ) {
        let (from, mut bob) = alice_and_bob();
        let mut bytes = sign(announce(from), &alice().signing);
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bob.hear(at(0), &bytes);
        bytes.truncate(cut.index(bytes.len()));
        bob.hear(at(0), &bytes);
    }
}

fn announce(mut alice: Agent) -> Value {
    let sending = signet_proto::node::Sending::Ping;
    let bob = recipient("agent-bob");
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob, sending)
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    forge::read(&household::published(&effects)[0].1)
}

#[test]
fn hostile_summaries_arrive_and_are_remembered_unchanged() {
    for summary in HOSTILE {
        let mut draft = Draft::call(
            Method::Request,
            recipient("agent-bob"),
            id("m"),
            json!(null),
        );
        draft.summary = Some(summary.into());
        let signed = draft.sign(&alice(), stamp()).unwrap();
        let read = Unverified::parse(signed.bytes()).unwrap();
        assert_eq!(read.claims().summary.as_deref(), Some(summary));
        assert!(!signed.bytes().contains(&b'\n') && !signed.bytes().contains(&0x1b));
    }
}

#[test]
fn every_kind_of_entry_is_read_as_it_was_written() {
    let certificate = alice().certificate;
    let claimed = Claimed {
        agent: Some(recipient("agent-eve")),
        message_type: Some(MessageType::Request),
    };
    let verdict = |ruling, evidence| {
        Entry::Message(Verdict {
            direction: Direction::In,
            ruling,
            bytes: 913,
            hash: Digest([5; 32]),
            evidence,
            copy: None,
        })
    };
    let mut entries = vec![
        Entry::Genesis(certificate.clone()),
        Entry::Alarm(AlarmLine {
            peer: certificate.agent.clone(),
            what: Alarm::SecondCopy,
            cleared: false,
        }),
        Entry::Attempt(AttemptLine {
            peer: Some(certificate.agent.clone()),
            reason: "budget-exceeded".into(),
            count: 7,
            tried: None,
            call: None,
        }),
        Entry::Attempt(AttemptLine {
            peer: None,
            reason: "not-for-this-socket".into(),
            count: 1,
            tried: None,
            call: Some("alarms.clear".into()),
        }),
        Entry::Hole(HoleLine {
            peer: certificate.agent.clone(),
            session: SessionId(Digest([7; 32])),
            from: 5,
            to: 7,
        }),
        Entry::Clock(ClockLine {
            peer: certificate.agent.clone(),
            difference_ms: -1,
        }),
        Entry::Flood(Flood {
            count: 1,
            bytes: 2,
            hash: Digest([0; 32]),
        }),
        Entry::Gap(CauseLine {
            cause: HOSTILE.concat(),
        }),
        verdict(
            Ruling::Rejected(Reason::Duplicate),
            Evidence::Copy(claimed.clone()),
        ),
        verdict(
            Ruling::Rejected(Reason::InvalidUtf8),
            Evidence::Raw(vec![0xff; 1024], claimed),
        ),
        verdict(
            Ruling::Rejected(Reason::TooLarge),
            Evidence::Raw(Vec::new(), Claimed::default()),
        ),
    ];
    let changes = [
        TrustChange::Bound,
        TrustChange::Renewed,
        TrustChange::Pending,
        TrustChange::Refused,
        TrustChange::Withdrawn,
        TrustChange::RootChanged,
        TrustChange::RootSucceeded,
        TrustChange::RootReplaced,
    ];
    entries.extend(changes.map(|change| Entry::trust(change, certificate.clone())));
    let did = [
        Did::Acknowledged,
        Did::AnswerFailed,
        Did::DraftExpired,
        Did::DraftRefused,
        Did::Expired,
        Did::Started,
        Did::Failed,
        Did::SetAside,
        Did::Kept,
        Did::Retried,
        Did::Dropped,
    ];
    let reasons = [None, Some("exit status 3, \"\u{202e}\"".to_owned())];
    let told = did.into_iter().zip(reasons.into_iter().cycle());
    entries.extend(told.map(|(what, reason)| {
        Entry::Outcome(OutcomeLine {
            peer: certificate.agent.clone(),
            message_id: id("m"),
            what,
            tries: 5,
            reason,
        })
    }));
    entries.extend(Reason::ALL.iter().map(|reason| {
        verdict(
            Ruling::Rejected(*reason),
            Evidence::Copy(Claimed::default()),
        )
    }));
    for entry in entries {
        assert_eq!(reread(&entry), entry);
    }
}

/// Of tier 3 and 4 in clear only the headers are written, so only they are read again.
#[test]
fn withheld_messages_are_remembered_by_their_headers() {
    let mut value = in_session(&alice(), "agent-bob", Method::Request, "m", 0, None);
    value["params"]["summary"] = "secret".into();
    value["params"]["body"] = "secret".into();
    value["params"]["headers"]["data-tier"] = 3.into();
    let bytes = sign(value, &alice().signing);
    let message = Arc::new(Unverified::parse(&bytes).unwrap().claims().clone());
    let mut verdict = Verdict {
        direction: Direction::In,
        ruling: Ruling::Rejected(Reason::SealRequired),
        bytes: 1,
        hash: message.hash(),
        evidence: Evidence::Headers(message.clone()),
        copy: None,
    };
    let mut line = Vec::new();
    Entry::Message(verdict.clone()).write(&mut line);
    assert!(!String::from_utf8(line).unwrap().contains("secret"));
    let read = reread(&Entry::Message(verdict.clone()));
    let headers = message.headers.to_value().as_object().unwrap().clone();
    verdict.evidence = Evidence::Withheld(headers, Some(Method::Request));
    assert_eq!(read, Entry::Message(verdict));
    assert_eq!(reread(&read), read);
}
