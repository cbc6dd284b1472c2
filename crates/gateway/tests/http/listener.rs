//! The listener against those who send what no program sends.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use signet_testkit::House;

use crate::client::{Answer, Gateway, token};

const STATUS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"status"}"#;
const JSON: &str = "Content-Type: application/json";

/// What `docs/gateway.md` says of heads.
#[test]
fn a_head_that_is_too_large_or_none_of_http_is_refused_without_a_body_and_one_of_32_kib_is_read() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    let status_of = |bytes: &[u8]| {
        let mut stream = gateway.connect();
        // The gateway may refuse a head and close before all of it is written: ignore the error, and read its answer.
        let _ = stream.write_all(bytes);
        let answer = Answer::read(&mut BufReader::new(stream))?;
        Some((answer.status, answer.text().is_empty()))
    };
    let line = "GET /rpc HTTP/1.1\r\nHost: localhost\r\n";
    let large = |bytes: usize| {
        let rest = bytes - line.len() - "X: \r\n\r\n".len();
        format!("{line}X: {}\r\n\r\n", "y".repeat(rest))
    };
    let many = |count: usize| format!("{line}{}\r\n", "X: y\r\n".repeat(count - 1));
    let answered = |head: &str| status_of(head.as_bytes());
    // Status 405 shows that the whole head was read and let through: `/rpc` takes no GET.
    let read = Some((405, false));
    assert_eq!(answered(&large(32 * 1024)), read);
    assert_eq!(answered(&many(64)), read);
    assert_eq!(answered(&many(65)), Some((431, true)));
    // The gateway reads no more of so large a head, and may close the connection before its answer is read: then there
    // is no answer.
    let too_large = answered(&large(64 * 1024 + 1));
    assert!(
        too_large.is_none_or(|answer| answer == (431, true)),
        "{too_large:?}"
    );
    for malformed in [
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\n",
        "GET /rpc HTTP/1.1\r\nHost: local\u{1}host\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n",
    ] {
        assert_eq!(answered(malformed), Some((400, true)), "{malformed:?}");
    }
}

#[test]
fn another_host_another_origin_and_what_is_no_json_are_refused_on_every_route() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(
        &alice,
        "hosts = [\"agent.example.org\"]\norigins = [\"https://app.example.org\"]\n",
    );
    let token = token(&alice, "laptop", &["--requests-per-minute", "10000"]);
    let bearer = format!("Authorization: Bearer {token}");
    let send = |path: &str, more: &[&str]| {
        let line = format!("POST {path} HTTP/1.1");
        gateway.send(
            &[&[line.as_str(), &bearer], more].concat(),
            STATUS.as_bytes(),
        )
    };
    for path in ["/rpc", "/mcp", "/", "/nothing"] {
        for host in [
            "Host: evil.test",
            "Host: localhost.evil.test:8787",
            "Host: 192.168.1.1",
            "X: y",
        ] {
            let answer = send(path, &[host, JSON]);
            assert!(
                matches!(answer.status, 421 | 400),
                "{path} {host}: {}",
                answer.status
            );
        }
        let twice = send(path, &["Host: localhost", "Host: evil.test", JSON]);
        assert!(matches!(twice.status, 421 | 400), "{path}");
        for origin in [
            "null",
            "https://evil.test",
            "http://app.example.org",
            "https://app.example.org.evil.test",
        ] {
            let answer = send(
                path,
                &["Host: localhost", JSON, &format!("Origin: {origin}")],
            );
            assert_eq!(
                (answer.status, answer.reason().as_str()),
                (403, "origin-refused"),
                "{path} {origin}"
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
        ] {
            let answer = send(path, &["Host: localhost", &format!("Content-Type: {kind}")]);
            assert_eq!(answer.status, 415, "{path} {kind}");
            // At `/` a client of A2A calls, and it reads errors of JSON-RPC: so the refusal has the code of A2A.
            match path {
                "/" => assert_eq!(answer.json()["error"]["code"], -32005),
                _ => assert_eq!(answer.reason(), "content-type", "{path}"),
            }
        }
    }
    for host in [
        "localhost",
        "127.0.0.1:1",
        "[::1]",
        "AGENT.example.org:8787",
    ] {
        assert_eq!(
            send("/rpc", &[&format!("Host: {host}"), JSON]).status,
            200,
            "{host}"
        );
    }
    assert_eq!(
        send(
            "/rpc",
            &["Host: localhost", JSON, "Origin: https://app.example.org"]
        )
        .status,
        200
    );
    // Before a call to another site a browser asks with OPTIONS, and calls only if the answer allows it: no answer
    // does, not even for a configured origin.
    let asks = gateway.send(
        &[
            "OPTIONS /rpc HTTP/1.1",
            "Host: localhost",
            "Origin: https://app.example.org",
            "Access-Control-Request-Method: POST",
        ],
        b"",
    );
    assert_eq!(asks.header("access-control-allow-origin"), None);
    assert_ne!(asks.status, 200);
}

