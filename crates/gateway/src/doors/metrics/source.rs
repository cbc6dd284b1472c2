//! The numbers of the daemon, asked for at its carrier socket: at most once a second, however many callers there are.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use signet_api::{ClientError, Metrics, ShowMetrics};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::doors::inbox::link::{CarrierConnection, Notifications};
use crate::say::say;

/// Where the numbers come from.
pub(super) struct MetricsSource {
    socket: PathBuf,
    /// Held while the daemon is asked, so that those who come meanwhile get the same answer.
    last: Mutex<LastAnswer>,
}

#[derive(Default)]
struct LastAnswer {
    /// When the daemon was last asked, and what it answered.
    asked: Option<(Instant, Option<Arc<Metrics>>)>,
    /// The connection stands as long as its notifications are held; the daemon tells none on it.
    link: Option<(CarrierConnection, Notifications)>,
    /// The cause why the daemon does not answer, as it was last logged.
    told: Option<String>,
}

impl MetricsSource {
    pub(super) fn at(socket: &Path) -> Self {
        Self {
            socket: socket.to_owned(),
            last: Mutex::default(),
        }
    }

    /// The numbers, a second old at most; `None` where the daemon does not answer in time.
    pub(super) async fn metrics(&self) -> Option<Arc<Metrics>> {
        let mut last = self.last.lock().await;
        if let Some((asked, metrics)) = &last.asked
            && asked.elapsed() < FRESH
        {
            return metrics.clone();
        }
        let answer = last.ask(&self.socket).await;
        let metrics = last.hear(answer).map(Arc::new);
        last.asked = Some((Instant::now(), metrics.clone()));
        metrics
    }
}

impl LastAnswer {
    async fn ask(&mut self, socket: &Path) -> Result<Metrics, ClientError> {
        // Take the connection out: a caller who goes while the daemon is asked leaves none behind that may still answer.
        let kept = self.link.take().filter(|(link, _)| link.is_open());
        let (link, told) = match kept {
            Some(kept) => kept,
            None => CarrierConnection::open(socket).await?,
        };
        let metrics = link.call(&ShowMetrics {}, PATIENCE).await?;
        self.link = Some((link, told));
        Ok(metrics)
    }

    /// Logs a cause once until the daemon answers again: a night without the daemon would fill the log with the same line.
    fn hear(&mut self, answer: Result<Metrics, ClientError>) -> Option<Metrics> {
        let why = match answer {
            Ok(metrics) => {
                if self.told.take().is_some() {
                    say("the daemon tells its numbers again");
                }
                return Some(metrics);
            }
            Err(error) => error.to_string(),
        };
        if self.told.as_ref() != Some(&why) {
            say(&format!("the daemon tells no numbers: {why}"));
            self.told = Some(why);
        }
        None
    }
}

/// How old the numbers may be that a caller gets.
const FRESH: Duration = Duration::from_secs(1);
/// How long the daemon may take: less than the ten seconds after which Prometheus gives a scrape up.
const PATIENCE: Duration = Duration::from_secs(5);
