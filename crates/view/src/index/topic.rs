//! The index's words for what lines tell and what messages do.

use signet_proto::envelope::{Form, Method};
use signet_proto::headers::MessageType;

/// The topic of a line, as the pages sort it. The numbers stand in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LineTopic {
    /// A message that came and was taken.
    Came = 0,
    /// A message that left.
    Left = 1,
    /// Something that came and was refused here.
    Refused = 2,
    /// Word of a peer that it refused something.
    RefusedThere = 3,
    /// The own agent tried what its own side refused.
    Attempt = 4,
    /// Somebody's standing changed.
    Trust = 5,
    /// A message waits.
    Draft = 6,
    /// The person decided about one.
    Approval = 7,
    /// Pause or resume.
    Pause = 8,
    /// The outcome of a message, where it did not go well.
    Outcome = 9,
    /// A task changed.
    Handoff = 10,
    /// An alarm began or was cleared.
    Alarm = 11,
    /// Numbers of a peer's never came.
    Hole = 12,
    /// Something about the log itself: a loss, a flood, a gap, a torn end.
    Note = 13,
}

impl LineTopic {
    const ALL: [Self; 14] = [
        Self::Came,
        Self::Left,
        Self::Refused,
        Self::RefusedThere,
        Self::Attempt,
        Self::Trust,
        Self::Draft,
        Self::Approval,
        Self::Pause,
        Self::Outcome,
        Self::Handoff,
        Self::Alarm,
        Self::Hole,
        Self::Note,
    ];

    /// The one of this number in the index.
    pub(crate) fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// The act of a message, for the verb in its sentence. The numbers stand in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Act {
    /// It cannot be told, or is no message.
    #[default]
    None = 0,
    /// It asks.
    Asks = 1,
    /// It answers.
    Answers = 2,
    /// It declines.
    Declines = 3,
    /// It tells.
    Tells = 4,
    /// It hands a task over.
    Hands = 5,
    /// It says how far something is.
    Reports = 6,
    /// The protocol needs it.
    Protocol = 7,
}

impl Act {
    const ALL: [Self; 8] = [
        Self::None,
        Self::Asks,
        Self::Answers,
        Self::Declines,
        Self::Tells,
        Self::Hands,
        Self::Reports,
        Self::Protocol,
    ];

    /// The one of this number in the index.
    pub(crate) fn of(number: u8) -> Self {
        Self::ALL
            .get(usize::from(number))
            .copied()
            .unwrap_or_default()
    }

    /// By the form of a whole message.
    pub(super) fn of_form(form: &Form) -> Self {
        match form {
            Form::Success => Self::Answers,
            Form::Failure { .. } => Self::Declines,
            Form::Call(Method::Request) => Self::Asks,
            Form::Call(Method::Notification) => Self::Tells,
            Form::Call(Method::Handoff) => Self::Hands,
            Form::Call(Method::Progress) => Self::Reports,
            Form::Call(_) => Self::Protocol,
        }
    }

    /// By what an unproven message calls itself.
    pub(super) fn of_type(message_type: Option<MessageType>) -> Self {
        match message_type {
            Some(MessageType::Request) => Self::Asks,
            Some(MessageType::Response) => Self::Answers,
            Some(MessageType::Handoff) => Self::Hands,
            Some(MessageType::Notification) => Self::Tells,
            None => Self::None,
        }
    }
}
