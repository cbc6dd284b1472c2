//! Where the answer to a call goes: exactly one, whatever becomes of the daemon meanwhile.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use signet_api::ApiError;
use tokio::sync::oneshot;

/// The answer to a call: the JSON text of its result, or the refusal. The text goes into the response as it stands.
pub type CallAnswer = Result<Box<RawValue>, ApiError>;

/// The text of what a client is told unasked.
pub fn text_of_note(told: &impl Serialize) -> Box<RawValue> {
    // `to_raw_value` cannot fail here: a notification holds nothing that JSON cannot express.
    to_raw_value(told).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Takes the one answer to a call. A reply that is dropped without an answer says why there is none:
/// that nothing was done, or, from [`ReplySender::in_doubt`] on, that nobody knows.
pub struct ReplySender {
    answer: Option<oneshot::Sender<CallAnswer>>,
    otherwise: ApiError,
}

impl ReplySender {
    /// A reply, and where its answer comes out.
    pub fn new() -> (Self, oneshot::Receiver<CallAnswer>) {
        let (answer, answered) = oneshot::channel();
        let reply = Self {
            answer: Some(answer),
            otherwise: ApiError::stopping(),
        };
        (reply, answered)
    }

    /// Lines of this call are on their way to the disk: from now on they may be durable, and what they
    /// allow may have happened. `message_id` names the message that the call makes.
    pub fn in_doubt(&mut self, message_id: Option<&str>) {
        self.otherwise = ApiError::outcome_unknown(message_id);
    }

    /// Whether whoever called has gone: nobody would hear the answer.
    pub fn is_closed(&self) -> bool {
        self.answer.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// The answer. Whoever called may have gone.
    pub fn send(mut self, result: CallAnswer) {
        if let Some(answer) = self.answer.take() {
            let _ = answer.send(result);
        }
    }
}

impl Drop for ReplySender {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            let _ = answer.send(Err(self.otherwise.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use signet_api::Reason;

    use super::*;

    fn dropped(change: impl FnOnce(&mut ReplySender)) -> ApiError {
        let (mut reply, mut answered) = ReplySender::new();
        change(&mut reply);
        drop(reply);
        answered.try_recv().unwrap().unwrap_err()
    }

    #[test]
    fn a_call_that_was_never_begun_says_that_nothing_was_done() {
        assert!(dropped(|_| {}).is(&Reason::Stopping));
    }

    #[test]
    fn a_call_whose_line_may_be_durable_names_its_message_and_promises_nothing() {
        let error = dropped(|reply| reply.in_doubt(Some("0192f0c1")));
        let refusal = error.refusal().unwrap();
        assert_eq!(
            (&refusal.reason, refusal.message_id.as_deref()),
            (&Reason::OutcomeUnknown, Some("0192f0c1"))
        );
        assert!(
            refusal
                .next
                .as_ref()
                .unwrap()
                .ends_with("signet status 0192f0c1")
        );
        let error = dropped(|reply| reply.in_doubt(None));
        let next = &error.refusal().unwrap().next;
        assert!(next.as_ref().unwrap().contains("signet outbox"));
    }

    #[test]
    fn an_answer_is_given_once() {
        let (reply, mut answered) = ReplySender::new();
        reply.send(Ok(to_raw_value(&1).unwrap()));
        assert_eq!(answered.try_recv().unwrap().unwrap().get(), "1");
    }
}
