//! What of a configuration that was read anew is in force at once, and what waits for a start.

use super::Config;

/// The sections in which two configurations differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What a running daemon takes over.
    pub live: Vec<&'static str>,
    /// What only a start takes over: what was opened, connected or announced by it.
    pub fixed: Vec<&'static str>,
}

impl Changes {
    /// How `new` differs from `old`.
    pub fn between(old: &Config, new: &Config) -> Self {
        // Name all fields, without `..`: the compiler then reports
        // a new setting, which has to go into `live` or `fixed`.
        let Config {
            agent,
            nats,
            audit_dir,
            audit_access,
            control_socket,
            control_access,
            people_sign,
            notify,
            card,
            agent_socket,
            carrier_socket,
            carriers,
            policy,
        } = new;
        let before = &old.policy;
        let budgets = policy.tier != before.tier
            || policy.granted != before.granted
            || policy.messages_per_minute != before.messages_per_minute
            || policy.conversation_per_minute != before.conversation_per_minute;
        let audit = *audit_dir != old.audit_dir || *audit_access != old.audit_access;
        let control =
            *control_socket != old.control_socket || *control_access != old.control_access;
        let offer =
            policy.offerable != before.offerable || policy.offer_linger != before.offer_linger;
        let live = [
            ("[[capability]]", policy.capabilities != before.capabilities),
            ("[grant]", budgets),
            (
                "[[peer]]",
                // Routes that `signet accept` keeps in a file of their own also say where a peer is found, so report a change
                // of them as one of [[peer]].
                policy.peers != before.peers || *carriers != old.carriers,
            ),
            ("[offer]", offer),
            ("[approve]", policy.approve != before.approve),
            ("[tiers]", policy.table != before.table),
            ("[people]", *people_sign != old.people_sign),
            ("[notify]", *notify != old.notify),
            ("[card]", *card != old.card),
        ];
        let fixed = [
            ("[agent]", *agent != old.agent),
            ("[nats]", *nats != old.nats),
            ("[audit]", audit),
            ("[control]", control),
            ("[agent-socket]", *agent_socket != old.agent_socket),
            ("[carrier-socket]", *carrier_socket != old.carrier_socket),
        ];
        Self {
            live: named(&live),
            fixed: named(&fixed),
        }
    }
}

fn named(all: &[(&'static str, bool)]) -> Vec<&'static str> {
    let changed = all.iter().filter(|(_, changed)| *changed);
    changed.map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;

    fn parsed(more: &str) -> Config {
        let text = format!("[agent]\nagent = \"agent-a\"\nprincipal = \"a\"\n{more}");
        Config::parse(&text, &Home::at("/home-of-a"), None).unwrap()
    }

    #[test]
    fn every_section_is_named_when_it_changes_and_no_other() {
        let old = parsed("");
        let live = [
            ("[[capability]]", "[[capability]]\nname = \"a.b\"\n"),
            ("[grant]", "[grant]\nmessages-per-minute = 7\n"),
            ("[grant]", "[grant]\nconversation-messages-per-minute = 7\n"),
            ("[[peer]]", "[[peer]]\nid = \"agent-b\"\ntier = 1\n"),
            (
                "[[peer]]",
                "[[peer]]\nid = \"agent-b\"\ncarriers = [\"poll\"]\n",
            ),
            ("[offer]", "[offer]\nallow = [\"a.*\"]\n"),
            ("[offer]", "[offer]\nlinger-seconds = 7\n"),
            ("[approve]", "[approve]\ntiers = [3, 4]\n"),
            ("[tiers]", "[tiers]\nrestricted = [0, 1, 2, 3, 4]\n"),
            ("[people]", "[people]\nsign = \"none\"\n"),
            ("[notify]", "[notify]\ncommand = [\"tell-me\"]\n"),
            ("[card]", "[card]\nurl = \"https://a.example\"\n"),
        ];
        for (name, text) in live {
            let changes = Changes::between(&old, &parsed(text));
            assert_eq!(
                (changes.live, changes.fixed),
                (vec![name], vec![]),
                "{text}"
            );
        }
        let fixed = [
            ("[nats]", "[nats]\nmailbox = \"core\"\n"),
            ("[audit]", "[audit]\ndir = \"elsewhere\"\n"),
            ("[audit]", "[audit]\nmode = 0o640\n"),
            ("[control]", "[control]\nmode = 0o600\n"),
            ("[agent-socket]", "[agent-socket]\ntier = 2\n"),
            (
                "[carrier-socket]",
                "[carrier-socket]\nsocket = \"carrier.sock\"\n",
            ),
        ];
        for (name, text) in fixed {
            let changes = Changes::between(&old, &parsed(text));
            assert_eq!(
                (changes.live, changes.fixed),
                (vec![], vec![name]),
                "{text}"
            );
        }
        let other = parsed("layers = [0, 1]\n");
        assert_eq!(Changes::between(&old, &other).fixed, ["[agent]"]);
        assert_eq!(Changes::between(&old, &parsed("")), Changes::default());
    }
}
