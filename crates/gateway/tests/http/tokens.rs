//! Tokens: who has none, a wrong one, one that is too busy or over.

use serde_json::json;
use signet_testkit::House;

use crate::client::{Gateway, token};

const STATUS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"status"}"#;

#[test]
fn nobody_is_let_in_without_a_token_that_holds() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    assert!(
        gateway.said.contains("there is no token yet"),
        "{}",
        gateway.said
    );
    let good = token(&alice, "laptop", &[]);
    let bare = gateway.send(
        &[
            "POST /rpc HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
        ],
        STATUS.as_bytes(),
    );
    assert_eq!(
        (bare.status, bare.reason().as_str()),
        (401, "token-unknown")
    );
    assert_eq!(
        bare.json()["error"]["code"],
        -32000,
        "clients of JSON-RPC read it first"
    );
    assert_eq!(
        bare.header("www-authenticate"),
        Some("Bearer realm=\"signet\"")
    );
    let mut guesses = vec![
        "x".to_owned(),
        "laptop".to_owned(),
        good.to_ascii_lowercase(),
        format!("{good}A"),
    ];
    guesses.extend((1..good.len()).step_by(7).map(|end| good[..end].to_owned()));
    for guess in guesses {
        let answer = gateway.post("/rpc", &guess, STATUS);
        assert_eq!(answer.status, 401, "{guess}");
        assert!(
            !answer.text().contains(&guess) || guess.len() < 12,
            "{guess}"
        );
    }
    assert_eq!(gateway.post("/rpc", &good, STATUS).status, 200);
    let line = format!("POST /rpc?access_token={good} HTTP/1.1");
    let head = [
        line.as_str(),
        "Host: localhost",
        "Content-Type: application/json",
    ];
    let in_the_address = gateway.send(&head, STATUS.as_bytes());
    assert_eq!(in_the_address.status, 401);
    // The tokens file holds hashes: neither the file's text nor a hash of it lets anybody in.
    let file = std::fs::read_to_string(alice.dir.join("gateway-tokens.toml")).unwrap();
    assert!(file.contains("laptop") && !file.contains(good.trim_start_matches("signet_")));
    let hash = file
        .lines()
        .find_map(|line| line.strip_prefix("hash = \""))
        .unwrap();
    assert_eq!(
        gateway
            .post("/rpc", hash.trim_end_matches('"'), STATUS)
            .status,
        401
    );
    alice.done(&["token", "revoke", "laptop"]);
    assert_eq!(gateway.post("/rpc", &good, STATUS).status, 401);
}

#[test]
fn a_token_for_a_peer_that_cannot_be_is_not_made_and_the_form_is_named() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    for odd in ["not valid!", "Agent-Bob", "", "bob_smith", "b\u{f6}b"] {
        let output = alice.cli(&["token", "make", "z", &format!("--peer={odd}")]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{odd}"
        );
        assert!(
            said.contains("--peer") && said.contains("1 to 63 of a-z, 0-9 and '-'"),
            "{said}"
        );
    }
    assert!(!alice.done(&["token", "list"]).contains("z  token"));
    // A token may name an agent that is not known yet: the person may come to know it later.
    token(&alice, "tomorrow", &["--peer", "agent-tomorrow"]);
}

#[test]
fn a_busy_token_is_told_when_to_come_again_and_others_are_served() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    let busy = token(&alice, "busy", &["--requests-per-minute", "30"]);
    let other = token(&alice, "other", &[]);
    let mut refused = 0;
    for _ in 0..20 {
        let answer = gateway.post("/rpc", &busy, STATUS);
        if answer.status == 429 {
            refused += 1;
            assert!(
                answer
                    .header("retry-after")
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
                    >= 1
            );
        }
    }
    assert!((5..=12).contains(&refused), "{refused}");
    assert_eq!(gateway.post("/rpc", &other, STATUS).status, 200);
}

#[test]
fn without_authentication_it_says_so_at_every_start() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    for _ in 0..2 {
        let gateway = Gateway::start(&alice, "auth = \"none\"\n");
        assert!(
            gateway.said.contains("warning: auth = \"none\""),
            "{}",
            gateway.said
        );
        let head = [
            "POST /rpc HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
        ];
        let status = gateway.send(&head, STATUS.as_bytes()).json();
        assert_eq!(status["result"]["agent"], alice.agent);
        // With `auth = "none"` no token keeps strangers out: so the check of `Origin` must still refuse pages of other
        // sites.
        let page = [&head[..], &["Origin: https://evil.test"]].concat();
        assert_eq!(gateway.send(&page, STATUS.as_bytes()).status, 403);
    }
}

#[test]
fn it_is_off_until_its_file_is_there_and_refuses_what_would_open_it() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let (code, said) = ended(&alice, None);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("the gateway is off") && said.contains("[listen]"),
        "{said}"
    );
    for (file, what) in [
        (
            "[listen]\naddress = \"0.0.0.0:0\"\nauth = \"none\"\n",
            "everybody",
        ),
        ("[listen]\naddress = \"0.0.0.0:0\"\n", "[tls]"),
        ("[listen]\nadress = \"127.0.0.1:0\"\n", "line 2"),
        (
            "[tls]\ncertificate = \"no.pem\"\nkey = \"no.pem\"\n",
            "no.pem",
        ),
    ] {
        let (code, said) = ended(&alice, Some(file));
        assert_eq!(code, Some(2), "{file}");
        assert!(
            said.contains(what) && said.contains("next: "),
            "{file}: {said}"
        );
    }
    let person = json!({"peer": "x"});
    assert!(alice.call("peer.show", &person).is_err());
}

fn ended(home: &signet_testkit::Home, file: Option<&str>) -> (Option<i32>, String) {
    if let Some(file) = file {
        std::fs::write(home.dir.join("gateway.toml"), file).unwrap();
    }
    let output = home.cli(&["gateway"]);
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}