#[test]
fn a_body_or_a_head_without_end_is_cut_off() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut gateway = Gateway::start(&alice, "[limits]\nbody-bytes = 4096\n");
    let token = token(&alice, "laptop", &[]);
    assert_eq!(gateway.post("/rpc", &token, &" ".repeat(4097)).status, 413);
    // Send a body in chunks, without a length: its head does not show that it is too long, so it must be cut off while
    // it comes.
    for (bearer, status) in [(token.as_str(), 413), ("nobody-knows-it", 401)] {
        let mut stream = gateway.connect();
        write!(
            stream,
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nAuthorization: Bearer {bearer}\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        )
        .unwrap();
        for _ in 0..100 {
            if stream
                .write_all(format!("400\r\n{}\r\n", " ".repeat(1024)).as_bytes())
                .is_err()
            {
                break;
            }
        }
        let answer = Answer::read(&mut BufReader::new(stream));
        assert!(answer.is_none_or(|answer| answer.status == status));
    }
    for head in [
        format!("X: {}\r\n", "y".repeat(100_000)),
        "X: y\r\n".repeat(1000),
        format!("GET /{} HTTP/1.1\r\n", "x".repeat(100_000)),
    ] {
        let mut stream = gateway.connect();
        let _ = write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\n{head}\r\n");
        let answer = Answer::read(&mut BufReader::new(stream));
        assert!(answer.is_none_or(|answer| matches!(answer.status, 400 | 414 | 431)));
    }
    // Two lengths, or a length and chunks, let a proxy and the gateway see different ends of the body, and a second
    // request could be smuggled in: refuse both.
    for head in [
        "Content-Length: 4\r\nContent-Length: 40",
        "Content-Length: 4\r\nTransfer-Encoding: xchunked",
    ] {
        let mut stream = gateway.connect();
        write!(
            stream,
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\n{head}\r\n\r\nabcdefgh"
        )
        .unwrap();
        let answer = Answer::read(&mut BufReader::new(stream)).unwrap();
        assert!(
            matches!(answer.status, 400 | 501),
            "{head}: {}",
            answer.status
        );
    }
    assert!(gateway.is_up());
    assert_eq!(gateway.post("/rpc", &token, STATUS).status, 200);
}

#[test]
fn who_is_not_let_in_is_told_so_without_a_body_being_awaited() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "[limits]\nbody-seconds = 600\n");
    // Send the whole head and one byte of a long body: the refusal comes at once, without the rest of the body.
    for (line, status) in [
        ("POST /rpc HTTP/1.1\r\nHost: localhost", 401),
        ("POST /rpc HTTP/1.1\r\nHost: evil.test", 421),
    ] {
        let began = Instant::now();
        let mut stream = gateway.connect();
        write!(
            stream,
            "{line}\r\n{JSON}\r\nContent-Length: 900000\r\n\r\n{{"
        )
        .unwrap();
        let answer = Answer::read(&mut BufReader::new(stream)).unwrap();
        assert_eq!(answer.status, status);
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{:?}",
            began.elapsed()
        );
    }
    // Many clients send the body in a packet of its own after the head. The gateway must not close before that: the
    // client would lose the refusal.
    let mut stream = gateway.connect();
    write!(
        stream,
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nContent-Length: 2\r\n\r\n"
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    stream.write_all(b"{}").unwrap();
    let answer = Answer::read(&mut BufReader::new(stream)).unwrap();
    assert_eq!(
        (answer.status, answer.reason().as_str()),
        (401, "token-unknown")
    );
}

