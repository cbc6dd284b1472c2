use std::path::Path;

use serde_json::{Value, json};
use signet_api::{Kind as Wants, Send};
use tempfile::TempDir;

use super::*;
use crate::doors::a2a::fault::A2aErrorKind;
use crate::doors::a2a::words::model::A2aRole;

mod early;
mod shares;

const LIMITS: StoreLimits = StoreLimits {
    tasks: 10_000,
    open: 2_000,
    bytes: 1 << 30,
};

fn open(dir: &TempDir) -> Store {
    Store::open(&dir.path().join("a2a.db"), LIMITS).unwrap()
}

fn owner() -> Owner {
    Owner {
        caller: "me".to_owned(),
        peer: "agent-bob".to_owned(),
        tier: 4,
    }
}

fn record(id: &str, tier: u8, words: &str) -> Record {
    let task = json!({"id": id, "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED", "timestamp": "x"},
        "history": [{"messageId": "m", "role": "ROLE_USER", "parts": [{"text": words}]}]});
    let task = serde_json::from_value(task).unwrap();
    let mut record = Record::new(task, "me", "agent-bob", 4, false);
    record.admit(tier);
    record
}

fn begin(key: &str, record: Record) -> Begin {
    let words = json!(record.task.history);
    Begin {
        key: key.to_owned(),
        request: Send::new("agent-bob", Wants::Request, words),
        said: TaskMessage::New(Box::new(record)),
    }
}

fn further(key: &str, task: &str, context: Option<&str>) -> Begin {
    let parts = vec![crate::doors::a2a::words::model::A2aPart::text("more")];
    let message = A2aMessage {
        task_id: Some(task.to_owned()),
        ..A2aMessage::of("m2", A2aRole::User, parts)
    };
    Begin {
        key: key.to_owned(),
        request: Send::new("agent-bob", Wants::Request, json!("more")),
        said: TaskMessage::Further {
            task: task.to_owned(),
            owner: owner(),
            context: context.map(str::to_owned),
            tier: 1,
            message: Box::new(message),
        },
    }
}

fn answer(body: Value, tier: u8) -> Change {
    Change::Answer {
        body,
        tier,
        name: "a".to_owned(),
    }
}

fn bytes_of(dir: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(dir).unwrap();
    let read = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    read.collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn the_same_call_twice_is_one_task_and_other_content_another() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let first = store
        .begin(begin("k1", record("t1", 1, "x")))
        .await
        .unwrap();
    assert!(first.call.is_some() && first.task == "t1");
    let again = store
        .begin(begin("k1", record("t2", 1, "x")))
        .await
        .unwrap();
    assert!(again.call.is_none() && again.task == "t1");
    let other = store
        .begin(begin("k2", record("t2", 1, "y")))
        .await
        .unwrap();
    assert!(other.call.is_some() && other.task == "t2");
}

#[tokio::test]
async fn a_call_made_again_is_a_new_task_once_its_client_went_on_or_gave_up() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut names = Vec::new();
    let mut say = async |task: &str| {
        let begun = store.begin(begin("k", record(task, 1, "x"))).await.unwrap();
        names.extend(begun.call.and_then(|call| call.request?.key));
        begun.task
    };
    assert_eq!(say("t1").await, "t1");
    let more = store.begin(further("more", "t1", None)).await.unwrap();
    assert!(more.call.is_some());
    let more = store.begin(further("more", "t1", None)).await.unwrap();
    assert!(more.call.is_none(), "what was said last may be said again");
    assert_eq!(say("t2").await, "t2");
    assert_eq!(say("t3").await, "t2");
    store
        .change("t2".to_owned(), answer(json!("done"), 1))
        .await
        .unwrap();
    assert_eq!(say("t3").await, "t2", "its answer may have got lost");
    let canceled = begin("k2", record("t4", 1, "x"));
    store.begin(canceled).await.unwrap();
    store
        .change("t4".to_owned(), Change::Canceled)
        .await
        .unwrap();
    let again = store.begin(begin("k2", record("t5", 1, "x"))).await;
    assert_eq!(again.unwrap().task, "t5");
    // The tasks t1 and t2 say the same. The daemon takes only one message for each key, so their keys have to differ: otherwise
    // it would take the message of t2 for a copy of that of t1.
    assert_eq!(names.len(), 2);
    assert_ne!(names[0], names[1]);
}

