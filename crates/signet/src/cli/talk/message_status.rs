//! Where a message of ours is, for a person: one word, one sentence, and what to do about it.

use std::path::PathBuf;

use signet_api::{Draft, Outgoing, Sent, State, WaitsFor, Whose};
use signet_proto::carrier::{CarrierId, KEPT_FOR_POLLS, Route};
use signet_proto::ids::AgentId;
use signet_proto::progress::WAITS_FOR_A_PERSON;
use signet_proto::reject::{CAPABILITY_NEEDED, DOES_NOT_FIT, DROPPED, Reason};

use crate::cli::print::or_dash;
use crate::cli::refusal::advice;
use crate::config::Config;
use crate::home::Home;

/// Where a message is, as the daemon tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageReport<'a> {
    /// The one word.
    pub(crate) state: State,
    /// The message-id.
    pub(crate) id: &'a str,
    /// The peer that the message is for.
    pub(crate) peer: &'a str,
    /// Why the message was refused, or why nobody knows what became of it.
    pub(crate) reason: &'a str,
    /// Whether our own side refused it, and not the peer.
    pub(crate) here: bool,
    /// What the peer offers, where our side refused it because it names none of several.
    offers: &'a [String],
    /// What the message waits for, while it is still here.
    pub(crate) waits_for: Option<WaitsFor>,
    /// Whose alarm keeps it here.
    held_by: &'a [String],
    /// Whether a carrier holds the message for the peer.
    pub(crate) stored: bool,
    /// Whether this agent's own daemon is the carrier that holds the message, until the peer polls.
    polled: bool,
    /// Whether the peer's agent has taken it, where anybody can tell.
    taken: Option<bool>,
    /// Whether the peer's daemon says that a person there has to look at it.
    rests: bool,
    /// Why the last answer to it was refused here.
    answer_refused: Option<&'a str>,
    /// Whether the daemon told this only because it stops.
    pub(crate) stopping: bool,
}

impl<'a> From<&'a Outgoing> for MessageReport<'a> {
    fn from(shown: &'a Outgoing) -> Self {
        Self {
            reason: or_dash(shown.reason.as_deref()),
            here: shown.by == Some(Whose::Own),
            offers: shown.offers.as_deref().unwrap_or_default(),
            waits_for: shown.waits_for,
            held_by: shown.held_by.as_deref().unwrap_or_default(),
            stored: shown.stored == Some(true),
            taken: shown.taken,
            rests: shown
                .progress
                .as_ref()
                .and_then(|told| told.note.as_deref())
                == Some(WAITS_FOR_A_PERSON),
            answer_refused: shown.answer_refused.as_deref(),
            ..Self::in_state(shown.state, &shown.message_id, &shown.peer)
        }
    }
}

impl<'a> From<&'a Draft> for MessageReport<'a> {
    fn from(draft: &'a Draft) -> Self {
        Self {
            waits_for: Some(draft.waits_for),
            held_by: draft.held_by.as_deref().unwrap_or_default(),
            ..Self::in_state(State::Queued, &draft.message_id, &draft.peer)
        }
    }
}

impl<'a> MessageReport<'a> {
    /// The status of a message of which only its state is known.
    fn in_state(state: State, id: &'a str, peer: &'a str) -> Self {
        Self {
            state,
            id,
            peer,
            reason: or_dash(None),
            here: false,
            offers: &[],
            waits_for: None,
            held_by: &[],
            stored: false,
            polled: false,
            taken: None,
            rests: false,
            answer_refused: None,
            stopping: false,
        }
    }

    /// The status of a message that was sent to `peer`.
    pub(crate) fn of_sent(sent: &'a Sent, peer: &'a str) -> Self {
        Self {
            reason: or_dash(sent.reason.as_deref()),
            here: sent.by == Some(Whose::Own),
            offers: sent.offers.as_deref().unwrap_or_default(),
            waits_for: sent.waits_for,
            held_by: sent.held_by.as_deref().unwrap_or_default(),
            stored: sent.stored == Some(true),
            stopping: sent.stopping == Some(true),
            ..Self::in_state(sent.state, &sent.message_id, peer)
        }
    }

    /// The same, with what the configuration of the home says of the way to the peer.
    pub(crate) fn by_way_of(self, home: Option<PathBuf>) -> Self {
        let routes = || {
            let config = Config::load(&Home::find(home).ok()?).ok()?;
            let peer: AgentId = self.peer.parse().ok()?;
            Some(config.carriers.routes().of(&peer).into_owned())
        };
        let polled = self.stored
            && routes().is_some_and(|routes| {
                let is_kept = |route: &Route| route.address == KEPT_FOR_POLLS;
                routes.iter().any(is_kept)
                    && routes.iter().all(|route| route.carrier != CarrierId::NATS)
            });
        Self { polled, ..self }
    }

