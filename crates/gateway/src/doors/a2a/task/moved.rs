//! Where the message of a task is, as the daemon tells it, in words for its client.

use signet_api::{State as Sent, WaitsFor, Whose};
use signet_text::visible;

use super::super::clock::Moment;
use super::super::words::model::{A2aEvent, A2aPart, A2aTaskState};
use super::Record;

/// Why a message is where it is, with what the other side offers where it named none of several.
pub(crate) fn told_why(reason: Option<String>, offers: Option<&[String]>) -> Option<String> {
    let named = offers.map(|offers| {
        let offers = offers.join(", ");
        format!("the other side offers {offers}, and it names none of them as `capability`")
    });
    reason.map(|reason| match named {
        Some(named) => format!("{reason}: {named}"),
        None => reason,
    })
}

impl Record {
    pub(super) fn moved(
        &mut self,
        state: Sent,
        reason: Option<&str>,
        by: Option<Whose>,
        waits_for: Option<WaitsFor>,
        now: Moment,
    ) -> Vec<A2aEvent> {
        self.waits_for_people = waits_for.is_some_and(is_for_people);
        let because = reason.map_or_else(String::new, |reason| format!(" ({})", visible(reason)));
        match state {
            Sent::Queued | Sent::Published => {
                let Some(sentence) = waits_for.and_then(waiting) else {
                    return Vec::new();
                };
                // Change nothing if the status already says this. Also do not set a task back that is past `Submitted`: one of
                // its messages may wait while the agent works on another.
                match self.says(Some(sentence)) || self.task.status.state != A2aTaskState::Submitted
                {
                    true => Vec::new(),
                    false => {
                        vec![self.status(A2aTaskState::Submitted, Some(sentence.to_owned()), now)]
                    }
                }
            }
            // `Received` means that the peer's daemon has the message, not its agent. So the state stays, and only
            // the note about what the message waited for is removed.
            Sent::Received => match self.task.status.message.is_some()
                && self.task.status.state == A2aTaskState::Submitted
            {
                true => vec![self.status(A2aTaskState::Submitted, None, now)],
                false => Vec::new(),
            },
            // Change nothing yet: the task ends when the answer itself comes.
            Sent::Answered => Vec::new(),
            Sent::Refused => {
                let sentence = match by {
                    Some(Whose::Own) => format!("not sent: this side does not allow it{because}"),
                    _ => format!("refused by the other side{because}"),
                };
                vec![self.ended(A2aTaskState::Rejected, &sentence, now)]
            }
            Sent::Expired => vec![self.ended(A2aTaskState::Failed, EXPIRED, now)],
            Sent::Unknown => {
                let sentence = format!("{UNKNOWN}{because}");
                vec![self.ended(A2aTaskState::Failed, &sentence, now)]
            }
        }
    }
}

impl Record {
    /// The other side has had the message for a while, and nothing of it has taken it.
    pub(super) fn untaken(&mut self, now: Moment) -> Vec<A2aEvent> {
        match self.is_for_people {
            true => self.says_once(FOR_PEOPLE, now),
            false => Vec::new(),
        }
    }

    /// Says of a message that nothing answers yet why that is.
    pub(super) fn says_once(&mut self, sentence: &str, now: Moment) -> Vec<A2aEvent> {
        let is_news =
            self.task.status.state == A2aTaskState::Submitted && !self.says(Some(sentence));
        match is_news {
            true => vec![self.status(A2aTaskState::Submitted, Some(sentence.to_owned()), now)],
            false => Vec::new(),
        }
    }

    /// Whether its status says just that.
    pub(super) fn says(&self, sentence: Option<&str>) -> bool {
        let said = self.task.status.message.as_ref();
        said.and_then(|message| message.parts.first()) == sentence.map(A2aPart::text).as_ref()
    }
}

/// Why a message is still here, for the client, where people or clocks keep it; what is merely under way says nothing.
fn waiting(waits_for: WaitsFor) -> Option<&'static str> {
    match waits_for {
        WaitsFor::Approval => Some("it waits for the approval of this side's person"),
        WaitsFor::Introduction => {
            Some("it waits until the people of both sides have introduced their agents")
        }
        WaitsFor::Resume => Some("it waits: the person has told this side's agents to pause"),
        WaitsFor::Clock => Some("it waits until this side's clock is right"),
        WaitsFor::Alarm => Some("it waits until a person has seen to an alarm"),
        WaitsFor::Session | WaitsFor::Peer | WaitsFor::Connection => {
            Some("it waits until the other side can be reached")
        }
    }
}

/// Whether a message waits for what no client can wait for at its end of a connection.
const fn is_for_people(waits_for: WaitsFor) -> bool {
    !matches!(
        waits_for,
        WaitsFor::Session | WaitsFor::Peer | WaitsFor::Connection
    )
}

pub(super) const EXPIRED: &str =
    "its life ended without a receipt; the other side may have it all the same";
const FOR_PEOPLE: &str = "\
    the other side has it, and no program there has taken it: it asks for no capability, by which programs know what is theirs. A \
    person may answer it; else say it again with a capability in its metadata, or under [a2a] capabilities of gateway.toml";
pub(super) const AWAY: &str = "\
    it waits here: the program of the other side that serves this capability is away, and it is sent when that is back";
pub(super) const OVER_BUDGET: &str = "\
    it waits here: the other side takes only so many messages a minute, and it is sent when there is room for it";
pub(super) const UNANSWERED: &str =
    "the other side has had it, and its life ended without an answer";
const UNKNOWN: &str = "nobody can say what became of it; the other side may have it";
