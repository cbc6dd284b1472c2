//! Making an agent, running it, and finding out what is wrong with it.

pub(super) mod completions;
pub(super) mod demo;
pub(super) mod doctor;
pub(super) mod gateway;
pub(super) mod init;
pub(super) mod install;
pub(super) mod invite;
pub(super) mod man;
pub(super) mod mcp;
pub(super) mod nats;
pub(super) mod reload;
pub(super) mod run;
pub(super) mod schema;
pub(super) mod serve;
pub(super) mod status;
pub(super) mod up;
pub(super) mod view;
