//! A private NATS server on a free port of the loopback, ended by its own process id.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{DriverError, PATIENCE, Process, wait_for};

/// The configuration of a server that keeps mail for anybody.
pub const MAILBOXES: &str = "jetstream { store_dir: \"js\" }";

/// A running server, or one that was killed and can be started again on its port.
pub struct NatsServer {
    program: PathBuf,
    dir: PathBuf,
    port: u16,
    process: Option<Process>,
}

impl NatsServer {
    /// Starts `program` in the directory `dir` with these lines of configuration, and waits until it listens.
    ///
    /// # Errors
    /// `Process` where it ends at once: then the configuration is wrong.
    pub fn start(program: &Path, dir: &Path, config: &str) -> Result<Self, DriverError> {
        let mut server = Self {
            program: program.to_owned(),
            dir: dir.to_owned(),
            port: 0,
            process: None,
        };
        server.configure(config)?;
        // With -1 the server takes a free port and writes it down: another process could take a port that we chose, before the
        // server listens there.
        let mut process = server.spawn("-1")?;
        server.port = wait_for("the nats-server listens", PATIENCE, || {
            process.still_runs()?;
            Ok::<_, DriverError>(server.announced(process.id()))
        })?;
        server.process = Some(process);
        Ok(server)
    }

    /// What the next start reads.
    ///
    /// # Errors
    /// `Io`.
    pub fn configure(&self, config: &str) -> Result<(), DriverError> {
        let file = self.config_file();
        std::fs::write(&file, config).map_err(DriverError::io(&file))
    }

    /// Starts it again on the same port, and waits until it listens.
    ///
    /// # Errors
    /// As for [`NatsServer::start`].
    pub fn restart(&mut self) -> Result<(), DriverError> {
        self.kill()?;
        let mut process = self.spawn(&self.port.to_string())?;
        wait_for("the nats-server comes back", PATIENCE, || {
            process.still_runs()?;
            Ok::<_, DriverError>(TcpStream::connect(("127.0.0.1", self.port)).ok())
        })?;
        self.process = Some(process);
        Ok(())
    }

    /// SIGKILL, where it runs.
    ///
    /// # Errors
    /// `Process` where the system does not let us.
    pub fn kill(&mut self) -> Result<(), DriverError> {
        self.process
            .take()
            .map_or(Ok(()), |mut process| process.kill())
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) {
        // Ignore how the server ended: its exit status after SIGTERM differs between versions.
        let _ = self.process.take().map(Process::stop);
    }

    /// Its process id, where it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// The port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The file of its configuration.
    pub fn config_file(&self) -> PathBuf {
        self.dir.join("server.conf")
    }

    fn spawn(&self, port: &str) -> Result<Process, DriverError> {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.config_file());
        command
            // The server listens on the loopback alone, since it asks nobody for a login.
            .args(["-a", "127.0.0.1", "-p", port, "--ports_file_dir"])
            .arg(&self.dir)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Process::start("nats-server", &mut command)
    }

    /// The port that it has written into `<program>_<its process id>.ports`, as it does once it listens.
    fn announced(&self, id: u32) -> Option<u16> {
        // Look for the file with this process id: the file of an earlier server may still be in the folder.
        let ending = format!("_{id}.ports");
        let files = std::fs::read_dir(&self.dir).ok()?;
        let mut files = files.flatten().map(|entry| entry.path());
        let file = files.find(|path| path.to_string_lossy().ends_with(&ending))?;
        let text = std::fs::read_to_string(file).ok()?;
        let (_, address) = text.split_once("127.0.0.1:")?;
        address.split('"').next()?.parse().ok()
    }
}

/// The nats-server of this machine: what `NATS_SERVER` names and nothing else, where it is set; otherwise the one that was
/// packaged with this program, and then the first in PATH, `/usr/sbin` and `tools`.
///
/// # Errors
/// `NoServer`.
pub fn find_nats_server(tools: &Path) -> Result<PathBuf, DriverError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = match std::env::var_os("NATS_SERVER").filter(|named| !named.is_empty()) {
        Some(named) => Some(PathBuf::from(named)).filter(|file| file.is_file()),
        None => packaged_with(std::env::current_exe().ok().as_deref())
            .into_iter()
            .chain(std::env::split_paths(&path))
            .chain([PathBuf::from("/usr/sbin"), tools.to_owned()])
            .map(|place| place.join("nats-server"))
            .find(|file| file.is_file()),
    };
    let found = found.ok_or(DriverError::NoServer)?;
    // The path is made absolute because the server is started in a directory of its own.
    std::path::absolute(&found).map_err(DriverError::io(&found))
}

/// Where a package keeps its nats-server: `lib/signet` beside the `bin` that `program` stands in. It is asked before PATH,
/// because signet was tried with it; and it stands in no `bin`, so that it takes no other server's name there.
fn packaged_with(program: Option<&Path>) -> Option<PathBuf> {
    let prefix = program?.parent()?.parent()?;
    Some(prefix.join("lib/signet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packaged_server_stands_beside_the_programs_folder_and_nowhere_else() {
        let place = |program: &str| packaged_with(Some(Path::new(program)));
        let named = |place: &str| Some(PathBuf::from(place));
        assert_eq!(place("/usr/bin/signet"), named("/usr/lib/signet"));
        assert_eq!(
            place("/home/a/.local/share/uv/tools/signet-daemon/bin/signet"),
            named("/home/a/.local/share/uv/tools/signet-daemon/lib/signet"),
        );
        assert_eq!(place("/signet"), None);
        assert_eq!(packaged_with(None), None);
    }
}
