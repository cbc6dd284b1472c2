//! A hub without lists, or one that dropped them, beside a household whose server is its leaf: the hub reaches the
//! household's own mailboxes, unless the leaf has the two lines of docs/scale.md.

use std::time::Duration;

use async_nats::{Client, jetstream};
use futures_util::StreamExt as _;
use signet_testkit::Server;
use signet_transport::{AgentPlace, ConnectionConfig, Mailbox, StreamOptions, set_up};
use tokio::time::{Instant, timeout};

const AGENT: &str = "agent-alice-001";
const INBOX: &str = "agent.agent-alice-001.inbox";
const PAGE: &str = include_str!("../../../../docs/scale.md");

/// How far a hub got.
#[derive(Debug, PartialEq, Eq)]
struct Reached {
    mail_within_the_household: bool,
    description_of_the_mailboxes: bool,
    mailboxes_deleted: bool,
}

#[tokio::test]
async fn a_hostile_hub_reaches_no_mailbox_of_a_household_whose_leaf_refuses_as_the_page_says() {
    let refused = |line: &&str| line.starts_with("      deny_");
    let lines: Vec<&str> = PAGE.lines().filter(refused).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    // Without the lines the hub gets everywhere: so a try that fails with them could have succeeded.
    for (lines, reaches) in [(String::new(), true), (lines.join("\n"), false)] {
        let expected = Reached {
            mail_within_the_household: reaches,
            description_of_the_mailboxes: reaches,
            mailboxes_deleted: reaches,
        };
        assert_eq!(tried(&lines).await, expected, "{lines}");
    }
}

/// Lets a hub try, beside a leaf with these lines in its entry of `remotes`.
async fn tried(lines: &str) -> Reached {
    let port = signet_testkit::free_port();
    let hub = Server::start(&format!(
        "server_name: hub\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}"
    ));
    let leaf = Server::start(&format!(
        "server_name: leaf\njetstream {{ store_dir: \"js\", domain: house-one }}\n\
         leafnodes {{ remotes: [ {{\n url: \"nats-leaf://127.0.0.1:{port}\"\n{lines}\n}} ] }}"
    ));
    let admin = ConnectionConfig::new(vec![leaf.url()], "agent.admin.inbox", "_INBOX_admin");
    let place = AgentPlace {
        inbox: INBOX.into(),
        mailbox: Mailbox::of(AGENT),
    };
    set_up(&admin, &[place], StreamOptions::default())
        .await
        .unwrap();
    let hostile = async_nats::connect(hub.url()).await.unwrap();
    let mut all = hostile.subscribe(">").await.unwrap();
    let household = async_nats::connect(leaf.url()).await.unwrap();
    mail_crosses(&hostile).await;
    household
        .publish(INBOX, "within the household".into())
        .await
        .unwrap();
    household
        .publish("agent.agent-bob-001.inbox", "to bob".into())
        .await
        .unwrap();
    // The second message comes behind the first, by the same connections.
    let mut within = false;
    loop {
        let heard = timeout(Duration::from_secs(20), all.next()).await;
        let heard = heard.expect("mail for another household crosses").unwrap();
        within |= heard.payload.starts_with(b"within");
        if heard.payload.starts_with(b"to bob") {
            break;
        }
    }
    // While the hub itself listens to all, nobody is told that nobody answers.
    all.unsubscribe().await.unwrap();
    let description = asked(&hostile, "STREAM.INFO.AGENT_INBOX").await;
    asked(&hostile, "STREAM.DELETE.AGENT_INBOX").await;
    let own = jetstream::new(household);
    Reached {
        mail_within_the_household: within,
        description_of_the_mailboxes: description,
        mailboxes_deleted: own.get_stream("AGENT_INBOX").await.is_err(),
    }
}

/// Whether the household's JetStream answers a call that comes from the hub.
async fn asked(hostile: &Client, call: &str) -> bool {
    let call = format!("$JS.house-one.API.{call}");
    let said = hostile.request(call, "".into()).await;
    said.is_ok_and(|said| !said.payload.is_empty())
}

/// Waits until the household's mailbox confirms what comes by the hub.
async fn mail_crosses(hub: &Client) {
    let limit = Instant::now() + Duration::from_secs(20);
    loop {
        let said = hub.request(INBOX, "from another household".into());
        let said = timeout(Duration::from_millis(500), said).await;
        let confirmed = |payload: &[u8]| String::from_utf8_lossy(payload).contains("house-one");
        if matches!(&said, Ok(Ok(said)) if confirmed(&said.payload)) {
            return;
        }
        assert!(Instant::now() < limit, "{said:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
