//! What the checks look at: the configuration, the daemon where one runs, else the state that it left.

use std::time::Duration;

use signet_api::{ListOutbox, ShowStatus, State, Status, WaitsFor};
use signet_proto::node::{self, Node};
use signet_proto::time::Timestamp;

use super::finding::{CheckResult, DoctorCheck};
use crate::clock;
use crate::config::Config;
use crate::control::{Client, ClientError};
use crate::daemon::Serve;
use crate::home::Home;
use crate::memory::Memory;
use crate::reach::Reach;

/// A home with its configuration.
pub(super) struct Scene {
    pub(super) home: Home,
    pub(super) config: Config,
    pub(super) now: Timestamp,
    /// What the daemon says of itself, or why it says nothing.
    pub(super) status: Result<Status, String>,
    source: FactSource,
}

/// Who knows of peers, messages and alarms.
enum FactSource {
    Daemon(Client),
    /// What the last daemon left, read without its lock.
    Left(Box<Node>),
    /// Neither the daemon nor its state can be asked; the text says why.
    Nobody(String),
}

impl Scene {
    /// Reads the configuration, and finds whom to ask.
    pub(super) fn open(home: &Home) -> (CheckResult, Option<Self>) {
        let check = DoctorCheck::of("configuration", home.config_file().display());
        let config = match Config::load(home) {
            Ok(config) => config,
            Err(error) => {
                let means = "no command and no daemon can use this home";
                return (check.fault(&error, means, &error.next()), None);
            }
        };
        let found = check.well(format!(
            "it can be read; the agent is {}",
            config.agent.agent
        ));
        (found, Some(Self::of(home, config)))
    }

    fn of(home: &Home, config: Config) -> Self {
        let asked = Client::connect(&config.control_socket, PATIENCE).and_then(|mut client| {
            let status = client.call(&ShowStatus {})?;
            Ok((client, status))
        });
        let (source, status) = match asked {
            Ok((client, status)) => (FactSource::Daemon(client), Ok(status)),
            // No daemon answers: read the home's files without the lock, because a doctor that held the lock would
            // keep a daemon from starting.
            Err(error) => (FactSource::left(home, &config), Err(error.to_string())),
        };
        Self {
            home: home.clone(),
            config,
            now: clock::now(),
            status,
            source,
        }
    }

    /// Every message of ours that went out, or waits for a session, and has no receipt.
    pub(super) fn unconfirmed(&mut self) -> Result<Vec<Unconfirmed>, String> {
        match &mut self.source {
            FactSource::Daemon(client) => listed(client).map_err(|error| error.to_string()),
            FactSource::Left(node) => {
                Ok(node.sent().outbox().filter_map(|out| left(&out)).collect())
            }
            FactSource::Nobody(why) => Err(why.clone()),
        }
    }

    /// What the node knows: by the daemon, or by the state that it left.
    pub(super) fn ask<R: Serve>(&mut self, request: R) -> Result<R::Answer, String> {
        let at = clock::at();
        match &mut self.source {
            FactSource::Daemon(client) => client.call(&request).map_err(|error| error.to_string()),
            FactSource::Left(node) => {
                let served = request.serve(&mut node.turn(at), &Reach::default());
                served
                    .map(|(answer, _)| answer)
                    .map_err(|error| error.to_string())
            }
            FactSource::Nobody(why) => Err(why.clone()),
        }
    }
}

/// A message of ours without a receipt.
pub(super) struct Unconfirmed {
    pub(super) peer: String,
    pub(super) since: Timestamp,
}

fn listed(client: &mut Client) -> Result<Vec<Unconfirmed>, ClientError> {
    let (mut all, mut list) = (Vec::new(), ListOutbox::default());
    loop {
        let page = client.call(&list)?.messages;
        if page.is_empty() {
            return Ok(all);
        }
        list.skip += page.len();
        all.extend(page.into_iter().filter_map(|out| {
            let is_under_way = matches!(
                (out.state, out.waits_for),
                (State::Published, _)
                    | (
                        State::Queued,
                        None | Some(WaitsFor::Session | WaitsFor::Peer)
                    )
            );
            let since = out.since.parse().ok().filter(|_| is_under_way)?;
            let peer = out.peer;
            Some(Unconfirmed { peer, since })
        }));
    }
}

fn left(out: &node::Outgoing) -> Option<Unconfirmed> {
    let is_under_way = matches!(
        (&out.state, out.waits_for),
        (node::State::Published, _)
            | (
                node::State::Queued,
                None | Some(node::WaitsFor::Session | node::WaitsFor::Peer)
            )
    );
    is_under_way.then(|| Unconfirmed {
        peer: out.peer.to_string(),
        since: out.since,
    })
}

impl FactSource {
    fn left(home: &Home, config: &Config) -> Self {
        match Memory::glance(home, config) {
            Ok(node) => Self::Left(Box::new(node)),
            Err(error) => Self::Nobody(error.to_string()),
        }
    }
}

/// How long the daemon may take to answer; one that hangs counts as one that does not run.
const PATIENCE: Duration = Duration::from_secs(5);
