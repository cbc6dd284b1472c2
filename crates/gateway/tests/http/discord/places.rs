//! From where on a channel is written and read: the places, at a first start and under answers that were not asked for.

use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::eventually;

use super::Bench;
use crate::daemon::Daemon;

fn places(bench: &Bench) -> Value {
    let text = std::fs::read(bench.dir.path().join("discord.json")).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[test]
fn posts_that_are_not_newer_are_skipped_the_place_does_not_go_back_and_nobody_is_asked_without_a_pause()
 {
    let bench = Bench::with("carrier = \"discord\"\nshows = \"nothing\"\n");
    eventually("it has its place", || places(&bench)["read"].as_u64());
    let call = bench
        .alice
        .call("agent.notification", "agent-bob", json!({}));
    let forged = String::from_utf8(bench.alice.sign(call)).unwrap();
    for _ in 0..3 {
        bench.discord.has(&format!("```json\n{forged}\n```"), None);
    }
    eventually("all three are read", || {
        (places(&bench)["read"] == 3).then_some(())
    });
    assert_eq!(bench.daemon.delivered().len(), 3);
    bench.discord.inner.lock().unwrap().ignores_after = true;
    let before = bench.discord.asked("GET").len();
    for _ in 0..30 {
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(places(&bench)["read"], 3, "the place goes back");
    }
    let asked = bench.discord.asked("GET").len() - before;
    assert!(asked <= 5, "{asked} times in 3 seconds, at one a second");
    assert_eq!(
        bench.daemon.delivered().len(),
        3,
        "nothing is handed in again"
    );
    assert_eq!(bench.gateway.said().matches("are not newer").count(), 1);
    // The server still answers with old posts as well: the reader skips them, and takes the new post among them.
    bench.discord.has(&format!("```json\n{forged}\n```"), None);
    eventually("the fourth is read", || {
        (places(&bench)["read"] == 4).then_some(())
    });
    assert_eq!(bench.daemon.delivered().len(), 4);
}

#[test]
fn the_place_is_kept_when_the_gateway_starts_and_what_is_said_before_a_kill_is_shown_after_it() {
    let mut bench = Bench::unbegun("", true);
    eventually("it says that it listens", || {
        bench.gateway.said().contains("listens").then_some(())
    });
    bench.says(5, 1, "one", 10);
    bench.gateway.kill();
    bench.says(6, 1, "two", 10);
    bench.gateway.restart();
    let posts = bench.shows(2);
    assert!(posts[0].0["content"].as_str().unwrap().contains("> one"));
    assert!(posts[1].0["content"].as_str().unwrap().contains("> two"));
}

#[test]
fn what_is_said_in_the_first_seconds_of_a_gateway_that_starts_before_its_daemon_is_shown() {
    let mut bench = Bench::unbegun("", false);
    std::thread::sleep(Duration::from_secs(1));
    bench.daemon = Daemon::start(bench.dir.path(), &bench.bob, &[&bench.alice]);
    std::thread::sleep(Duration::from_millis(500));
    bench.says(5, 1, "early", 10);
    let posts = bench.shows(1);
    assert!(posts[0].0["content"].as_str().unwrap().contains("> early"));
}
