//! `respond`, `acknowledge`, `fail`, `extend` and `progress`: what the holder of a lease says.

use serde_json::{Value, json};
use signet_api::{
    AcknowledgeLease, ExtendLease, Fail, Name, Progress, ProgressState as Word, Respond,
};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{At, Content, LeaseId, LocalError, Outcome};
use signet_proto::progress::{self, Part, ProgressState};

use crate::control::{ApiError, Reply};
use crate::daemon::heart::Heart;
use crate::daemon::methods::refused;
use crate::daemon::params::{named, parse_wait};
use crate::effects::Deed;

/// What to answer once the rest is durable.
type Said = (Value, Outcome);

impl Heart {
    /// Answers the request that a lease, or its name, stands for.
    pub(in crate::daemon) async fn respond(
        &mut self,
        said: Result<Respond, ApiError>,
        reply: Reply,
    ) {
        let at = self.at();
        let done = said.and_then(|said| self.try_respond(at, said));
        self.say(at, done, reply).await;
    }

    /// The holder of a lease could not handle its message.
    pub(in crate::daemon) async fn fail(&mut self, said: Result<Fail, ApiError>, reply: Reply) {
        let at = self.at();
        let done = said.and_then(|said| {
            let lease = lease(&said.lease)?;
            let failed = self.node.handle_lease_fail(at, lease, &said.reason);
            let (set_aside, outcome) = failed.map_err(refused)?;
            Ok((json!({ "quarantined": set_aside }), outcome))
        });
        self.say(at, done, reply).await;
    }

    /// The holder of a lease has handled its message.
    pub(in crate::daemon) async fn acknowledge(
        &mut self,
        said: Result<AcknowledgeLease, ApiError>,
        reply: Reply,
    ) {
        let at = self.at();
        let done = said.and_then(|said| {
            let lease = lease(&said.lease)?;
            let done = match said.keep {
                true => self.node.handle_lease_keep(at, lease),
                false => self.node.handle_lease_acknowledge(at, lease),
            };
            let taken = usize::from(!said.keep);
            Ok((json!({ "acknowledged": taken }), done.map_err(refused)?))
        });
        self.say(at, done, reply).await;
    }

    /// The holder of a lease needs longer.
    pub(in crate::daemon) fn extend(&mut self, said: Result<ExtendLease, ApiError>, reply: Reply) {
        let at = self.at();
        let extended = said.and_then(|said| {
            let lease = lease(&said.lease)?;
            let by = parse_wait(said.seconds)?;
            self.node
                .handle_lease_extend(at, lease, by)
                .map_err(refused)
        });
        reply.send(extended.map(|ends| json!({"lease-ends": ends.to_string()})));
    }

    /// Tells whoever asked how a request is doing.
    pub(in crate::daemon) async fn progress(
        &mut self,
        said: Result<Progress, ApiError>,
        reply: Reply,
    ) {
        let at = self.at();
        let done = said.and_then(parse).and_then(|(peer, request, progress)| {
            let told = self
                .node
                .handle_progress(at, Some(&peer), request, &progress);
            let (id, outcome) = told.map_err(refused)?;
            Ok((json!({"message-id": id.to_string()}), outcome))
        });
        self.say(at, done, reply).await;
    }

    fn try_respond(&mut self, at: At, said: Respond) -> Result<Said, ApiError> {
        let content = Content {
            body: said.body,
            summary: said.summary,
            ..Content::default()
        };
        let replied = match (said.lease, said.message) {
            (Some(text), None) => {
                let lease = lease(&text)?;
                self.node.handle_lease_reply(at, lease, Ok(content))
            }
            (None, Some(name)) => {
                let (peer, request) = name_of(&name)?;
                self.node
                    .handle_reply(at, Some(&peer), request, Ok(content))
            }
            _ => {
                return Err(ApiError::invalid_params(
                    "give lease or message, one of them",
                ));
            }
        };
        let (id, outcome) = replied.map_err(refused)?;
        Ok((json!({"message-id": id.to_string()}), outcome))
    }

    async fn say(&mut self, at: At, done: Result<Said, ApiError>, reply: Reply) {
        match done {
            Ok((shown, outcome)) => {
                let answer = vec![Deed::Answer(reply, shown)];
                self.write(at.now, vec![outcome], answer).await;
            }
            Err(error) => self.refuse(reply, error).await,
        }
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

fn parse(said: Progress) -> Result<(AgentId, MessageId, progress::Progress), ApiError> {
    let (peer, request) = name_of(&said.message)?;
    let state = match said.state {
        Word::Working => ProgressState::Working,
        Word::InputRequired => ProgressState::InputRequired,
    };
    let part = said.part.map(|part| Part {
        index: part.index,
        last: part.last,
        name: None,
        body: Some(part.body),
    });
    let note = said.note;
    Ok((peer, request, progress::Progress { state, note, part }))
}
