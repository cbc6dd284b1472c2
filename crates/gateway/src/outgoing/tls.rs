//! Whom a connection believes: the roots that this machine trusts, or one certificate.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Url;

use super::OutgoingError;
use super::pem::certificates;

/// The roots of this machine, and those of the configuration.
#[derive(Clone, Debug)]
pub(super) struct Roots {
    provider: Arc<CryptoProvider>,
    by_roots: Option<Arc<ClientConfig>>,
}

impl Roots {
    /// Those of this machine, and those of the configuration.
    ///
    /// # Errors
    /// That the file of the configuration holds none.
    pub(super) fn load(ca: Option<&Path>) -> Result<Self, String> {
        let mut all = rustls_native_certs::load_native_certs().certs;
        if let Some(path) = ca {
            let named = certificates(path);
            all.extend(named.map_err(|fault| format!("{fault}; correct `ca` under [outgoing]"))?);
        }
        Self::of(all)
    }

    /// Those of a file alone.
    ///
    /// # Errors
    /// That it holds none.
    pub(super) fn only(ca: &Path) -> Result<Self, String> {
        let roots = Self::of(certificates(ca).map_err(|fault| fault.to_string())?)?;
        match roots.are_none() {
            true => Err("it holds no certificate that can be trusted".to_owned()),
            false => Ok(roots),
        }
    }

    fn of(all: Vec<CertificateDer<'static>>) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(all);
        // Having no root certificates is no error here: servers with a pinned certificate can still be called. A caller that
        // needs roots asks `are_none`.
        let by_roots = match store.is_empty() {
            true => None,
            false => Some(Arc::new(by_roots(&provider, store)?)),
        };
        Ok(Self { provider, by_roots })
    }

    /// Whether nobody is believed but by a pin.
    pub(super) const fn are_none(&self) -> bool {
        self.by_roots.is_none()
    }

    /// Speaks TLS to the server of that address.
    pub(super) async fn secure(
        &self,
        stream: TcpStream,
        url: &Url,
        pinned: Option<Arc<[[u8; 32]]>>,
    ) -> Result<TlsStream<TcpStream>, OutgoingError> {
        let config = match pinned {
            Some(pinned) => self.by_pin(pinned).ok_or(OutgoingError::Certificate)?,
            None => self.by_roots.clone().ok_or(OutgoingError::Certificate)?,
        };
        let host = url.host_str().ok_or(OutgoingError::Malformed)?;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|_| OutgoingError::Malformed)?;
        let secured = TlsConnector::from(config).connect(name, stream).await;
        secured.map_err(|error| of_tls(&error))
    }

    fn by_pin(&self, pinned: Arc<[[u8; 32]]>) -> Option<Arc<ClientConfig>> {
        let verifier = Pinned {
            pinned,
            provider: Arc::clone(&self.provider),
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider));
        let builder = builder.with_safe_default_protocol_versions().ok()?;
        let config = builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        Some(Arc::new(config.with_no_client_auth()))
    }
}

fn by_roots(provider: &Arc<CryptoProvider>, store: RootCertStore) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|_| "TLS cannot be set up on this machine".to_owned())?;
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}

fn of_tls(error: &std::io::Error) -> OutgoingError {
    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(_)) => OutgoingError::Certificate,
        Some(_) => OutgoingError::Tls,
        None => OutgoingError::Unreachable,
    }
}

/// Believes these certificates and no other: neither its name nor its dates mean anything beside that.
#[derive(Debug)]
struct Pinned {
    pinned: Arc<[[u8; 32]]>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown: [u8; 32] = Sha256::digest(end_entity.as_ref()).into();
        match self.pinned.contains(&shown) {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::InvalidCertificate(
                rustls::CertificateError::ApplicationVerificationFailure,
            )),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // Check the handshake's signature for a pinned certificate, too. Anybody can send the certificate, because it is
        // public: only the signature proves that the server has its key.
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
