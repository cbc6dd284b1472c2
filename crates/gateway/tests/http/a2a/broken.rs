//! A gateway whose connection to the daemon ends in the middle of what it does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use signet_api::{ApiError, Reason};
use signet_testkit::eventually;

use super::client::{Agent, Gateway, begins, id_of, says};
use super::offers::strangers_so_far;

/// A socket in front of the agent's: it passes on what is said, and can end a connection at a call, refuse calls as a daemon
/// does whose disk is full, or lose the answer to a message that is sent.
#[derive(Clone)]
pub(super) struct Between {
    pub(super) socket: PathBuf,
    /// Whether the next `acknowledge` ends its connection, and does not reach the daemon.
    breaks: Arc<AtomicBool>,
    /// Whether nothing that the daemon says comes back on a connection after a `send`.
    pub(super) loses: Arc<AtomicBool>,
    full: Arc<Mutex<Full>>,
}

/// Which calls the full disk refuses, and which were refused.
#[derive(Default)]
struct Full {
    refuses: Option<fn(&str) -> bool>,
    refused: Vec<String>,
}

impl Between {
    pub(super) fn before(home: &Path) -> Self {
        let (socket, agents) = (home.join("between.sock"), home.join("agent.sock"));
        let listener = UnixListener::bind(&socket).unwrap();
        let between = Self {
            socket,
            breaks: Arc::default(),
            loses: Arc::default(),
            full: Arc::default(),
        };
        let this = between.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // While the daemon is away, drop the client's connection: the gateway then finds the daemon away, as it
                // would without this socket.
                if let Ok(daemon) = UnixStream::connect(&agents) {
                    this.clone().pass_on(client, daemon);
                }
            }
        });
        between
    }

    /// The disk is full for these calls, and refuses them until there is [`room`](Self::room).
    pub(super) fn fill(&self, refuses: fn(&str) -> bool) {
        self.full.lock().unwrap().refuses = Some(refuses);
    }

    /// There is room again.
    pub(super) fn room(&self) {
        *self.full.lock().unwrap() = Full::default();
    }

    /// Waits until such a call was refused.
    pub(super) fn until_refused(&self, call: &str) {
        eventually(call, || {
            let full = self.full.lock().unwrap();
            full.refused.iter().any(|name| name == call).then_some(())
        });
    }

    /// What a full disk says to a call, where it is refused.
    fn refusal(&self, call: &Value) -> Option<String> {
        let name = call["method"].as_str()?;
        let mut full = self.full.lock().unwrap();
        full.refuses.filter(|refuses| refuses(name))?;
        full.refused.push(name.to_owned());
        let refusal = ApiError::refused(Reason::DiskFull, "the disk is full");
        let answer = json!({"jsonrpc": "2.0", "id": call["id"], "error": refusal});
        Some(format!("{answer}\n"))
    }

    fn pass_on(self, client: UnixStream, daemon: UnixStream) {
        let lost = Arc::new(AtomicBool::new(false));
        let (mut back, from) = (client.try_clone().unwrap(), daemon.try_clone().unwrap());
        let is_lost = Arc::clone(&lost);
        std::thread::spawn(move || {
            let (mut told, mut line) = (BufReader::new(from), String::new());
            while told.read_line(&mut line).is_ok_and(|read| read > 0) {
                let passes = !is_lost.load(Ordering::SeqCst);
                if passes && back.write_all(line.as_bytes()).is_err() {
                    break;
                }
                line.clear();
            }
            let _ = back.shutdown(Shutdown::Both);
        });
        std::thread::spawn(move || {
            let (mut said, mut line) = (BufReader::new(client), String::new());
            while said.read_line(&mut line).is_ok_and(|read| read > 0) {
                let call: Value = serde_json::from_str(&line).unwrap();
                if call["method"] == "acknowledge" && self.breaks.swap(false, Ordering::SeqCst) {
                    break;
                }
                if call["method"] == "send" && self.loses.load(Ordering::SeqCst) {
                    lost.store(true, Ordering::SeqCst);
                }
                let written = match self.refusal(&call) {
                    Some(refusal) => said.get_ref().write_all(refusal.as_bytes()),
                    None => (&daemon).write_all(line.as_bytes()),
                };
                if written.is_err() {
                    break;
                }
                line.clear();
            }
            let _ = said.get_ref().shutdown(Shutdown::Both);
            let _ = daemon.shutdown(Shutdown::Both);
        });
    }
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
    // Bob's daemon is stopped before its agent's program goes, so Alice's daemon still counts on the offer and sends
    // the message. Bob's daemon starts without the program and refuses the message.
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