#[tokio::test]
async fn the_answer_to_a_call_of_long_ago_is_not_that_of_the_same_words_today() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store.begin(begin("k", record("t1", 1, "x"))).await.unwrap();
    store
        .change("t1".to_owned(), answer(json!("old"), 1))
        .await
        .unwrap();
    store
        .with(|db| {
            db.sql
                .execute("UPDATE tasks SET updated = updated - 660000", [])
        })
        .await
        .unwrap()
        .unwrap();
    let today = store.begin(begin("k", record("t2", 1, "x"))).await;
    assert_eq!(today.unwrap().task, "t2");
}

#[tokio::test]
async fn a_process_that_ends_in_the_middle_has_every_task_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut first = String::new();
    for number in 0..50 {
        let (key, task) = (format!("k{number}"), format!("t{number}"));
        let begun = store.begin(begin(&key, record(&task, 1, "x"))).await;
        let key = begun.unwrap().call.unwrap().key;
        if number == 0 {
            first.clone_from(&key);
        }
        if number % 2 == 0 {
            store.sent(key, format!("id-{number}")).await.unwrap();
        }
    }
    store
        .change("t0".to_owned(), answer(json!("done"), 1))
        .await
        .unwrap();
    store.settled(first).await.unwrap();
    drop(store);
    let mut opened = Store::open(&dir.path().join("a2a.db"), LIMITS);
    for _ in 0..100 {
        if opened.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        opened = Store::open(&dir.path().join("a2a.db"), LIMITS);
    }
    let store = opened.unwrap();
    let open_calls = store.open_calls().await.unwrap();
    assert_eq!(open_calls.len(), 49);
    for call in open_calls {
        // After a start, a call is followed if its message's name is known, and otherwise its request is sent again. So each
        // call must have one of the two.
        assert!(call.message.is_some() || call.request.is_some());
    }
    let (record, seq) = store.owned(owner(), "t0".to_owned()).await.unwrap();
    assert_eq!(
        (record.task.status.state, seq),
        (A2aTaskState::Completed, 2)
    );
}

#[tokio::test]
async fn two_gateways_do_not_have_one_database() {
    let dir = tempfile::tempdir().unwrap();
    let _store = open(&dir);
    let second = Store::open(&dir.path().join("a2a.db"), LIMITS);
    assert!(matches!(second, Err(StoreError::Taken(_))));
}

#[test]
fn a_database_of_a_newer_release_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a2a.db");
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.execute_batch("PRAGMA user_version = 7; CREATE TABLE theirs (x);")
        .unwrap();
    drop(sql);
    let before = std::fs::read(&path).unwrap();
    let opened = Store::open(&path, LIMITS);
    assert!(matches!(opened, Err(StoreError::Newer { version: 7, .. })));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    std::fs::write(
        &path,
        "no database, but a text that is long enough to be taken for one",
    )
    .unwrap();
    assert!(matches!(
        Store::open(&path, LIMITS),
        Err(StoreError::Unusable { .. })
    ));
}

#[tokio::test]
async fn nobody_sees_another_callers_task_or_that_of_another_agent() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store.begin(begin("k", record("t", 1, "x"))).await.unwrap();
    for (caller, peer) in [("you", "agent-bob"), ("me", "agent-carol")] {
        let other = Owner {
            caller: caller.to_owned(),
            peer: peer.to_owned(),
            tier: 4,
        };
        let fault = store
            .owned(other.clone(), "t".to_owned())
            .await
            .err()
            .unwrap();
        assert_eq!(fault.kind(), A2aErrorKind::TaskNotFound);
        let listed = store.list(query(other, 10, None)).await.unwrap();
        assert_eq!((listed.tasks.len(), listed.total), (0, 0));
    }
}

#[tokio::test]
async fn a_token_that_was_narrowed_sees_nothing_beyond_itself_of_what_it_said_before() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store.begin(begin("k", record("t", 1, "x"))).await.unwrap();
    store.begin(begin("l", record("u", 3, "y"))).await.unwrap();
    let narrow = Owner { tier: 2, ..owner() };
    let seen = async |owner: Owner| {
        let listed = store.list(query(owner.clone(), 10, None)).await.unwrap();
        let one = store.owned(owner, "u".to_owned()).await.is_ok();
        (listed.tasks.len(), listed.total, one)
    };
    assert_eq!(seen(owner()).await, (2, 2, true));
    assert_eq!(seen(narrow).await, (1, 1, false));
}

fn query(owner: Owner, limit: usize, after: Option<(i64, String)>) -> Query {
    Query {
        owner,
        context: None,
        state: None,
        since: None,
        after,
        limit,
    }
}

