//! Looks at several settings of gateway.toml together, and refuses values that would be accepted and have no effect.

use std::net::Ipv6Addr;

use super::{Auth, CallerLimits, GatewayConfig};

impl GatewayConfig {
    /// The first fault, and what to write.
    pub(crate) fn unfit(&self) -> Option<String> {
        let listen = &self.listen;
        let owned = |what: Option<&'static str>| what.map(str::to_owned);
        owned(self.open_by_mistake())
            .or_else(|| owned(self.limits.unfit()))
            .or_else(|| {
                listen
                    .hosts
                    .iter()
                    .find_map(|host| unfit_host(host, "[listen]"))
            })
            .or_else(|| listen.origins.iter().find_map(|named| unfit_origin(named)))
            .or_else(|| owned(self.unfit_tier()))
            .or_else(|| self.a2a.unfit())
            .or_else(|| self.discord.as_ref()?.unfit())
            .or_else(|| self.unfit_metrics())
    }

    fn open_by_mistake(&self) -> Option<&'static str> {
        let is_loopback = self.listen.address.ip().is_loopback();
        match (is_loopback, self.listen.auth, &self.tls) {
            (false, Auth::None, _) => Some(
                "`auth = \"none\"` lets everybody speak for the agent; it is for an `address` of this machine alone",
            ),
            (false, _, None) => Some(
                "an `address` that others reach needs [tls]; tokens and messages would cross the network in clear",
            ),
            _ => None,
        }
    }

    fn unfit_tier(&self) -> Option<&'static str> {
        let is_tier = (1..=4).contains(&self.mcp.tier);
        (!is_tier).then_some("`tier` under [mcp] is a data tier: 1, 2, 3 or 4")
    }
}

impl CallerLimits {
    fn unfit(&self) -> Option<&'static str> {
        let is_nothing = [self.connections, self.body_bytes, self.requests_at_once].contains(&0)
            || [self.header_seconds, self.body_seconds].contains(&0)
            || self.requests_per_minute == 0;
        match self.body_bytes > BODY_MAX {
            _ if is_nothing => Some("a limit of 0 lets nothing in"),
            true => {
                Some("`body-bytes` is more than 16777216, and no message is longer than 262144")
            }
            false => None,
        }
    }
}

/// A name is compared with what callers send in `Host`, less the port. `section` has the name.
pub(super) fn unfit_host(host: &str, section: &str) -> Option<String> {
    let version_6 = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let is_fit = match version_6 {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_of_name),
    };
    (!is_fit).then(|| {
        format!(
            "`hosts` under {section} has {host:?}, by which nobody calls it: write the name alone, such as \
             \"agent.example.org\", without scheme, port, path or `*`"
        )
    })
}

/// An origin is compared with what browsers send (RFC 6454, section 6.2).
fn unfit_origin(origin: &str) -> Option<String> {
    let is_fit = origin
        .trim_end_matches('/')
        .split_once("://")
        .is_some_and(|(scheme, host)| {
            let (name, port) = host.split_once(':').unwrap_or((host, ""));
            let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
            // Browsers leave a scheme's default port out of `Origin`, so a configured origin that names this port would never
            // match: refuse such an origin, so that the person takes the port out.
            let is_default = [("http", "80"), ("https", "443")].contains(&(scheme, port));
            let is_host = match host.starts_with('[') {
                true => host
                    .bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || b"[]:".contains(&byte)),
                false => !name.is_empty() && name.bytes().all(is_of_name) && is_port(port),
            };
            let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
            !scheme.is_empty() && scheme.bytes().all(is_scheme) && is_host && !is_default
        });
    (!is_fit).then(|| {
        format!(
            "`origins` under [listen] has {origin:?}, which no browser sends: write scheme and name, such as \
             \"https://app.example.org\", without a path or `*`, and with a port only where it is not that of the scheme"
        )
    })
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._".contains(&byte)
}

const BODY_MAX: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn unfit(text: &str) -> Option<String> {
        GatewayConfig::parse(text).unwrap().unfit()
    }

    #[test]
    fn nobody_opens_the_agent_to_a_network_by_mistake() {
        let none = "[listen]\nauth = \"none\"\n";
        assert_eq!(unfit(none), None);
        let open = unfit("[listen]\naddress = \"0.0.0.0:80\"\nauth = \"none\"\n").unwrap();
        assert!(open.contains("everybody"), "{open}");
        for address in ["0.0.0.0:80", "[::]:80", "192.168.1.4:80"] {
            let clear = unfit(&format!("[listen]\naddress = \"{address}\"\n")).unwrap();
            assert!(clear.contains("[tls]"), "{address}: {clear}");
        }
        let secured =
            "[listen]\naddress = \"0.0.0.0:80\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"\n";
        assert_eq!(unfit(secured), None);
    }

    #[test]
    fn a_limit_of_nothing_or_of_too_much_is_refused() {
        for limit in [
            "connections",
            "header-seconds",
            "body-seconds",
            "body-bytes",
            "requests-per-minute",
            "requests-at-once",
        ] {
            let what = unfit(&format!("[limits]\n{limit} = 0\n")).unwrap();
            assert!(what.contains("limit of 0"), "{limit}: {what}");
        }
        let what = unfit("[limits]\nbody-bytes = 99999999\n").unwrap();
        assert!(what.contains("body-bytes"), "{what}");
    }

    #[test]
    fn a_host_or_an_origin_that_never_matches_is_refused_with_what_to_write() {
        let with = |key: &str, value: &str| unfit(&format!("[listen]\n{key} = [{value:?}]\n"));
        for host in [
            "agent.example.org",
            "Agent",
            "10.0.0.1",
            "[fd00::1]",
            "a_b-c.d",
        ] {
            assert_eq!(with("hosts", host), None, "{host}");
        }
        for host in [
            "https://agent.example.org/",
            "agent.example.org/",
            "agent.example.org:443",
            "*",
            "*.example.org",
            "",
            "fd00::1",
            "[x]",
            "a b",
        ] {
            let what = with("hosts", host).unwrap();
            assert!(what.contains("agent.example.org"), "{host}: {what}");
        }
        for origin in [
            "https://app.example.org",
            "https://app.example.org/",
            "HTTP://localhost:5173",
            "http://[::1]:5173",
            "chrome-extension://abcdefgh",
        ] {
            assert_eq!(with("origins", origin), None, "{origin}");
        }
        for origin in [
            "app.example.org",
            "*",
            "null",
            "https://*",
            "https://",
            "https://app.example.org/page",
            "https://app.example.org:443",
            "https://me@app.example.org",
        ] {
            let what = with("origins", origin).unwrap();
            assert!(what.contains("https://app.example.org"), "{origin}: {what}");
        }
    }

    #[test]
    fn a_tier_that_there_is_not_and_a_channel_that_is_none_are_refused() {
        for tier in [0, 5, 9] {
            let what = unfit(&format!("[mcp]\ntier = {tier}\n")).unwrap();
            assert!(what.contains("1, 2, 3 or 4"), "{what}");
        }
        assert_eq!(unfit("[mcp]\ntier = 4\n"), None);
        let what = unfit("[discord]\nchannel = \"abc\"\n").unwrap();
        assert!(what.contains("`channel` under [discord]"), "{what}");
        let odd = "[discord]\nchannel = \"7\"\nbase-url = \"discord\"\n";
        assert!(unfit(odd).unwrap().contains("base-url"));
        assert_eq!(unfit("[discord]\nchannel = \"7\"\n"), None);
    }
}
