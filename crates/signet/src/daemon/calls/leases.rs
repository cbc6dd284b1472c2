//! `respond`, `acknowledge`, `fail`, `extend` and `progress`: what the holder of a lease says.

use signet_api::{
    Acknowledge, Acknowledged, ApiError, ExtendLease, Extended, Fail, Failed, Name, Progress,
    ProgressState as Word, Progressed, Replied, Respond,
};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Content, Declining, LeaseId, LocalError, Turn};
use signet_proto::progress::{self, Part, ProgressState};

use crate::reach::Reach;

use super::serve::{Handled, Serve, maybe_named, named, parse_wait, refused, shown};

/// Answers the request that a lease, or its name, stands for.
impl Serve for Respond {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let answer = match (self.body, self.decline) {
            (body, Some(why)) => Err(Declining {
                why,
                // A `null` body beside a refusal would say nothing to the peer, so leave it out of the message.
                body: body.filter(|body| !body.is_null()),
            }),
            (Some(body), None) => Ok(Content {
                body,
                summary: self.summary,
                ..Content::default()
            }),
            (None, None) => return Err(one_of("body or decline")),
        };
        let replied = match (self.lease, self.message) {
            (Some(text), None) => turn.leases().reply(lease(&text)?, answer),
            (None, Some(name)) => {
                let request = named::<MessageId>("message-id", &name.message_id)?;
                let from = maybe_named::<AgentId>("from", name.from.as_deref())?;
                turn.sent().reply(from.as_ref(), request, answer)
            }
            _ => return Err(one_of("lease or message")),
        };
        let (message_id, outcome) = replied.map_err(refused)?;
        let message_id = message_id.to_string();
        Ok((Replied { message_id }, outcome))
    }

    fn makes(answer: &Replied) -> Option<&str> {
        Some(&answer.message_id)
    }
}

/// The holder of a lease could not handle its message.
impl Serve for Fail {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let lease = lease(&self.lease)?;
        if self.unbegun {
            let given_back = turn.leases().unbegun(lease, &self.reason);
            return Ok((Failed::default(), given_back.map_err(refused)?));
        }
        let pause = self.pause.map(parse_wait).transpose()?;
        let failed = turn.leases().fail(lease, &self.reason, pause);
        let (again, outcome) = failed.map_err(refused)?;
        let failed = Failed {
            quarantined: again.is_none(),
            again_in: again.map(|pause| pause.as_secs_f64()),
        };
        Ok((failed, outcome))
    }
}

/// Our agent has read or handled what a lease, or the names, stand for.
impl Serve for Acknowledge {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let (done, acknowledged) = match (self.lease, self.messages, self.keep) {
            (Some(text), None, true) => (turn.leases().keep(lease(&text)?), 0),
            (Some(text), None, false) => (turn.leases().acknowledge(lease(&text)?), 1),
            (None, Some(names), false) => {
                let names = names_of(&names)?;
                (turn.inbox().acknowledge(&names), names.len())
            }
            (None, Some(_), true) => {
                let fault = "keep is for a lease; messages that are to stay are not acknowledged";
                return Err(ApiError::invalid_params(fault));
            }
            (Some(_), Some(_), _) | (None, None, _) => return Err(one_of("lease or messages")),
        };
        Ok((Acknowledged { acknowledged }, done.map_err(refused)?))
    }
}

/// The holder of a lease needs longer.
impl Serve for ExtendLease {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let (lease, by) = (lease(&self.lease)?, parse_wait(self.seconds)?);
        let ends = turn.leases().extend(lease, by).map_err(refused)?;
        let lease_ends = ends.to_string();
        shown(Extended { lease_ends })
    }
}

/// Tells whoever asked how a request is doing.
impl Serve for Progress {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let (peer, request) = name_of(&self.message)?;
        let progress = progress::Progress {
            state: match self.state {
                Word::Working => ProgressState::Working,
                Word::InputRequired => ProgressState::InputRequired,
            },
            note: self.note,
            part: self.part.map(|part| Part {
                index: part.index,
                last: part.last,
                name: part.name,
                body: Some(part.body),
            }),
        };
        let told = turn.sent().progress(Some(&peer), request, &progress);
        let (message_id, outcome) = told.map_err(refused)?;
        let message_id = message_id.to_string();
        Ok((Progressed { message_id }, outcome))
    }

    fn makes(answer: &Progressed) -> Option<&str> {
        Some(&answer.message_id)
    }
}

fn one_of(both: &str) -> ApiError {
    ApiError::invalid_params(format!("give {both}, one of them"))
}

fn lease(text: &str) -> Result<LeaseId, ApiError> {
    // A text that is no lease is answered like a lease that has ended: either way the caller holds no message.
    text.parse().map_err(|_| refused(LocalError::LeaseEnded))
}

fn names_of(names: &[Name]) -> Result<Vec<(AgentId, MessageId)>, ApiError> {
    let mut read: Vec<(AgentId, MessageId)> = Vec::with_capacity(names.len());
    for name in names {
        // Most messages of one call came from one agent, so its id is made once.
        let from = match read.last() {
            Some((last, _)) if last.as_str() == name.from => last.clone(),
            _ => named("from", &name.from)?,
        };
        read.push((from, named("message-id", &name.message_id)?));
    }
    Ok(read)
}

fn name_of(name: &Name) -> Result<(AgentId, MessageId), ApiError> {
    Ok((
        named("from", &name.from)?,
        named("message-id", &name.message_id)?,
    ))
}