#[tokio::test]
async fn pages_show_every_task_once_also_those_of_one_moment() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    for number in 0..23 {
        let record = record(&format!("t{number:02}"), 1, "x");
        store
            .begin(begin(&format!("k{number}"), record))
            .await
            .unwrap();
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.list(query(owner(), 5, after)).await.unwrap();
        assert_eq!(page.total, 23);
        seen.extend(page.tasks.into_iter().map(|task| task.id));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let listed = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((listed, seen.len()), (23, 23));
    let completed = Query {
        state: Some(A2aTaskState::Completed),
        ..query(owner(), 5, None)
    };
    assert_eq!(store.list(completed).await.unwrap().total, 0);
}

#[tokio::test]
async fn a_further_message_fits_its_task_or_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store.begin(begin("k", record("t", 1, "x"))).await.unwrap();
    let fault = |begun: Result<Begun, A2aError>| begun.err().map(|fault| fault.kind());
    let begun = store.begin(further("k2", "t", Some("another"))).await;
    assert_eq!(fault(begun), Some(A2aErrorKind::Params));
    let begun = store.begin(further("k2", "t-2", None)).await;
    assert_eq!(fault(begun), Some(A2aErrorKind::TaskNotFound));
    assert_eq!(
        fault(store.begin(further("k2", "t", Some("c"))).await),
        None
    );
    let (record, _) = store.owned(owner(), "t".to_owned()).await.unwrap();
    assert_eq!(record.task.history.len(), 2);
    store
        .change("t".to_owned(), answer(json!(1), 1))
        .await
        .unwrap();
    let begun = store.begin(further("k3", "t", None)).await;
    assert_eq!(fault(begun), Some(A2aErrorKind::Unsupported));
}

#[tokio::test]
async fn what_is_not_kept_is_never_on_the_disk_and_is_shown_while_the_process_lives() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store
        .begin(begin("k", record("t", 3, "VERY-SECRET-ASKED")))
        .await
        .unwrap();
    store
        .change("t".to_owned(), answer(json!("VERY-SECRET-ANSWERED"), 3))
        .await
        .unwrap();
    // The words of the second task are kept on disk until its answer of tier 4 comes: that answer must not get there.
    store
        .begin(begin("k2", record("t2", 1, "plain")))
        .await
        .unwrap();
    store
        .change("t2".to_owned(), answer(json!("VERY-SECRET-TOO"), 4))
        .await
        .unwrap();
    let (shown, _) = store.owned(owner(), "t".to_owned()).await.unwrap();
    assert!(
        json!(shown.task)
            .to_string()
            .contains("VERY-SECRET-ANSWERED")
    );
    let seen = store.seen("t".to_owned(), 0).await.unwrap();
    assert_eq!(seen.events.len(), 2);
    let kept = bytes_of(dir.path());
    let holds = |text: &[u8]| kept.windows(text.len()).any(|part| part == text);
    assert!(holds(b"TASK_STATE_COMPLETED") && !holds(b"VERY-SECRET"));
    drop(store);
    let path = dir.path().join("a2a.db");
    let store = loop {
        match Store::open(&path, LIMITS) {
            Ok(store) => break store,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    };
    let (bare, _) = store.owned(owner(), "t".to_owned()).await.unwrap();
    assert_eq!(bare.task.status.state, A2aTaskState::Completed);
    assert_eq!(bare.answer.as_deref(), Some("a"));
    assert!(bare.task.artifacts.is_empty());
    let kept = store.seen("t".to_owned(), 0).await.unwrap();
    assert!(
        kept.whole.is_some(),
        "a stream that comes again sees the task as it is"
    );
}

#[tokio::test]
async fn a_stream_goes_on_after_any_event_and_sees_the_task_where_too_many_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store.begin(begin("k", record("t", 1, "x"))).await.unwrap();
    let config = PushConfig {
        task_id: "t".to_owned(),
        id: "p".to_owned(),
        url: "https://x.example/".to_owned(),
        token: None,
        authentication: None,
    };
    store.put_push(owner(), config, true).await.unwrap();
    let mut news = store.follow("t");
    for number in 0..300 {
        let progress = json!({"state": "working", "note": format!("{number}")});
        let progress = serde_json::from_value(progress).unwrap();
        store
            .change("t".to_owned(), Change::Progress(progress, 1))
            .await
            .unwrap();
    }
    assert_eq!(*news.borrow_and_update(), 300);
    let seen = store.seen("t".to_owned(), 290).await.unwrap();
    let numbers: Vec<u64> = seen.events.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (291..=300).collect::<Vec<_>>());
    assert!(seen.whole.is_none());
    let behind = store.seen("t".to_owned(), 3).await.unwrap();
    assert!(behind.whole.is_some());
    let due = store.due("t".to_owned()).await.unwrap();
    assert!(
        matches!(due[0].events[..], [(300, A2aEvent::Task(_))]),
        "a receiver of pushes that is as far behind gets the task as well"
    );
    let up_to_date = store.seen("t".to_owned(), 300).await.unwrap();
    assert!(up_to_date.events.is_empty() && up_to_date.whole.is_none());
}

