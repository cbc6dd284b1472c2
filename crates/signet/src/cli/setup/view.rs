//! `signet view`: a page that shows what happened, and a desk at which the person decides.
//!
//! ```text
//! signet view ─┬─ cord ─ signet-view   the reading room: caged, without a key, a connection to each daemon that only looks
//!              └─ cord ─ signet-desk   the desk: signs with the person's keys, as the command line does
//! ```
//!
//! This command renders nothing and speaks no HTTP: it binds two addresses, starts the programs that lie beside its own, hands
//! them what they need, and opens the browser. It ends when they do.

mod address;
mod browser;
mod household;
mod program;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use clap::Args;
use signet_cord::{CordWord, DeskHome, EntryTicket, ListenAt, RoomHome, ToDesk, ToRoom};

use crate::cli::person::control_key::ControlKey;
use crate::cli::{CliError, print};
use address::BoundAddress;
use browser::EntryFile;
use household::ViewedHome;
use program::{Started, ViewEvent, ViewProgram};

/// See `signet view --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ViewArgs {
    /// Show this log, for whoever may read it and has no home here; may be given several times
    #[arg(long = "log", value_name = "DIR")]
    logs: Vec<PathBuf>,
    #[command(flatten)]
    control: ControlKey,
    /// The person's audit key, which opens sealed messages [default: keys/audit.pem in the home]
    #[arg(long, value_name = "FILE")]
    audit_key: Option<PathBuf>,
    /// Open the desk alone, where the person decides
    #[arg(long, conflicts_with_all = ["logs", "forget"])]
    desk: bool,
    /// Listen at this port of 127.0.0.1 and the next, and print the address: to look from another machine over ssh
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1024..65535))]
    port: Option<u16>,
    /// Remove what the reading room keeps to search in, and end
    #[arg(long)]
    forget: bool,
    /// Start the reading room also where the system cannot cage it
    #[arg(long)]
    unconfined: bool,
    /// Seconds without use after which it ends
    #[arg(long, value_name = "SECONDS", hide = true)]
    idle: Option<u64>,
}

pub(crate) fn run(args: &ViewArgs, homes: Vec<PathBuf>) -> Result<(), CliError> {
    let household = household::find(homes, &args.logs)?;
    let data = household::data_of(&household)?;
    if args.forget {
        return program::forget(&data);
    }
    // The channel holds `EVENTS` events, so a room that says the same again and again fills no memory: `hear` drops its
    // words while the channel is full.
    let (tell, events) = sync_channel(EVENTS);
    browser::hear_enter(tell.clone());
    let view = OpenView::start(args, household, data, tell)?;
    let entry = view.open()?;
    print("view     Enter opens it again; Ctrl-C ends it\n")?;
    let ended = view.run(&events, entry);
    view.end();
    ended
}

/// The next step of somebody who has just made an agent: how to look, where the programs for it lie beside this one.
pub(crate) fn next_step() -> Option<&'static str> {
    let is_there = |program: ViewProgram| program.is_there().unwrap_or(false);
    match (is_there(ViewProgram::Desk), is_there(ViewProgram::Room)) {
        (true, true) => {
            Some("next     signet view  # what happened and what waits, in a browser\n")
        }
        (true, false) => {
            Some("next     signet view --desk  # what waits for a decision, in a browser\n")
        }
        // Without the desk `signet view` does not open.
        (false, _) => None,
    }
}

/// The programs that run, and where they are reached.
struct OpenView {
    household: Vec<ViewedHome>,
    room: Option<(Started, BoundAddress)>,
    desk: Option<(Started, BoundAddress)>,
    tell: SyncSender<ViewEvent>,
    /// Whether the person opens the address, on another machine.
    is_remote: bool,
}

impl OpenView {
    /// Starts what is wanted, and waits until it serves.
    fn start(
        args: &ViewArgs,
        household: Vec<ViewedHome>,
        data: PathBuf,
        tell: SyncSender<ViewEvent>,
    ) -> Result<Self, CliError> {
        let mut view = Self {
            household,
            room: None,
            desk: None,
            tell,
            is_remote: args.port.is_some(),
        };
        let decides = view.household.iter().any(|home| home.home.is_some());
        let shows = !args.desk && (ViewProgram::Room.is_there()? || !decides);
        if !shows && !args.desk {
            print("view     there is no signet-view beside signet: the desk opens alone\n")?;
        }
        let desk_port = args.port.map(|port| port.saturating_add(u16::from(shows)));
        if decides {
            view.desk = Some(view.start_desk(args, BoundAddress::bind(desk_port)?)?);
        }
        if shows {
            let address = BoundAddress::bind(args.port)?;
            view.room = Some(view.start_room(args, data, address)?);
        }
        Ok(view)
    }

    fn start_desk(
        &self,
        args: &ViewArgs,
        address: BoundAddress,
    ) -> Result<(Started, BoundAddress), CliError> {
        let desk = Started::start(ViewProgram::Desk, &[], self.tell.clone())?;
        let listen = ListenAt {
            idle: args.idle,
            ..address.listen_at()
        };
        desk.hand_over(&ToDesk::Listen(listen), address.socket())?;
        let whole = |path: &Option<PathBuf>| match path {
            Some(path) => household::whole_path(path).map(Some),
            None => Ok(None),
        };
        let (key, audit_key) = (whole(&args.control.key)?, whole(&args.audit_key)?);
        for viewed in &self.household {
            let Some(home) = &viewed.home else { continue };
            desk.say(&ToDesk::Home(DeskHome {
                name: viewed.name.clone(),
                home: home.path().to_owned(),
                key: key.clone(),
                audit_key: audit_key.clone(),
            }))?;
        }
        desk.wait_until_ready()?;
        Ok((desk, address))
    }

