//! The servers that a connection tries in turn: those of the settings, and those of the cluster that a server told of.

use async_nats::ServerAddr;

/// Where to connect next. What a server told of is used beside the settings and never in their place: the settings are
/// what a person vouches for.
#[derive(Debug)]
pub(crate) struct ServerPool {
    named: Vec<String>,
    told: Vec<String>,
    tries: usize,
}

impl ServerPool {
    /// The servers of the settings.
    pub(crate) fn new(named: Vec<String>) -> Self {
        Self {
            named,
            told: Vec::new(),
            tries: 0,
        }
    }

    /// Whether none was tried yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.tries == 0
    }

    /// The next server in turn. It is empty where the settings name none: connecting then says so.
    pub(crate) fn take(&mut self) -> String {
        let count = (self.named.len() + self.told.len()).max(1);
        let mut all = self.named.iter().chain(&self.told);
        let next = all.nth(self.tries % count);
        self.tries = self.tries.wrapping_add(1);
        next.cloned().unwrap_or_default()
    }

    /// The servers that one told of, without those of the settings.
    pub(crate) fn told(self) -> Vec<String> {
        self.told
    }

    /// `from` has told of its cluster: `host:port` each. The list replaces the one before; what is no address is passed
    /// over. They are reached as `from` is: a server behind TLS leads to none without.
    pub(crate) fn learn(&mut self, from: &str, urls: &[String]) {
        let Some((scheme, _)) = from.split_once("://") else {
            return;
        };
        let mut known: Vec<_> = self.named.iter().filter_map(|one| place(one)).collect();
        let mut told = Vec::new();
        for url in urls.iter().filter(|url| is_bare(url)) {
            let url = format!("{scheme}://{url}");
            let Some(place) = place(&url) else {
                continue;
            };
            if told.len() < MOST && !known.contains(&place) {
                known.push(place);
                told.push(url);
            }
        }
        if told != self.told {
            tracing::debug!(?told, "the NATS server told of others in its cluster");
            self.told = told;
        }
    }
}

/// Host and port alone: no scheme that would take the place of ours, no login, nothing that breaks a line of a log.
fn is_bare(url: &str) -> bool {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    url.len() <= LENGTH && url.chars().all(plain)
}

fn place(url: &str) -> Option<(String, u16)> {
    let address: ServerAddr = url.parse().ok()?;
    let host = address.host();
    (!host.is_empty()).then(|| (host.to_ascii_lowercase(), address.port()))
}

/// So many are remembered; a cluster has three to five, a supercluster tells of its own cluster alone.
const MOST: usize = 16;
/// A host name has at most 253 characters.
const LENGTH: usize = 260;

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(pool: &mut ServerPool, count: usize) -> Vec<String> {
        (0..count).map(|_| pool.take()).collect()
    }

    fn learnt(named: &[&str], from: &str, urls: &[&str]) -> ServerPool {
        let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let mut pool = ServerPool::new(owned(named));
        pool.learn(from, &owned(urls));
        pool
    }

    #[test]
    fn servers_of_the_settings_come_first_and_those_told_of_behind_them_once_each() {
        let urls = [
            "10.0.0.1:4222",
            "n2:4222",
            "N1:4222",
            "n2:4222",
            "[::1]:4223",
        ];
        let mut pool = learnt(&["nats://n1", "nats://n0:1"], "nats://n1", &urls);
        let all = [
            "nats://n1",
            "nats://n0:1",
            "nats://10.0.0.1:4222",
            "nats://n2:4222",
            "nats://[::1]:4223",
        ];
        assert!(pool.is_fresh());
        assert_eq!(turn(&mut pool, 6), [&all[..], &all[..1]].concat());
        pool.learn("nats://n1", &[]);
        assert_eq!(
            turn(&mut pool, 2).concat().matches("n2").count(),
            0,
            "they are gone"
        );
    }

    #[test]
    fn a_server_behind_tls_leads_to_none_without() {
        let urls = ["nats://n2:4222", "n3:4222", "ws://n4:80"];
        let mut pool = learnt(&["tls://n1:4222"], "tls://n1:4222", &urls);
        assert_eq!(
            turn(&mut pool, 3),
            ["tls://n1:4222", "tls://n3:4222", "tls://n1:4222"]
        );
    }

    #[test]
    fn a_hostile_list_of_servers_fills_no_memory_and_writes_no_line() {
        let long = format!("{}:1", "n".repeat(1 << 20));
        let many: Vec<String> = (0..100_000).map(|n| format!("n{n}:4222")).collect();
        let mut pool = ServerPool::new(vec!["nats://n1".to_owned()]);
        pool.learn("nats://n1", &[vec![long], many].concat());
        assert_eq!(pool.told.len(), MOST);
        let odd = [
            "user:word@n2:4222",
            "n3:4222\nforged",
            "",
            ":",
            "n4:99999",
            "n5 :1",
            "n6:x",
        ];
        let pool = learnt(&["nats://n1"], "nats://n1", &odd);
        assert!(pool.told.is_empty(), "{:?}", pool.told);
    }
}
