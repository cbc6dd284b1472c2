//! Which NATS server an agent uses: one that is named, one that is there, or one of the home's own.

use std::io::{self, IsTerminal as _};

use clap::Args;
use signet_proto::ids::AgentId;
use signet_transport::Error;
use zeroize::Zeroizing;

use crate::carrier::nats_config;
use crate::cli::input::CommandInput;
use crate::cli::setup::doctor;
use crate::cli::setup::invite::{read_pasted, said_yes};
use crate::cli::setup::nats::key;
use crate::cli::setup::nats::mailboxes::{self, BrokerFault, MailboxOptions};
use crate::cli::{CliError, print};
use crate::config::{Config, NatsLogin};
use crate::files::private;
use crate::hint;
use crate::home::Home;

use super::access::AccessArgs;
use super::config::{load, servers_of, set_servers};
use super::interrupt::Interrupts;
use super::lock::UpLock;
use super::login::{NewLogin, PREFIX};
use super::server::{OwnServer, ServerStart, USUAL, speaks_nats};

/// How a person names the server.
#[derive(Debug, Args)]
pub(super) struct BrokerArgs {
    /// The NATS server to use [default: $NATS_URL, the configuration's, or one of the home's own]
    #[arg(long, value_name = "URL", conflicts_with_all = ["login", "listen"])]
    nats: Option<String>,
    /// The login that `signet invite --login` printed: - reads it from standard input, @FILE from a file
    #[arg(long, value_name = "LINE", conflicts_with = "listen")]
    login: Option<String>,
    /// Where a server of the home's own listens [default: 127.0.0.1:4222, or a free port there]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
}

impl BrokerArgs {
    /// Whether they name another server than these, or a login or certificate that is perhaps another.
    pub(super) fn names_another(&self, servers: &[String]) -> bool {
        let named = self.nats.as_deref().map(list_of);
        self.login.is_some() || self.access.is_some() || named.is_some_and(|named| named != servers)
    }

    /// Where a server of the home's own is to listen.
    pub(super) fn listen(&self) -> Option<&str> {
        self.listen.as_deref()
    }

    /// Whether the options say where a server of the home's own listens.
    pub(super) const fn wants_own(&self) -> bool {
        self.listen.is_some()
    }
}

/// The server that one agent uses, while it is being found. A server of the home's own that has to be started is
/// held by `interrupts`.
pub(super) struct FoundServer<'a> {
    pub(super) home: &'a Home,
    pub(super) agent: &'a AgentId,
    pub(super) interrupts: &'a Interrupts,
}

