//! Answers that say no, and in which form.

use crate::draft::Draft;
use crate::envelope::{Form, Message};
use crate::headers::Tier;
use crate::ids::MessageId;
use crate::reject::Reason;

use super::rule::ruled::Fault;

/// The longest `error.message`, in characters.
const LONGEST_TEXT: usize = 500;

/// A refusal of ours, for whoever asked.
pub(super) fn failure(fault: &Fault) -> Form {
    let reason = fault.reason;
    let detail = fault.detail.iter().map(|detail| format!(" {detail}"));
    Form::Failure {
        code: reason.code(),
        message: reason
            .text()
            .chars()
            .chain(detail.collect::<String>().chars())
            // Cut the text to the length that the schema allows: a failure with a longer text could not be sent at all.
            .take(LONGEST_TEXT)
            .collect(),
        reason: reason.name().to_owned(),
    }
}

/// A failure in our agent's own words.
pub(super) fn decline(request: &Message, id: MessageId, text: String) -> Draft {
    let (form, summary) = declined(request.headers.data_tier, text);
    let mut draft = Draft::answer(form, request, id, None);
    draft.summary = summary;
    draft
}

/// The form and the summary of a failure in our agent's own words. Where what they answer was sealed,
/// so are they: as the summary.
pub(super) fn declined(tier: Tier, text: String) -> (Form, Option<String>) {
    let reason = Reason::Declined;
    let (message, summary) = match tier.is_sealed() {
        false => (text, None),
        true => (reason.text().to_owned(), Some(text)),
    };
    let (code, reason) = (reason.code(), reason.name().to_owned());
    let form = Form::Failure {
        code,
        message,
        reason,
    };
    (form, summary)
}
