//! `signet completions`: what a shell reads to complete command lines.
//!
//! The generator's script completes commands, options and their values. Around it stand a few lines for each shell that ask this
//! program for the names of peers, drafts and messages ([`words`]); where it gives none, the generator's script has its way.

pub(crate) mod words;

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
    let script = String::from_utf8_lossy(&script);
    print(&match args.shell {
        Shell::Bash => format!("{script}{BASH}"),
        Shell::Fish => format!("{script}{FISH}"),
        // The last lines of the script say which function completes: the one below does, and asks theirs.
        Shell::Zsh => match script.rfind("\nif [ \"$funcstack[1]\" = \"_signet\" ]") {
            Some(end) => format!("{}{ZSH}", script.get(..end).unwrap_or_default()),
            None => script.into_owned(),
        },
        _ => script.into_owned(),
    })
}

// Each asks the `signet` that the shell finds, and not the word that was typed: nobody who only types runs a program.

const BASH: &str = r#"
_signet_words() {
    local names
    names=$(command signet complete-words -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
    if [[ -n $names ]]; then
        local IFS=$'\n'
        COMPREPLY=($names)
    else
        _signet "$@"
    fi
}
complete -F _signet_words -o bashdefault -o default signet
"#;

const FISH: &str = r#"
function __signet_words
    command signet complete-words -- (commandline -opc) (commandline -ct) 2>/dev/null
end
complete -c signet -a '(__signet_words)'
"#;

const ZSH: &str = r#"
_signet_words() {
    local -a names
    names=(${(f)"$(command signet complete-words -- "${(@)words[1,CURRENT]}" 2>/dev/null)"})
    if (( $#names )); then
        compadd -a names
    else
        _signet "$@"
    fi
}

compdef _signet_words signet
if [ "$funcstack[1]" = "_signet" ]; then
    _signet_words "$@"
fi
"#;

const EXAMPLE: &str = "\
With bash, zsh and fish the names of peers, drafts, messages and tasks are completed, too, while the daemon runs. `make install` \
and the package put the scripts where the shells look.

EXAMPLE:
  signet completions bash > ~/.local/share/bash-completion/completions/signet";
