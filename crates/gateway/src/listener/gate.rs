//! What every request has to be before a door sees it, open doors included.
//!
//! Any program of this machine reaches a listener on loopback, and so does any page in a browser. A page can have its own
//! name resolve to this machine, which `Host` shows; it cannot hide where it comes from, which `Origin` shows; and without
//! asking first it cannot send JSON as JSON, which the content type shows. There is no CORS, so asking first is refused.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use signet_listener::{discard, host_of, is_json, media_type, name_of_host, only};
use tokio::time::sleep;

use super::refusal::refused;
use crate::config::GatewayConfig;
use crate::lock::Locked as _;
use crate::rate::RateBucket;

/// What a request is held against.
pub(super) struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// What is answered at once to those whom nobody knows.
    strangers: Mutex<RateBucket>,
}

/// An answer to somebody who is known, or whose pace is kept elsewhere: in its extensions.
#[derive(Clone, Copy)]
pub(crate) struct KnownCaller;

impl Gate {
    pub(super) fn new(config: &GatewayConfig) -> Self {
        let own = [
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "[::1]".to_owned(),
        ];
        let bound = match config.listen.address {
            // An unspecified address such as `0.0.0.0` stands for all addresses of this machine, and is the name of none: so it
            // is not one of the gateway's host names.
            address if address.ip().is_unspecified() => None,
            address if address.is_ipv6() => Some(format!("[{}]", address.ip())),
            address => Some(address.ip().to_string()),
        };
        let named = config
            .listen
            .hosts
            .iter()
            .map(|host| host.to_ascii_lowercase());
        let origins = config.listen.origins.iter();
        Self {
            hosts: own.into_iter().chain(bound).chain(named).collect(),
            origins: origins
                .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase())
                .collect(),
            strangers: Mutex::new(RateBucket::full(STRANGERS, STRANGERS / 10, Instant::now())),
        }
    }

    fn admit(&self, request: &Request) -> Result<(), GateFault> {
        let (method, headers) = (request.method(), request.headers());
        let host = self.host(request.uri(), headers)?;
        self.admit_origin(&host, headers)?;
        match *method == Method::POST || *method == Method::PUT || *method == Method::PATCH {
            true => admit_content(headers),
            false => Ok(()),
        }
    }

    /// A crowd of strangers is answered later, each on the connection that it holds: so refusing them takes no time from
    /// those who are known.
    async fn pace(&self) {
        let paced = self.strangers.locked().take(1, Instant::now());
        if paced.is_err() {
            sleep(HELD).await;
        }
    }

    /// The host that the request is for, where it is one of ours.
    fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<String, GateFault> {
        let host = host_of(uri, headers).ok_or(GateFault::Host)?;
        let name = name_of_host(&host).ok_or(GateFault::Host)?;
        match self.hosts.iter().any(|known| known == name) {
            true => Ok(host),
            false => Err(GateFault::Host),
        }
    }

    /// Admits a request without an Origin, and one of a page that the configuration names or of this listener itself.
    fn admit_origin(&self, host: &str, headers: &HeaderMap) -> Result<(), GateFault> {
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, header::ORIGIN).ok_or(GateFault::Origin)?;
        let origin = origin.to_ascii_lowercase();
        // The gateway's own pages may also come from an https address: a proxy in front of this listener may speak TLS.
        let own = [format!("http://{host}"), format!("https://{host}")];
        match self.origins.contains(&origin) || own.contains(&origin) {
            true => Ok(()),
            false => Err(GateFault::Origin),
        }
    }
}

