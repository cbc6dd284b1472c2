//! `signet nats setup`: the mailboxes on the server, made or brought in line, and what the server says of them.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use signet_proto::ids::AgentId;
use signet_transport::{SetupReport, SetupStep, StreamOptions};

use super::login::LoginArgs;
use super::mailboxes::{BrokerFault, MailboxOptions, make};
use super::{CliError, print};
use crate::cli::visible_lines;
use crate::config;
use crate::home::Home;

/// See `signet nats setup --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct SetupArgs {
    /// The agents [default: that of the home]; other agents keep their mailboxes
    #[arg(value_name = "AGENT")]
    agents: Vec<AgentId>,
    /// Room that the stream keeps for each of its mailboxes [default: 64, or what it has where that is more]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    mailbox_mib: Option<u64>,
    /// On how many servers of a cluster each mailbox lies [default: 1, or what the stream has]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=5))]
    replicas: Option<u8>,
    #[command(flatten)]
    login: LoginArgs,
}

pub(super) fn run(args: SetupArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = own_home(home, args.agents.is_empty())?;
    let agents = match &home {
        Some((_, config)) if args.agents.is_empty() => vec![config.agent.agent.clone()],
        _ => args.agents,
    };
    let config = args.login.config(home.as_ref())?;
    let options = MailboxOptions {
        stream: StreamOptions {
            mailbox_bytes: args.mailbox_mib.map(|mib| mib << 20),
            replicas: args.replicas.map(usize::from),
        },
        domain: domain_of(home.as_ref(), &config.servers),
    };
    let report = make(&config, &agents, &options).map_err(BrokerFault::told)?;
    print(&page(&report))?;
    if report.made.iter().all(|made| made.differences.is_empty()) {
        return Ok(());
    }
    Err(CliError::refused(
        "the server has it otherwise than it was asked",
        "use a newer nats-server, or set what differs by hand",
    ))
}

/// The JetStream domain of the home's mailbox, where the servers are those of the home: any other has none of that name.
fn domain_of(home: Option<&(Home, config::Config)>, servers: &[String]) -> Option<String> {
    let nats = home.map(|(_, config)| &config.nats)?;
    let is_own = servers.iter().all(|one| nats.servers.contains(one));
    nats.domain.clone().filter(|_| is_own)
}

/// The home whose NATS server is meant: the one that is named, or else the usual one, if there is one.
fn own_home(
    named: Option<PathBuf>,
    is_needed: bool,
) -> Result<Option<(Home, config::Config)>, CliError> {
    let is_named = named.is_some() || is_needed;
    let home = match Home::find(named) {
        Ok(home) => home,
        Err(error) if is_named => return Err(error.into()),
        Err(_) => return Ok(None),
    };
    match config::Config::load(&home) {
        Ok(config) => Ok(Some((home, config))),
        Err(error) if is_named => Err(error.into()),
        // There is no home at the usual place, and none is needed: the person who runs a household's server may have no agent.
        Err(_) if !home.config_file().exists() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn page(report: &SetupReport) -> String {
    let mut page = format!("nats-server {} at {}\n", report.server, report.address);
    for made in &report.made {
        let done = match made.done {
            SetupStep::Created => "created",
            SetupStep::Updated => "updated",
            SetupStep::Kept => "as it should be",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(page, "{}: {done}", made.what);
        for differs in &made.differences {
            let (setting, asked, is) = (differs.setting, &differs.asked, &differs.is);
            let _ = writeln!(
                page,
                "  differs: {setting} was asked to be {asked} and is {is}"
            );
        }
    }
    let _ = writeln!(page, "mailboxes: {}", report.inboxes.join(" "));
    let count = report.inboxes.len();
    let _ = match report.room {
        None => writeln!(page, "room: without a limit"),
        Some(room) if room > report.usual_room => writeln!(
            page,
            "room: {} MiB, kept as it was; {} MiB are usual: --mailbox-mib 64 gives the rest back",
            room >> 20,
            report.usual_room >> 20
        ),
        Some(room) => writeln!(page, "room: {} MiB for {count}", room >> 20),
    };
    let replicas = report.replicas;
    let _ = match (replicas, report.is_copied) {
        (..=1, _) => Ok(()),
        (_, true) => writeln!(page, "replicas: each mailbox lies on {replicas} servers"),
        (_, false) => writeln!(
            page,
            "replicas: each mailbox is to lie on {replicas} servers, which copy it still: keep all of them up until signet doctor \
             says that it does"
        ),
    };
    visible_lines(&page)
}

const EXAMPLE: &str = "\
It may be repeated at any time: what is right stays, also replicas and room that somebody gave more of, and further agents
get their mailboxes. The server is the home's own ([nats] of its config.toml, with its `ca`, `cert` and `key`) unless another
is named. Where `signet up` made that server, its administrator's key is taken from the home. --replicas 3 is for three
servers that are one cluster: a mailbox then outlives any one of them.

EXAMPLE:
  signet nats setup --nkey admin.nk agent-alice-001 agent-bob-001
  NATS_CONTEXT=house signet nats setup agent-carol-001
  signet nats setup --replicas 3 --nkey admin.nk agent-alice-001";
