//! `signet-gateway serve`: configuration, context, listener, until it is told to stop.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signet_text::visible;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::GatewayConfig;
use crate::context::Context;
use crate::daemon::Daemon;
use crate::doors::carriers::ConfiguredCarriers;
use crate::doors::metrics::MetricsListener;
use crate::doors::{self, a2a};
use crate::hint;
use crate::listener::{Door, Listener};
use crate::outgoing::HttpClient;
use crate::say::{NO_ROOM, REFUSED, failed, told};
use crate::tokens::Tokens;

/// What `signet gateway` hands over.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// What it does: gateway.toml
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The agent's socket (agent.sock), as `signet gateway` finds it
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// The socket of foreign carriers (carrier.sock), where [inbox], [discord] or [metrics] is in the configuration
    #[arg(long, value_name = "PATH")]
    carrier_socket: Option<PathBuf>,
}

/// Serves until somebody asks it to end.
pub(crate) fn serve(args: &ServeArgs) -> ExitCode {
    let config = match GatewayConfig::load(&args.config) {
        Ok(config) => config,
        Err(fault) => return failed(&told(&fault.to_string(), &fault.next()), USAGE),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(&told(&error.to_string(), NO_ROOM), REFUSED),
    };
    let served = runtime.block_on(run(args, config));
    // Do not wait for threads that still block, for instance on a file: they would hold up the end of the process.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err((what, next, code)) => failed(&told(&what, &next), code),
    }
}

/// What went wrong, what to do about it, and the exit code that says so.
type ExitReason = (String, String, u8);

async fn run(args: &ServeArgs, config: GatewayConfig) -> Result<(), ExitReason> {
    let outgoing = HttpClient::new(&config.outgoing, &config.beside);
    let outgoing = outgoing.map_err(|what| (what, CORRECT.to_owned(), USAGE))?;
    make_room(config.limits.connections);
    let listener = Listener::bind(&config).await;
    let listener = listener.map_err(|(what, next)| (what, next.to_owned(), USAGE))?;
    let stop = CancellationToken::new();
    let numbers = match &config.metrics {
        None => None,
        Some(section) => {
            let socket = args.carrier_socket.as_deref();
            let numbers = MetricsListener::bind(&config, section, socket, &stop).await;
            Some(numbers.map_err(|(what, next)| (what, next, USAGE))?)
        }
    };
    let door = Door::of(&config, &stop);
    let context = Arc::new(Context {
        daemon: Arc::new(Daemon::at(&args.socket)),
        outgoing,
        config,
        tokens: door.tokens(),
        stop: stop.clone(),
    });
    let stopping = stop_when_asked(stop.clone());
    stopping.map_err(|error| (error.to_string(), NO_ROOM.to_owned(), REFUSED))?;
    let a2a = open_a2a(&context)?;
    let carriers = ConfiguredCarriers::of(&context, args.carrier_socket.as_deref());
    let carriers =
        carriers.map_err(|lacking| (lacking.to_string(), lacking.next().to_owned(), USAGE))?;
    // Store after which line of the log the Discord channel shows messages, before `say_where` prints the address: whoever
    // reads the address expects the channel to show every message from then on.
    carriers.fix_places().await;
    say_where(&context.config, &listener, &door);
    if let Some(numbers) = numbers {
        numbers.say_where();
        tokio::spawn(numbers.serve(stop.clone()));
    }
    let inbox = carriers.begin();
    if let Some(room) = &a2a {
        context.spawn(a2a::warn_at_start(Arc::clone(room)));
    }
    let doors = doors::routes(&context, a2a, inbox);
    listener.serve(&context.config, doors, door, stop).await;
    Ok(())
}

/// Opens the door of A2A, which keeps its tasks in a file and goes on with those that were under way.
fn open_a2a(context: &Arc<Context>) -> Result<Option<Arc<a2a::A2aDoor>>, ExitReason> {
    if !context.config.a2a.enabled {
        return Ok(None);
    }
    let room = a2a::A2aDoor::open(context);
    room.map(Some)
        .map_err(|fault| (fault.to_string(), fault.next().to_owned(), REFUSED))
}

/// Prints where the gateway listens, and a warning where everybody or nobody is let in.
pub(crate) fn say_where(config: &GatewayConfig, listener: &Listener, door: &Door) {
    let scheme = if listener.is_secure() {
        "https"
    } else {
        "http"
    };
    let address = listener.address().unwrap_or(config.listen.address);
    let mut text = format!("the gateway listens at {scheme}://{address}/\n");
    match door {
        Door::Open(_) => text.push_str(
            "warning: auth = \"none\": every program of this machine may speak for the agent\n  \
             next: remove that line from gateway.toml, and make a token with: signet token make NAME\n",
        ),
        Door::Tokens(tokens) => text.push_str(&of_tokens(tokens)),
    }
    // An error of the write below is ignored: if standard error is closed, there is nobody left to tell.
    let text = hint::typed(&text);
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}

fn of_tokens(tokens: &Tokens) -> String {
    match tokens.fault() {
        Some((what, next)) => {
            let what = visible(&what);
            format!("warning: {what}; nobody is let in until that is mended\n  next: {next}\n")
        }
        None if tokens.count() == 0 => {
            "there is no token yet, so nobody is let in; make one with: signet token make NAME\n"
                .to_owned()
        }
        None => String::new(),
    }
}

/// File descriptors for the connections, and as many again for calls and files; as far as the system allows.
fn make_room(connections: usize) {
    let wanted = u64::try_from(connections)
        .unwrap_or(u64::MAX)
        .saturating_add(SPARE_FILES);
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.map_or(wanted, |most| most.min(wanted));
    if now.current.is_some_and(|current| current < most) {
        let raised = Rlimit {
            current: Some(most),
            maximum: now.maximum,
        };
        // An error is ignored: with fewer descriptors, the listener only has to close idle connections sooner.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

fn stop_when_asked(stop: CancellationToken) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}

const CORRECT: &str =
    "correct [outgoing] in gateway.toml, or the variables of the environment that name proxies";
const SPARE_FILES: u64 = 512;
/// The configuration is wrong: starting again would not mend it.
const USAGE: u8 = 2;
