//! Calls to the daemon, whose answers are waited for beside the event loop, and why a worker stops.

use signet_api::{Client, ClientError, Request};

use crate::Fault;

/// Why a worker stopped.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// The daemon is not there, or speaks no more.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// The handler cannot be started at all.
    #[error("{0}")]
    Unusable(Fault),
    /// The process was told to end, and something may wait still.
    #[error("stopped before everything was handled")]
    Told,
    /// Nothing waits any more, and so many messages were given up.
    #[error("messages that could not be handled and are in the quarantine: {0}")]
    Quarantined(usize),
}

pub(crate) async fn call<R>(client: Client, request: R) -> Result<(Client, R::Answer), Stopped>
where
    R: Request + Send + 'static,
    R::Answer: Send,
{
    match try_call(client, request).await? {
        (client, Ok(answer)) => Ok((client, answer)),
        (_, Err(refused)) => Err(Stopped::Daemon(refused)),
    }
}

/// What the daemon refuses is an answer too; every other error ends the connection.
pub(crate) async fn try_call<R>(
    mut client: Client,
    request: R,
) -> Result<(Client, Result<R::Answer, ClientError>), Stopped>
where
    R: Request + Send + 'static,
    R::Answer: Send,
{
    // Move the client to the blocking thread and back: a blocking task cannot borrow the client.
    blocking(move || match client.call(&request) {
        Ok(answer) => Ok((client, Ok(answer))),
        Err(error @ ClientError::Refused(_)) => Ok((client, Err(error))),
        Err(error) => Err(error),
    })
    .await
}

pub(crate) async fn blocking<T: Send + 'static>(
    task: impl FnOnce() -> Result<T, ClientError> + Send + 'static,
) -> Result<T, Stopped> {
    let done = tokio::task::spawn_blocking(task).await;
    Ok(done.map_err(|_| ClientError::Closed)??)
}
