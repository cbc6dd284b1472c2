//! `signet mcp`: lets a client of the Model Context Protocol use the agent. What speaks that protocol is another
//! program, `signet-gateway`, which takes the place of this one: it never shares memory with keys.

mod clients;
mod document;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::cli::{CliError, setup::gateway};
use crate::config::Config;
use crate::hint::DaemonKeeper;
use crate::home::Home;
use clients::{GatewayStart, McpClient};

/// See `signet mcp --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ServeMcpArgs {
    /// The agent's socket, where the client may not read the home; that of the home's configuration when absent
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The highest data tier that is sent and shown: what the client reads, its model's provider may read
    #[arg(long, value_name = "TIER", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: u8,
    /// Write the configuration of this client, so that it starts this command by itself
    #[arg(long, value_name = "CLIENT")]
    install: Option<McpClient>,
    /// The client's file, where it is another than the usual one
    #[arg(long, value_name = "FILE", requires = "install")]
    file: Option<PathBuf>,
    /// What the client calls the agent
    #[arg(
        long,
        value_name = "NAME",
        default_value = "signet",
        requires = "install"
    )]
    name: String,
    /// Print the configuration instead of writing it
    #[arg(long, requires = "install")]
    print: bool,
}

pub(crate) fn run(args: &ServeMcpArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let gateway = gateway::program()?;
    let (socket, option, place) = match &args.socket {
        Some(socket) => (socket.clone(), "--socket", socket.clone()),
        None => {
            let home = Home::find(home)?;
            (agent_socket(&home)?, "--home", home.path().to_owned())
        }
    };
    if let Some(client) = args.install {
        let started = started_by_a_client(args, option, &place)?;
        return clients::install(client, args, started);
    }
    // The gateway gets standard input and output, the path of a socket and the tier, and needs nothing else. This process's
    // environment may hold secrets: so give it none.
    let mut command = Command::new(gateway);
    command.arg("mcp").arg("--socket").arg(socket);
    command.args(["--tier", &args.tier.to_string()]).env_clear();
    Err(gateway::take_over(command))
}

/// The person's own socket is never a model's.
pub(crate) fn agent_socket(home: &Home) -> Result<PathBuf, CliError> {
    let config = Config::load(home)?;
    let socket = config.agent_socket.map(|socket| socket.path);
    socket.ok_or_else(|| {
        let what = "this agent has no socket of its own: the path of its home is too long for one";
        // The agent has no socket yet, and a reload opens none: only a start of the daemon does. So name the command that
        // restarts it.
        let restart = DaemonKeeper::of(home.path()).restart();
        let next = format!("set `socket` under [agent-socket] in config.toml, then: {restart}");
        CliError::usage(what, next)
    })
}

/// The command by which a client starts this one, whatever its working directory.
fn started_by_a_client(
    args: &ServeMcpArgs,
    option: &str,
    place: &Path,
) -> Result<GatewayStart, CliError> {
    let place = gateway::whole_path(place)?;
    let mut words: Vec<OsString> = vec!["mcp".into(), option.into(), place.into()];
    if args.tier != 2 {
        words.extend(["--tier".into(), args.tier.to_string().into()]);
    }
    GatewayStart::new(gateway::this_program()?, words)
}

const EXAMPLE: &str = "\
A client of MCP starts this command and speaks to it on standard input and output; the daemon has to run. The client \
gets what agent.sock allows and no more: it decides nothing for you. docs/mcp.md says what the tools are, and what a \
model that reads other people's mail may be talked into.

EXAMPLE:
  signet mcp --install claude
  signet mcp --install vscode --print
  signet mcp --socket /run/signet/agent-alice-001/agent.sock";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_agents_socket_is_told_a_step_that_opens_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a".repeat(100));
        std::fs::create_dir(&path).unwrap();
        let home = Home::at(&path);
        let text =
            "[agent]\nagent = \"agent-a\"\nprincipal = \"a\"\n[control]\nsocket = \"/a.sock\"\n";
        std::fs::write(home.config_file(), text).unwrap();
        let CliError::Told { next, .. } = agent_socket(&home).unwrap_err() else {
            panic!("it is told what to do");
        };
        // A reload leaves [agent-socket] as it was, so the hint has to name the restart.
        let restart = DaemonKeeper::of(&path).restart();
        assert!(
            next.ends_with(&restart) && !next.contains("reload"),
            "{next}"
        );
        let more = "[agent-socket]\nsocket = \"/b.sock\"\n";
        std::fs::write(home.config_file(), format!("{text}{more}")).unwrap();
        assert_eq!(agent_socket(&home).unwrap(), Path::new("/b.sock"));
    }
}
