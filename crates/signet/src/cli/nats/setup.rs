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
    /// Room that the stream keeps for each of its mailboxes [default: 64, or what it has where that is more]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    mailbox_mib: Option<u64>,
    #[command(flatten)]
    login: LoginArgs,
}

pub(super) fn run(args: SetupArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let home = own_home(home, args.agents.is_empty())?;
    let agents = match &home {
        Some((_, config)) if args.agents.is_empty() => vec![config.agent.agent.clone()],
        _ => args.agents,
    };
    let config = args.login.config(home.as_ref())?;
    let share = args.mailbox_mib.map(|mib| mib << 20);
    let report = make(&config, &agents, share).map_err(Fault::told)?;
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

/// The home whose NATS server is meant: the one that is named, or else the usual one, if there is one.
fn own_home(
    named: Option<PathBuf>,
    is_needed: bool,
) -> Result<Option<(Home, config::Config)>, Failure> {
    let is_named = named.is_some() || is_needed;
    let home = match Home::find(named) {
        Ok(home) => home,
        Err(error) if is_named => return Err(error.into()),
        Err(_) => return Ok(None),
    };
    match config::Config::load(&home) {
        Ok(config) => Ok(Some((home, config))),
        Err(error) if is_named => Err(error.into()),
        // Whoever keeps a household's server need have no agent.
        Err(_) if !home.config_file().exists() => Ok(None),
        Err(error) => Err(error.into()),
    }
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
        match make(&config, agents, None) {
            Ok(_) => return Ok(()),
            Err(_) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(100)),
            Err(fault) => return Err(fault.told()),
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);

/// Makes the mailboxes of `agents`, or brings them in line; `share` is the room of each, in bytes.
pub(in crate::cli) fn make(
    config: &Config,
    agents: &[AgentId],
    share: Option<u64>,
) -> Result<Report, Fault> {
    let places: Vec<Place> = agents.iter().map(place).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let asked = set_up(config, &places, share);
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
    let mut page = format!("nats-server {} at {}\n", report.server, report.address);
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
        Error::NoRoom { .. } => Failure::new(
            Exit::Refused,
            &error,
            "give the server more (max_file in its jetstream block, then start it again), or each mailbox less: --mailbox-mib 16",
        ),
        Error::Tls { .. } => Failure::new(
            Exit::Refused,
            &error,
            "name the home whose [nats.tls] has `ca`, `cert` and `key`: --home DIR; or a context that names them: --context NAME",
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
It may be repeated at any time: what is right stays, also replicas and room that somebody gave more of, and further agents
get their mailboxes. The server is the home's own ([nats] of its config.toml, with its `ca`, `cert` and `key`) unless another
is named. Where `signet up` made that server, its administrator's key is taken from the home.

EXAMPLE:
  signet nats setup --nkey admin.nk agent-alice-001 agent-bob-001
  NATS_CONTEXT=house signet nats setup agent-carol-001";
