//! A house whose server keeps the mail.

use crate::{Home, House, eventually};

impl House {
    /// Alice and Bob, who know each other, have mailboxes and run.
    pub fn alice_and_bob_with_mailboxes(&self) -> (Home, Home) {
        let (mut alice, mut bob) = (self.home("alice"), self.home("bob"));
        self.acquaint(&[&alice, &bob]);
        self.set_up(&[&alice, &bob]);
        alice.start();
        bob.start();
        (alice, bob)
    }

    /// `signet nats setup`, as anybody; what it said.
    pub fn set_up(&self, homes: &[&Home]) -> String {
        let agents = homes.iter().map(|home| home.agent.as_str());
        let args: Vec<&str> = ["nats", "setup"].into_iter().chain(agents).collect();
        homes[0].done(&args)
    }

    /// The server admits only these homes' nkeys and the administrator's from now on, by the configuration that
    /// `signet nats config` prints, changed by `edit`. The daemons must not run.
    pub fn guard(&mut self, homes: &[&Home], edit: impl Fn(String) -> String) {
        let admin = self.admin_seed();
        let key = |home: &Home, args: &[&str]| home.done(args).trim().to_owned();
        let admin = key(homes[0], &["nats", "key", "--file", &admin]);
        let agents: Vec<String> = homes
            .iter()
            .map(|home| format!("{}={}", home.agent, key(home, &["nats", "key"])))
            .collect();
        let args = ["nats", "config", "--store", "js", "--admin", &admin];
        let args: Vec<&str> = args
            .into_iter()
            .chain(agents.iter().map(String::as_str))
            .collect();
        self.server.configure(&edit(homes[0].done(&args)));
        self.server.restart();
    }

    /// `signet nats setup` with the administrator's key.
    pub fn set_up_as_admin(&self, homes: &[&Home]) -> String {
        let admin = self.admin_seed();
        let agents = homes.iter().map(|home| home.agent.as_str());
        let args = ["nats", "setup", "--nkey", &admin].into_iter();
        homes[0].done(&args.chain(agents).collect::<Vec<_>>())
    }

    pub fn admin_seed(&self) -> String {
        self.path("admin.nk").to_str().unwrap().to_owned()
    }
}

impl Home {
    /// Until it reads its mailbox, or no longer does.
    pub fn has_mailbox(&self, expected: bool) {
        eventually(&format!("{} has a mailbox: {expected}", self.agent), || {
            let status = self.call("status", &serde_json::json!({})).ok()?;
            (status["mailbox"] == expected).then_some(())
        });
    }
}
