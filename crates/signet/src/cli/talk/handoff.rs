//! `signet handoff …`: give work to a peer, take it, say how it goes, and see who gave what to whom.

mod send;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use signet_api::{
    AcceptTask, DecidedTask, DeclineTask, ListTasks, ReportState, ReportTask, Request, ShowTask,
};

use crate::cli::ask::{ask, change, connect};
use crate::cli::input::CommandInput;
use crate::cli::print::{print_as, print_each_as, print_json};
use crate::cli::{CliError, names, print};

/// See `signet handoff --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct HandoffArgs {
    #[command(subcommand)]
    command: HandoffCommand,
}

#[derive(Debug, Subcommand)]
enum HandoffCommand {
    /// Hand work to a peer, within limits
    #[command(after_help = send::after_help())]
    Send(send::HandoffSendArgs),
    /// Take a task that was offered
    #[command(
        after_help = "EXAMPLE:\n  signet handoff accept 0192f0c1-0000-7000-8000-000000000000"
    )]
    Accept(TaskArgs),
    /// Decline a task that was offered, and say why
    #[command(
        after_help = "EXAMPLE:\n  signet handoff decline 0192f0c1-0000-7000-8000-000000000000 --why 'no calendar here'"
    )]
    Decline {
        #[command(flatten)]
        task: TaskArgs,
        /// The reason, for the giver's agent and person; - reads it from standard input, @FILE from a file
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Tell the giver how a task goes
    #[command(
        after_help = "EXAMPLE:\n  signet handoff report 0192f0c1-0000-7000-8000-000000000000 working\n  signet handoff report 0192f0c1-0000-7000-8000-000000000000 completed --result '{\"evening\": \"Tue\"}'"
    )]
    Report(ReportArgs),
    /// List the tasks given to this agent and by it, the newest first
    #[command(after_help = "EXAMPLE:\n  signet handoff list")]
    List {
        /// Print each as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one task: who gave it to whom, within which limits, and what can follow
    #[command(after_help = "EXAMPLE:\n  signet handoff show 0192f0c1-0000-7000-8000-000000000000")]
    Show(TaskArgs),
}

#[derive(Debug, Args)]
struct TaskArgs {
    /// The task, as signet handoff list shows it, or as much of its id as is unambiguous
    #[arg(value_name = "TASK")]
    task: String,
    /// Print the task as one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ReportArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// Where it is now
    #[arg(value_name = "STATE")]
    state: ReportWord,
    /// For people, at most 500 characters; - reads it from standard input, @FILE from a file
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// What came of it; - reads it from standard input, @FILE from a file
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
}

/// What a person types for a [`ReportState`].
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReportWord {
    Working,
    Completed,
    Failed,
    Returned,
}

impl From<ReportWord> for ReportState {
    fn from(now: ReportWord) -> Self {
        match now {
            ReportWord::Working => Self::Working,
            ReportWord::Completed => Self::Completed,
            ReportWord::Failed => Self::Failed,
            ReportWord::Returned => Self::Returned,
        }
    }
}

pub(crate) fn run(args: HandoffArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    match args.command {
        HandoffCommand::Send(args) => send::run(&args, home),
        HandoffCommand::Accept(args) => decide(home, &args, |task| AcceptTask { task }),
        HandoffCommand::Decline { task: args, why } => {
            let why = CommandInput::default().words(&why)?;
            decide(home, &args, |task| DeclineTask { task, why })
        }
        HandoffCommand::Report(args) => {
            let mut input = CommandInput::default();
            let result = args.result.as_deref().map(|result| input.json(result));
            let result = result.transpose()?;
            let note = args.note.as_deref().map(|note| input.words(note));
            let (state, note) = (args.state.into(), note.transpose()?);
            decide(home, &args.task, |task| ReportTask {
                task,
                state,
                note,
                result,
            })
        }
        HandoffCommand::List { json } => {
            let tasks = ask(home, &ListTasks {})?.tasks;
            print_each_as(json, &tasks, || show::list(&tasks))
        }
        HandoffCommand::Show(TaskArgs { task, json }) => {
            let mut client = connect(home, Duration::ZERO)?;
            let task = names::task(&mut client, &task)?;
            let shown = client.call(&ShowTask { task })?;
            print_as(json, &shown, || show::page(&shown))
        }
    }
}

fn decide<R: Request<Answer = DecidedTask>>(
    home: Option<PathBuf>,
    args: &TaskArgs,
    request: impl FnOnce(String) -> R,
) -> Result<(), CliError> {
    let mut client = connect(home, Duration::ZERO)?;
    let task = names::task(&mut client, &args.task)?;
    let decided = change(&mut client, &request(task))?;
    if args.json {
        return print_json(&decided);
    }
    let task = &decided.task.task;
    print(&format!(
        "task {} is {}; {} is told\n  next: {}\n",
        task.task,
        task.state.as_str(),
        task.peer,
        task.next,
    ))
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet handoff send agent-bob-001 --goal 'Find an evening for dinner' --capability calendar.read
  signet handoff list";
