//! One input for every fault, named by it. Keys come from names, so that anyone can make the same.

use serde_json::Value;
use signet_proto::draft::Identity;
use signet_proto::envelope::Method;
use signet_proto::reject::Reason;

use super::stages::World;
use crate::forge::{in_session, message, sign};
use crate::household::identity;

/// One input, what Bob's agent knows, when it comes, and what must be said of it.
#[derive(Debug)]
pub struct Fault {
    pub name: &'static str,
    pub about: &'static str,
    pub expect: Reason,
    /// A later check that the input fails as well.
    pub also: Option<&'static str>,
    pub log: &'static str,
    pub ms: i64,
    pub input: Vec<u8>,
    /// Spaces after the input.
    pub pad: usize,
    /// The subject that the input comes by, where it is not that of Bob's inbox.
    pub subject: Option<&'static str>,
}

/// When inputs come, in milliseconds after the logs begin; most are signed then, too.
pub const NOW: i64 = 10_000;
pub const DAY: i64 = 24 * 3600 * 1000;

/// The faults found so far.
pub struct Faults<'a> {
    pub world: &'a World,
    pub alice: Identity,
    pub all: Vec<Fault>,
}

/// Every fault, in the order of the checks.
pub fn all(world: &World) -> Vec<Fault> {
    let mut faults = Faults::of(world);
    faults.in_text();
    faults.in_headers();
    faults.in_sender();
    faults.in_flight_sender();
    faults.taken_back();
    faults.in_time();
    faults.in_place();
    faults.in_handshake();
    faults.in_allowance();
    faults.in_boxes();
    faults.in_handoff();
    faults.in_newer_version();
    faults.in_decrees();
    faults.of_single_rules();
    faults.of_two_checks();
    faults.of_histories();
    faults.alone();
    faults.in_chains();
    faults.in_openings();
    faults.in_pauses();
    faults.all
}

impl<'a> Faults<'a> {
    /// None yet.
    pub fn of(world: &'a World) -> Self {
        Self {
            world,
            alice: identity("agent-alice", "alice"),
            all: Vec::new(),
        }
    }
}

impl Faults<'_> {
    pub fn add(
        &mut self,
        name: &'static str,
        expect: Reason,
        log: &'static str,
        input: Vec<u8>,
        about: &'static str,
    ) -> &mut Fault {
        self.all.push(Fault {
            name,
            about,
            expect,
            also: None,
            log,
            ms: NOW,
            input,
            pad: 0,
            subject: None,
        });
        self.all.last_mut().unwrap()
    }

    /// Alice's request in the session where Bob takes every tier, under the number 2, changed and signed again: without a
    /// change it is accepted.
    pub fn told(&self, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let place = Some((self.world.private_session, 2));
        let method = Method::Request;
        let mut value = in_session(&self.alice, "agent-bob", method, "input", NOW, place);
        change(&mut value);
        sign(value, &self.alice.signing)
    }

    /// A revocation of an agent that nobody knows, which Alice's agent carries outside any session, changed and signed
    /// again: without a change it is accepted.
    pub fn order(&self, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut value = message(&self.alice, "agent-bob", Method::Revoke, "order", NOW);
        change(&mut value);
        sign(value, &self.alice.signing)
    }

    /// Alice's request outside any session, changed and signed again.
    pub fn request(&self, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut value = message(&self.alice, "agent-bob", Method::Request, "input", NOW);
        change(&mut value);
        sign(value, &self.alice.signing)
    }

    /// Alice's message in the session, under the number 2, changed and signed again.
    pub fn said(&self, method: Method, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let place = Some((self.world.session, 2));
        let mut value = in_session(&self.alice, "agent-bob", method, "input", NOW, place);
        change(&mut value);
        sign(value, &self.alice.signing)
    }

    /// Alice's flight 1, changed and signed again.
    pub fn announce(&self, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut value = self.world.announce.clone();
        change(&mut value);
        sign(value, &self.alice.signing)
    }
}

/// Changes one header.
pub fn set(name: &'static str, value: impl Into<Value>) -> impl FnOnce(&mut Value) {
    let value = value.into();
    move |message| drop(crate::forge::headers(message).insert(name.into(), value))
}

/// Changes one member of the body.
pub fn body(name: &'static str, value: impl Into<Value>) -> impl FnOnce(&mut Value) {
    let value = value.into();
    move |message| crate::forge::envelope(message)["body"][name] = value
}
