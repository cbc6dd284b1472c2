//! A connection to the very address that was judged.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use url::{Host, Url};

use super::guard::AddressKind;
use super::tls::Roots;
use super::{How, HttpClient, OutgoingError};

impl HttpClient {
    /// Resolves, judges and connects; a name that resolves to another address a moment later changes nothing.
    pub(super) async fn connect(
        &self,
        url: &Url,
        how: &How,
    ) -> Result<TokioIo<Box<dyn Stream>>, OutgoingError> {
        let is_secure = parse(url)?;
        let mut failed = OutgoingError::Forbidden;
        for (address, place) in self.judged(url).await? {
            if !is_secure && place == AddressKind::Public {
                failed = OutgoingError::Cleartext;
                // Without TLS, no public address is called. The same name may also have an address of kind `Own`, which may be
                // called without TLS: so try the next one.
                continue;
            }
            match self.proxies.connect(url, address).await {
                Ok(stream) => {
                    let roots = is_secure.then_some(&self.roots);
                    return secured(stream, url, roots, how.pinned.clone()).await;
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// The addresses that may be called, in the order of the resolver.
    async fn judged(&self, url: &Url) -> Result<Vec<(SocketAddr, AddressKind)>, OutgoingError> {
        let port = url.port_or_known_default();
        let port = port.ok_or(OutgoingError::Malformed)?;
        let judged = |address: IpAddr| {
            let place = self.guard.judge(address)?;
            Some((SocketAddr::new(address, port), place))
        };
        let addresses: Vec<IpAddr> = match url.host() {
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            Some(Host::Domain(name)) => {
                let found = tokio::net::lookup_host((name, port)).await;
                let found = found.map_err(|_| OutgoingError::NoAddress)?;
                found
                    .map(|address| address.ip())
                    .take(MOST_ADDRESSES)
                    .collect()
            }
            None => return Err(OutgoingError::Malformed),
        };
        match addresses.is_empty() {
            true => Err(OutgoingError::NoAddress),
            false => Ok(addresses.into_iter().filter_map(judged).collect()),
        }
    }
}

/// The connection as requests are written to it: by TLS where there are roots.
pub(super) async fn secured(
    stream: TcpStream,
    url: &Url,
    roots: Option<&Roots>,
    pinned: Option<Arc<[[u8; 32]]>>,
) -> Result<TokioIo<Box<dyn Stream>>, OutgoingError> {
    // A request is one write, so send it at once: waiting for more bytes would only delay it.
    let _ = stream.set_nodelay(true);
    Ok(TokioIo::new(match roots {
        Some(roots) => Box::new(roots.secure(stream, url, pinned).await?),
        None => Box::new(stream),
    }))
}

/// Whether it is called by TLS; refuses what is no address of a server.
pub(super) fn parse(url: &Url) -> Result<bool, OutgoingError> {
    let has_user = !url.username().is_empty() || url.password().is_some();
    match url.scheme() {
        _ if has_user || url.fragment().is_some() => Err(OutgoingError::Malformed),
        "https" => Ok(true),
        "http" => Ok(false),
        _ => Err(OutgoingError::Malformed),
    }
}

/// Where bytes come from and go to.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A name with a thousand addresses would be a thousand connections for whoever named it.
const MOST_ADDRESSES: usize = 4;
