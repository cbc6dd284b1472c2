//! New keys in the place of old ones, and what becomes of the old.

use super::*;

fn later(days: u32) -> Timestamp {
    now().saturating_add(days * DAY)
}

fn refused(change: Result<KeyChange, KeystoreError>) -> KeystoreError {
    match change {
        Ok(_) => panic!("it was made"),
        Err(error) => error,
    }
}

#[test]
fn a_new_sealing_key_is_made_after_thirty_days_and_not_before() {
    let made = Made::new("agent-alice-001");
    let (lock, old) = (made.lock(), made.open().unwrap());
    let almost = Timestamp::from_millis(later(30).as_millis() - 1);
    let keys = AgentKeys::settle(&lock, &made.agent, almost).unwrap();
    assert_eq!(keys.statement, old.statement);
    let keys = AgentKeys::settle(&lock, &made.agent, later(30)).unwrap();
    assert!(keys.statement.serial > old.statement.serial);
    assert_ne!(keys.sealing.public(), old.sealing.public());
    assert_eq!(keys.statement.not_after, later(75));
    let older: Vec<_> = keys.older.iter().map(SealSecret::public).collect();
    assert_eq!(older, [old.sealing.public()]);
    let identity = keys.into_identity(made.agent.layers);
    assert!(identity.secret(old.sealing.public()).is_some());
    let again = AgentKeys::settle(&lock, &made.agent, later(30)).unwrap();
    assert_eq!(again.statement, identity.keys);
}

