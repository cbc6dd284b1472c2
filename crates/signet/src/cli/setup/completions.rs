//! `signet completions`: what a shell reads to complete command lines.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::{CliError, SignetCli, print};

/// See `signet completions --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), CliError> {
    // Write the script into memory first: the generator panics if writing fails, for instance to a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut SignetCli::command(), "signet", &mut script);
    print(&String::from_utf8_lossy(&script))
}

const EXAMPLE: &str = "\
`make install` and the package put them where the shells look.

EXAMPLE:
  signet completions bash > ~/.local/share/bash-completion/completions/signet";
