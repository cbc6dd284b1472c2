//! A connection that only looks: what `signet view` hands to a program that renders strangers' words.

use serde::{Deserialize, Serialize};

use crate::{Effect, Method, Role};

/// Lowers this connection to looking, for good: from now on it takes the calls that [`Method::is_for_onlookers`] names and no
/// other, shows no message above tier 2, and of drafts above it for whom they are, their tier and their size. What was followed by
/// this connection before goes on: so it is the first call.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Look {}

/// It is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Looking {
    /// The highest data tier of what it shows.
    pub tier: u8,
}

/// The highest data tier whose words an onlooker sees: what is above it is sealed wherever it lies.
pub const ONLOOKERS_TIER: u8 = 2;

/// The calls that an onlooker may make. A call that the table gets later is refused until somebody has thought of it and written it here.
const ONLOOKERS: [&str; 20] = [
    "alarms.list",
    "attention.follow",
    "drafts.list",
    "handoff.list",
    "handoff.show",
    "inbox.aside",
    "inbox.follow",
    "inbox.list",
    "message.find",
    "message.status",
    "outbox.list",
    "pause.show",
    "peer.list",
    "peer.show",
    "policy.check",
    "policy.show",
    "quarantine.list",
    "status",
    "trust.list",
    "trust.pending",
];

impl Method {
    /// Whether a connection that only looks may call it.
    pub fn is_for_onlookers(&self) -> bool {
        // Ask for the effect as well as for the name: if a call's line in the table `calls!` changes from `Shows` to
        // `Changes`, onlookers lose the call although `ONLOOKERS` still names it.
        self.effect == Effect::Shows
            && self.whose != Role::Carrier
            && ONLOOKERS.contains(&self.name)
    }
}

quiet!(Look);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;

    #[test]
    fn an_onlooker_is_shown_what_is_listed_and_nothing_that_changes_anything() {
        let named = Call::METHODS.iter();
        let named: Vec<&str> = named
            .filter(|method| method.is_for_onlookers())
            .map(|method| method.name)
            .collect();
        assert_eq!(
            named.len(),
            ONLOOKERS.len(),
            "each is a call that shows: {named:?}"
        );
        for method in Call::METHODS {
            let shows = method.effect == Effect::Shows;
            assert!(shows || !method.is_for_onlookers(), "{method:?}");
        }
    }

    #[test]
    fn a_call_that_is_added_later_is_no_onlookers() {
        let later = Method {
            name: "trust.everything",
            whose: Role::Person,
            effect: Effect::Shows,
        };
        assert!(!later.is_for_onlookers());
        let turned = Method {
            name: "status",
            whose: Role::Person,
            effect: Effect::Changes,
        };
        assert!(!turned.is_for_onlookers());
    }

    #[test]
    fn what_opens_signs_or_reads_the_log_for_others_is_no_onlookers() {
        for name in [
            "history",
            "card.show",
            "subscribe",
            "narrow",
            "look",
            "receive",
            "carrier.transparency",
        ] {
            assert!(!Call::named(name).unwrap().is_for_onlookers(), "{name}");
        }
    }
}
