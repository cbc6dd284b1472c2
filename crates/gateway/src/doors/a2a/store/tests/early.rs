//! Parts of an artifact that come before those in front of them.

use super::*;

fn part(index: usize, body: &str) -> Value {
    json!({"state": "working", "part": {"index": index, "body": body}})
}

#[tokio::test]
async fn a_part_that_came_too_early_is_shown_as_soon_as_those_before_it_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    for (task, tier, words) in [("kept", 1, "WORD"), ("sealed", 3, "SECRET")] {
        let begun = store.begin(begin(task, record(task, tier, "x"))).await;
        begun.unwrap();
        for index in [0, 3, 2, 1, 4] {
            let told = part(index, &format!("{words}-{index}"));
            let told = serde_json::from_value(told).unwrap();
            let change = Change::Progress(told, tier);
            store.change(task.to_owned(), change).await.unwrap();
        }
        let (seen, _) = store.owned(owner(), task.to_owned()).await.unwrap();
        let texts: Vec<Value> = (0..5)
            .map(|index| json!({"text": format!("{words}-{index}")}))
            .collect();
        assert_eq!(json!(seen.task.artifacts[0].parts), json!(texts), "{task}");
    }
    drop(store);
    let kept = bytes_of(dir.path());
    let holds = |text: &[u8]| kept.windows(text.len()).any(|part| part == text);
    assert!(holds(b"WORD-3") && !holds(b"SECRET"));
}

#[tokio::test]
async fn what_was_told_once_more_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store.begin(begin("k", record("t", 1, "x"))).await.unwrap();
    let tell = async || {
        let told = json!({"state": "working", "note": "half"});
        let told = Change::Progress(serde_json::from_value(told).unwrap(), 1);
        store.change("t".to_owned(), told).await.unwrap();
        let changes = |db: &mut db::Db| db.sql.total_changes();
        store.with(changes).await.unwrap()
    };
    let first = tell().await;
    assert_eq!(tell().await, first);
}
