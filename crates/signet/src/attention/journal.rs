//! The system's journal: a record becomes an entry of priority notice with an id, for which
//! `systemd/signet.catalog` explains what it means (systemd's native protocol, "Journal Native Protocol").

use std::fmt::Write as _;
use std::os::linux::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use signet_api::{Attention, AttentionKind};
use tracing::debug;

use crate::hint::typed;

/// What each kind of record is called in the journal and its catalogue.
pub const MESSAGE_IDS: [(AttentionKind, &str); 5] = [
    (
        AttentionKind::Introduction,
        "f955e21d80624eac8699145997efd79d",
    ),
    (AttentionKind::Draft, "cac14f3a929e46dc975018d52d167178"),
    (AttentionKind::Alarm, "9fa2bf97a8864351919193c5ffa5e140"),
    (
        AttentionKind::Quarantine,
        "2cf3f79b6db641439b350c8f12cb1ec4",
    ),
    (
        AttentionKind::Certificate,
        "c142513bce6947ae961a0f9adeccfce6",
    ),
];

/// The journal that takes what this process writes to standard error.
#[derive(Debug)]
pub struct SystemJournal {
    socket: UnixDatagram,
    path: PathBuf,
}

impl SystemJournal {
    /// The one that `JOURNAL_STREAM` says standard error goes to; none where it goes elsewhere.
    pub fn of_environment() -> Option<Self> {
        let stream = std::env::var("JOURNAL_STREAM").ok()?;
        let facts = std::fs::metadata("/proc/self/fd/2").ok()?;
        // `JOURNAL_STREAM` is inherited even where standard error was redirected since: compare its device and inode with those
        // of standard error, as systemd.exec(5) asks.
        let is_it = stream == format!("{}:{}", facts.st_dev(), facts.st_ino());
        is_it.then(|| Self::at(SOCKET.into())).flatten()
    }

    /// The one that listens at `path`.
    pub fn at(path: PathBuf) -> Option<Self> {
        let socket = UnixDatagram::unbound().ok()?;
        // The task that carries out all effects of the daemon sends the entries, too: a journal that
        // hangs must not stop that task.
        socket.set_nonblocking(true).ok()?;
        Some(Self { socket, path })
    }

    /// Writes the entry, and says whether the journal took it. Waits for nobody.
    pub fn tell(&self, attention: &Attention) -> bool {
        let sent = self.socket.send_to(entry(attention).as_bytes(), &self.path);
        sent.inspect_err(|error| debug!(%error, "the system's journal takes nothing in"))
            .is_ok()
    }
}

fn entry(attention: &Attention) -> String {
    let id = MESSAGE_IDS.iter().find(|(kind, _)| *kind == attention.kind);
    let count = attention.count.to_string();
    let next = typed(&attention.next);
    let message = format!("{}; next: {next}", attention.text);
    let fields = [
        ("MESSAGE", Some(message.as_str())),
        ("MESSAGE_ID", id.map(|(_, id)| *id)),
        ("PRIORITY", Some(NOTICE)),
        ("SYSLOG_IDENTIFIER", Some("signet")),
        ("SIGNET_KIND", Some(attention.kind.as_str())),
        ("SIGNET_AGENT", Some(attention.agent.as_str())),
        ("SIGNET_ALARM", attention.alarm.as_deref()),
        ("SIGNET_PEER", attention.peer.as_deref()),
        ("SIGNET_PRINCIPAL", attention.principal.as_deref()),
        (
            "SIGNET_VERIFIED",
            Some(if attention.verified { "yes" } else { "no" }),
        ),
        ("SIGNET_COUNT", Some(count.as_str())),
        ("SIGNET_NEXT", Some(next.as_str())),
    ];
    let mut entry = String::new();
    for (name, value) in fields {
        if let Some(value) = value {
            // Control characters are left out: a line feed would begin a new field. Writing to a String cannot fail.
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            let _ = writeln!(entry, "{name}={value}");
        }
    }
    entry
}

const SOCKET: &str = "/run/systemd/journal/socket";
/// LOG_NOTICE of syslog(3).
const NOTICE: &str = "5";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn alarm(text: &str) -> Attention {
        Attention {
            version: 1,
            kind: AttentionKind::Alarm,
            time: "2026-01-01T00:00:00.000Z".to_owned(),
            agent: "agent-a".to_owned(),
            id: None,
            alarm: Some("second-copy".to_owned()),
            peer: Some("agent-b".to_owned()),
            principal: None,
            verified: false,
            count: 1,
            still: false,
            text: text.to_owned(),
            next: "signet alarms".to_owned(),
        }
    }

    #[test]
    fn an_entry_has_its_id_its_priority_and_no_field_that_a_text_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let listener = UnixDatagram::bind(&path).unwrap();
        let journal = SystemJournal::at(path).unwrap();
        assert!(journal.tell(&alarm("it rings\nPRIORITY=0\n\n_UID=0")));
        let mut bytes = [0; 4096];
        let length = listener.recv(&mut bytes).unwrap();
        let said = String::from_utf8(bytes[..length].to_vec()).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(
            lines[0],
            "MESSAGE=it ringsPRIORITY=0_UID=0; next: signet alarms"
        );
        assert!(lines.contains(&"MESSAGE_ID=9fa2bf97a8864351919193c5ffa5e140"));
        assert!(lines.contains(&"SIGNET_NEXT=signet alarms"));
        assert!(lines.contains(&"PRIORITY=5") && lines.contains(&"SIGNET_PEER=agent-b"));
        let names: BTreeSet<&str> = lines
            .iter()
            .map(|line| line.split('=').next().unwrap())
            .collect();
        assert_eq!(names.len(), lines.len(), "{said}");
        assert!(!names.contains("_UID") && !names.contains("SIGNET_PRINCIPAL"));
    }

    #[test]
    fn a_journal_that_is_not_there_or_reads_nothing_holds_up_nobody_and_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let gone = SystemJournal::at(dir.path().join("nobody")).unwrap();
        assert!(!gone.tell(&alarm("it rings")));
        let path = dir.path().join("journal");
        let _silent = UnixDatagram::bind(&path).unwrap();
        let journal = SystemJournal::at(path).unwrap();
        let begun = std::time::Instant::now();
        let taken = (0..10_000)
            .filter(|_| journal.tell(&alarm("it rings")))
            .count();
        assert!(taken < 10_000, "a full queue is no entry");
        assert!(begun.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn every_kind_has_an_id_of_its_own() {
        let ids: BTreeSet<&str> = MESSAGE_IDS.iter().map(|(_, id)| *id).collect();
        assert_eq!(ids.len(), AttentionKind::ALL.len());
        for (kind, known) in AttentionKind::ALL.iter().zip(MESSAGE_IDS) {
            assert_eq!(*kind, known.0);
            let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            assert!(known.1.len() == 32 && known.1.chars().all(is_hex));
        }
    }
}
