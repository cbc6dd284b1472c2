//! What peers offer: asked of the daemon with each call, and remembered for while their programs are away. A message is for
//! a program by the capability that it names, also one that comes before the first session with the peer, or while nothing
//! of the peer runs but its daemon.

use std::time::Duration;

use serde_json::Value;
use signet_api::{Kind as Wants, Offer, Send};
use tokio::time::{Instant, sleep};

use super::door::A2aDoor;
use super::fault::{A2aError, A2aErrorKind};
use crate::scope::Caller;

impl A2aDoor {
    /// What the agent offers now; `None` for one that is not known.
    pub(crate) async fn offers(
        &self,
        caller: &Caller,
        peer: &str,
    ) -> Result<Option<Vec<Offer>>, A2aError> {
        match self.shown_peer(caller, peer).await {
            Ok(shown) => {
                let is_met = shown.capabilities.is_some();
                let offers = shown.capabilities.unwrap_or_default();
                self.note(peer, is_met, &offers).await;
                Ok(Some(offers))
            }
            Err(fault) if fault.kind() == A2aErrorKind::Internal => Err(fault),
            Err(_) => Ok(None),
        }
    }

    /// What a message is for that names no capability: the only one that is offered, or was while nothing is. A peer that
    /// was never met is met first, which takes a moment.
    pub(crate) async fn only_offer(
        &self,
        caller: &Caller,
        peer: &str,
        offers: &[Offer],
    ) -> Option<String> {
        match offers {
            [only] => return Some(only.name.clone()),
            [] => {}
            _ => return None,
        }
        match self.offered_last(peer).await.as_slice() {
            [only] => Some(only.clone()),
            [] if !self.offered.with(peer, |known| known.is_met) => self.meet(caller, peer).await,
            _ => None,
        }
    }

    /// Whether the peer has offered that: where it does not now, the program is away that serves it.
    pub(crate) async fn has_offered(&self, peer: &str, capability: &str) -> bool {
        let offered = self.offered_last(peer).await;
        offered.iter().any(|name| name == capability)
    }

    async fn offered_last(&self, peer: &str) -> Vec<String> {
        let known = self.offered.with(peer, |known| known.last.clone());
        match known.is_empty() {
            true => self
                .store
                .offered(peer.to_owned())
                .await
                .unwrap_or_default(),
            false => known,
        }
    }

    /// Remembers what the peer offers, also in the file.
    async fn note(&self, peer: &str, is_met: bool, offers: &[Offer]) {
        let all: Vec<String> = offers.iter().map(|offer| offer.name.clone()).collect();
        let is_news = self.offered.with(peer, |known| {
            known.is_met |= is_met;
            // An empty list means that the peer's program is away, or has not told its offers yet: keep those that it had
            // before. An unchanged list is no news, so it is not written again.
            let is_news = !all.is_empty() && known.last != all;
            if is_news {
                known.last.clone_from(&all);
            }
            is_news
        });
        if is_news {
            // Ignore an error: the offers are then in memory only, and after the next start unknown until the peer tells them
            // again.
            let _ = self.store.note_offered(peer.to_owned(), all).await;
        }
    }

    /// Has the daemon begin a session, in which the peer says what it offers.
    async fn meet(&self, caller: &Caller, peer: &str) -> Option<String> {
        let now = Instant::now();
        let is_due = self.offered.with(peer, |known| {
            // Check when the peer was last asked, and note the new time, under one lock: of calls that come at the same time,
            // only one then begins a session.
            let is_due = known.asked.is_none_or(|asked| now - asked >= MEET_EVERY);
            known.asked = if is_due { Some(now) } else { known.asked };
            is_due
        });
        if !is_due {
            return None;
        }
        let ping = Send {
            wait: MEETING.as_secs_f64(),
            life: Some(MEET_EVERY.as_secs()),
            ..Send::new(peer, Wants::Ping, Value::Null)
        };
        let daemon = self.context.daemon_of(caller);
        daemon.call(&ping, MEETING).await.ok()?;
        let until = Instant::now() + TELLING;
        loop {
            let offers = self.offers(caller, peer).await.ok()??;
            match offers.as_slice() {
                [only] => return Some(only.name.clone()),
                [] if Instant::now() < until => sleep(LOOK).await,
                _ => return None,
            }
        }
    }
}

/// A peer that cannot be reached is not asked with each message.
const MEET_EVERY: Duration = Duration::from_secs(30);
/// How long a session may take to begin: a client waits for it.
const MEETING: Duration = Duration::from_secs(3);
/// How long after its beginning the peer says what its programs offer.
const TELLING: Duration = Duration::from_millis(1500);
const LOOK: Duration = Duration::from_millis(50);
