//! The one way out of the gateway: a request, one answer, and bounds on every byte, second and address of it (`exchange`).
//!
//! Two policies say where a request goes. The address of a webhook, of a peer's carrier or of a card is a stranger's wish:
//! what its name resolves to is judged before anything is sent (`guard`), and the connection goes to the very address that
//! was judged (`dial`), also behind a proxy (`proxy`). An agent or a server that handles messages is at an address that the
//! person's file names (`named`): it is called as it stands there, and by no proxy.
//!
//! No redirect is followed. There is no pool, no cookie and no decompression: each would be a way for the other side to make
//! us do what nobody wrote down.

mod dial;
mod exchange;
mod guard;
mod named;
mod pem;
mod proxy;
mod tls;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
pub(crate) use named::{Endpoint, Token};
pub(crate) use pem::{CERTIFICATE, PemFault, certificates, private_key};
use serde::Deserialize;
use tokio::time::timeout;
use url::Host;
pub(crate) use url::Url;

use exchange::exchange;
use guard::{AddressKind, Guard, Network};
use proxy::Proxies;
use tls::Roots;

/// `[outgoing]`: what may be called besides public addresses.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct OutgoingSection {
    /// Whether programs of this machine may be called.
    pub(crate) loopback: bool,
    /// Networks of one's own that may be called, such as `192.168.1.0/24`.
    pub(crate) networks: Vec<Network>,
    /// Roots that are trusted besides those of this machine, in PEM.
    pub(crate) ca: Option<PathBuf>,
}

/// The one way out. Clones share what it has read of this machine.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    guard: Guard,
    proxies: Proxies,
    roots: Roots,
}

/// How much one request may cost, and whom it believes.
#[derive(Clone, Debug)]
pub(crate) struct How {
    /// For all of it.
    pub(crate) time: Duration,
    /// Of the answer's body.
    pub(crate) answer_bytes: usize,
    /// The SHA-256 of the only certificates that are believed; the trusted roots decide where it is absent.
    pub(crate) pinned: Option<Arc<[[u8; 32]]>>,
}

impl Default for How {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(20),
            answer_bytes: 64 << 10,
            pinned: None,
        }
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer. No text repeats an address: it may be a stranger's, or hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutgoingError {
    #[error(
        "the address is none that can be called; write https://host/path without a user or a fragment"
    )]
    Malformed,
    #[error(
        "the address is of this machine or of a private network; the person allows one by `loopback` or `networks` under [outgoing] of gateway.toml"
    )]
    Forbidden,
    #[error("the address would be called in clear over a public network; use https")]
    Cleartext,
    #[error("its name has no address")]
    NoAddress,
    #[error("nobody answers there")]
    Unreachable,
    #[error("the proxy refuses; see https_proxy and no_proxy in the environment")]
    Proxy,
    #[error("its certificate is not the one that is trusted for it")]
    Certificate,
    #[error("it speaks no TLS that is spoken here")]
    Tls,
    #[error("what answers there is no HTTP server")]
    NotHttp,
    #[error("the answer ended too early")]
    CutShort,
    #[error("the answer is longer than it may be")]
    TooLong,
    #[error("the answer took too long")]
    TimedOut,
    #[error("it answers with a redirect, and none is followed; name the address that it leads to")]
    Redirected,
}

impl HttpClient {
    /// Reads what this machine says of roots and proxies.
    ///
    /// # Errors
    /// What is wrong with the section or the environment.
    pub(crate) fn new(section: &OutgoingSection, beside: &Path) -> Result<Self, String> {
        // Use `vars_os`: `vars` would panic at a variable that is not UTF-8. Such a variable names no proxy, and is skipped.
        let environment: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let ca = section.ca.as_ref().map(|ca| beside.join(ca));
        Ok(Self {
            guard: Guard::new(section.loopback, section.networks.clone()),
            proxies: Proxies::of(&environment)?,
            roots: Roots::load(ca.as_deref())?,
        })
    }

    /// Whether the address is one that may be called, as far as it says so itself: what a name resolves to is judged when it
    /// is called.
    ///
    /// # Errors
    /// Why it never is.
    pub(crate) fn admit(&self, url: &Url) -> Result<(), OutgoingError> {
        let is_secure = dial::parse(url)?;
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) => return Ok(()),
            None => return Err(OutgoingError::Malformed),
        };
        match self.guard.judge(address) {
            None => Err(OutgoingError::Forbidden),
            Some(AddressKind::Public) if !is_secure => Err(OutgoingError::Cleartext),
            Some(_) => Ok(()),
        }
    }

    /// Posts a body.
    ///
    /// # Errors
    /// Why there is no answer; a status is an answer, but for a redirect.
    pub(crate) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        how: &How,
    ) -> Result<HttpAnswer, OutgoingError> {
        self.request(Method::POST, url, headers, body, how).await
    }

    /// Makes one request.
    ///
    /// # Errors
    /// Why there is no answer; a status is an answer, but for a redirect.
    pub(crate) async fn request(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        how: &How,
    ) -> Result<HttpAnswer, OutgoingError> {
        let request = written(method, url, headers, body)?;
        let answered = timeout(how.time, async {
            let stream = self.connect(url, how).await?;
            exchange(stream, request, how.answer_bytes, &mut |_, _| Ok(false)).await
        });
        let answered = answered.await.unwrap_or(Err(OutgoingError::TimedOut));
        answered.map(|(answer, _)| answer)
    }
}

/// Where a URL leads by the address in it, where that is called without any leave: for the fuzz targets.
#[cfg(any(test, feature = "fuzzed"))]
pub(crate) fn admitted(text: &str) -> Option<IpAddr> {
    let url = Url::parse(text).ok()?;
    written(Method::GET, &url, HeaderMap::new(), Bytes::new()).ok()?;
    let address = match url.host()? {
        Host::Ipv4(address) => IpAddr::V4(address),
        Host::Ipv6(address) => IpAddr::V6(address),
        Host::Domain(_) => return None,
    };
    Guard::new(false, Vec::new()).judge(address)?;
    Some(address)
}

fn written(
    method: Method,
    url: &Url,
    mut headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, OutgoingError> {
    // Send path and query alone: the absolute form is for proxies that read requests, and the proxies used here only tunnel.
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => return Err(OutgoingError::Malformed),
    };
    let host = HeaderValue::try_from(host).map_err(|_| OutgoingError::Malformed)?;
    // Set Host from the URL, whatever headers the caller gave: another host name could lead to another site of the same server.
    headers.insert(header::HOST, host);
    headers
        .entry(header::USER_AGENT)
        .or_insert(HeaderValue::from_static(AGENT));
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = target.parse().map_err(|_| OutgoingError::Malformed)?;
    *request.headers_mut() = headers;
    Ok(request)
}

const AGENT: &str = concat!("signet/", env!("CARGO_PKG_VERSION"));
#[cfg(test)]
mod tests;
