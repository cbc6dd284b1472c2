//! What a program in the place of the reading room, inside its cage, can still do.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Room, sample};

/// Names the folder in which a child of this test is caged, and tries to get out.
const HERE: &str = "SIGNET_VIEW_CAGED";

#[test]
fn the_program_that_serves_is_in_its_cage() {
    let data = tempfile::tempdir().unwrap();
    let room = Room::open(data.path(), &[&sample("agent-alice-001")]);
    room.shows("today", "Today");
    let status = fs::read_to_string(format!("/proc/{}/status", room.pid())).unwrap();
    let of = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(of("Seccomp"), "2", "a filter");
    assert_eq!(of("NoNewPrivs"), "1");
    for task in fs::read_dir(format!("/proc/{}/task", room.pid())).unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        assert!(status.contains("Seccomp:\t2"), "{status}");
    }
}

#[test]
fn a_captured_reading_room_reaches_no_key_no_socket_no_program_and_no_other_process() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["log", "view", "home", "other"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
    }
    fs::write(dir.path().join("log/line"), "a line").unwrap();
    fs::write(dir.path().join("home/signing.pem"), "a key").unwrap();
    let _control = UnixListener::bind(dir.path().join("home/control.sock")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    fs::write(
        dir.path().join("view/tcp"),
        tcp.local_addr().unwrap().to_string(),
    )
    .unwrap();
    let mut victim = Command::new("sleep").arg("600").spawn().unwrap();
    fs::write(dir.path().join("view/victim"), victim.id().to_string()).unwrap();
    let probe = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "cage::inside",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(HERE, dir.path())
        .output()
        .unwrap();
    let alive = victim.try_wait().unwrap().is_none();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let said = fs::read_to_string(dir.path().join("view/said")).unwrap_or_default();
    assert!(
        probe.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&probe.stderr)
    );
    assert!(alive, "the other process was ended");
    assert!(said.lines().count() >= 30, "{said}");
    let broken: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("OUT"))
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
    let own: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("own"))
        .collect();
    assert_eq!(
        own,
        [
            "own true reads the log",
            "own true writes its own folder",
            "own true makes a thread"
        ],
        "{said}"
    );
}

/// Run by the test above, as a process of its own: the cage cannot be opened again.
#[test]
#[ignore = "run by the test above, in a process of its own"]
fn inside() {
    let Some(dir) = std::env::var_os(HERE).map(PathBuf::from) else {
        return;
    };
    // The cage holds for this thread and those that it makes, and not for the main thread of the test program: make all
    // attempts in this thread.
    signet_view::cage::shut(&[&dir.join("log")], &dir.join("view")).unwrap();
    let mut said = File::create(dir.join("view/said")).unwrap();
    let text = |name: &str| fs::read_to_string(dir.join("view").join(name)).unwrap();
    let victim: i32 = text("victim").parse().unwrap();
    for (name, is_out) in attempts(&dir, &text("tcp"), victim) {
        writeln!(said, "{} {name}", if is_out { "OUT" } else { "in " }).unwrap();
    }
    writeln!(
        said,
        "own {} reads the log",
        fs::read(dir.join("log/line")).is_ok()
    )
    .unwrap();
    writeln!(
        said,
        "own {} writes its own folder",
        fs::write(dir.join("view/new"), "x").is_ok()
    )
    .unwrap();
    let thread = std::thread::Builder::new()
        .spawn(|| 7)
        .map(std::thread::JoinHandle::join);
    writeln!(said, "own {} makes a thread", matches!(thread, Ok(Ok(7)))).unwrap();
}

