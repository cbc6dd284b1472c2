//! Keys that are carried: to a root on another machine and back, into a safe place, from ssh.

use super::*;

#[test]
fn a_root_that_never_touches_this_machine_certifies_by_request_and_answer() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    desk.carry("home", "root.pem");
    let output = desk.signet("home", &["key", "request"]);
    let request = String::from_utf8(output.stdout.clone()).unwrap();
    let asked: Value = serde_json::from_str(&request).unwrap();
    for secret in secrets(&desk) {
        assert!(!request.contains(&secret));
    }
    std::fs::write(desk.path("request.json"), &request).unwrap();
    assert!(err(&output).contains("ed25519:"), "{}", err(&output));
    // The other machine has no home.
    let output = desk.signet(
        "",
        &["key", "certify", "@request.json", "--root", "@root.pem"],
    );
    assert!(output.status.success(), "{}", err(&output));
    std::fs::write(desk.path("answer.json"), &output.stdout).unwrap();
    desk.done("home", &["key", "install", "@answer.json"]);
    assert_eq!(
        desk.certificate("home")["signing-key"],
        asked["signing-key"]
    );
    assert!(!desk.path("home/keys/request").exists());
    let said = desk.refused("home", &["key", "install", "@answer.json"]);
    assert!(said.contains("no request of this home waits"), "{said}");
}

#[test]
fn a_foreign_answer_and_a_forged_request_are_refused() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    desk.alice("mallory", &[]);
    for home in ["home", "mallory"] {
        let file = desk.path(&format!("{home}.json"));
        std::fs::write(file, desk.done(home, &["key", "request"])).unwrap();
    }
    let theirs = [
        "key",
        "certify",
        "@mallory.json",
        "--root",
        "@mallory/keys/root.pem",
    ];
    std::fs::write(desk.path("answer.json"), desk.done("", &theirs)).unwrap();
    let before = desk.certificate("home");
    let said = desk.unusable("home", &["key", "install", "@answer.json"]);
    assert!(said.contains("another root key"), "{said}");
    assert_eq!(desk.certificate("home"), before);
    // Somebody changes the request on its way: `certify` signs neither Mallory's request nor one with another agent's
    // name in it.
    let args = [
        "key",
        "certify",
        "@mallory.json",
        "--root",
        "@home/keys/root.pem",
    ];
    assert!(desk.unusable("", &args).contains("not the root key"));
    let text = std::fs::read_to_string(desk.path("home.json")).unwrap();
    let forged = text.replace("agent-alice-001", "agent-alice-666");
    std::fs::write(desk.path("forged.json"), forged).unwrap();
    let args = [
        "key",
        "certify",
        "@forged.json",
        "--root",
        "@home/keys/root.pem",
    ];
    assert!(desk.refused("", &args).contains("was changed"));
}

#[test]
fn a_person_begins_again_from_an_exported_file() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    std::fs::write(desk.path("pass"), "correct horse\n").unwrap();
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(desk.path("pass"), open).unwrap();
    let export = ["key", "export", "@alice.pem", "--passphrase-file", "@pass"];
    assert!(desk.unusable("home", &export).contains("mode 0644"));
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(desk.path("pass"), private).unwrap();
    desk.carry("home", "root.pem");
    assert!(desk.unusable("home", &export).contains("root.pem"));
    let (root, secrets) = (["--root", "@root.pem"], secrets(&desk));
    desk.done("home", &[&export[..], &root].concat());
    desk.refused("home", &[&export[..], &root].concat());
    let text = std::fs::read_to_string(desk.path("alice.pem")).unwrap();
    assert!(
        secrets.len() == 6
            && text.contains("ENCRYPTED")
            && secrets.iter().all(|secret| !text.contains(secret))
    );
    desk.prove_private();
    let again = ["key", "recover", "@alice.pem", "--agent", "agent-alice-001"];
    assert!(desk.unusable("again", &again).contains("no passphrase"));
    assert!(!desk.path("again").exists());
    let pass = ["--passphrase-file", "@pass"];
    let said = desk.done("again", &[&again[..], &pass].concat());
    assert!(
        said.contains("Lost:") && said.contains("signet key revoke"),
        "{said}"
    );
    let (old, new) = (desk.certificate("home"), desk.certificate("again"));
    assert_eq!(new["root-key"], old["root-key"]);
    assert_ne!(new["signing-key"], old["signing-key"]);
    assert!(new["serial"].as_u64() > old["serial"].as_u64());
    assert_eq!(
        desk.key("again", "audit")["id"],
        desk.key("home", "audit")["id"]
    );
    desk.refused("again", &[&again[..], &pass].concat());
    std::fs::create_dir(desk.path("stick")).unwrap();
    let keys = [
        "key",
        "recover",
        "@alice.pem",
        "--agent",
        "agent-alice-003",
        "--keys",
        "@stick",
    ];
    desk.done("third", &[&keys[..], &pass].concat());
    for name in ["next-root.pem", "control.pem", "audit.pem"] {
        let (out, kept) = (
            desk.path("stick").join(name),
            desk.path("home/keys").join(name),
        );
        assert_eq!(
            std::fs::read(out).unwrap(),
            std::fs::read(kept).unwrap(),
            "{name}"
        );
    }
    desk.done(
        "third",
        &["key", "rotate", "signing", "--root", "@stick/root.pem"],
    );
    desk.prove_private();
}

#[test]
fn an_existing_ssh_key_is_somebodys_root_and_an_encrypted_one_is_refused_with_the_way() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    let there = [
        "key",
        "convert",
        "--in",
        "@home/keys/root.pem",
        "--to",
        "openssh",
        "--out",
        "@id",
    ];
    desk.done("", &there);
    desk.done("home", &["key", "rotate", "signing", "--root", "@id"]);
    let line = desk.done("", &["key", "public", "@id"]);
    assert!(line.starts_with("ssh-ed25519 "), "{line}");
    desk.refused("", &there);
    let back = [
        "key",
        "convert",
        "--in",
        "@id",
        "--to",
        "pkcs8",
        "--out",
        "@back.pem",
    ];
    desk.done("", &back);
    let same = std::fs::read(desk.path("back.pem")).unwrap();
    assert_eq!(
        same,
        std::fs::read(desk.path("home/keys/root.pem")).unwrap()
    );
    // Made by ssh-keygen -t ed25519 -N secret, for this test alone.
    std::fs::write(desk.path("locked"), LOCKED).unwrap();
    std::fs::set_permissions(desk.path("locked"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let said = desk.unusable("home", &["key", "rotate", "signing", "--root", "@locked"]);
    assert!(
        said.contains("encrypted OpenSSH") && said.contains("ssh-keygen -p"),
        "{said}"
    );
}

/// Its only use is to be refused.
const LOCKED: &str = "\
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABDe3dzQ4c
Pdq2tW+ejo4K2KAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIM4D1VL/BoERHpwO
bv23VEG8ho+3JJKFHOUFcYazqJ3eAAAAkPkmaRo+fCOl9ZpEOtI6vcjqqySbAJ1nBbWQx9
Kc49L5CtPvwzZ6zwmOXDZcO6qH/lfHLt8F2LTR3xDjxe3C+IV+g4cfjft+4JetRwnKYDAr
DLxC5aPD/T5C3BZQOJY7PmzblkAD0gQG3n5t9D6zqgjnkUIJOC9RVHo5eBCmeLbVNcZnuD
jBugsl5Xh1esfULg==
-----END OPENSSH PRIVATE KEY-----
";
