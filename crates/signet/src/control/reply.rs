//! Where the answer to a call goes: exactly one, whatever becomes of the daemon meanwhile.

use serde_json::json;
use signet_proto::json::Value;
use tokio::sync::oneshot;

use super::rpc::RpcError;

/// Takes the one answer to a call. A reply that is dropped without an answer says why there is none:
/// that nothing was done, or, from [`Reply::in_doubt`] on, that nobody knows.
pub struct Reply {
    answer: Option<oneshot::Sender<Result<Value, RpcError>>>,
    otherwise: RpcError,
}

impl Reply {
    /// A reply, and where its answer comes out.
    pub fn new() -> (Self, oneshot::Receiver<Result<Value, RpcError>>) {
        let (answer, answered) = oneshot::channel();
        let reply = Self {
            answer: Some(answer),
            otherwise: RpcError::stopping(),
        };
        (reply, answered)
    }

    /// Lines of this call are on their way to the disk: from now on they may be durable, and what they
    /// allow may have happened. `message_id` names the message that the call makes.
    pub fn in_doubt(&mut self, message_id: Option<&str>) {
        self.otherwise = RpcError::outcome_unknown(message_id);
    }

    /// The answer. Whoever called may have gone.
    pub fn send(mut self, result: Result<Value, RpcError>) {
        if let Some(answer) = self.answer.take() {
            let _ = answer.send(result);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            let _ = answer.send(Err(self.otherwise.clone()));
        }
    }
}

impl RpcError {
    /// The daemon stops, and did nothing of what was asked.
    pub fn stopping() -> Self {
        let text = "the daemon is stopping; what was asked is not done, and nothing of it was sent";
        let next = "start the daemon again with signet run, then repeat the command";
        Self::new(REFUSED, text).with_data(json!({"reason": STOPPING, "next": next}))
    }

    /// Whether it says that the daemon stops.
    pub fn is_of_a_stop(&self) -> bool {
        let reason = self.data.as_ref().and_then(|data| data.get("reason"));
        reason.is_some_and(|reason| reason == STOPPING || reason == OUTCOME_UNKNOWN)
    }

    /// The daemon stopped while what was asked was on its way to the log.
    pub fn outcome_unknown(message_id: Option<&str>) -> Self {
        let (text, next) = match message_id {
            Some(id) => (
                format!("the daemon stopped before it could say whether {id} was sent"),
                format!("start the daemon again, then: signet status {id}"),
            ),
            None => (
                "the daemon stopped before it could say whether it was done".to_owned(),
                "start the daemon again, then look: signet outbox, signet status".to_owned(),
            ),
        };
        Self::new(REFUSED, text).with_data(json!({
            "reason": OUTCOME_UNKNOWN,
            "message-id": message_id,
            "next": next,
        }))
    }
}

/// The reason of a call that was not begun, because the daemon stops.
const STOPPING: &str = "stopping";
/// The reason of a call of which nobody knows whether it was done.
pub const OUTCOME_UNKNOWN: &str = "outcome-unknown";
/// A call that could not be done, as every refusal of the daemon's own.
const REFUSED: i64 = -32000;

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(change: impl FnOnce(&mut Reply)) -> RpcError {
        let (mut reply, mut answered) = Reply::new();
        change(&mut reply);
        drop(reply);
        answered.try_recv().unwrap().unwrap_err()
    }

    #[test]
    fn a_call_that_was_never_begun_says_that_nothing_was_done() {
        let error = dropped(|_| {});
        assert_eq!(error.data.unwrap()["reason"], STOPPING);
    }

    #[test]
    fn a_call_whose_line_may_be_durable_names_its_message_and_promises_nothing() {
        let error = dropped(|reply| reply.in_doubt(Some("0192f0c1")));
        let data = error.data.unwrap();
        assert_eq!(
            (&data["reason"], &data["message-id"]),
            (&json!(OUTCOME_UNKNOWN), &json!("0192f0c1"))
        );
        assert!(
            data["next"]
                .as_str()
                .unwrap()
                .ends_with("signet status 0192f0c1")
        );
        let error = dropped(|reply| reply.in_doubt(None));
        assert!(
            error.data.unwrap()["next"]
                .as_str()
                .unwrap()
                .contains("signet outbox")
        );
    }

    #[test]
    fn an_answer_is_given_once() {
        let (reply, mut answered) = Reply::new();
        reply.send(Ok(json!(1)));
        assert_eq!(answered.try_recv().unwrap(), Ok(json!(1)));
    }
}
