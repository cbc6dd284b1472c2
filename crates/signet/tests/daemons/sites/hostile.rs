//! Somebody who has the password of one household at the hub tries to read, take, count, block and forge another's mail.

use std::time::Duration;

use async_nats::{Client, HeaderMap};
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::leaves::set_up;
use crate::house::{Home, House, Leaves, eventually};
use crate::mailbox::all_arrive_once;

/// One step of the attacker on a server of its own, which the hub takes for the household's.
struct Attempt {
    kind: &'static str,
    step: Step,
}

enum Step {
    /// Subscribes this subject, alone or in a queue group.
    Subscribe(String, Option<&'static str>),
    /// Publishes these bytes there, with a reply subject of its own.
    Publish(String, String),
}

#[test]
fn a_stolen_password_of_one_household_reads_takes_counts_blocks_and_forges_nothing_of_another_s() {
    let house = House::with_jetstream();
    let homes = ["alice", "bob", "carol"].map(|name| house.home(name));
    house.acquaint(&homes.each_ref());
    let admin = house.path("admin.nk");
    let mut leaves = Leaves::of(&homes.each_ref().map(|home| vec![home]), &admin);
    let [mut alice, mut bob, mut carol] = homes;
    for (home, household) in [&mut alice, &mut bob, &mut carol]
        .into_iter()
        .zip(&leaves.households)
    {
        home.served_by(household.server.port());
        set_up(&[home], &admin);
        home.start();
        home.has_mailbox(true);
    }
    alice.ping(&bob);
    alice.ping(&carol);
    bob.stop();
    let hostile = leaves.hostile(2);
    let attempts = attempts(&alice, &bob, &carol);
    assert!(attempts.len() >= 40, "{}", attempts.len());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let attacker = runtime.block_on(async {
        let client = async_nats::connect(hostile.url()).await.unwrap();
        Attacker::begin(client, &attempts).await
    });
    // The hub takes the hostile server for one of the household: what is for Carol comes to it as well.
    let mut sent = Vec::new();
    let seen = eventually(
        "the attacker sees mail of the household whose password it has",
        || {
            alice
                .send(&carol, "notification", &json!({"for": "carol"}))
                .unwrap();
            let seen = runtime.block_on(attacker.heard(Duration::from_millis(500)));
            seen.iter()
                .any(|(_, payload)| payload.contains("jsonrpc"))
                .then_some(seen)
        },
    );
    only_for(&carol, &seen);
    for n in 0..5 {
        sent.push(
            alice
                .send(&bob, "notification", &json!({ "n": n }))
                .unwrap(),
        );
    }
    eventually("the mailbox holds Bob's mail", || {
        (alice.standing(&bob.agent, "unconfirmed") == 5).then_some(())
    });
    runtime.block_on(attacker.publish(&attempts));
    let mut seen = runtime.block_on(attacker.heard(Duration::from_secs(3)));
    bob.start();
    for n in 5..10 {
        sent.push(
            alice
                .send(&bob, "notification", &json!({ "n": n }))
                .unwrap(),
        );
    }
    let begun = std::time::Instant::now();
    while bob.inbox().len() < sent.len() {
        assert!(begun.elapsed() < LONGEST, "{LONGEST:?} and no end");
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("Bob's mail was held up for {:.1?}", begun.elapsed());
    all_arrive_once(&alice, &bob, &sent);
    bob.ping(&alice);
    seen.extend(runtime.block_on(attacker.heard(Duration::from_secs(2))));
    only_for(&carol, &seen);
    let answered: Vec<_> = seen
        .iter()
        .filter(|(_, payload)| payload.contains("\"type\":\"io.nats"))
        .collect();
    assert!(
        answered.is_empty(),
        "JetStream of another household answers: {answered:?}"
    );
    for home in [&alice, &bob] {
        assert!(!home.said().contains(LOSS), "{}", home.said());
    }
    // From here on nobody but the attacker keeps Carol's mail, and by its confirmations each message is the first.
    leaves.households[2].server.kill();
    let answer = || {
        alice
            .send(&carol, "notification", &json!({"for": "carol"}))
            .unwrap();
        runtime.block_on(async {
            attacker.heard(Duration::from_millis(500)).await;
            attacker.confirm().await;
        });
    };
    eventually("Alice believes that Carol's mailbox begins anew", || {
        answer();
        alice.said().contains(LOSS).then_some(())
    });
    (0..5).for_each(|_| answer());
    alice.ping(&bob);
    assert_eq!(alice.said().matches(LOSS).count(), 1, "{}", alice.said());
}

const LOSS: &str = "lost its mailboxes";

/// The mail of a household is held up for at most so long.
const LONGEST: Duration = Duration::from_secs(60);

/// Everything that was seen is for this home: its mail, and what its peers' mailboxes confirm to it.
fn only_for(home: &Home, seen: &[(String, String)]) {
    let (inbox, replies) = (home.subject(), format!("_INBOX_{}.", home.agent));
    for (subject, payload) in seen {
        let is_own = payload.contains(MARK)
            || payload.is_empty()
            || *subject == inbox
            || subject.starts_with(&replies);
        assert!(is_own, "{subject}: {payload}");
    }
}

/// Subscriptions that listen, and a client to publish with.
struct Attacker {
    client: Client,
    heard: tokio::sync::Mutex<futures_util::stream::SelectAll<async_nats::Subscriber>>,
    reply: String,
    /// Where the mail that was seen is to be confirmed.
    unanswered: std::sync::Mutex<Vec<String>>,
}

impl Attacker {
    async fn begin(client: Client, attempts: &[Attempt]) -> Self {
        let reply = client.new_inbox();
        let mut heard = vec![client.subscribe(reply.clone()).await.unwrap()];
        for attempt in attempts {
            let subscribed = match &attempt.step {
                Step::Subscribe(subject, None) => client.subscribe(subject.clone()).await,
                Step::Subscribe(subject, Some(queue)) => {
                    client
                        .queue_subscribe(subject.clone(), (*queue).to_owned())
                        .await
                }
                Step::Publish(..) => continue,
            };
            heard.push(subscribed.unwrap_or_else(|error| panic!("{}: {error}", attempt.kind)));
        }
        client.flush().await.unwrap();
        let heard = tokio::sync::Mutex::new(futures_util::stream::select_all(heard));
        Self {
            client,
            heard,
            reply,
            unanswered: std::sync::Mutex::default(),
        }
    }

    /// Confirms all mail that was seen as the first of its stream, and numbers behind it, which others' mail has.
    async fn confirm(&self) {
        let replies = std::mem::take(&mut *self.unanswered.lock().unwrap());
        for reply in &replies {
            let (prefix, token) = reply.rsplit_once('.').unwrap();
            let (number, secret) = token.split_once('-').unwrap();
            let number: u64 = number.parse().unwrap();
            let guessed = (1..=100).flat_map(|further| {
                let number = number + further;
                [number.to_string(), format!("{number}-{secret}")]
            });
            for token in guessed.chain([token.to_owned()]) {
                let mut headers = HeaderMap::new();
                headers.insert("Signet-Test", MARK);
                let word = "{\"stream\":\"AGENT_INBOX\",\"seq\":1}";
                let subject = format!("{prefix}.{token}");
                let sent = self
                    .client
                    .publish_with_headers(subject, headers, word.into());
                sent.await.unwrap();
            }
        }
        self.client.flush().await.unwrap();
    }

    async fn publish(&self, attempts: &[Attempt]) {
        for attempt in attempts {
            if let Step::Publish(subject, payload) = &attempt.step {
                let mut headers = HeaderMap::new();
                headers.insert("Signet-Test", MARK);
                let (subject, reply) = (subject.clone(), self.reply.clone());
                let sent = self.client.publish_with_reply_and_headers(
                    subject,
                    reply,
                    headers,
                    payload.clone().into(),
                );
                sent.await
                    .unwrap_or_else(|error| panic!("{}: {error}", attempt.kind));
            }
        }
        self.client.flush().await.unwrap();
    }

    /// The messages that came within `time`, with the attacker's own messages left out: subject and payload.
    async fn heard(&self, time: Duration) -> Vec<(String, String)> {
        let (until, mut seen) = (Instant::now() + time, Vec::new());
        let mut heard = self.heard.lock().await;
        while let Ok(Some(message)) = timeout_at(until, heard.next()).await {
            let is_own = message
                .headers
                .as_ref()
                .is_some_and(|headers| headers.get("Signet-Test").is_some());
            let reply = message.reply.as_ref().map(ToString::to_string);
            let is_mail = message.subject.ends_with(".inbox");
            if let Some(reply) = reply.filter(|_| is_mail && !is_own) {
                self.unanswered.lock().unwrap().push(reply);
            }
            if !is_own {
                let payload = String::from_utf8_lossy(&message.payload).into_owned();
                seen.push((message.subject.to_string(), payload));
            }
        }
        seen
    }
}

/// By kind; the mail is Bob's, and Alice sends it.
fn attempts(alice: &Home, bob: &Home, carol: &Home) -> Vec<Attempt> {
    let (alice, bob, carol) = (&alice.agent, &bob.agent, &carol.agent);
    let mut all = Vec::new();
    let mut subscribe = |kind, subject: String, queue| {
        all.push(Attempt {
            kind,
            step: Step::Subscribe(subject, queue),
        })
    };
    for agent in [alice, bob] {
        subscribe("read an inbox", format!("agent.{agent}.inbox"), None);
        subscribe(
            "take an inbox in a queue group",
            format!("agent.{agent}.inbox"),
            Some("q"),
        );
        subscribe(
            "read what mailboxes confirm",
            format!("_INBOX_{agent}.>"),
            None,
        );
        subscribe(
            "read what belongs to an agent",
            format!("agent.{agent}.>"),
            None,
        );
        subscribe(
            "read how mail is settled",
            format!("$JS.ACK.AGENT_INBOX.{agent}.>"),
            None,
        );
        subscribe(
            "read pulls",
            format!("$JS.API.CONSUMER.MSG.NEXT.AGENT_INBOX.{agent}"),
            None,
        );
    }
    for subject in [
        "agent.*.inbox",
        "agent.>",
        ">",
        "*.*.*",
        "$JS.>",
        "$SYS.>",
        "$JS.EVENT.ADVISORY.>",
    ] {
        subscribe("read all", subject.to_owned(), None);
    }
    subscribe(
        "the household's own mail",
        format!("agent.{carol}.inbox"),
        None,
    );
    let mut publish = |kind, subject: String, payload: &str| {
        all.push(Attempt {
            kind,
            step: Step::Publish(subject, payload.to_owned()),
        });
    };
    for api in ["$JS.API", "$JS.house-two.API"] {
        for (kind, verb, payload) in [
            (
                "take",
                format!("CONSUMER.MSG.NEXT.AGENT_INBOX.{bob}"),
                "{\"batch\":100}",
            ),
            (
                "read",
                "STREAM.MSG.GET.AGENT_INBOX".to_owned(),
                "{\"seq\":1}",
            ),
            ("read", "DIRECT.GET.AGENT_INBOX".to_owned(), "{\"seq\":1}"),
            ("count", "STREAM.INFO.AGENT_INBOX".to_owned(), ""),
            ("count", "STREAM.NAMES".to_owned(), ""),
            ("count", format!("CONSUMER.INFO.AGENT_INBOX.{bob}"), ""),
            ("count", "CONSUMER.LIST.AGENT_INBOX".to_owned(), ""),
            ("count", "INFO".to_owned(), ""),
            ("block", "STREAM.PURGE.AGENT_INBOX".to_owned(), ""),
            ("block", "STREAM.DELETE.AGENT_INBOX".to_owned(), ""),
            (
                "block",
                "STREAM.MSG.DELETE.AGENT_INBOX".to_owned(),
                "{\"seq\":1}",
            ),
            ("block", format!("CONSUMER.DELETE.AGENT_INBOX.{bob}"), ""),
            (
                "block",
                format!("CONSUMER.PAUSE.AGENT_INBOX.{bob}"),
                "{\"pause_until\":\"2100-01-01T00:00:00Z\"}",
            ),
            (
                "take",
                format!("CONSUMER.CREATE.AGENT_INBOX.thief.agent.{bob}.inbox"),
                "{\"stream_name\":\"AGENT_INBOX\",\"config\":{\"ack_policy\":\"none\"}}",
            ),
        ] {
            publish(kind, format!("{api}.{verb}"), payload);
        }
    }
    for reply in ["$JS.ACK", "$JS.ACK.house-two.hash"] {
        for (kind, word) in [("settle", "+TERM"), ("settle", "+ACK"), ("delay", "-NAK")] {
            publish(kind, format!("{reply}.AGENT_INBOX.{bob}.1.1.1.1.0"), word);
        }
    }
    publish(
        "forge a confirmation",
        format!("_INBOX_{alice}.guessed.1"),
        "{\"stream\":\"AGENT_INBOX\",\"domain\":\"house-two\",\"seq\":1}",
    );
    publish(
        "forge a message",
        format!("agent.{bob}.inbox"),
        "{\"jsonrpc\":\"2.0\",\"method\":\"hostile\"}",
    );
    publish("count", "$SYS.REQ.SERVER.PING".to_owned(), "");
    publish("count", "$SYS.REQ.ACCOUNT.CROSSING.CONNZ".to_owned(), "");
    all
}

/// Every message of the attacker bears it.
const MARK: &str = "hostile";
