//! Invitations (section 15): what somebody on the way can do to the line.

use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::certificate::CertificateError;
use signet_proto::draft::Identity;
use signet_proto::ids::{decode_base64url, encode_base64url};
use signet_proto::keys::{Purpose, SigningKey};
use signet_proto::statement::{Invitation, InvitationError, Reached};
use signet_proto::time::Timestamp;

use crate::household::{identity, identity_with};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn noon() -> Timestamp {
    crate::household::at(12 * 3_600_000).now
}

fn nats(address: &str) -> Reached {
    Reached {
        carrier: "nats".to_owned(),
        addresses: vec![address.to_owned()],
    }
}

fn sign(
    own: &Identity,
    reached: &[Reached],
    life: Duration,
) -> Result<Invitation, InvitationError> {
    Invitation::sign(&own.certificate, &own.signing, reached, noon(), life)
}

fn bobs() -> Invitation {
    sign(
        &identity("agent-bob", "bob"),
        &[nats("nats://house.example:4222")],
        7 * DAY,
    )
    .unwrap()
}

/// The members of a line.
fn members(line: &str) -> Value {
    let text = line.strip_prefix("signet:1:").unwrap();
    serde_json::from_slice(&decode_base64url(text).unwrap()).unwrap()
}

fn line_of(members: &Value) -> String {
    format!(
        "signet:1:{}",
        encode_base64url(members.to_string().as_bytes())
    )
}

/// What Bob himself would sign, whatever it says.
fn signed(mut members: Value, key: &SigningKey) -> String {
    let object = members.as_object_mut().unwrap();
    object.remove("signature");
    let text = signet_json::canonical(&members);
    let signature = encode_base64url(&key.sign(Purpose::Invitation, &[&text]));
    members["signature"] = signature.into();
    line_of(&members)
}

fn refusal(line: &str) -> InvitationError {
    Invitation::parse_line(line, noon()).unwrap_err()
}

fn member(name: &'static str) -> InvitationError {
    InvitationError::Statement(CertificateError::Member(name))
}

#[test]
fn the_line_tells_who_it_is_and_where_it_is_reached() {
    let line = bobs().to_line();
    assert!(
        !line.contains(char::is_whitespace) && line.len() < 2_000,
        "{}",
        line.len()
    );
    let read = Invitation::parse_line(&format!(" {line}\n"), noon()).unwrap();
    assert_eq!(read, bobs());
    assert_eq!(read.certificate.agent.as_str(), "agent-bob");
    assert_eq!(read.reached, [nats("nats://house.example:4222")]);
    assert_eq!(read.not_after, noon().saturating_add(7 * DAY));
}

#[test]
fn whoever_carries_the_line_changes_nothing_in_it() {
    let other = identity("agent-mallory", "mallory");
    let forged = [
        (
            "carriers",
            json!([{"carrier": "nats", "addresses": ["nats://mallory.example:4222"]}]),
        ),
        (
            "not-after",
            json!(noon().saturating_add(20 * DAY).to_string()),
        ),
        ("certificate", other.certificate.to_value()),
    ];
    for (name, value) in forged {
        let mut members = members(&bobs().to_line());
        members[name] = value;
        let error = refusal(&line_of(&members));
        assert_eq!(
            error,
            InvitationError::Statement(CertificateError::Signature),
            "{name}"
        );
    }
}

#[test]
fn an_invitation_to_bob_that_mallory_signed_is_nobodys() {
    let mallory = identity("agent-mallory", "mallory");
    let line = signed(members(&bobs().to_line()), &mallory.signing);
    assert_eq!(
        refusal(&line),
        InvitationError::Statement(CertificateError::Signature)
    );
    let bob = identity("agent-bob", "bob");
    let made = Invitation::sign(
        &bob.certificate,
        &mallory.signing,
        &[nats("nats://x:1")],
        noon(),
        DAY,
    );
    assert_eq!(
        made.unwrap_err(),
        InvitationError::Statement(CertificateError::Signature)
    );
}

