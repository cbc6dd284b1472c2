//! Where peers are found: what `signet accept` kept of their invitations (`carriers.json`), and `carriers` of
//! `[[peer]]`, which comes before it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use signet_proto::carrier::{
    CarrierId, KEPT_FOR_POLLS, MOST_ROUTES, Route, RouteError, Routes, http_address,
};
use signet_proto::ids::AgentId;

use super::policy::PeerKeys;
use super::section::Source;
use super::{CONFIG_BYTES, ConfigError, read};
use crate::files::private;
use crate::home::Home;

/// Of each peer its carriers in their order, as a configuration writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerCarriers(BTreeMap<AgentId, Vec<String>>);

impl PeerCarriers {
    /// The ways to all of them.
    pub fn routes(&self) -> Routes {
        let mut routes = Routes::default();
        for (peer, texts) in &self.0 {
            // Texts that are no routes were refused when they were read or written, so this `if` skips none.
            if let Ok(all) = routes_of(texts, peer) {
                routes.set(peer.clone(), all);
            }
        }
        routes
    }

    /// What was kept of invitations.
    ///
    /// # Errors
    /// The file cannot be read, or says of a peer what is no carrier.
    pub fn kept(home: &Home) -> Result<Self, ConfigError> {
        let path = home.peer_carriers();
        let text = match read(&path, CONFIG_BYTES) {
            Err(ConfigError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                return Ok(Self::default());
            }
            read => read?,
        };
        let bad = |fault: String| ConfigError::Carriers {
            path: path.clone(),
            fault,
        };
        let all: BTreeMap<AgentId, Vec<String>> =
            serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        for (peer, texts) in &all {
            routes_of(texts, peer).map_err(|error| bad(format!("{peer}: {error}")))?;
        }
        Ok(Self(all))
    }

    /// Keeps what the invitation of a peer said, in the place of what was kept of it before.
    ///
    /// # Errors
    /// As for [`PeerCarriers::kept`], or the file cannot be written.
    pub fn keep(
        home: &Home,
        peer: &AgentId,
        carriers: Vec<String>,
    ) -> Result<PathBuf, ConfigError> {
        let Self(mut all) = Self::kept(home)?;
        all.insert(peer.clone(), carriers);
        let path = home.peer_carriers();
        let text = serde_json::to_string_pretty(&all).unwrap_or_default();
        // Replace the file of carriers as a whole: a half-written file would make every later start fail.
        private::replace(&path, format!("{text}\n").as_bytes())?;
        Ok(path)
    }

    /// The same with what a configuration says itself.
    pub(super) fn with(mut self, written: Self) -> Self {
        self.0.extend(written.0);
        self
    }

    /// `carriers` of each `[[peer]]`.
    pub(super) fn written(peers: &[PeerKeys], source: Source<'_>) -> Result<Self, ConfigError> {
        let mut all = BTreeMap::new();
        for (number, section) in peers.iter().enumerate() {
            let Some(texts) = &section.carriers else {
                continue;
            };
            routes_of(texts, &section.id).map_err(|error| {
                source.bad(&format!("peer.{number}.carriers"), &error.to_string())
            })?;
            all.insert(section.id.clone(), texts.clone());
        }
        Ok(Self(all))
    }
}

/// The ways to `peer` in their order. Addresses of HTTP are one way, with a space between them: whoever carries it tries
/// them in that order.
///
/// # Errors
/// Says what is expected.
pub(crate) fn routes_of(texts: &[String], peer: &AgentId) -> Result<Vec<Route>, RouteError> {
    let mut routes: Vec<Route> = Vec::new();
    for text in texts {
        let route = Route::parse(text, peer)?;
        let known = routes
            .iter_mut()
            .find(|known| known.carrier == route.carrier);
        match known {
            None => routes.push(route),
            // A message that went out is noted with the name of its carrier alone, so two routes of one carrier could
            // not be told apart. A peer has one route for each carrier, and a second address is added to that route.
            Some(known) if is_another_address(known, &route) => {
                known.address.push(' ');
                known.address.push_str(&route.address);
            }
            Some(_) => return Err(RouteError::Number),
        }
    }
    match routes.is_empty() || texts.len() > MOST_ROUTES {
        true => Err(RouteError::Number),
        false => Ok(routes),
    }
}

fn is_another_address(known: &Route, route: &Route) -> bool {
    let is_polled = known.address == KEPT_FOR_POLLS || route.address == KEPT_FOR_POLLS;
    let is_there = known.address.split(' ').any(|one| one == route.address);
    route.carrier == CarrierId::HTTP && !is_polled && !is_there
}

/// Where others reach this agent by HTTP: its addresses, or the one word that it can only dial out.
pub(super) fn own_addresses(
    texts: Vec<String>,
    source: Source<'_>,
) -> Result<Vec<String>, ConfigError> {
    let is_poll = texts == [KEPT_FOR_POLLS];
    let all_fit = texts.len() <= 8 && texts.iter().all(|text| http_address(text).is_ok());
    match is_poll || all_fit {
        true => Ok(texts),
        false => Err(source.bad(
            "carrier-socket.addresses",
            "addresses such as \"https://house.example/agent/agent-bob/inbox\" are expected, eight at most, or \
             [\"poll\"] for an agent that can only dial out",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_addresses_are_one_way_in_their_order_and_nothing_stands_twice() {
        let peer: AgentId = "agent-bob".parse().unwrap();
        let of = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| String::from(*text)).collect();
            let routes = routes_of(&texts, &peer)?;
            Ok(routes
                .into_iter()
                .map(|route| route.address)
                .collect::<Vec<_>>())
        };
        assert_eq!(
            of(&["https://a/x", "nats", "https://b/x"]).unwrap(),
            ["https://a/x https://b/x", "agent.agent-bob.inbox"]
        );
        assert_eq!(of(&["poll"]).unwrap(), ["poll"]);
        let nine: Vec<String> = (0..9).map(|n| format!("https://h{n}/")).collect();
        let nine: Vec<&str> = nine.iter().map(String::as_str).collect();
        assert_eq!(of(&nine), Err(RouteError::Number));
        assert!(of(&nine[1..]).is_ok());
        for wrong in [
            &["https://a/x", "https://a/x"][..],
            &["https://a/x", "poll"],
            &["poll", "https://a/x"],
            &["nats", "nats"],
            &["https://a/x https://b/x"],
            &[],
        ] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
