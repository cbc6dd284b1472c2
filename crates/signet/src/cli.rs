//! The command line: one file a command, a folder a group of them, and what all of them share.

mod ask;
mod audit;
mod exit;
mod failure;
mod help;
mod input;
mod names;
mod pages;
mod person;
mod print;
mod refusal;
mod setup;
mod talk;
mod unread;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use exit::Exit;
pub use failure::CliError;
pub use help::defaults;
pub use person::decisions::{FetchedDraft, PersonsHome, SealedLine};

use crate::hint;
use audit::{digest, state};
use person::{alarms, drafts, key, pause, peer, policy, trust, watch};
use print::{print, visible_lines};
use setup::completions::{self, words};
use setup::{
    demo, doctor, init, install, invite, man, mcp, nats, reload, run, schema, serve, status, up,
    view,
};
use talk::{handle, handler, handoff, inbox, outbox, ping, quarantine, reply, send};

/// Reads the command line and runs what it asks for.
pub fn main() -> ExitCode {
    if let Some(words) = words::asked_for(std::env::args_os()) {
        // An error is not shown to somebody who types: there is nothing to offer then.
        let _ = words::run(&words);
        return Exit::Done.into();
    }
    // A command line that cannot be parsed is reported as JSON as well, so look for `--json` here. A `--json` behind `--` does
    // not count: it belongs to the command that `signet inbox --each` or `signet handle` runs.
    let json = std::env::args_os()
        .take_while(|arg| arg != "--")
        .any(|arg| arg == "--json");
    match parse()
        .map_err(|error| unread::unread(&error))
        .and_then(run)
    {
        Ok(()) => Exit::Done.into(),
        Err(failure) => failure.report(json),
    }
}