#[test]
fn an_old_line_that_somebody_finds_binds_nobody() {
    let line = bobs().to_line();
    let end = noon().saturating_add(7 * DAY);
    assert!(Invitation::parse_line(&line, end).is_ok());
    let later = end.saturating_add(Duration::from_millis(1));
    let error = Invitation::parse_line(&line, later).unwrap_err();
    assert_eq!(error, InvitationError::Ended(end));
    // Nobody can sign an invitation for forty days, so none is good for ever.
    let bob = identity("agent-bob", "bob");
    assert_eq!(
        sign(&bob, &[nats("nats://x:1")], 40 * DAY),
        Err(member("not-after"))
    );
}

#[test]
fn it_ends_with_its_certificate_and_begins_with_it() {
    let short = identity_with("agent-bob", "bob", 1, |request| {
        request.not_after = noon().saturating_add(DAY);
    });
    let made = sign(&short, &[nats("nats://x:1")], 7 * DAY).unwrap();
    assert_eq!(made.not_after, noon().saturating_add(DAY));
    let early = identity_with("agent-bob", "bob", 1, |request| {
        request.not_before = noon().saturating_add(DAY);
    });
    let error = sign(&early, &[nats("nats://x:1")], 7 * DAY).unwrap_err();
    assert_eq!(error, InvitationError::Early(noon().saturating_add(DAY)));
}

#[test]
fn no_address_holds_a_login_or_drives_a_terminal() {
    let bob = identity("agent-bob", "bob");
    let long = format!("nats://{}", "a".repeat(260));
    for address in [
        "nats://bob:secret@house:4222",
        "",
        "nats://a b",
        "nats://\u{1b}[2J",
        "nats://\u{202e}x",
        &long,
    ] {
        assert_eq!(
            sign(&bob, &[nats(address)], DAY),
            Err(member("carriers")),
            "{address:?}"
        );
    }
    for carrier in ["", "NATS", "na ts", "a-name-much-too-long"] {
        let reached = Reached {
            carrier: carrier.to_owned(),
            addresses: vec!["x:1".to_owned()],
        };
        assert_eq!(
            sign(&bob, &[reached], DAY),
            Err(member("carriers")),
            "{carrier:?}"
        );
    }
}

#[test]
fn a_list_without_an_end_costs_nobody_anything() {
    let bob = identity("agent-bob", "bob");
    let many = vec![nats("nats://x:1"); 9];
    assert_eq!(sign(&bob, &many, DAY), Err(member("carriers")));
    assert_eq!(sign(&bob, &[], DAY), Err(member("carriers")));
    let line = format!("signet:1:{}", "A".repeat(1 << 20));
    assert_eq!(refusal(&line), InvitationError::NoLine);
}

#[test]
fn a_carrier_of_a_later_release_does_not_spoil_the_line() {
    let bob = identity("agent-bob", "bob");
    let pigeon = Reached {
        carrier: "pigeon".to_owned(),
        addresses: vec!["loft-7".to_owned()],
    };
    let reached = [pigeon, nats("nats://house.example:4222")];
    let line = sign(&bob, &reached, DAY).unwrap().to_line();
    assert_eq!(
        Invitation::parse_line(&line, noon()).unwrap().reached,
        reached
    );
}

#[test]
fn what_is_no_invitation_is_said_to_be_none() {
    let bob = identity("agent-bob", "bob");
    let line = bobs().to_line();
    for text in [
        "",
        "hello",
        "signet:",
        "signet:1:",
        "signet:1:%%%",
        &line[..line.len() - 9],
    ] {
        assert_eq!(refusal(text), InvitationError::NoLine, "{text}");
    }
    assert_eq!(refusal("signet:2:eyJ9"), InvitationError::Newer);
    assert_eq!(refusal("signet-login:1:eyJ9"), InvitationError::Login);
    let mut more = members(&line);
    more["note"] = "trust me".into();
    assert_eq!(
        refusal(&signed(more, &bob.signing)),
        member("(an unknown one)")
    );
    let mut other = members(&line);
    other["type"] = "agent".into();
    assert_eq!(refusal(&signed(other, &bob.signing)), member("type"));
    for name in ["certificate", "carriers", "not-after", "type"] {
        let mut less = members(&line);
        less.as_object_mut().unwrap().remove(name);
        assert!(
            Invitation::parse_line(&signed(less, &bob.signing), noon()).is_err(),
            "{name}"
        );
    }
}
