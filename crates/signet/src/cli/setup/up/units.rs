//! systemd's user services for a home: the daemon, and the NATS server of the home's own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use signet_proto::ids::AgentId;

use crate::cli::CliError;
use crate::home::Home;
use crate::programs::settings_dir;

use super::server::OwnServer;

/// The services of one agent.
pub(crate) struct Units {
    agent: String,
    directory: PathBuf,
}

impl Units {
    /// Those of `agent`, where this user has a service manager that answers.
    pub(crate) fn of(agent: &AgentId) -> Option<Self> {
        // Ask the user manager itself instead of looking for its files: in a container, or under `su`, the
        // manager cannot be reached.
        let answers = systemctl(&["show-environment"]).is_ok_and(|said| said.status.success());
        let config = settings_dir().filter(|_| answers)?;
        Some(Self {
            agent: agent.to_string(),
            directory: config.join("systemd/user"),
        })
    }

    /// The name of the daemon's service.
    pub(crate) fn daemon(&self) -> String {
        format!("signet-{}.service", self.agent)
    }

    fn server(&self) -> String {
        format!("signet-{}-nats.service", self.agent)
    }

    /// Writes the services, and starts them now and at every login.
    pub(super) fn start(&self, home: &Home, own: Option<&OwnServer>) -> Result<(), CliError> {
        let mut units = Vec::new();
        if let Some(own) = own {
            let program = super::server::program()?;
            let unit = SERVER
                .replace("PROGRAM", &quoted(&program))
                .replace("CONF", &quoted(&own.conf_file()));
            self.write(&self.server(), &unit.replace("AGENT", &self.agent))?;
            units.push(self.server());
        }
        let program = super::own_program()?;
        let path = std::path::absolute(home.path()).unwrap_or_else(|_| home.path().to_owned());
        self.write(&self.daemon(), &daemon_unit(&self.agent, &program, &path))?;
        units.push(self.daemon());
        done(&["daemon-reload"])?;
        for unit in &units {
            done(&["enable", unit])?;
            // Use `start` and not `restart`: a repeated `signet up` must not interrupt a daemon or a server that runs. Such a
            // unit goes on with its old text until its next start; a stopped one starts with the new text.
            done(&["start", unit])?;
        }
        Ok(())
    }

    /// Ends the daemon's service and removes it; says whether there was one.
    pub(crate) fn stop_daemon(&self) -> Result<bool, CliError> {
        self.stop(&self.daemon())
    }

    /// Ends the service of the home's own NATS server and removes it; says whether there was one.
    pub(crate) fn stop_server(&self) -> Result<bool, CliError> {
        self.stop(&self.server())
    }

    fn stop(&self, unit: &str) -> Result<bool, CliError> {
        let file = self.directory.join(unit);
        if !file.exists() {
            return Ok(false);
        }
        done(&["disable", "--now", unit])?;
        // The error is ignored: the unit is disabled already, so a file that cannot be removed starts nothing.
        let _ = std::fs::remove_file(file);
        done(&["daemon-reload"])?;
        // `reset-failed` removes a failed unit from systemd's lists. It fails for a unit that had not failed:
        // nothing has to be removed then.
        let _ = systemctl(&["reset-failed", unit]);
        Ok(true)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), CliError> {
        let file = self.directory.join(name);
        let written =
            std::fs::create_dir_all(&self.directory).and_then(|()| std::fs::write(&file, text));
        written.map_err(|error| {
            let what = format!("{}: {error}", file.display());
            let next =
                "make it writable; or run without the service manager: signet up --background";
            CliError::file(&error, what, next)
        })
    }
}