    fn start_room(
        &self,
        args: &ViewArgs,
        data: PathBuf,
        address: BoundAddress,
    ) -> Result<(Started, BoundAddress), CliError> {
        let unconfined: &[&str] = if args.unconfined {
            &["--unconfined"]
        } else {
            &[]
        };
        let words = [&["--cord"], unconfined].concat();
        let room = Started::start(ViewProgram::Room, &words, self.tell.clone())?;
        let desk = self.desk.as_ref().map(|(_, desk)| desk.origin());
        let listen = ListenAt {
            desk,
            homes: Some(self.household.len()),
            idle: args.idle,
            ..address.listen_at()
        };
        room.hand_over(&ToRoom::Listen(listen), address.socket())?;
        for viewed in &self.household {
            let word = ToRoom::Home(RoomHome {
                name: viewed.name.clone(),
                agent: viewed.agent.clone(),
                log: viewed.log.clone(),
                data: data.clone(),
            });
            match viewed.onlooker()? {
                Some(connection) => room.hand_over(&word, connection)?,
                None => {
                    room.say(&word)?;
                    viewed.look_again(self.tell.clone());
                }
            }
        }
        room.wait_until_ready()?;
        Ok((room, address))
    }

    /// Lets a browser in: at the desk first, which leads on to the room.
    fn open(&self) -> Result<Option<EntryFile>, CliError> {
        let mut first = None;
        if let Some((room, address)) = &self.room {
            let (ticket, at) = ticket(address, None)?;
            room.say(&ToRoom::Ticket(ticket))?;
            first = Some(at);
        }
        if let Some((desk, address)) = &self.desk {
            let (ticket, at) = ticket(address, first)?;
            desk.say(&ToDesk::Ticket(ticket))?;
            first = Some(at);
        }
        let Some(at) = first else { return Ok(None) };
        match self.is_remote {
            true => browser::tell(&at).map(|()| None),
            false => browser::open(&at),
        }
    }

    /// Does what the programs and the person ask for, until the programs end.
    fn run(
        &self,
        events: &Receiver<ViewEvent>,
        mut entry: Option<EntryFile>,
    ) -> Result<(), CliError> {
        loop {
            // The one-time address in the entry file is good for `ONCE` seconds. If no event comes in that time, drop
            // `entry`, which removes the file.
            let event = match &entry {
                Some(_) => events.recv_timeout(Duration::from_secs(ONCE)).ok(),
                None => events.recv().ok(),
            };
            let Some(event) = event else {
                entry = None;
                continue;
            };
            match event {
                ViewEvent::Enter => entry = self.open()?,
                ViewEvent::Connected(name, connection) => self.reconnect(name, connection),
                ViewEvent::Said(ViewProgram::Room, CordWord::Lost(lost)) => {
                    let lost = self.household.iter().find(|home| home.name == lost.name);
                    lost.inspect(|home| home.look_again(self.tell.clone()));
                }
                ViewEvent::Said(ViewProgram::Room, CordWord::End(_)) => return told_idle(),
                // The end of an idle desk ends this command only if there is no reading room: a person who still reads
                // there may want to decide later.
                ViewEvent::Said(ViewProgram::Desk, CordWord::End(_)) if self.room.is_none() => {
                    return told_idle();
                }
                ViewEvent::Said(..) => {}
                ViewEvent::Gone(program) => return Err(program.ended()),
            }
        }
    }

    fn reconnect(&self, name: String, connection: std::os::unix::net::UnixStream) {
        let word = ToRoom::Connection(signet_cord::ReconnectedHome { name });
        if let Some((room, _)) = &self.room {
            // An error is ignored: it means that the room has ended, and `hear` then tells that by `ViewEvent::Gone`.
            let _ = room.hand_over(&word, connection);
        }
    }

    fn end(self) {
        for (program, _) in [self.room, self.desk].into_iter().flatten() {
            program.end();
        }
    }
}

/// A one-time address of that program, and where it leads when it is another's.
fn ticket(address: &BoundAddress, then: Option<String>) -> Result<(EntryTicket, String), CliError> {
    let once = address::fresh()?;
    let at = format!("{}/o/{once}", address.origin());
    let ticket = EntryTicket {
        once,
        seconds: ONCE,
        then,
    };
    Ok((ticket, at))
}

fn told_idle() -> Result<(), CliError> {
    print("view     nobody has used the page for a while, and it ends\n")
}

const EVENTS: usize = 64;
/// How long a one-time address may be used, in seconds.
const ONCE: u64 = 60;

const EXAMPLE: &str = "\
The reading room shows what the log says; it holds no key, and changes nothing. The desk is where you decide: with your
own keys, on pages without any script. Both end after half an hour without use. What the room keeps to search in lies in the folder
`view` of the first home: a second copy of what is in clear.

With --port it prints the address: so it is opened from another machine over ssh (docs/view.md has the line).

EXAMPLE:
  signet view
  signet view --home alice --home bob --key /media/stick/control.pem
  signet view --log /var/log/signet/agent-alice-001
  signet view --desk --port 7701";
