//! Messages whose signatures are verified up to the last step, which many take at the cost of one.

use std::sync::Arc;

use super::{Proven, Unproven, Verified};
use crate::envelope::Message;
use crate::keys::OpenCheck;
use crate::reject::Reason;
use crate::trust::TrustView;

/// A message that passed the checks V05 and V06, and of whose signature (V07) the last step is to be taken.
#[derive(Debug)]
pub(crate) struct OpenProof {
    message: Arc<Message>,
    epoch: u64,
    check: Box<OpenCheck>,
}

/// How far a message is verified.
#[derive(Debug)]
pub(crate) enum BegunProof {
    Done(Proven),
    Open(OpenProof),
}

impl BegunProof {
    /// The signature whose last step is to be taken.
    pub(crate) fn check(&self) -> Option<&OpenCheck> {
        match self {
            Self::Done(_) => None,
            Self::Open(open) => Some(&open.check),
        }
    }

    /// The end, by the next of the verdicts on the open checks where this is one of them.
    pub(crate) fn close(self, verdicts: &mut impl Iterator<Item = bool>) -> Proven {
        match self {
            Self::Done(proven) => proven,
            Self::Open(open) => open.close(verdicts.next() == Some(true)),
        }
    }
}

impl OpenProof {
    pub(super) fn new(message: Arc<Message>, epoch: u64, check: Box<OpenCheck>) -> Self {
        Self {
            message,
            epoch,
            check,
        }
    }

    /// Takes the last step for this one alone.
    pub(super) fn settle(self, view: &TrustView) -> Proven {
        let holds = view.tables().settle(&[&self.check]) == [true];
        self.close(holds)
    }

    fn close(self, holds: bool) -> Proven {
        match holds {
            true => Proven::Verified(Verified::of(self.message, None, self.epoch)),
            false => Proven::Unproven(Unproven {
                message: Box::new(Arc::unwrap_or_clone(self.message)),
                reason: Reason::SignatureInvalid,
            }),
        }
    }
}
