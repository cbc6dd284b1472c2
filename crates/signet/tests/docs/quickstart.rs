//! The commands of `docs/quickstart.md`, taken out of it and run as they are printed: on a machine that has
//! nothing but what the page asks for.

use std::fs::{Permissions, copy, create_dir_all, set_permissions, write};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use signet_testkit::{fed, says};

/// Whose turn it is among tests that start servers at the usual port.
pub static TURN: Mutex<()> = Mutex::new(());
pub const PAGE: &str = "docs/quickstart.md";

/// What stands between two marks, inside its block of code.
pub fn block(page: &str, mark: &str) -> String {
    let rest = page.split_once(mark).unwrap().1;
    let rest = rest
        .split_once("```")
        .unwrap()
        .1
        .split_once('\n')
        .unwrap()
        .1;
    rest.split_once("```").unwrap().0.to_owned()
}

/// A program of this machine, as its path.
pub fn which(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let named = std::env::var_os("NATS_SERVER").filter(|_| name == "nats-server");
    let found = std::env::split_paths(&path).map(|place| place.join(name));
    let found = named
        .map(PathBuf::from)
        .into_iter()
        .chain(found)
        .find(|file| file.is_file());
    found
        .unwrap_or_else(|| panic!("{name} is not on this machine"))
        .canonicalize()
        .unwrap()
}

/// The interpreter itself, behind whatever script or environment stands before it.
fn python() -> PathBuf {
    let ask = "import os, sys; print(os.path.realpath(sys._base_executable))";
    let said = Command::new("python3").args(["-c", ask]).output().unwrap();
    PathBuf::from(String::from_utf8(said.stdout).unwrap().trim())
}

/// Runs the commands of the page at `place`, and ends what they started.
fn perform(place: &Path, shell: impl Fn(&str) -> Command) {
    // Both tests start a server on the usual port, as the page prints it: let one run after the other.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let page = super::text(PAGE);
    for name in ["answer.py", "agent.py"] {
        let program = block(&page, &format!("<!-- file: {name} -->"));
        write(place.join(name), program).unwrap();
    }
    // Instead of `pip install`: a package beside the program is found as well.
    let package =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python/src/signet_agent");
    assert!(page.contains("`pip install ./clients/python`"));
    let copied = Command::new("cp")
        .arg("-r")
        .arg(package)
        .arg(place)
        .status();
    assert!(copied.unwrap().success());
    let commands = block(&page, "<!-- quickstart -->");
    assert_eq!(commands.lines().count(), 5, "five commands: {commands}");
    // The handler runs in the background: the script ends it before the part in Python, and the trap ends it if a
    // command fails before that.
    let python = block(&page, "<!-- python -->");
    let script =
        format!("trap 'kill $!' EXIT\nset -e\n{commands}\nhandler=$!\nkill $handler\n{python}");
    let output = fed(shell("-s"), &script);
    let down = fed(
        shell("-s"),
        "signet down --home bob; signet down --home alice",
    );
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{printed}\n{}", says(&output));
    assert!(
        printed.contains(r#"{"evenings":["Tue","Thu"],"you-asked":{"week":"2026-W48"}}"#),
        "{printed}"
    );
    assert!(
        printed.contains("{\"evenings\":[\"Tue\",\"Thu\"]}\n"),
        "the agent in Python: {printed}\n{}",
        says(&output)
    );
    let answers = says(&output)
        .matches("answered by bob of bob, signature verified")
        .count();
    assert_eq!(answers, 2, "{}", says(&output));
    assert!(
        printed.contains("\"Asks for free evenings\""),
        "the log: {printed}"
    );
    assert!(down.status.success(), "{}", says(&down));
    let ended = String::from_utf8(down.stdout).unwrap();
    assert_eq!(ended, "daemon   ended\ndaemon   ended\nnats     ended\n");
}

#[test]
fn the_five_commands_make_an_answering_agent_where_nothing_else_is_installed() {
    let place = tempfile::tempdir().unwrap();
    let bin = place.path().join("bin");
    create_dir_all(&bin).unwrap();
    for name in ["sh", "nats-server", "sleep"] {
        symlink(which(name), bin.join(name)).unwrap();
    }
    symlink(python(), bin.join("python3")).unwrap();
    symlink(env!("CARGO_BIN_EXE_signet"), bin.join("signet")).unwrap();
    perform(place.path(), |option| {
        let mut command = Command::new(bin.join("sh"));
        command.arg(option).current_dir(place.path()).env_clear();
        command.env("PATH", &bin).env("HOME", place.path());
        command
    });
}

/// As root, in an empty root directory: the binary, libc, sh, python3 and nats-server, and the two devices that
/// every program takes for granted. No /proc, no /etc, no /tmp.
#[test]
fn the_five_commands_make_an_answering_agent_in_an_empty_root() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    if let Err(why) = furnish(root) {
        eprintln!("NOT RUN in an empty root: {why}");
        return;
    }
    perform(&root.join("home"), |option| {
        let mut command = Command::new("chroot");
        command.arg(root).args([
            "/bin/sh",
            "-c",
            &format!("cd /home && exec /bin/sh {option}"),
        ]);
        command
            .env_clear()
            .env("PATH", "/bin:/usr/bin:/usr/sbin:/sbin")
            .env("HOME", "/home");
        command
    });
}

