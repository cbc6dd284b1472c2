//! What a host does to an agent's log while the agent is stopped or killed, with write access to the log's
//! directory alone, and with the checkpoint key: a start refuses it, or sets it aside, and obeys none of
//! it. docs/threat-model.md has the table.

mod scene;

use std::fs;
use std::path::Path;
use std::process::Command;

use scene::{Victim, alice, eve, reworded};
use signet::memory::{Memory, MemoryError};
use signet_audit::LogError;
use signet_proto::entry::{
    Alarm, AlarmLine, Did, Direction, DraftLine, Entry, LossLine, OutcomeLine, Ruling, TrustChange,
    Verdict,
};

use crate::house::{says, signet};

fn bound() -> Entry {
    Entry::trust(TrustChange::Bound, eve())
}

fn withdrawn(victim: &Victim) -> Entry {
    let memory = victim.start().unwrap();
    let peer = memory.node.trust().peer(&alice()).unwrap();
    Entry::trust(TrustChange::Withdrawn, peer.newest().unwrap().clone())
}

/// The start is refused because something stands behind the last line of a clean stop.
fn is_appended(victim: &Victim) {
    let before = fs::read(victim.month()).unwrap();
    match victim.start() {
        Err(MemoryError::Log(LogError::Appended { .. })) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read(victim.month()).unwrap(), before, "it is evidence");
}

