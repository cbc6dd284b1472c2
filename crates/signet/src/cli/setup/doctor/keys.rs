//! The home and its keys: who may read them, whether they belong together, how long they last.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use signet_audit::counted;
use signet_proto::certificate::Certificate;
use signet_proto::ids::Version;

use super::finding::{CheckResult, DoctorCheck};
use super::scene::Scene;
use crate::attention::ENDS_SOON;
use crate::files::private::{self, PrivateError};
use crate::hint;
use crate::home::Home;
use crate::keystore::{AgentKeys, CONTROL, ROOT};

/// Who may write in the home, and where its keys are.
pub(super) fn home(home: &Home) -> CheckResult {
    let path = home.path();
    let check = DoctorCheck::of("home", path.display());
    // A home that this user may not enter still shows its own mode. So read the metadata of `keys/` in it as
    // well: that fails if the user may not look inside.
    let facts = path.metadata().and_then(|facts| {
        let keys = home.join("keys");
        match keys.metadata() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
            keys_facts => Ok((facts, keys_facts.ok().map(|facts| (keys, facts)))),
        }
    });
    let (facts, keys) = match facts {
        Ok(facts) => facts,
        Err(error) => return not_seen(check, path, &error),
    };
    let mode = facts.mode() & 0o7777;
    let folders = [(path.to_owned(), facts)].into_iter().chain(keys);
    let open = folders
        .map(|(folder, facts)| (folder, facts.mode() & 0o7777))
        .find(|(_, mode)| mode & 0o022 != 0);
    match open {
        None => check.well(format!("mode {mode:04o}: nobody else may write there")),
        Some((folder, mode)) => check.fault(
            format!(
                "{} has mode {mode:04o}: others may write there",
                folder.display()
            ),
            "others can put keys and settings in the place of yours; no daemon starts",
            &format!(
                "chmod 700 {}  # and look at what lies in it",
                hint::word(&folder)
            ),
        ),
    }
}

fn not_seen(check: DoctorCheck, path: &Path, error: &io::Error) -> CheckResult {
    match error.kind() {
        io::ErrorKind::PermissionDenied => check.fault(
            error,
            "this user may not look at it, so that nothing of the agent can be said",
            &hint::unreadable(path),
        ),
        _ => check.fault(
            error,
            "there is no agent here",
            "signet up --help  # makes a home; --home names another one",
        ),
    }
}

/// Who may read secrets.
pub(super) fn files(home: &Home) -> CheckResult {
    let dirs = [home.join("keys"), home.join("checkpoint-keys")];
    let check = DoctorCheck::of(
        "key-files",
        format!("{} and checkpoint-keys/", dirs[0].display()),
    );
    let mut seen = 0;
    let logins = [home.nats_seed(), home.join("nats/admin.nk")];
    let logins = logins.into_iter().filter(|file| file.exists());
    for file in dirs.iter().flat_map(|dir| secrets(dir, DEEP)).chain(logins) {
        seen += 1;
        // Report only wrong modes and owners here: the checks of the keys and of the NATS server report
        // keys that cannot be opened.
        if let Err(error @ (PrivateError::Mode { .. } | PrivateError::Owner { .. })) =
            // Open the file with the function by which the daemon reads its keys, so that doctor refuses
            // the same modes as the daemon.
            private::open(&file)
        {
            let is_login = file.extension().is_some_and(|end| end == "nk");
            let means = match is_login {
                false => {
                    "whoever has read it can sign or read as this agent: if somebody may have, \
                     make new keys afterwards: signet key rotate signing"
                }
                true => {
                    "whoever has read it can log in to the NATS server in its place: if somebody may have, \
                     remove it afterwards; signet up makes another"
                }
            };
            return check.fault(&error, means, &error.next());
        }
    }
    check.well(format!(
        "{}, which their owner alone may read",
        counted(seen as u64, "secret file")
    ))
}

/// Files of secrets, by the names that the key store gives them.
fn secrets(dir: &Path, deep: u8) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        let is_secret = path
            .extension()
            .is_some_and(|end| ["pem", "key"].iter().any(|known| end == *known));
        match path.symlink_metadata() {
            Ok(facts) if facts.is_dir() && deep > 0 => found.extend(secrets(&path, deep - 1)),
            Ok(facts) if facts.is_file() && is_secret => found.push(path),
            _ => {}
        }
    }
    found
}

