//! The tokens that hold: whom each lets in, how fast, and until when.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use signet_api::Ceiling;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::file::{self, File, TokenEntry};
use crate::config::CallerLimits;
use crate::lock::Locked as _;
use crate::rate::RateBucket;
use crate::scope::Caller;
use crate::stamp::FileStamp;

#[derive(Default)]
pub(super) struct KnownTokens {
    pub(super) stamp: Option<FileStamp>,
    /// Why the file lets nobody in, and what to do.
    pub(super) fault: Option<Unusable>,
    /// By the hash of a token, or of a certificate.
    pub(super) live: HashMap<[u8; 32], LiveToken>,
}

/// What is wrong with the file, and what to do.
pub(super) type Unusable = (String, String);

pub(super) struct LiveToken {
    pub(super) entry: TokenEntry,
    pub(super) caller: Caller,
    bucket: RateBucket,
    places: Arc<Semaphore>,
}

/// Who was let in, and the place that the request takes until it is answered.
pub(crate) struct Admitted {
    pub(crate) caller: Caller,
    pub(crate) place: OwnedSemaphorePermit,
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAdmitted {
    /// No such token, or none any more.
    Unknown,
    /// Too many requests: seconds until there is room for one.
    TooMany(u64),
    /// Too many requests under way.
    TooManyAtOnce,
}

impl KnownTokens {
    /// Reads the file; what is to be said of it, once for each change. A file that cannot be read lets nobody in.
    pub(super) fn load(
        &mut self,
        path: &Path,
        limits: CallerLimits,
        is_changed: bool,
    ) -> Option<String> {
        let (entries, fault) = match File::load(path) {
            Ok(file) => (file.tokens, None),
            Err(fault) => (Vec::new(), Some((fault.to_string(), fault.next()))),
        };
        self.replace(entries, limits);
        let before = std::mem::replace(&mut self.fault, fault);
        match (&self.fault, before) {
            (Some(fault), before) if is_changed || before.as_ref() != Some(fault) => {
                let (what, next) = fault;
                Some(format!(
                    "warning: {what}; nobody is let in until that is mended; next: {next}"
                ))
            }
            (None, Some(_)) => Some(format!("{}: the tokens hold again", path.display())),
            _ => None,
        }
    }

    pub(super) fn replace(&mut self, entries: Vec<TokenEntry>, limits: CallerLimits) {
        let mut before = std::mem::take(&mut self.live);
        for entry in entries {
            let live = match before.remove(&entry.hash.0) {
                // An unchanged token keeps its rate, its slots and its requests under way: a change of another token must not
                // disturb its client.
                Some(live) if live.entry == entry => live,
                changed => {
                    if let Some(changed) = changed {
                        // The requests under way were admitted with the old scope, which may have been wider: so end them.
                        changed.caller.gone.cancel();
                    }
                    LiveToken::of(entry, limits)
                }
            };
            self.live.insert(live.entry.hash.0, live);
        }
        for gone in before.into_values() {
            gone.caller.gone.cancel();
        }
    }

    /// Ends the tokens that have expired; whether there were any.
    pub(super) fn end_expired(&mut self) -> bool {
        let (now, before) = (file::now(), self.live.len());
        self.live.retain(|_, live| {
            let holds = live.entry.holds_at(now);
            if !holds {
                live.caller.gone.cancel();
            }
            holds
        });
        self.live.len() != before
    }
}

impl LiveToken {
    fn of(entry: TokenEntry, limits: CallerLimits) -> Self {
        let caller = Caller {
            name: entry.caller().into(),
            scope: entry.scope(),
            gone: CancellationToken::new(),
        };
        let rate = entry
            .requests_per_minute
            .unwrap_or(limits.requests_per_minute);
        Self {
            entry,
            caller,
            // The bucket lets half a minute's requests through at once, because a client that opens its streams sends
            // many together.
            bucket: RateBucket::full(rate, rate / 2, Instant::now()),
            places: Arc::new(Semaphore::new(limits.requests_at_once)),
        }
    }

    pub(super) fn admit(&mut self, now: Instant) -> Result<Admitted, NotAdmitted> {
        // Count the request against the rate first, so that a request that finds no free slot counts as well.
        let missing = self.bucket.take(1, now);
        missing.map_err(|missing| NotAdmitted::TooMany(missing.as_secs() + 1))?;
        let place = Arc::clone(&self.places).try_acquire_owned();
        Ok(Admitted {
            caller: self.caller.clone(),
            place: place.map_err(|_| NotAdmitted::TooManyAtOnce)?,
        })
    }
}

/// Whoever calls where `auth = "none"`: all of them are one caller, with one rate.
pub(crate) struct Anybody(Mutex<LiveToken>);

impl Anybody {
    pub(crate) fn new(limits: CallerLimits) -> Self {
        let entry = TokenEntry::new("anybody", [0; 32], &Ceiling::default(), None);
        // With `auth = "none"`, all programs of this machine share this one caller: so it gets the rate of a single caller
        // times `PROGRAMS`.
        let limits = CallerLimits {
            requests_per_minute: limits.requests_per_minute.saturating_mul(PROGRAMS),
            ..limits
        };
        Self(Mutex::new(LiveToken::of(entry, limits)))
    }

    /// Lets in whoever calls.
    ///
    /// # Errors
    /// Where too many requests come.
    pub(crate) fn admit(&self) -> Result<Admitted, NotAdmitted> {
        let mut live = self.0.locked();
        live.admit(Instant::now())
    }
}

/// How many programs the rate without tokens is for.
const PROGRAMS: u32 = 100;
