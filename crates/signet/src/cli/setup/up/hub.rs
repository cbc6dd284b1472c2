//! `signet up --join` and `--leave`: the home's own NATS server becomes a leaf of a hub, and is one no longer.

use clap::Args;
use signet_proto::ids::AgentId;
use zeroize::Zeroizing;

use super::broker::{BrokerArgs, FoundServer};
use super::config::{load, servers_of, set_reply_prefix};
use super::daemon::status_of;
use super::interrupt::Interrupts;
use super::server::{HubState, OwnServer};
use super::units::Units;
use crate::cli::input::CommandInput;
use crate::cli::setup::doctor::keeper::starts;
use crate::cli::setup::nats::hub::line::HubAccess;
use crate::cli::{CliError, print};
use crate::hint;
use crate::home::Home;

/// How a person names the hub.
#[derive(Debug, Args)]
pub(super) struct JoinArgs {
    /// Make the home's own NATS server (2.10 or newer) a leaf of the hub whose line this is: - reads standard input, @FILE a file
    #[arg(long, value_name = "LINE", conflicts_with_all = ["nats", "login", "beside"])]
    join: Option<String>,
    /// Make the home's own NATS server a leaf of no hub; mail and mailboxes stay
    #[arg(long, conflicts_with_all = ["join", "nats", "login", "beside"])]
    leave: bool,
}

/// The change that is asked for, with the line read.
pub(super) enum HubChange {
    None,
    Join(Box<HubAccess>),
    Leave,
}

impl JoinArgs {
    /// Whether a server of the home's own is wanted.
    pub(super) const fn wants_own(&self) -> bool {
        self.join.is_some()
    }

    /// Reads the line. A line that is itself an argument is refused, since others see it there.
    pub(super) fn read(&self) -> Result<HubChange, CliError> {
        let Some(origin) = &self.join else {
            return Ok(match self.leave {
                true => HubChange::Leave,
                false => HubChange::None,
            });
        };
        let is_file = origin
            .strip_prefix('@')
            .is_some_and(|file| !file.starts_with('@'));
        if origin != "-" && !is_file {
            let what = "a line of a hub is secret, and an argument stands in the list of processes and in the shell's history";
            let next = "give - and the line on standard input, or @FILE; if a whole line was typed here, ask whoever keeps the \
                        hub for another";
            return Err(CliError::usage(what, next));
        }
        let text = Zeroizing::new(CommandInput::default().words(origin)?);
        HubAccess::parse(&text).map(Box::new).map(HubChange::Join)
    }
}

/// Changes the server and starts it. Gives what is then to be told of the hub.
pub(super) fn apply(
    change: HubChange,
    found: &FoundServer<'_>,
    units: Option<&Units>,
    broker: &BrokerArgs,
) -> Result<Option<HubTold>, CliError> {
    let FoundServer {
        home,
        agent,
        interrupts,
    } = *found;
    HubMember {
        home,
        agent,
        units,
        interrupts,
    }
    .make(change, broker)
}

/// Refuses to change a NATS server that `signet up` did not make for this home.
pub(super) fn refuse_foreign_server(args: &JoinArgs, home: &Home) -> Result<(), CliError> {
    if args.join.is_none() && !args.leave {
        return Ok(());
    }
    let variable = std::env::var("NATS_URL").is_ok_and(|url| !url.trim().is_empty());
    let is_foreign = match OwnServer::of(home) {
        Some(_) => OwnServer::used_by(home)?.is_none(),
        None => servers_of(home)?.is_some() || variable,
    };
    if !is_foreign {
        return Ok(());
    }
    let what = format!(
        "{} uses a NATS server that signet up did not make for it",
        home.path().display()
    );
    let next = "whoever keeps that server joins: the same option in the home whose server it is; or by hand, as docs/scale.md \
                shows";
    Err(CliError::refused(what, next))
}

/// Writes the reply prefix into the configuration of `home` that the lists of the hub are for, where the server of `keeper`,
/// which it uses, is a leaf of one.
pub(super) fn take_reply_prefix(home: &Home, keeper: &Home) -> Result<(), CliError> {
    let config = load(home)?;
    let own = OwnServer::of(keeper);
    let hub = own.as_ref().map(OwnServer::hub).transpose()?.flatten();
    let (Some(own), Some(hub)) = (own, hub) else {
        return Ok(());
    };
    if hub.replies == config.nats.reply_prefix || config.nats.servers != [own.url()?] {
        return Ok(());
    }
    set_reply_prefix(home, hub.replies)?;
    let setting = format!("reply-prefix = \"{}\"", hub.replies.as_str());
    print(&format!(
        "replies  {setting} in config.toml, as the lists of the hub have it\n"
    ))?;
    if status_of(&config).is_some() {
        let what = "the daemon runs with the prefix of before, and no mailbox of another household confirms its messages until it \
                    starts anew";
        let next = format!("signet down --keep-nats && {}", starts(home));
        anstream::eprintln!("warning: {what}\n  next: {}", hint::typed(&next));
    }
    let others = own.others(&config.agent.agent)?;
    if home.path() == keeper.path() && !others.is_empty() {
        let others: Vec<&str> = others.iter().map(AgentId::as_str).collect();
        anstream::eprintln!(
            "warning: the other agents of this server need {setting} in [nats] of their config.toml: {}\n  next: {}",
            others.join(", "),
            "write it there, or on this machine have signet up --beside, with this home, write it; then start each daemon anew"
        );
    }
    Ok(())
}

