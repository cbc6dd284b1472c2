//! The machine stops between any two steps of a change, or somebody meddles with it.

use std::os::unix::fs::symlink;

use super::super::disk::killed;
use super::*;

type Make = fn(&Made, &AgentKeys) -> KeyChange;

fn later() -> Timestamp {
    now().saturating_add(DAY)
}

fn changes() -> [(&'static str, Make); 5] {
    [
        ("sealing", |_, keys| rotate_sealing(keys, later()).unwrap()),
        ("signing", |made, keys| {
            rotate_signing(keys, &made.file(ROOT), None, later()).unwrap()
        }),
        ("audit", |made, keys| {
            rotate_person(keys, PersonKey::Audit, &made.file(ROOT), later()).unwrap()
        }),
        ("control", |made, keys| {
            rotate_person(keys, PersonKey::Control, &made.file(ROOT), later()).unwrap()
        }),
        ("root", |made, keys| {
            rotate_root(keys, &made.file(NEXT_ROOT), None, later()).unwrap()
        }),
    ]
}

/// A text by which the test tells one set of keys from another.
fn marks(keys: &AgentKeys) -> String {
    let control = keys.control.as_ref().map(|control| control.to_value());
    let (certificate, statement) = (keys.certificate.to_value(), keys.statement.to_value());
    format!("{certificate} {statement} {control:?}")
}

#[test]
fn a_kill_between_any_two_steps_leaves_the_old_keys_or_the_new_ones_whole() {
    for (what, make) in changes() {
        let mut ends = [0, 0];
        for step in 0.. {
            let made = Made::new("agent-alice-001");
            let old = made.open().unwrap();
            let change = make(&made, &old);
            let (_, stopped) = killed::before(step, || made.take(&change, later()));
            // A command that only looks, such as `signet doctor`, opens the keys without the lock: it has to find a whole set
            // at every step too.
            made.open()
                .unwrap_or_else(|error| panic!("{what}, step {step}: {error}"));
            let keys = AgentKeys::settle(&made.lock(), &made.agent, later());
            let keys = keys.unwrap_or_else(|error| panic!("{what}, step {step}: {error}"));
            let is_new = marks(&keys) != marks(&old);
            ends[usize::from(is_new)] += 1;
            let left = made.names();
            assert!(
                !left
                    .iter()
                    .any(|name| name == "next" || name.starts_with("next.")),
                "{what}, {step}: {left:?}"
            );
            if is_new && what == "sealing" {
                assert_eq!(keys.older[0].public(), old.sealing.public(), "step {step}");
            }
            if is_new && what == "signing" {
                assert_eq!(keys.former[0].public(), old.signing.public(), "step {step}");
                assert_eq!(keys.former.len(), 1, "step {step}");
            }
            if !stopped {
                break;
            }
        }
        assert!(ends[0] > 2 && ends[1] > 3, "{what}: {ends:?}");
    }
}

#[test]
fn a_kill_during_the_recovery_from_a_kill_is_recovered_from() {
    for first in (0..40).step_by(2) {
        for second in 0..12 {
            let made = Made::new("agent-alice-001");
            let change = rotate_signing(&made.open().unwrap(), &made.file(ROOT), None, later());
            let change = change.unwrap();
            let (_, stopped) = killed::before(first, || made.take(&change, later()));
            if !stopped {
                return;
            }
            let (lock, agent) = (made.lock(), &made.agent);
            let (done, stopped) =
                killed::before(second, || AgentKeys::settle(&lock, agent, later()).is_ok());
            assert!(done || stopped);
            AgentKeys::settle(&lock, agent, later())
                .unwrap_or_else(|error| panic!("{first}, {second}: {error}"));
            if !stopped {
                break;
            }
        }
    }
    panic!("the change has more steps than that");
}

#[test]
fn a_kill_during_the_destruction_leaves_a_home_that_destroys_it_at_the_next_start() {
    for step in 0..4 {
        let made = Made::new("agent-alice-001");
        let change = rotate_sealing(&made.open().unwrap(), later()).unwrap();
        made.take(&change, later()).unwrap();
        let (lock, end) = (made.lock(), now().saturating_add(60 * DAY));
        let (_, stopped) = killed::before(step, || destroy_overdue(&lock, end));
        assert_eq!(stopped, step < 3);
        let keys = AgentKeys::settle(&lock, &made.agent, end);
        // The kill may have left zeros in the place of a secret: such a file must not keep `settle` from the other keys.
        keys.unwrap_or_else(|error| panic!("step {step}: {error}"));
    }
}

#[test]
fn two_changes_at_once_do_not_mix() {
    let made = Made::new("agent-alice-001");
    let keys = made.open().unwrap();
    stage(&made.home, &rotate_sealing(&keys, later()).unwrap()).unwrap();
    let other = rotate_signing(&keys, &made.file(ROOT), None, later()).unwrap();
    let error = stage(&made.home, &other).unwrap_err();
    assert!(matches!(error, KeystoreError::Waiting { .. }), "{error}");
    assert!(adopt(&made.lock(), &made.agent, later()).unwrap());
    assert_eq!(made.open().unwrap().certificate, keys.certificate);
    assert!(!adopt(&made.lock(), &made.agent, later()).unwrap());
}

#[test]
fn a_change_made_before_another_one_was_adopted_is_destroyed_and_said_so() {
    let made = Made::new("agent-alice-001");
    let keys = made.open().unwrap();
    let late = rotate_signing(&keys, &made.file(ROOT), None, later()).unwrap();
    let newer = later().saturating_add(DAY);
    let change = rotate_signing(&keys, &made.file(ROOT), None, newer).unwrap();
    made.take(&change, newer).unwrap();
    let before = marks(&made.open().unwrap());
    let error = made.take(&late, newer).unwrap_err();
    assert!(matches!(error, KeystoreError::Unfit { .. }), "{error}");
    assert!(error.to_string().contains("serial"), "{error}");
    assert_eq!(marks(&made.open().unwrap()), before);
    assert!(!is_waiting(&made.home));
}

#[test]
fn a_rolled_back_certificate_that_somebody_staged_is_not_adopted() {
    let made = Made::new("agent-alice-001");
    let old: Vec<_> = [SIGNING, CERTIFICATE, KEYS]
        .map(|name| (name, made.text(name)))
        .into();
    let change = rotate_signing(&made.open().unwrap(), &made.file(ROOT), None, later()).unwrap();
    made.take(&change, later()).unwrap();
    let next = stage::next(&made.home);
    disk::create_directory(&next).unwrap();
    for (name, text) in &old {
        private::create(&next.join(name), text.as_bytes()).unwrap();
    }
    let before = marks(&made.open().unwrap());
    // The staged certificate is older than the present one: the start has to destroy it, and to go on with the present keys.
    let keys = AgentKeys::settle(&made.lock(), &made.agent, later()).unwrap();
    assert_eq!(marks(&keys), before);
    assert!(!is_waiting(&made.home));
}

#[test]
fn what_another_user_or_program_put_into_the_staging_place_is_never_adopted() {
    let meddle: [fn(&Made, &std::path::Path); 5] = [
        |_, next| {
            std::fs::set_permissions(next, std::fs::Permissions::from_mode(0o770)).unwrap();
        },
        |_, next| {
            let file = next.join(SEALING);
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
        },
        |_, next| std::fs::write(next.join("config.toml"), "mine").unwrap(),
        |_, next| std::fs::create_dir(next.join(CERTIFICATE)).unwrap(),
        |made, next| {
            let away = made.home.join("away.pem");
            std::fs::rename(next.join(SEALING), &away).unwrap();
            symlink(away, next.join(SEALING)).unwrap();
        },
    ];
    for (number, meddle) in meddle.iter().enumerate() {
        let made = Made::new("agent-alice-001");
        let before = marks(&made.open().unwrap());
        stage(
            &made.home,
            &rotate_sealing(&made.open().unwrap(), later()).unwrap(),
        )
        .unwrap();
        meddle(&made, &stage::next(&made.home));
        let error = AgentKeys::settle(&made.lock(), &made.agent, later()).unwrap_err();
        let refused = matches!(
            error,
            KeystoreError::Intruded { .. }
                | KeystoreError::File(private::PrivateError::Mode { .. })
        );
        assert!(refused, "{number}: {error}");
        assert_eq!(marks(&made.open().unwrap()), before, "{number}");
    }
    // A link in the place of the staging directory itself has to be refused too: it could lead to files that anybody can write.
    let made = Made::new("agent-alice-001");
    symlink("/tmp", stage::next(&made.home)).unwrap();
    let error = adopt(&made.lock(), &made.agent, later()).unwrap_err();
    assert!(matches!(error, KeystoreError::Intruded { .. }), "{error}");
}
