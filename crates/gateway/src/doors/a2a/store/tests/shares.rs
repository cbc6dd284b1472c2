//! What one token may have in the store, and what is told of it where it may not see all of it.

use super::*;
use crate::doors::a2a::store::Change;

fn of_another(id: &str) -> Record {
    let mut record = record(id, 1, "x");
    "you".clone_into(&mut record.caller);
    record
}

/// Begins tasks of one token until it is refused, which is to be before so many; how many it has then.
async fn as_many_as_one_can_have(store: &Store, bound: usize, words: &str) -> usize {
    for begun in 0..=bound {
        let task = record(&format!("t{begun}"), 1, words);
        if store
            .begin(begin(&format!("k{begun}"), task))
            .await
            .is_err()
        {
            return begun;
        }
    }
    panic!("one token has {bound} and more");
}

async fn another_has_room_for(store: &Store, many: usize) {
    for number in 0..many {
        let another = begin(&format!("y{number}"), of_another(&format!("y{number}")));
        let taken = store.begin(another).await;
        assert!(taken.is_ok(), "{number}: {:?}", taken.err());
    }
}

#[tokio::test]
async fn a_token_with_as_many_open_messages_as_it_can_have_leaves_room_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let limits = StoreLimits {
        open: 100,
        ..LIMITS
    };
    let store = Store::open(&dir.path().join("a2a.db"), limits).unwrap();
    assert!((70..=80).contains(&as_many_as_one_can_have(&store, 80, "x").await));
    another_has_room_for(&store, 10).await;
    // The store names the callers that still have tasks to settle, so that the tasks of a token that has ended can be
    // found.
    assert_eq!(store.callers().await.unwrap(), ["me", "you"]);
    for task in store.unsettled("me".to_owned()).await.unwrap() {
        store
            .change(task.clone(), Change::TokenEnded)
            .await
            .unwrap();
        store.settled_all(task).await.unwrap();
    }
    assert_eq!(store.callers().await.unwrap(), ["you"]);
    let calls = store.open_calls().await.unwrap();
    assert!(calls.iter().all(|call| call.caller == "you") && calls.len() == 10);
    let task = store.owned(owner(), "t0".to_owned()).await.unwrap().0;
    assert_eq!(task.task.status.state, A2aTaskState::Canceled);
}

#[tokio::test]
async fn a_token_with_as_many_tasks_under_way_as_it_can_have_leaves_room_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let limits = StoreLimits {
        tasks: 100,
        ..LIMITS
    };
    let store = Store::open(&dir.path().join("a2a.db"), limits).unwrap();
    assert!((70..=80).contains(&as_many_as_one_can_have(&store, 80, "x").await));
    another_has_room_for(&store, 10).await;
}

#[tokio::test]
async fn a_token_whose_tasks_are_as_long_as_it_can_have_them_leaves_room_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let limits = StoreLimits {
        bytes: 20 << 20,
        ..LIMITS
    };
    let store = Store::open(&dir.path().join("a2a.db"), limits).unwrap();
    let long = "x".repeat(100 << 10);
    let begun = as_many_as_one_can_have(&store, 200, &long).await;
    // One token may fill three quarters of 20 MiB, which is about 150 of these tasks of 100 KiB. It may be some more, because
    // the bytes are counted only now and then: the next count comes after up to 32 tasks.
    assert!((140..=185).contains(&begun), "{begun}");
    another_has_room_for(&store, 10).await;
}

#[tokio::test]
async fn a_decline_above_the_tier_of_its_token_is_neither_written_nor_pushed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut asked = record("t", 1, "a word");
    asked.reach = 1;
    store.begin(begin("k", asked)).await.unwrap();
    let config = PushConfig {
        task_id: "t".to_owned(),
        id: "p".to_owned(),
        url: "https://x.example/".to_owned(),
        token: None,
        authentication: None,
    };
    store.put_push(owner(), config, true).await.unwrap();
    let failure = json!({"code": -32000, "message": "the diagnosis", "reason": "declined"});
    let failure = serde_json::from_value(failure).unwrap();
    let parts = json!({"state": "failed", "parts": [{"text": "the diagnosis"}]});
    let declined = Change::Refused(failure, Some(parts), 2);
    store.change("t".to_owned(), declined).await.unwrap();
    let due = store.due("t".to_owned()).await.unwrap();
    let pushed = json!([due[0].events, due[0].task]).to_string();
    assert!(
        pushed.contains("TASK_STATE_FAILED") && !pushed.contains("diagnosis"),
        "{pushed}"
    );
    drop(store);
    let kept = bytes_of(dir.path());
    assert!(!kept.windows(9).any(|part| part == b"diagnosis"));
}
