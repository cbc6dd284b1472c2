mod carried;
mod changes;
mod killed;
mod stashed;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use signet_proto::headers::Layers;
use signet_proto::node::Node;
use signet_proto::policy::Policy;

use super::*;
use crate::files::private;

const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

/// The key store of a new agent, for tests.
pub(crate) struct Made {
    home: Home,
    agent: AgentConfig,
    _directory: tempfile::TempDir,
}

impl Made {
    pub(crate) fn new(name: &str) -> Self {
        Self::under(name, Root::New)
    }

    /// The key store of another agent of the same person.
    pub(crate) fn sibling(&self, name: &str) -> Self {
        let root = Root::Existing {
            root: self.file(ROOT),
            next: self.file(NEXT_ROOT),
            control: self.file(CONTROL_CERTIFICATE),
        };
        Self::under(name, root)
    }

    fn under(name: &str, root: Root) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let (agent, principal) = (name.parse().unwrap(), "alice".parse().unwrap());
        let agent = AgentConfig {
            agent,
            principal,
            layers: Layers::of(&[0, 1, 2, 3]),
        };
        let new = NewAgent {
            agent: agent.agent.clone(),
            principal: agent.principal.clone(),
            root,
        };
        create(&home, new, now()).unwrap();
        Self {
            home,
            agent,
            _directory: directory,
        }
    }

    /// The agent, who knows nobody.
    pub(crate) fn node(&self) -> Node {
        let identity = self.open().unwrap().into_identity(self.agent.layers);
        Node::new(identity, Policy::default(), [7; 32])
    }

    pub(crate) fn open(&self) -> Result<AgentKeys, KeystoreError> {
        AgentKeys::open(&self.home, &self.agent)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.key_file(name)
    }

    fn overwrite(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    fn lock(&self) -> HomeLock {
        HomeLock::acquire(&self.home).unwrap()
    }

    /// Stages and adopts, as a command does while no daemon runs.
    fn take(&self, change: &KeyChange, now: Timestamp) -> Result<bool, KeystoreError> {
        stage(&self.home, change)?;
        adopt(&self.lock(), &self.agent, now)
    }

    /// The names of all files of the key store.
    fn names(&self) -> Vec<String> {
        let directory = std::fs::read_dir(self.home.join("keys")).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = directory
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }
}

/// When its certificates begin.
pub(crate) fn now() -> Timestamp {
    "2026-02-08T17:00:00.000Z".parse().unwrap()
}

#[test]
fn what_is_made_opens() {
    let made = Made::new("agent-alice-001");
    let keys = made.open().unwrap();
    assert_eq!(keys.certificate.agent, made.agent.agent);
    assert!(keys.certificate.covers(now()));
    assert_eq!(keys.statement.sealing_key, keys.sealing.public());
    for file in std::fs::read_dir(made.home.join("keys")).unwrap() {
        let facts = file.unwrap().metadata().unwrap();
        assert_eq!(facts.permissions().mode() & 0o7777, 0o600);
    }
}

#[test]
fn a_second_agent_of_a_person_has_the_same_root_and_no_copy_of_it() {
    let first = Made::new("agent-alice-001");
    let second = first.sibling("agent-alice-002");
    let (one, two) = (first.open().unwrap(), second.open().unwrap());
    assert_eq!(one.certificate.root, two.certificate.root);
    assert_eq!(one.certificate.next_root, two.certificate.next_root);
    assert_ne!(one.certificate.signing_key, two.certificate.signing_key);
    assert_eq!(one.control, two.control);
    for secret in [ROOT, NEXT_ROOT, CONTROL, AUDIT] {
        assert!(first.file(secret).exists() && !second.file(secret).exists());
    }
}

#[test]
fn nothing_is_overwritten() {
    let made = Made::new("agent-alice-001");
    let before = made.text(SIGNING);
    let new = NewAgent {
        agent: made.agent.agent.clone(),
        principal: made.agent.principal.clone(),
        root: Root::New,
    };
    create(&made.home, new, now()).unwrap_err();
    assert!(pem::create(&made.file(SIGNING), pem::Algorithm::Ed25519, &[7; 32]).is_err());
    assert_eq!(made.text(SIGNING), before);
}

#[test]
fn a_key_that_others_can_read_is_refused_with_the_command_to_run() {
    for name in [
        SIGNING,
        SEALING,
        ROOT,
        NEXT_ROOT,
        CONTROL,
        AUDIT,
        CERTIFICATE,
        CONTROL_CERTIFICATE,
        KEYS,
    ] {
        let made = Made::new("agent-alice-001");
        let file = made.file(name);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = made.open().unwrap_err();
        assert!(
            matches!(
                error,
                KeystoreError::File(private::PrivateError::Mode { mode: 0o640, .. })
            ),
            "{error}"
        );
        assert_eq!(error.next(), format!("chmod 600 {}", file.display()));
    }
}

#[test]
fn a_certificate_of_another_key_is_refused() {
    let (mine, other) = (Made::new("agent-alice-001"), Made::new("agent-alice-001"));
    mine.overwrite(CERTIFICATE, &other.text(CERTIFICATE));
    assert!(matches!(
        mine.open().unwrap_err(),
        KeystoreError::ForeignCertificate { .. }
    ));
}

