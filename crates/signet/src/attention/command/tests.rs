use std::path::Path;
use std::time::Instant;

use signet_api::AttentionKind;

use super::*;

fn one(kind: AttentionKind) -> Attention {
    Attention {
        version: 1,
        kind,
        time: "2026-01-01T00:00:00.000Z".to_owned(),
        agent: "agent-a".to_owned(),
        id: Some("0123456789abcdef".to_owned()),
        alarm: None,
        peer: Some("agent-b".to_owned()),
        principal: None,
        verified: false,
        count: 1,
        still: false,
        text: "text".to_owned(),
        next: "next".to_owned(),
    }
}

fn shell(script: &str) -> Option<NotifyCommand> {
    Some(NotifyCommand {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
    })
}

fn hook(dir: &Path, patience: Duration, script: &str) -> NotifyHook {
    NotifyHook::with(Runner::new(dir.to_owned(), patience), shell(script))
}

async fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(start.elapsed() < LONG, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn the_command_reads_the_record_and_gets_a_cleaned_environment() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "cd '{}' && cat > record.new && env > env; mv record.new record",
        dir.path().display()
    );
    let hook = hook(dir.path(), LONG, &script);
    hook.tell(one(AttentionKind::Draft));
    let record = dir.path().join("record");
    let text = until("it is told", || std::fs::read_to_string(&record).ok()).await;
    let read: Attention = serde_json::from_str(&text).unwrap();
    assert_eq!(read, one(AttentionKind::Draft));
    assert!(text.ends_with("}\n") && text.lines().count() == 1);
    let env = std::fs::read_to_string(dir.path().join("env")).unwrap();
    for line in env.lines() {
        let name = line.split('=').next().unwrap();
        let by_shell = ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
        assert!(
            by_shell || name == "SIGNET_HOME" || KEPT.contains(&name),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_command_that_hangs_is_killed_with_what_it_started_and_noted_and_holds_up_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let script = format!("sleep 600 & echo $! > '{}'; wait", pid.display());
    let hook = hook(dir.path(), Duration::from_millis(300), &script);
    let begun = Instant::now();
    for _ in 0..1_000 {
        hook.tell(one(AttentionKind::Alarm));
    }
    assert!(
        begun.elapsed() < Duration::from_millis(250),
        "nobody waits for the command"
    );
    let fault = until("it is noted", || hook.state()?.fault).await;
    assert_eq!(fault, "timed out");
    let pid = std::fs::read_to_string(pid).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z"));
    until("what it started is gone", || is_gone().then_some(())).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_fault_and_another_one_tells_what_it_could_not() {
    let dir = tempfile::tempdir().unwrap();
    let runner = Runner::new(dir.path().to_owned(), LONG);
    let nowhere = NotifyCommand {
        program: "/nowhere/tell".to_owned(),
        arguments: Vec::new(),
    };
    let hook = NotifyHook::with(runner, Some(nowhere));
    hook.tell(one(AttentionKind::Quarantine));
    let fault = until("it is noted", || hook.state()?.fault).await;
    assert!(fault.starts_with("it cannot be started: "), "{fault}");
    let record = dir.path().join("record");
    hook.set(shell(&format!("cat > '{}'", record.display())));
    let is_told = || std::fs::read(&record).is_ok_and(|text| !text.is_empty());
    until("the other tells", || is_told().then_some(())).await;
    until("it is well", || hook.state()?.fault.is_none().then_some(())).await;
}

#[tokio::test]
async fn without_a_command_nothing_is_kept_and_nothing_runs() {
    let dir = tempfile::tempdir().unwrap();
    let hook = NotifyHook::with(Runner::new(dir.path().to_owned(), LONG), None);
    hook.tell(one(AttentionKind::Alarm));
    assert_eq!(hook.state(), None);
    assert!(hook.shared.state().pace.is_empty());
    let script = format!("touch '{}'", dir.path().join("ran").display());
    hook.set(shell(&script));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!dir.path().join("ran").exists());
}

#[tokio::test]
async fn one_runs_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "cd '{}'; mkdir busy || touch twice; sleep 0.1; rmdir busy; echo >> done",
        dir.path().display()
    );
    let hook = hook(dir.path(), LONG, &script);
    for &kind in AttentionKind::ALL {
        hook.tell(one(kind));
    }
    let ran = || std::fs::read_to_string(dir.path().join("done")).unwrap_or_default();
    until("all kinds are told", || {
        (ran().lines().count() == 5).then_some(())
    })
    .await;
    assert!(!dir.path().join("twice").exists());
}

#[test]
fn pauses_double_up_to_an_hour() {
    let minutes = [1, 2, 3, 6, 7, 8, 1_000].map(|times| pause_after(times).as_secs() / 60);
    assert_eq!(minutes, [1, 2, 4, 32, 60, 60, 60]);
}
