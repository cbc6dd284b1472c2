//! One agent of the demonstration: its home, its running daemon, and its log.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use signet_api::{Client, ClientError, FollowInbox, Notification, Request, Respond, ShowStatus};
use signet_audit::Sight;
use signet_driver::{DriverError, Process, Signet, kept, wait_for};
use signet_proto::certificate::Certificate;
use signet_proto::draft::Identity;
use signet_proto::keys::SealSecret;

use crate::{DemoError, PATIENCE};

/// One agent with its running daemon.
pub(crate) struct Member {
    /// Its agent-id.
    pub(crate) id: String,
    signet: Signet,
    /// Where its person's control key lies: in the person's first home.
    control: PathBuf,
    log: PathBuf,
    daemon: Process,
}

impl Member {
    pub(crate) fn start(
        id: &str,
        signet: Signet,
        control: &Path,
        log: &Path,
    ) -> Result<Self, DemoError> {
        let mut daemon = signet.run(Stdio::null)?;
        signet.connected(&mut daemon)?;
        Ok(Self {
            id: id.to_owned(),
            signet,
            control: control.to_owned(),
            log: log.to_owned(),
            daemon,
        })
    }

    /// One call to its daemon.
    pub(crate) fn call<R: Request>(&self, request: &R) -> Result<R::Answer, DemoError> {
        Ok(self.client()?.call(request)?)
    }

    /// What its person does by a command with `--json`, which signs with the key in the home; what it gives back.
    pub(crate) fn decide<T: DeserializeOwned>(&self, args: &[&str]) -> Result<T, DemoError> {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let said = self.signet.output(&args)?;
        serde_json::from_slice(&said).map_err(|_| ClientError::Malformed.into())
    }

    /// What its person does by a command that says nothing to programs.
    pub(crate) fn command(&self, args: &[&str]) -> Result<(), DemoError> {
        Ok(self.signet.output(args).map(drop)?)
    }

    /// Its person adds the peer, by the certificate that was handed over.
    pub(crate) fn add(&self, peer: &Self) -> Result<(), DemoError> {
        let (card, key) = (card(peer.signet.home()), &self.control);
        let (card, key) = (card.to_string_lossy(), key.to_string_lossy());
        self.command(&["peer", "add", &card, "--key", &key])
    }

    /// Answers the next request that arrives, as an agent would.
    pub(crate) fn answer_next(&self, body: Value) -> Result<Answering, DemoError> {
        let mut client = self.client()?;
        // Follow the inbox before returning, since the caller may send the request at once: so no request is missed.
        client.call(&FollowInbox {})?;
        Ok(Answering(std::thread::spawn(move || {
            let arrived = client.notifications().next().transpose()?;
            let Some(request) = arrived.and_then(Notification::into_message) else {
                return Ok(());
            };
            let answer = Respond {
                message: Some(request?.name().into()),
                body: Some(body),
                ..Respond::default()
            };
            client.call(&answer)?;
            Ok(())
        })))
    }