impl FoundServer<'_> {
    /// Finds or makes the server, writes it into the configuration, and makes the mailbox.
    pub(super) fn find(&self, args: &BrokerArgs) -> Result<(), CliError> {
        let home = self.home;
        if let Some(line) = &args.login {
            return self.with_login(line);
        }
        if let Some(url) = &args.nats {
            args.access.write(home)?;
            return self.named(url, "");
        }
        let own = OwnServer::of(home);
        if let Some((own, listen)) = own.as_ref().zip(args.listen.as_ref()) {
            own.listen_at(listen)?;
            return self.own(own);
        }
        if let Some(listen) = &args.listen {
            // `--listen` asks for a server of the home's own, even if the configuration names another server.
            return self.own(&OwnServer::create(home, Some(listen))?);
        }
        let written = servers_of(home)?;
        let variable = std::env::var("NATS_URL").ok();
        let variable = variable.filter(|url| !url.trim().is_empty());
        match (written, own, variable) {
            (Some(servers), _, Some(url)) if list_of(&url) != servers => {
                // Refuse a difference: with NATS_URL set, this command would use other servers than a daemon that
                // is started later without it.
                let what = "NATS_URL names another NATS server than config.toml does";
                let next = "unset NATS_URL; or write it into the configuration: signet up --nats \"$NATS_URL\"";
                Err(CliError::usage(what, next))
            }
            // A home with a server of its own may name another server in its configuration by now. The configuration decides:
            // the own server is used only if its address is the only one there.
            (Some(servers), Some(own), _) if servers == [own.url()?] => self.own(&own),
            (Some(servers), ..) => self.named(&servers.join(","), ", from config.toml"),
            (None, Some(own), None) => self.own(&own),
            (None, _, Some(url)) => self.named(&url, ", from NATS_URL"),
            (None, None, None) => self.found(),
        }
    }

    /// One that listens on this machine, if the person wants it, or one of the home's own.
    fn found(&self) -> Result<(), CliError> {
        if speaks_nats(USUAL) {
            if asked_to_use()? {
                return self.named(&format!("nats://{USUAL}"), "");
            }
            print(&format!(
                "nats     a server that is not this home's listens at {USUAL}; to use it: signet up --nats nats://{USUAL}\n"
            ))?;
        }
        let own = OwnServer::create(self.home, None)?;
        self.own(&own)
    }

    /// Uses the server of another home of this user, which gives a login, and is the other home's to end.
    pub(super) fn beside(&self, other: &Home) -> Result<(), CliError> {
        let config = load(other)?;
        let Some(own) = OwnServer::used_by(other)? else {
            // The other home uses no server of its own. The server that it uses lets in whom its
            // administrator chooses: so no login is made here.
            return self.named(&config.nats.servers.join(","), "");
        };
        // This command changes the other home's server, so hold that home's lock: its own `up` and `down` must wait meanwhile.
        let _lock = UpLock::acquire(other)?;
        own.start(self.interrupts)?;
        // The other home may go on using this server: do not end it when this command ends.
        self.interrupts.keep_server();
        let url = enter(self.home, self.agent, &own)?;
        let whose = config.agent.agent;
        print(&format!(
            "nats     {url}, the server of {whose}\nmailbox  ready\n"
        ))?;
        warn_of_readers(&own)
    }

    fn own(&self, own: &OwnServer) -> Result<(), CliError> {
        let started = own.start(self.interrupts)?;
        let url = enter(self.home, self.agent, own)?;
        let how = match started {
            ServerStart::Now => {
                "started: a server of this home's own, with logins, and its store in nats/store"
            }
            ServerStart::Before => "this home's own server, which runs",
        };
        print(&format!("nats     {url}, {how}\nmailbox  ready\n"))?;
        warn_of_readers(own)
    }

    /// A server that somebody else keeps.
    fn named(&self, urls: &str, origin: &str) -> Result<(), CliError> {
        let servers = list_of(urls);
        set_servers(self.home, &servers)?;
        print(&format!("nats     {}{origin}\n", servers.join(", ")))?;
        self.mailbox()
    }

    fn with_login(&self, line: &str) -> Result<(), CliError> {
        let (home, agent) = (self.home, self.agent);
        let text = Zeroizing::new(CommandInput::default().words(line)?);
        let login = read_pasted(&text, PREFIX, NewLogin::parse, |_| false)?;
        if login.agent != *agent {
            let what = format!(
                "this login is for {}, and this home is that of {agent}",
                login.agent
            );
            let next = "ask for one for this agent, made on the server's machine by their signet invite --login ID";
            return Err(CliError::refused(what, next));
        }
        // Write the server addresses first: that fails if the configuration, as a person edited it, has no place for them. The
        // home then still has its old login, which works.
        set_servers(home, &login.servers)?;
        let seed = home.nats_seed();
        match seed.exists() {
            // If the seed file holds this login's key already, leave the file alone. Replace another key, or a file that cannot
            // be read, because the new login takes the place of the old one.
            true if key::read(&seed).ok() == Some(login.public()?) => {}
            true => private::replace(&seed, format!("{}\n", *login.nkey).as_bytes())?,
            false => private::create_whole(&seed, format!("{}\n", *login.nkey).as_bytes())?,
        }
        let servers = login.servers.join(", ");
        print(&format!(
            "nats     {servers}, with the login for this agent\nmailbox  made with the login, by whoever gave it\n"
        ))
    }

    /// Makes the mailbox, where the login may; the keeper of the server makes it otherwise.
    fn mailbox(&self) -> Result<(), CliError> {
        let config = load(self.home)?;
        let agent = config.agent.agent.clone();
        let has_login = config.nats.login != NatsLogin::None || config.nats.tls_client.is_some();
        if has_login && has_mailbox(&config) {
            // The agent's own login may look at the mailbox but not make it, so an existing mailbox is enough.
            return print("mailbox  it is there\n");
        }
        let mut connection = nats_config::of(&config)?;
        // This connection is only to make the agent's mailbox, and reads no mail: so it names no mailbox to read from, which
        // might not exist yet.
        connection.mailbox = None;
        let options = MailboxOptions {
            domain: config.nats.domain.clone(),
            ..MailboxOptions::default()
        };
        let said = match mailboxes::make(&connection, std::slice::from_ref(&agent), &options) {
            Ok(_) => "made".to_owned(),
            // A server that does not answer is no failure: the daemon starts without it,
            // and finds a mailbox that is made later.
            Err(BrokerFault::Server(Error::Unreachable { .. })) => {
                "not looked at: the server does not answer".to_owned()
            }
            Err(BrokerFault::Server(error)) => format!(
                "not looked at ({error}); where there is none, mail waits with its sender, and whoever keeps the \
                 server makes it: signet nats setup {agent}"
            ),
            Err(fault) => return Err(fault.told()),
        };
        print(&format!("mailbox  {said}\n"))
    }
}

fn has_mailbox(config: &Config) -> bool {
    let seen = doctor::broker::inspected(config);
    seen.is_ok_and(|seen| matches!(seen.mailbox, Some(Ok(_))))
}

/// A server that others can reach has no TLS: whoever starts one that way is told what that means.
fn warn_of_readers(own: &OwnServer) -> Result<(), CliError> {
    if let Some(listen) = own.listens_beyond()? {
        let next = hint::typed(
            "let it listen at the address of a VPN: signet down, then signet up --listen HOST:PORT; or use a server with \
             TLS: signet up --nats tls://HOST:4222",
        );
        anstream::eprintln!(
            "warning: this NATS server listens at {listen}, beyond this machine, and without TLS: nobody gets in without \
             a login, but whoever reads the network sees who writes to whom and when, and what is of tier 1 or 2\n  \
             next: {next}"
        );
    }
    Ok(())
}

/// Gives the agent of `home` a login and a mailbox on that server, and writes its address down.
fn enter(home: &Home, agent: &AgentId, own: &OwnServer) -> Result<String, CliError> {
    let seed = home.nats_seed();
    let public = match seed.exists() {
        true => key::read_or(&seed, || key::made_anew(&seed))?,
        false => key::make(&seed)?,
    };
    // Let the login in before the address is written: the configuration on disk then always names a server
    // that lets the agent in.
    own.admit(agent, &public)?;
    let url = own.url()?;
    set_servers(home, std::slice::from_ref(&url))?;
    Ok(url)
}

/// The addresses of a text, as NATS_URL has them.
fn list_of(urls: &str) -> Vec<String> {
    urls.split(',').map(|url| url.trim().to_owned()).collect()
}

/// Asks at a terminal whether the server that listens here is meant; nobody is asked elsewhere.
fn asked_to_use() -> Result<bool, CliError> {
    // Ask only at a terminal: a script must not wait for an answer, and only a person may choose somebody else's server.
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Ok(false);
    }
    print(&format!("A NATS server listens at {USUAL}. Use it? [y/N] "))?;
    said_yes()
}
