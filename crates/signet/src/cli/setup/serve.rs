//! `signet gateway` and `signet token`: programs that speak for the agent over HTTP, and who they are. What listens is
//! another program, `signet-gateway`, which takes the place of this one: it never shares memory with keys.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use clap::{Args, Subcommand};

use crate::cli::setup::mcp::agent_socket;
use crate::cli::{CliError, setup::gateway};
use crate::config::Config;
use crate::home::Home;
use crate::lock::refuse_foreign;

/// See `signet gateway --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct GatewayArgs {
    /// The agent's socket, where the gateway may not read the home; that of the home's configuration when absent
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// What it does; gateway.toml in the home when absent
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The socket of foreign carriers, for [inbox], [discord] and [metrics]; that of the home's configuration when absent
    #[arg(long, value_name = "PATH")]
    carrier_socket: Option<PathBuf>,
}

/// See `signet token --help`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "EXAMPLE:\n  signet token make laptop --peer agent-bob-001 --tier 1\n  signet token list\n  signet token revoke laptop"
)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenAction,
    /// The file of the tokens; gateway-tokens.toml in the home when absent
    #[arg(long, global = true, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Make one and print it: nobody can read it again
    #[command(
        after_help = "EXAMPLE:\n  signet token make laptop --peer agent-bob-001 --tier 1\n  signet token make board --read --days 30"
    )]
    Make(TokenMakeArgs),
    /// Say which there are, and how far each reaches
    #[command(after_help = "EXAMPLE:\n  signet token list")]
    List,
    /// Take one back: what is under way with it ends within a second
    #[command(after_help = "EXAMPLE:\n  signet token revoke laptop")]
    Revoke {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
struct TokenMakeArgs {
    /// What it is called: whose program it is for
    name: String,
    /// An agent that it may speak with; may be given several times, everybody when absent
    #[arg(long = "peer", value_name = "AGENT")]
    peers: Vec<String>,
    /// The highest data tier that it sends and sees
    #[arg(long, value_name = "TIER", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: u8,
    /// It may only look, and sends nothing
    #[arg(long)]
    read: bool,
    /// Days until it expires; it holds until it is revoked when absent
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    days: Option<u32>,
    /// Requests in a minute, in the place of what gateway.toml says
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_minute: Option<u32>,
    /// In the place of a token, the certificate that the caller shows over TLS, in PEM
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
}

pub(crate) fn gateway(args: &GatewayArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let program = gateway::program()?;
    let (socket, config, carriers) = match (&args.socket, &args.config) {
        (Some(socket), Some(config)) => (socket.clone(), config.clone(), None),
        (socket, config) => {
            let home = Home::find(home)?;
            let beside = || home.path().join(CONFIG);
            let socket = match socket {
                Some(socket) => socket.clone(),
                None => agent_socket(&home)?,
            };
            let carriers = Config::load(&home)?.carrier_socket;
            let carriers = carriers.map(|socket| socket.path);
            (socket, config.clone().unwrap_or_else(beside), carriers)
        }
    };
    // Keep this process's environment for the gateway: it may name the proxies by which the gateway connects.
    let mut command = Command::new(program);
    command.arg("serve").arg("--socket").arg(socket);
    command.arg("--config").arg(gateway::whole_path(&config)?);
    if let Some(carriers) = args.carrier_socket.clone().or(carriers) {
        command.arg("--carrier-socket").arg(carriers);
    }
    Err(gateway::take_over(command))
}

pub(crate) fn token(args: &TokenArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let file = match &args.file {
        Some(file) => file.clone(),
        None => {
            let home = Home::find(home)?;
            if !matches!(args.command, TokenAction::List) {
                refuse_foreign(&home)?;
            }
            home.path().join(TOKENS)
        }
    };
    let mut command = Command::new(gateway::program()?);
    command
        .arg("token")
        .arg("--file")
        .arg(gateway::whole_path(&file)?);
    match &args.command {
        TokenAction::List => command.arg("list"),
        TokenAction::Revoke { name } => command.args(["revoke", "--"]).arg(name),
        TokenAction::Make(make) => command.args(make.words()),
    };
    // `signet-gateway token` needs nothing of the environment, which may hold secrets of this process: so give it none.
    command.env_clear();
    Err(gateway::take_over(command))
}

impl TokenMakeArgs {
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec!["make".into(), "--tier".into(), self.tier.to_string().into()];
        for peer in &self.peers {
            words.extend(["--peer".into(), peer.into()]);
        }
        let numbers = [
            ("--days", self.days),
            ("--requests-per-minute", self.requests_per_minute),
        ];
        for (option, number) in numbers {
            words.extend(
                number
                    .into_iter()
                    .flat_map(|number| [option.into(), number.to_string().into()]),
            );
        }
        if self.read {
            words.push("--read".into());
        }
        if let Some(certificate) = &self.certificate {
            words.extend(["--certificate".into(), certificate.into()]);
        }
        // `--` ends the options: otherwise a name that begins with a hyphen would be taken for an option.
        words.extend(["--".into(), OsString::from(&self.name)]);
        words
    }
}

const CONFIG: &str = "gateway.toml";
const TOKENS: &str = "gateway-tokens.toml";

const EXAMPLE: &str = "\
Programs that have a token (signet token make) speak for the agent over HTTP: by JSON-RPC at /rpc and by MCP at /mcp, \
as far as agent.sock and the token allow. It is off until gateway.toml is there; docs/gateway.md says what it may hold.

EXAMPLE:
  signet gateway
  signet gateway --config /etc/signet/gateway-alpha.toml --socket /run/signet/agent.sock";
