//! `signet nats hub`: the configuration of a hub between the servers of households, and the line for each of them.

pub(crate) mod address;
pub(crate) mod authority;
mod file;
pub(crate) mod household;
pub(crate) mod line;
mod line_files;
mod settings;

use std::path::{Path, PathBuf};

use clap::Args;

use super::conf::is_quotable;
use super::{CliError, print};
use crate::config::ReplyPrefix;
use crate::hint;
use address::HubAddress;
use file::HubFile;
use household::{HouseholdName, HubHousehold, refuse_twice};
use line_files::Lines;
use settings::HubSettings;

/// See `signet nats hub --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct HubArgs {
    /// The households of a new hub, each with its agents
    #[arg(value_name = "NAME=AGENT,AGENT", required_unless_present_any = ["add", "remove", "again"])]
    households: Vec<String>,
    /// The configuration that is made or changed
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Where households reach the hub
    #[arg(long, value_name = "HOST:PORT", required_unless_present_any = ["add", "remove", "again"])]
    address: Option<HubAddress>,
    /// The hub's certificate, PEM, which names that host: a file for nats-server
    #[arg(long, value_name = "FILE", required_unless_present_any = ["add", "remove", "again"])]
    cert: Option<String>,
    /// The key of that certificate, PEM: a file for nats-server
    #[arg(long, value_name = "FILE", required_unless_present_any = ["add", "remove", "again"])]
    key: Option<String>,
    /// The certificate of the authority that signed it, PEM; it comes into each line [default: an authority that the
    /// households' systems trust]
    #[arg(long, value_name = "FILE")]
    ca: Option<String>,
    /// Where the hub listens for households
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7422")]
    listen: HubAddress,
    /// Write shorter lists, which no household that joins changes: for agents that all have reply-prefix = "two-tokens" in [nats]
    #[arg(long)]
    two_tokens: bool,
    /// The folder that gets the secret line of each household [default: that of the configuration]
    #[arg(long, value_name = "DIR")]
    lines: Option<PathBuf>,
    /// Let a further household in; the others keep their passwords
    #[arg(long, value_name = "NAME=AGENT,AGENT", conflicts_with_all = NEW)]
    add: Vec<String>,
    /// Turn a household out
    #[arg(long, value_name = "NAME", conflicts_with_all = NEW)]
    remove: Vec<HouseholdName>,
    /// Write the line of a household once more
    #[arg(long, value_name = "NAME", conflicts_with_all = NEW)]
    again: Vec<HouseholdName>,
}

/// The arguments that only a new hub takes.
const NEW: [&str; 7] = [
    "households",
    "address",
    "cert",
    "key",
    "ca",
    "listen",
    "two_tokens",
];

pub(super) fn run(args: &HubArgs) -> Result<(), CliError> {
    if !args.households.is_empty() {
        return make(args);
    }
    let file = HubFile::open(&args.file)?;
    let mut settings = file.settings()?;
    for name in &args.remove {
        let before = settings.households.len();
        settings.households.retain(|one| one.name != *name);
        if settings.households.len() == before {
            return Err(unknown(&args.file, name, &settings));
        }
    }
    let added = all_of(&args.add)?;
    let mut told: Vec<HouseholdName> = added.iter().map(|one| one.name.clone()).collect();
    settings.households.extend(added);
    if settings.households.is_empty() {
        let next = "stop the hub instead: a configuration without households would ask nobody for a password";
        return Err(CliError::usage("no household would be left", next));
    }
    refuse_twice(&settings.households)?;
    for name in &args.again {
        if !settings.households.iter().any(|one| one.name == *name) {
            return Err(unknown(&args.file, name, &settings));
        }
        told.push(name.clone());
    }
    let lines = Lines::of(args, &settings, &told)?;
    let is_changed = !(args.add.is_empty() && args.remove.is_empty());
    if is_changed {
        file.replace(&settings)?;
        print(&format!("hub      {}\n", changed(args, &settings)))?;
    }
    lines.write()?;
    for file in line_files::left_behind(args, &settings) {
        print(&format!(
            "line     {}: of a household that is out; it may go: rm {}\n",
            file.display(),
            hint::word(&file)
        ))?;
    }
    if !args.add.is_empty() {
        print(needed(&settings))?;
    }
    match is_changed {
        true => print(&restart(&settings, &args.file)),
        false => Ok(()),
    }
}

