//! The listener's own certificate, and those that callers may show.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest as _, Sha256};
use signet_listener::Secures;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::dates;
use crate::config::{GatewayConfig, Tls};
use crate::lock::Locked as _;
use crate::outgoing::{CERTIFICATE, PemFault, certificates, private_key};
use crate::say::say;
use crate::stamp::FileStamp;

/// The listener's TLS, by the files as they are: a certificate that is renewed is shown from the next connection on.
pub(super) struct Secured {
    config: GatewayConfig,
    section: Tls,
    now: Mutex<CurrentCertificate>,
}

struct CurrentCertificate {
    shown: ServedCertificate,
    stamps: Vec<Option<FileStamp>>,
    looked: Instant,
    /// When the dates of the certificate were looked at.
    dated: Instant,
}

/// What callers are shown.
struct ServedCertificate {
    acceptor: TlsAcceptor,
    leaf: Option<CertificateDer<'static>>,
}

impl Secured {
    /// By these files.
    ///
    /// # Errors
    /// Which file is at fault, and what to do.
    pub(super) fn of(
        config: &GatewayConfig,
        section: &Tls,
    ) -> Result<Self, (String, &'static str)> {
        // Take the stamps before the files are read: a file that changes meanwhile has another stamp at the
        // next look, and is read again.
        let stamps = stamps(config, section);
        let shown = shown(config, section)?;
        shown.warn();
        let now = CurrentCertificate {
            shown,
            stamps,
            looked: Instant::now(),
            dated: Instant::now(),
        };
        Ok(Self {
            config: config.clone(),
            section: section.clone(),
            now: Mutex::new(now),
        })
    }

    /// What accepts the next connection. Files that do not fit together, as between the two writes of a renewal, change
    /// nothing until they do.
    fn acceptor(&self) -> TlsAcceptor {
        let mut now = self.now.locked();
        if now.looked.elapsed() >= BEAT {
            now.looked = Instant::now();
            let stamps = stamps(&self.config, &self.section);
            if stamps != now.stamps {
                // Note the stamps even if the files do not fit together: the fault is then logged once for each change, and not
                // every second.
                now.stamps = stamps;
                match shown(&self.config, &self.section) {
                    Ok(shown) => {
                        say("the listener's certificate is read anew");
                        shown.warn();
                        now.shown = shown;
                    }
                    Err((what, _)) => say(&format!("the certificate stays as it was: {what}")),
                }
            }
            if now.dated.elapsed() >= DAY {
                now.dated = Instant::now();
                now.shown.warn();
            }
        }
        now.shown.acceptor.clone()
    }
}

impl Secures for Secured {
    type Stream = TlsStream<TcpStream>;

    async fn secure(&self, stream: TcpStream) -> Option<(Self::Stream, Option<[u8; 32]>)> {
        let stream = self.acceptor().accept(stream).await.ok()?;
        let shown = stream.get_ref().1.peer_certificates();
        let certificate = shown.and_then(|shown| shown.first());
        let certificate = certificate.map(|shown| Sha256::digest(shown.as_ref()).into());
        Some((stream, certificate))
    }
}

impl ServedCertificate {
    /// Tells the owner of a certificate that is near its end or past it.
    fn warn(&self) {
        let leaf = self.leaf.as_ref();
        if let Some(warning) = leaf.and_then(|leaf| dates::warning(leaf, UnixTime::now())) {
            say(&warning);
        }
    }
}

fn stamps(config: &GatewayConfig, section: &Tls) -> Vec<Option<FileStamp>> {
    let files = [
        Some(&section.certificate),
        Some(&section.key),
        section.client_ca.as_ref(),
    ];
    let files = files
        .into_iter()
        .flatten()
        .map(|file: &PathBuf| config.path(file));
    files.map(|file| FileStamp::of(&file)).collect()
}

/// What accepts connections over TLS, by the files as they are.
fn shown(
    config: &GatewayConfig,
    section: &Tls,
) -> Result<ServedCertificate, (String, &'static str)> {
    let (certificate, key) = (config.path(&section.certificate), config.path(&section.key));
    let unfit = |fault: PemFault| (fault.to_string(), NAME_FILES);
    let chain = certificates(&certificate).map_err(unfit)?;
    let secret = private_key(&key).map_err(unfit)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|_| {
        (
            "TLS cannot be set up on this machine".to_owned(),
            NAME_FILES,
        )
    })?;
    let builder = match &section.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let path = config.path(path);
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(&path).map_err(unfit)?);
            // A client that shows no certificate is let through TLS: some routes are open to everybody, and a client
            // may have a token instead.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build();
            builder.with_client_cert_verifier(
                verifier.map_err(|_| unfit(PemFault::nothing(&path, CERTIFICATE)))?,
            )
        }
    };
    let leaf = chain.first().cloned();
    let mut server = builder
        .with_single_cert(chain, secret)
        .map_err(|error| (format!("{}: {error}", certificate.display()), NAME_FILES))?;
    // This listener serves HTTP/1.1 alone (accept.rs), so it offers nothing else.
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    if section.client_ca.is_some() {
        // Do not resume TLS sessions: a resumed session does not check the client's certificate again, so a
        // certificate that has expired meanwhile would still count.
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
    }
    let acceptor = TlsAcceptor::from(Arc::new(server));
    Ok(ServedCertificate { acceptor, leaf })
}

/// How often the files are looked at.
const BEAT: Duration = Duration::from_secs(1);
/// How often the dates of the certificate are.
const DAY: Duration = Duration::from_secs(24 * 3600);
const NAME_FILES: &str = "name the files under [tls] of gateway.toml: `certificate` with its chain, and the `key` that belongs to it";
