//! Whether anybody reads along on the way to the NATS server.

use std::net::IpAddr;

use signet_transport::Inspection;

use super::finding::{CheckResult, DoctorCheck};
use crate::config::{NatsConfig, NatsLogin};

/// Looks at every address that the daemon may use, also where none of them answers now.
pub(super) fn encryption(nats: &NatsConfig, seen: Option<&Inspection>) -> CheckResult {
    let told = seen.filter(|_| nats.discovers_servers);
    let told = told.map_or(&[][..], |seen| &seen.facts.told);
    let asks = seen.filter(|seen| seen.facts.demands_tls);
    judge(nats, told, asks.map(|seen| seen.server.as_str()))
}

/// `told` are the servers that one told of, and `asks` is the one that answered, where it asked for TLS by itself.
fn judge(nats: &NatsConfig, told: &[String], asks: Option<&str>) -> CheckResult {
    let check = DoctorCheck::of(
        "encryption",
        "whether others can read what goes to the NATS server",
    );
    if demands_tls(nats) {
        return check.well("config.toml demands TLS in [nats.tls]");
    }
    let clear: Vec<&str> = { nats.servers.iter().chain(told) }
        .map(String::as_str)
        .filter(|address| is_clear(address))
        .collect();
    let Some(first) = clear.first() else {
        return check.well("each address begins with tls:// or wss://, or is this machine");
    };
    let write = format!(
        "write {} in the place of {first} in {}",
        with_tls(first),
        place()
    );
    // The client library changes over to TLS where the server wants that, but never on a WebSocket.
    let is_offered = |server: &str| clear.contains(&server) && server.starts_with("nats://");
    if asks.is_some_and(is_offered) {
        return check.warning(
            format!("{first} is encrypted because the server asks for it; config.toml does not demand it"),
            "somebody on the way can take that wish out of what the server says, and then reads along",
            &write,
        );
    }
    let found = format!("IN CLEAR to another machine: {}", clear.join(" "));
    let next = format!(
        "give the server a certificate (a `tls` block in its configuration), and {write}; a VPN serves as well, and is \
         not seen from here"
    );
    match nats.login {
        NatsLogin::User { .. } => check.fault(found, PASSWORD, &next),
        NatsLogin::None | NatsLogin::Creds(_) | NatsLogin::Nkey(_) => {
            check.warning(found, READERS, &next)
        }
    }
}

/// Whether a server without TLS is refused, whatever its address begins with.
fn demands_tls(nats: &NatsConfig) -> bool {
    nats.tls_required || nats.tls_ca.is_some() || nats.tls_client.is_some()
}

/// Whether nothing but the server's wish encrypts the way to this address, and the way leaves this machine.
fn is_clear(address: &str) -> bool {
    let clear = ["nats://", "ws://"];
    let rest = clear.iter().find_map(|scheme| address.strip_prefix(scheme));
    rest.is_some_and(|rest| !is_loopback(host(rest)))
}

/// The host of `host:port/path`.
fn host(rest: &str) -> &str {
    let rest = rest.split('/').next().unwrap_or_default();
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => rest.rsplit_once(':').map_or(rest, |(host, _)| host),
    }
}

/// A name that a resolver has to look up may lead anywhere, but these lead to the own machine (RFC 6761).
fn is_loopback(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let is_name = name == "localhost" || name.ends_with(".localhost");
    // Linux takes the unspecified address for the loopback.
    let is_own = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    is_name || { host.parse::<IpAddr>() }.is_ok_and(|ip| is_own(ip.to_canonical()))
}

fn with_tls(address: &str) -> String {
    match address.strip_prefix("ws://") {
        Some(rest) => format!("wss://{rest}"),
        None => address.replacen("nats://", "tls://", 1),
    }
}

/// Where the addresses of the servers stand.
pub(super) fn place() -> &'static str {
    let is_set = std::env::var("NATS_URL").is_ok_and(|urls| !urls.trim().is_empty());
    match is_set {
        true => "the variable NATS_URL",
        false => "`servers` in [nats] of config.toml",
    }
}

