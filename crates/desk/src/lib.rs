//! signet-desk: the desk of `signet view`, at which a person decides by pages without any script.
//!
//! ```text
//! browser ── gate (host, user, origin) ── session (path's secret and cookie) ── pages ── kinds ── signet::cli::PersonsHome
//!                                                                                         │           keys · control.sock
//!                                                                      forms: what was shown, to the last byte
//! ```
//!
//! It is the person's own process and signs with the person's keys, by the code of the command line. A form names nothing but
//! what was shown: what is decided is looked up here by the form's token, fetched anew, and signed if it is still the same. The
//! pages hold what strangers wrote as plain text alone.
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

mod cord;
mod desk;
mod fault;
mod forms;
mod gate;
mod kinds;
mod markup;
mod pages;
mod plain;
mod secret;
mod serve;
mod session;
mod user;
mod wishes;
mod words;

use std::process::ExitCode;

use fault::DeskError;

/// Serves the desk until the launcher ends it or nobody uses it.
pub fn main() -> ExitCode {
    match cord::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let (what, next) = (error.to_string(), error.next());
            fault::tell(&what, next);
            ExitCode::FAILURE
        }
    }
}
