//! What tests and benches of whole daemons share: NATS servers, homes made by the `signet` program, daemons that are
//! started, stopped and killed by their own process ids, a hostile hand on the bus, and readings of the logs.
//!
//! What drives processes is `signet-driver`; here is what tests add to it. It knows the program and not its code: nothing
//! here depends on the crate `signet`. Whatever fails here has failed a test, so it panics and says where.
//!
//! ```text
//! House  a server and a directory        Server    one nats-server: killed, hung, restarted on its port
//!  └─ Home  one agent and its daemon      bus       what is on the bus, and how to put anything on it
//!      traffic, log  what its log says    pen       an agent's keys in other hands
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs
)]

mod authority;
pub mod bench;
pub mod bus;
mod chance;
mod cluster;
mod daemon;
mod ear;
pub mod flood;
mod help;
mod home;
mod house;
mod leaves;
pub mod log;
mod operator;
pub mod pen;
mod port;
mod post;
mod process;
mod proxy;
pub mod server;
pub mod shard;
pub mod strace;
pub mod tail;
pub mod traffic;

use std::time::{Duration, Instant};

pub use authority::TlsAuthority;
pub use chance::{Dice, StopAtEnd};
pub use cluster::Cluster;
pub use ear::Ear;
pub use help::{LISTS, listed_commands};
pub use home::{Home, receive};
pub use house::House;
pub use leaves::{HOUSEHOLDS, Leaves, certified};
pub use operator::Operator;
pub use port::free_port;
pub use process::{
    Loose, copy_program, fed, gateway, kill, processor_time, proportional_kib, reading_room,
    resident_kib, says, signet,
};
pub use proxy::Proxy;
pub use server::Server;

/// A test that waits so long has failed.
pub use signet_driver::PATIENCE;

/// Asks again and again until there is an answer.
#[track_caller]
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < limit, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
