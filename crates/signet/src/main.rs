//! signet
fn main() {}
