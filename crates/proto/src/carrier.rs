//! Carriers: what takes bytes from one daemon to another, and where a peer is found on each.
//!
//! A carrier is trusted with nothing: what it brings is bytes until it was judged, and what it says of
//! messages (stored, read to the end) is a hint that only a peer's receipt makes good.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use crate::draft::Signed;
use crate::ids::{AgentId, IdError};

/// The name of a carrier: `[a-z][a-z0-9-]{0,31}`, as a log line has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarrierId(Cow<'static, str>);

impl CarrierId {
    /// A NATS server, with a mailbox or without: what carries every peer's mail unless it is told otherwise.
    pub const NATS: Self = Self(Cow::Borrowed("nats"));

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CarrierId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = text.len() <= LONGEST
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(inner);
        let named = || Self(Cow::Owned(text.to_owned()));
        is_name.then(named).ok_or(IdError::Name)
    }
}

impl fmt::Display for CarrierId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for CarrierId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CarrierId({self})")
    }
}

/// Where a peer is found on one carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// On which.
    pub carrier: CarrierId,
    /// Where there: a subject, a URL, whatever the carrier understands.
    pub address: String,
}

/// The one place that says by which carriers a peer is reached, in which order, and where on each.
#[derive(Clone, Debug, Default)]
pub struct Routes(BTreeMap<AgentId, Vec<Route>>);

impl Routes {
    /// A peer's carriers, the first to be tried first. An empty list stands for the default.
    pub fn set(&mut self, peer: AgentId, routes: Vec<Route>) {
        self.0.insert(peer, routes);
    }

    /// The carriers of a peer in their order: NATS alone, unless it was told otherwise.
    pub fn of(&self, peer: &AgentId) -> Cow<'_, [Route]> {
        match self.0.get(peer).filter(|routes| !routes.is_empty()) {
            Some(routes) => Cow::Borrowed(routes),
            None => Cow::Owned(vec![Route {
                carrier: CarrierId::NATS,
                address: inbox_subject(peer),
            }]),
        }
    }
}

/// The subject of an agent's inbox on NATS.
#[must_use]
pub fn inbox_subject(agent: &AgentId) -> String {
    format!("agent.{agent}.inbox")
}

/// A signed message and the way that it is to go. Only a node makes one.
#[derive(Clone, Debug)]
pub struct Parcel {
    signed: Signed,
    route: Route,
}

impl Parcel {
    pub(crate) fn of(signed: Signed, route: Route) -> Self {
        Self { signed, route }
    }

    /// By which carrier.
    pub fn carrier(&self) -> &CarrierId {
        &self.route.carrier
    }

    /// Where to, on that carrier.
    pub fn address(&self) -> &str {
        &self.route.address
    }
}

/// A parcel is the message that is in it: its bytes, its recipient, what it says.
impl Deref for Parcel {
    type Target = Signed;

    fn deref(&self) -> &Signed {
        &self.signed
    }
}

const LONGEST: usize = 32;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_what_a_log_line_takes() {
        for name in ["nats", "h", "http-2", "abcdefghijklmnopqrstuvwxyz123456"] {
            assert_eq!(name.parse::<CarrierId>().unwrap().as_str(), name);
        }
        for name in [
            "",
            "2http",
            "-x",
            "a b",
            "NATS",
            "a.b",
            "abcdefghijklmnopqrstuvwxyz1234567",
        ] {
            assert_eq!(name.parse::<CarrierId>().ok(), None, "{name}");
        }
        assert_eq!("nats".parse(), Ok(CarrierId::NATS));
    }

    #[test]
    fn a_peer_nobody_spoke_of_is_reached_by_nats() {
        let (peer, other): (AgentId, AgentId) =
            ("agent-a".parse().unwrap(), "agent-b".parse().unwrap());
        let mut routes = Routes::default();
        let usual = [Route {
            carrier: CarrierId::NATS,
            address: "agent.agent-a.inbox".into(),
        }];
        assert_eq!(*routes.of(&peer), usual);
        let told = vec![Route {
            carrier: "http".parse().unwrap(),
            address: "https://b.example/agent/agent-b/inbox".into(),
        }];
        routes.set(other.clone(), told.clone());
        assert_eq!(*routes.of(&other), told);
        routes.set(other.clone(), Vec::new());
        assert_eq!(routes.of(&other).len(), 1);
        assert_eq!(*routes.of(&peer), usual);
    }
}
