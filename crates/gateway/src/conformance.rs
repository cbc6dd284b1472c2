//! A server with the tools, prompts and resources that the conformance kit of MCP asks for by name, behind the listener,
//! the gate and the room of `/mcp`: so the kit tries all of that which carries our own tools.
//!
//! It exists with the feature `conformance` alone, holds no connection to a daemon, and is in nothing that is installed.
//! What it says stands in `conformance/fixture.json`; what it does besides saying something, here.

mod acts;
mod fixture;
mod rounds;
mod server;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::context::Context;
use crate::daemon::Daemon;
use crate::listener::Listener;
use crate::mcp_http;
use crate::outgoing::Outgoing;
use crate::serve::{door, say_where};
use fixture::Fixture;
use server::{Server, Shared};

/// Serves by a file that `signet gateway` would read, until the process ends.
///
/// # Errors
/// What is wrong with the file, its address or the fixture.
pub fn serve(file: &Path) -> Result<(), String> {
    let config = Config::load(file).map_err(|fault| fault.to_string())?;
    let fixture = Fixture::read().map_err(|error| format!("fixture.json: {error}"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(run(config, fixture))
}

async fn run(config: Config, fixture: Fixture) -> Result<(), String> {
    let listener = Listener::bind(&config).await.map_err(|(what, _)| what)?;
    let stop = CancellationToken::new();
    let door = door(&config, &stop);
    say_where(&config, &listener, &door);
    let context = Arc::new(Context {
        // Nothing of the fixture asks it anything.
        daemon: Arc::new(Daemon::at(Path::new("no-daemon"))),
        outgoing: Outgoing::new(&config.outgoing, &config.beside)?,
        config,
        tokens: door.tokens(),
        stop: stop.clone(),
    });
    let shared = Arc::new(Shared::new(fixture));
    let room = mcp_http::serving(&context, move || Server::new(Arc::clone(&shared)));
    listener
        .serve(&context.config, (Router::new(), room), door, stop)
        .await;
    Ok(())
}
