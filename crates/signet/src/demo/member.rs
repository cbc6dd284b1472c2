//! One agent of the demonstration: its home, its running daemon, and its log.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use signet_audit::Sight;
use signet_proto::certificate::Certificate;
use signet_proto::draft::Identity;
use signet_proto::keys::{SealSecret, SigningKey};

use crate::config::Config;
use crate::control::Client;
use crate::home::Home;
use crate::keystore::{Keys, read_seal_secret, read_signing_key};

use super::household::{output, signet};
use super::process::{Process, wait_for};
use super::{DemoError, PATIENCE};

/// One agent with its running daemon.
pub(super) struct Member {
    /// Its agent-id.
    pub(super) id: String,
    home: PathBuf,
    log: PathBuf,
    daemon: Process,
}

impl Member {
    /// Its person approves a stranger: the command signs it with the control key.
    pub(super) fn approves_stranger(&self, other: &Self, root: &str) -> Result<(), DemoError> {
        let args = ["trust", "approve", &other.id, "--root", root];
        output("signet trust approve", signet(&self.home)?.args(args))?;
        Ok(())
    }

    pub(super) fn start(id: &str, home: &Path, log: &Path, nats: &str) -> Result<Self, DemoError> {
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
                .and_then(|mut client| client.raw("status", &json!({})));
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
        Ok(self.client()?.raw(method, params)?)
    }

    /// Answers the next request that arrives, as an agent would.
    pub(super) fn answer_next(&self, body: Value) -> Result<Answering, DemoError> {
        let mut client = self.client()?;
        client.raw("inbox.follow", &json!({}))?;
        Ok(Answering(std::thread::spawn(move || {
            let Some(arrived) = client.notifications().next() else {
                return Ok(());
            };
            let request = arrived?.params;
            client.raw(
                "reply",
                &json!({"message-id": request.get("message-id"), "body": body}),
            )?;
            Ok(())
        })))
    }

    /// What a method answers, once it is as asked.
    pub(super) fn wait_answer(
        &self,
        what: &str,
        (method, params): (&str, Value),
        is: impl Fn(&Value) -> bool,
    ) -> Result<Value, DemoError> {
        wait_for(what, || {
            // What is not there yet is an error of the daemon's.
            let answer = self.client()?.raw(method, &params).ok();
            Ok(answer.filter(|answer| is(answer)))
        })
    }

    /// The first line of its log that is as asked, once it is there.
    pub(super) fn wait_line(
        &self,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Result<Value, DemoError> {
        wait_for(what, || Ok(self.lines()?.into_iter().find(|line| is(line))))
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

    /// The reason for which its log refuses what `send` sends and gives the hash of.
    pub(super) fn refusal_of(
        &self,
        send: impl FnOnce() -> Result<String, DemoError>,
    ) -> Result<String, DemoError> {
        let before = self.lines()?.len();
        let hash = send()?;
        wait_for("an attack is refused", || {
            let lines = self.lines()?;
            let refused =
                |line: &&Value| text(line, "verdict") == "rejected" && text(line, "sha256") == hash;
            let refusal = lines.iter().skip(before).find(refused);
            Ok(refusal.map(|line| text(line, "reason").to_owned()))
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

    /// What the owner of a key sees in the sealed lines of its log.
    pub(super) fn sights(&self, key: &SealSecret) -> Result<Vec<Sight>, DemoError> {
        let mut sights = Vec::new();
        for line in signet_audit::read(&self.log)? {
            sights.push(line?.open(key));
        }
        sights.retain(|sight| *sight != Sight::Plain);
        Ok(sights)
    }

    /// All of its log, as it stands in the file.
    pub(super) fn log_text(&self) -> Result<String, DemoError> {
        let path = self.log_file()?;
        std::fs::read_to_string(&path).map_err(|source| DemoError::Io { path, source })
    }

    /// What its root key says of it.
    pub(super) fn certificate(&self) -> Result<Certificate, DemoError> {
        Ok(self.keys()?.certificate)
    }

    /// Its keys, as a thief has them who took its machine.
    pub(super) fn identity(&self) -> Result<Identity, DemoError> {
        let keys = self.keys()?;
        let layers = keys.certificate.layers;
        Ok(keys.into_identity(layers))
    }

    /// A signing key of its person.
    pub(super) fn persons_key(&self, name: &str) -> Result<SigningKey, DemoError> {
        Ok(read_signing_key(&self.key_file(name))?)
    }

    /// Its person's key to the log.
    pub(super) fn audit_key(&self) -> Result<SealSecret, DemoError> {
        Ok(read_seal_secret(&self.key_file("audit.pem"))?)
    }

    /// Ends its daemon cleanly.
    pub(super) fn stop(self) -> Result<(), DemoError> {
        self.daemon.stop()
    }

    fn keys(&self) -> Result<Keys, DemoError> {
        let home = Home::at(&self.home);
        let config = Config::load(&home).map_err(|error| DemoError::Missed(error.to_string()))?;
        Ok(Keys::open(&home, &config.agent)?)
    }

    fn key_file(&self, name: &str) -> PathBuf {
        self.home.join("keys").join(name)
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

/// An agent that is answering.
pub(super) struct Answering(JoinHandle<Result<(), DemoError>>);

impl Answering {
    /// Waits until it has.
    pub(super) fn finish(self) -> Result<(), DemoError> {
        let missed = |_| DemoError::Missed("an agent answers".into());
        self.0.join().map_err(missed)?
    }
}

/// Whether a line is the verdict on the message of that name.
pub(super) fn is_verdict(line: &Value, verdict: &str, message_id: &str) -> bool {
    line.get("verdict") == Some(&json!(verdict)) && header(line, "message-id") == Some(message_id)
}

/// One header of the message in a line.
pub(super) fn header<'a>(line: &'a Value, name: &str) -> Option<&'a str> {
    let message = line.get("message")?;
    let place = ["params", "result"]
        .iter()
        .find_map(|place| message.get(place))?;
    place.get("headers")?.get(name)?.as_str()
}

/// A text in an answer; empty when there is none.
pub(super) fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer.get(name).and_then(Value::as_str).unwrap_or_default()
}