/// A home whose server is to be changed.
struct HubMember<'a> {
    home: &'a Home,
    agent: &'a AgentId,
    units: Option<&'a Units>,
    interrupts: &'a Interrupts,
}

impl HubMember<'_> {
    fn make(&self, change: HubChange, broker: &BrokerArgs) -> Result<Option<HubTold>, CliError> {
        let (own, hub) = match change {
            HubChange::None => return Ok(None),
            HubChange::Leave => {
                let own = self.own(broker)?;
                let left = own.as_ref().map(OwnServer::hub).transpose()?;
                let (Some(own), Some(left)) = (own, left.flatten()) else {
                    print("hub      none: this home's own server is a leaf of no hub\n")?;
                    return Ok(None);
                };
                let text = format!(
                    "hub      {}, as {}: left\n",
                    left.hub.address(),
                    left.household
                );
                self.restart(&own, None)?;
                print(&text)?;
                return Ok(None);
            }
            HubChange::Join(access) => {
                self.refuse_line_of_others(&access)?;
                OwnServer::refuse_old_leaf()?;
                let own = match self.own(broker)? {
                    Some(own) => own,
                    None => OwnServer::create(self.home, broker.listen())?,
                };
                (own, access)
            }
        };
        let length = own.log_length();
        let joined = own.joined(&hub)?;
        // A server that runs, and is a leaf of that hub already, says nothing new.
        let since = (joined.is_some() || !own.is_running()).then_some(length);
        if let Some(access) = joined {
            self.restart(&own, Some(access))?;
        }
        let access = *hub;
        Ok(Some(HubTold { access, own, since }))
    }

    fn restart(&self, own: &OwnServer, hub: Option<HubAccess>) -> Result<(), CliError> {
        if let Some(units) = self.units {
            // The service would start the server again at once; it is written anew later.
            units.stop_server()?;
        }
        let ran = own.is_running();
        let changed = own.restart_under(hub, self.interrupts);
        match self.units {
            // A server that ran before this command does not end with it.
            None if ran => self.interrupts.keep_server(),
            Some(units) if changed.is_err() => {
                self.interrupts.end_server();
                units.start(self.home, Some(own))?;
            }
            _ => {}
        }
        changed
    }

    /// The home's own server, where it has one.
    fn own(&self, broker: &BrokerArgs) -> Result<Option<OwnServer>, CliError> {
        let own = OwnServer::of(self.home);
        if let (Some(own), Some(listen)) = (&own, broker.listen()) {
            own.listen_at(listen)?;
        }
        Ok(own)
    }

    fn refuse_line_of_others(&self, access: &HubAccess) -> Result<(), CliError> {
        if access.agents.contains(self.agent) {
            return Ok(());
        }
        let agents: Vec<&str> = access.agents.iter().map(AgentId::as_str).collect();
        let what = format!(
            "the line is for {} with {}, and this home is that of {}",
            access.household,
            agents.join(", "),
            self.agent
        );
        let next = "ask whoever keeps the hub for the line of the household that this agent is in";
        Err(CliError::refused(what, next))
    }
}

/// A server that was made a leaf just now.
pub(super) struct HubTold {
    access: HubAccess,
    own: OwnServer,
    /// The length of the server's log before it was started; `None` where it ran on.
    since: Option<usize>,
}

impl HubTold {
    /// Says whether the hub lets the household in. Where it does not, the error is for the end of the command: the agent runs all
    /// the same. A hub that is away is no failure: the server goes on trying.
    pub(super) fn tell(&self) -> Result<Option<CliError>, CliError> {
        let HubAccess { hub, household, .. } = &self.access;
        let (address, agents) = (hub.address(), &self.access.agents);
        let agents: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
        let look = format!(
            "tail -n 20 {}  # says more; a nats-server of another version than the hub's may be the cause",
            hint::word(&self.own.log_file())
        );
        let state = match self.since {
            Some(since) => self.own.hub_state(since),
            None => self.own.hub_state_now().unwrap_or(HubState::Away),
        };
        let (what, next) = match state {
            HubState::Connected => {
                let agents = agents.join(", ");
                print(&format!(
                    "hub      {address}, as {household} with {agents}\n"
                ))?;
                return Ok(None);
            }
            HubState::Refused => (
                format!("the hub at {address} does not let {household} in"),
                "ask whoever keeps it whether it was started again since the line was made, and for another line; or signet up \
                 --leave",
            ),
            HubState::Unproved => (
                format!(
                    "what answers at {address} does not prove by its certificate to be the hub"
                ),
                "ask whoever keeps the hub for the certificate and another line; or signet up --leave",
            ),
            HubState::Closed => (
                format!("the hub at {address} takes the connection, and it ends again"),
                look.as_str(),
            ),
            HubState::Contested => (
                format!(
                    "the hub at {address} throws this server out for another that logs in as {household}"
                ),
                "let one server of the household alone join; in the other home: their signet up --leave; its agents then come by \
                 their signet up --beside, or by signet invite --login here",
            ),
            HubState::Nameless => (
                format!("this machine finds no address for the hub at {address}"),
                "wait, if this machine is off the network: the server goes on trying; else ask whoever keeps the hub for a line \
                 with another address",
            ),
            HubState::Away => (
                format!("the hub at {address} does not answer yet"),
                "wait: the server goes on trying, and mail within the household goes on; or ask whoever keeps the hub",
            ),
        };
        if matches!(state, HubState::Refused | HubState::Unproved) {
            return Ok(Some(CliError::refused(what, next)));
        }
        anstream::eprintln!("warning: {what}\n  next: {}", hint::typed(next));
        Ok(None)
    }
}
