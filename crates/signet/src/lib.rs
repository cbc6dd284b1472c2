//! signet, the shell: configuration, state on disk, the event loop, the control socket and the
//! command line.
//!
//! It makes no trust decision: what a message means is for `signet-proto` to say.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod attention;
pub mod carrier;
pub mod cli;
pub mod clock;
pub mod config;
pub mod control;
pub mod daemon;
mod disk_space;
pub mod files;
mod group;
mod hint;
pub mod home;
pub mod keystore;
pub mod lock;
pub mod manager;
pub mod memory;
pub mod policy_view;
mod programs;
pub mod random;
pub mod reach;
pub mod render;
pub mod startup;
pub mod state;
