//! One call served by the node alone: the same for the daemon, and for the command line on a stopped agent.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::to_raw_value;
use signet_api::{ApiError, Call, Reason, Request};
use signet_proto::node::{CallerKey, LocalError, Outcome, Turn};
use signet_proto::trust::BindError;

use crate::control::CallAnswer;
use crate::reach::Reach;

/// A call that needs nothing but the node.
pub trait Serve: Request + Clone + Into<Call> {
    /// Does what is asked, as far as `reach` goes: what to show, and what to write and perform first.
    ///
    /// # Errors
    /// Why it is not done; then nothing is.
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError>;

    /// The message of ours that the call makes: whoever hears no answer can ask where it is.
    fn makes(_answer: &Self::Answer) -> Option<&str> {
        None
    }
}

/// The answer to a call, and the outcome that the log has to record for it.
pub type Handled<R> = (<R as Request>::Answer, Outcome);

/// An answer to what only asks.
pub(super) fn shown<T>(answer: T) -> Result<(T, Outcome), ApiError> {
    Ok((answer, Outcome::default()))
}

/// Reads a text that names something; `what` is the parameter. Whoever gave another text hears the form.
pub(in crate::daemon) fn named<T: FromStr<Err: Display>>(
    what: &str,
    text: &str,
) -> Result<T, ApiError> {
    text.parse().map_err(|form| {
        ApiError::invalid_params(format!("{what} is not of the right form: {form}"))
    })
}

/// Parses an argument that may be left out.
pub(super) fn maybe_named<T: FromStr<Err: Display>>(
    what: &str,
    text: Option<&str>,
) -> Result<Option<T>, ApiError> {
    text.map(|text| named(what, text)).transpose()
}

/// Seconds that a caller waits.
pub(super) fn parse_wait(seconds: f64) -> Result<Duration, ApiError> {
    // Use `try_from_secs_f64`: `from_secs_f64` panics at a negative number, and at a number that is too large.
    Duration::try_from_secs_f64(seconds)
        .map(|wait| wait.min(LONGEST_WAIT))
        .map_err(|_| ApiError::invalid_params("wait is a number of seconds"))
}

/// The caller's own key for a message.
pub(super) fn parse_key(text: &str) -> Result<CallerKey, ApiError> {
    let key = text.parse::<CallerKey>();
    key.map_err(|error| ApiError::invalid_params(error.to_string()))
}

/// An answer as it goes over the socket.
pub(in crate::daemon) fn text_of<R: Request>(answer: &R::Answer) -> CallAnswer {
    to_text(answer)
}

pub(in crate::daemon) fn to_text(answer: &impl Serialize) -> CallAnswer {
    to_raw_value(answer).map_err(|_| ApiError::internal())
}

pub(super) fn refused(error: LocalError) -> ApiError {
    let refusal = ApiError::refused(error.name(), error.to_string());
    match error {
        // The default advice names members of the JSON call, for programs that write JSON themselves; the command line and MCP
        // replace it by their own words.
        LocalError::CapabilityNeeded(..) => refusal.with_next(
            "name one in `capability`, or send `for-people`: true where the people there are asked",
        ),
        _ => refusal,
    }
}

pub(super) fn bind_refused(error: BindError) -> ApiError {
    ApiError::refused(error.name(), error.to_string())
}

/// The log, beside the event loop.
pub(in crate::daemon) fn unreadable(why: &str) -> ApiError {
    let text = format!("the log cannot be read: {why}; `signet doctor` says more");
    ApiError::refused("history-unreadable", text)
}

pub(super) fn paused() -> ApiError {
    let text = "the agents of this person pause, and nothing is handed over; `signet resume`";
    ApiError::refused(Reason::Paused, text)
}

/// The longest that a call may wait for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
