//! Files of the agent: private ones, which are durable once written, and what a killed process left beside them.

pub(crate) mod leftovers;
pub mod private;