fn parse() -> Result<SignetCli, clap::Error> {
    let mut command = help::grouped(help::unbroken(SignetCli::command()));
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    SignetCli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn run(cli: SignetCli) -> Result<(), CliError> {
    let homes = cli.homes;
    let home = homes.first().cloned();
    // Give `hint` the home and the commands first: every error from here on prints a hint, and
    // without these two no hint could name this home.
    hint::read_at(
        read_at(home.as_deref(), &cli.command),
        verbs(&SignetCli::command()),
    );
    if homes.len() > 1 && !matches!(cli.command, SignetCommand::View(_)) {
        return Err(CliError::usage(
            "--home is given more than once",
            "name one home; signet view alone shows several",
        ));
    }
    match cli.command {
        SignetCommand::Alarms(args) => alarms::run(&args, home),
        SignetCommand::Audit(args) => audit::run(args, home),
        SignetCommand::Digest(args) => digest::run(args, home),
        SignetCommand::Prove(args) => audit::prove::run(args, home),
        SignetCommand::Up(args) => up::up(&args, home),
        SignetCommand::Uninstall(args) => up::uninstall::run(&args, home),
        SignetCommand::Down(args) => up::down(&args, home),
        SignetCommand::Invite(args) => invite::invite(&args, home),
        SignetCommand::Accept(args) => invite::accept(&args, home),
        SignetCommand::Init(args) => init::run(args, home),
        SignetCommand::Install(args) => install::run(&args),
        SignetCommand::Key(args) => key::run(args, home),
        SignetCommand::Nats(args) => nats::run(args, home),
        SignetCommand::Peer(args) => peer::run(args, home),
        SignetCommand::Run(args) => run::run(&args, home),
        SignetCommand::Reload(args) => reload::run(&args, home),
        SignetCommand::Policy(args) => policy::run(args, home),
        SignetCommand::Send(args) => send::run(args, home),
        SignetCommand::Inbox(args) => inbox::run(args, home),
        SignetCommand::Handle(args) => handle::run(&args, home),
        SignetCommand::Handler(args) => handler::run(&args, home),
        SignetCommand::Reply(args) => reply::run(args, home),
        SignetCommand::Outbox(args) => outbox::run(args, home),
        SignetCommand::Quarantine(args) => quarantine::run(args, home),
        SignetCommand::Trust(args) => trust::run(args, home),
        SignetCommand::Drafts(args) => drafts::drafts(args, home),
        SignetCommand::Approve(args) => drafts::approve(&args, home),
        SignetCommand::Pause(args) => pause::pause(&args, home, true),
        SignetCommand::Resume(args) => pause::pause(&args, home, false),
        SignetCommand::Handoff(args) => handoff::run(args, home),
        SignetCommand::Ping(args) => ping::run(args, home),
        SignetCommand::State(args) => state::run(&args, home),
        SignetCommand::Status(args) => status::run(args, home),
        SignetCommand::Schema(args) => schema::run(args),
        SignetCommand::Completions(args) => completions::run(&args),
        SignetCommand::Man(args) => man::run(&args),
        SignetCommand::Mcp(args) => mcp::run(&args, home),
        SignetCommand::Gateway(args) => serve::gateway(&args, home),
        SignetCommand::Token(args) => serve::token(&args, home),
        SignetCommand::Demo(args) => demo::run(&args),
        SignetCommand::Doctor(args) => doctor::run(&args, home),
        SignetCommand::Watch(args) => watch::run(&args, home),
        SignetCommand::View(args) => view::run(&args, homes),
    }
}

/// The home as hints name it. The hints of a daemon are read from its log, in another directory than the one it was
/// started in, so they name its home by the whole path.
fn read_at(home: Option<&Path>, command: &SignetCommand) -> Option<PathBuf> {
    let whole = |home: &Path| std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    match command {
        SignetCommand::Run(_) => home.map(whole),
        _ => home.map(Path::to_owned),
    }
}

/// Every command with its subcommands, as they are typed.
fn verbs(command: &clap::Command) -> Vec<String> {
    let each = command.get_subcommands().flat_map(|sub| {
        let name = sub.get_name().to_owned();
        let below = verbs(sub).into_iter().map(|verb| format!("{name} {verb}"));
        below.chain([name.clone()]).collect::<Vec<_>>()
    });
    each.collect()
}

/// Agents that can prove who they are, and a log that can prove what they said.
#[derive(Debug, Parser)]
#[command(name = "signet", version, after_help = after_help(), arg_required_else_help = true)]
struct SignetCli {
    /// The directory of the agent [default: $SIGNET_HOME, $XDG_DATA_HOME/signet or ~/.local/share/signet]
    #[arg(long = "home", global = true, value_name = "DIR")]
    homes: Vec<PathBuf>,
    #[command(subcommand)]
    command: SignetCommand,
}

#[derive(Debug, Subcommand)]
enum SignetCommand {
    /// Make an agent and run it: home, NATS server, mailbox and daemon
    Up(up::UpArgs),
    /// Stop what `signet up` started: the daemon, and the home's own NATS server
    Down(up::DownArgs),
    /// Print a signed line by which another person's agent meets this one
    Invite(invite::InviteArgs),
    /// Trust another person's agent by its line, once the twelve words agree
    Accept(invite::AcceptArgs),
    /// Make the keys, the certificate and the configuration of a new agent
    Init(init::InitArgs),
    /// The keys of the agent and of its person: look, rotate, revoke, carry
    Key(key::KeyArgs),
    /// The NATS server of a household: keys to log in, configuration, mailboxes
    Nats(nats::NatsArgs),
    /// The agents and people that this agent knows
    Peer(peer::PeerArgs),
    /// Trust in agents: strangers that wait, approval, withdrawal, revocation
    Trust(trust::TrustArgs),
    /// Messages of this agent that wait here before they leave, and what each waits for
    Drafts(drafts::DraftsArgs),
    /// Approve or refuse a draft, with the control key
    Approve(drafts::ApproveArgs),
    /// Pause every agent of this person: nothing is handed to them, and nothing leaves
    #[command(
        after_help = "EXAMPLE:\n  signet pause\n  signet pause --key /media/stick/control.pem"
    )]
    Pause(pause::PauseArgs),
    /// End the pause: every agent of this person goes on
    #[command(
        after_help = "EXAMPLE:\n  signet resume\n  signet resume --key /media/stick/control.pem"
    )]
    Resume(pause::PauseArgs),
    /// Alarms, which only the person can judge: list them, clear them
    Alarms(alarms::AlarmsArgs),
    /// Look at what happened and decide what waits, by pages in a browser
    View(view::ViewArgs),
    /// What waits for the person: first what stands, then what comes
    Watch(watch::WatchArgs),
    /// What each peer may send to this agent and get from it, and why
    Policy(policy::PolicyArgs),
    /// Run the daemon of the agent
    Run(run::RunArgs),
    /// Make the daemon read its configuration again, and print what changed
    Reload(reload::ReloadArgs),
    /// Send a message to a peer, and wait for what becomes of it
    Send(send::SendArgs),
    /// Messages that arrived and wait for the agent
    Inbox(inbox::InboxArgs),
    /// Handle what arrives, by a command or as a file says, in a process of its own
    Handle(handle::HandleMessagesArgs),
    /// Try a handler of the file without a peer; show what goes to and fro
    Handler(handler::HandlerArgs),
    /// Serve a client of MCP (Claude, Cursor, VS Code), without the agent's keys
    Mcp(mcp::ServeMcpArgs),
    /// Let programs with a token speak for the agent over HTTP, without its keys
    Gateway(serve::GatewayArgs),
    /// Who may do so: make tokens, list them, revoke them
    Token(serve::TokenArgs),
    /// Answer a request that waits in the inbox
    Reply(reply::ReplyArgs),
    /// Messages of this agent that have neither a receipt nor an end yet, and where each is
    Outbox(outbox::OutboxArgs),
    /// Messages whose handling failed five times: list them, try again, give up
    Quarantine(quarantine::QuarantineArgs),
    /// Hand work to a peer within limits; take work, and report on it
    Handoff(handoff::HandoffArgs),
    /// Ask a peer's daemon for a sign of life
    Ping(ping::PingArgs),
    /// Show how the daemon does, with its peers and its log; or where one message is
    Status(status::StatusArgs),
    /// Look for what is wrong with agent, home, log and NATS server, and what to do
    Doctor(doctor::DoctorArgs),
    /// The state that is made from the log (state.db): compare it, make it again
    State(state::StateArgs),
    /// Prove a log, or read it
    Audit(audit::AuditArgs),
    /// Tell what happened in a day, a week or a month, as a page to read in a minute
    Digest(digest::DigestArgs),
    /// Make a page that proves what was said to whoever opens it, or check one
    Prove(audit::prove::ProveArgs),
    /// Print the JSON Schemas of the protocol, and of the calls of the sockets
    Schema(schema::SchemaArgs),
    /// Let systemd run an agent of this machine, under a user of its own; as root
    Install(install::InstallArgs),
    /// Remove what `signet up` has made; keys and log stay unless you say so
    Uninstall(up::uninstall::UninstallArgs),
    /// Print what a shell reads to complete command lines
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write those of all commands
    Man(man::ManArgs),
    /// Watch a household meet, talk and withstand attackers
    Demo(demo::DemoArgs),
}

fn after_help() -> String {
    format!("{}\n{EXAMPLE}", exit::table())
}

const EXAMPLE: &str = "\
An error is two lines on standard error, `error: what is wrong` and `  next: what to do`; with --json one line there: \
{\"error\": {\"code\", \"name\", \"message\", \"hint\", and \"reason\" where it has a name}}.
NO_COLOR=1 turns colours off.

EXAMPLE:
  signet init --agent agent-alice-001 --principal alice";
