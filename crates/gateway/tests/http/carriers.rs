//! Homes whose agents reach one another by foreign carriers, and the gateways beside their daemons.

use std::fs::File;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use signet_testkit::{Home, eventually};

/// A gateway that runs beside the daemon of a home.
pub(crate) struct Gateway {
    child: Option<Child>,
    dir: std::path::PathBuf,
    environment: Vec<(String, String)>,
    pub(crate) port: u16,
}

impl Gateway {
    /// One with these sections of configuration, on that port.
    pub(crate) fn start(home: &Home, port: u16, sections: &str) -> Self {
        Self::start_in(&home.dir, port, sections)
    }

    /// The same beside whatever has its sockets in that directory.
    pub(crate) fn start_in(dir: &Path, port: u16, sections: &str) -> Self {
        Self::start_with(dir, port, sections, &[])
    }

    /// The same with these variables and no others.
    pub(crate) fn start_with(
        dir: &Path,
        port: u16,
        sections: &str,
        environment: &[(&str, String)],
    ) -> Self {
        let environment = environment
            .iter()
            .map(|(name, value)| (String::from(*name), value.clone()));
        let config = format!(
            "[listen]\naddress = \"127.0.0.1:{port}\"\nauth = \"none\"\n[outgoing]\nloopback = true\n{sections}\n"
        );
        std::fs::write(dir.join("gateway.toml"), config).unwrap();
        let mut gateway = Self {
            child: None,
            dir: dir.to_owned(),
            environment: environment.collect(),
            port,
        };
        gateway.restart();
        gateway
    }

    /// Begins again with the same configuration.
    pub(crate) fn restart(&mut self) {
        assert!(self.child.is_none(), "it runs");
        let said = || {
            let file = File::options()
                .create(true)
                .append(true)
                .open(self.dir.join("gateway-said"));
            Stdio::from(file.unwrap())
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet-gateway"));
        command
            .env_clear()
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(said())
            .stderr(said());
        command
            .arg("serve")
            .arg("--config")
            .arg(self.dir.join("gateway.toml"));
        command.arg("--socket").arg(self.dir.join("agent.sock"));
        command
            .arg("--carrier-socket")
            .arg(self.dir.join("carrier.sock"));
        self.child = Some(command.spawn().unwrap());
        let port = self.port;
        eventually("the gateway listens", || {
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// What it said on its two streams.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.dir.join("gateway-said")).unwrap_or_default()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("{}: {}", self.dir.display(), self.said());
        }
    }
}

pub(crate) use signet_testkit::free_port;

/// The address of an agent's inbox behind a gateway.
pub(crate) fn inbox_url(port: u16, home: &Home) -> String {
    format!("http://127.0.0.1:{port}/agent/{}/inbox", home.agent)
}