    /// What a call answers, once it is as asked.
    pub(crate) fn wait_answer<R: Request>(
        &self,
        what: &str,
        request: &R,
        is: impl Fn(&R::Answer) -> bool,
    ) -> Result<R::Answer, DemoError> {
        wait_for(what, PATIENCE, || match self.client()?.call(request) {
            Ok(answer) => Ok(Some(answer).filter(&is)),
            // The daemon refuses to show what does not exist yet: ask again.
            Err(ClientError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// The first line of its log that is as asked, once it is there.
    pub(crate) fn wait_line(
        &self,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Result<Value, DemoError> {
        let found = || Ok(self.lines()?.into_iter().find(|line| is(line)));
        wait_for(what, PATIENCE, found)
    }

    /// How many messages wait for the agent.
    pub(crate) fn inbox(&self) -> Result<usize, DemoError> {
        Ok(self.call(&ShowStatus {})?.inbox)
    }

    /// How many lines of its log are as asked.
    pub(crate) fn count(&self, is: impl Fn(&Value) -> bool) -> Result<usize, DemoError> {
        Ok(self.lines()?.iter().filter(|line| is(line)).count())
    }

    /// The bytes of a message that it sent, as they went over the wire.
    pub(crate) fn sent_message(&self, is: impl Fn(&Value) -> bool) -> Result<Vec<u8>, DemoError> {
        let lines = self.lines()?;
        let sent = |line: &&Value| line.get("verdict") == Some(&json!("sent")) && is(line);
        let message = lines.iter().find(sent).and_then(|line| line.get("message"));
        message
            .map(signet_json::canonical)
            .ok_or_else(|| DemoError::Missed("the message is in the log".into()))
    }

    /// The reason for which its log refuses what `send` sends and gives the hash of.
    pub(crate) fn refusal_of(
        &self,
        send: impl FnOnce() -> Result<String, DemoError>,
    ) -> Result<String, DemoError> {
        // Look only at lines added from now on: the same bytes may have been refused before, in an older line.
        let before = self.lines()?.len();
        let hash = send()?;
        wait_for("an attack is refused", PATIENCE, || {
            let lines = self.lines()?;
            let refused =
                |line: &&Value| text(line, "verdict") == "rejected" && text(line, "sha256") == hash;
            let refusal = lines.iter().skip(before).find(refused);
            Ok(refusal.map(|line| text(line, "reason").to_owned()))
        })
    }

    /// Its log of this month.
    pub(crate) fn log_file(&self) -> Result<PathBuf, DemoError> {
        let mut files: Vec<_> = std::fs::read_dir(&self.log)
            .map_err(DriverError::io(&self.log))?
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
    pub(crate) fn sights(&self, key: &SealSecret) -> Result<Vec<Sight>, DemoError> {
        let mut sights = Vec::new();
        for line in signet_audit::read(&self.log)? {
            sights.push(line?.open(key));
        }
        sights.retain(|sight| *sight != Sight::Plain);
        Ok(sights)
    }

    /// All of its log, as it stands in the file.
    pub(crate) fn log_text(&self) -> Result<String, DemoError> {
        let path = self.log_file()?;
        Ok(std::fs::read_to_string(&path).map_err(DriverError::io(&path))?)
    }

    /// A file of its home.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.signet.home().join(name)
    }

    /// What its root key says of it.
    pub(crate) fn certificate(&self) -> Result<Certificate, DemoError> {
        Ok(kept::certificate(self.signet.home())?)
    }

    /// Its keys, as a thief has them who took its machine.
    pub(crate) fn identity(&self) -> Result<Identity, DemoError> {
        Ok(kept::identity(self.signet.home())?)
    }

    /// Its person's key to the log.
    pub(crate) fn audit_key(&self) -> Result<SealSecret, DemoError> {
        Ok(kept::seal_secret(self.signet.home(), "audit.pem")?)
    }

    /// Ends its daemon cleanly.
    pub(crate) fn stop(self) -> Result<(), DemoError> {
        Ok(self.daemon.stop()?)
    }

    fn client(&self) -> Result<Client, ClientError> {
        // Wait longer than any call waits within the daemon: otherwise our own timeout would hide the daemon's answer.
        self.signet.client(PATIENCE + Duration::from_secs(5))
    }

    fn lines(&self) -> Result<Vec<Value>, DemoError> {
        let path = self.log_file()?;
        let file = std::fs::File::open(&path).map_err(DriverError::io(&path))?;
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        Ok(lines
            // The daemon may still be writing the last line: leave it out.
            .map_while(|line| serde_json::from_str(&line).ok())
            .collect())
    }
}

/// An agent that is answering.
pub(crate) struct Answering(JoinHandle<Result<(), DemoError>>);

impl Answering {
    /// Waits until it has.
    pub(crate) fn finish(self) -> Result<(), DemoError> {
        let missed = |_| DemoError::Missed("an agent answers".into());
        self.0.join().map_err(missed)?
    }
}

/// Whether a line is the verdict on the message of that name.
pub(crate) fn is_verdict(line: &Value, verdict: &str, message_id: &str) -> bool {
    line.get("verdict") == Some(&json!(verdict)) && header(line, "message-id") == Some(message_id)
}

/// One header of the message in a line.
pub(crate) fn header<'a>(line: &'a Value, name: &str) -> Option<&'a str> {
    let message = line.get("message")?;
    let place = ["params", "result"]
        .iter()
        .find_map(|place| message.get(place))?;
    place.get("headers")?.get(name)?.as_str()
}

/// A text in a line of a log; empty when there is none.
pub(crate) fn text<'a>(line: &'a Value, name: &str) -> &'a str {
    line.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The file in which an agent's certificate is handed over.
pub(crate) fn card(home: &Path) -> PathBuf {
    home.with_extension("json")
}
