//! What trust rests on, looked at closely enough that no single changed expression passes: found with
//! `make mutants`.

use signet_proto::certificate::{KEYS_LIFE, KeyStatement};
use signet_proto::envelope::Unverified;
use signet_proto::keys::SealSecret;
use signet_proto::reject::Reason;
use signet_proto::verify::Verified;
use zeroize::Zeroizing;

use crate::forge::{envelope, headers, read, sign};
use crate::household::people::announce;
use crate::household::{Agent, at, identity, key};

/// Bob, who knows Alice.
fn bob() -> Agent {
    let mut bob = Agent::new("agent-bob", "bob");
    bob.knows(&Agent::new("agent-alice", "alice"));
    bob
}

fn verified(bob: &Agent, bytes: &[u8]) -> Result<Verified, Reason> {
    let unverified = Unverified::parse(bytes).unwrap();
    unverified.verify(bob.node.trust()).verified()
}

/// Everything in the flight agrees with everything else; only Alice's root signed none of it.
#[test]
fn a_thiefs_key_written_into_a_certificate_is_not_believed_for_a_moment() {
    let bob = bob();
    let thief = key("thief");
    let flight = announce(|| identity("agent-alice", "alice"), &bob, 0);
    let mut flight = read(&flight);
    let secret = SealSecret::of(Zeroizing::new([3; 32]));
    let until = at(0).now.saturating_add(KEYS_LIFE);
    let alice = "agent-alice".parse().unwrap();
    let keys = KeyStatement::sign(&alice, secret.public(), 9, until, &thief).unwrap();
    let body = &mut envelope(&mut flight)["body"];
    body["certificate"]["signing-key"] = thief.public().to_string().into();
    body["certificate"]["serial"] = 9.into();
    body["keys"] = keys.to_value();
    headers(&mut flight)["key-id"] = thief.public().id().to_string().into();
    let verdict = verified(&bob, &sign(flight, &thief)).map(drop);
    assert_eq!(verdict, Err(Reason::CertificateInvalid));
}

#[test]
fn what_a_flight_proved_is_what_it_brought() {
    let bob = bob();
    let alice = identity("agent-alice", "alice");
    let flight = announce(|| identity("agent-alice", "alice"), &bob, 0);
    let verified = verified(&bob, &flight).unwrap();
    let credentials = verified.credentials().unwrap();
    assert_eq!(credentials.certificate, alice.certificate);
    assert_eq!(credentials.keys.sealing_key, alice.keys.sealing_key);
}
