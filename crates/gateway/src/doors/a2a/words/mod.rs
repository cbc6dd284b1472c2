//! The words of A2A, for both directions: what clients say to us and hear from us, and what our handlers say to agents and
//! hear from them.
//!
//! | module | has |
//! |---|---|
//! | `model` | tasks, messages, parts and events, as 1.0 writes them |
//! | `v03` | the same as 0.3 writes them |
//! | `read` | reads what either version, or the form before both, writes |
//! | `body` | what stands in a signed message for parts, and the way back |
//! | `method` | versions, and the names of the methods in each |
//!
//! The types are not those of the crate `a2a-lf`: there metadata is a hash map, whose members stand in another order each
//! time, bytes are decoded, and times have as many digits as they need; what is written here is kept, compared and sent again.

pub(crate) mod body;
pub(crate) mod method;
pub(crate) mod model;
pub(crate) mod read;
pub(crate) mod v03;