#[test]
fn a_statement_of_another_key_or_agent_is_refused() {
    let (mine, other) = (Made::new("agent-alice-001"), Made::new("agent-alice-001"));
    mine.overwrite(KEYS, &other.text(KEYS));
    assert!(matches!(
        mine.open().unwrap_err(),
        KeystoreError::Certificate { .. }
    ));
    let mine = Made::new("agent-alice-001");
    mine.overwrite(SEALING, &other.text(SEALING));
    assert!(matches!(
        mine.open().unwrap_err(),
        KeystoreError::ForeignStatement { .. }
    ));
}

#[test]
fn a_certificate_of_another_name_than_the_configuration_is_refused() {
    let mut made = Made::new("agent-alice-001");
    made.agent.agent = "agent-alice-002".parse().unwrap();
    assert!(matches!(
        made.open().unwrap_err(),
        KeystoreError::OtherAgent { .. }
    ));
}

#[test]
fn layers_beyond_the_certificate_are_refused() {
    let mut made = Made::new("agent-alice-001");
    made.agent.layers = Layers::of(&[0, 7]);
    assert!(matches!(
        made.open().unwrap_err(),
        KeystoreError::Layers { .. }
    ));
}

#[test]
fn a_changed_certificate_is_refused() {
    let made = Made::new("agent-alice-001");
    made.overwrite(
        CERTIFICATE,
        &made
            .text(CERTIFICATE)
            .replace("\"principal-id\":\"alice\"", "\"principal-id\":\"alicf\""),
    );
    assert!(matches!(
        made.open().unwrap_err(),
        KeystoreError::Certificate { .. }
    ));
    made.overwrite(CERTIFICATE, "{\"type\":\"agent\",\"type\":\"agent\"}");
    assert!(matches!(
        made.open().unwrap_err(),
        KeystoreError::Json { .. }
    ));
}

#[test]
fn a_corrupt_key_file_is_named_and_never_quoted() {
    let corruptions: [fn(&str) -> String; 6] = [
        |pem| pem.replace("PRIVATE KEY", "PUBLIC KEY"),
        |pem| pem.lines().next().unwrap().to_owned(),
        |pem| pem.replacen("MC4", "MC5", 1),
        |pem| pem.replace("MC4CAQAwBQYDK2Vw", "MC4CAQAwBQYDK2Vu"),
        |pem| pem.replace("-----END", "A\n-----END"),
        |_| String::new(),
    ];
    for corrupt in corruptions {
        let made = Made::new("agent-alice-001");
        let pem = made.text(SIGNING);
        let secret = pem.lines().nth(1).unwrap().to_owned();
        assert_ne!(corrupt(&pem), pem);
        made.overwrite(SIGNING, &corrupt(&pem));
        let error = made.open().unwrap_err();
        assert!(
            matches!(
                error,
                KeystoreError::Pem {
                    kind: "Ed25519",
                    ..
                }
            ),
            "{error}"
        );
        let said = format!("{error} {error:?} {}", error.next());
        assert!(
            said.contains(SIGNING) && !said.contains(&secret[20..30]),
            "{said}"
        );
    }
}

#[test]
fn a_sealing_key_is_not_taken_for_a_signing_key() {
    let made = Made::new("agent-alice-001");
    made.overwrite(SIGNING, &made.text(SEALING));
    assert!(matches!(
        made.open().unwrap_err(),
        KeystoreError::Pem {
            kind: "Ed25519",
            ..
        }
    ));
}

#[test]
fn keys_do_not_print() {
    let keys = Made::new("agent-alice-001").open().unwrap();
    let secret = data_encoding::HEXLOWER.encode(keys.sealing.expose());
    let bytes = format!("{:?}", keys.sealing.expose());
    let said = format!("{keys:?}");
    assert!(said.contains("SealSecret(public x25519:"), "{said}");
    assert!(!said.contains(&secret) && !said.contains(&bytes[1..40]));
}

#[test]
fn the_key_file_of_rfc_8410_is_read() {
    // The example of RFC 8410, section 10.3, without its public key: such files come from other programs, and have to be
    // readable.
    let plain = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    let made = Made::new("agent-alice-001");
    made.overwrite(SIGNING, plain);
    let key = pem::read_signing_key(&made.file(SIGNING)).unwrap();
    let public = data_encoding::HEXLOWER.encode(key.public().as_bytes());
    assert_eq!(
        public,
        "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"
    );
    let file = made.file("again.pem");
    let seed = pem::read(&made.file(SIGNING), pem::Algorithm::Ed25519).unwrap();
    pem::create(&file, pem::Algorithm::Ed25519, &seed).unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), plain);
}

#[test]
fn the_root_key_cannot_be_its_own_successor() {
    let first = Made::new("agent-alice-001");
    let directory = tempfile::tempdir().unwrap();
    let root = Root::Existing {
        root: first.file(ROOT),
        next: first.file(ROOT),
        control: first.file(CONTROL_CERTIFICATE),
    };
    let new = NewAgent {
        agent: "b".parse().unwrap(),
        principal: "alice".parse().unwrap(),
        root,
    };
    let error = create(&Home::at(directory.path()), new, now()).unwrap_err();
    assert!(matches!(error, KeystoreError::SameRoot), "{error}");
}
