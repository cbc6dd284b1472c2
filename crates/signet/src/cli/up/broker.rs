//! Which NATS server an agent uses: one that is named, one that is there, or one of the home's own.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};

use clap::Args;
use serde::{Deserialize, Serialize};
use signet_proto::ids::{AgentId, decode_base64url, encode_base64url};
use signet_transport::{new_user, user_of_seed};
use zeroize::Zeroizing;

use crate::cli::input::Input;
use crate::cli::nats::{key, setup};
use crate::cli::{Exit, Failure, print};
use crate::config::Config;
use crate::daemon::transport;
use crate::home::Home;
use crate::{private, random};

use super::config::{servers_of, set_servers};
use super::server::{OwnServer, Started, USUAL, speaks_nats};

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
}

/// The server that was found.
pub(super) struct Broker {
    /// Whether this command started a server of the home's own.
    pub(super) started: bool,
}

impl Broker {
    /// Finds or makes the server, writes it into the configuration, and makes the mailbox.
    pub(super) fn find(home: &Home, agent: &AgentId, args: &BrokerArgs) -> Result<Self, Failure> {
        if let Some(line) = &args.login {
            return Self::with_login(home, agent, line);
        }
        if let Some(url) = &args.nats {
            return Self::named(home, url, "");
        }
        if let Some(own) = OwnServer::of(home) {
            if let Some(listen) = &args.listen {
                own.listen_at(listen)?;
            }
            return Self::own(home, agent, &own);
        }
        let url = std::env::var("NATS_URL")
            .ok()
            .filter(|url| !url.trim().is_empty());
        if let Some(url) = url {
            return Self::named(home, &url, ", from NATS_URL");
        }
        if let Some(servers) = servers_of(home)? {
            return Self::named(home, &servers.join(","), ", from config.toml");
        }
        if args.listen.is_none() && speaks_nats(USUAL) {
            if asked_to_use()? {
                return Self::named(home, &format!("nats://{USUAL}"), "");
            }
            print(&format!(
                "nats     a server that is not this home's listens at {USUAL}; to use it: signet up --nats nats://{USUAL}\n"
            ))?;
        }
        let own = OwnServer::create(home, args.listen.as_deref())?;
        Self::own(home, agent, &own)
    }

    /// Uses the server of another home of this user, which gives a login.
    pub(super) fn beside(home: &Home, agent: &AgentId, other: &Home) -> Result<Self, Failure> {
        let config = Config::load(other)?;
        let Some(own) = OwnServer::of(other) else {
            // Its server is somebody else's, and lets us in as it lets the other in, or not.
            return Self::named(home, &config.nats.servers.join(","), "");
        };
        let started = own.start()?;
        let seed = home.nats_seed();
        let public = match seed.exists() {
            true => key::read(&seed)?,
            false => key::make(&seed)?,
        };
        own.admit(agent, &public)?;
        set_servers(home, &[own.url()?])?;
        print(&format!(
            "nats     {}, the server of {}\n",
            own.url()?,
            config.agent.agent
        ))?;
        print("mailbox  made\n")?;
        // It is the other home's to end.
        let _ = started;
        Ok(Self { started: false })
    }

    fn own(home: &Home, agent: &AgentId, own: &OwnServer) -> Result<Self, Failure> {
        let started = own.start()?;
        let seed = home.nats_seed();
        let public = match seed.exists() {
            true => key::read(&seed)?,
            false => key::make(&seed)?,
        };
        own.admit(agent, &public)?;
        let url = own.url()?;
        set_servers(home, std::slice::from_ref(&url))?;
        let how = match started {
            Started::Now => {
                "started: a server of this home's own, with logins, and its store in nats/store"
            }
            Started::Before => "this home's own server, which runs",
        };
        print(&format!("nats     {url}, {how}\nmailbox  made\n"))?;
        Ok(Self {
            started: started == Started::Now,
        })
    }

    /// A server that somebody else keeps.
    fn named(home: &Home, urls: &str, origin: &str) -> Result<Self, Failure> {
        let servers: Vec<String> = urls.split(',').map(|url| url.trim().to_owned()).collect();
        set_servers(home, &servers)?;
        print(&format!("nats     {}{origin}\n", servers.join(", ")))?;
        Self::mailbox(home)?;
        Ok(Self { started: false })
    }

