//! Who calls.

words! {
    /// Who calls, told apart by the socket that the call comes by.
    pub enum Role {
        /// The person, by `control.sock`: everything.
        Person "person",
        /// The agent and its handlers, by `agent.sock`: its own mail and tasks, and nothing that decides about
        /// trust, keys, policy, pause or approval.
        Agent "agent",
        /// What carries bytes to and from the network, by `carrier.sock`.
        Carrier "carrier",
    }
}

impl Role {
    /// Whether a caller of this role may use a call that is `whose`.
    pub const fn may_use(self, whose: Self) -> bool {
        match (self, whose) {
            (Self::Person, _) | (Self::Agent, Self::Agent) | (Self::Carrier, Self::Carrier) => true,
            (Self::Agent | Self::Carrier, _) => false,
        }
    }
}
