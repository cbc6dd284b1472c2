//! Why a server does not make a mailbox, named by the number that it gives to its refusal.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::ConsumerErrorKind;

use crate::Error;

/// The number of a refusal, whatever was asked.
pub(crate) trait RefusalCode {
    /// `None` where no answer came, or none that has a number.
    fn refusal(&self) -> Option<ErrorCode>;
}

impl RefusalCode for CreateStreamErrorKind {
    fn refusal(&self) -> Option<ErrorCode> {
        match self {
            Self::JetStream(error) => Some(error.error_code()),
            _ => None,
        }
    }
}

impl RefusalCode for GetStreamErrorKind {
    fn refusal(&self) -> Option<ErrorCode> {
        match self {
            Self::JetStream(error) => Some(error.error_code()),
            _ => None,
        }
    }
}

impl RefusalCode for ConsumerErrorKind {
    fn refusal(&self) -> Option<ErrorCode> {
        match self {
            Self::JetStream(error) => Some(error.error_code()),
            _ => None,
        }
    }
}

/// The error of somebody who asked for `what` on so many servers; `reason` is what the server said.
pub(crate) fn refused(
    what: &str,
    replicas: usize,
    kind: &impl RefusalCode,
    reason: String,
) -> Error {
    let what = what.to_owned();
    match kind.refusal() {
        Some(ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED) => Error::NoCluster { what, replicas },
        Some(ErrorCode::CLUSTER_NO_PEERS) => Error::NoPeers {
            what,
            replicas,
            reason,
        },
        Some(code) if NO_LEADER.contains(&code) => Error::NoLeader { what, reason },
        Some(ErrorCode::MAXIMUM_CONSUMERS_LIMIT) => Error::TooManyMailboxes { what, reason },
        _ => Error::Setup { what, reason },
    }
}

/// Whether the server, or the account, has not enough room left.
pub(crate) fn is_no_room(kind: &impl RefusalCode) -> bool {
    kind.refusal().is_some_and(|code| NO_ROOM.contains(&code))
}

const NO_LEADER: [ErrorCode; 3] = [
    ErrorCode::CLUSTER_NOT_AVAILABLE,
    ErrorCode::CLUSTER_NOT_LEADER,
    ErrorCode::CLUSTER_NOT_ACTIVE,
];
const NO_ROOM: [ErrorCode; 4] = [
    ErrorCode::STORAGE_RESOURCES_EXCEEDED,
    ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
    ErrorCode::INSUFFICIENT_RESOURCES,
    ErrorCode::STREAM_MAX_STREAM_BYTES_EXCEEDED,
];
