//! Keys that leave the home or come to it: requests, answers, exported files, other forms.

use super::super::disk::killed;
use super::*;

fn later() -> Timestamp {
    now().saturating_add(DAY)
}

fn carried<T>(value: &Value, parse: impl Fn(&Value) -> Option<T>) -> T {
    let text = signet_json::canonical(value);
    parse(&signet_json::parse(&text, signet_json::Limits::MESSAGE).unwrap()).unwrap()
}

#[test]
fn a_root_that_never_comes_here_certifies_a_new_key() {
    let made = Made::new("agent-alice-001");
    let away = made.home.join("away.pem");
    std::fs::rename(made.file(ROOT), &away).unwrap();
    let old = made.open().unwrap();
    let asked = request(&made.home, &old).unwrap();
    let again = request(&made.home, &old).unwrap();
    assert_eq!(
        asked.signing_key, again.signing_key,
        "the same request, said twice"
    );
    let text = asked.to_value().to_string();
    assert!(!text.contains("PRIVATE"), "{text}");
    let asked = carried(&asked.to_value(), RootRequest::parse);
    let answer = asked.certify(&away, None, later()).unwrap();
    let answer = carried(&answer.to_value(), RootAnswer::parse);
    let change = install(&made.home, &old, &answer, later()).unwrap();
    made.take(&change, later()).unwrap();
    clear_request(&made.home).unwrap();
    let keys = made.open().unwrap();
    assert_eq!(keys.certificate, answer.certificate);
    assert_eq!(keys.control, answer.control);
    assert!(keys.certificate.serial > old.certificate.serial);
    let error = install(&made.home, &keys, &answer, later()).err().unwrap();
    assert!(matches!(error, KeystoreError::NoRequest), "{error}");
}

#[test]
fn a_kill_before_the_request_is_cleared_leaves_an_answer_that_can_be_installed_again() {
    for step in 0.. {
        let made = Made::new("agent-alice-001");
        let old = made.open().unwrap();
        let asked = request(&made.home, &old).unwrap();
        let answer = asked.certify(&made.file(ROOT), None, later()).unwrap();
        let change = install(&made.home, &old, &answer, later()).unwrap();
        assert!(!is_installed(&made.home, &old, &answer).unwrap());
        made.take(&change, later()).unwrap();
        let (_, stopped) = killed::before(step, || clear_request(&made.home));
        let keys = AgentKeys::settle(&made.lock(), &made.agent, later()).unwrap();
        let is_left = made.names().contains(&"request".to_owned());
        let again = is_installed(&made.home, &keys, &answer).unwrap();
        assert_eq!(again, is_left, "step {step}: {:?}", made.names());
        // The signing key of the next request is a new one, however far the clearing came.
        let next = request(&made.home, &keys).unwrap();
        assert_ne!(next.signing_key, keys.certificate.signing_key, "{step}");
        if !stopped {
            assert!(step > 4, "{step}");
            break;
        }
    }
}

#[test]
fn the_next_root_takes_over_from_afar_and_has_to_commit_to_a_successor() {
    let (made, other) = (Made::new("agent-alice-001"), Made::new("agent-bob-001"));
    let old = made.open().unwrap();
    let asked = request(&made.home, &old).unwrap();
    let next = made.file(NEXT_ROOT);
    let error = asked.certify(&next, None, later()).unwrap_err();
    assert!(
        matches!(error, KeystoreError::NextRootMissing { .. }),
        "{error}"
    );
    let answer = asked
        .certify(&next, Some(&other.file(ROOT)), later())
        .unwrap();
    let change = install(&made.home, &old, &answer, later()).unwrap();
    made.take(&change, later()).unwrap();
    let keys = made.open().unwrap();
    assert!(is_next_root(&keys.certificate.root, &old.certificate));
    let error = asked.certify(&other.file(ROOT), None, later()).unwrap_err();
    assert!(matches!(error, KeystoreError::OtherRoot { .. }), "{error}");
}

