//! An address of a hub: HOST:PORT.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// HOST:PORT, in which HOST is a name, an IPv4 address, or an IPv6 address in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct HubAddress(String);

impl fmt::Display for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HubAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_address = text.rsplit_once(':').is_some_and(|(host, port)| {
            // `u16` alone would take "+7422" as well.
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit())
                && port.parse::<u16>().is_ok_and(|port| port > 0);
            is_port && is_host(host)
        });
        is_address.then(|| Self(text.to_owned())).ok_or_else(|| {
            "write HOST:PORT, such as hub.example:7422; an IPv6 address stands in brackets"
                .to_owned()
        })
    }
}

impl TryFrom<String> for HubAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

fn is_host(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if let Some(bare) = bare {
        return bare.parse::<Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let has_letter = host.contains(|c: char| c.is_ascii_alphabetic());
    let is_name = host.len() <= 253 && has_letter && host.split('.').all(is_label);
    is_name || host.parse::<Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_or_would_be_more_than_one_is_refused() {
        for text in [
            "hub.example",
            "hub.example:",
            "hub.example:0",
            "hub.example:+1",
            "hub.example:65536",
            ":7422",
            "user@hub.example:7422",
            "hub.example:7422/x",
            "tls://hub.example:7422",
            "hub.example\":7422",
            "hub.example\n:7422",
            "hub..example:7422",
            "::1:7422",
            "[hub.example]:7422",
            "1.2.3:7422",
        ] {
            assert!(text.parse::<HubAddress>().is_err(), "{text:?}");
        }
        for text in ["hub.example:7422", "hub:1", "10.0.0.1:65535", "[::1]:7422"] {
            assert!(text.parse::<HubAddress>().is_ok(), "{text:?}");
        }
    }
}
