//! Two people, three agents, their homes and daemons.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::control::Client;

use super::process::{Process, wait_for};
use super::{DemoError, PATIENCE};

/// The agents, by the names of their logs.
pub(super) const AGENTS: [&str; 3] = ["agent-alice-001", "agent-alice-002", "agent-bob-001"];
/// Marks a log directory as the demonstration's own, to be replaced by the next one.
const MARK: &str = "made-by-signet-demo";

/// The household.
pub(super) struct Household {
    /// Alice's first agent.
    pub(super) alice: Member,
    /// Alice's second agent.
    pub(super) helper: Member,
    /// Bob's agent.
    pub(super) bob: Member,
}

/// One agent with its running daemon.
pub(super) struct Member {
    /// Its agent-id.
    pub(super) id: String,
    home: PathBuf,
    log: PathBuf,
    daemon: Process,
}

impl Household {
    /// Makes homes, exchanges certificates, and starts the daemons.
    pub(super) fn found(scratch: &Path, audit: &Path, nats: &str) -> Result<Self, DemoError> {
        let audit = std::path::absolute(audit).map_err(|source| DemoError::Io {
            path: audit.to_owned(),
            source,
        })?;
        for agent in AGENTS {
            clear(&audit.join(agent))?;
        }
        let homes = AGENTS.map(|agent| scratch.join(agent));
        let [alice, helper, bob] = &homes;
        init(alice, AGENTS[0], "alice", None, &audit)?;
        init(
            helper,
            AGENTS[1],
            "alice",
            Some(&alice.join("keys/root.pem")),
            &audit,
        )?;
        init(bob, AGENTS[2], "bob", None, &audit)?;
        introduce(&homes)?;
        let member = |home: &PathBuf, id: &str| Member::start(id, home, &audit.join(id), nats);
        Ok(Self {
            alice: member(alice, AGENTS[0])?,
            helper: member(helper, AGENTS[1])?,
            bob: member(bob, AGENTS[2])?,
        })
    }

    pub(super) fn members(&self) -> [&Member; 3] {
        [&self.alice, &self.helper, &self.bob]
    }

    /// Stops every daemon cleanly.
    pub(super) fn stop(self) -> Result<(), DemoError> {
        for member in [self.alice, self.helper, self.bob] {
            member.daemon.stop()?;
        }
        Ok(())
    }
}

impl Member {
    fn start(id: &str, home: &Path, log: &Path, nats: &str) -> Result<Self, DemoError> {
        let mut command = signet(home)?;
        command
            .arg("run")
            .env("NATS_URL", nats)
            .stderr(Stdio::null());
        let mut daemon = Process::start(&format!("the daemon of {id}"), &mut command)?;
        let socket = home.join("control.sock");
        wait_for("a daemon is connected", || {
            if daemon.is_over() {
                return Err(DemoError::Process {
                    what: format!("the daemon of {id}"),
                    why: "ended at once".into(),
                });
            }
            let status = Client::connect(&socket, PATIENCE)
                .and_then(|mut client| client.call("status", &json!({})));
            Ok(status
                .ok()
                .filter(|status| status.get("connected") == Some(&json!(true))))
        })?;
        Ok(Self {
            id: id.to_owned(),
            home: home.to_owned(),
            log: log.to_owned(),
            daemon,
        })
    }

    /// One call to its daemon.
    pub(super) fn call(&self, method: &str, params: &Value) -> Result<Value, DemoError> {
        Ok(self.client()?.call(method, params)?)
    }

    /// Answers the next request that arrives, as an agent would.
    pub(super) fn answer_next(&self, body: Value) -> JoinHandle<Result<(), DemoError>> {
        let client = self.client();
        std::thread::spawn(move || {
            let mut client = client?;
            client.call("inbox.follow", &json!({}))?;
            let Some(arrived) = client.notifications().next() else {
                return Ok(());
            };
            let request = arrived?.params;
            client.call(
                "reply",
                &json!({"message-id": request.get("message-id"), "body": body}),
            )?;
            Ok(())
        })
    }

    /// How many messages wait for the agent.
    pub(super) fn inbox(&self) -> Result<u64, DemoError> {
        let status = self.call("status", &json!({}))?;
        status
            .get("inbox")
            .and_then(Value::as_u64)
            .ok_or_else(|| DemoError::Missed("the daemon counts its inbox".into()))
    }

    /// How many lines of its log are as asked.
    pub(super) fn count(&self, is: impl Fn(&Value) -> bool) -> Result<usize, DemoError> {
        Ok(self.lines()?.iter().filter(|line| is(line)).count())
    }