/// Lets a request through by its head alone, or says why not.
pub(super) async fn pass(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let (path, asked) = (request.uri().path().to_owned(), request.headers().clone());
    let mut response = match gate.admit(&request) {
        Ok(()) => next.run(request).await,
        Err(fault) => {
            discard(request.into_body()).await;
            // The specification of A2A has an error of its own for a wrong content type, so an A2A request gets that
            // error.
            let of_a2a = match fault {
                GateFault::ContentType => crate::doors::a2a::wrong_content(&asked, &path),
                GateFault::Host | GateFault::Origin => None,
            };
            of_a2a.unwrap_or_else(|| fault.response())
        }
    };
    // Delay the answer to a stranger while many strangers call. Authentication runs after this gate, so only the response shows
    // whether the caller is known.
    if response.extensions().get::<KnownCaller>().is_none() {
        gate.pace().await;
    }
    let headers = response.headers_mut();
    for (name, value) in KEPT_APART {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// JSON, and said to be.
fn admit_content(headers: &HeaderMap) -> Result<(), GateFault> {
    let declared = only(headers, header::CONTENT_TYPE).ok_or(GateFault::ContentType)?;
    let (_, parameters) = declared.split_once(';').unwrap_or_default();
    let is_json = media_type(headers).as_deref().is_some_and(is_json);
    let is_utf8 = parameters.split(';').all(|parameter| {
        let parameter = parameter.trim().to_ascii_lowercase().replace('"', "");
        parameter
            .strip_prefix("charset=")
            .is_none_or(|charset| charset == "utf-8")
    });
    // No door decompresses a body, so a compressed body is refused by its head.
    match is_json && is_utf8 && !headers.contains_key(header::CONTENT_ENCODING) {
        true => Ok(()),
        false => Err(GateFault::ContentType),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GateFault {
    Host,
    Origin,
    ContentType,
}

impl GateFault {
    fn response(self) -> Response {
        let (status, reason, message, next) = match self {
            Self::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "host-unknown",
                "the header Host names no host of this listener",
                "call it by its own name, or add the name to `hosts` under [listen] of gateway.toml",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "origin-refused",
                "pages of that origin may not call this listener",
                "add it to `origins` under [listen] of gateway.toml, if its scripts are to speak for the agent",
            ),
            Self::ContentType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "content-type",
                "the body is not declared as JSON in UTF-8",
                "send Content-Type: application/json, without a content encoding",
            ),
        };
        refused(status, reason, message, next)
    }
}

/// Strangers who are answered at once, in a minute; a tenth of them may come together.
const STRANGERS: u32 = 12_000;
/// How long the others wait for their answer.
const HELD: Duration = Duration::from_millis(250);
/// What an answer says to browsers and caches, where its door does not say otherwise.
const KEPT_APART: [(HeaderName, &str); 2] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        let mut config = GatewayConfig::default();
        config.listen.hosts = vec!["Agent.Example.org".to_owned()];
        config.listen.origins = vec!["https://app.example.org/".to_owned()];
        Gate::new(&config)
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_name_that_is_bound_anew_to_this_machine_is_no_host_of_ours() {
        let at =
            |uri: &'static str, pairs: &[_]| gate().host(&Uri::from_static(uri), &headers(pairs));
        for host in [
            "localhost",
            "LOCALHOST:8787",
            "127.0.0.1:8787",
            "[::1]:1",
            "[::1]",
            "agent.example.org:443",
        ] {
            assert!(at("/", &[("host", host)]).is_ok(), "{host}");
        }
        for host in [
            "evil.test",
            "evil.test:8787",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "",
            ":80",
            "localhost:",
            "localhost:x",
            "127.0.0.2",
            "0.0.0.0",
            "localhost:80@evil.test",
            "[::2]",
            "::1",
        ] {
            assert_eq!(at("/", &[("host", host)]), Err(GateFault::Host), "{host}");
        }
        assert_eq!(at("/", &[]), Err(GateFault::Host));
        assert_eq!(
            at("/", &[("host", "localhost"), ("host", "evil.test")]),
            Err(GateFault::Host)
        );
        assert_eq!(
            at("http://evil.test/", &[("host", "localhost")]),
            Err(GateFault::Host)
        );
    }

    #[test]
    fn a_page_of_another_site_is_refused() {
        let from = |origin| gate().admit_origin("localhost:8787", &headers(&[("origin", origin)]));
        for origin in [
            "https://app.example.org",
            "HTTPS://app.example.org",
            "http://localhost:8787",
        ] {
            assert!(from(origin).is_ok(), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://evil.test",
            "http://app.example.org",
            "https://app.example.org:444",
            "https://app.example.org.evil.test",
            "http://localhost:8788",
            "http://localhost",
        ] {
            assert_eq!(from(origin), Err(GateFault::Origin), "{origin}");
        }
        assert!(gate().admit_origin("localhost", &HeaderMap::new()).is_ok());
    }

    #[test]
    fn what_a_page_may_send_without_asking_is_no_json() {
        let with = |kind| admit_content(&headers(&[("content-type", kind)]));
        for kind in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/a2a+json",
            "application/json; charset=\"utf-8\"",
        ] {
            assert!(with(kind).is_ok(), "{kind}");
        }
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "text/plain; application/json",
            "application/json; charset=utf-16",
            "application/json, text/plain",
            "text/json",
            "",
        ] {
            assert_eq!(with(kind), Err(GateFault::ContentType), "{kind}");
        }
        assert_eq!(
            admit_content(&HeaderMap::new()),
            Err(GateFault::ContentType)
        );
        let packed = headers(&[
            ("content-type", "application/json"),
            ("content-encoding", "gzip"),
        ]);
        assert_eq!(admit_content(&packed), Err(GateFault::ContentType));
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_of_strangers_is_answered_later_and_a_few_at_once() {
        let (gate, began) = (gate(), tokio::time::Instant::now());
        for _ in 0..STRANGERS / 10 {
            gate.pace().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        // This bucket limits strangers, and the calls above have emptied it. It fills by real time and not by the paused time
        // of the test, so it is still empty.
        for _ in 0..STRANGERS / 10 {
            gate.pace().await;
        }
        assert!(began.elapsed() > HELD * 100, "{:?}", began.elapsed());
    }
}
