//! What can go wrong between this agent and its NATS server.

use std::path::PathBuf;

use async_nats::{ConnectError, ConnectErrorKind, rustls};

/// Why a connection could not be made, or bytes not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A setting cannot be used as it stands.
    #[error("NATS setting `{setting}`: {reason}")]
    Setting {
        /// The field of `Config`.
        setting: &'static str,
        /// What is wrong and what to write instead.
        reason: String,
    },
    /// A certificate or key for TLS cannot be read, or is none.
    #[error("NATS TLS file {}: {reason}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of secrets cannot be read, or does not hold what it should.
    #[error("NATS login file {}: {reason}", path.display())]
    LoginFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The server answered and does not let us in.
    #[error(
        "NATS server {server} refuses the login ({reason}): \
         compare the login of this agent with the server's `accounts` block"
    )]
    LoginRefused {
        /// The server tried.
        server: String,
        /// The server's words.
        reason: String,
    },
    /// TLS could not be established.
    #[error(
        "no TLS with NATS server {server} ({reason}): \
         is `tls.ca` the authority that signed its certificate, and does the certificate name this host?"
    )]
    Tls {
        /// The server tried.
        server: String,
        /// The TLS library's words.
        reason: String,
    },
    /// The server does not answer.
    #[error(
        "NATS server {server} cannot be reached ({reason}): is it running, and is the address right?"
    )]
    Unreachable {
        /// The server tried.
        server: String,
        /// The system's words.
        reason: String,
    },
    /// There is no connection at this moment; it is being restored in the background.
    #[error("no connection to the NATS server: nothing was sent; try again after it is back")]
    Disconnected,
    /// The connection was drained or its inbox dropped; it does not come back.
    #[error("the NATS connection was closed: connect anew")]
    Closed,
    /// The message that is to be settled was in a store that the broker lost.
    #[error("the mailbox was made anew since this message came: there is nothing to settle")]
    Stale,
    /// More bytes than this side or the server takes in one message.
    #[error("a message of {length} bytes is over the limit of {limit}: send less at once")]
    TooLarge {
        /// Length in bytes.
        length: usize,
        /// The lower of `max_bytes` and the server's `max_payload`.
        limit: usize,
    },
    /// Not a subject that one can publish to.
    #[error("`{subject}` is not a NATS subject to publish to: no spaces, empty parts or wildcards")]
    Subject {
        /// The subject as given.
        subject: String,
    },
    /// The server did not make what was asked of it.
    #[error("{what}: {reason}")]
    Setup {
        /// The stream or the consumer.
        what: String,
        /// The server's words.
        reason: String,
    },
    /// More replicas were asked for than a server that stands alone can have.
    #[error(
        "{what}: {replicas} replicas were asked for, and this server stands alone: it belongs to no cluster"
    )]
    NoCluster {
        /// The stream.
        what: String,
        /// How many were asked for.
        replicas: usize,
    },
    /// The cluster has not so many servers that could take the mailboxes.
    #[error(
        "{what}: the cluster has no {replicas} servers that take it ({reason}): \
         each needs JetStream and room, and must be up"
    )]
    NoPeers {
        /// The stream.
        what: String,
        /// How many replicas were asked for.
        replicas: usize,
        /// The server's words.
        reason: String,
    },
    /// The servers of a cluster have not agreed on a leader: they just started, or most of them are away.
    #[error("{what}: the cluster has no leader at this moment ({reason})")]
    NoLeader {
        /// The stream or the consumer.
        what: String,
        /// The server's words.
        reason: String,
    },
    /// The server takes no more consumers, and each mailbox has one.
    #[error(
        "{what}: the server takes no more mailboxes ({reason}): its limit of consumers is reached, \
         which is 1,000 a stream on nats-server 2.15 unless its configuration says otherwise"
    )]
    TooManyMailboxes {
        /// The consumer.
        what: String,
        /// The server's words.
        reason: String,
    },
    /// The server, or the account on it, has not the room that the mailboxes are to have.
    #[error(
        "{what}: {reason}: {mailboxes} mailboxes are to have {} MiB together, and have {} MiB; {}",
        wanted >> 20, has >> 20, told(*reserved, *limit)
    )]
    NoRoom {
        /// The stream.
        what: String,
        /// The server's words.
        reason: String,
        /// How many mailboxes the stream is to have.
        mailboxes: usize,
        /// What it is to have for them, in bytes.
        wanted: u64,
        /// What it has.
        has: u64,
        /// What all streams of the account have, where it is known.
        reserved: Option<u64>,
        /// What the account may have, where it has a limit of its own.
        limit: Option<u64>,
    },
    /// The server did not confirm in time that everything published before the drain reached it.
    #[error(
        "the NATS connection closed without the server's confirmation: \
         what was published last may be lost; send again what has no receipt"
    )]
    Undrained,
}

impl Error {
    /// Names what stopped a connection to `server`.
    pub(crate) fn from_connect(server: String, error: &ConnectError) -> Self {
        let reason = error.to_string();
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                Self::LoginRefused { server, reason }
            }
            ConnectErrorKind::Tls => Self::Tls { server, reason },
            _ if comes_from_tls(error) => Self::Tls { server, reason },
            _ => Self::Unreachable { server, reason },
        }
    }

    pub(crate) fn needs_a_person(&self) -> bool {
        use Error::{LoginFile, LoginRefused, Setting, Tls, TlsFile};
        matches!(
            self,
            LoginFile { .. } | LoginRefused { .. } | Setting { .. } | Tls { .. } | TlsFile { .. }
        )
    }
}

/// What an account has of its room, in words.
fn told(reserved: Option<u64>, limit: Option<u64>) -> String {
    let reserved = reserved.map_or_else(
        || "what the other streams have is not known".to_owned(),
        |reserved| format!("all streams of this account have {} MiB", reserved >> 20),
    );
    match limit {
        Some(limit) => format!("{reserved}, of {} MiB that it may have", limit >> 20),
        None => format!(
            "{reserved}, and the rest of the server's store (max_file in its configuration) is less"
        ),
    }
}

/// The client library calls a bad certificate an IO error.
fn comes_from_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    let inner = io.and_then(std::io::Error::get_ref);
    let here = inner.is_some_and(|e| e.downcast_ref::<rustls::Error>().is_some());
    here || error.source().is_some_and(comes_from_tls)
}