    fn with_login(home: &Home, agent: &AgentId, line: &str) -> Result<Self, Failure> {
        let login = Login::parse(&Input::default().words(line)?)?;
        if login.agent != *agent {
            let what = format!(
                "this login is for {}, and this home is that of {agent}",
                login.agent
            );
            let next =
                "ask for one for this agent: signet invite --login ID, on the server's machine";
            return Err(Failure::new(Exit::Refused, what, next));
        }
        let seed = home.nats_seed();
        match seed.exists() {
            true if key::read(&seed)? == login.public()? => {}
            true => private::replace(&seed, format!("{}\n", *login.nkey).as_bytes())?,
            false => private::create(&seed, format!("{}\n", *login.nkey).as_bytes())?,
        }
        Self::named(
            home,
            &login.servers.join(","),
            ", with the login for this agent",
        )
    }

    /// Makes the mailbox, where the login may; the keeper of the server makes it otherwise.
    fn mailbox(home: &Home) -> Result<(), Failure> {
        let config = Config::parse(&super::text_of(home)?, home, None)?;
        let agent = config.agent.agent.clone();
        let mut connection = transport(&config)?;
        // A server that does not answer at all is told of in a moment, when the daemon has tried.
        connection.mailbox = None;
        let said = match setup::make(&connection, std::slice::from_ref(&agent)) {
            Ok(_) => "made".to_owned(),
            Err(_) => format!(
                "not made with this login; where it is not made yet, who keeps the server does it: \
                 signet nats setup {agent}"
            ),
        };
        print(&format!("mailbox  {said}\n"))
    }
}

/// Asks at a terminal whether the server that listens here is meant; nobody is asked elsewhere.
fn asked_to_use() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Ok(false);
    }
    print(&format!("A NATS server listens at {USUAL}. Use it? [y/N] "))?;
    crate::cli::invite::said_yes()
}

/// A login of a NATS server for one agent: secret, and its own line, beside an invitation.
pub(in crate::cli) struct Login {
    agent: AgentId,
    servers: Vec<String>,
    nkey: Zeroizing<String>,
}

/// The same as its line holds it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    agent: AgentId,
    servers: Vec<String>,
    nkey: Cow<'a, str>,
}

impl Login {
    /// A new one for `agent` on the home's own server, which must run.
    pub(in crate::cli) fn make(
        own: &OwnServer,
        agent: &AgentId,
        servers: Vec<String>,
    ) -> Result<Self, Failure> {
        let failed = || {
            Failure::new(
                Exit::Refused,
                "the system's random bytes make no key",
                "try again",
            )
        };
        let bytes = random::bytes().map_err(|_| failed())?;
        let (seed, public) = new_user(bytes).ok_or_else(failed)?;
        let nkey = Zeroizing::new(seed);
        own.admit(agent, &public)?;
        Ok(Self {
            agent: agent.clone(),
            servers,
            nkey,
        })
    }

    /// The line that a person hands over.
    pub(in crate::cli) fn to_line(&self) -> Zeroizing<String> {
        let written = Written {
            agent: self.agent.clone(),
            servers: self.servers.clone(),
            nkey: Cow::Borrowed(&self.nkey),
        };
        let bytes = Zeroizing::new(serde_json::to_vec(&written).unwrap_or_default());
        Zeroizing::new(format!("{PREFIX}{}", encode_base64url(&bytes)))
    }

    fn parse(line: &str) -> Result<Self, Failure> {
        let unusable = || {
            let what = "this is no login: the line of signet invite --login is expected, which begins with signet-login:1:";
            Failure::new(
                Exit::Usage,
                what,
                "copy it whole; - reads it from standard input",
            )
        };
        let rest = line.trim().strip_prefix(PREFIX).ok_or_else(unusable)?;
        let bytes = Zeroizing::new(decode_base64url(rest).map_err(|_| unusable())?);
        let written: Written<'_> = serde_json::from_slice(&bytes).map_err(|_| unusable())?;
        let login = Self {
            agent: written.agent,
            servers: written.servers,
            nkey: Zeroizing::new(written.nkey.into_owned()),
        };
        login.public()?;
        Ok(login)
    }

    fn public(&self) -> Result<String, Failure> {
        user_of_seed(&self.nkey).ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                "the key in this login is none",
                "ask for another login",
            )
        })
    }
}

const PREFIX: &str = "signet-login:1:";