#[tokio::test]
async fn the_oldest_tasks_that_are_over_give_way_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let limits = StoreLimits {
        tasks: 3,
        open: 10,
        bytes: 1 << 30,
    };
    let store = Store::open(&dir.path().join("a2a.db"), limits).unwrap();
    for number in 0..3 {
        let record = record(&format!("t{number}"), 1, "x");
        store
            .begin(begin(&format!("k{number}"), record))
            .await
            .unwrap();
    }
    let full = store.begin(begin("k3", record("t3", 1, "x"))).await;
    assert_eq!(
        full.err().map(|fault| fault.kind()),
        Some(A2aErrorKind::Internal)
    );
    store
        .change("t1".to_owned(), answer(json!(1), 1))
        .await
        .unwrap();
    store
        .begin(begin("k3", record("t3", 1, "x")))
        .await
        .unwrap();
    assert!(store.owned(owner(), "t1".to_owned()).await.is_err());
    assert!(store.owned(owner(), "t0".to_owned()).await.is_ok());
}

#[tokio::test]
async fn pushes_are_due_until_they_are_told_and_say_nothing_that_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    for (key, task, tier) in [("k", "t", 1), ("k3", "t3", 3)] {
        store
            .begin(begin(key, record(task, tier, "SECRET")))
            .await
            .unwrap();
        let config = PushConfig {
            task_id: task.to_owned(),
            id: "p".to_owned(),
            url: "https://x.example/".to_owned(),
            token: None,
            authentication: None,
        };
        store.put_push(owner(), config, true).await.unwrap();
        assert!(store.due(task.to_owned()).await.unwrap().is_empty());
        store
            .change(task.to_owned(), answer(json!("SECRET"), tier))
            .await
            .unwrap();
    }
    assert_eq!(store.tasks_due().await.unwrap(), ["t", "t3"]);
    let due = store.due("t".to_owned()).await.unwrap();
    assert_eq!(due[0].events.len(), 2);
    store
        .pushed("t".to_owned(), "p".to_owned(), 1)
        .await
        .unwrap();
    assert_eq!(store.due("t".to_owned()).await.unwrap()[0].events.len(), 1);
    store
        .pushed("t".to_owned(), "p".to_owned(), 2)
        .await
        .unwrap();
    assert_eq!(store.tasks_due().await.unwrap(), ["t3"]);
    let sealed = store.due("t3".to_owned()).await.unwrap();
    assert!(!json!(sealed[0].events).to_string().contains("SECRET"));
    assert!(
        json!(sealed[0].events)
            .to_string()
            .contains("TASK_STATE_COMPLETED")
    );
}

#[tokio::test]
async fn receivers_of_one_task_are_bounded_and_each_is_deleted_twice_without_harm() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store.begin(begin("k", record("t", 1, "x"))).await.unwrap();
    let put = |number: usize| PushConfig {
        task_id: "t".to_owned(),
        id: format!("p{number}"),
        url: "https://x.example/".to_owned(),
        token: None,
        authentication: None,
    };
    for number in 0..16 {
        store.put_push(owner(), put(number), true).await.unwrap();
    }
    assert!(store.put_push(owner(), put(16), true).await.is_err());
    store.put_push(owner(), put(3), true).await.unwrap();
    for _ in 0..2 {
        store
            .delete_push(owner(), "t".to_owned(), "p3".to_owned())
            .await
            .unwrap();
    }
    assert_eq!(
        store.pushes(owner(), "t".to_owned()).await.unwrap().len(),
        15
    );
}

#[tokio::test]
async fn what_a_peer_offered_last_is_known_after_a_new_start() {
    let dir = tempfile::tempdir().unwrap();
    let (bob, carol) = ("agent-bob".to_owned(), "agent-carol".to_owned());
    let store = open(&dir);
    for all in [
        vec!["a.b".to_owned()],
        vec!["c.d".to_owned(), "e.f".to_owned()],
    ] {
        store.note_offered(bob.clone(), all).await.unwrap();
    }
    drop(store);
    let store = loop {
        match Store::open(&dir.path().join("a2a.db"), LIMITS) {
            Ok(store) => break store,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    };
    assert_eq!(store.offered(bob).await.unwrap(), ["c.d", "e.f"]);
    assert!(store.offered(carol).await.unwrap().is_empty());
}
