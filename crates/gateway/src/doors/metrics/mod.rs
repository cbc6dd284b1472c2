//! The numbers at `/metrics`, for Prometheus and whatever reads its formats.
//!
//! ```text
//! GET /metrics ── listener of its own, token ──▶ source: at most one call a second ──▶ carrier.sock
//!              ◀── format: text 0.0.4, or OpenMetrics 1.0.0 by Accept ◀── families: the table of series
//! ```
//!
//! The series are those of the table and no others: labels have the reasons of the protocol's table, the carriers of the
//! configuration, and two fixed words. So nothing that peers, strangers or callers send makes a series more.

mod families;
mod format;
mod source;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use hyper::header::{self, HeaderMap, HeaderValue};
use tokio_util::sync::CancellationToken;

use crate::config::carriers::Lacking;
use crate::config::metrics::MetricsSection;
use crate::config::{Auth, GatewayConfig};
use crate::hint;
use crate::listener::{Door, Doors, Listener};
use crate::say::say;
use format::Format;
use source::MetricsSource;

/// The listener of the numbers, bound and not yet serving.
pub(crate) struct MetricsListener {
    config: GatewayConfig,
    listener: Listener,
    door: Door,
    source: Arc<MetricsSource>,
}

/// Why there is none although the configuration wants one: what is wrong, and what to do.
pub(crate) type NoMetrics = (String, String);

impl MetricsListener {
    /// That of the configuration; `socket` is the daemon's carrier socket.
    ///
    /// # Errors
    /// The setting, or the address, that is lacking.
    pub(crate) async fn bind(
        config: &GatewayConfig,
        section: &MetricsSection,
        socket: Option<&Path>,
        stop: &CancellationToken,
    ) -> Result<Self, NoMetrics> {
        let lacking = Lacking::NumbersSocket;
        let told = (lacking.to_string(), lacking.next().to_owned());
        let socket = socket.ok_or(told)?;
        let config = config.of_metrics(section);
        let listener = Listener::bind(&config).await;
        let listener = listener.map_err(|(what, _)| (what, ANOTHER_ADDRESS.to_owned()))?;
        Ok(Self {
            door: Door::of(&config, stop),
            source: Arc::new(MetricsSource::at(socket)),
            listener,
            config,
        })
    }

    /// Says where the numbers are, and who may read them.
    pub(crate) fn say_where(&self) {
        let address = self.listener.address();
        let address = address.unwrap_or(self.config.listen.address);
        let scheme = match self.listener.is_secure() {
            true => "https",
            false => "http",
        };
        say(&format!("the numbers are at {scheme}://{address}/metrics"));
        let tokens = self.door.tokens();
        if self.config.listen.auth == Auth::None {
            say(
                "warning: auth = \"none\" under [metrics]: every program of this machine may read the numbers",
            );
        } else if let Some((what, next)) = tokens.as_ref().and_then(|tokens| tokens.fault()) {
            say(&format!(
                "warning: {what}; nobody reads the numbers until that is mended; next: {next}"
            ));
        } else if tokens.is_some_and(|tokens| tokens.count() == 0) {
            let file = self.config.path(&self.config.listen.tokens);
            let file = signet_text::word(&file);
            say(&hint::typed(&format!(
                "there is no token for the numbers yet; make one with: signet token make prometheus --file {file}"
            )));
        }
    }

    /// Serves the numbers until it is told to stop.
    pub(crate) async fn serve(self, stop: CancellationToken) {
        let routes = Router::new()
            .route(PATH, get(numbers))
            .with_state(self.source);
        let doors = Doors {
            open: Router::new(),
            closed: routes,
        };
        self.listener
            .serve(&self.config, doors, self.door, stop)
            .await;
    }
}

/// The numbers, in the form that the caller asks for. A daemon that is away is a number as well.
async fn numbers(State(source): State<Arc<MetricsSource>>, headers: HeaderMap) -> Response {
    let format = Format::asked(&headers);
    let metrics = source.metrics().await;
    let page = families::page(metrics.as_deref(), format);
    let kind = HeaderValue::from_static(format.content_type());
    ([(header::CONTENT_TYPE, kind)], page).into_response()
}

const PATH: &str = "/metrics";
const ANOTHER_ADDRESS: &str =
    "stop what listens there, or set another `address` under [metrics] of gateway.toml";
