//! The socket itself: whose it is, when it is replaced, and how it ends.

use super::*;

#[test]
fn the_socket_is_for_its_user_and_group_and_goes_with_the_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::new();
    let mode = std::fs::metadata(&daemon.path)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o660);
    // A hard link is a second name of the socket file, which stays when the daemon removes the first.
    let path = directory.path().join("moved");
    std::fs::hard_link(&daemon.path, &path).unwrap();
    drop(daemon);
    let gone = Client::connect(&path, Duration::from_secs(1)).unwrap_err();
    assert!(matches!(gone, ClientError::NotReachable { .. }), "{gone}");
}

#[test]
fn stopping_answers_what_waits_and_keeps_nobody_waiting() {
    let mut daemon = Daemon::new();
    let (silent, idle) = (daemon.stream(), daemon.stream());
    (&idle)
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"slow\",\"id\":1}\n")
        .unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let started = std::time::Instant::now();
    drop(daemon.stop.take());
    assert!(line(&idle).contains("\"result\":\"slow\""));
    assert_eq!(line(&idle) + &line(&silent), "");
    drop(daemon);
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn the_socket_of_a_dead_daemon_is_replaced_and_a_file_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let lock = HomeLock::acquire(&Home::at(directory.path())).unwrap();
    let path = directory.path().join("control.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(ControlServer::bind(address(path.clone()), &lock).unwrap());
    assert!(!path.exists());
    std::fs::write(&path, "mine").unwrap();
    let error = ControlServer::bind(address(path.clone()), &lock).unwrap_err();
    assert!(matches!(error, ServerError::InTheWay { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[tokio::test]
async fn a_socket_that_another_process_listens_on_is_not_taken_away() {
    let directory = tempfile::tempdir().unwrap();
    let lock = HomeLock::acquire(&Home::at(directory.path())).unwrap();
    let path = directory.path().join("control.sock");
    let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let error = ControlServer::bind(address(path.clone()), &lock).unwrap_err();
    assert!(matches!(error, ServerError::Taken { .. }), "{error}");
    let client = std::os::unix::net::UnixStream::connect(&path);
    assert!(client.is_ok(), "the other one is still reached");
    drop(other);
    drop(ControlServer::bind(address(path), &lock).unwrap());
}

#[test]
fn no_daemon_is_not_reachable() {
    let directory = tempfile::tempdir().unwrap();
    let error = Client::connect(
        &directory.path().join("control.sock"),
        Duration::from_secs(1),
    )
    .unwrap_err();
    assert!(matches!(error, ClientError::NotReachable { .. }), "{error}");
}
