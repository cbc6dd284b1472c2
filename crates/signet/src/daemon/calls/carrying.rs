//! The calls of foreign carriers, each as the event loop answers it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use signet_api::{
    ApiError, AttachCarrier, Attached, CarrierRoute, CarrierRoutes, DELIVERED_AT_ONCE,
    DeliverMessages, Delivered, FollowTransparency, KEPT_FOR_POLLS, ListRoutes, MadePoll, MakePoll,
    ParcelReported, Reason, ReportParcel, TakeTrust,
};
use signet_proto::envelope::MAX_MESSAGE;
use signet_proto::ids::{AgentId, MessageId, decode_base64url, encode_base64url};

use crate::carrier::{AlreadyAttached, NotTaken};
use crate::control::ReplySender;
use crate::daemon::carrying::{TransparencyView, detached, send};

use super::serve::{maybe_named, named, parse_wait, refused};
use super::{AnswerCall, Asker, Batch, DaemonState};

impl AnswerCall for AttachCarrier {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let attached = state
            .carrying
            .find(&self.carrier)
            .and_then(|(id, foreign)| {
                let taken = |AlreadyAttached| {
                    let text = format!(
                        "another connection carries {id}; only one does at a time, until it ends"
                    );
                    ApiError::refused(Reason::CarrierTaken, text)
                };
                foreign.attach(asker.notifier).map_err(taken)?;
                Ok(Attached {
                    agent: state.node.identity().agent().to_string(),
                    largest: MAX_MESSAGE,
                })
            });
        send(asker.reply, attached);
        Batch::nothing()
    }
}

impl AnswerCall for ReportParcel {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let found = state.carrying.find(&self.carrier);
        let known = found.map(|(_, foreign)| foreign.left(self.id, self.held));
        send(asker.reply, known.map(|known| ParcelReported { known }));
        Batch::nothing()
    }
}

impl AnswerCall for DeliverMessages {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let reply = asker.reply;
        let parsed = state.carrying.attached(&self.carrier);
        let parsed = parsed.and_then(|(id, foreign)| Ok((id, foreign, parse(&self)?)));
        let (id, foreign, (messages, wait)) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                reply.send(Err(error));
                return Batch::nothing();
            }
        };
        let own = state.node.identity().agent().as_str();
        let to = self.to.as_deref().unwrap_or(own);
        // Share the reply: this function sends it when no message is taken, and `done` when all
        // messages that were taken are judged.
        let reply = Arc::new(Mutex::new(Some(reply)));
        let second = Arc::clone(&reply);
        let done = move |delivered: Delivered| {
            if let Some(reply) = take(&second) {
                send(reply, Ok(delivered));
            }
        };
        let error = match foreign.deliver(to, messages, wait, done) {
            Ok(()) => return Batch::nothing(),
            Err(NotTaken::Detached) => detached(id),
            Err(NotTaken::Busy) => {
                busy("as much as is judged at once has been handed in; try again soon")
            }
        };
        if let Some(reply) = take(&reply) {
            reply.send(Err(error));
        }
        Batch::nothing()
    }
}

impl AnswerCall for MakePoll {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        match make_poll(state, &self) {
            Ok(made) => send(asker.reply, Ok(made)),
            Err(error) => return state.refuse(asker.reply, error),
        }
        Batch::nothing()
    }
}

fn make_poll(state: &mut DaemonState, asked: &MakePoll) -> Result<MadePoll, ApiError> {
    let peer: AgentId = named("peer", &asked.peer)?;
    let last: Option<MessageId> = maybe_named("after", asked.after.as_deref())?;
    let (id, _) = state.carrying.attached(&asked.carrier)?;
    let address = state.carrying.address(id, &peer);
    // `KEPT_FOR_POLLS` is no address: a peer with it cannot be called, and polls this agent instead.
    let address = address.filter(|address| address != KEPT_FOR_POLLS);
    let address = address.ok_or_else(|| {
        let text = format!(
            "{peer} has no address on {id}; accept its invitation anew, or write `carriers` into its \
             [[peer]] in config.toml"
        );
        ApiError::refused(Reason::CarrierUnreachable, text)
    })?;
    if state.carrying.was_polled_just_now(&peer) {
        return Err(busy("one poll of a peer in a tenth of a second is made"));
    }
    let signed = state
        .node
        .turn(state.at())
        .peers()
        .poll(&peer, last)
        .map_err(refused)?;
    // Note the time of the poll only after the node has made it: a poll that the node refuses must not make the next one wait.
    state.carrying.note_poll(peer);
    Ok(MadePoll {
        address,
        bytes: encode_base64url(signed.bytes()),
    })
}

impl AnswerCall for ListRoutes {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let routes = state.carrying.find(&self.carrier).map(|(id, _)| {
            let reach = &asker.caller.reach;
            let trust = state.node.trust();
            let peers = trust.peers().map(|(agent, _)| agent);
            // Leave out agents that are no longer trusted: nothing is sent to them, so a program
            // has no use for their addresses.
            let known = peers.filter(|agent| reach.knows(agent) && trust.trusted(agent).is_some());
            let route = |agent: &AgentId| {
                let address = state.carrying.address(id, agent)?;
                let peer = agent.to_string();
                Some(CarrierRoute { peer, address })
            };
            CarrierRoutes {
                peers: known.filter_map(route).collect(),
                dials_out: state.carrying.dials_out(),
            }
        });
        send(asker.reply, routes);
        Batch::nothing()
    }
}

impl AnswerCall for TakeTrust {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        match parse_wait(self.wait).map(|wait| wait.min(LONGEST_WAIT)) {
            Ok(wait) => state.carrying.take_trust(self.epoch, wait, asker.reply),
            Err(error) => asker.reply.send(Err(error)),
        }
        Batch::nothing()
    }
}

impl AnswerCall for FollowTransparency {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let wait = match parse_wait(self.wait).map(|wait| wait.min(LONGEST_WAIT)) {
            Ok(wait) => wait,
            Err(error) => {
                asker.reply.send(Err(error));
                return Batch::nothing();
            }
        };
        let sight = TransparencyView {
            reach: Arc::clone(&asker.caller.reach),
            trust: state.node.trust().clone(),
            log: state.settings.audit_dir().clone(),
        };
        let (limit, heads) = (self.limit.unwrap_or(usize::MAX), state.log.heads());
        let transparency = state.carrying.transparency();
        transparency.follow(sight, self.after, limit, wait, heads, asker.reply);
        Batch::nothing()
    }
}

fn parse(asked: &DeliverMessages) -> Result<(Vec<Vec<u8>>, Duration), ApiError> {
    let count = asked.messages.len();
    if count == 0 || count > DELIVERED_AT_ONCE {
        let fault = format!("messages has 1 to {DELIVERED_AT_ONCE} items");
        return Err(ApiError::invalid_params(fault));
    }
    let decoded = asked.messages.iter().map(|text| decode_base64url(text));
    let messages: Result<_, _> = decoded.collect();
    let fault = |_| ApiError::invalid_params("messages are base64url without padding");
    Ok((
        messages.map_err(fault)?,
        parse_wait(asked.wait)?.min(POLL_WAIT),
    ))
}

fn take(reply: &Mutex<Option<ReplySender>>) -> Option<ReplySender> {
    let mut reply = reply.lock().unwrap_or_else(PoisonError::into_inner);
    reply.take()
}

fn busy(text: &str) -> ApiError {
    ApiError::refused(Reason::CarrierBusy, text)
}

const LONGEST_WAIT: Duration = Duration::from_secs(60);
const POLL_WAIT: Duration = Duration::from_secs(25);