/// The checks of keys that need the configuration.
pub(super) fn all(scene: &Scene) -> Vec<CheckResult> {
    let check = DoctorCheck::of("keys", scene.home.join("keys").display());
    let mut findings = match AgentKeys::open(&scene.home, &scene.config.agent) {
        Err(error) => {
            let means = "the daemon cannot start: keys and certificate do not belong together";
            vec![check.fault(&error, means, &error.next())]
        }
        Ok(keys) => vec![
            check.well("keys, certificate and configuration belong together"),
            certificate(scene, &keys.certificate),
            own_versions(&keys.certificate),
        ],
    };
    findings.push(persons_keys(&scene.home));
    findings.push(checkpoint_key(scene));
    findings
}

fn certificate(scene: &Scene, certificate: &Certificate) -> CheckResult {
    let (from, to) = (certificate.not_before, certificate.not_after);
    let check = DoctorCheck::of("certificate", "the dates of the agent's certificate");
    if scene.now < from {
        return check.fault(
            format!("it begins {from}, and the clock says {}", scene.now),
            "nothing is signed and all that is sent waits",
            "timedatectl set-ntp true  # sets the clock; if it is right: signet key rotate signing",
        );
    }
    if to <= scene.now {
        return check.fault(
            format!("it ended {to}"),
            "nothing is signed and all that is sent waits",
            "signet key rotate signing  # if the clock is ahead: timedatectl set-ntp true",
        );
    }
    let left = to.since(scene.now);
    let days = left.as_secs() / DAY;
    match left < ENDS_SOON {
        true => check.warning(
            format!("it ends {to}, in {}", counted(days, "day")),
            "from then on nothing is signed and all that is sent waits",
            "signet key rotate signing",
        ),
        false => check.well(format!("it holds until {to}, for {}", counted(days, "day"))),
    }
}

fn own_versions(certificate: &Certificate) -> CheckResult {
    let check = DoctorCheck::of("own-versions", "the versions in the agent's certificate");
    let listed: Vec<String> = certificate
        .versions
        .iter()
        .map(ToString::to_string)
        .collect();
    let listed = listed.join(" ");
    let lists_newest = Version::SPOKEN
        .last()
        .is_none_or(|newest| certificate.versions.contains(newest));
    match lists_newest {
        true => check.well(listed),
        false => check.warning(
            format!("it lists {listed} alone"),
            "peers speak nothing newer with this agent: no progress, no offers of programs",
            "signet key rotate signing",
        ),
    }
}

/// Whether keys of the person lie in the home: whoever takes over the machine could decide as the person.
fn persons_keys(home: &Home) -> CheckResult {
    let check = DoctorCheck::of("control-key", "the person's keys in keys/");
    let here: Vec<&str> = [ROOT, CONTROL]
        .into_iter()
        .filter(|name| home.key_file(name).exists())
        .collect();
    match here.is_empty() {
        true => check.well("they are not on this machine"),
        false => check.advice(
            format!("{} in this home", here.join(" and ")),
                "whoever takes over this machine can decide as the person, not only as the agent",
                "signet key stash DIR  # moves it to a stick; then name it with --key or --root when it is asked for",
        ),
    }
}

/// The key that signs this month's checkpoints of the log.
fn checkpoint_key(scene: &Scene) -> CheckResult {
    let check = DoctorCheck::of(
        "checkpoint-key",
        scene.home.join("checkpoint-keys").display(),
    );
    let month = scene.now.month();
    let file = scene
        .config
        .audit_dir
        .join(format!("inter-agent-{month}.jsonl"));
    if !file.exists() {
        return check.well("the log has no lines of this month yet; a start makes the key");
    }
    let key = scene
        .home
        .join("checkpoint-keys")
        .join(format!("checkpoint-{month}.key"));
    match key.symlink_metadata() {
        Ok(_) => check.well(format!("the key of {month} is there")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => check.warning(
            format!("the key of {month} is missing"), 
                "this month's log gets no checkpoints any more: a log made anew to its end would not show",
                "put the key back from a copy of the home; the next month begins with a new one",
        ),
        Err(error) => check.unknown(
            error, "whether the key is there cannot be told", &format!("ls -l {}", hint::word(&scene.home.join("checkpoint-keys"))),
        ),
    }
}

const DAY: u64 = 24 * 3600;
/// Old keys and staged ones stand in folders below.
const DEEP: u8 = 3;
