//! Any server of MCP behind the listener, the gate and the door of `/mcp`: so `examples/conformance` tries all of that with
//! the tools that the conformance kit of MCP asks for by name.
//!
//! A module of the library, because it reaches into its listener; it exists with the feature `conformance` alone, holds no
//! connection to a daemon, and is in nothing that is installed.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use rmcp::handler::server::ServerHandler;
use tokio_util::sync::CancellationToken;

use crate::config::GatewayConfig;
use crate::context::Context;
use crate::daemon::Daemon;
use crate::doors::mcp::http;
use crate::listener::{Door, Doors, Listener};
use crate::outgoing::HttpClient;
use crate::serve::say_where;

/// Serves by a file that `signet gateway` would read, until the process ends. Each session has a server of its own.
///
/// # Errors
/// What is wrong with the file or its address.
pub fn serve<S: ServerHandler>(
    file: &Path,
    server: impl Fn() -> S + Send + Sync + 'static,
) -> Result<(), String> {
    let config = GatewayConfig::load(file).map_err(|fault| fault.to_string())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(run(config, server))
}

async fn run<S: ServerHandler>(
    config: GatewayConfig,
    server: impl Fn() -> S + Send + Sync + 'static,
) -> Result<(), String> {
    let listener = Listener::bind(&config).await.map_err(|(what, _)| what)?;
    let stop = CancellationToken::new();
    let door = Door::of(&config, &stop);
    say_where(&config, &listener, &door);
    let context = Arc::new(Context {
        // Nothing of the server asks it anything.
        daemon: Arc::new(Daemon::at(Path::new("no-daemon"))),
        outgoing: HttpClient::new(&config.outgoing, &config.beside)?,
        config,
        tokens: door.tokens(),
        stop: stop.clone(),
    });
    let doors = Doors {
        open: Router::new(),
        closed: http::serving(&context, server),
    };
    listener.serve(&context.config, doors, door, stop).await;
    Ok(())
}
