//! Who may call: tokens, of which the file holds hashes alone, and certificates. Each has a scope, a rate and an end.
//!
//! The file is read again as soon as it changes. A token that is revoked, changed or expired takes what is under way for it
//! along: streams end within a second.

mod command;
mod file;
mod live;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(crate) use command::{TokenFileCommand, command};
use live::KnownTokens;
pub(crate) use live::{Admitted, Anybody, NotAdmitted};

use crate::config::CallerLimits;
use crate::lock::Locked as _;
use crate::say::say;
use crate::scope::Caller;
use crate::stamp::FileStamp;

/// The tokens that hold now.
pub(crate) struct Tokens {
    path: PathBuf,
    limits: CallerLimits,
    known: Mutex<KnownTokens>,
    /// Rises whenever other tokens may hold than before.
    changes: watch::Sender<u64>,
}

/// Whether a caller's token is still valid, for work that goes on between its calls.
pub(crate) enum Holder {
    /// It does.
    Held(Caller),
    /// It was revoked, or has expired.
    Ended,
    /// The file does not say: it is not there, it is empty, or nobody can read it.
    Unsaid,
}

/// Whether a file with this text lets somebody in: for the fuzz targets.
#[cfg(any(test, feature = "fuzzed"))]
pub(crate) fn admits_any(text: &str) -> bool {
    let entries = file::File::parse(text).map(|file| file.tokens);
    let mut known = KnownTokens::default();
    known.replace(entries.unwrap_or_default(), CallerLimits::default());
    known.end_expired();
    let mut admitted = known
        .live
        .into_values()
        .map(|mut live| live.admit(Instant::now()));
    admitted.any(|admitted| admitted.is_ok())
}

impl Tokens {
    /// The tokens of that file, which need not be there yet.
    pub(crate) fn of(path: PathBuf, limits: CallerLimits) -> Self {
        let tokens = Self {
            path,
            limits,
            known: Mutex::default(),
            changes: watch::channel(0).0,
        };
        // `read` keeps a fault of the file, and the gateway prints it when it starts (`fault`): so do not log it here.
        tokens.read();
        tokens
    }

    /// Why the file lets nobody in, and what to do; nothing of one that can be read.
    pub(crate) fn fault(&self) -> Option<(String, String)> {
        self.known.locked().fault.clone()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.known.locked().live.len()
    }

    /// Lets in whoever shows that token.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn admit(&self, token: &str) -> Result<Admitted, NotAdmitted> {
        self.admit_hash(&Sha256::digest(token.as_bytes()).into(), false)
    }

    /// Lets in whoever has proved to have the key of a certificate with that SHA-256.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn admit_certificate(&self, hash: &[u8; 32]) -> Result<Admitted, NotAdmitted> {
        self.admit_hash(hash, true)
    }

    fn admit_hash(&self, hash: &[u8; 32], of_certificate: bool) -> Result<Admitted, NotAdmitted> {
        self.refresh();
        let mut known = self.known.locked();
        let live = known.live.get_mut(hash);
        // The file holds hashes of tokens and of certificates. A certificate is public, so somebody who sends its bytes as a
        // token must not be let in: find only an entry of the same kind.
        let live = live.filter(|live| live.entry.certificate == of_certificate);
        live.ok_or(NotAdmitted::Unknown)?.admit(Instant::now())
    }

    /// Whether that caller is let in still.
    pub(crate) fn is_held_by(&self, caller: &str) -> bool {
        self.refresh();
        let known = self.known.locked();
        known.live.values().any(|live| &*live.caller.name == caller)
    }

    /// The caller of that name, as far as it is let in still.
    pub(crate) fn holder(&self, caller: &str) -> Holder {
        self.refresh();
        let known = self.known.locked();
        let mut callers = known.live.values().map(|live| &live.caller);
        match callers.find(|live| &*live.name == caller) {
            Some(live) => Holder::Held(live.clone()),
            None if known.fault.is_some() || known.stamp.is_none() => Holder::Unsaid,
            None => Holder::Ended,
        }
    }

    /// Tells when other tokens hold than before.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Reads the file again where it has changed, and ends what has expired.
    pub(crate) fn refresh(&self) {
        if let Some(news) = self.read() {
            say(&news);
        }
    }

    /// The same without logging: the line to log.
    fn read(&self) -> Option<String> {
        let stamp = FileStamp::of(&self.path);
        let mut known = self.known.locked();
        let (is_changed, mut news) = (stamp != known.stamp, None);
        // Without a stamp the file is missing or cannot be looked at. Both give no stamp, so a change between the two
        // shows in no stamp: read the file each time.
        if is_changed || stamp.is_none() {
            news = known.load(&self.path, self.limits, is_changed);
            known.stamp = stamp;
        }
        if known.end_expired() || is_changed {
            self.changes.send_modify(|changes| *changes += 1);
        }
        news
    }

    /// Refreshes every second until the gateway ends, for what is under way.
    pub(crate) async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let mut beat = tokio::time::interval(BEAT);
        while tokio::select! { () = stop.cancelled() => false, _ = beat.tick() => true } {
            self.refresh();
        }
    }
}

