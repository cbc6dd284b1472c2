//! Who asks by a socket, and how far one connection was narrowed.

use std::sync::{Arc, Mutex, PoisonError};

use signet_api::{Method, Role};

use crate::reach::Reach;

/// Who asks by a socket: told by the socket alone, never by the call.
#[derive(Clone, Debug)]
pub struct SocketCaller {
    /// Whose socket it is.
    pub role: Role,
    /// How far its callers reach.
    pub reach: Arc<Reach>,
    /// Whether its connection was lowered to looking (`look`).
    pub looks: bool,
}

impl SocketCaller {
    /// Whoever comes by that socket.
    pub fn new(role: Role, reach: Reach) -> Self {
        Self {
            role,
            reach: Arc::new(reach),
            looks: false,
        }
    }

    /// Whether it may use that call.
    pub fn may_use(&self, call: &Method) -> bool {
        self.role.may_use(call.whose) && (!self.looks || call.is_for_onlookers())
    }
}

/// How far one connection reaches, where its client narrowed it: less than its socket does, never more.
#[derive(Clone, Debug, Default)]
pub struct Narrowing(Arc<Mutex<Option<SocketCaller>>>);

impl Narrowing {
    /// The caller of that connection, as far as it reaches now.
    pub fn of(&self, caller: SocketCaller) -> SocketCaller {
        let narrowed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        narrowed.clone().unwrap_or(caller)
    }

    /// Makes its client this caller, from the next call on.
    pub fn set(&self, caller: SocketCaller) {
        let mut narrowed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *narrowed = Some(caller);
    }
}
