//! Which addresses may be called: public ones, and those that the configuration names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;

/// Judges addresses.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    loopback: bool,
    networks: Arc<[Network]>,
}

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressKind {
    /// Anywhere: what goes there crosses networks of others.
    Public,
    /// This machine, or a network that the configuration names.
    Own,
}

impl Guard {
    pub(super) fn new(loopback: bool, networks: Vec<Network>) -> Self {
        Self {
            loopback,
            networks: networks.into(),
        }
    }

    /// Where that address is; `None` for one that may not be called.
    ///
    /// An address of version 6 that carries one of version 4 is judged by the latter alone, which is what whoever translates
    /// it calls: a network of version 6 that stands in the configuration lets none of them in.
    pub(super) fn judge(&self, address: IpAddr) -> Option<AddressKind> {
        let carried = match address {
            IpAddr::V6(address) => carried(address),
            IpAddr::V4(_) => None,
        };
        match carried {
            Some(carried) => self.judge_one(IpAddr::V4(carried)),
            None => self.judge_one(address),
        }
    }

    fn judge_one(&self, address: IpAddr) -> Option<AddressKind> {
        // Check the networks of the configuration first: most of them are private, and would be refused below.
        let is_named = self.networks.iter().any(|network| network.has(address));
        if is_named || (self.loopback && address.is_loopback()) {
            return Some(AddressKind::Own);
        }
        let is_public = match address {
            IpAddr::V4(address) => is_public_v4(address),
            IpAddr::V6(address) => is_public_v6(address),
        };
        is_public.then_some(AddressKind::Public)
    }
}

/// A network, such as `192.168.1.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Network {
    address: IpAddr,
    bits: u8,
}

/// What is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a network has the form 192.168.1.0/24 or fd00::/8, without bits behind its length")]
pub(crate) struct NoNetwork;

impl Network {
    fn has(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                masked_v4(address, self.bits) == u32::from(network)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                masked_v6(address, self.bits) == u128::from(network)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        let (address, bits) = text.split_once('/').ok_or(NoNetwork)?;
        let address: IpAddr = address.parse().map_err(|_| NoNetwork)?;
        let bits: u8 = bits.parse().map_err(|_| NoNetwork)?;
        let network = Self { address, bits };
        let fits = bits <= if address.is_ipv4() { 32 } else { 128 };
        match fits && network.has(address) {
            true => Ok(network),
            false => Err(NoNetwork),
        }
    }
}

impl TryFrom<String> for Network {
    type Error = NoNetwork;

    fn try_from(text: String) -> Result<Self, NoNetwork> {
        text.parse()
    }
}

fn masked_v4(address: Ipv4Addr, bits: u8) -> u32 {
    let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32)));
    // For a prefix of 0 bits the shift is as wide as the number, so `checked_shl` gives `None`: no bit counts then, and the
    // mask is 0.
    u32::from(address) & mask.unwrap_or(0)
}

fn masked_v6(address: Ipv6Addr, bits: u8) -> u128 {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128)));
    u128::from(address) & mask.unwrap_or(0)
}

/// The address of version 4 within one of version 6: mapped and compatible (RFC 4291, section 2.5.5), NAT64 (RFC 6052),
/// 6to4 (RFC 3056).
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let low = || Ipv4Addr::from((u32::from(g) << 16) | u32::from(h));
    match (a, b, c, d, e, f) {
        // `::1` and `::` have the form of an IPv4 address within an IPv6 address (compatible form), but are addresses of their
        // own: so take no IPv4 address from them.
        (0, 0, 0, 0, 0, 0) if address.is_loopback() || address.is_unspecified() => None,
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => Some(low()),
        (0x2002, ..) => Some(Ipv4Addr::from((u32::from(b) << 16) | u32::from(c))),
        _ => None,
    }
}

/// IANA's registry of special-purpose addresses of version 4 (RFC 6890), and multicast.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = [
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 31, 196, 0], 24),
        ([192, 52, 193, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([192, 175, 48, 0], 24),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        // The last range holds multicast (224.0.0.0/4) and the reserved addresses above it, which no host on the internet has.
        ([224, 0, 0, 0], 3),
    ];
    !special
        .iter()
        .any(|(network, bits)| masked_v4(address, *bits) == u32::from(Ipv4Addr::from(*network)))
}

/// What is given out to the internet (2000::/3), but for what the registry of special-purpose addresses takes out of it:
/// 2001::/23 with Teredo and benchmarks, documentation, 6to4 (judged by what it carries).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let within = |first: u16, second: u16, bits: u8| {
        let network = Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0);
        masked_v6(address, bits) == u128::from(network)
    };
    // Only addresses within 2000::/3 may be called, so this list need not name what lies outside, such as fc00::/7 and
    // fe80::/10. It takes out the ranges within 2000::/3 that are not public.
    within(0x2000, 0, 3)
        && !within(0x2001, 0, 23)
        && !within(0x2001, 0xdb8, 32)
        && !within(0x2002, 0, 16)
        && !within(0x3fff, 0, 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(guard: &Guard, address: &str) -> Option<AddressKind> {
        guard.judge(address.parse().unwrap())
    }

    #[test]
    fn no_way_of_writing_a_private_address_passes() {
        let guard = Guard::new(false, Vec::new());
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:c0a8:101::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert_eq!(judged(&guard, address), None, "{address}");
        }
        for address in [
            "1.1.1.1",
            "93.184.216.34",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "223.255.255.255",
            "100.63.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a00::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::",
        ] {
            assert_eq!(
                judged(&guard, address),
                Some(AddressKind::Public),
                "{address}"
            );
        }
    }

    #[test]
    fn what_the_configuration_names_is_allowed_and_nothing_beside_it() {
        let networks = vec![
            "192.168.1.0/24".parse().unwrap(),
            "fd00::/8".parse().unwrap(),
        ];
        let guard = Guard::new(true, networks);
        for address in [
            "127.0.0.1",
            "::1",
            "::ffff:127.0.0.1",
            "192.168.1.77",
            "fd12::9",
        ] {
            assert_eq!(judged(&guard, address), Some(AddressKind::Own), "{address}");
        }
        for address in ["192.168.2.1", "10.0.0.1", "169.254.169.254", "fe80::1"] {
            assert_eq!(judged(&guard, address), None, "{address}");
        }
        // A configured IPv6 network does not allow the private IPv4 addresses that its addresses carry (NAT64, 6to4, mapped):
        // the guard judges such an address by its IPv4 part alone.
        let translators = ["64:ff9b::/96", "2002::/16", "::/0"].map(|text| text.parse().unwrap());
        let guard = Guard::new(false, translators.into());
        for address in [
            "64:ff9b::a00:1",
            "64:ff9b::7f00:1",
            "2002:a00:1::",
            "::ffff:10.0.0.1",
        ] {
            assert_eq!(judged(&guard, address), None, "{address}");
        }
        let all = Guard::new(false, vec!["0.0.0.0/0".parse().unwrap()]);
        assert_eq!(judged(&all, "64:ff9b::a00:1"), Some(AddressKind::Own));
        assert_eq!(judged(&all, "10.0.0.1"), Some(AddressKind::Own));
        assert_eq!(judged(&all, "fe80::1"), None);
    }

    #[test]
    fn a_network_with_bits_behind_its_length_is_a_mistake() {
        for text in [
            "192.168.1.1/24",
            "10.0.0.0/33",
            "10.0.0.0",
            "fd00::1/8",
            "x/8",
            "::/129",
        ] {
            assert_eq!(text.parse::<Network>(), Err(NoNetwork), "{text}");
        }
    }
}