    /// The bytes of a message that it sent, as they went over the wire.
    pub(super) fn sent_message(&self, is: impl Fn(&Value) -> bool) -> Result<Vec<u8>, DemoError> {
        let lines = self.lines()?;
        let sent = |line: &&Value| line.get("verdict") == Some(&json!("sent")) && is(line);
        let message = lines.iter().find(sent).and_then(|line| line.get("message"));
        message
            .map(signet_proto::json::canonical)
            .ok_or_else(|| DemoError::Missed("the message is in the log".into()))
    }

    /// The reason of the first refusal that its log shows after `attack`.
    pub(super) fn refusal_after(
        &self,
        attack: impl FnOnce() -> Result<(), DemoError>,
    ) -> Result<String, DemoError> {
        let before = self.lines()?.len();
        attack()?;
        wait_for("an attack is refused", || {
            let lines = self.lines()?;
            let refused = |line: &&Value| line.get("verdict") == Some(&json!("rejected"));
            let refusal = lines.iter().skip(before).find(refused);
            Ok(refusal.and_then(|line| line.get("reason")?.as_str().map(str::to_owned)))
        })
    }

    /// Its log of this month.
    pub(super) fn log_file(&self) -> Result<PathBuf, DemoError> {
        let io = |source| DemoError::Io {
            path: self.log.clone(),
            source,
        };
        let mut files: Vec<_> = std::fs::read_dir(&self.log)
            .map_err(io)?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        files.sort();
        let file = files
            .pop()
            .ok_or_else(|| DemoError::Missed("a log is written".into()))?;
        let here = std::env::current_dir().unwrap_or_default();
        Ok(file.strip_prefix(here).map(Path::to_owned).unwrap_or(file))
    }

    fn client(&self) -> Result<Client, DemoError> {
        Ok(Client::connect(
            &self.home.join("control.sock"),
            PATIENCE + Duration::from_secs(5),
        )?)
    }

    fn lines(&self) -> Result<Vec<Value>, DemoError> {
        let path = self.log_file()?;
        let file = std::fs::File::open(&path).map_err(|source| DemoError::Io { path, source })?;
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        Ok(lines
            .map_while(|line| serde_json::from_str(&line).ok())
            .collect())
    }
}

fn init(
    home: &Path,
    agent: &str,
    principal: &str,
    root: Option<&Path>,
    audit: &Path,
) -> Result<(), DemoError> {
    let mut command = signet(home)?;
    command.args(["init", "--agent", agent, "--principal", principal]);
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    output("signet init", &mut command)?;
    let path = home.join("config.toml");
    let io = |source| DemoError::Io {
        path: path.clone(),
        source,
    };
    let text = std::fs::read_to_string(&path).map_err(io)?;
    let text = text.replacen(
        "[audit]\n",
        &format!("[audit]\ndir = {}\n", json!(audit)),
        1,
    );
    let offer = "\n[[capability]]\nname = \"calendar.free-busy\"\n";
    std::fs::write(&path, text + offer).map_err(io)
}

fn introduce(homes: &[PathBuf; 3]) -> Result<(), DemoError> {
    let mut certificates = Vec::new();
    for home in homes {
        let certificate = output("signet peer export", signet(home)?.args(["peer", "export"]))?;
        let path = home.with_extension("json");
        std::fs::write(&path, certificate).map_err(|source| DemoError::Io {
            path: path.clone(),
            source,
        })?;
        certificates.push(path);
    }
    for (index, home) in homes.iter().enumerate() {
        for (_, certificate) in certificates
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
        {
            output(
                "signet peer add",
                signet(home)?.args(["peer", "add"]).arg(certificate),
            )?;
        }
    }
    Ok(())
}

/// This very program, on one home.
fn signet(home: &Path) -> Result<Command, DemoError> {
    let this = std::env::current_exe().map_err(|source| DemoError::Io {
        path: PathBuf::from("signet"),
        source,
    })?;
    let mut command = Command::new(this);
    command
        .arg("--home")
        .arg(home)
        .env_remove("SIGNET_HOME")
        .env_remove("SIGNET_LOG");
    Ok(command)
}

fn output(what: &str, command: &mut Command) -> Result<Vec<u8>, DemoError> {
    let failed = |why: String| DemoError::Process {
        what: what.to_owned(),
        why,
    };
    let output = command
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failed(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}

/// Makes an empty log directory, in the place of an earlier demonstration's only.
fn clear(dir: &Path) -> Result<(), DemoError> {
    let io = |source| DemoError::Io {
        path: dir.to_owned(),
        source,
    };
    if dir.exists() {
        if !dir.join(MARK).exists() {
            return Err(DemoError::InTheWay(dir.to_owned()));
        }
        std::fs::remove_dir_all(dir).map_err(io)?;
    }
    std::fs::create_dir_all(dir).map_err(io)?;
    std::fs::write(
        dir.join(MARK),
        "The next `signet demo` replaces this directory.\n",
    )
    .map_err(io)
}
