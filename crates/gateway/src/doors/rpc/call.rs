//! One call, for one caller.

use std::time::Duration;

use serde_json::Value;
use signet_api::{ApiError, Call, Params, Reason, Role, with_request};

use super::CallerLeases;
use crate::context::Context;
use crate::daemon::{Daemon, DaemonConnection, Lasting, READING};
use crate::doors::a2a;
use crate::fault::DoorError;
use crate::scope::Caller;

/// The calls of one request.
pub(super) struct Calls<'a> {
    pub(super) context: &'a Context,
    pub(super) caller: Caller,
    daemon: Daemon,
    leases: &'a CallerLeases,
}

/// Whether what the call asks for lasts as long as a connection.
pub(super) fn is_streamed(method: &str) -> bool {
    matches!(method, "subscribe" | "inbox.follow" | "offer")
}

impl<'a> Calls<'a> {
    pub(super) fn of(context: &'a Context, leases: &'a CallerLeases, caller: Caller) -> Self {
        Self {
            daemon: context.daemon.narrowed(&caller),
            context,
            caller,
            leases,
        }
    }

    /// Does it, and gives its answer.
    ///
    /// # Errors
    /// As the daemon says it, or that the token does not reach so far.
    pub(super) async fn call(&self, method: &str, params: Params) -> Result<Value, ApiError> {
        let call = self.admitted(method, params)?;
        if is_streamed(method) {
            return Err(needs_stream());
        }
        if matches!(call, Call::Receive(_)) {
            self.leases.admit(&self.caller.name)?;
        }
        let (answer, link) = self.done(&call).await.map_err(|fault| fault.api_error())?;
        self.leases.follow(&self.caller, &call, &answer, link);
        Ok(answer)
    }

    /// The answer, and the connection on which more may hang.
    async fn done(&self, call: &Call) -> Result<(Value, Option<DaemonConnection>), DoorError> {
        let answer = match call {
            Call::Receive(call) => return self.daemon.receive(call).await,
            Call::Send(call) => self.daemon.send(call).await?,
            Call::SendHandoff(call) => self.daemon.hand_off(call).await?,
            _ => {
                let (method, wait) = (call.method(), wait_of(call));
                with_request!(call, request => self.daemon.raw(method, request, wait).await)?
            }
        };
        Ok((answer, None))
    }

    /// The same for what lasts: its answer, and the connection that tells more.
    ///
    /// # Errors
    /// The same.
    pub(super) async fn begin(
        &self,
        method: &str,
        params: Params,
    ) -> Result<(Value, DaemonConnection), ApiError> {
        let call = self.admitted(method, params)?;
        let begun = async {
            let mut link = self.daemon.link(Lasting::AsLongAsItsLink).await?;
            let method = call.method();
            let answer =
                with_request!(call, request => link.raw(method, &request, Duration::ZERO).await)?;
            Ok((answer, link))
        };
        begun.await.map_err(|fault: DoorError| fault.api_error())
    }

    fn admitted(&self, method: &str, params: Params) -> Result<Call, ApiError> {
        let line = Call::named(method).ok_or_else(|| {
            // A single A2A call was already answered in `rpc`, so one that comes here is part of a batch: the error then says
            // that batches take no A2A calls.
            match self.context.config.a2a.enabled && a2a::is_method(method) {
                true => not_in_a_batch(),
                false => Call::unknown(method),
            }
        })?;
        // A token's scope is fixed: the call `narrow`, by which a connection limits itself, does not exist for tokens.
        if line.name == "narrow" {
            return Err(ApiError::method_not_found());
        }
        if line.whose != Role::Agent {
            let text = format!(
                "{method} is the {}'s call, and tokens have the agent's",
                line.whose.as_str()
            );
            return Err(ApiError::refused(Reason::NotForThisSocket, text));
        }
        let call = Call::parse(method, params)?;
        // The daemon would refuse this call as well, but only here can the error say that the token is the reason.
        match self.caller.scope.refuse(&call) {
            Ok(()) => Ok(call),
            Err(beyond) => {
                let what = format!("this token {beyond}");
                let refusal = ApiError::refused(Reason::BeyondCeiling, what);
                Err(refusal.with_next("use a token that reaches further: signet token make"))
            }
        }
    }
}

/// How long the daemon may take besides: others may be reading the log.
const fn wait_of(call: &Call) -> Duration {
    match call {
        Call::ListHistory(_) => READING,
        _ => Duration::ZERO,
    }
}

fn not_in_a_batch() -> ApiError {
    let text = "the methods of A2A are answered one by one, and not in a batch";
    ApiError::refused("not-in-a-batch", text).with_next("send the call by itself")
}

fn needs_stream() -> ApiError {
    let text = "what this asks for lasts as long as a connection, and an answer is all there is";
    ApiError::refused("needs-a-stream", text)
        .with_next("send it by itself, with an id and Accept: text/event-stream")
}
