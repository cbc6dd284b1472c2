//! A channel of Discord's: what this agent says and hears is shown there, and what others post there is read as what a third
//! carrier brings.
//!
//! ```text
//! carrier.transparency ─▶ show  ─▶ text ─▶ rest ─▶ Discord
//! carrier.parcel       ─▶ carry ─▶ text ─▶ rest ─▶ Discord
//! Discord ─▶ rest ─▶ found ─▶ read ─▶ carrier.deliver
//! ```
//!
//! Who Discord says has posted something proves nothing: an envelope is judged as it is from anywhere else. What is shown
//! follows the log, so a channel that fails delays no message.

mod carry;
mod door;
pub(crate) mod found;
mod limits;
pub(crate) mod read;
mod rest;
mod run;
mod show;
mod state;
pub(crate) mod text;
mod token;

pub(crate) use door::DiscordDoor;
