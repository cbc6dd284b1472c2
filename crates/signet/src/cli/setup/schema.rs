//! `signet schema`.

use clap::Args;
use signet_proto::schema;

use crate::cli::{CliError, print};

/// See `signet schema --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet schema message > message.schema.json")]
pub(crate) struct SchemaArgs {
    /// Which schema; without it their names are listed
    name: Option<String>,
}

pub(crate) fn run(args: SchemaArgs) -> Result<(), CliError> {
    let names: Vec<&str> = schema::ALL.iter().map(|(name, _)| *name).collect();
    let names = [names, vec![API]].concat();
    let Some(name) = args.name else {
        return print(&format!("{}\n", names.join("\n")));
    };
    let unknown = || {
        CliError::usage(
            format!("no schema {name:?}"),
            format!("one of: {}", names.join(", ")),
        )
    };
    if name == API {
        return print(signet_api::SCHEMA);
    }
    let text = schema::text(&name).ok_or_else(unknown)?;
    print(text)
}

/// The schema of the calls on the sockets; the other schemas are of the wire and the log.
const API: &str = "api";
