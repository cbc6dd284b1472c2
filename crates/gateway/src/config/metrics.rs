//! `[metrics]` of gateway.toml: where the numbers are shown, and to whom.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::Deserialize;

use super::fit::unfit_host;
use super::{Auth, CallerLimits, GatewayConfig, Listen, address};

/// The listener of the numbers. It is another one than that of the doors, so that whoever reads numbers reaches no door.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct MetricsSection {
    #[serde(deserialize_with = "address")]
    pub(crate) address: SocketAddr,
    /// By which names others call it, besides those of this machine itself.
    pub(crate) hosts: Vec<String>,
    pub(crate) auth: Auth,
    /// The file of its own tokens: none of them opens a door, and no token of a door shows numbers.
    pub(crate) tokens: PathBuf,
}

impl Default for MetricsSection {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
            hosts: Vec::new(),
            auth: Auth::Token,
            tokens: PathBuf::from("gateway-metrics-tokens.toml"),
        }
    }
}

impl GatewayConfig {
    /// The configuration of the listener of the numbers: its own address and tokens, few connections, and the certificate of
    /// `[listen]`.
    pub(crate) fn of_metrics(&self, section: &MetricsSection) -> Self {
        Self {
            listen: Listen {
                address: section.address,
                hosts: section.hosts.clone(),
                origins: Vec::new(),
                auth: section.auth,
                tokens: section.tokens.clone(),
            },
            limits: CallerLimits {
                connections: CONNECTIONS,
                requests_per_minute: REQUESTS,
                requests_at_once: CONNECTIONS,
                ..self.limits
            },
            ..self.clone()
        }
    }

    /// Where the numbers are and who may read them, in words and without a line end; `None` where they are off.
    pub(crate) fn numbers(&self) -> Option<String> {
        let section = self.metrics.as_ref()?;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let who = match section.auth {
            Auth::Token => "for who has a token",
            Auth::None => "for every program of this machine",
        };
        Some(format!(
            "numbers at {scheme}://{}/metrics, {who}",
            section.address
        ))
    }

    /// The fault of `[metrics]`, where it is there and would be refused or have no effect.
    pub(super) fn unfit_metrics(&self) -> Option<String> {
        let section = self.metrics.as_ref()?;
        let (own, others) = (section.address, self.listen.address);
        // With port 0 the system chooses another port for each of the two.
        if own.port() == others.port() && own.port() != 0 {
            return Some(format!(
                "`address` under [metrics] has the port of [listen], {}: give the numbers another one, such as {PORT}",
                own.port()
            ));
        }
        if section.tokens == self.listen.tokens {
            let what = "`tokens` under [metrics] is the file of [listen]: a token of a door would show numbers as well";
            return Some(what.to_owned());
        }
        let open = match (own.ip().is_loopback(), section.auth, &self.tls) {
            (false, Auth::None, _) => Some(
                "`auth = \"none\"` under [metrics] shows the numbers to everybody who reaches the address; it is for an \
                 `address` of this machine alone",
            ),
            (false, _, None) => Some(
                "an `address` under [metrics] that others reach needs [tls]; the token and the numbers would cross the network \
                 in clear",
            ),
            _ => None,
        };
        let mut hosts = section.hosts.iter();
        let host = || hosts.find_map(|host| unfit_host(host, "[metrics]"));
        open.map(str::to_owned).or_else(host)
    }
}

/// The port that exporters of OpenTelemetry have for Prometheus, too.
const PORT: u16 = 9464;
/// A handful of Prometheus servers and a person with a browser.
const CONNECTIONS: usize = 32;
/// Of one token in a minute: one a second, and as many again.
const REQUESTS: u32 = 120;

#[cfg(test)]
mod tests {
    use super::*;

    fn unfit(text: &str) -> Option<String> {
        GatewayConfig::parse(text).unwrap().unfit()
    }

    #[test]
    fn numbers_are_shown_nowhere_until_the_file_says_so_and_then_on_loopback_by_a_token() {
        assert!(GatewayConfig::parse("").unwrap().metrics.is_none());
        let config = GatewayConfig::parse("[metrics]\n").unwrap();
        let section = config.metrics.clone().unwrap();
        assert!(section.address.ip().is_loopback());
        assert_eq!((section.auth, config.unfit()), (Auth::Token, None));
    }

    #[test]
    fn whoever_looks_at_the_file_is_told_where_the_numbers_are() {
        let numbers = |text: &str| GatewayConfig::parse(text).unwrap().numbers();
        assert_eq!(numbers(""), None);
        let closed = numbers("[metrics]\n").unwrap();
        assert_eq!(
            closed,
            "numbers at http://127.0.0.1:9464/metrics, for who has a token"
        );
        let open = numbers("[metrics]\nauth = \"none\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"\n")
            .unwrap();
        assert!(
            open.starts_with("numbers at https://")
                && open.ends_with("every program of this machine")
        );
    }

    #[test]
    fn nobody_shows_numbers_to_a_network_by_mistake() {
        assert_eq!(unfit("[metrics]\nauth = \"none\"\n"), None);
        let open = unfit(
            "[metrics]\naddress = \"0.0.0.0:9464\"\nauth = \"none\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"\n",
        );
        assert!(open.unwrap().contains("everybody"));
        let clear = unfit("[metrics]\naddress = \"192.168.1.4:9464\"\n").unwrap();
        assert!(clear.contains("[tls]"), "{clear}");
        let secured =
            "[metrics]\naddress = \"192.168.1.4:9464\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"\n";
        assert_eq!(unfit(secured), None);
    }

    #[test]
    fn the_port_and_the_tokens_of_the_doors_are_not_those_of_the_numbers() {
        let port = unfit("[metrics]\naddress = \"127.0.0.1:8787\"\n").unwrap();
        assert!(port.contains("[listen], 8787"), "{port}");
        let tokens = unfit("[metrics]\ntokens = \"gateway-tokens.toml\"\n").unwrap();
        assert!(tokens.contains("`tokens` under [metrics]"), "{tokens}");
        let host = unfit("[metrics]\nhosts = [\"https://x/\"]\n").unwrap();
        assert!(host.contains("`hosts` under [metrics]"), "{host}");
        let chosen = "[listen]\naddress = \"127.0.0.1:0\"\n[metrics]\naddress = \"127.0.0.1:0\"\n";
        assert_eq!(unfit(chosen), None);
    }
}
