//! Each kind that speaks HTTP against one fault each: a named reason, within the time of a try, and the next message is
//! handled.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, Request, answer, completed, ok};
use crate::trial::{Came, Trial};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    A2a,
    SimpleA2a,
    Http,
    Mcp,
}

const KINDS: [Kind; 4] = [Kind::A2a, Kind::SimpleA2a, Kind::Http, Kind::Mcp];

impl Kind {
    fn section(self, url: &str) -> String {
        let kind = match self {
            Self::A2a => "\"a2a\"",
            Self::SimpleA2a => "\"simple-a2a\"",
            Self::Http => "\"http\"",
            Self::Mcp => "\"mcp\"\ntool = \"t\"",
        };
        format!("timeout = 2.0\nurl = \"{url}\"\nkind = {kind}")
    }

    /// The right answer to a request, with another id where one is given.
    fn good(self, request: &Value, id: Option<Value>) -> Value {
        let member = if self == Self::SimpleA2a {
            "task_id"
        } else {
            "id"
        };
        let id = id.unwrap_or_else(|| request[member].clone());
        let rpc = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        match self {
            Self::A2a => rpc(completed("well")),
            Self::SimpleA2a => {
                json!({"task_id": id, "status": "success", "output": "well", "error": null})
            }
            Self::Http => rpc(json!("well")),
            Self::Mcp if request["method"] == "initialize" => rpc(json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "t", "version": "1"},
            })),
            Self::Mcp => rpc(json!({"content": [{"type": "text", "text": "well"}]})),
        }
    }

    /// Whether the fault is due: an MCP server behaves until the tool is called.
    fn is_due(self, request: &Value) -> bool {
        self != Self::Mcp || request["method"] == "tools/call"
    }
}

/// What a stream of events says after its head.
type Stream = fn(&Value) -> Vec<u8>;

pub type Misdeed = fn(Kind, &Request, &mut TcpStream);

fn send(stream: &mut TcpStream, bytes: &[u8]) {
    // The gateway may close as soon as it has seen the fault: ignore the error of a write after that.
    let _ = stream.write_all(bytes);
}

/// Something that never ends, a piece each 20 ms.
fn drip(stream: &mut TcpStream, piece: &[u8]) {
    while stream.write_all(piece).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub const FAULTS: &[(&str, &str, Misdeed)] = &[
    ("slow", "timed out", |_, _, _| {
        std::thread::sleep(Duration::from_secs(8))
    }),
    ("hangs up", "cut-short", |_, _, _| {}),
    ("wrong id", "wrong-id", |kind, request, stream| {
        let body = kind.good(&request.json(), Some(json!("another")));
        send(stream, &ok(&body.to_string()));
    }),
    ("wrong shape", "wrong-shape", |_, _, stream| {
        send(stream, &ok("[1, 2]"))
    }),
    ("no JSON", "its answer is not JSON", |_, _, stream| {
        send(stream, &ok("<html>"))
    }),
    (
        "wrong content type",
        "wrong-content-type",
        |kind, request, stream| {
            let body = kind.good(&request.json(), None).to_string();
            send(stream, &answer("200 OK", "text/html", body.as_bytes()));
        },
    ),
    (
        "no content type",
        "wrong-content-type",
        |kind, request, stream| {
            let body = kind.good(&request.json(), None).to_string();
            send(
                stream,
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
                .as_bytes(),
            );
        },
    ),
    ("compressed", "wrong-content-type", |_, _, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}");
    }),
    ("500", "http-status: 500", |_, _, stream| {
        send(stream, &answer("500 Oops", "text/html", b"secret"))
    }),
    (
        "500 with a good answer",
        "http-status: 500",
        |kind, request, stream| {
            let body = kind.good(&request.json(), None).to_string();
            send(
                stream,
                &answer("500 Oops", "application/json", body.as_bytes()),
            );
        },
    ),
    ("redirect", "redirected", |_, _, stream| {
        send(
            stream,
            b"HTTP/1.1 307 Elsewhere\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        );
    }),
    ("10 MB", "too-large", |_, _, stream| {
        send(
            stream,
            &answer("200 OK", "application/json", &vec![b' '; 10 << 20]),
        );
    }),
    ("10 MB in chunks", "too-large", |_, _, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
        let chunk = [b"10000\r\n", vec![b'x'; 0x10000].as_slice(), b"\r\n"].concat();
        for _ in 0..160 {
            send(stream, &chunk);
        }
    }),
    (
        "answers twice in one body",
        "answered-twice",
        |kind, request, stream| {
            let body = kind.good(&request.json(), None).to_string();
            send(stream, &ok(&format!("{body}\n{body}")));
        },
    ),
    (
        "answers twice on one connection",
        "answered-twice",
        |kind, request, stream| {
            let body = kind.good(&request.json(), None).to_string();
            send(stream, &[ok(&body), ok(&body)].concat());
            std::thread::sleep(Duration::from_millis(200));
        },
    ),
    ("endless headers", "not-http", |_, _, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\n");
        while stream
            .write_all(b"x-more: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n")
            .is_ok()
        {}
    }),
    ("one endless header", "not-http", |_, _, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\nx-more: ");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    }),
    ("slow loris in its head", "timed out", |_, _, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\n");
        drip(stream, b"a: b\r\n");
    }),
    ("slow loris in its body", "timed out", |_, _, stream| {
        send(
            stream,
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n",
        );
        drip(stream, b" ");
    }),
    ("endless 100 Continue", "timed out", |_, _, stream| {
        drip(stream, b"HTTP/1.1 100 Continue\r\n\r\n")
    }),
    ("half an answer", "cut-short", |_, _, stream| {
        send(
            stream,
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
        );
    }),
    ("another protocol", "not-http", |_, _, stream| {
        send(stream, b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    }),
    ("two lengths", "not-http", |_, _, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}");
    }),
    ("invalid UTF-8", "not-utf8", |_, _, stream| {
        send(
            stream,
            &answer("200 OK", "application/json", b"{\"\xff\": 1}"),
        );
    }),
    ("one name twice", "duplicate-name", |_, _, stream| {
        send(stream, &ok("{\"id\": 1, \"id\": 2}"))
    }),
    ("100,000 brackets", "too-deep", |_, _, stream| {
        send(stream, &ok(&"[".repeat(100_000)))
    }),
];