/// Every start is refused because the log went back, and leaves it as it is.
fn went_back(victim: &Victim) {
    let before = victim.months();
    for start in [Memory::open, Memory::open] {
        match victim.with(start) {
            Err(MemoryError::Log(LogError::WentBack { .. })) => {}
            other => panic!("{other:?}"),
        }
    }
    // Rebuilding the state must not hide that the log went back.
    match victim.with(Memory::rebuild) {
        Err(MemoryError::Log(LogError::WentBack { .. })) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(victim.months(), before, "it is evidence");
}

fn is_unproven(victim: &Victim, with: &str) {
    match victim.start() {
        Err(MemoryError::Unproven { what, .. }) => assert!(what.contains(with), "{what}"),
        other => panic!("{other:?}"),
    }
}

/// The start goes on, and what it set aside is named by a `recovery` line.
fn starts_without_it(victim: &Victim) -> Memory {
    let before = signet_audit::read(&victim.log()).unwrap().count();
    let memory = victim.start().unwrap();
    let lines: Vec<_> = signet_audit::read(&victim.log())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(lines.iter().any(|line| line.kind == "recovery"));
    assert!(lines.len() <= before);
    let report = signet_audit::verify(&[victim.log()]);
    assert!(report.holds(), "{report}");
    memory
}

#[test]
fn honest_homes_start_again_after_a_stop_and_after_a_kill() {
    for victim in [Victim::stopped(), Victim::killed()] {
        for _ in 0..3 {
            let memory = victim.start().unwrap();
            assert!(memory.node.trust().trusted(&alice()).is_some());
        }
        let report = signet_audit::verify(&[victim.log()]);
        assert!(report.holds(), "{report}");
    }
}

#[test]
fn a_stranger_bound_behind_a_clean_stop() {
    let victim = Victim::stopped();
    victim.append(&[bound()]);
    is_appended(&victim);
}

#[test]
fn a_stranger_bound_behind_a_clean_stop_and_signed_with_the_checkpoint_key() {
    let victim = Victim::stopped();
    victim.append_and_sign(&[bound()]);
    is_appended(&victim);
}

#[test]
fn a_crash_feigned_within_the_log_s_directory() {
    let victim = Victim::stopped();
    victim.append(&[bound()]);
    fs::write(victim.log().join("inter-agent.writing"), b"").unwrap();
    is_appended(&victim);
}

#[test]
fn a_line_of_ours_whose_signature_does_not_hold_behind_a_clean_stop() {
    let victim = Victim::stopped();
    let sent = victim.messages(Direction::Out, true);
    victim.append(&[reworded(&sent[0])]);
    is_appended(&victim);
}

#[test]
fn a_wrong_fingerprint_behind_a_clean_stop() {
    let victim = Victim::stopped();
    victim.append(&[bound()]);
    victim.edit(|lines| {
        let last = lines.last_mut().unwrap();
        let at = last.find("\"fingerprint\":\"").unwrap() + 15;
        last.replace_range(at..at + 4, "oops");
    });
    is_appended(&victim);
}

#[test]
fn half_a_line_behind_a_clean_stop() {
    let victim = Victim::stopped();
    let mut bytes = fs::read(victim.month()).unwrap();
    bytes.extend(b"{\"v\":1,\"seq\":");
    fs::write(victim.month(), bytes).unwrap();
    is_appended(&victim);
}

#[test]
fn a_stranger_bound_behind_a_crash() {
    let victim = Victim::killed();
    victim.append(&[bound()]);
    let memory = starts_without_it(&victim);
    assert!(memory.node.trust().peer(&eve().agent).is_none());
    drop(memory);
    let again = victim.start().unwrap();
    assert!(again.node.trust().peer(&eve().agent).is_none());
}

#[test]
fn a_stranger_bound_behind_a_crash_and_signed_with_the_checkpoint_key() {
    let victim = Victim::killed();
    victim.append_and_sign(&[bound()]);
    match victim.start() {
        Err(MemoryError::Log(LogError::Broken { what, .. })) => {
            assert!(
                what.contains("somebody else has its checkpoint key"),
                "{what}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_trust_withdrawn_behind_a_crash() {
    let line = withdrawn(&Victim::killed());
    let victim = Victim::killed();
    victim.append(&[line]);
    let memory = starts_without_it(&victim);
    assert!(memory.node.trust().trusted(&alice()).is_some());
}

#[test]
fn a_draft_behind_a_crash_that_the_agent_would_sign() {
    let victim = Victim::killed();
    let sent = victim.messages(Direction::Out, true);
    let message = sent[0].message().unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(message.canonical()).unwrap();
    let name = "0192f0c1-0000-7000-8000-000000000000";
    let params = value["params"].as_object_mut().unwrap();
    params.remove("signature");
    params.insert("body".into(), serde_json::json!({"pay": "eve"}));
    let headers = params["headers"].as_object_mut().unwrap();
    for late in [
        "timestamp",
        "expires-at",
        "key-id",
        "session",
        "sequence",
        "audit-head",
    ] {
        headers.remove(late);
    }
    headers.insert("message-id".into(), name.into());
    let draft = Entry::Draft(DraftLine {
        peer: alice(),
        message_id: name.parse().unwrap(),
        life: 3600,
        approve: None,
        message: value,
        copy: None,
        client_key: None,
    });
    victim.append(&[draft]);
    let memory = starts_without_it(&victim);
    assert_eq!(memory.node.sent().drafts().count(), 0);
}

#[test]
fn a_message_taken_out_of_the_inbox_behind_a_crash() {
    let victim = Victim::killed();
    let taken = victim.messages(Direction::In, true);
    let done = |verdict: &Verdict| {
        Entry::Outcome(OutcomeLine {
            peer: alice(),
            message_id: verdict.message().unwrap().headers.message_id,
            what: Did::Acknowledged,
            tries: 0,
            reason: None,
        })
    };
    victim.append(&taken.iter().map(done).collect::<Vec<_>>());
    let memory = starts_without_it(&victim);
    assert_eq!(memory.node.inbox().len(), taken.len());
}

#[test]
fn an_alarm_rung_behind_a_crash() {
    let victim = Victim::killed();
    victim.append(&[Entry::Alarm(AlarmLine {
        peer: alice(),
        what: Alarm::SecondCopy,
        cleared: false,
    })]);
    let memory = starts_without_it(&victim);
    assert!(memory.node.alarms().is_empty());
}

#[test]
fn a_line_of_ours_whose_signature_does_not_hold_behind_a_crash() {
    let victim = Victim::killed();
    let sent = victim.messages(Direction::Out, true);
    victim.append(&[reworded(sent.last().unwrap())]);
    is_unproven(&victim, "signature does not hold");
}

#[test]
fn a_peer_s_message_whose_signature_does_not_hold_behind_a_crash() {
    let victim = Victim::killed();
    let taken = victim.messages(Direction::In, true);
    victim.append(&[reworded(taken.last().unwrap())]);
    is_unproven(&victim, "signature does not hold");
}

#[test]
fn a_copy_of_a_message_that_was_taken_behind_a_crash() {
    let victim = Victim::killed();
    let taken = victim.messages(Direction::In, true);
    victim.append(&[Entry::Message(taken[0].clone())]);
    is_unproven(&victim, "a copy of it");
}

#[test]
fn a_copy_of_a_message_of_ours_behind_a_crash() {
    let victim = Victim::killed();
    let sent = victim.messages(Direction::Out, true);
    victim.append(&[Entry::Message(sent[0].clone())]);
    is_unproven(&victim, "a copy of it");
}

#[test]
fn a_message_of_ours_that_is_said_to_have_come_in_behind_a_crash() {
    let victim = Victim::killed();
    let sent = victim.messages(Direction::Out, true);
    victim.append(&[Entry::Message(Verdict {
        direction: Direction::In,
        ruling: Ruling::Accepted,
        ..sent[0].clone()
    })]);
    is_unproven(&victim, "not between this agent and the line's peer");
}

#[test]
fn the_lines_of_the_last_minute_cut_off_behind_a_crash() {
    let victim = Victim::killed();
    victim.edit(|lines| lines.truncate(lines.len() - 2));
    went_back(&victim);
}

#[test]
fn a_line_edited_and_the_chain_made_anew_behind_a_crash() {
    let victim = Victim::killed();
    victim.edit(|lines| {
        let at = lines.iter().rposition(|line| line.contains("\"number\":8"));
        let line = &mut lines[at.unwrap()];
        *line = line.replace("\"number\":8", "\"number\":7");
    });
    went_back(&victim);
}

#[test]
fn a_log_that_was_emptied() {
    let victim = Victim::stopped();
    for file in fs::read_dir(victim.log()).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    went_back(&victim);
}

#[test]
fn a_log_cut_off_together_with_its_checkpoints() {
    let victim = Victim::stopped();
    let notes = fs::read_to_string(victim.checkpoints()).unwrap();
    let first = notes.match_indices("\n\n").nth(1).unwrap().0 + 2;
    fs::write(victim.checkpoints(), &notes[..first]).unwrap();
    victim.edit(|lines| lines.truncate(1));
    went_back(&victim);
}

#[test]
fn an_older_copy_of_the_log_with_its_checkpoints() {
    for victim in [Victim::stopped(), Victim::killed()] {
        victim.put_back_the_older_log();
        went_back(&victim);
    }
}

/// The state is a projection that is made anew when it is lost; the anchor still knows.
#[test]
fn an_older_copy_of_the_log_while_the_state_is_lost() {
    let victim = Victim::stopped();
    victim.put_back_the_older_log();
    fs::remove_file(victim.path("state.db")).unwrap();
    went_back(&victim);
}

#[test]
fn an_older_copy_of_the_log_while_the_anchor_is_lost() {
    let victim = Victim::stopped();
    victim.put_back_the_older_log();
    fs::remove_file(victim.path("log.anchor")).unwrap();
    went_back(&victim);
}

#[test]
fn a_month_written_anew_and_signed_with_the_checkpoint_key() {
    let victim = Victim::stopped();
    victim.edit(|lines| {
        let at = lines.iter().position(|line| line.contains("\"number\":1"));
        lines.remove(at.unwrap());
    });
    fs::remove_file(victim.checkpoints()).unwrap();
    // Make checkpoints anew for the first line: without that file the start would fail because it is missing, and not
    // because the log went back.
    let only = fs::read_to_string(victim.month()).unwrap();
    let first = only.split_inclusive('\n').next().unwrap();
    fs::write(victim.month(), first).unwrap();
    victim.append_and_sign(&[]);
    fs::write(victim.month(), &only).unwrap();
    went_back(&victim);
}

/// What is left is gone on with, and everybody can see that something is not.
#[test]
fn a_loss_that_a_person_accepts_is_written_down_and_rings() {
    let victim = Victim::stopped();
    victim.put_back_the_older_log();
    went_back(&victim);
    let (lost, left) = victim.with(Memory::accept_loss).unwrap();
    assert!(lost.seq > left.unwrap().seq);
    let memory = victim.start().unwrap();
    assert!(
        memory
            .node
            .alarms()
            .keys()
            .any(|(what, _)| *what == Alarm::LogLost)
    );
    assert!(memory.node.trust().trusted(&alice()).is_some());
    drop(memory);
    let lines = signet_audit::read(&victim.log()).unwrap();
    let said: Vec<Entry> = lines.filter_map(|line| line.unwrap().entry).collect();
    let (line, hash) = (lost.seq, lost.hash);
    assert!(said.contains(&Entry::Loss(LossLine { line, hash })));
    assert!(victim.path("state.db.lost").exists(), "the state knew more");
    match victim.with(Memory::accept_loss) {
        Err(MemoryError::NothingLost) => {}
        other => panic!("{other:?}"),
    }
    let report = signet_audit::verify(&[victim.log()]);
    assert!(report.holds(), "{report}");
}

/// The start is refused, and the file stays what it is: evidence.
fn is_unanchored(victim: &Victim) {
    let before = fs::read(victim.month()).unwrap();
    for start in [Memory::open, Memory::open] {
        match victim.with(start) {
            Err(MemoryError::Log(LogError::Unanchored { .. })) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fs::read(victim.month()).unwrap(), before);
    assert!(!victim.path("log.anchor").exists());
}

#[test]
fn a_stranger_bound_while_the_anchor_is_deleted() {
    for victim in [Victim::stopped(), Victim::killed()] {
        victim.append(&[bound()]);
        fs::remove_file(victim.path("log.anchor")).unwrap();
        is_unanchored(&victim);
    }
}

#[test]
fn a_stranger_bound_while_the_anchor_is_garbled() {
    for make in [Victim::stopped, Victim::killed] {
        for garbled in [&b""[..], b"garbled", &[0xff; 4096]] {
            let victim = make();
            victim.append(&[bound()]);
            fs::write(victim.path("log.anchor"), garbled).unwrap();
            for start in [Memory::open, Memory::open] {
                match victim.with(start) {
                    Err(MemoryError::Log(LogError::Unanchored { .. })) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_stranger_bound_while_anchor_and_state_are_deleted() {
    let victim = Victim::stopped();
    victim.append(&[bound()]);
    fs::remove_file(victim.path("log.anchor")).unwrap();
    fs::remove_file(victim.path("state.db")).unwrap();
    is_unanchored(&victim);
}

#[test]
fn a_message_taken_out_of_the_inbox_while_the_anchor_is_deleted() {
    let victim = Victim::stopped();
    let taken = victim.messages(Direction::In, true);
    let done = Entry::Outcome(OutcomeLine {
        peer: alice(),
        message_id: taken[0].message().unwrap().headers.message_id,
        what: Did::Acknowledged,
        tries: 0,
        reason: None,
    });
    victim.append(&[done]);
    fs::remove_file(victim.path("log.anchor")).unwrap();
    is_unanchored(&victim);
}

/// Releases without anchors wrote lines of version 1, of which a start obeys what nothing vouches for; behind a line of
/// version 2 there is none.
#[test]
fn a_line_of_version_1_behind_those_of_version_2_while_the_anchor_is_deleted() {
    for victim in [Victim::stopped(), Victim::killed()] {
        victim.append(&[bound()]);
        victim.edit(|lines| {
            let last = lines.last_mut().unwrap();
            let rest = last.strip_prefix("{\"v\":2,").unwrap();
            *last = format!("{{\"v\":1,{rest}");
        });
        fs::remove_file(victim.path("log.anchor")).unwrap();
        let before = fs::read(victim.month()).unwrap();
        for start in [Memory::open, Memory::open] {
            match victim.with(start) {
                Err(MemoryError::Log(LogError::Broken { what, .. })) => {
                    assert!(what.contains("does not fit"), "{what}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(fs::read(victim.month()).unwrap(), before);
    }
}

/// What a command says in the home of a victim, whose agent does not run, and the code that it ends with.
fn told(victim: &Victim, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(signet());
    command.arg("--home").arg(victim.path("")).args(words);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text + &says(&output))
}

/// Nobody is told that the log is well, or just to start the daemon, where the start will be refused.
#[test]
fn status_and_doctor_of_a_stopped_agent_say_for_which_forgery_its_start_will_be_refused() {
    type Spoil = fn(&Path);
    let anchors: [(&str, Spoil); 3] = [
        ("the log's anchor is missing", |anchor| {
            fs::remove_file(anchor).unwrap()
        }),
        ("the log's anchor is missing", |anchor| {
            fs::write(anchor, "garbled").unwrap()
        }),
        ("something that it did not write", |_| {}),
    ];
    for (what, spoil) in anchors {
        let victim = Victim::stopped();
        victim.append(&[bound()]);
        spoil(&victim.path("log.anchor"));
        let before = fs::read(victim.month()).unwrap();
        let (code, said) = told(&victim, &["status"]);
        assert!(code == Some(1) && said.contains(what), "{code:?}: {said}");
        let (code, said) = told(&victim, &["doctor"]);
        assert!(code == Some(1) && said.contains(what), "{code:?}: {said}");
        assert_eq!(fs::read(victim.month()).unwrap(), before);
        assert!(matches!(victim.start(), Err(MemoryError::Log(_))));
    }
    let victim = Victim::stopped();
    victim.put_back_the_older_log();
    fs::remove_file(victim.path("log.anchor")).unwrap();
    let (code, said) = told(&victim, &["status"]);
    assert!(
        code == Some(1) && said.contains("the log went back"),
        "{code:?}: {said}"
    );
    // A missing anchor alone stops no start, so `status` only says that no daemon runs, and doctor reports the anchor
    // without making one.
    let victim = Victim::stopped();
    fs::remove_file(victim.path("log.anchor")).unwrap();
    let (code, said) = told(&victim, &["status"]);
    assert_eq!(code, Some(3), "{said}");
    let (_, said) = told(&victim, &["doctor"]);
    assert!(said.contains("log.anchor is gone"), "{said}");
    assert!(!victim.path("log.anchor").exists(), "doctor writes nothing");
    victim.start().unwrap();
}

/// A daemon takes the newest month by its anchor's word and reads it behind its start; then it ends as a start that reads
/// it at once is refused, and the next start is refused at once.
#[test]
fn a_word_edited_in_the_newest_month_ends_the_daemon_that_had_started_over_it() {
    let victim = Victim::stopped();
    let text = fs::read_to_string(victim.month()).unwrap();
    let edited = text.replacen("\"body\":{\"number\":1}", "\"body\":{\"number\":7}", 1);
    assert_ne!(text, edited);
    fs::write(victim.month(), edited).unwrap();
    let refused = victim.start().unwrap_err().to_string();
    assert!(refused.contains("of other lines"), "{refused}");
    for _ in 0..2 {
        let (code, said) = told(&victim, &["run"]);
        assert!(
            code == Some(1) && said.contains(&refused),
            "{code:?}: {said}"
        );
    }
    // Once the daemon has found the edit, even a start that would read the month only later is refused at once.
    match victim.with(Memory::open_to_run) {
        Err(MemoryError::Log(LogError::Broken { .. })) => {}
        other => panic!("{other:?}"),
    }
    // The checkpoints that the daemon signed before it noticed do not hide the edit from `audit verify`.
    let report = signet_audit::verify(&[victim.log()]);
    assert!(report.to_string().contains("of other lines"), "{report}");
}

#[test]
fn what_nobody_vouches_for_is_set_aside_when_its_person_accepts_that() {
    let victim = Victim::stopped();
    victim.append(&[bound()]);
    fs::remove_file(victim.path("log.anchor")).unwrap();
    victim.with(Memory::accept_loss).unwrap();
    let memory = victim.start().unwrap();
    assert!(memory.node.trust().peer(&eve().agent).is_none());
    assert!(memory.node.trust().trusted(&alice()).is_some());
    drop(memory);
    let report = signet_audit::verify(&[victim.log()]);
    assert!(report.holds(), "{report}");
}

/// Nothing stands behind what the state and the checkpoints know, so the log goes on, and people hear of it.
#[test]
fn an_anchor_that_was_deleted_alone_is_made_anew_and_rings() {
    let victim = Victim::stopped();
    fs::remove_file(victim.path("log.anchor")).unwrap();
    let memory = victim.start().unwrap();
    let fault = memory.log_fault.clone().unwrap();
    assert!(fault.contains("log.anchor was missing"), "{fault}");
    let mut rings = memory.node.alarms().keys();
    assert!(rings.any(|(what, _)| *what == Alarm::LogChanged));
    assert!(memory.node.trust().trusted(&alice()).is_some());
    drop(memory);
    assert!(victim.path("log.anchor").exists());
    let again = victim.start().unwrap();
    assert_eq!(
        again.log_fault, None,
        "it is told once, and rings until it is cleared"
    );
    assert!(!again.node.alarms().is_empty());
}