    /// Who holds the message for the peer.
    pub(crate) fn holder(&self) -> String {
        let peer = self.peer;
        match self.polled {
            true => format!("it is kept here until {peer} polls for it"),
            false => format!("the mailbox of {peer} holds it"),
        }
    }

    /// The word for where it is.
    pub(crate) const fn word(&self) -> &'static str {
        self.state.as_str()
    }

    /// Whether people have to decide before it leaves.
    pub(crate) fn waits_for_people(&self) -> bool {
        self.waits_for
            .is_some_and(|what| !matches!(what, WaitsFor::Session | WaitsFor::Peer))
    }

    /// The one sentence.
    pub(crate) fn sentence(&self) -> String {
        let peer = self.peer;
        match self.state {
            State::Queued => self.obstacle(),
            State::Published | State::Received if self.answer_refused.is_some() => {
                let reason = or_dash(self.answer_refused);
                format!("{peer} has it, and gave an answer that was refused here: {reason}")
            }
            State::Published if self.stored => {
                format!("{}; no receipt yet", self.holder())
            }
            State::Published => {
                "unconfirmed: sent, and nobody has said that it arrived; it is sent \
                            again until a receipt comes"
                    .to_owned()
            }
            State::Received if self.rests => {
                format!("{peer} has it, durably, and it waits for a person there")
            }
            State::Received => match self.taken {
                Some(true) => format!("{peer} has it, durably, and its agent works on it"),
                Some(false) => format!("{peer} has it, durably, and nobody there has taken it yet"),
                None => format!("{peer} has it, durably"),
            },
            State::Answered => format!("{peer} has answered it"),
            State::Refused => self.refusal(),
            State::Expired => {
                format!("its life ended and no receipt came; {peer} may have it all the same")
            }
            State::Unknown => self.doubt(),
        }
    }

    /// The next step for the person, where one can do something.
    pub(crate) fn next(&self) -> Option<String> {
        let peer = self.peer;
        Some(match self.state {
            State::Queued => return self.way_out(),
            State::Answered => format!("signet inbox  # or signet audit show --peer {peer}"),
            State::Refused if self.here && [NOT_APPROVED, DROPPED].contains(&self.reason) => {
                "nothing; it never leaves. Send another one, if you think better of it".to_owned()
            }
            State::Refused if self.here && NEVER_LEFT.contains(&self.reason) => {
                "send it again as a new message; this one certainly did not arrive".to_owned()
            }
            State::Refused if self.here && self.reason == CAPABILITY_NEEDED => format!(
                "signet peer show {peer}  # lists them; then signet send {peer} with --capability, or with --for-people"
            ),
            State::Refused => match self.reason.parse::<Reason>() {
                // This agent's own rules refused the message, and `signet policy check` shows those rules, so name that
                // command. `advice` below would be wrong: it is for a message that the peer refused.
                Ok(
                    Reason::CapabilityNotGranted
                    | Reason::TierNotGranted
                    | Reason::LayersInsufficient,
                ) if self.here => format!("signet policy check {peer}  # says what to do"),
                Ok(reason) => advice(peer, reason),
                Err(_) => format!("ask {peer}'s person, or send something else"),
            },
            State::Expired | State::Unknown => {
                format!("ask {peer}'s person; if it did not arrive, send it again as a new message")
            }
            State::Published | State::Received => {
                return self
                    .answer_refused
                    .map(|reason| match reason.parse::<Reason>() {
                        Ok(Reason::TimestampInFuture) => format!(
                            "compare the clocks of both machines; when {peer}'s was ahead and is put right, its \
                             daemon gives the answer again"
                        ),
                        _ => format!("ask {peer}'s person; another answer is still taken"),
                    });
            }
        })
    }

    /// What can end the wait of a message that is still here.
    fn way_out(&self) -> Option<String> {
        let Self { id, peer, .. } = self;
        Some(match self.waits_for? {
            WaitsFor::Approval => format!("signet approve {id}  # or signet approve {id} --refuse"),
            WaitsFor::Introduction => format!(
                "{peer}'s person approves you, then you approve them: signet trust pending, on both \
                 sides; or take it back: signet drafts drop {id}"
            ),
            WaitsFor::Clock => {
                "signet status  # shows the clock and the certificate's dates".to_owned()
            }
            WaitsFor::Resume => "signet resume  # when your agents may go on".to_owned(),
            WaitsFor::Alarm => {
                "signet alarms  # says what to make sure of; then: signet alarms clear".to_owned()
            }
            WaitsFor::Connection => {
                "start the NATS server, or correct [nats] in config.toml".to_owned()
            }
            WaitsFor::Peer => format!(
                "signet doctor  # says whether the mailbox of {peer} answers; if not, ask {peer}'s person"
            ),
            WaitsFor::Session => return None,
        })
    }

    fn obstacle(&self) -> String {
        let peer = self.peer;
        let Some(what) = self.waits_for else {
            return "it is signed, and goes out by itself until a receipt comes".to_owned();
        };
        match what {
            WaitsFor::Session => format!(
                "it waits for a session with {peer}, and leaves by itself when {peer} is reached"
            ),
            WaitsFor::Peer => format!(
                "nobody has confirmed what went to {peer} before; this one leaves as soon as anything is heard of {peer}, and is \
                 tried in its turn until then"
            ),
            WaitsFor::Approval => "it waits for your approval, and never leaves without".to_owned(),
            WaitsFor::Introduction => {
                format!("it waits until your person and {peer}'s have approved each other")
            }
            WaitsFor::Clock => {
                "it waits because the clock stands outside the dates of this agent's certificate, \
                        and nothing is signed there"
                    .to_owned()
            }
            WaitsFor::Resume => "it waits because your person's agents pause".to_owned(),
            WaitsFor::Alarm => format!(
                "it waits for a session with {peer}, and the alarm `second-copy` that {} rang lets \
                 none begin",
                self.ringers()
            ),
            WaitsFor::Connection => {
                "it waits for the connection to the NATS server, and leaves by itself".to_owned()
            }
        }
    }

    fn ringers(&self) -> String {
        match self.held_by {
            [] => self.peer.to_owned(),
            names => names.join(" and "),
        }
    }

    fn refusal(&self) -> String {
        let (known, peer) = (self.reason.parse::<Reason>(), self.peer);
        let text = known.map(|reason| reason.text().trim_end_matches('.'));
        match (self.here, text, self.reason) {
            (true, _, ROOT_CHANGED) => {
                format!("{peer} has another root key than when you were asked to approve it")
            }
            (true, _, EXPIRED) => format!(
                "it never left this agent: nothing was heard of {peer} until its life ended"
            ),
            (true, _, RESTORED_BACKUP | SESSION_LOST) => format!(
                "it never left this agent: nothing was heard of {peer} until its session was lost"
            ),
            (true, Ok(text), name) => format!("it never left this agent: {text} ({name})"),
            (true, Err(_), NOT_APPROVED) => "your own person did not approve it".to_owned(),
            (true, Err(_), PEER_REVOKED) => format!("{peer} is trusted no more"),
            (true, Err(_), CAPABILITY_NEEDED) => {
                let several = "several capabilities".to_owned();
                let offers = match self.offers {
                    [] => several,
                    names => names.join(", "),
                };
                format!(
                    "it never left this agent: {peer} offers {offers}, and it names none of them"
                )
            }
            (true, Err(_), DROPPED) => "you took it back before it left".to_owned(),
            (true, Err(_), name) => format!("it never left this agent, because of {name}"),
            (false, _, DOES_NOT_FIT) => {
                format!("{peer} refused it, and gives a reason that does not fit")
            }
            (false, Ok(text), name) => format!("{peer} refused it, and says: {text} ({name})"),
            (false, Err(_), name) => {
                format!("{peer} refused it, for a reason that this release does not know: {name}")
            }
        }
    }

    fn doubt(&self) -> String {
        let peer = self.peer;
        match self.reason {
            RESTORED_BACKUP => format!(
                "one side was put back to an older copy of its log, and nobody can say whether \
                 {peer} has it"
            ),
            _ => format!(
                "{peer} no longer knows the session it was sent in, and nobody can say whether \
                 {peer} has it"
            ),
        }
    }
}

