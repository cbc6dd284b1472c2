//! signet-view: the reading room. It shows a log as pages for people, and can do nothing but show.
//!
//! ```text
//! log folders ── signet_audit::read_from ──▶ index (view.db) ──▶ pages ──▶ web ──▶ browser
//!      ▲                                                             │
//!      └────────── the line itself, read again and held ◀────────────┘
//!                  against the hash that the index has
//! ```
//!
//! Texts of strangers are rendered here, so nothing is here that is worth taking: no key, no keystore, no connection that
//! changes anything; `daemon` has one to each daemon, which shows how it does. `cage` leaves the process its logs to read and its own folder to write; `index` keeps names,
//! summaries and words of what travels in clear, never of what is sealed; `pages` are compiled templates that escape by
//! themselves; `web` lets in who has both the path's secret and the cookie.
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

pub mod cage;
pub mod cli;
mod daemon;
mod days;
mod fault;
pub mod index;
mod onlook;
mod pages;
mod proof;
mod query;
mod random;
mod room;
mod run;
mod settings;
mod shared;
mod web;

pub use fault::ViewError;