fn make(args: &HubArgs) -> Result<(), CliError> {
    file::refuse_existing(&args.file)?;
    let path = |option: &str, path: &str| match is_quotable(path) {
        true => Ok(path.to_owned()),
        false => Err(CliError::usage(
            format!("{option}: a NATS server cannot be told of this path"),
            "name a file without quotes, \\ and $",
        )),
    };
    let pid = args.file.with_extension("pid");
    let settings = HubSettings {
        address: args
            .address
            .clone()
            .ok_or_else(|| CliError::usage("the hub has no address", "--address HOST:PORT"))?,
        authority: args
            .ca
            .as_deref()
            .map(|file| path("--ca", file))
            .transpose()?,
        pid: path("--file", &pid.to_string_lossy())?,
        replies: match args.two_tokens {
            true => ReplyPrefix::TwoTokens,
            false => ReplyPrefix::OneToken,
        },
        listen: args.listen.clone(),
        certificate: path("--cert", args.cert.as_deref().unwrap_or_default())?,
        key: path("--key", args.key.as_deref().unwrap_or_default())?,
        households: all_of(&args.households)?,
    };
    refuse_twice(&settings.households)?;
    let names = settings.households.iter().map(|one| one.name.clone());
    let names: Vec<HouseholdName> = names.collect();
    let lines = Lines::of(args, &settings, &names)?;
    file::create(&args.file, &settings)?;
    print(&format!(
        "hub      {}: {}\n",
        args.file.display(),
        counted(&settings)
    ))?;
    lines.write()?;
    print(needed(&settings))?;
    let conf = hint::word(&args.file);
    print(&format!(
        "next     nats-server -c {conf}  # in this folder\n"
    ))
}

fn all_of(texts: &[String]) -> Result<Vec<HubHousehold>, CliError> {
    texts.iter().map(|text| HubHousehold::new(text)).collect()
}

/// The setting that the households' agents need for the lists of the hub.
const fn needed(settings: &HubSettings) -> &'static str {
    match settings.replies {
        ReplyPrefix::OneToken => "",
        ReplyPrefix::TwoTokens => {
            "agents   each has reply-prefix = \"two-tokens\" in the [nats] of its config.toml\n"
        }
    }
}

fn counted(settings: &HubSettings) -> String {
    match settings.households.len() {
        1 => "1 household".to_owned(),
        count => format!("{count} households"),
    }
}

fn changed(args: &HubArgs, settings: &HubSettings) -> String {
    format!("{}: {}", args.file.display(), counted(settings))
}

fn unknown(file: &Path, name: &HouseholdName, settings: &HubSettings) -> CliError {
    let names = settings.households.iter().map(|one| one.name.as_str());
    let names: Vec<&str> = names.collect();
    CliError::usage(
        format!("{} has no household {name}", file.display()),
        format!("name one of these: {}", names.join(", ")),
    )
}

/// A server that reads its configuration again keeps the connections that it has, with the lists that they began with: so it
/// is ended and started.
fn restart(settings: &HubSettings, file: &Path) -> String {
    format!(
        "next     nats-server --signal quit={}  # ends the hub; then start it again: nats-server -c {}. It goes by its old lists \
         until then, also after a reload\n",
        hint::word(Path::new(&settings.pid)),
        hint::word(file)
    )
}

const EXAMPLE: &str = "\
Each household gets a file NAME.line (0600) with one line: the hub's address, the household's name, its agents, its password and the
authority's certificate. Whoever has the line reads the mail of that household at the hub and sends as it: hand it over in a way that
nobody else reads, such as a stick or an encrypted mail, and remove the file. There, signet up --join @NAME.line uses it. The
configuration holds all passwords; --again NAME writes a line once more.

The hub knows its households by the configuration alone. After --add or --remove it has to be started again, since a reload leaves
connections with the lists that they began with; households connect by themselves within seconds, and no mail is lost.

EXAMPLE:
  signet nats hub --file hub.conf --address hub.example:7422 --cert hub.pem --key hub-key.pem --ca hub-ca.pem \\
    house-one=agent-alice-001,agent-al-001 house-two=agent-bob-001
  signet nats hub --file hub.conf --add house-three=agent-carol-001
  signet nats hub --file hub.conf --remove house-two";
