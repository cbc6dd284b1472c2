//! Real daemons that talk by a real NATS server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod agent_calls;
mod agent_socket;
mod attention;
mod card;
mod carriers;
mod ceilings;
mod clients;
mod clock;
mod conversation;
mod credentials;
mod demo;
mod doctor;
mod downgrade;
mod faults;
mod first_start;
mod foreign;
mod forgeries;
mod golden;
mod handlers_user;
mod handoff;
mod key_rotation;
mod lifecycle;
mod looking;
mod mailbox;
mod marker;
mod mounted;
mod names;
mod older;
mod outbox;
mod peer;
mod quarantine;
mod readers;
mod reload;
mod replay;
mod sealed;
mod service;
mod sites;
mod state;
mod trust;
mod up;
mod wire_reasons;

use signet_testkit as house;