/// Puts the programs and the libraries that they name into `root`.
fn furnish(root: &Path) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root may change the root directory".to_owned());
    }
    let done = |command: &mut Command| {
        let output = command
            .output()
            .map_err(|error| format!("{command:?}: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("{command:?}: {}", says(&output))),
        }
    };
    for place in ["bin", "dev", "home"] {
        create_dir_all(root.join(place)).map_err(|error| error.to_string())?;
    }
    for (name, numbers) in [("null", ["1", "3"]), ("urandom", ["1", "9"])] {
        let device = root.join("dev").join(name);
        done(Command::new("mknod").arg(&device).arg("c").args(numbers))?;
        set_permissions(device, Permissions::from_mode(0o666))
            .map_err(|error| error.to_string())?;
    }
    let python = python();
    let ask = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let library = done(Command::new(&python).args(["-c", ask]))?;
    let library = Path::new(library.trim());
    let place = root.join(library.strip_prefix("/").unwrap());
    create_dir_all(place.parent().unwrap()).map_err(|error| error.to_string())?;
    done(Command::new("cp").arg("-a").arg(library).arg(&place))?;
    // Python finds its library by the place of its program: copy the program to the same path as outside, and only link
    // to it.
    let home = root.join(python.strip_prefix("/").unwrap());
    create_dir_all(home.parent().unwrap()).map_err(|error| error.to_string())?;
    copy(&python, &home).map_err(|error| error.to_string())?;
    symlink(&python, root.join("bin/python3")).map_err(|error| error.to_string())?;
    let programs = [
        (which("sh"), "sh"),
        (which("sleep"), "sleep"),
        (which("nats-server"), "nats-server"),
        (PathBuf::from(env!("CARGO_BIN_EXE_signet")), "signet"),
    ];
    for (program, name) in &programs {
        copy(program, root.join("bin").join(name)).map_err(|error| error.to_string())?;
    }
    let programs = programs.into_iter().map(|(program, _)| program);
    let modules = std::fs::read_dir(library.join("lib-dynload"))
        .into_iter()
        .flatten()
        .flatten();
    let binaries = programs
        .chain([python])
        .chain(modules.map(|module| module.path()));
    for binary in binaries {
        // A program that is linked statically has none.
        let libraries = done(Command::new("ldd").arg(&binary)).unwrap_or_default();
        for library in libraries
            .split_whitespace()
            .filter(|word| word.starts_with('/'))
        {
            let copied = root.join(library.strip_prefix('/').unwrap());
            if !copied.exists() {
                create_dir_all(copied.parent().unwrap()).map_err(|error| error.to_string())?;
                copy(library, copied).map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(())
}
