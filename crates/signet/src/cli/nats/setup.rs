//! `signet nats setup`: the mailboxes on the server, made or brought in line, and what the server says of them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use signet_audit::visible;
use signet_proto::ids::AgentId;
use signet_transport::{Config, Done, Error, Login, Mailbox, Place, Report, set_up};

use super::login::LoginArgs;
use super::{Exit, Failure, print};
use crate::config;
use crate::home::Home;
use crate::render;

/// See `signet nats setup --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct SetupArgs {
    /// The agents [default: that of the home]; other agents keep their mailboxes
    #[arg(value_name = "AGENT")]
    agents: Vec<AgentId>,
    #[command(flatten)]
    login: LoginArgs,
}

pub(super) fn run(args: SetupArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let agents = if args.agents.is_empty() {
        vec![config::Config::load(&Home::find(home)?)?.agent.agent]
    } else {
        args.agents
    };
    let config = args.login.config()?;
    let report = make(&config, &agents).map_err(Fault::told)?;
    print(&page(&report))?;
    if report.made.iter().all(|made| made.differences.is_empty()) {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Refused,
        "the server has it otherwise than it was asked",
        "use a newer nats-server, or set what differs by hand",
    ))
}

/// Why there are no mailboxes.
pub(in crate::cli) enum Fault {
    /// The server did not make them.
    Server(Error),
    /// This process could not ask it.
    System(std::io::Error),
}

impl Fault {
    /// For a person who asked for just that.
    pub(in crate::cli) fn told(self) -> Failure {
        match self {
            Self::Server(error) => refused(error),
            Self::System(error) => Failure::new(Exit::Refused, error, "try again"),
        }
    }
}

/// The connection of whoever makes the mailboxes on `servers`, without a login yet; `name` is what the server's
/// monitoring shows.
pub(in crate::cli) fn administrator(servers: Vec<String>, name: &str) -> Config {
    let mut config = Config::new(servers, "agent.admin.inbox", "_INBOX_admin");
    name.clone_into(&mut config.name);
    config
}

/// The same as [`make`] on a server of one's own, with the seed in that file: one that was just started takes a
/// moment.
pub(in crate::cli) fn make_patiently(
    (url, name): (String, &str),
    seed: PathBuf,
    agents: &[AgentId],
) -> Result<(), Failure> {
    let mut config = administrator(vec![url], name);
    config.login = Login::NkeySeedFile(seed);
    let start = Instant::now();
    loop {
        match make(&config, agents) {
            Ok(_) => return Ok(()),
            Err(_) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(100)),
            Err(fault) => return Err(fault.told()),
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);

/// Makes the mailboxes of `agents`, or brings them in line.
pub(in crate::cli) fn make(config: &Config, agents: &[AgentId]) -> Result<Report, Fault> {
    let places: Vec<Place> = agents.iter().map(place).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let asked = set_up(config, &places);
    let made = runtime.map_err(Fault::System)?.block_on(asked);
    made.map_err(Fault::Server)
}

/// An agent's place: its inbox and its mailbox.
fn place(agent: &AgentId) -> Place {
    Place {
        inbox: render::inbox_subject(agent),
        mailbox: Mailbox::of(agent.as_str()),
    }
}

fn page(report: &Report) -> String {
    let mut page = format!("nats-server {}\n", report.server);
    for made in &report.made {
        let done = match made.done {
            Done::Created => "created",
            Done::Updated => "updated",
            Done::Kept => "as it should be",
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
    page.lines()
        .map(|line| format!("{}\n", visible(line)))
        .collect()
}

fn refused(error: Error) -> Failure {
    match &error {
        Error::Unreachable { .. } => Failure::new(
            Exit::NotReachable,
            &error,
            "name the server with --server or NATS_URL",
        ),
        Error::Setup { .. } => Failure::new(
            Exit::Refused,
            &error,
            "is JetStream enabled for the account, and may this login use $JS.API.>? signet nats config",
        ),
        Error::LoginRefused { .. } => Failure::new(
            Exit::Refused,
            &error,
            "give --nkey or --creds of an administrator of the server",
        ),
        Error::LoginFile { .. } | Error::TlsFile { .. } => {
            Failure::new(Exit::Usage, &error, "name the right file")
        }
        Error::Setting { .. } => Failure::new(
            Exit::Usage,
            &error,
            "correct --server, NATS_URL or the context: bare addresses, the login by --nkey or --creds",
        ),
        _ => Failure::new(
            Exit::Refused,
            &error,
            "give --server, and --nkey or --creds of an administrator",
        ),
    }
}

const EXAMPLE: &str = "\
It may be repeated at any time: what is right stays, and further agents get their mailboxes.

EXAMPLE:
  signet nats setup --nkey admin.nk agent-alice-001 agent-bob-001
  NATS_CONTEXT=house signet nats setup agent-carol-001";