/// Each attempt, and whether it got out.
fn attempts(dir: &Path, tcp: &str, victim: i32) -> Vec<(&'static str, bool)> {
    use rustix::process::{Pid, Signal};
    let pid = Pid::from_raw(victim).unwrap();
    let (key, home, log) = (
        dir.join("home/signing.pem"),
        dir.join("home"),
        dir.join("log"),
    );
    let proc_ = |name: &str| File::open(format!("/proc/{victim}/{name}")).is_ok();
    vec![
        ("opens a key", File::open(&key).is_ok()),
        ("lists a home", fs::read_dir(&home).is_ok()),
        ("writes a key", fs::write(&key, "mine").is_ok()),
        ("removes a key", fs::remove_file(&key).is_ok()),
        (
            "moves a key into its folder",
            fs::rename(&key, dir.join("view/key")).is_ok(),
        ),
        (
            "links a key into its folder",
            fs::hard_link(&key, dir.join("view/key")).is_ok(),
        ),
        ("opens a key through a link", {
            let _ = std::os::unix::fs::symlink(&key, dir.join("view/link"));
            File::open(dir.join("view/link")).is_ok()
        }),
        (
            "opens a key by a way up",
            File::open(dir.join("view/../home/signing.pem")).is_ok(),
        ),
        (
            "writes in the log",
            fs::write(log.join("line"), "changed").is_ok(),
        ),
        ("adds to the log", fs::write(log.join("more"), "x").is_ok()),
        (
            "removes from the log",
            fs::remove_file(log.join("line")).is_ok(),
        ),
        (
            "cuts the log",
            fs::OpenOptions::new()
                .write(true)
                .open(log.join("line"))
                .is_ok(),
        ),
        ("reads the list of users", File::open("/etc/passwd").is_ok()),
        ("writes beside", fs::write(dir.join("other/x"), "x").is_ok()),
        (
            "makes a folder of its own",
            fs::create_dir(dir.join("view/folder")).is_ok(),
        ),
        (
            "connects to control.sock",
            UnixStream::connect(dir.join("home/control.sock")).is_ok(),
        ),
        ("makes a datagram socket", UnixDatagram::unbound().is_ok()),
        ("makes a socket pair", UnixStream::pair().is_ok()),
        (
            "listens at a socket",
            UnixListener::bind(dir.join("view/sock")).is_ok(),
        ),
        ("connects by TCP", TcpStream::connect(tcp).is_ok()),
        ("listens by TCP", TcpListener::bind("127.0.0.1:0").is_ok()),
        ("sends by UDP", UdpSocket::bind("127.0.0.1:0").is_ok()),
        (
            "asks the resolver",
            std::net::ToSocketAddrs::to_socket_addrs("localhost:1")
                .is_ok_and(|mut found| found.next().is_some() && TcpStream::connect(tcp).is_ok()),
        ),
        ("runs a program", Command::new("/bin/true").status().is_ok()),
        (
            "ends another process",
            rustix::process::kill_process(pid, Signal::KILL).is_ok(),
        ),
        (
            "asks whether another lives",
            rustix::process::test_kill_process(pid).is_ok(),
        ),
        (
            "holds another process",
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).is_ok(),
        ),
        ("reads another's memory", proc_("mem")),
        ("reads another's environment", proc_("environ")),
        ("reads another's command line", proc_("cmdline")),
        (
            "reads its own memory as a file",
            File::open("/proc/self/mem").is_ok(),
        ),
        ("lists connections", File::open("/proc/net/tcp").is_ok()),
        ("changes its root", rustix::process::chroot("/").is_ok()),
        (
            "changes its folder",
            std::env::set_current_dir(&home).is_ok(),
        ),
        ("leaves its session", rustix::process::setsid().is_ok()),
        (
            "lifts its limits",
            rustix::process::setrlimit(
                rustix::process::Resource::Core,
                rustix::process::Rlimit {
                    current: None,
                    maximum: None,
                },
            )
            .is_ok(),
        ),
        (
            "makes a pipe in its folder",
            rustix::fs::mkfifoat(
                rustix::fs::CWD,
                dir.join("view/pipe"),
                rustix::fs::Mode::RWXU,
            )
            .is_ok(),
        ),
        (
            "changes the mode of a key",
            fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o777)).is_ok(),
        ),
        (
            "changes the owner of a key",
            std::os::unix::fs::chown(&key, Some(0), Some(0)).is_ok(),
        ),
        (
            "opens a device",
            File::open("/dev/mem").is_ok() || File::open("/dev/tty").is_ok(),
        ),
    ]
}
