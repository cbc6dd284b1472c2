//! Who we are: our names, our keys, and what others certify of us.

use rand_core::CryptoRngCore;

use crate::certificate::{Certificate, ControlCertificate, KeyStatement};
use crate::envelope::Sealed;
use crate::headers::Layers;
use crate::ids::{AgentId, KeyId};
use crate::keys::{SealKey, SealSecret, SigningKey};
use crate::reject::Reason;
use crate::time::Timestamp;

/// Who we are: names, keys and what others certify of us.
#[derive(Debug)]
pub struct Identity {
    /// Our certificate.
    pub certificate: Certificate,
    /// Our key statement.
    pub keys: KeyStatement,
    /// The key that the certificate names.
    pub signing: SigningKey,
    /// Keys that signed before it: they sign the receipts of the sessions that they opened, and
    /// nothing else.
    pub former: Vec<SigningKey>,
    /// The skill layers that we have loaded, within the certificate's.
    pub layers: Layers,
    /// The secrets of our sealing keys that are not destroyed yet, the one of `keys` among them.
    pub secrets: Vec<SealSecret>,
    /// Our person's own keys: who approves and pauses, and for whom the log is sealed once more.
    pub control: Option<ControlCertificate>,
}

impl Identity {
    /// Our agent-id.
    pub fn agent(&self) -> &AgentId {
        &self.certificate.agent
    }

    /// Until when our certificate and key statement last: no session of ours outlasts it.
    pub fn until(&self) -> Timestamp {
        self.certificate.not_after.min(self.keys.not_after)
    }

    /// Our signing key `key`, now or formerly, when we still have it.
    pub fn signer(&self, key: KeyId) -> Option<&SigningKey> {
        std::iter::once(&self.signing)
            .chain(&self.former)
            .find(|signer| signer.public().id() == key)
    }

    /// The secret that opens `sealed`, when it names a key whose secret we still have.
    pub fn secret_for(&self, sealed: &Sealed) -> Option<&SealSecret> {
        self.secrets
            .iter()
            .find(|secret| sealed.is_for(secret.public()))
    }

    /// What was or will be sealed for somebody else, sealed for our person's audit key.
    pub(crate) fn copy_of(
        &self,
        plaintext: &[u8],
        rng: &mut impl CryptoRngCore,
    ) -> Result<Option<Sealed>, Reason> {
        let key = self.control.as_ref().map(|control| control.audit_key);
        key.map(|key| Sealed::seal(key, plaintext, rng)).transpose()
    }

    /// The secret of the sealing key `key`, when we still have it.
    pub fn secret(&self, key: SealKey) -> Option<&SealSecret> {
        self.secrets.iter().find(|secret| secret.public() == key)
    }
}
