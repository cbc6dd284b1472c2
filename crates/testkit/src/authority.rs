//! An authority for TLS that the tests make, and what it signs.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// Trusted by whoever is told so.
pub struct TlsAuthority {
    /// Its own certificate, PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Default for TlsAuthority {
    fn default() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self {
            certificate: params.self_signed(&key).unwrap().pem(),
            issuer: Issuer::new(params, key),
        }
    }
}

impl TlsAuthority {
    /// Writes `NAME.pem` and `NAME-key.pem` into the folder: a certificate for that host, and its key.
    pub fn certify(&self, folder: &Path, name: &str, host: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([host.to_owned()]).unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), signed.pem()).unwrap();
        let file = folder.join(format!("{name}-key.pem"));
        std::fs::write(file, key.serialize_pem()).unwrap();
    }
}
