//! Which addresses that others write are called: none of this machine, of a private network or of a cloud's own service.
#![no_main]

use std::net::IpAddr;

use signet_gateway::fuzzed;

libfuzzer_sys::fuzz_target!(|url: &str| {
    let Some(address) = fuzzed::address(url) else {
        return;
    };
    let carried = match address {
        IpAddr::V6(address) => address
            .to_ipv4_mapped()
            .map_or(IpAddr::V6(address), IpAddr::V4),
        address => address,
    };
    let IpAddr::V4(address) = carried else {
        assert!(!carried.is_loopback() && !carried.is_unspecified() && !carried.is_multicast());
        return;
    };
    let is_own = address.is_loopback() || address.is_private() || address.is_link_local();
    assert!(
        !is_own && !address.is_unspecified() && !address.is_broadcast() && !address.is_multicast()
    );
});