const READERS: &str = "whoever reads the network sees who writes to whom and when, and the contents of tier 1 and 2; somebody on the way can \
                       also hold up, drop and take messages. What is signed or sealed stays so";
const PASSWORD: &str = "whoever reads the network has the password, and with it this agent's mail; sees who writes to whom and when, and the \
                        contents of tier 1 and 2; and can hold up, drop and take messages. What is signed or sealed stays so";

#[cfg(test)]
mod tests {
    use super::super::finding::Health;
    use super::*;
    use crate::config::{MailboxMode, ReplyPrefix};

    fn nats(servers: &[&str], login: NatsLogin) -> NatsConfig {
        NatsConfig {
            servers: servers.iter().map(|&one| one.to_owned()).collect(),
            discovers_servers: true,
            mailbox: MailboxMode::Jetstream,
            domain: None,
            reply_prefix: ReplyPrefix::OneToken,
            login,
            tls_ca: None,
            tls_client: None,
            tls_required: false,
        }
    }

    #[test]
    fn a_way_in_clear_is_told_of_with_what_it_shows_and_a_password_in_clear_is_a_fault() {
        let far = "nats://n1.house.example:4222";
        let found = judge(
            &nats(&["nats://127.0.0.1:1", far], NatsLogin::None),
            &[],
            None,
        );
        assert_eq!(found.health, Health::Warning);
        assert!(found.found.contains("IN CLEAR") && found.found.contains(far));
        let says = |found: &CheckResult, words: &str| {
            found
                .means
                .as_ref()
                .is_some_and(|means| means.contains(words))
        };
        assert!(says(&found, "who writes to whom") && !says(&found, "password"));
        let next = found.next.unwrap_or_default();
        assert!(next.contains("write tls://n1.house.example:4222"), "{next}");
        let user = NatsLogin::User {
            user: "alice".to_owned(),
            password_file: "password".into(),
        };
        let found = judge(&nats(&[far], user.clone()), &[], None);
        assert_eq!(found.health, Health::Fault);
        assert!(says(&found, "has the password"));
        // A server of this machine that leads to others.
        let near = nats(&["nats://127.0.0.1:1"], user);
        assert_eq!(judge(&near, &[], None).health, Health::Well);
        assert_eq!(judge(&near, &[far.to_owned()], None).health, Health::Fault);
        let demanding = NatsConfig {
            tls_required: true,
            ..nats(&[far], NatsLogin::None)
        };
        assert_eq!(judge(&demanding, &[], None).health, Health::Well);
    }

    #[test]
    fn tls_that_the_server_alone_asks_for_can_be_stripped_on_the_way() {
        let far = "nats://n1.house.example:4222";
        let found = judge(&nats(&[far], NatsLogin::None), &[], Some(far));
        assert_eq!(found.health, Health::Warning);
        assert!(
            found.found.contains("does not demand it"),
            "{}",
            found.found
        );
        // On a WebSocket the wish changes nothing.
        let far = "ws://n1.house.example:80";
        let found = judge(&nats(&[far], NatsLogin::None), &[], Some(far));
        assert!(found.found.contains("IN CLEAR"), "{}", found.found);
    }

    #[test]
    fn only_addresses_of_this_machine_need_no_tls() {
        for own in [
            "nats://127.0.0.1:4222",
            "nats://127.3.2.1",
            "nats://[::1]:4222",
            "nats://[::ffff:127.0.0.1]:4222",
            "nats://localhost:4222",
            "nats://0.0.0.0:4222",
            "ws://LOCALHOST.:80/bus",
            "tls://n1.house.example:4222",
            "wss://n1.house.example/bus",
        ] {
            assert!(!is_clear(own), "{own}");
        }
        for other in [
            "nats://n1.house.example:4222",
            "nats://127.0.0.1.house.example:4222",
            "nats://localhost.example",
            "nats://192.0.2.1:4222",
            "nats://[2001:db8::1]:4222",
            "ws://192.0.2.1:80/127.0.0.1:80",
        ] {
            assert!(is_clear(other), "{other}");
        }
        assert_eq!(with_tls("nats://n1:4222"), "tls://n1:4222");
        assert_eq!(with_tls("ws://n1/bus"), "wss://n1/bus");
    }
}
