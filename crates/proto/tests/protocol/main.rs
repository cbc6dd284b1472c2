//! The tests of the protocol, a file a subject; `scripts/mutants` runs those that come by a change. `json`, `model` and
//! `simulation` stand beside this binary: the first is built with other features as well, the others take long.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub
)]

mod accidents;
mod anew;
mod asyncapi;
mod attacks;
mod attacks_alarms;
mod attacks_anew;
mod attacks_approval;
mod attacks_copies;
mod attacks_decision;
mod attacks_decrees;
mod attacks_disk;
mod attacks_flights;
mod attacks_floods;
mod attacks_handoff;
mod attacks_invitation;
mod attacks_pause;
mod attacks_policy;
mod attacks_revocation;
mod attacks_roots;
mod attacks_schemas;
mod attacks_seal;
mod attacks_shed;
mod attacks_strangers;
mod attacks_tables;
mod attacks_transcript;
mod attacks_trust;
mod bounds;
mod bounds_policy;
mod bounds_statements;
mod budgets_and_hops;
mod carriers;
mod clocks;
mod conversation;
mod docs;
mod ed25519;
mod finds_capability;
mod first_contact;
mod forge;
mod forgotten;
mod generated;
mod handoff;
mod handshake;
mod holders;
#[path = "../household/mod.rs"]
mod household;
mod ids;
mod interrupted_flights;
mod invitations;
mod jsonrpc;
mod key_change;
mod lasting_words;
mod leases_and_keys;
mod ledgers;
mod lingering_offers;
mod lost_ends;
mod lying_peer;
mod mailboxes;
mod mutants_node;
mod mutants_peers;
mod mutants_trust;
mod overtaken;
mod own_attempts;
mod past_lines;
mod peer_reasons;
mod policy;
mod policy_change;
mod polls;
mod program_offers;
mod progress_and_offers;
mod properties;
mod pynacl;
mod reasons;
mod recall;
mod reduced;
mod renewals;
mod reopened;
mod rows;
mod schemas;
mod seal;
mod second_hand;
mod secrets;
mod sessions;
mod shares;
mod silent;
mod tamper;
mod time;
mod told_before;
mod torn_tails;
mod transcript;
mod trust;
mod trust_views;
mod two_readers;
mod two_tasks;
mod where_messages_are;
mod windows;
mod withdrawal;
mod written_once;