/// The unit that signet is shipped with, for a home anywhere.
fn daemon_unit(agent: &str, program: &Path, home: &Path) -> String {
    let real = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let is_hidden = HIDDEN.iter().any(|tmp| real.starts_with(tmp));
    let line = |line: &str| {
        if line.starts_with("ExecStart=") {
            format!(
                "ExecStart={} run --home {}\n",
                quoted(program),
                quoted(home)
            )
        } else if line.starts_with("ExecReload=") {
            format!(
                "ExecReload={} reload --home {}\n",
                quoted(program),
                quoted(home)
            )
        } else if line.starts_with("ReadWritePaths=") {
            // The hyphen allows a missing home: if the home was moved away, the daemon has to start all the same, to say so.
            format!("ReadWritePaths=-{}\n", quoted(home))
        } else if line.starts_with("Description=") {
            format!("Description=signet agent {agent}\n")
        } else if line == "PrivateTmp=yes" && is_hidden {
            "# The home is in there.\nPrivateTmp=no\n".to_owned()
        } else {
            format!("{line}\n")
        }
    };
    let lines = UNIT.lines().filter(|line| !line.starts_with('#'));
    format!(
        "# Written by signet up; signet down removes it.\n{}",
        lines.map(line).collect::<String>()
    )
}

/// A path as one word of a unit: quoted, and with nothing that systemd would put something else for.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    let text = text
        .replace('%', "%%")
        .replace('$', "$$")
        .replace('\n', "\\n");
    format!("\"{text}\"")
}

fn done(args: &[&str]) -> Result<(), CliError> {
    let said = systemctl(args);
    let why = match &said {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr)
            .trim()
            .replace('\n', " "),
        Err(error) => error.to_string(),
    };
    let what = format!("systemctl --user {}: {why}", args.join(" "));
    let next = "systemctl --user status  # and journalctl --user say more; without the service manager: signet up --background";
    Err(CliError::refused(what, next))
}

fn systemctl(args: &[&str]) -> std::io::Result<Output> {
    Command::new("systemctl").arg("--user").args(args).output()
}

/// The directories of which a service with `PrivateTmp=` sees its own instead of the machine's.
const HIDDEN: [&str; 2] = ["/tmp", "/var/tmp"];

const UNIT: &str = include_str!("../../../../../../systemd/signet.service");

const SERVER: &str = "\
# Written by signet up; signet down removes it.
[Unit]
Description=NATS server of the signet agent AGENT

[Service]
ExecStart=PROGRAM -c CONF
ExecReload=/bin/kill -HUP $MAINPID
# After SIGTERM older servers (2.9) end with 1, as after a fault.
KillSignal=SIGINT
Restart=on-failure
RestartSec=2
UMask=0077
NoNewPrivileges=yes
LimitCORE=0

[Install]
WantedBy=default.target
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_a_home_anywhere_is_the_shipped_one_but_for_its_paths() {
        let text = daemon_unit(
            "agent-a",
            Path::new("/opt/my tools/signet"),
            Path::new("/srv/100%/a"),
        );
        assert!(text.contains("ExecStart=\"/opt/my tools/signet\" run --home \"/srv/100%%/a\"\n"));
        assert!(text.contains("ReadWritePaths=-\"/srv/100%%/a\"\n"));
        let changed = [
            "ExecStart=",
            "ExecReload=",
            "ReadWritePaths=",
            "Description=",
            "#",
        ];
        let kept = UNIT
            .lines()
            .filter(|line| !changed.iter().any(|name| line.starts_with(name)));
        for line in kept {
            assert!(text.lines().any(|ours| ours == line), "{line}");
        }
    }

    #[test]
    fn a_home_below_tmp_is_seen_by_its_service() {
        let unit = |home: &str| daemon_unit("a", Path::new("/usr/bin/signet"), Path::new(home));
        for home in ["/tmp/nobody/a", "/var/tmp/nobody-a"] {
            let text = unit(home);
            assert!(text.contains("\nPrivateTmp=no\n"), "{text}");
            assert!(!text.contains("PrivateTmp=yes"), "{text}");
        }
        assert!(unit("/tmpfiles/a").contains("\nPrivateTmp=yes\n"));
        assert!(unit("/home/a/tmp").contains("\nPrivateTmp=yes\n"));
    }

    #[test]
    fn a_path_that_would_be_a_second_argument_or_a_variable_stays_one_word() {
        assert_eq!(
            quoted(Path::new("/a b\"c\\d%h$E")),
            "\"/a b\\\"c\\\\d%%h$$E\""
        );
    }
}
