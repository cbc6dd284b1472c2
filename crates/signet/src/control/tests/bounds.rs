//! Clients that send or take too much or too little, and that fill every place.

use super::*;

#[test]
fn a_client_that_never_reads_is_closed_and_holds_up_nobody() {
    let daemon = Daemon::new();
    let mut stream = daemon.stream();
    stream
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"count\",\"params\":[1000000],\"id\":1}\n")
        .unwrap();
    daemon.lives();
    // Wait until the queue of notifications is full, since the client does not read: the daemon has to close
    // the connection then, or `lines` would never end.
    std::thread::sleep(Duration::from_millis(200));
    let lines: std::io::Result<Vec<String>> = BufReader::new(stream).lines().collect();
    assert!(lines.unwrap().len() < 1_000_000);
}

#[test]
fn a_client_that_takes_no_answers_is_closed() {
    let daemon = Daemon::with_limits(ClientLimits {
        write: Duration::from_millis(200),
        ..LIMITS
    });
    let mut stream = daemon.stream();
    stream
        .set_write_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let text = "x".repeat(100_000);
    let call =
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[\"{text}\"],\"id\":1}}\n");
    let refused = (0..1000)
        .find_map(|_| stream.write_all(call.as_bytes()).err())
        .unwrap();
    let closed = [
        std::io::ErrorKind::BrokenPipe,
        std::io::ErrorKind::ConnectionReset,
    ];
    assert!(closed.contains(&refused.kind()), "{refused}");
    daemon.lives();
}

#[test]
fn an_oversized_line_is_refused_before_it_ends() {
    let daemon = Daemon::new();
    let mut stream = daemon.stream();
    let mut writer = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let chunk = vec![b'['; 64 * 1024];
        (0..1024)
            .take_while(|_| writer.write_all(&chunk).is_ok())
            .count()
    });
    let answer: Value = serde_json::from_str(&line(&stream)).unwrap();
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32600), &Value::Null)
    );
    assert!(sender.join().unwrap() < 64);
    let mut rest = Vec::new();
    assert!(matches!(stream.read_to_end(&mut rest), Ok(0) | Err(_)));
    daemon.lives();
}

#[test]
fn a_line_of_a_megabyte_is_taken_and_one_more_byte_is_not() {
    let daemon = Daemon::new();
    let start = "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[4],\"id\":1,\"pad\":\"";
    for (length, code) in [(1 << 20, None), ((1 << 20) + 1, Some(-32600))] {
        let mut stream = daemon.stream();
        let pad = "x".repeat(length - start.len() - 2);
        stream
            .write_all(format!("{start}{pad}\"}}\n").as_bytes())
            .unwrap();
        let answer: Value = serde_json::from_str(&line(&stream)).unwrap();
        assert_eq!(answer["error"]["code"].as_i64(), code);
    }
}

#[test]
fn garbage_bytes_are_answered_and_harm_nothing() {
    let daemon = Daemon::new();
    let mut stream = daemon.stream();
    let mut byte = 1_u8;
    for length in 0..300_usize {
        let garbage: Vec<u8> = std::iter::repeat_with(|| {
            byte = byte.wrapping_mul(167).wrapping_add(13);
            if byte == b'\n' { 0 } else { byte }
        })
        .take(length)
        .collect();
        stream.write_all(&garbage).unwrap();
        stream.write_all(b"\n").unwrap();
        let answer: Value = serde_json::from_str(&line(&stream)).unwrap();
        assert!(answer["error"]["code"].is_i64(), "{answer}");
    }
    stream
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[4],\"id\":1}\n")
        .unwrap();
    assert!(line(&stream).contains("\"result\":4"));
}

#[test]
fn clients_that_ask_nothing_lock_nobody_out() {
    let daemon = Daemon::new();
    let streams: Vec<UnixStream> = (0..CLIENTS).map(|_| daemon.stream()).collect();
    for stream in &streams {
        (&*stream)
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1],\"id\":1}\n")
            .unwrap();
        assert!(line(stream).contains("\"result\":1"));
    }
    daemon.lives();
    assert_eq!(told_that_the_place_is_needed(&streams), 1);
    // Each `lives` connects a new client, which has to give its place back when it leaves: otherwise the last
    // `lives` would find no place.
    for _ in 0..CLIENTS {
        daemon.lives();
    }
}

#[test]
fn clients_that_keep_every_place_busy_lock_nobody_out() {
    let daemon = Daemon::new();
    let streams: Vec<UnixStream> = (0..CLIENTS).map(|_| daemon.stream()).collect();
    for stream in &streams {
        (&*stream)
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"hang\",\"id\":1}\n")
            .unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    daemon.lives();
    assert_eq!(told_that_the_place_is_needed(&streams), 1);
}

#[test]
fn short_connections_of_two_hundred_clients_are_all_answered() {
    let daemon = Daemon::new();
    let answered = std::thread::scope(|scope| {
        let client = || {
            let call = b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1],\"id\":1}\n";
            let ask = |_: &usize| {
                let mut stream = daemon.stream();
                let mut answer = String::new();
                let asked = stream.write_all(call);
                let read = BufReader::new(&stream).read_line(&mut answer);
                asked.is_ok() && read.is_ok() && answer.contains("\"result\":1")
            };
            (0..10).filter(ask).count()
        };
        let clients: Vec<_> = (0..200).map(|_| scope.spawn(client)).collect();
        let answered = clients.into_iter().map(|client| client.join().unwrap());
        answered.sum::<usize>()
    });
    assert_eq!(answered, 2_000);
}

#[test]
fn a_connection_that_lost_its_place_is_made_anew_for_the_next_call() {
    let daemon = Daemon::new();
    let mut idle = daemon.client();
    assert_eq!(idle.raw("sum", &json!([1])).unwrap(), 1);
    let others: Vec<UnixStream> = (0..CLIENTS).map(|_| daemon.stream()).collect();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(idle.raw("sum", &json!([2])).unwrap(), 2);
    drop(others);
}

#[test]
fn silent_clients_do_not_keep_their_places() {
    let daemon = Daemon::with_limits(ClientLimits {
        first_line: Duration::from_millis(500),
        ..LIMITS
    });
    let silent: Vec<UnixStream> = (0..CLIENTS).map(|_| daemon.stream()).collect();
    assert!(daemon.recovers());
    drop(silent);
}

#[test]
fn clients_that_vanish_during_a_call_do_not_keep_their_places() {
    let daemon = Daemon::new();
    for _ in 0..(2 * CLIENTS) {
        let mut stream = daemon.stream();
        stream
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"hang\",\"id\":1}\n")
            .unwrap();
        drop(stream);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(daemon.recovers());
}