/// Reasons of our own side that never stand on the wire.
const NOT_APPROVED: &str = "not-approved";
const PEER_REVOKED: &str = "peer-revoked";
/// Why a message ended that was held back because nothing was heard of the peer.
const EXPIRED: &str = "expired";
const RESTORED_BACKUP: &str = "restored-backup";
const SESSION_LOST: &str = "session-lost";
const NEVER_LEFT: [&str; 3] = [EXPIRED, RESTORED_BACKUP, SESSION_LOST];
/// Here it says that the recipient's root key is another than when approval was asked for.
const ROOT_CHANGED: &str = "root-changed";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(shown: &Value) -> (String, Option<String>) {
        let mut told =
            json!({"message-id": "0191", "peer": "agent-bob", "since": "2026-02-01T00:00:00.000Z"});
        let members = shown.as_object().cloned().unwrap_or_default();
        told.as_object_mut().unwrap().extend(members);
        let told: Outgoing = serde_json::from_value(told).unwrap();
        let place = MessageReport::from(&told);
        (place.sentence(), place.next())
    }

    #[test]
    fn every_state_has_a_sentence_of_its_own() {
        let states = [
            json!({"state": "queued"}),
            json!({"state": "queued", "waits-for": "session"}),
            json!({"state": "queued", "waits-for": "approval"}),
            json!({"state": "queued", "waits-for": "introduction"}),
            json!({"state": "queued", "waits-for": "resume"}),
            json!({"state": "queued", "waits-for": "clock"}),
            json!({"state": "queued", "waits-for": "alarm", "held-by": ["agent-bob"]}),
            json!({"state": "queued", "waits-for": "connection"}),
            json!({"state": "queued", "waits-for": "peer"}),
            json!({"state": "published", "stored": true}),
            json!({"state": "published", "stored": false}),
            json!({"state": "received"}),
            json!({"state": "received", "taken": true,
                "progress": {"since": "2026-02-01T00:00:00.000Z", "state": "working", "note": WAITS_FOR_A_PERSON}}),
            json!({"state": "answered"}),
            json!({"state": "refused", "by": "peer", "reason": "tier-not-granted"}),
            json!({"state": "refused", "by": "peer", "reason": DOES_NOT_FIT}),
            json!({"state": "refused", "by": "self", "reason": "tier-not-granted"}),
            json!({"state": "refused", "by": "self", "reason": "root-changed"}),
            json!({"state": "refused", "by": "self", "reason": NOT_APPROVED}),
            json!({"state": "refused", "by": "self", "reason": PEER_REVOKED}),
            json!({"state": "refused", "by": "self", "reason": DROPPED}),
            json!({"state": "refused", "by": "self", "reason": "expired"}),
            json!({"state": "refused", "by": "self", "reason": "session-lost"}),
            json!({"state": "refused", "reason": "made-up"}),
            json!({"state": "expired"}),
            json!({"state": "unknown", "reason": "restored-backup"}),
            json!({"state": "unknown", "reason": "session-lost"}),
        ];
        let sentences: std::collections::BTreeSet<_> =
            states.iter().map(|state| said(state).0).collect();
        assert_eq!(sentences.len(), states.len());
        for sentence in &sentences {
            let one = !sentence.contains('\n') && !sentence.ends_with('.') && sentence.len() < 200;
            assert!(one, "{sentence}");
        }
    }

    #[test]
    fn what_an_alarm_holds_back_names_who_rang_it() {
        let held =
            json!({"state": "queued", "waits-for": "alarm", "held-by": ["agent-x", "agent-y"]});
        let (sentence, next) = said(&held);
        assert!(
            sentence.contains("that agent-x and agent-y rang"),
            "{sentence}"
        );
        assert!(next.unwrap().contains("signet alarms"));
    }

    #[test]
    fn what_nothing_confirms_is_called_unconfirmed() {
        let (sentence, _) = said(&json!({"state": "published"}));
        assert!(sentence.starts_with("unconfirmed: "), "{sentence}");
        let (sentence, _) = said(&json!({"state": "published", "stored": true}));
        assert_eq!(
            sentence,
            "the mailbox of agent-bob holds it; no receipt yet"
        );
    }

    #[test]
    fn a_refusal_says_what_the_table_of_reasons_says() {
        for reason in Reason::ALL {
            let words = reason.text().trim_end_matches('.');
            let refused = json!({"state": "refused", "by": "peer", "reason": reason.name()});
            let theirs = format!(
                "agent-bob refused it, and says: {words} ({})",
                reason.name()
            );
            assert_eq!(said(&refused).0, theirs);
        }
    }

    #[test]
    fn what_waits_for_a_person_says_what_the_person_types() {
        let draft = json!({"state": "queued", "waits-for": "approval", "message-id": "0192"});
        let next = said(&draft).1.unwrap();
        assert!(next.starts_with("signet approve 0192  # or "), "{next}");
        for waits in ["introduction", "resume", "clock", "alarm", "connection"] {
            assert!(
                said(&json!({"state": "queued", "waits-for": waits}))
                    .1
                    .is_some()
            );
        }
        for reason in ["expired", "session-lost", "restored-backup"] {
            let never_left = json!({"state": "refused", "by": "self", "reason": reason});
            let (sentence, next) = said(&never_left);
            assert!(sentence.starts_with("it never left this agent: nothing was heard"));
            assert!(next.unwrap().contains("certainly did not arrive"));
        }
        for doubt in ["unknown", "expired"] {
            let next = said(&json!({"state": doubt, "reason": "session-lost"})).1;
            assert!(next.unwrap().contains("send it again as a new message"));
        }
    }
}
