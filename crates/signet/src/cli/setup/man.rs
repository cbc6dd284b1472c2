//! `signet man`: the manual pages, one for each command, out of what `--help` says.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::Roff;

use crate::cli::{CliError, SignetCli, help, print};

/// See `signet man --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ManArgs {
    /// A directory for the pages of all commands [default: signet(1) goes to standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs) -> Result<(), CliError> {
    let mut whole = help::unbroken(SignetCli::command()).disable_help_subcommand(true);
    // `build` gives each command its whole name and the options that all of them share: without it, the pages would lack both.
    whole.build();
    let Some(dir) = &args.out else {
        return print(&String::from_utf8_lossy(&page(whole).1));
    };
    std::fs::create_dir_all(dir).map_err(|error| not_written(dir, &error))?;
    write(whole, dir)
}

fn write(mut command: Command, dir: &Path) -> Result<(), CliError> {
    let below: Vec<Command> = command
        .get_subcommands_mut()
        .map(|sub| sub.clone())
        .collect();
    let (file, text) = page(command);
    let path = dir.join(file);
    std::fs::write(&path, text).map_err(|error| not_written(&path, &error))?;
    below.into_iter().try_for_each(|sub| write(sub, dir))
}

/// The file's name and the text. The text after the options holds tables and commands, which keep their lines.
fn page(command: Command) -> (String, Vec<u8>) {
    let tail = command.get_after_help().map(ToString::to_string);
    let name = command.get_display_name().unwrap_or("signet").to_owned();
    let has_commands = command.has_subcommands();
    // The page's footer shows the version of the program, because a single command has no version of its own.
    let man = Man::new(command.display_name(&name).after_help(""))
        .title(&name)
        .source(concat!("signet ", env!("CARGO_PKG_VERSION")))
        .manual("signet");
    let file = man.get_filename();
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = rendered(&man, has_commands, &mut text);
    let _ = sections(&tail.unwrap_or_default()).to_writer(&mut text);
    (file, text)
}

fn rendered(man: &Man, has_commands: bool, text: &mut Vec<u8>) -> io::Result<()> {
    man.render_title(text)?;
    man.render_name_section(text)?;
    man.render_synopsis_section(text)?;
    man.render_description_section(text)?;
    man.render_options_section(text)?;
    if has_commands {
        man.render_subcommands_section(text)?;
    }
    Ok(())
}

/// A line in capitals that ends in a colon is a heading; lines that are set in stay as they are.
fn sections(tail: &str) -> Roff {
    let mut roff = Roff::new();
    if !tail.is_empty() && !tail.lines().next().is_some_and(is_heading) {
        roff.control("SH", ["NOTES"]);
    }
    let mut is_verbatim = false;
    for line in tail.lines() {
        let is_set_in = line.starts_with(' ');
        if is_set_in != is_verbatim && !line.is_empty() {
            roff.control(if is_set_in { "nf" } else { "fi" }, []);
            is_verbatim = is_set_in;
        }
        if is_heading(line) {
            roff.control("SH", [line.trim_end_matches(':')]);
        } else if line.is_empty() {
            roff.control("PP", []);
        } else {
            roff.text([clap_mangen::roff::roman(
                line.strip_prefix("  ").unwrap_or(line),
            )]);
        }
    }
    if is_verbatim {
        roff.control("fi", []);
    }
    roff
}

fn is_heading(line: &str) -> bool {
    line.strip_suffix(':').is_some_and(|words| {
        words.starts_with(char::is_uppercase) && !words.contains(char::is_lowercase)
    })
}

fn not_written(path: &Path, error: &io::Error) -> CliError {
    let what = format!("{} cannot be written: {error}", path.display());
    CliError::file(
        error,
        what,
        "name a directory with --out that you may write to",
    )
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet man | man -l -
  signet man --out ~/.local/share/man/man1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_lines_and_a_line_that_begins_with_a_dot_is_no_command_of_the_page() {
        let page = sections("Prose.\n\nEXIT CODES:\n  0  done\n  .so /etc/passwd\n").to_roff();
        let (_, table) = page.split_once(".SH \"EXIT CODES\"\n.nf\n").unwrap();
        assert!(page.contains(".SH NOTES\n"), "{page}");
        assert!(table.starts_with("0  done\n\\&.so"), "{page}");
        assert!(table.trim_end().ends_with(".fi"), "{page}");
    }
}
