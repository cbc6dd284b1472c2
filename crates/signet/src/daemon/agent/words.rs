//! `respond`, `acknowledge`, `fail`, `extend` and `progress`: what the holder of a lease says.

use signet_api::{
    AcknowledgeLease, Acknowledged, ApiError, ExtendLease, Extended, Fail, Failed, Name, Progress,
    ProgressState as Word, Progressed, Replied, Respond,
};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{At, Content, LeaseId, LocalError, Node};
use signet_proto::progress::{self, Part, ProgressState};

use crate::daemon::serve::{Done, Serve, named, parse_wait, refused, shown};
use crate::reach::Reach;

/// Answers the request that a lease, or its name, stands for.
impl Serve for Respond {
    fn serve(self, node: &mut Node, at: At, _: &Reach) -> Result<Done<Self>, ApiError> {
        let content = Content {
            body: self.body,
            summary: self.summary,
            ..Content::default()
        };
        let replied = match (self.lease, self.message) {
            (Some(text), None) => node.handle_lease_reply(at, lease(&text)?, Ok(content)),
            (None, Some(name)) => {
                let (peer, request) = name_of(&name)?;
                node.handle_reply(at, Some(&peer), request, Ok(content))
            }
            _ => {
                let fault = "give lease or message, one of them";
                return Err(ApiError::invalid_params(fault));
            }
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
    fn serve(self, node: &mut Node, at: At, _: &Reach) -> Result<Done<Self>, ApiError> {
        let lease = lease(&self.lease)?;
        if self.unbegun {
            let given_back = node.handle_lease_unbegun(at, lease, &self.reason);
            let quarantined = false;
            return Ok((Failed { quarantined }, given_back.map_err(refused)?));
        }
        let failed = node.handle_lease_fail(at, lease, &self.reason);
        let (quarantined, outcome) = failed.map_err(refused)?;
        Ok((Failed { quarantined }, outcome))
    }
}

/// The holder of a lease has handled its message.
impl Serve for AcknowledgeLease {
    fn serve(self, node: &mut Node, at: At, _: &Reach) -> Result<Done<Self>, ApiError> {
        let lease = lease(&self.lease)?;
        let done = match self.keep {
            true => node.handle_lease_keep(at, lease),
            false => node.handle_lease_acknowledge(at, lease),
        };
        let acknowledged = usize::from(!self.keep);
        Ok((Acknowledged { acknowledged }, done.map_err(refused)?))
    }
}

/// The holder of a lease needs longer.
impl Serve for ExtendLease {
    fn serve(self, node: &mut Node, at: At, _: &Reach) -> Result<Done<Self>, ApiError> {
        let (lease, by) = (lease(&self.lease)?, parse_wait(self.seconds)?);
        let ends = node.handle_lease_extend(at, lease, by).map_err(refused)?;
        let lease_ends = ends.to_string();
        shown(Extended { lease_ends })
    }
}

/// Tells whoever asked how a request is doing.
impl Serve for Progress {
    fn serve(self, node: &mut Node, at: At, _: &Reach) -> Result<Done<Self>, ApiError> {
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
        let told = node.handle_progress(at, Some(&peer), request, &progress);
        let (message_id, outcome) = told.map_err(refused)?;
        let message_id = message_id.to_string();
        Ok((Progressed { message_id }, outcome))
    }

    fn makes(answer: &Progressed) -> Option<&str> {
        Some(&answer.message_id)
    }
}

fn lease(text: &str) -> Result<LeaseId, ApiError> {
    // What is no lease has ended: nobody can tell the two apart.
    text.parse().map_err(|_| refused(LocalError::LeaseEnded))
}

fn name_of(name: &Name) -> Result<(AgentId, MessageId), ApiError> {
    Ok((
        named("from", &name.from)?,
        named("message-id", &name.message_id)?,
    ))
}
