//! A gateway whose connection to the daemon ends in the middle of what it does.

use std::io::{BufRead as _, BufReader, Write as _, copy};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use signet_testkit::eventually;

use super::client::{Agent, Gateway, begins, id_of, says};
use super::offers::strangers_so_far;

/// A socket in front of the agent's: it passes on what is said, and can end a connection at a call.
struct Between {
    socket: PathBuf,
    /// Whether the next `acknowledge` ends its connection, and does not reach the daemon.
    breaks: Arc<AtomicBool>,
}

impl Between {
    fn before(home: &Path) -> Self {
        let (socket, agents) = (home.join("between.sock"), home.join("agent.sock"));
        let listener = UnixListener::bind(&socket).unwrap();
        let breaks = Arc::new(AtomicBool::new(false));
        let is_to_break = Arc::clone(&breaks);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // While the daemon is away nobody answers here either.
                if let Ok(daemon) = UnixStream::connect(&agents) {
                    pass_on(client, daemon, Arc::clone(&is_to_break));
                }
            }
        });
        Self { socket, breaks }
    }
}

fn pass_on(client: UnixStream, daemon: UnixStream, breaks: Arc<AtomicBool>) {
    let (mut back, mut from) = (client.try_clone().unwrap(), daemon.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = copy(&mut from, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let (mut said, mut line) = (BufReader::new(client), String::new());
        while said.read_line(&mut line).is_ok_and(|read| read > 0) {
            let ends = line.contains("\"acknowledge\"") && breaks.swap(false, Ordering::SeqCst);
            if ends || (&daemon).write_all(line.as_bytes()).is_err() {
                break;
            }
            line.clear();
        }
        let _ = said.get_ref().shutdown(Shutdown::Both);
        let _ = daemon.shutdown(Shutdown::Both);
    });
}

#[test]
fn what_is_sent_once_more_is_so_also_where_the_connection_ends_before_its_refusal_has_left_the_inbox()
 {
    let mut scene = strangers_so_far();
    scene.gateway.kill();
    let between = Between::before(&scene.alice.dir);
    scene.gateway = Gateway::start_at(&scene.alice, "", &between.socket);
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    let state = &told["result"]["task"]["status"]["state"];
    assert_eq!(state, "TASK_STATE_COMPLETED", "{told}");
    eventually("its answer has left the inbox", || {
        scene.alice.inbox().is_empty().then_some(())
    });
    // The other side has not heard that the program is away when the message leaves, so its daemon refuses it.
    scene.bob.stop();
    scene.agent = None;
    between.breaks.store(true, Ordering::SeqCst);
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("n", "for later")));
    scene.bob.start();
    eventually("the connection ends", || {
        (!between.breaks.load(Ordering::SeqCst)).then_some(())
    });
    scene.agent = Some(Agent::offering(&scene.bob, "test.talk"));
    let done = scene.until(&task, "COMPLETED");
    let said = &done["artifacts"][0]["parts"];
    assert_eq!(*said, json!([{"text": "for later"}]));
    eventually(
        "the refusal has left the inbox, and so has the answer",
        || scene.alice.inbox().is_empty().then_some(()),
    );
}
