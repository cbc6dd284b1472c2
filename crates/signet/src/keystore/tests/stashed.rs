//! The person's keys go to a stick, and the machine stops between any two steps, or somebody has put something in the way.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use super::super::disk::killed;
use super::*;

/// A place for keys, of this user alone.
fn stick() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Every key file in the directory, by its bytes.
fn secrets(directory: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let keys = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "pem"));
    keys.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (std::fs::read_to_string(entry.path()).unwrap(), name)
    })
    .collect()
}

/// A home with old keys of the person's besides the present ones.
fn with_old_keys() -> Made {
    let made = Made::new("agent-alice-001");
    let keys = made.open().unwrap();
    let change = rotate_person(&keys, PersonKey::Audit, &made.file(ROOT), now()).unwrap();
    made.take(&change, now()).unwrap();
    made
}

const PERSONS: [&str; 4] = [ROOT, NEXT_ROOT, CONTROL, AUDIT];

#[test]
fn the_persons_keys_go_and_the_agents_stay() {
    let (made, stick) = (with_old_keys(), stick());
    let before = secrets(&made.home.join("keys"));
    let moved = stash(&made.home, stick.path()).unwrap();
    let there = secrets(stick.path());
    assert_eq!(moved.len(), there.len());
    assert!(
        PERSONS
            .iter()
            .all(|name| moved.contains(&(*name).to_owned())),
        "{moved:?}"
    );
    assert!(
        moved.iter().any(|name| name.starts_with("audit-")),
        "{moved:?}"
    );
    let left = secrets(&made.home.join("keys"));
    let left: Vec<&str> = left.values().map(String::as_str).collect();
    assert!(
        left.contains(&SIGNING) && left.contains(&SEALING),
        "{left:?}"
    );
    assert!(
        left.iter()
            .all(|name| !PERSONS.contains(name) && !name.starts_with("audit")),
        "{left:?}"
    );
    assert!(there.keys().all(|secret| before.contains_key(secret)));
    assert!(
        stick.path().join(CONTROL_CERTIFICATE).exists() && made.file(CONTROL_CERTIFICATE).exists()
    );
    made.open().unwrap();
    assert!(matches!(
        stash(&made.home, stick.path()),
        Err(StashError::Nothing(_))
    ));
}

#[test]
fn a_kill_between_any_two_steps_loses_no_key_and_the_next_run_goes_on() {
    let mut stops = 0;
    for step in 0.. {
        let (made, stick) = (with_old_keys(), stick());
        let before = secrets(&made.home.join("keys"));
        let (_, stopped) = killed::before(step, || stash(&made.home, stick.path()));
        let mut after = secrets(&made.home.join("keys"));
        // A key is overwritten only once its copy is safe, so what is left of it at its old place is no key.
        after.extend(secrets(stick.path()));
        for (secret, name) in &before {
            assert!(after.contains_key(secret), "step {step}: {name} is lost");
        }
        made.open()
            .unwrap_or_else(|error| panic!("step {step}: {error}"));
        if !stopped {
            break;
        }
        stops += 1;
        match stash(&made.home, stick.path()) {
            Ok(_) | Err(StashError::Nothing(_)) => {}
            Err(error) => panic!("step {step}: {error}"),
        }
        let there = secrets(stick.path());
        assert!(
            PERSONS
                .iter()
                .all(|name| there.values().any(|at| at == name)),
            "step {step}: {there:?}"
        );
        assert!(
            PERSONS.iter().all(|name| !made.file(name).exists()),
            "step {step}"
        );
    }
    assert!(stops > 15, "{stops}");
}

fn refused(made: &Made, to: &Path) -> StashError {
    let before = secrets(&made.home.join("keys"));
    let error = stash(&made.home, to).unwrap_err();
    assert_eq!(secrets(&made.home.join("keys")), before, "{error}");
    error
}

#[test]
fn a_link_at_the_stick_that_leads_back_into_the_home_costs_no_key() {
    let made = Made::new("agent-alice-001");
    let soft = stick();
    symlink(made.file(CONTROL), soft.path().join(CONTROL)).unwrap();
    assert!(matches!(refused(&made, soft.path()), StashError::Other(_)));
    assert!(!soft.path().join(ROOT).exists(), "nothing is copied");
    let hard = tempfile::tempdir_in(made.home.path().parent().unwrap()).unwrap();
    std::fs::hard_link(made.file(CONTROL), hard.path().join(CONTROL)).unwrap();
    assert!(matches!(
        refused(&made, hard.path()),
        StashError::SameFile(_)
    ));
}

#[test]
fn a_stick_with_another_persons_key_is_left_as_it_is() {
    let (made, other, stick) = (
        Made::new("agent-alice-001"),
        Made::new("agent-bob-001"),
        stick(),
    );
    let theirs = other.text(CONTROL);
    private::create(&stick.path().join(CONTROL), theirs.as_bytes()).unwrap();
    assert!(matches!(refused(&made, stick.path()), StashError::Other(_)));
    assert_eq!(
        secrets(stick.path()).into_keys().collect::<Vec<_>>(),
        [theirs]
    );
}

#[test]
fn a_place_within_the_home_or_that_others_may_write_is_refused() {
    let made = Made::new("agent-alice-001");
    let inner = made.home.join("safe");
    std::fs::create_dir(&inner).unwrap();
    let outside = stick();
    let link = outside.path().join("stick");
    symlink(&inner, &link).unwrap();
    for within in [
        &inner,
        &link,
        &made.home.join("keys"),
        &made.home.path().to_owned(),
    ] {
        assert!(
            matches!(refused(&made, within), StashError::Within(_)),
            "{}",
            within.display()
        );
    }
    let open = outside.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::create_dir(open.join("inner")).unwrap();
    for mode in [0o777, 0o770, 0o1777] {
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).unwrap();
        assert!(
            matches!(refused(&made, &open), StashError::Open { .. }),
            "{mode:o}"
        );
    }
    // A user who may write the directory above puts another one in its place.
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(
        refused(&made, &open.join("inner")),
        StashError::Open { .. }
    ));
    let file = outside.path().join("file");
    std::fs::write(&file, "").unwrap();
    for none in [file, outside.path().join("none")] {
        assert!(matches!(refused(&made, &none), StashError::NoDirectory(_)));
    }
}

#[test]
fn a_copy_that_others_may_read_or_that_is_damaged_takes_no_key_from_the_home() {
    let (made, stick) = (Made::new("agent-alice-001"), stick());
    let copy = stick.path().join(CONTROL);
    std::fs::write(&copy, made.text(CONTROL)).unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(refused(&made, stick.path()), StashError::Keys(_)));
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&copy, &made.text(CONTROL)[..40]).unwrap();
    assert!(matches!(refused(&made, stick.path()), StashError::Other(_)));
}

#[test]
fn a_change_of_keys_that_was_interrupted_is_finished_first() {
    let (made, stick) = (Made::new("agent-alice-001"), stick());
    let keys = made.open().unwrap();
    let change = rotate_person(&keys, PersonKey::Control, &made.file(ROOT), now()).unwrap();
    stage(&made.home, &change).unwrap();
    assert!(matches!(
        refused(&made, stick.path()),
        StashError::Unfinished
    ));
}