#[test]
fn a_foreign_answer_json_is_refused() {
    let (made, other) = (Made::new("agent-alice-001"), Made::new("agent-alice-001"));
    let keys = made.open().unwrap();
    let mine = request(&made.home, &keys).unwrap();
    let theirs = request(&other.home, &other.open().unwrap()).unwrap();
    let good = mine.certify(&made.file(ROOT), None, later()).unwrap();
    // Not to be accepted: an answer that a strange root key signed, to a forged request that names this agent's signing key.
    let forged = RootRequest {
        signing_key: mine.signing_key.clone(),
        ..theirs.clone()
    };
    let forged = forged.certify(&other.file(ROOT), None, later()).unwrap();
    // Not to be accepted: an answer of the right root key, but for a signing key that somebody else put into the request.
    let slipped = RootRequest {
        signing_key: theirs.signing_key.clone(),
        ..mine.clone()
    };
    let slipped = slipped.certify(&made.file(ROOT), None, later()).unwrap();
    // Not to be accepted: an answer with other keys of the person than the present ones, which nobody here has asked for.
    let swapped = RootRequest {
        control: None,
        person: Some((
            theirs.signing_key.clone(),
            theirs.control.clone().unwrap().audit_key,
        )),
        ..mine
    };
    let swapped = swapped.certify(&made.file(ROOT), None, later()).unwrap();
    for (name, answer) in [
        ("forged", forged),
        ("slipped", slipped),
        ("swapped", swapped),
    ] {
        let error = install(&made.home, &keys, &answer, later()).err();
        let named = matches!(error, Some(KeystoreError::ForeignAnswer { .. }));
        assert!(named, "{name}: {error:?}");
    }
    let mut changed = good.to_value();
    changed["certificate"]["serial"] = 9_999_999_999_u64.into();
    assert!(RootAnswer::parse(&changed).is_none());
    install(&made.home, &keys, &good, later()).unwrap();
}

#[test]
fn a_request_cannot_ask_for_another_name_or_more_layers() {
    let made = Made::new("agent-alice-001");
    let asked = request(&made.home, &made.open().unwrap())
        .unwrap()
        .to_value();
    for (name, value) in [
        ("agent-id", Value::from("agent-alice-009")),
        ("layers", Value::from(vec![0, 1, 2, 3, 4])),
    ] {
        let mut changed = asked.clone();
        changed["certificate"][name] = value;
        assert!(RootRequest::parse(&changed).is_none(), "{name}");
    }
    let mut more = asked;
    more["not-after"] = "2099-01-01T00:00:00.000Z".into();
    assert!(RootRequest::parse(&more).is_none());
}

fn exported(made: &Made, passphrase: Option<&Passphrase>) -> PathBuf {
    let files = [ROOT, NEXT_ROOT, CONTROL, AUDIT].map(|name| made.file(name));
    let files: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let bundle = Bundle::collect(&made.open().unwrap(), &files).unwrap();
    let file = made.home.join("exported.pem");
    let text = bundle.to_text(passphrase).unwrap();
    private::create(&file, text.as_bytes()).unwrap();
    file
}

fn passphrase(made: &Made, text: &str) -> Passphrase {
    let file = made.home.join(format!("pass-{}", text.len()));
    private::create(&file, text.as_bytes()).unwrap();
    Passphrase::read(&file).unwrap()
}

