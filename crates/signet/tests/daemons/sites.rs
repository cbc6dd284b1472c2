//! Daemons on NATS servers that are many: as docs/scale.md sets them up.

mod account;
mod accounts;
mod cluster;
mod doctor;
pub mod hub;

mod hostile;
mod leaves;
mod websocket;
