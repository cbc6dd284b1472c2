//! Everybody who is told what the person should see: followers on the person's socket, the system's journal or the
//! daemon's own log, and the command of `[notify]`.

use futures_util::FutureExt as _;
use signet_api::{ATTENTION, Attention};
use signet_proto::keys::fingerprint;
use signet_proto::node::Notice;
use tracing::{error, warn};

use super::{NotifyHook, SystemJournal};
use crate::control::{Notifier, text_of_note};
use crate::hint::typed;

/// Who is told.
#[derive(Debug)]
pub(crate) struct Audience {
    followers: Vec<Notifier>,
    journal: Option<SystemJournal>,
    hook: NotifyHook,
}

impl Audience {
    pub(crate) const fn new(journal: Option<SystemJournal>, hook: NotifyHook) -> Self {
        Self {
            followers: Vec::new(),
            journal,
            hook,
        }
    }

    /// Adds a connection of the person's. One that asks a second time replaces its first entry, so that it hears of
    /// each record once.
    pub(crate) fn join(&mut self, follower: Notifier) {
        let connection = follower.program().connection;
        self.followers
            .retain(|known| known.program().connection != connection);
        self.followers.push(follower);
    }

    /// Tells everybody. One that does not keep up is cut off, and asks anew what stands.
    pub(crate) fn tell(&mut self, attention: Attention, notice: Option<&Notice>) {
        // If the system's journal took the entry, write no line to the daemon's output: the output goes to the
        // journal too, which would then have the text twice.
        let is_noted = self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.tell(&attention));
        match notice {
            _ if is_noted => {}
            Some(notice) => note(notice),
            None => warn!(
                kind = attention.kind.as_str(),
                next = typed(&attention.next),
                "{}",
                attention.text
            ),
        }
        let told = text_of_note(&attention);
        self.followers
            .retain(|follower| follower.notify(ATTENTION, &told).is_ok());
        // The followers above got the hint as it is: a program such as `signet watch` adds its own program name and
        // home. The hook adds those of the daemon.
        self.hook.tell(attention);
    }

    /// Forgets who has gone.
    pub(crate) fn sweep(&mut self) {
        self.followers
            .retain(|follower| follower.closed().now_or_never().is_none());
    }
}

/// Writes into the daemon's log what the person has to hear of, with the next thing to type. The claims of strangers are safe to
/// print: ids are letters, digits and hyphens, and a fingerprint is words.
pub(crate) fn note(notice: &Notice) {
    match notice {
        Notice::StrangerWaits(claimed) => warn!(
            agent = %claimed.agent,
            principal = %claimed.principal,
            fingerprint = fingerprint(&claimed.root),
            "a stranger waits for an introduction; next: {}", typed("signet trust pending")
        ),
        Notice::RootChanged(claimed) => error!(
            agent = %claimed.agent,
            principal = %claimed.principal,
            fingerprint = fingerprint(&claimed.root),
            "ALARM: somebody uses this person's name with another root key; nothing was accepted; \
             ask the person; next: {}", typed("signet trust pending")
        ),
        Notice::RootSucceeded(newest) => warn!(
            principal = %newest.principal,
            fingerprint = fingerprint(&newest.root),
            "this person's root key was succeeded by the one that it had named"
        ),
        Notice::Revoked(revocation) => warn!(
            agent = %revocation.agent,
            principal = %revocation.principal,
            serial = revocation.serial,
            "certificates were revoked by their root key"
        ),
        Notice::Pause(said) => warn!(
            principal = %said.principal,
            paused = said.paused,
            "an order of the person to their agents"
        ),
        Notice::OverBudget { peer, refused } => warn!(
            %peer,
            refused,
            "more messages a minute than granted are refused; does an agent talk in a loop?"
        ),
        Notice::Alarm(alarm) => error!(
            peer = %alarm.peer,
            alarm = alarm.what.as_str(),
            "ALARM: {}", alarm.what.text(&alarm.peer)
        ),
        Notice::Doubled(text) => error!("ALARM: {text}"),
        Notice::Hole(hole) => warn!(
            peer = %hole.peer,
            session = %hole.session,
            from = hole.from,
            to = hole.to,
            "messages of this peer never arrived, and it does not say that it gave them up; ask its \
             person for their log, then compare both; next: {}", typed("signet audit reconcile MINE THEIRS")
        ),
        Notice::Clock {
            peer,
            difference_ms,
        } => warn!(
            %peer,
            seconds = difference_ms / 1000,
            "this peer's clock and ours differ by more than a minute, and messages are refused for it; \
             set the clocks right, by NTP on both machines"
        ),
        Notice::Quarantined { peer, message_id } => warn!(
            %peer,
            %message_id,
            "the handling of a message failed five times; next: {}", typed("signet quarantine list")
        ),
        Notice::ApprovalNeeded { peer, message_id } => warn!(
            %peer,
            %message_id,
            "a message waits for its person's approval; next: {}", typed("signet drafts")
        ),
    }
}
