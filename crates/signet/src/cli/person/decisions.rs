//! A person's decisions in one home, for a program that shows them in another way than the command line: the desk of `signet view`.
//!
//! Each is the same request, signed by the same code with the same keys, as the command makes. What is shown and decided here is
//! the running daemon's: nothing is answered from a stopped agent's state.

mod sealed;

use std::path::PathBuf;
use std::time::Duration;

use signet_api::{
    Alarms, ApproveStranger, ClearAlarms, Decided, Draft, ListAlarms, ListDrafts, ListPending,
    ListTrust, Pausing, Pending, RefuseStranger, ShowPause, ShowPeer, ShowStatus, Status,
    StrangerDecided, TrustedPeer, Withdraw, Withdrawn,
};
use signet_json::canonical;
use signet_proto::ids::Digest;
use signet_proto::node::hash_of_draft;
use signet_proto::statement::Decision;

use super::control_key::ControlKey;
use super::drafts::{Listed, listed, sign};
use super::pause::tell;
use crate::cli::ask::{change, connect_to, signed};
use crate::cli::{CliError, Exit};
use crate::control::Client;
use crate::home::Home;

pub use sealed::SealedLine;

/// One home, and where its person's keys are.
#[derive(Debug)]
pub struct PersonsHome {
    home: Home,
    control: ControlKey,
    audit_key: Option<PathBuf>,
}

/// A draft as the daemon gave it, with everything that is shown of it.
pub struct FetchedDraft {
    listed: Listed,
    /// The words of the root key of the person for whom it is.
    pub words: Option<String>,
    /// The person for whom it is.
    pub principal: Option<String>,
}

impl FetchedDraft {
    /// The draft itself.
    pub const fn draft(&self) -> &Draft {
        &self.listed.draft
    }

    /// The hash that is signed.
    ///
    /// # Errors
    /// When it waits for no approval, or the list shows something else than what would be signed.
    pub fn hash(&self) -> Result<String, CliError> {
        Ok(hash_of_draft(self.listed.what_is_signed()?).to_string())
    }

    /// Stands for everything that is shown of it and signed: another one means that it changed. The box of a sealed draft does
    /// not say its words, so the words are in it as well.
    pub fn mark(&self) -> Digest {
        let draft = &self.listed.draft;
        let shown = (
            (
                &draft.peer,
                &draft.message_id,
                &draft.message_type,
                draft.data_tier,
            ),
            (&draft.capability, &draft.summary, &draft.body, &draft.until),
            (
                &draft.draft,
                &self.listed.control,
                &self.words,
                &self.principal,
            ),
        );
        // `to_value` does not fail: all of it is texts, a number and JSON.
        let shown = serde_json::to_value(shown).unwrap_or_default();
        Digest::of(&[&canonical(&shown)])
    }
}

impl PersonsHome {
    /// The home, with the files of the control key and of the audit key where they are not in it.
    pub fn new(home: PathBuf, key: Option<PathBuf>, audit_key: Option<PathBuf>) -> Self {
        Self {
            home: Home::at(home),
            control: ControlKey { key },
            audit_key,
        }
    }

    /// How its daemon does.
    ///
    /// # Errors
    /// When none answers, as with every other function here.
    pub fn status(&self) -> Result<Status, CliError> {
        Ok(self.daemon()?.call(&ShowStatus {})?)
    }

    /// Strangers that wait for an introduction.
    ///
    /// # Errors
    /// When no daemon answers.
    pub fn strangers(&self) -> Result<Pending, CliError> {
        Ok(self.daemon()?.call(&ListPending {})?)
    }

    /// Trusts a stranger under that root key.
    ///
    /// # Errors
    /// When the key is not there, or the daemon refuses.
    pub fn approve(&self, agent: &str, root: &str) -> Result<StrangerDecided, CliError> {
        let approve = ApproveStranger {
            agent: agent.to_owned(),
            root: Some(root.to_owned()),
            decision: None,
        };
        let approve = signed(&self.home, approve, &self.control)?;
        change(&mut self.daemon()?, &approve)
    }

    /// Refuses a stranger under that root key.
    ///
    /// # Errors
    /// When the key is not there, or the daemon refuses.
    pub fn refuse(&self, agent: &str, root: &str) -> Result<StrangerDecided, CliError> {
        let refuse = RefuseStranger {
            agent: agent.to_owned(),
            root: Some(root.to_owned()),
            decision: None,
        };
        let refuse = signed(&self.home, refuse, &self.control)?;
        change(&mut self.daemon()?, &refuse)
    }

