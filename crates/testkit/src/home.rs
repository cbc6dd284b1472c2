//! One agent of a household: its home, made by the program, and its daemon as the process that everybody runs.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use signet_api::{Client, ClientError};
use signet_driver::{Process, Signet};

use crate::process::says;
use crate::{PATIENCE, eventually};

/// One agent: its home, and its daemon when it runs.
pub struct Home {
    pub agent: String,
    pub principal: String,
    pub dir: PathBuf,
    pub(crate) signet: Signet,
    pub(crate) child: Option<Process>,
}

impl Home {
    /// `signet init` in that directory by that `program`, which runs the daemon and every command of this home as well.
    pub fn init_by(
        program: PathBuf,
        dir: PathBuf,
        agent: &str,
        principal: &str,
        more: &[&str],
        url: &str,
    ) -> Self {
        let home = Self {
            agent: agent.to_owned(),
            principal: principal.to_owned(),
            signet: Signet::new(program, &dir, url),
            dir,
            child: None,
        };
        let args = ["init", "--agent", agent, "--principal", principal];
        home.done(&[&args[..], more].concat());
        // Tests send faster than people do: raise the limits per minute, so that they stop no test.
        for (key, default) in [
            ("messages-per-minute", 120),
            ("conversation-messages-per-minute", 60),
        ] {
            home.configure(&format!("# {key} = {default}"), &format!("{key} = 1000000"));
        }
        home
    }

    pub fn subject(&self) -> String {
        format!("agent.{}.inbox", self.agent)
    }

    /// The command line for this home, with nothing of the tester's own environment.
    pub fn command(&self, args: &[&str]) -> Command {
        self.signet.command(args)
    }

    pub fn cli(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// A command that must end well; what it printed.
    pub fn done(&self, args: &[&str]) -> String {
        let output = self.cli(args);
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {:?}: {said}{printed}",
            output.status.code()
        );
        printed
    }

    /// A command that must end with `code`; the two lines that it says.
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.cli(args);
        let said = says(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}: {output:?}");
        let form = said.starts_with("error: ") && said.contains("\n  next: ");
        assert!(form && said.lines().count() == 2, "{args:?}: {said}");
        said
    }

    /// A command after which people have to decide: code 5; what it printed.
    pub fn waits(&self, args: &[&str]) -> String {
        let output = self.cli(args);
        assert_eq!(output.status.code(), Some(5), "{args:?}: {}", says(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same with `--json`, parsed: one document a line.
    pub fn json(&self, args: &[&str]) -> Vec<Value> {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let text = self.done(&args);
        text.lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }

    pub fn knows(&self, other: &Self) {
        let file = self.dir.join(format!("{}.json", other.agent));
        std::fs::write(&file, other.done(&["peer", "export"])).unwrap();
        self.done(&["peer", "add", file.to_str().unwrap()]);
    }

    /// Changes one place of the configuration.
    pub fn configure(&self, from: &str, to: &str) {
        let file = self.dir.join("config.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains(from),
            "{from} stands nowhere in the configuration"
        );
        std::fs::write(file, text.replacen(from, to, 1)).unwrap();
    }

    /// Another program on the same home, from its next start on.
    pub fn run_by(&mut self, program: PathBuf) {
        self.signet.set_program(program);
    }

    /// Another server than that of the house.
    pub fn served_by(&mut self, port: u16) {
        self.served_at(format!("nats://127.0.0.1:{port}"));
    }

    /// The same by its address.
    pub fn served_at(&mut self, url: String) {
        self.signet.set_server(url);
    }

    /// No server at all, but what its configuration names.
    pub fn unserved(&mut self) {
        self.signet.set_server("");
    }

    pub fn client(&self) -> Result<Client, ClientError> {
        self.signet.client(PATIENCE)
    }

    pub fn call(&self, method: &str, params: &Value) -> Result<Value, ClientError> {
        self.client()?.raw(method, params)
    }

    /// A ping that must be answered.
    pub fn ping(&self, peer: &Self) -> Value {
        let params = json!({"peer": peer.agent, "kind": "ping", "wait": 60.0, "life": 60});
        let pinged = self.call("send", &params).unwrap();
        assert_eq!(pinged["state"], "answered", "{pinged}");
        pinged
    }

    /// Sends without waiting; its message-id.
    pub fn send(&self, peer: &Self, kind: &str, body: &Value) -> Result<String, ClientError> {
        let params = json!({"peer": peer.agent, "kind": kind, "body": body});
        Ok(self.call("send", &params)?["message-id"]
            .as_str()
            .unwrap()
            .to_owned())
    }

    /// Everything that waits in the inbox.
    pub fn inbox(&self) -> Vec<Value> {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let page = self.call("inbox.list", &json!({"after": after})).unwrap();
            let Some(last) = page["messages"].as_array().and_then(|list| list.last()) else {
                return all;
            };
            after = last["number"].as_u64().unwrap();
            all.extend(page["messages"].as_array().unwrap().iter().cloned());
        }
    }

    /// A member of what this agent knows of a peer.
    pub fn standing(&self, peer: &str, member: &str) -> Value {
        self.call("peer.show", &json!({"peer": peer})).unwrap()[member].clone()
    }
}

/// The message of that name under a lease, once it waits. What else waits is held as long as the connection lasts.
pub fn receive(handler: &mut Client, id: &str) -> Value {
    eventually(id, || {
        let asked = json!({"wait": 5, "limit": 100});
        let received = handler.raw("receive", &asked).unwrap();
        let mut messages = received["messages"].as_array()?.iter();
        messages.find(|one| one["message-id"] == id).cloned()
    })
}
