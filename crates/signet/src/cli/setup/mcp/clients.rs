//! `signet mcp --install`: the configuration of the clients that start the gateway.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use signet_files::replace;

use super::ServeMcpArgs;
use super::document::{Added, DocumentFault, with_server};
use crate::cli::{CliError, Exit, print};
use crate::programs::settings_dir;

/// A client whose configuration is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum McpClient {
    /// Claude Code: .mcp.json in this directory
    Claude,
    /// Claude Desktop: claude_desktop_config.json under $XDG_CONFIG_HOME/Claude or ~/.config/Claude
    ClaudeDesktop,
    /// Cursor: .cursor/mcp.json in this directory
    Cursor,
    /// Visual Studio Code: .vscode/mcp.json in this directory
    Vscode,
}

/// How a client starts the gateway.
#[derive(Serialize)]
pub(super) struct GatewayStart {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    command: String,
    args: Vec<String>,
}

impl GatewayStart {
    /// # Errors
    /// Where a path is no text, as JSON asks for.
    pub(super) fn new(program: PathBuf, words: Vec<OsString>) -> Result<Self, CliError> {
        let text = |word: OsString| {
            word.into_string().map_err(|word| {
                let what = format!("{} is no text that JSON can hold", word.display());
                CliError::usage(what, "choose a path of UTF-8")
            })
        };
        let args: Result<Vec<String>, CliError> = words.into_iter().map(text).collect();
        Ok(Self {
            transport: None,
            command: text(program.into())?,
            args: args?,
        })
    }
}

/// Writes or prints the configuration of `client`.
pub(super) fn install(
    client: McpClient,
    args: &ServeMcpArgs,
    started: GatewayStart,
) -> Result<(), CliError> {
    let started = GatewayStart {
        transport: (client == McpClient::Vscode).then_some("stdio"),
        ..started
    };
    let entry = serde_json::to_string_pretty(&started);
    let entry = entry.map_err(|error| CliError::new(Exit::Fault, error, "tell the maintainers"))?;
    let section = client.section();
    if args.print {
        let text = with_server("", section, &args.name, &entry);
        return match text {
            Ok(Added::Text(text)) => print(&text),
            _ => Err(CliError::new(
                Exit::Fault,
                "an empty document takes no server",
                "tell the maintainers",
            )),
        };
    }
    let file = match &args.file {
        Some(file) => file.clone(),
        None => client.file()?,
    };
    let before = read(&file)?;
    match with_server(
        before.as_deref().unwrap_or_default(),
        section,
        &args.name,
        &entry,
    ) {
        Ok(Added::Text(text)) => {
            if fs::metadata(&file).is_ok_and(|there| there.permissions().readonly()) {
                // `write` would replace a read-only file without an error: stop here, because somebody made the file
                // read-only on purpose.
                let read_only = io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only");
                return Err(unwritten(&file, &read_only));
            }
            write(&file, &text).map_err(|error| unwritten(&file, &error))?;
            print(&format!(
                "{} starts this agent as \"{}\"; restart the client\n",
                file.display(),
                args.name
            ))
        }
        Ok(Added::Already) => print(&format!(
            "{} starts this agent as \"{}\" already\n",
            file.display(),
            args.name
        )),
        Err(unfit) => Err(refused(&file, &args.name, &unfit)),
    }
}

impl McpClient {
    /// Under which name its document lists servers.
    const fn section(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Claude | Self::ClaudeDesktop | Self::Cursor => "mcpServers",
        }
    }

    /// The file where this client usually keeps its settings.
    fn file(self) -> Result<PathBuf, CliError> {
        Ok(match self {
            Self::Claude => PathBuf::from(".mcp.json"),
            Self::Cursor => PathBuf::from(".cursor/mcp.json"),
            Self::Vscode => PathBuf::from(".vscode/mcp.json"),
            Self::ClaudeDesktop => settings()?.join("Claude/claude_desktop_config.json"),
        })
    }
}

fn settings() -> Result<PathBuf, CliError> {
    settings_dir().ok_or_else(|| {
        let what = "neither XDG_CONFIG_HOME nor HOME says where the client keeps its settings";
        CliError::usage(what, "name the file with --file")
    })
}

fn read(file: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let what = format!("{}: {error}", file.display());
            let next = "name another file with --file, or add it yourself: --print shows it";
            Err(CliError::usage(what, next))
        }
    }
}

/// Writes a new file beside the old one, then renames it: a reader sees either of them whole.
fn write(file: &Path, text: &str) -> io::Result<()> {
    // If the file is a link, replace the file that it points to, so that the link stays.
    let file = match file.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(file)?,
        Err(error) => return Err(error),
    };
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = folder.join(name);
    replace(
        &file,
        &beside,
        // A new file gets the mode that the umask leaves, as any file that this user makes: it
        // holds no secret. An existing file keeps its mode.
        0o666,
        text.as_bytes(),
        |new| match fs::metadata(&file) {
            Ok(old) => new.set_permissions(old.permissions()),
            Err(_) => Ok(()),
        },
    )
}

fn unwritten(file: &Path, error: &io::Error) -> CliError {
    let what = format!("{} cannot be written: {error}", file.display());
    CliError::file(
        error,
        what,
        "name another file with --file, or add it yourself: --print shows it",
    )
}

fn refused(file: &Path, name: &str, unfit: &DocumentFault) -> CliError {
    let what = format!("{}: {unfit}; it stays as it is", file.display());
    let next = match unfit {
        DocumentFault::Taken => {
            format!("give this one another name than {name} with --name, or remove the other")
        }
        DocumentFault::NoJson(_) | DocumentFault::NoObject | DocumentFault::NoSection(_) => {
            "mend the file, or add it yourself: --print shows it".to_owned()
        }
    };
    CliError::usage(what, next)
}