#[test]
fn each_fault_of_an_agent_costs_its_own_message_and_has_one_name() {
    let mut cases = Vec::new();
    for kind in KINDS {
        for (name, reason, misdeed) in FAULTS {
            cases.push(std::thread::spawn(move || {
                one(kind, name, reason, *misdeed)
            }));
        }
    }
    let failed: Vec<String> = cases
        .into_iter()
        .filter_map(|case| case.join().unwrap())
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The first call meets the fault, the second one an agent that is well again.
fn one(kind: Kind, name: &str, reason: &str, misdeed: Misdeed) -> Option<String> {
    let fallen = std::sync::atomic::AtomicBool::new(false);
    let agent = Agent::raw(move |request, stream| {
        let is_due = kind.is_due(&request.json());
        match is_due && !fallen.swap(true, std::sync::atomic::Ordering::SeqCst) {
            true => misdeed(kind, request, stream),
            false => send(stream, &ok(&kind.good(&request.json(), None).to_string())),
        }
    });
    let mut trial = Trial::new(&kind.section(&agent.url()));
    let start = Instant::now();
    let came = trial.ask(json!({"a": 1}));
    let took = start.elapsed();
    let next = trial.ask(json!({"a": 2}));
    let is_named = matches!(&came, Came::Fault(fault) if fault.starts_with(reason) && !fault.contains("secret"));
    let is_well = next == Came::Answer(json!("well")) && took < Duration::from_secs(30);
    (!(is_named && is_well))
        .then(|| format!("{kind:?} {name}: {came:?} after {took:?}, then {next:?}"))
}

/// `signet handler test`, which asks no daemon, has to end as a peer's request would.
#[test]
fn what_no_message_can_hold_has_failed_before_a_daemon_is_asked() {
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    for (result, reason) in [
        (
            format!("\"{}\"", "x".repeat(240 * 1024)),
            "its answer is over 240 KiB",
        ),
        (deep, "too-deep"),
        (format!("[{}1]", "1,".repeat(10_000)), "too-many-values"),
        ("1e20".to_owned(), "number-out-of-range"),
        (
            "{\"balance\": 123456789012345678901234567890}".to_owned(),
            "number-out-of-range",
        ),
    ] {
        let agent = Agent::raw(move |request, stream| {
            let id = &request.json()["id"];
            send(
                stream,
                &ok(&format!(
                    "{{\"jsonrpc\": \"2.0\", \"id\": {id}, \"result\": {result}}}"
                )),
            );
        });
        let fault = Trial::new(&Kind::Http.section(&agent.url()))
            .ask(json!({}))
            .fault();
        assert!(fault.starts_with(reason), "{fault} instead of {reason}");
    }
}

#[test]
fn an_agent_that_is_not_there_is_named() {
    let free = crate::port::free_port();
    for kind in KINDS {
        let mut trial = Trial::new(&kind.section(&format!("http://127.0.0.1:{free}/")));
        assert!(
            trial.ask(json!({})).fault().starts_with("unreachable"),
            "{kind:?}"
        );
    }
}

#[test]
fn a_port_that_takes_connections_and_says_nothing_is_given_up_in_time() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    for kind in KINDS {
        let start = Instant::now();
        assert_eq!(
            Trial::new(&kind.section(&url)).ask(json!({})).fault(),
            "timed out"
        );
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}

/// A proxy of the environment would see what an agent on this machine is told. There is none: this test's own process
/// cannot set one for others, so a child of it does.
#[test]
fn no_proxy_of_the_environment_hears_what_is_said() {
    if std::env::var_os("HTTP_PROXY").is_none() {
        let proxy = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}", proxy.local_addr().unwrap());
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "faults::no_proxy_of_the_environment_hears_what_is_said",
        ]);
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"] {
            child.env(name, &address);
        }
        assert!(child.output().unwrap().status.success());
        proxy.set_nonblocking(true).unwrap();
        assert!(proxy.accept().is_err(), "nobody came");
        return;
    }
    let agent = Agent::json(|request| json!({"jsonrpc": "2.0", "id": request["id"], "result": 1}));
    assert_eq!(
        Trial::new(&Kind::Http.section(&agent.url()))
            .ask(json!({}))
            .answer(),
        1
    );
}

