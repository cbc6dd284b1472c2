//! Where an agent or a server listens: an address that the person's file names, and nothing else ever does.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue, InvalidHeaderValue};
use hyper::http::uri::Scheme;
use hyper::{Method, Uri};
use tokio::net::TcpStream;
use url::Url;

use super::dial::secured;
use super::exchange::{WatchPieces, exchange};
use super::tls::Roots;
use super::{HttpAnswer, OutgoingError, written};

/// An address, how it is proved to be itself, and how we prove to be allowed there.
#[derive(Clone)]
pub(crate) struct Endpoint {
    url: Url,
    host: Host,
    port: u16,
    /// Whom it believes; none where it is called in clear.
    roots: Option<Roots>,
    token: Option<Token>,
}

/// Why an address cannot be one. No text repeats it: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EndpointFault {
    #[error("`url` is no address; write http://127.0.0.1:9000/ or https://agent.example.org/")]
    Malformed,
    #[error("`url` names a user; keep it out, and name a token by `token-file` or `token-env`")]
    User,
    #[error("`url` leaves this machine in clear; use https, or say `allow-cleartext = true`")]
    Cleartext,
    #[error("`ca` holds no certificate in PEM; name a file that does")]
    Ca,
    #[error("this machine has no trusted certificates; install ca-certificates, or name `ca`")]
    NoRoots,
    #[error("TLS cannot be set up on this machine")]
    Tls,
}

/// Where the token stands that is sent as `Authorization: Bearer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A file, read for each connection, so that a new token counts at once.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Address(IpAddr),
    /// This machine, by whichever of its two addresses answers. No resolver is asked.
    Here,
    Name(String),
}

impl Endpoint {
    /// Reads an address.
    pub(crate) fn parse(
        url: &str,
        allow_cleartext: bool,
        ca: Option<&Path>,
        token: Option<Token>,
    ) -> Result<Self, EndpointFault> {
        let uri: Uri = url.parse().map_err(|_| EndpointFault::Malformed)?;
        let authority = uri.authority().ok_or(EndpointFault::Malformed)?;
        if authority.as_str().contains('@') {
            return Err(EndpointFault::User);
        }
        let host = Host::of(authority.host())?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(EndpointFault::Malformed),
        };
        if !is_secure && !host.is_loopback() && !allow_cleartext {
            return Err(EndpointFault::Cleartext);
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str().ends_with(':') => return Err(EndpointFault::Malformed),
            None if is_secure => 443,
            None => 80,
        };
        let roots = match (is_secure, ca) {
            (false, _) => None,
            (true, Some(ca)) => Some(Roots::only(ca).map_err(|_| EndpointFault::Ca)?),
            (true, None) => Some(Roots::load(None).map_err(|_| EndpointFault::Tls)?),
        };
        // Refuse the endpoint when its configuration is read: without root certificates every single call would fail later.
        if roots.as_ref().is_some_and(Roots::are_none) {
            return Err(EndpointFault::NoRoots);
        }
        Ok(Self {
            url: Url::parse(url).map_err(|_| EndpointFault::Malformed)?,
            host,
            port,
            roots,
            token,
        })
    }

    /// Whether what goes there stays on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.host.is_loopback()
    }

    /// Posts a body, and reads its answer until `watch` has seen enough. Says besides whether more came behind the answer.
    ///
    /// # Errors
    /// Why there is no answer, or what `watch` says; a status is an answer, but for a redirect.
    pub(crate) async fn post<E: From<OutgoingError>>(
        &self,
        headers: HeaderMap,
        body: Vec<u8>,
        longest: usize,
        watch: &mut (impl WatchPieces<E> + ?Sized),
    ) -> Result<(HttpAnswer, bool), E> {
        let request = written(Method::POST, &self.url, headers, Bytes::from(body))?;
        let stream = self.dial().await.ok_or(OutgoingError::Unreachable)?;
        let stream = secured(stream, &self.url, self.roots.as_ref(), None).await?;
        exchange(stream, request, longest, watch).await
    }

    /// The `Authorization` of a request, where it needs one. It does not print. `None` where the token cannot be read.
    pub(crate) fn authorize(&self, headers: &mut HeaderMap) -> Option<()> {
        if let Some(token) = &self.token {
            headers.insert(header::AUTHORIZATION, bearer(&token.read()?).ok()?);
        }
        Some(())
    }

    async fn dial(&self) -> Option<TcpStream> {
        match &self.host {
            Host::Address(address) => TcpStream::connect((*address, self.port)).await.ok(),
            Host::Name(name) => TcpStream::connect((name.as_str(), self.port)).await.ok(),
            Host::Here => match TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await {
                Ok(stream) => Some(stream),
                // The agent may listen at the IPv6 loopback address alone, so try that one if IPv4 fails.
                Err(_) => TcpStream::connect((Ipv6Addr::LOCALHOST, self.port))
                    .await
                    .ok(),
            },
        }
    }
}