const BEAT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use signet_api::Ceiling;

    use super::file::{File, TokenEntry};
    use super::*;

    #[test]
    fn a_conformance_kit_on_a_fast_machine_is_let_in_where_nobody_is_asked() {
        let anybody = Anybody::new(CallerLimits::default());
        for _ in 0..2_000 {
            assert!(anybody.admit().is_ok());
        }
        let few = Anybody::new(limits(256, 1));
        let admitted = (0..1_000).take_while(|_| few.admit().is_ok()).count();
        assert!(admitted < 100, "there is a limit all the same: {admitted}");
    }

    fn limits(at_once: usize, per_minute: u32) -> CallerLimits {
        CallerLimits {
            requests_at_once: at_once,
            requests_per_minute: per_minute,
            ..CallerLimits::default()
        }
    }

    fn write(path: &Path, tokens: Vec<TokenEntry>) {
        File { tokens }.store(path).unwrap();
    }

    fn entry(name: &str, token: &str, ends: Option<u64>) -> TokenEntry {
        TokenEntry::new(
            name,
            Sha256::digest(token.as_bytes()).into(),
            &Ceiling::default(),
            ends,
        )
    }

    #[test]
    fn a_token_lets_in_and_what_is_like_it_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        let tokens = Tokens::of(path.clone(), CallerLimits::default());
        assert!(matches!(tokens.admit("secret"), Err(NotAdmitted::Unknown)));
        write(&path, vec![entry("one", "secret", None)]);
        let admitted = tokens.admit("secret").unwrap_or_else(|_| panic!("refused"));
        assert!(admitted.caller.name.starts_with("one#"));
        assert!(tokens.is_held_by(&admitted.caller.name) && !tokens.is_held_by("one"));
        for other in ["", "Secret", "secret ", "secre", "one"] {
            assert!(
                matches!(tokens.admit(other), Err(NotAdmitted::Unknown)),
                "{other}"
            );
        }
        assert!(!std::fs::read_to_string(&path).unwrap().contains("secret"));
    }

    #[test]
    fn what_is_revoked_or_expired_ends_what_is_under_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        write(
            &path,
            vec![entry("one", "a", None), entry("two", "b", None)],
        );
        let tokens = Tokens::of(path.clone(), CallerLimits::default());
        let [one, two] = ["a", "b"].map(|token| tokens.admit(token).ok().unwrap().caller);
        write(&path, vec![entry("two", "b", None)]);
        tokens.refresh();
        assert!(one.gone.is_cancelled() && !two.gone.is_cancelled());
        assert!(matches!(tokens.admit("a"), Err(NotAdmitted::Unknown)));
        write(&path, vec![entry("two", "b", Some(1))]);
        tokens.refresh();
        assert!(two.gone.is_cancelled());
        assert!(matches!(tokens.admit("b"), Err(NotAdmitted::Unknown)));
        write(&path, vec![entry("two", "b", None)]);
        let again = tokens.admit("b").ok().unwrap().caller;
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(tokens.admit("b"), Err(NotAdmitted::Unknown)));
        assert!(again.gone.is_cancelled());
    }

    #[test]
    fn a_file_that_an_editor_emptied_and_has_not_written_yet_ends_no_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        write(&path, vec![entry("one", "a", None)]);
        let tokens = Tokens::of(path.clone(), CallerLimits::default());
        let one = tokens.admit("a").ok().unwrap().caller.name;
        let written = std::fs::read(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(tokens.admit("a").is_err(), "it lets nobody in");
        assert!(matches!(tokens.holder(&one), Holder::Unsaid));
        std::fs::write(&path, written).unwrap();
        assert!(matches!(tokens.holder(&one), Holder::Held(_)));
        write(&path, Vec::new());
        assert!(matches!(tokens.holder(&one), Holder::Ended));
    }

    #[test]
    fn a_file_that_breaks_is_said_once_for_each_change_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        write(&path, vec![entry("one", "a", None)]);
        let tokens = Tokens::of(path.clone(), CallerLimits::default());
        assert_eq!((tokens.read(), tokens.fault()), (None, None));
        for text in ["\n\nname = [\n", "\n\nname = [[\n# other\n"] {
            std::fs::write(&path, text).unwrap();
            let said = tokens.read().unwrap();
            assert!(
                said.contains("tokens.toml: line ") && said.contains("correct the file"),
                "{said}"
            );
            assert!(matches!(tokens.admit("a"), Err(NotAdmitted::Unknown)));
            assert_eq!(tokens.read(), None, "once");
        }
        let later = Tokens::of(path.clone(), CallerLimits::default());
        assert_eq!((later.read(), later.fault().is_some()), (None, true));
        write(&path, vec![entry("one", "a", None)]);
        assert!(tokens.read().unwrap().contains("hold again"));
        assert!(tokens.admit("a").is_ok() && tokens.fault().is_none());
    }

    #[test]
    fn one_token_has_so_many_requests_and_so_many_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        write(
            &path,
            vec![entry("one", "a", None), entry("two", "b", None)],
        );
        let tokens = Tokens::of(path, limits(2, 10));
        let held: Vec<_> = (0..2).map(|_| tokens.admit("a").ok().unwrap()).collect();
        assert!(matches!(tokens.admit("a"), Err(NotAdmitted::TooManyAtOnce)));
        drop(held);
        let all: Vec<_> = (0..20).filter_map(|_| tokens.admit("a").err()).collect();
        assert!(
            all.iter()
                .any(|refused| matches!(refused, NotAdmitted::TooMany(seconds) if *seconds >= 1))
        );
        assert!(
            tokens.admit("b").is_ok(),
            "the rate of one is not that of another"
        );
    }
}
