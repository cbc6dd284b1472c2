//! The command line: which protocol to speak, and at which socket.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use crate::config::GatewayConfig;
use crate::doors::mcp::server;
use crate::handle::Handlers;
use crate::say::{NO_ROOM, REFUSED, failed, told};
use crate::tokens::{self, TokenFileCommand};
use crate::{handle, pages, serve};

/// Reads the command line and serves until the client goes, or somebody asks it to end.
pub fn main() -> ExitCode {
    let cli = match GatewayCli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unread(&error),
    };
    let args = match cli.command {
        GatewayCommand::Mcp(args) => args,
        GatewayCommand::Serve(args) => return serve::serve(&args),
        GatewayCommand::Token { file, command } => return token(&file, &command),
        GatewayCommand::Handle(args) => return handle::handle(&args),
        GatewayCommand::Handler { command } => return handle::handler(&command),
        GatewayCommand::Check { config, handlers } => {
            return check(config.as_deref(), handlers.as_deref());
        }
        GatewayCommand::Man { out } => return pages::man(GatewayCli::command(), &out),
        GatewayCommand::Completions { shell } => {
            return pages::completions(GatewayCli::command(), shell);
        }
    };
    match mcp(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, REFUSED),
    }
}

/// Answers a command line that cannot be read with an error of two lines, as all errors have, and one that asks for help
/// with the help.
fn unread(error: &clap::Error) -> ExitCode {
    let wants_help =
        !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if wants_help {
        error.exit();
    }
    let text = error.to_string();
    let said: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    let said = said
        .iter()
        .map(|line| line.trim())
        .collect::<Vec<_>>()
        .join(" ");
    let what = said.strip_prefix("error: ").unwrap_or(&said);
    failed(
        &told(
            what,
            "signet-gateway --help shows the commands, and COMMAND --help the form of each argument",
        ),
        USAGE,
    )
}

fn check(config: Option<&Path>, handlers: Option<&Path>) -> ExitCode {
    let config = match config.map(GatewayConfig::load).transpose() {
        Ok(config) => config,
        Err(fault) => return failed(&told(&fault.to_string(), &fault.next()), USAGE),
    };
    if let Some(Err(fault)) = handlers.map(Handlers::load) {
        return failed(&told(&fault.to_string(), &fault.next()), USAGE);
    }
    if let Some(words) = config.as_ref().and_then(GatewayConfig::numbers) {
        // If standard output is closed, there is nobody left to tell.
        let _ = std::io::Write::write_all(&mut std::io::stdout(), words.as_bytes());
    }
    ExitCode::SUCCESS
}

fn token(file: &Path, command: &TokenFileCommand) -> ExitCode {
    match tokens::command(command, file) {
        Ok(text) => match std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(
                &told(&error.to_string(), "let it print where something reads"),
                REFUSED,
            ),
        },
        Err(fault) => failed(&told(&fault.to_string(), &fault.next()), REFUSED),
    }
}

/// Lets programs that speak a foreign protocol use an agent, without its keys.
#[derive(Debug, Parser)]
#[command(name = "signet-gateway", version, arg_required_else_help = true)]
struct GatewayCli {
    #[command(subcommand)]
    command: GatewayCommand,
}

#[derive(Debug, Subcommand)]
enum GatewayCommand {
    /// Serve one client of the Model Context Protocol, on standard input and output
    Mcp(McpStdioArgs),
    /// Let programs speak for the agent over HTTP, as a file says
    Serve(serve::ServeArgs),
    /// Who may do so: make, list and revoke tokens
    Token {
        /// The file of the tokens
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
        #[command(subcommand)]
        command: TokenFileCommand,
    },
    /// Handle what comes to the agent, as a file says
    Handle(handle::HandlersArgs),
    /// Try one handler of a file, or look at what goes to and fro
    Handler {
        #[command(subcommand)]
        command: handle::HandlerCommand,
    },
    /// Read the files of the gateway and of the handlers, as a start would, and say what is wrong
    #[command(hide = true)]
    Check {
        /// What the gateway does
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Which capability is handled by what
        #[arg(long, value_name = "FILE")]
        handlers: Option<PathBuf>,
    },
    /// Write the manual pages, one for each command
    Man {
        /// The directory for them
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Print what a shell reads to complete command lines
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
struct McpStdioArgs {
    /// The agent's socket (agent.sock), as `signet mcp` finds it
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// The highest data tier that is sent and shown: what the client reads, its model's provider may read
    #[arg(long, value_name = "TIER", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: u8,
}

fn mcp(args: &McpStdioArgs) -> Result<(), String> {
    // One client needs no more than one thread.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|error| told(&error.to_string(), NO_ROOM))?;
    let served = runtime.block_on(async {
        let no_room = |error: std::io::Error| told(&error.to_string(), NO_ROOM);
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_room)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(no_room)?;
        tokio::select! {
            // The error may quote what the client sent, which belongs in no log: print a fixed text instead.
            served = server::serve(&args.socket, args.tier) => served.map_err(|_| told(NO_CLIENT, TRY_AGAIN)),
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
        }
    });
    // A thread of the runtime may still be reading standard input: to wait for that thread would keep the process alive until
    // the client closes its end.
    runtime.shutdown_background();
    served
}

const NO_CLIENT: &str = "the client and the gateway could not agree on how to begin";
const TRY_AGAIN: &str = "let a client of MCP start it, with standard input and output for it alone";
const USAGE: u8 = 2;