#[test]
fn an_old_sealing_secret_is_destroyed_a_week_and_a_minute_after_its_statement() {
    let made = Made::new("agent-alice-001");
    let lock = made.lock();
    let end = made.open().unwrap().statement.not_after;
    AgentKeys::settle(&lock, &made.agent, later(30)).unwrap();
    let old = kept(&made.home).unwrap().remove(0);
    assert_eq!(
        (old.kind, old.until),
        ("sealing", Some(end.saturating_add(7 * DAY + MINUTE)))
    );
    // A hard link keeps the file after its destruction, so that the test can see what became of its bytes.
    let witness = made.home.join("witness");
    std::fs::hard_link(&old.path, &witness).unwrap();
    let until = old.until.unwrap();
    assert!(destroy_overdue(&lock, until).unwrap().is_empty() && old.path.exists());
    let after = until.saturating_add(std::time::Duration::from_millis(1));
    assert_eq!(
        destroy_overdue(&lock, after).unwrap(),
        std::slice::from_ref(&old)
    );
    assert!(!old.path.exists());
    let bytes = std::fs::read(witness).unwrap();
    assert!(bytes.len() > 100 && bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn years_of_rotation_leave_two_old_sealing_secrets_at_most() {
    let made = Made::new("agent-alice-001");
    let lock = made.lock();
    for day in 1..400 {
        let keys = AgentKeys::settle(&lock, &made.agent, later(day)).unwrap();
        assert!(keys.older.len() <= 1, "{day}: {:?}", made.names());
        assert!(keys.statement.not_after > later(day));
    }
}

#[test]
fn a_new_signing_key_has_a_higher_serial_and_the_old_one_is_kept_for_receipts() {
    let made = Made::new("agent-alice-001");
    let old = made.open().unwrap();
    let change = rotate_signing(&old, &made.file(ROOT), None, later(1)).unwrap();
    assert!(made.take(&change, later(1)).unwrap());
    let keys = made.open().unwrap();
    assert!(keys.certificate.serial > old.certificate.serial);
    assert_ne!(keys.certificate.signing_key, old.certificate.signing_key);
    assert_eq!(keys.certificate.root, old.certificate.root);
    assert_eq!(keys.certificate.next_root, old.certificate.next_root);
    assert_eq!(keys.sealing.public(), old.sealing.public());
    // The sealing key stays the same, so the new signing key must not prolong its life.
    assert_eq!(keys.statement.not_after, old.statement.not_after);
    assert_eq!(keys.former[0].public(), old.signing.public());
    let lock = made.lock();
    let end = later(1).saturating_add(37 * DAY + 2 * MINUTE);
    let gone = destroy_overdue(&lock, end).unwrap();
    assert_eq!(gone[0].kind, "signing");
    assert!(made.open().unwrap().former.is_empty());
}

#[test]
fn serials_rise_within_one_second_and_when_the_clock_goes_back() {
    let made = Made::new("agent-alice-001");
    let mut serials = vec![made.open().unwrap().certificate.serial];
    for now in [now(), now(), now().saturating_sub(DAY)] {
        let change = rotate_signing(&made.open().unwrap(), &made.file(ROOT), None, now).unwrap();
        made.take(&change, now).unwrap();
        serials.push(made.open().unwrap().certificate.serial);
    }
    assert!(serials.is_sorted_by(|one, next| one < next), "{serials:?}");
}

#[test]
fn a_root_of_somebody_else_certifies_nothing_here() {
    let (made, other) = (Made::new("agent-alice-001"), Made::new("agent-alice-001"));
    let keys = made.open().unwrap();
    for error in [
        refused(rotate_signing(&keys, &other.file(ROOT), None, later(1))),
        refused(rotate_person(
            &keys,
            PersonKey::Audit,
            &other.file(ROOT),
            later(1),
        )),
    ] {
        assert!(matches!(error, KeystoreError::OtherRoot { .. }), "{error}");
    }
    let error = refused(rotate_signing(&keys, &made.file(NEXT_ROOT), None, later(1)));
    assert!(
        matches!(error, KeystoreError::StillNextRoot { .. }),
        "{error}"
    );
}

#[test]
fn a_root_that_is_not_the_next_root_does_not_take_over() {
    let (made, other) = (Made::new("agent-alice-001"), Made::new("agent-alice-001"));
    let keys = made.open().unwrap();
    for file in [made.file(ROOT), other.file(NEXT_ROOT), made.file(CONTROL)] {
        let error = refused(rotate_root(&keys, &file, None, later(1)));
        assert!(
            matches!(error, KeystoreError::NotNextRoot { .. }),
            "{error}"
        );
        assert!(create_next_root(&keys, &file, later(1)).is_err());
    }
    let error = refused(rotate_root(
        &keys,
        &made.file(NEXT_ROOT),
        Some(&made.file(NEXT_ROOT)),
        later(1),
    ));
    assert!(matches!(error, KeystoreError::SameRoot), "{error}");
}

#[test]
fn the_next_root_takes_over_and_a_second_home_follows() {
    let first = Made::new("agent-alice-001");
    let root = Root::Existing {
        root: first.file(ROOT),
        next: first.file(NEXT_ROOT),
        control: first.file(CONTROL_CERTIFICATE),
    };
    let second = Made::under("agent-alice-002", root);
    let old = first.open().unwrap();
    let was_next = first.text(NEXT_ROOT);
    let change = rotate_root(&old, &first.file(NEXT_ROOT), None, later(1)).unwrap();
    first.take(&change, later(1)).unwrap();
    assert_eq!(first.text(ROOT), was_next);
    let new = first.open().unwrap();
    assert!(is_next_root(&new.certificate.root, &old.certificate));
    assert_eq!(new.certificate.signing_key, old.certificate.signing_key);
    let (mine, before) = (new.control.unwrap(), old.control.unwrap());
    assert_eq!(
        (mine.control_key, mine.audit_key),
        (before.control_key, before.audit_key)
    );
    assert!(mine.serial > before.serial && mine.root == new.certificate.root);
    let kept = kept(&first.home).unwrap();
    assert!(kept.iter().any(|kept| kept.kind == "root"), "{kept:?}");
    let next = first.file(NEXT_ROOT);
    let change = rotate_root(
        &second.open().unwrap(),
        &first.file(ROOT),
        Some(&next),
        later(1),
    );
    second.take(&change.unwrap(), later(1)).unwrap();
    let two = second.open().unwrap().certificate;
    assert_eq!(
        (two.root, two.next_root),
        (new.certificate.root, new.certificate.next_root)
    );
    assert!(!second.file(ROOT).exists());
    // Change the root a second time: the first change has made a new next root key, which has to be able to take over as well.
    let change = rotate_root(&first.open().unwrap(), &next, None, later(2)).unwrap();
    first.take(&change, later(2)).unwrap();
}

#[test]
fn a_new_audit_key_leaves_the_old_one_for_the_old_lines() {
    let made = Made::new("agent-alice-001");
    let old = made.open().unwrap().control.unwrap();
    let change = rotate_person(
        &made.open().unwrap(),
        PersonKey::Audit,
        &made.file(ROOT),
        later(1),
    );
    made.take(&change.unwrap(), later(1)).unwrap();
    let new = made.open().unwrap().control.unwrap();
    assert_eq!(new.control_key, old.control_key);
    assert_ne!(new.audit_key, old.audit_key);
    let file = made.file(&format!("audit-{}.pem", old.serial));
    let secret = pem::read(&file, Algorithm::X25519).unwrap();
    assert_eq!(SealSecret::of(secret).public(), old.audit_key);
    destroy_overdue(&made.lock(), later(10_000)).unwrap();
    assert!(file.exists(), "the person's own, for good");
}

#[test]
fn a_home_of_an_older_release_opens_and_gets_its_control_keys() {
    let made = Made::new("agent-alice-001");
    for name in [CONTROL, AUDIT, CONTROL_CERTIFICATE] {
        std::fs::remove_file(made.file(name)).unwrap();
    }
    let keys = made.open().unwrap();
    assert!(keys.control.is_none());
    let change = rotate_person(&keys, PersonKey::Control, &made.file(ROOT), later(1)).unwrap();
    made.take(&change, later(1)).unwrap();
    let control = made.open().unwrap().control.unwrap();
    let secret = pem::read(&made.file(AUDIT), Algorithm::X25519).unwrap();
    assert_eq!(SealSecret::of(secret).public(), control.audit_key);
}

#[test]
fn a_control_certificate_of_another_person_is_refused() {
    let (mine, other) = (Made::new("agent-alice-001"), Made::new("agent-alice-001"));
    let error = refused(take_control(
        &mine.open().unwrap(),
        &other.file(CONTROL_CERTIFICATE),
    ));
    assert!(
        matches!(error, KeystoreError::OtherPerson { .. }),
        "{error}"
    );
    mine.overwrite(CONTROL_CERTIFICATE, &other.text(CONTROL_CERTIFICATE));
    let error = mine.open().unwrap_err();
    assert!(
        matches!(error, KeystoreError::OtherPerson { .. }),
        "{error}"
    );
}

#[test]
fn an_older_control_certificate_is_not_taken_back() {
    let made = Made::new("agent-alice-001");
    let old = made.text(CONTROL_CERTIFICATE);
    let change = rotate_person(
        &made.open().unwrap(),
        PersonKey::Control,
        &made.file(ROOT),
        later(1),
    );
    made.take(&change.unwrap(), later(1)).unwrap();
    let file = made.home.join("old.json");
    private::create(&file, old.as_bytes()).unwrap();
    let change = take_control(&made.open().unwrap(), &file).unwrap();
    let error = made.take(&change, later(1)).unwrap_err();
    assert!(matches!(error, KeystoreError::Unfit { .. }), "{error}");
    assert_ne!(made.text(CONTROL_CERTIFICATE), old);
}

const MINUTE: std::time::Duration = std::time::Duration::from_secs(60);
