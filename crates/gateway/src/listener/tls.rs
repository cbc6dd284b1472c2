//! The listener's own certificate, and those that callers may show.

use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, Tls};
use crate::outgoing::certificates;

/// What accepts connections over TLS.
///
/// # Errors
/// Which file is at fault, and what to do.
pub(super) fn acceptor(
    config: &Config,
    section: &Tls,
) -> Result<TlsAcceptor, (String, &'static str)> {
    let (certificate, key) = (config.path(&section.certificate), config.path(&section.key));
    let chain = certificates(&certificate).ok_or_else(|| {
        (
            format!("{} holds no certificate in PEM", certificate.display()),
            NAME_FILES,
        )
    })?;
    let secret = PrivateKeyDer::from_pem_file(&key).map_err(|_| {
        (
            format!(
                "{} holds no private key in PEM that can be read",
                key.display()
            ),
            NAME_FILES,
        )
    })?;
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
            let unfit = || {
                (
                    format!("{} holds no certificate in PEM", path.display()),
                    NAME_FILES,
                )
            };
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(&path).ok_or_else(unfit)?);
            // Some routes are open to everybody, and tokens are there as well: whoever shows none is no fault of TLS.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build();
            builder.with_client_cert_verifier(verifier.map_err(|_| unfit())?)
        }
    };
    let mut server = builder
        .with_single_cert(chain, secret)
        .map_err(|error| (format!("{}: {error}", certificate.display()), NAME_FILES))?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(server)))
}

const NAME_FILES: &str = "name the files under [tls] of gateway.toml: `certificate` with its chain, and the `key` that belongs to it";
