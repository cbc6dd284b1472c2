//! What has to be new each time: names of messages, nonces, and the randomness of sealed boxes.

use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};

use crate::ids::{Digest, MessageId};
use crate::time::Timestamp;

/// Our only source of randomness: it is seeded from outside, so that a run can be repeated.
#[derive(Debug)]
pub(super) struct Ids {
    rng: ChaCha20Rng,
}

impl Ids {
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self {
            rng: ChaCha20Rng::from_seed(seed),
        }
    }

    /// A name for a message that is written at `now`: later ones sort behind earlier ones.
    pub(super) fn fresh(&mut self, now: Timestamp) -> MessageId {
        let mut random = [0; 10];
        self.rng.fill_bytes(&mut random);
        MessageId::from_parts(u64::try_from(now.as_millis()).unwrap_or_default(), random)
    }

    pub(super) fn nonce(&mut self) -> Digest {
        let mut random = [0; 32];
        self.rng.fill_bytes(&mut random);
        Digest(random)
    }

    /// For what is sealed.
    pub(super) fn rng(&mut self) -> &mut ChaCha20Rng {
        &mut self.rng
    }
}
