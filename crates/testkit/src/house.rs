//! A household of real processes: a NATS server of its own, and a place for homes.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::home::Home;
use crate::process::signet;
use crate::server::{MAILBOXES, Server};

/// A server and a directory for the homes.
pub struct House {
    pub server: Server,
    dir: TempDir,
    /// Whether its agents look for their mailboxes.
    mailboxes: bool,
}

impl House {
    pub fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    /// A house in that directory, which goes with it.
    pub fn within(dir: TempDir) -> Self {
        Self {
            server: Server::start(""),
            dir,
            mailboxes: false,
        }
    }

    /// JetStream for anybody who comes; [`House::set_up`] makes the mailboxes.
    pub fn with_jetstream() -> Self {
        Self {
            server: Server::start(MAILBOXES),
            dir: tempfile::tempdir().unwrap(),
            mailboxes: true,
        }
    }

    /// The same in that directory and on that nats-server.
    pub fn on(dir: TempDir, nats_server: &Path) -> Self {
        Self {
            server: Server::start_by(nats_server, MAILBOXES),
            dir,
            mailboxes: true,
        }
    }

    /// `signet init`: `agent-<name>` of the principal `<name>`.
    pub fn home(&self, name: &str) -> Home {
        self.made(name, &format!("agent-{name}"), name, &[])
    }

    /// Another agent of the same person, `agent-<name>`.
    pub fn sibling(&self, of: &Home, name: &str) -> Home {
        let root = of.dir.join("keys/root.pem");
        let root = ["--root", root.to_str().unwrap()];
        let home = self.made(name, &format!("agent-{name}"), &of.principal, &root);
        // The person's control key stays in the first home, so this home must not be set to sign with it.
        home.configure("# sign = \"all\"", "sign = \"none\"");
        home
    }

    /// `signet init` in a directory of its own, for any agent of any principal.
    pub fn made(&self, name: &str, agent: &str, principal: &str, more: &[&str]) -> Home {
        let (dir, url) = (self.path(name), self.server.url());
        self.furnished(Home::init_by(signet(), dir, agent, principal, more, &url))
    }

    /// `agent-<name>` of the principal `<name>`, whose program is another one.
    pub fn home_by(&self, program: &Path, name: &str) -> Home {
        let (program, agent) = (program.to_owned(), format!("agent-{name}"));
        let (place, url) = (self.path(name), self.server.url());
        self.furnished(Home::init_by(program, place, &agent, name, &[], &url))
    }

    fn furnished(&self, home: Home) -> Home {
        // A test that watches the bus would see every request about a mailbox as well: the homes of such a test have no
        // mailboxes.
        if !self.mailboxes {
            home.configure("# mailbox = \"jetstream\"", "mailbox = \"core\"");
        }
        home
    }

    /// A place beside the homes.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Everybody adds everybody, by files.
    pub fn acquaint(&self, homes: &[&Home]) {
        for (one, other) in homes
            .iter()
            .flat_map(|one| homes.iter().map(move |other| (one, other)))
        {
            if one.agent != other.agent {
                one.knows(other);
            }
        }
    }

    /// Alice and Bob, who know each other and run.
    pub fn alice_and_bob(&self) -> (Home, Home) {
        let (mut alice, mut bob) = (self.home("alice"), self.home("bob"));
        self.acquaint(&[&alice, &bob]);
        alice.start();
        bob.start();
        (alice, bob)
    }
}

impl Default for House {
    fn default() -> Self {
        Self::new()
    }
}