#[test]
fn an_agent_is_made_again_from_an_exported_file() {
    let made = Made::new("agent-alice-001");
    let old = made.open().unwrap();
    let pass = passphrase(&made, "correct horse battery staple\n");
    for pass in [None, Some(&pass)] {
        let file = exported(&made, pass);
        let bundle = Bundle::read(&file, pass).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let from = Recovered {
            agent: made.agent.agent.clone(),
            bundle: &bundle,
        };
        recover(&home, &from, now()).unwrap();
        let keys = AgentKeys::open(&home, &made.agent).unwrap();
        assert!(keys.certificate.serial > old.certificate.serial);
        assert_eq!(keys.certificate.root, old.certificate.root);
        assert_ne!(keys.certificate.signing_key, old.certificate.signing_key);
        let (mine, before) = (keys.control.unwrap(), old.control.as_ref().unwrap());
        assert_eq!(mine.audit_key, before.audit_key);
        assert!(!home.key_file(ROOT).exists());
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn an_encrypted_export_shows_no_secret_and_opens_with_its_passphrase_alone() {
    let made = Made::new("agent-alice-001");
    let right = passphrase(&made, "right");
    let file = exported(&made, Some(&right));
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("BEGIN ENCRYPTED PRIVATE KEY").count(), 4);
    assert!(!text.contains("BEGIN PRIVATE KEY"));
    let wrong = passphrase(&made, "wrong!");
    let error = Bundle::read(&file, Some(&wrong)).err().unwrap();
    assert!(matches!(error, KeystoreError::WrongPassphrase), "{error}");
    let error = Bundle::read(&file, None).err().unwrap();
    assert!(matches!(error, KeystoreError::PassphraseNeeded), "{error}");
}

#[test]
fn an_export_without_a_key_that_the_certificates_name_is_no_export() {
    let made = Made::new("agent-alice-001");
    let keys = made.open().unwrap();
    for missing in [ROOT, NEXT_ROOT, CONTROL, AUDIT] {
        let files: Vec<_> = [ROOT, NEXT_ROOT, CONTROL, AUDIT]
            .into_iter()
            .filter(|name| *name != missing)
            .map(|name| made.file(name))
            .collect();
        let files: Vec<_> = files.iter().map(PathBuf::as_path).collect();
        let error = Bundle::collect(&keys, &files).err().unwrap();
        assert!(
            matches!(error, KeystoreError::NotInBundle { .. }),
            "{missing}: {error}"
        );
    }
}

#[test]
fn a_torn_or_foreign_export_is_refused_and_never_quoted() {
    let made = Made::new("agent-alice-001");
    let file = exported(&made, None);
    let text = std::fs::read_to_string(&file).unwrap();
    let secret = text.lines().nth(5).unwrap().to_owned();
    for torn in [
        text[..text.len() / 2].to_owned(),
        text.replacen(&secret, "AAAA", 1),
        text.replace("SIGNET CERTIFICATE", "CERTIFICATE"),
        String::new(),
    ] {
        std::fs::write(&file, torn).unwrap();
        let error = Bundle::read(&file, None).err().unwrap();
        let said = format!("{error} {error:?} {}", error.next());
        assert!(!said.contains(&secret), "{said}");
    }
}

#[test]
fn an_export_whose_control_certificate_is_damaged_or_torn_off_is_refused() {
    const LABEL: &str = "SIGNET CONTROL CERTIFICATE";
    let made = Made::new("agent-alice-001");
    let file = exported(&made, None);
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, block) = text.split_once(&format!("-----BEGIN {LABEL}")).unwrap();
    // Put the agent's certificate under the label of the control certificate: a sound PEM block that is no control certificate
    // has to be refused too.
    let (_, other) = before.rsplit_once("-----BEGIN SIGNET").unwrap();
    let other = format!("-----BEGIN SIGNET{other}").replace("SIGNET CERTIFICATE", LABEL);
    for damaged in [
        format!("{before}{other}"),
        format!("{before}-----BEGIN {LABEL}{}", &block[..block.len() - 9]),
        format!("{before}----BEGIN {LABEL}{block}"),
        before.to_owned(),
    ] {
        std::fs::write(&file, damaged).unwrap();
        let error = Bundle::read(&file, None).err();
        let is_refused = matches!(error, Some(KeystoreError::Bundle));
        assert!(is_refused, "{error:?}");
    }
}

#[test]
fn an_agent_without_a_control_certificate_has_an_export_of_two_keys() {
    let made = Made::new("agent-alice-001");
    let keys = AgentKeys {
        control: None,
        ..made.open().unwrap()
    };
    let files = [ROOT, NEXT_ROOT].map(|name| made.file(name));
    let files: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let text = Bundle::collect(&keys, &files)
        .unwrap()
        .to_text(None)
        .unwrap();
    let file = made.home.join("exported.pem");
    private::create(&file, text.as_bytes()).unwrap();
    assert!(Bundle::read(&file, None).unwrap().control.is_none());
}

#[test]
fn an_openssh_key_can_be_a_root_and_goes_there_and_back() {
    let made = Made::new("agent-alice-001");
    let (ssh, back) = (made.home.join("id_ed25519"), made.home.join("back.pem"));
    convert(&made.file(ROOT), KeyFormat::Openssh, &ssh).unwrap();
    assert!(
        std::fs::read_to_string(&ssh)
            .unwrap()
            .starts_with("-----BEGIN OPENSSH")
    );
    convert(&ssh, KeyFormat::Pkcs8, &back).unwrap();
    assert_eq!(std::fs::read_to_string(&back).unwrap(), made.text(ROOT));
    let line = public_line(&ssh).unwrap();
    assert!(line.starts_with("ssh-ed25519 AAAA") && line == public_line(&back).unwrap());
    rotate_signing(&made.open().unwrap(), &ssh, None, later()).unwrap();
    assert!(
        convert(&ssh, KeyFormat::Pkcs8, &back).is_err(),
        "nothing is overwritten"
    );
    let error = convert(
        &made.file(SEALING),
        KeyFormat::Openssh,
        &made.home.join("x"),
    )
    .unwrap_err();
    assert!(
        matches!(error, KeystoreError::NoOpensshForm { .. }),
        "{error}"
    );
    assert!(
        public_line(&made.file(SEALING))
            .unwrap()
            .starts_with("x25519:")
    );
}
