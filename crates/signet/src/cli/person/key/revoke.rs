//! `signet key revoke`: a root-signed statement that an agent's certificates are good no more.

use std::path::{Path, PathBuf};

use clap::Args;
use signet_api::TakeRevocation;
use signet_proto::ids::{AgentId, PrincipalId};
use signet_proto::statement::Revocation;

use super::{CliError, json_line, open, print};
use crate::cli::ask::daemon_at;
use crate::clock;
use crate::files::private;
use crate::hint::word;
use crate::home::Home;
use crate::keystore::read_signing_key;

/// See `signet key revoke --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct RevokeArgs {
    /// The agent [default: that of this home]
    #[arg(long, value_name = "ID", requires = "serial")]
    agent: Option<AgentId>,
    /// Its certificates up to this serial [default: the present one of this home]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    serial: Option<u64>,
    /// Why, for people: 1 to 200 characters
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The person's root key
    #[arg(long, value_name = "FILE")]
    root: PathBuf,
    /// Write the statement to this new file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The person, on a machine without a home of theirs
    #[arg(long, value_name = "ID", requires = "agent")]
    principal: Option<PrincipalId>,
}

pub(super) fn run(args: RevokeArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let root = read_signing_key(&args.root)?;
    let (principal, agent, serial, socket) = match (args.principal, args.agent, args.serial) {
        (Some(principal), Some(agent), Some(serial)) => (principal, agent, serial, None),
        (_, agent, serial) => {
            let (config, keys) = open(&Home::find(home)?)?;
            let own = keys.certificate;
            // Refuse any root key but that of the agent's certificate, which peers know: a revocation by a key that they do
            // not know would revoke nothing, and the person would believe that it did.
            if *root.public() != own.root {
                let path = args.root;
                return Err(crate::keystore::KeystoreError::OtherRoot(path).into());
            }
            let serial = serial.unwrap_or(own.serial);
            let agent = agent.unwrap_or(own.agent);
            (own.principal, agent, serial, Some(config.control_socket))
        }
    };
    let statement = Revocation::sign(
        &principal,
        &agent,
        serial,
        &args.reason,
        clock::now(),
        &root,
    );
    let statement = statement
        .map_err(|error| CliError::usage(error, "give a --reason of 1 to 200 characters"))?;
    let text = json_line(&statement.to_value());
    // Write the revocation down before the daemon is told: whatever the daemon answers, the person needs it for peers
    // whom the daemon cannot reach.
    let file = match &args.out {
        Some(out) => {
            private::create(out, text.as_bytes())?;
            print(&format!(
                "the revocation of {agent} up to serial {serial} is in {}\n",
                out.display()
            ))?;
            out.display().to_string()
        }
        None => {
            print(&text)?;
            "FILE".to_owned()
        }
    };
    let is_of_home = socket.is_some();
    let told = socket.map_or(Ok(false), |socket| tell_daemon(&socket, &statement, &file))?;
    if args.out.is_none() {
        return Ok(());
    }
    let file = word(Path::new(&file));
    let here = match (told, is_of_home) {
        (true, _) => "The running daemon has it, and tells its peers.\n".to_owned(),
        (false, true) => format!(
            "No daemon runs here, and this home has to hear of it, too:\n  next: signet trust revoke --statement {file}\n"
        ),
        (false, false) => String::new(),
    };
    print(&format!(
        "{here}To everybody whom the daemon does not reach, carry the file; they type:\n  \
         signet trust revoke --statement {file}\n"
    ))
}

/// Tells the daemon of the revocation; false where none runs.
fn tell_daemon(socket: &Path, statement: &Revocation, file: &str) -> Result<bool, CliError> {
    let Some(mut client) = daemon_at(socket)? else {
        return Ok(false);
    };
    let statement = statement.to_value();
    match client.call(&TakeRevocation { statement }) {
        Ok(_) => Ok(true),
        Err(error) => Err(CliError::refused(
            format!("the statement is made, but the running daemon did not take it: {error}"),
            format!(
                "signet trust revoke --statement {}  # gives it to the daemon again",
                word(Path::new(file))
            ),
        )),
    }
}

const EXAMPLE: &str = "\
A revocation cannot be taken back. The agent goes on only with a certificate of a higher serial:
signet key rotate signing.

EXAMPLE:
  signet key revoke --reason 'laptop stolen' --root root.pem --out revocation.json
  signet key revoke --agent agent-alice-002 --serial 1770570000 --principal alice \\
      --reason 'laptop stolen' --root root.pem --out revocation.json";