#[test]
fn ten_thousand_strangers_do_not_close_the_connection_of_a_caller() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "[limits]\nconnections = 64\n");
    let token = token(&alice, "laptop", &["--requests-per-minute", "100000"]);
    let request = format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{STATUS}",
        STATUS.len()
    );
    let mut stays = BufReader::new(gateway.connect());
    let mut asks = || {
        stays.get_mut().write_all(request.as_bytes()).unwrap();
        let answer = Answer::read(&mut stays).expect("the connection stays");
        assert_eq!(answer.status, 200);
    };
    asks();
    let mut open = std::collections::VecDeque::new();
    for number in 0..10_000 {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        if number % 3 == 0 {
            // A third of the strangers have begun a request whose body never ends: this must not save them from making
            // room for the caller.
            let _ = write!(
                stream,
                "POST /rpc HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nContent-Length: 9\r\n\r\n{{"
            );
        }
        open.push_back(stream);
        if open.len() > 300 {
            open.pop_front();
        }
        if number % 1_000 == 999 {
            asks();
        }
    }
}

#[test]
fn who_drips_bytes_is_let_go() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "[limits]\nheader-seconds = 1\nbody-seconds = 1\n");
    let began = Instant::now();
    let drip = |mut stream: TcpStream| {
        // Each byte comes within any timeout for a single byte: only a limit for the whole head or body stops this
        // client.
        while stream.write_all(b"x").is_ok() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(100));
        }
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        rest
    };
    let mut head = gateway.connect();
    head.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        .unwrap();
    let mut body = gateway.connect();
    write!(
        body,
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nContent-Length: 900\r\n\r\n"
    )
    .unwrap();
    let silent = gateway.connect();
    std::thread::scope(|scope| {
        scope.spawn(|| drip(head));
        scope.spawn(|| drip(body));
        scope.spawn(move || {
            let mut silent = silent;
            let _ = silent.read_to_end(&mut Vec::new());
        });
    });
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn ten_thousand_idle_connections_take_bounded_memory_and_nobodys_place() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "[limits]\nconnections = 64\n");
    let token = token(&alice, "laptop", &["--requests-per-minute", "100000"]);
    assert_eq!(gateway.post("/rpc", &token, STATUS).status, 200);
    let before = resident(gateway.pid());
    let mut idle = std::collections::VecDeque::new();
    for number in 0..10_000 {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        // Half of the connections have begun a request, and the others have sent nothing.
        if number % 2 == 0 {
            let _ = stream.write_all(b"POST /rpc HTTP/1.1\r\nHost: ");
        }
        idle.push_back(stream);
        if idle.len() > 500 {
            idle.pop_front();
        }
        if number % 500 == 0 {
            let began = Instant::now();
            assert_eq!(gateway.post("/rpc", &token, STATUS).status, 200, "{number}");
            assert!(
                began.elapsed() < Duration::from_secs(5),
                "{:?}",
                began.elapsed()
            );
        }
    }
    let after = resident(gateway.pid());
    assert!(after < before + (32 << 20), "{before} → {after}");
}

#[test]
fn what_is_no_http_ends_its_own_connection_alone() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &[]);
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"\0\0\0\0\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n",
    ] {
        let mut stream = gateway.connect();
        stream.write_all(garbage).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }
    assert!(gateway.is_up());
    let answer = gateway.post("/rpc", &token, STATUS);
    assert_eq!(answer.status, 200);
    let there = gateway.send(
        &[
            "GET /rpc HTTP/1.1",
            "Host: localhost",
            &format!("Authorization: Bearer {token}"),
        ],
        b"",
    );
    assert_eq!(
        (there.status, there.reason().as_str()),
        (405, "method-not-allowed")
    );
    let told = String::from_utf8_lossy(&there.body).into_owned();
    assert!(
        told.contains("GET is not how") && told.contains("by POST"),
        "{told}"
    );
    let nothing = gateway.post("/nothing", &token, STATUS);
    assert_eq!(
        (nothing.status, nothing.reason().as_str()),
        (404, "nothing-here")
    );
}

/// What the kernel counts as its memory, in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
