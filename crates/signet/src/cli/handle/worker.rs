//! One of the workers of `signet handle`: it receives, lets the command try, and says how that ended.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use signet_api::{
    AcknowledgeLease, Client, ClientError, Fail, Leased, Message, Receive, Request, Respond,
};
use signet_audit::visible;
use signet_proto::json::{self, Limits};

use crate::cli::ask::safe_json;
use crate::cli::{Exit, Failure};
use crate::handler::Handler;

/// How long one call waits for what comes.
const WAIT: Duration = Duration::from_secs(30);
/// How much longer a lease lasts than a try: for what is to be said of it.
const MARGIN: Duration = Duration::from_secs(30);
/// How long the daemon may take for what is its own to do.
const PROMPT: Duration = Duration::from_secs(30);
/// How long a daemon that is not there is left alone, the first time and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Receives with a connection of its own.
pub(super) struct Worker {
    pub(super) socket: PathBuf,
    pub(super) handler: Handler,
    pub(super) capabilities: Option<Vec<String>>,
    /// Whether it ends when nothing waits.
    pub(super) once: bool,
}

impl Worker {
    /// Goes on until nothing waits, or for ever.
    pub(super) async fn work(self) -> Result<(), Failure> {
        let mut pause = PAUSES.0;
        loop {
            match self.serve().await {
                Ok(()) => return Ok(()),
                Err(Ended::Command(failure)) => return Err(failure),
                Err(Ended::Daemon(error)) if self.once => return Err(error.into()),
                Err(Ended::Daemon(error)) => {
                    say(&format!(
                        "{error}; trying again in {} s",
                        pause.as_secs_f32()
                    ));
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(PAUSES.1);
                }
            }
        }
    }

    async fn serve(&self) -> Result<(), Ended> {
        let socket = self.socket.clone();
        let mut client = blocking(move || Client::connect(&socket, PROMPT + WAIT)).await?;
        let receive = Receive {
            capabilities: self.capabilities.clone(),
            wait: if self.once { 0.0 } else { WAIT.as_secs_f64() },
            lease: Some((self.handler.timeout + MARGIN).as_secs_f64()),
            limit: None,
        };
        loop {
            let (back, received) = call(client, receive.clone()).await?;
            client = back;
            let Some(leased) = received.messages.into_iter().next() else {
                match self.once {
                    true => return Ok(()),
                    false => continue,
                }
            };
            client = self.attempt(client, leased).await?;
        }
    }

    /// One try, and what is said of it.
    async fn attempt(&self, client: Client, leased: Leased) -> Result<Client, Ended> {
        let asks = leased.message.is_request();
        let stays = asks || leased.message.is_handoff();
        let name = format!("{} from {}", leased.message.message_id, leased.message.from);
        let lease = leased.lease.clone();
        let output = match self.handler.run(&input_of(&leased)?, asks).await {
            Ok(Ok(output)) => output,
            Ok(Err(reason)) => return fail(client, lease, &name, reason).await,
            Err(error) => {
                let command = self.handler.command.first().cloned().unwrap_or_default();
                let what = format!("{} cannot be run: {error}", command.display());
                let next = "name a program that is there and may be executed, behind --";
                return Err(Ended::Command(Failure::new(Exit::Usage, what, next)));
            }
        };
        if !asks || output.trim_ascii().is_empty() {
            let done = AcknowledgeLease { lease, keep: stays };
            return conclude(client, done, &name).await;
        }
        match json::parse(&output, Limits::MESSAGE) {
            Ok(body) => respond(client, lease, body, &name).await,
            Err(_) => fail(client, lease, &name, "its answer is not JSON".to_owned()).await,
        }
    }
}

/// Why a worker stopped.
enum Ended {
    /// The daemon is not there, or speaks no more.
    Daemon(ClientError),
    /// The command cannot be run at all: no message has to suffer for it.
    Command(Failure),
}

impl From<ClientError> for Ended {
    fn from(error: ClientError) -> Self {
        Self::Daemon(error)
    }
}

/// The message as the command reads it: who has the lease could answer in our place, so it does not go on.
#[derive(Serialize)]
struct Given<'a> {
    key: &'a str,
    tries: u8,
    #[serde(flatten)]
    message: &'a Message,
}

fn input_of(leased: &Leased) -> Result<Vec<u8>, Ended> {
    let given = Given {
        key: &leased.key,
        tries: leased.tries,
        message: &leased.message,
    };
    let value = serde_json::to_value(given).map_err(|_| ClientError::Malformed)?;
    Ok(format!("{}\n", safe_json(&value)).into_bytes())
}

async fn respond(client: Client, lease: String, body: Value, name: &str) -> Result<Client, Ended> {
    let answer = Respond {
        lease: Some(lease.clone()),
        body,
        ..Respond::default()
    };
    match try_call(client, answer).await? {
        (client, Ok(_)) => Ok(client),
        (client, Err(refused)) => {
            let reason = format!("its answer was refused: {}", refused_as(&refused));
            fail(client, lease, name, reason).await
        }
    }
}

async fn fail(client: Client, lease: String, name: &str, reason: String) -> Result<Client, Ended> {
    say(&format!("{name}: {reason}"));
    conclude(client, Fail { lease, reason }, name).await
}

/// Says how a try ended. A lease that has ended meanwhile is somebody else's.
async fn conclude<R>(client: Client, said: R, name: &str) -> Result<Client, Ended>
where
    R: Request + Send + 'static,
    R::Answer: Send,
{
    let (client, said) = try_call(client, said).await?;
    if let Err(refused) = said {
        say(&format!("{name}: {refused}"));
    }
    Ok(client)
}

async fn call<R>(client: Client, request: R) -> Result<(Client, R::Answer), Ended>
where
    R: Request + Send + 'static,
    R::Answer: Send,
{
    match try_call(client, request).await? {
        (client, Ok(answer)) => Ok((client, answer)),
        (_, Err(refused)) => Err(Ended::Daemon(refused)),
    }
}

/// What the daemon refuses is an answer too; every other error ends the connection.
async fn try_call<R>(
    mut client: Client,
    request: R,
) -> Result<(Client, Result<R::Answer, ClientError>), Ended>
where
    R: Request + Send + 'static,
    R::Answer: Send,
{
    blocking(move || match client.call(&request) {
        Ok(answer) => Ok((client, Ok(answer))),
        Err(error @ ClientError::Refused(_)) => Ok((client, Err(error))),
        Err(error) => Err(error),
    })
    .await
}

async fn blocking<T: Send + 'static>(
    task: impl FnOnce() -> Result<T, ClientError> + Send + 'static,
) -> Result<T, Ended> {
    let done = tokio::task::spawn_blocking(task).await;
    Ok(done.map_err(|_| ClientError::Closed)??)
}

fn refused_as(error: &ClientError) -> String {
    match error {
        ClientError::Refused(refused) => refused
            .reason()
            .map_or_else(|| "invalid".to_owned(), |reason| reason.to_string()),
        other => other.to_string(),
    }
}

fn say(what: &str) {
    anstream::eprintln!("{}", visible(what));
}
