//! `signet key stash`: the person's keys go to a stick, and what is said is what works.

use super::*;

#[test]
fn a_home_goes_on_without_the_persons_keys_and_each_is_used_from_the_stick() {
    let desk = Desk::new();
    desk.alice("alice", &[]);
    std::fs::create_dir(desk.path("stick")).unwrap();
    let said = desk.done("alice", &["key", "stash", "@stick"]);
    for name in ["root.pem", "next-root.pem", "control.pem", "audit.pem"] {
        assert!(said.contains(name), "{said}");
        assert!(
            desk.path("stick").join(name).exists() && !desk.path("alice/keys").join(name).exists(),
            "{name}"
        );
        assert!(
            desk.key("alice", name.trim_end_matches(".pem"))["secret"].is_null(),
            "{name}"
        );
    }
    assert!(
        said.contains("the file system that the home is on"),
        "{said}"
    );
    desk.prove_private();
    desk.done(
        "alice",
        &["key", "rotate", "signing", "--root", "@stick/root.pem"],
    );
    desk.done(
        "alice",
        &["key", "rotate", "control", "--root", "@stick/root.pem"],
    );
    // The new control key lies in the home again; the stick holds the old one, which is not overwritten.
    let error = desk.refused("alice", &["key", "stash", "@stick"]);
    assert!(error.contains("is not a copy of this key"), "{error}");
    std::fs::create_dir(desk.path("second")).unwrap();
    let said = desk.done("alice", &["key", "stash", "@second"]);
    assert!(
        said.contains("control.pem") && !said.contains("root.pem"),
        "{said}"
    );
    let error = desk.refused("alice", &["key", "stash", "@second"]);
    assert!(error.contains("signet key show"), "{error}");
    // A second agent of the person's is made from the stick.
    let args = [
        "init",
        "--agent",
        "agent-alice-002",
        "--principal",
        "alice",
        "--root",
        "@stick/root.pem",
    ];
    desk.done("other", &args);
}

#[test]
fn a_place_that_is_no_safe_place_is_named_with_what_to_do() {
    let desk = Desk::new();
    desk.alice("alice", &[]);
    let open = desk.path("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    for (to, says) in [
        ("@open", "chmod go-w"),
        ("@none", "mkdir -m 700"),
        ("@alice/keys", "on a stick"),
    ] {
        let error = desk.unusable("alice", &["key", "stash", to]);
        assert!(error.contains(says), "{error}");
        assert!(desk.path("alice/keys/root.pem").exists());
    }
}
