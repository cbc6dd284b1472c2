//! The program `signet` on one home: its commands, and its daemon.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use signet_api::{Client, ClientError, ShowStatus};

use crate::{DriverError, PATIENCE, Process, wait_for};

/// The program, the home on which it is run, and the server that it is told of.
#[derive(Clone, Debug)]
pub struct Signet {
    program: PathBuf,
    home: PathBuf,
    server: String,
}

impl Signet {
    /// `program` on the home at `home`, which need not be there yet, with the NATS server at `server`.
    pub fn new(
        program: impl Into<PathBuf>,
        home: impl Into<PathBuf>,
        server: impl Into<String>,
    ) -> Self {
        Self {
            program: program.into(),
            home: home.into(),
            server: server.into(),
        }
    }

    /// The home.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Another server from now on.
    pub fn set_server(&mut self, server: impl Into<String>) {
        self.server = server.into();
    }

    /// Another program on the same home from now on.
    pub fn set_program(&mut self, program: impl Into<PathBuf>) {
        self.program = program.into();
    }

    /// A command for this home, with nothing of our own environment: neither our home nor our login.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).arg("--home").arg(&self.home);
        command
            .env_clear()
            .env("NATS_URL", &self.server)
            .env("PATH", self.path())
            .stdin(Stdio::null());
        command
    }

    /// Where a shell finds the program by its name, beside what the system has.
    fn path(&self) -> OsString {
        let place = self.program.parent().unwrap_or(Path::new("/"));
        let mut path = place.as_os_str().to_owned();
        path.push(":/bin:/usr/bin");
        path
    }

    /// What a command printed that has to end well.
    ///
    /// # Errors
    /// `Process` with what it said on standard error.
    pub fn output(&self, args: &[&str]) -> Result<Vec<u8>, DriverError> {
        let failed = |why: String| DriverError::Process {
            // The error names the command alone: the other arguments may hold keys or text.
            what: format!("signet {}", args.first().copied().unwrap_or_default()),
            why,
        };
        let output = self.command(args).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failed(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            )),
        }
    }

    /// `signet run`, with what it prints going to `sink`.
    ///
    /// # Errors
    /// `Process` where it cannot be started.
    pub fn run(&self, sink: impl Fn() -> Stdio) -> Result<Process, DriverError> {
        let mut command = self.command(&["run"]);
        let name = self.home.file_name().unwrap_or(self.home.as_os_str());
        let what = format!("the daemon of {}", name.to_string_lossy());
        Process::start(what, command.stdout(sink()).stderr(sink()))
    }

    /// A connection to its daemon, as its person's.
    ///
    /// # Errors
    /// `NotReachable`.
    pub fn client(&self, timeout: Duration) -> Result<Client, ClientError> {
        Client::connect(&self.home.join("control.sock"), timeout)
    }

    /// Waits until the daemon `process` is connected to its server.
    ///
    /// # Errors
    /// `Process` where it ends before.
    pub fn connected(&self, process: &mut Process) -> Result<(), DriverError> {
        wait_for("a daemon is connected", PATIENCE, || {
            process.still_runs()?;
            self.is_connected()
        })
    }

    /// Whether a daemon answers, and is connected to its server.
    ///
    /// # Errors
    /// `Daemon` where what answers is no daemon of ours.
    pub fn is_connected(&self) -> Result<Option<()>, DriverError> {
        let status = self
            .client(AT_ONCE)
            .and_then(|mut client| client.call(&ShowStatus {}));
        match status {
            Ok(status) => Ok(status.connected.then_some(())),
            Err(ClientError::Malformed) => Err(ClientError::Malformed.into()),
            // A daemon that does not answer may be just starting: count it as not connected yet.
            Err(_) => Ok(None),
        }
    }
}

/// A daemon that takes longer to say how it does is asked again.
const AT_ONCE: Duration = Duration::from_secs(5);
