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

/// The address of a peer that can only dial out: what is for it is kept until it polls.
pub const KEPT_FOR_POLLS: &str = "poll";
/// So many carriers of one peer are known at most.
pub const MOST_ROUTES: usize = 8;

/// The name of a carrier: `[a-z][a-z0-9-]{0,31}`, as a log line has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarrierId(Cow<'static, str>);

impl CarrierId {
    /// A NATS server, with a mailbox or without: what carries every peer's mail unless it is told otherwise.
    pub const NATS: Self = Self(Cow::Borrowed("nats"));
    /// HTTP: `POST` to the peer's address, or what is kept here until the peer polls.
    pub const HTTP: Self = Self(Cow::Borrowed("http"));
    /// A channel of Discord.
    pub const DISCORD: Self = Self(Cow::Borrowed("discord"));

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

/// A text names no way to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// It is neither a word nor an address that is known.
    #[error(
        "\"nats\", \"poll\" (it polls for what is kept here), \"discord\", or its address such as \
         \"https://house.example/agent/agent-bob/inbox\" is expected"
    )]
    Unknown,
    /// The address is too long, holds a login, or what no address holds.
    #[error(
        "an address has 256 visible ASCII characters at most, a host, and no login and no fragment"
    )]
    Address,
    /// The list is empty or too long.
    #[error("one to eight carriers are expected, each of them once")]
    Number,
}

impl Route {
    /// How a configuration writes a way to `peer`: `nats`, `poll`, `discord`, or an address of http or https.
    ///
    /// # Errors
    /// Says what is expected.
    pub fn parse(text: &str, peer: &AgentId) -> Result<Self, RouteError> {
        let (carrier, address) = match text {
            "nats" => (CarrierId::NATS, inbox_subject(peer)),
            "discord" => (CarrierId::DISCORD, text.to_owned()),
            KEPT_FOR_POLLS => (CarrierId::HTTP, text.to_owned()),
            _ => (CarrierId::HTTP, http_address(text)?.to_owned()),
        };
        Ok(Self { carrier, address })
    }

    /// The ways to `peer` in their order, no carrier twice.
    ///
    /// # Errors
    /// Says what is expected.
    pub fn parse_all<'t>(
        texts: impl IntoIterator<Item = &'t str>,
        peer: &AgentId,
    ) -> Result<Vec<Self>, RouteError> {
        let mut routes: Vec<Self> = Vec::new();
        for text in texts {
            let route = Self::parse(text, peer)?;
            let known = routes.iter().any(|known| known.carrier == route.carrier);
            if known || routes.len() >= MOST_ROUTES {
                return Err(RouteError::Number);
            }
            routes.push(route);
        }
        if routes.is_empty() {
            return Err(RouteError::Number);
        }
        Ok(routes)
    }
}

/// An address of the carrier HTTP. Whether it may be called is for whoever calls it: names resolve anew each time.
///
/// # Errors
/// When it is no such address, or more than one.
pub fn http_address(text: &str) -> Result<&str, RouteError> {
    let rest = text.strip_prefix("https://");
    let rest = rest.or_else(|| text.strip_prefix("http://"));
    let rest = rest.ok_or(RouteError::Unknown)?;
    // Refuse `@`, with which an address could hold a login, `#`, which begins a fragment, and some characters that RFC 3986
    // allows nowhere, such as white space and quotation marks.
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '@' | '#' | '\\' | '"' | '<' | '>');
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let fits = text.len() <= LONGEST_ADDRESS && text.chars().all(plain) && !host.is_empty();
    if fits {
        Ok(text)
    } else {
        Err(RouteError::Address)
    }
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
        // Most peers are reached by NATS alone, and no routes are stored for them: so NATS is the default.
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
/// In bytes.
const LONGEST_ADDRESS: usize = 256;

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
    fn a_way_is_a_word_or_an_address_and_every_other_text_is_refused() {
        let bob: AgentId = "agent-bob".parse().unwrap();
        let way = |text: &str| {
            let route = Route::parse(text, &bob)?;
            Ok((route.carrier.to_string(), route.address))
        };
        let known = [
            ("nats", "nats", "agent.agent-bob.inbox"),
            ("poll", "http", "poll"),
            ("discord", "discord", "discord"),
            (
                "https://b.example/agent/agent-bob/inbox",
                "http",
                "https://b.example/agent/agent-bob/inbox",
            ),
            ("http://127.0.0.1:8080/", "http", "http://127.0.0.1:8080/"),
        ];
        for (text, carrier, address) in known {
            assert_eq!(way(text), Ok((carrier.to_owned(), address.to_owned())));
        }
        for text in [
            "",
            "NATS",
            "ftp://b.example/",
            "file:///etc/passwd",
            "unix:/run/x",
            "b.example",
            "http:127.0.0.1:1",
            "HTTPS://b.example",
        ] {
            assert_eq!(way(text), Err(RouteError::Unknown), "{text}");
        }
        let long = format!("https://b.example/{}", "a".repeat(240));
        let hostile = [
            "https://",
            "https:///x",
            "https://user:secret@b.example/",
            "https://b.example/#x",
            "https://b.example/a b",
            "https://b.example/\u{1b}[2J",
            "https://b.example/\n",
            "https://b\u{0435}.example/",
            &long,
        ];
        for text in hostile {
            assert_eq!(way(text), Err(RouteError::Address), "{text}");
        }
    }

    #[test]
    fn a_list_names_each_carrier_once_and_one_at_least() {
        let bob: AgentId = "agent-bob".parse().unwrap();
        let all =
            |texts: &[&str]| Route::parse_all(texts.iter().copied(), &bob).map(|all| all.len());
        assert_eq!(all(&["https://b.example/", "nats"]), Ok(2));
        for wrong in [
            vec![],
            vec!["nats", "nats"],
            vec!["https://b.example/", "poll"],
        ] {
            assert_eq!(all(&wrong), Err(RouteError::Number), "{wrong:?}");
        }
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