impl Host {
    fn of(text: &str) -> Result<Self, EndpointFault> {
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        match bare.unwrap_or(text).parse() {
            Ok(address) => Ok(Self::Address(address)),
            Err(_) if text.is_empty() || bare.is_some() => Err(EndpointFault::Malformed),
            Err(_) if text.eq_ignore_ascii_case("localhost") => Ok(Self::Here),
            Err(_) => Ok(Self::Name(text.to_owned())),
        }
    }

    const fn is_loopback(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Here => true,
            // `localhost` is `Here`. Any other name can lead to another machine tomorrow, so it does not count as loopback.
            Self::Name(_) => false,
        }
    }
}

impl Token {
    /// Its text, without the line feed at its end.
    fn read(&self) -> Option<String> {
        let text = match self {
            Self::File(path) => std::fs::read_to_string(path).ok()?,
            Self::Variable(name) => std::env::var(name).ok()?,
        };
        let text = text.trim_end_matches(['\r', '\n']);
        let fits = !text.is_empty() && text.len() <= LONGEST_TOKEN;
        fits.then(|| text.to_owned())
    }
}

fn bearer(text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {text}"))?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("tls", &self.roots.is_some())
            .finish_non_exhaustive()
    }
}

const LONGEST_TOKEN: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Endpoint, EndpointFault> {
        Endpoint::parse(url, false, None, None)
    }

    #[test]
    fn a_pipe_in_the_place_of_the_certificates_is_refused_at_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("ca.pem");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let (told, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            told.send(Endpoint::parse("https://a.example/", false, Some(&pipe), None).map(drop))
        });
        let said = heard.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(said.unwrap().unwrap_err(), EndpointFault::Ca);
    }

    #[test]
    fn this_machine_is_reached_in_clear_and_every_other_by_tls_alone() {
        for url in [
            "http://127.0.0.1:9000/",
            "http://127.8.8.8/agent?x=1",
            "http://[::1]:9000",
            "http://localhost:80/",
            "http://LOCALHOST/",
        ] {
            assert!(parse(url).unwrap().is_loopback(), "{url}");
        }
        for url in [
            "http://192.168.1.2/",
            "http://localhost.example.org/",
            "http://127.0.0.1.example.org/",
            "http://0.0.0.0/",
            "http://[::ffff:10.0.0.1]/",
        ] {
            assert_eq!(parse(url).unwrap_err(), EndpointFault::Cleartext, "{url}");
            assert!(Endpoint::parse(url, true, None, None).is_ok(), "{url}");
        }
    }

    #[test]
    fn what_is_no_address_or_holds_a_password_is_refused_without_repeating_it() {
        for url in [
            "",
            "/",
            "127.0.0.1:9000",
            "ftp://127.0.0.1/",
            "http:///x",
            "http://[::1",
            "http://a b/",
            "unix:/run/x",
            "http://127.0.0.1:/",
            "http://[localhost]/",
        ] {
            assert_eq!(parse(url).unwrap_err(), EndpointFault::Malformed, "{url}");
        }
        let fault = parse("http://me:secret@127.0.0.1/").unwrap_err();
        assert_eq!(fault, EndpointFault::User);
        assert!(!fault.to_string().contains("secret"));
    }

    #[test]
    fn a_token_never_prints_and_is_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let endpoint = |path: PathBuf| {
            let token = Some(Token::File(path));
            Endpoint::parse("http://127.0.0.1/", false, None, token).unwrap()
        };
        std::fs::write(&path, "s3cret\n").unwrap();
        let authorized = |endpoint: Endpoint| {
            let mut headers = HeaderMap::new();
            endpoint.authorize(&mut headers)?;
            headers.remove(header::AUTHORIZATION)
        };
        let value = authorized(endpoint(path.clone())).unwrap();
        assert_eq!(value.as_bytes(), b"Bearer s3cret");
        assert!(!format!("{value:?} {:?}", endpoint(path.clone())).contains("s3cret"));
        for text in ["", "\n", "a\nX-Other: b", "a\u{7f}"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(authorized(endpoint(path.clone())), None, "{text:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(authorized(endpoint(path)), None);
    }
}
