//! Certificates of an authority that lives as long as a test, and both sides of TLS by them.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, IsCa, Issuer,
    KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use sha2::{Digest as _, Sha256};
use signet_testkit::PATIENCE;

use crate::client::Answer;

/// An authority.
pub(crate) struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate, and the key that belongs to it.
pub(crate) struct Issued {
    pub(crate) certificate: Certificate,
    pub(crate) key: KeyPair,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let mut name = DistinguishedName::new();
        // Make the name from the key, so that each authority has its own name: two authorities of one name would differ
        // by their keys alone.
        name.push(
            DnType::CommonName,
            Sha256::digest(key.serialize_der())
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>(),
        );
        params.distinguished_name = name;
        Self {
            certificate: params.self_signed(&key).unwrap(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for that name or address.
    pub(crate) fn issue(&self, name: &str) -> Issued {
        self.issue_for_years(name, 2020, 4000)
    }

    /// The same from the first day of one year to that of another.
    pub(crate) fn issue_for_years(&self, name: &str, from: i32, to: i32) -> Issued {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued { certificate, key }
    }

    pub(crate) fn write(&self, path: &Path) {
        std::fs::write(path, self.certificate.pem()).unwrap();
    }

    /// A client that believes this authority alone, and shows that certificate.
    pub(crate) fn client(&self, shows: Option<&Issued>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        Arc::new(match shows {
            None => builder.with_no_client_auth(),
            Some(issued) => builder
                .with_client_auth_cert(issued.chain(), issued.secret())
                .unwrap(),
        })
    }
}

impl Issued {
    /// One that no authority has signed.
    pub(crate) fn by_itself(name: &str) -> Self {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, key }
    }

    /// Writes `<stem>.pem` and `<stem>.key`.
    pub(crate) fn write(&self, dir: &Path, stem: &str) {
        std::fs::write(dir.join(format!("{stem}.pem")), self.certificate.pem()).unwrap();
        std::fs::write(dir.join(format!("{stem}.key")), self.key.serialize_pem()).unwrap();
    }

    /// The SHA-256 of the certificate, in hexadecimal.
    pub(crate) fn hash(&self) -> String {
        hash(self.certificate.der())
    }

    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.certificate.der().clone()]
    }

    pub(crate) fn secret(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.serialize_der().into())
    }

    /// A server that shows it.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = builder.with_no_client_auth();
        Arc::new(
            builder
                .with_single_cert(self.chain(), self.secret())
                .unwrap(),
        )
    }
}

/// One request of TLS, by hand: what came back, and whom the client saw. `None` where either side gave up.
pub(crate) fn talk(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    request: &str,
) -> Option<(Answer, Seen)> {
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    stream.write_all(request.as_bytes()).ok()?;
    let mut reader = BufReader::new(stream);
    let answer = Answer::read(&mut reader)?;
    let connection = &reader.get_ref().conn;
    let shown = connection.peer_certificates()?.first()?;
    Some((
        answer,
        Seen {
            hash: hash(shown),
            is_resumed: connection.handshake_kind() != Some(rustls::HandshakeKind::Full),
        },
    ))
}

/// What a client saw of the listener.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) hash: String,
    /// Whether a session before was taken up again.
    pub(crate) is_resumed: bool,
}

pub(crate) fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn hash(certificate: &CertificateDer<'_>) -> String {
    let hash = Sha256::digest(certificate.as_ref());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