#[test]
fn a_session_that_an_mcp_server_forgot_is_begun_anew() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let agent = Agent::raw(move |request, stream| {
        let is_call = Kind::Mcp.is_due(&request.json());
        let count = if is_call {
            calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst)
        } else {
            0
        };
        let body = Kind::Mcp.good(&request.json(), None).to_string();
        match (request.json()["method"].as_str().unwrap(), count) {
            ("initialize", _) => {
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s-1\r\n";
                send(
                    stream,
                    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes(),
                );
            }
            ("notifications/initialized", _) => send(
                stream,
                b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
            ),
            // Answer the second call with 404, as a server that was started anew and no longer knows the session.
            (_, 1) => send(stream, &answer("404 Not Found", "text/plain", b"")),
            _ => {
                assert_eq!(request.header("mcp-session-id"), Some("s-1"));
                assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
                send(stream, &ok(&body));
            }
        }
    });
    let mut trial = Trial::new(&Kind::Mcp.section(&agent.url()));
    for _ in 0..3 {
        assert_eq!(trial.ask(json!({})), Came::Answer(json!("well")));
    }
    let methods: Vec<_> = agent
        .seen()
        .iter()
        .map(|seen| seen.json()["method"].clone())
        .collect();
    let greeted = methods
        .iter()
        .filter(|method| **method == json!("initialize"));
    assert_eq!((greeted.count(), methods.len()), (2, 8), "{methods:?}");
}

#[test]
fn an_mcp_answer_may_come_as_an_event_after_others_and_a_stream_that_goes_on_is_left() {
    let agent = Agent::raw(|request, stream| {
        let value = request.json();
        let body = Kind::Mcp.good(&value, None);
        if value["method"] != "tools/call" {
            return send(stream, &ok(&body.to_string()));
        }
        let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        send(
            stream,
            format!("{head}: hello\n\nevent: message\ndata: {note}\n\ndata: {body}\n\n").as_bytes(),
        );
        drip(stream, b": still here\n\n");
    });
    let mut trial = Trial::new(&Kind::Mcp.section(&agent.url()));
    assert_eq!(trial.ask(json!({})), Came::Answer(json!("well")));
}

#[test]
fn a_stream_of_an_mcp_server_is_held_to_the_same_names_and_bounds() {
    let cases: [(&str, Stream); 5] = [
        ("wrong-id", |value| {
            format!("data: {}\n\n", Kind::Mcp.good(value, Some(json!(99)))).into_bytes()
        }),
        ("cut-short", |_| b"data: {}".to_vec()),
        ("its answer is not JSON", |_| b"data: <html>\n\n".to_vec()),
        ("too-large", |_| vec![b'x'; 10 << 20]),
        ("not-utf8", |_| b"data: \"\xff\"\n\n".to_vec()),
    ];
    for (reason, stream_of) in cases {
        let agent = Agent::raw(move |request, stream| {
            let value = request.json();
            if value["method"] != "tools/call" {
                return send(stream, &ok(&Kind::Mcp.good(&value, None).to_string()));
            }
            send(
                stream,
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
            );
            send(stream, &stream_of(&value));
        });
        let fault = Trial::new(&Kind::Mcp.section(&agent.url()))
            .ask(json!({}))
            .fault();
        assert!(fault.starts_with(reason), "{reason}: {fault}");
    }
}
