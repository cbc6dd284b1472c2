//! A2A, as its clients speak it: HTTP to the gateway of Alice, beside real daemons over a real NATS server, with an agent
//! behind the daemon of Bob.

mod broken;
mod budgets;
mod calls;
mod cards;
mod client;
mod full;
mod life;
mod offers;
mod people;
mod pushes;
mod revoked;
mod streams;
mod tasks;
mod through;
mod tiers;
