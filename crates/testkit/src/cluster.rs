//! Three NATS servers that are one cluster, configured as docs/scale.md says.

use std::path::Path;

use crate::{Home, Server, free_port};

/// The servers of a cluster, in the order of their names: n1, n2, n3.
pub struct Cluster {
    pub servers: Vec<Server>,
}

impl Cluster {
    /// Servers without logins, for anybody who comes.
    pub fn open() -> Self {
        Self::started(|name| {
            format!(
                "server_name: {name}\njetstream {{ store_dir: \"js\" }}\ninclude \"cluster.conf\"\n"
            )
        })
    }

    /// Servers with a login for each of these homes and for an administrator, as `signet nats config` prints them. The seed of
    /// the administrator is made in `admin`.
    pub fn of(homes: &[&Home], admin: &Path) -> Self {
        let key = |home: &Home, args: &[&str]| home.done(args).trim().to_owned();
        let admin = key(
            homes[0],
            &["nats", "key", "--file", admin.to_str().unwrap()],
        );
        let agents: Vec<String> = homes
            .iter()
            .map(|home| format!("{}={}", home.agent, key(home, &["nats", "key"])))
            .collect();
        Self::started(|name| {
            let args = [
                "nats",
                "config",
                "--name",
                name,
                "--include",
                "cluster.conf",
            ];
            let more = ["--store", "js", "--admin", &admin];
            let agents = agents.iter().map(String::as_str);
            let args: Vec<&str> = args.into_iter().chain(more).chain(agents).collect();
            homes[0].done(&args)
        })
    }

    fn started(config: impl Fn(&str) -> String) -> Self {
        let names = ["n1", "n2", "n3"];
        let ports = names.map(|_| free_port());
        let mut shared = CLUSTER.to_owned();
        for (name, port) in names.iter().zip(ports) {
            shared = shared.replace(
                &format!("{name}.house.example:6222"),
                &format!("127.0.0.1:{port}"),
            );
        }
        let start = |(name, port): (&str, u16)| {
            let dir = tempfile::tempdir().unwrap();
            let own = shared.replace("0.0.0.0:6222", &format!("127.0.0.1:{port}"));
            std::fs::write(dir.path().join("cluster.conf"), own).unwrap();
            Server::start_in(dir, &config(name))
        };
        Self {
            servers: names.into_iter().zip(ports).map(start).collect(),
        }
    }

    /// The servers of the loopback, as clients name them.
    pub fn urls(&self) -> Vec<String> {
        self.servers.iter().map(Server::url).collect()
    }
}

/// As it stands on the page.
const CLUSTER: &str = include_str!("../../../docs/scale/cluster.conf");