    /// Every agent that is or was trusted.
    ///
    /// # Errors
    /// When no daemon answers.
    pub fn trusted(&self) -> Result<Vec<TrustedPeer>, CliError> {
        Ok(self.daemon()?.call(&ListTrust {})?)
    }

    /// Takes back the trust in an agent.
    ///
    /// # Errors
    /// When the key is not there, or the daemon refuses.
    pub fn withdraw(&self, peer: &str) -> Result<Withdrawn, CliError> {
        let withdraw = Withdraw {
            peer: peer.to_owned(),
            decision: None,
        };
        let withdraw = signed(&self.home, withdraw, &self.control)?;
        change(&mut self.daemon()?, &withdraw)
    }

    /// Alarms that ring.
    ///
    /// # Errors
    /// When no daemon answers.
    pub fn alarms(&self) -> Result<Alarms, CliError> {
        Ok(self.daemon()?.call(&ListAlarms {})?)
    }

    /// Clears what rings, and tells what that was.
    ///
    /// # Errors
    /// When the key is not there, or the daemon refuses.
    pub fn clear_alarms(&self) -> Result<Alarms, CliError> {
        let clear = signed(&self.home, ClearAlarms::default(), &self.control)?;
        change(&mut self.daemon()?, &clear)
    }

    /// Whether the person's agents pause.
    ///
    /// # Errors
    /// When no daemon answers.
    pub fn pausing(&self) -> Result<Pausing, CliError> {
        Ok(self.daemon()?.call(&ShowPause {})?)
    }

    /// Lets them pause, or go on.
    ///
    /// # Errors
    /// When the key is not there, or the daemon refuses.
    pub fn pause(&self, paused: bool) -> Result<Pausing, CliError> {
        // Fail here if no daemon answers: `tell` would then change the stopped agent's state itself, and all other
        // calls of the desk need a running daemon.
        self.daemon()?;
        Ok(tell(Some(self.home.path().to_owned()), &self.control, paused)?.0)
    }

    /// Drafts that wait to leave: the first page that the daemon gives.
    ///
    /// # Errors
    /// When no daemon answers.
    pub fn drafts(&self) -> Result<Vec<Draft>, CliError> {
        Ok(self.daemon()?.call(&ListDrafts::default())?.drafts)
    }

    /// The draft of that message-id; `None` when it does not wait any more.
    ///
    /// # Errors
    /// When no daemon answers.
    pub fn draft(&self, message_id: &str) -> Result<Option<FetchedDraft>, CliError> {
        let mut daemon = self.daemon()?;
        let named = ListDrafts {
            name: message_id.to_owned(),
            ..ListDrafts::default()
        };
        let found = listed(daemon.call(&named)?);
        let found = found
            .into_iter()
            .find(|listed| listed.draft.message_id == message_id);
        Ok(found.map(|listed| {
            let peer = listed.draft.peer.clone();
            // If the peer is a stranger, `ShowPeer` fails, and the draft has no words to show. It needs none: it waits
            // for an introduction and not for approval.
            let known = daemon.call(&ShowPeer { peer }).ok();
            let known = known.map(|shown| shown.peer);
            FetchedDraft {
                listed,
                words: known.as_ref().and_then(|peer| peer.fingerprint.clone()),
                principal: known.and_then(|peer| peer.principal),
            }
        }))
    }

    /// Signs the decision about a draft as it was fetched, and hands it in.
    ///
    /// # Errors
    /// When the key is not there, or the daemon refuses.
    pub fn decide(&self, draft: &FetchedDraft, approved: bool) -> Result<Decided, CliError> {
        let decision = match approved {
            true => Decision::Approved,
            false => Decision::Refused,
        };
        let home = Some(self.home.path().to_owned());
        let signed = sign(&draft.listed, decision, &self.control, home)?;
        change(&mut self.daemon()?, &signed)
    }

    fn daemon(&self) -> Result<Client, CliError> {
        connect_to(&self.home, Duration::ZERO)
    }
}

impl CliError {
    /// The code by which a command would end, the fault, and what to do next.
    pub fn told(&self) -> (Exit, &str, &str) {
        match self {
            Self::Told {
                exit, what, next, ..
            } => (*exit, what, next),
            Self::Ended(_) | Self::Unread | Self::Unwritten(_) => {
                (Exit::Fault, "the command ended without a word", "")
            }
        }
    }
}
