//! Proxies, by the usual variables. A proxy is told the address that was judged, never the name: it could resolve that to
//! another.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use data_encoding::BASE64;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::OutgoingError;

/// The proxies of this machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxies {
    http: Option<Arc<HttpProxy>>,
    https: Option<Arc<HttpProxy>>,
    /// What is called without one.
    except: Arc<[String]>,
}

struct HttpProxy {
    host: String,
    port: u16,
    authorization: Option<String>,
}

impl Proxies {
    /// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, in small letters before capitals.
    ///
    /// # Errors
    /// Which variable names no proxy.
    pub(super) fn of(environment: &BTreeMap<String, String>) -> Result<Self, String> {
        let variable = |name: &str| {
            let value = environment.get(name).or_else(|| match name {
                // `HTTP_PROXY` in capitals is not read: a server that runs CGI scripts puts a client's header `Proxy`
                // into that variable (CVE-2016-5385).
                "http_proxy" => None,
                _ => environment.get(&name.to_ascii_uppercase()),
            });
            value.filter(|value| !value.is_empty())
        };
        let proxy = |name: &str| {
            let value = variable(name).or_else(|| variable("all_proxy"));
            value
                .map(|value| HttpProxy::parse(name, value).map(Arc::new))
                .transpose()
        };
        let except = variable("no_proxy").map_or("", String::as_str).split(',');
        let except = except.map(|name| name.trim().to_ascii_lowercase());
        Ok(Self {
            http: proxy("http_proxy")?,
            https: proxy("https_proxy")?,
            except: except.filter(|name| !name.is_empty()).collect(),
        })
    }

    /// A connection to `address`, by a proxy where there is one for `url`.
    pub(super) async fn connect(
        &self,
        url: &Url,
        address: SocketAddr,
    ) -> Result<TcpStream, OutgoingError> {
        match self.of_url(url, address) {
            Some(proxy) => proxy.connect(address).await,
            None => {
                let stream = TcpStream::connect(address).await;
                stream.map_err(|_| OutgoingError::Unreachable)
            }
        }
    }

    fn of_url(&self, url: &Url, address: SocketAddr) -> Option<&HttpProxy> {
        let host = url.host_str()?.to_ascii_lowercase();
        let address = address.ip();
        // Call a loopback address directly: a proxy on another machine would take such an address for its own.
        let is_excepted = address.is_loopback()
            || self.except.iter().any(|name| {
                let name = name.strip_prefix('.').unwrap_or(name);
                let is_below = || {
                    host.strip_suffix(name)
                        .is_some_and(|rest| rest.ends_with('.'))
                };
                name == "*" || host == name || is_below() || address.to_string() == name
            });
        let proxy = match url.scheme() {
            "https" => &self.https,
            _ => &self.http,
        };
        proxy.as_deref().filter(|_| !is_excepted)
    }
}

impl HttpProxy {
    fn parse(name: &str, value: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{name} in the environment names no proxy; write http://host:port, or unset it")
        };
        let value = match value.contains("://") {
            true => value.to_owned(),
            false => format!("http://{value}"),
        };
        let url = Url::parse(&value).map_err(|_| wrong())?;
        let (Some(host), "http") = (url.host_str(), url.scheme()) else {
            return Err(wrong());
        };
        let user = (!url.username().is_empty()).then(|| {
            let password = url.password().unwrap_or_default();
            let pair = format!("{}:{password}", url.username());
            format!("Basic {}", BASE64.encode(pair.as_bytes()))
        });
        Ok(Self {
            // A URL has an IPv6 address in brackets, and `TcpStream::connect` takes it only without them: so remove the
            // brackets.
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(80),
            authorization: user,
        })
    }

    /// A tunnel to that address (RFC 9110, section 9.3.6).
    async fn connect(&self, address: SocketAddr) -> Result<TcpStream, OutgoingError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let mut stream = stream.map_err(|_| OutgoingError::Proxy)?;
        let mut head = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n");
        if let Some(authorization) = &self.authorization {
            head.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        head.push_str("\r\n");
        let written = stream.write_all(head.as_bytes()).await;
        written.map_err(|_| OutgoingError::Proxy)?;
        match answer(&mut stream).await {
            Some(answer) if is_good(&answer) => Ok(stream),
            _ => Err(OutgoingError::Proxy),
        }
    }
}

/// The head of the proxy's answer, byte by byte: what follows it is the other side's.
async fn answer(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= LONGEST_ANSWER {
            return None;
        }
        head.push(stream.read_u8().await.ok()?);
    }
    Some(head)
}

fn is_good(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let version = words.next().unwrap_or_default();
    version.starts_with(b"HTTP/1.")
        && words
            .next()
            .is_some_and(|status| status.len() == 3 && status.starts_with(b"2"))
}

impl fmt::Debug for HttpProxy {
    /// Without the user and the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({}:{})", self.host, self.port)
    }
}

const LONGEST_ANSWER: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let owned = variables
            .iter()
            .map(|(name, value)| (String::from(*name), String::from(*value)));
        Proxies::of(&owned.collect()).unwrap()
    }

    fn by(proxies: &Proxies, url: &str) -> Option<String> {
        let address = "93.184.216.34:443".parse().unwrap();
        let proxy = proxies.of_url(&Url::parse(url).unwrap(), address);
        proxy.map(|proxy| format!("{proxy:?}"))
    }

    #[test]
    fn the_usual_variables_are_read_and_exceptions_hold() {
        let known = proxies(&[
            ("HTTPS_PROXY", "http://user:pass@proxy.test:3128"),
            ("no_proxy", "example.org, .inner.test"),
        ]);
        assert_eq!(
            by(&known, "https://a.test/").as_deref(),
            Some("Proxy(proxy.test:3128)")
        );
        for direct in [
            "https://example.org/",
            "https://x.example.org/",
            "https://a.inner.test/",
            "http://a.test/",
        ] {
            assert_eq!(by(&known, direct), None, "{direct}");
        }
        assert!(by(&known, "https://notexample.org/").is_some());
        assert!(by(&proxies(&[("all_proxy", "p.test:1")]), "http://a.test/").is_some());
        assert!(
            by(
                &proxies(&[("HTTP_PROXY", "http://p.test:1")]),
                "http://a.test/"
            )
            .is_none()
        );
        assert!(
            by(
                &proxies(&[("https_proxy", "p:1"), ("no_proxy", "*")]),
                "https://a.test/"
            )
            .is_none()
        );
    }

    #[test]
    fn what_names_no_proxy_is_refused_by_the_name_of_the_variable() {
        for value in ["socks5://p.test:1", "https://p.test:1", "http://"] {
            let environment = [("https_proxy".to_owned(), value.to_owned())].into();
            let error = Proxies::of(&environment).unwrap_err();
            assert!(error.contains("https_proxy"), "{error}");
        }
    }

    #[test]
    fn only_a_good_answer_opens_the_tunnel() {
        assert!(is_good(b"HTTP/1.1 200 Connection established\r\n\r\n"));
        for head in [
            &b"HTTP/1.1 407 x\r\n\r\n"[..],
            b"HTTP/1.1 2000 x\r\n\r\n",
            b"ICY 200 OK\r\n\r\n",
            b"\r\n\r\n",
        ] {
            assert!(!is_good(head));
        }
    }
}
