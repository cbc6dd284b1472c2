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
use tokio::time::Instant;

use super::transparency::Sight;
use super::{detached, send};
use crate::carrier::{NotTaken, Taken};
use crate::control::Reply;
use crate::daemon::answer::{Answer, Asker};
use crate::daemon::heart::Heart;
use crate::daemon::serve::{maybe_named, named, refused};

impl Answer for AttachCarrier {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let attached = heart
            .carrying
            .find(&self.carrier)
            .and_then(|(id, foreign)| {
                let taken = |Taken| {
                    let text = format!(
                        "another connection carries {id}; only one does at a time, until it ends"
                    );
                    ApiError::refused(Reason::CarrierTaken, text)
                };
                foreign.attach(asker.notifier).map_err(taken)?;
                Ok(Attached {
                    agent: heart.node.identity().agent().to_string(),
                    largest: MAX_MESSAGE,
                })
            });
        send(asker.reply, attached);
    }
}

impl Answer for ReportParcel {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let found = heart.carrying.find(&self.carrier);
        let known = found.map(|(_, foreign)| foreign.left(self.id, self.held));
        send(asker.reply, known.map(|known| ParcelReported { known }));
    }
}

impl Answer for DeliverMessages {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let reply = asker.reply;
        let parsed = heart.carrying.attached(&self.carrier);
        let parsed = parsed.and_then(|(id, foreign)| Ok((id, foreign, parse(&self)?)));
        let (id, foreign, (messages, wait)) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return reply.send(Err(error)),
        };
        let own = heart.node.identity().agent().as_str();
        let to = self.to.as_deref().unwrap_or(own);
        // Whoever hands in what is not taken hears it; what is taken answers when it is ruled.
        let reply = Arc::new(Mutex::new(Some(reply)));
        let later = Arc::clone(&reply);
        let done = move |delivered: Delivered| {
            if let Some(reply) = take(&later) {
                send(reply, Ok(delivered));
            }
        };
        let error = match foreign.deliver((to, messages), wait, done) {
            Ok(()) => return,
            Err(NotTaken::Detached) => detached(id),
            Err(NotTaken::Busy) => {
                busy("as much as is judged at once has been handed in; try again soon")
            }
        };
        if let Some(reply) = take(&reply) {
            reply.send(Err(error));
        }
    }
}

impl Answer for MakePoll {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let made = heart.make_poll(&self);
        match made {
            Ok(made) => send(asker.reply, Ok(made)),
            Err(error) => heart.refuse(asker.reply, error).await,
        }
    }
}

impl Heart {
    fn make_poll(&mut self, asked: &MakePoll) -> Result<MadePoll, ApiError> {
        let peer: AgentId = named("peer", &asked.peer)?;
        let last: Option<MessageId> = maybe_named("after", asked.after.as_deref())?;
        let (id, _) = self.carrying.attached(&asked.carrier)?;
        let address = self.carrying.address(id, &peer);
        let address = address.filter(|address| address != KEPT_FOR_POLLS);
        let address = address.ok_or_else(|| {
            let text = format!(
                "{peer} has no address on {id}; accept its invitation anew, or write `carriers` into its \
                 [[peer]] in config.toml"
            );
            ApiError::refused(Reason::CarrierUnreachable, text)
        })?;
        let now = Instant::now();
        let last_asked = self.carrying.polled.get(&peer);
        if last_asked.is_some_and(|asked| now.duration_since(*asked) < POLL_PACE) {
            return Err(busy("one poll of a peer in a tenth of a second is made"));
        }
        let signed = self.node.make_poll(self.at(), &peer, last);
        let signed = signed.map_err(refused)?;
        self.carrying.polled.insert(peer, now);
        Ok(MadePoll {
            address,
            bytes: encode_base64url(signed.bytes()),
        })
    }
}

impl Answer for ListRoutes {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let routes = heart.carrying.find(&self.carrier).map(|(id, _)| {
            let reach = &asker.caller.reach;
            let trust = heart.node.trust();
            let peers = trust.peers().map(|(agent, _)| agent);
            let known = peers.filter(|agent| reach.knows(agent) && trust.trusted(agent).is_some());
            let route = |agent: &AgentId| {
                let address = heart.carrying.address(id, agent)?;
                let peer = agent.to_string();
                Some(CarrierRoute { peer, address })
            };
            CarrierRoutes {
                peers: known.filter_map(route).collect(),
                dials_out: heart.carrying.dials_out,
            }
        });
        send(asker.reply, routes);
    }
}

impl Answer for TakeTrust {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        match parse_wait(self.wait, LONGEST_WAIT) {
            Ok(wait) => heart.carrying.snapshots.take(self.epoch, wait, asker.reply),
            Err(error) => asker.reply.send(Err(error)),
        }
    }
}

impl Answer for FollowTransparency {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let wait = match parse_wait(self.wait, LONGEST_WAIT) {
            Ok(wait) => wait,
            Err(error) => return asker.reply.send(Err(error)),
        };
        let sight = Sight {
            reach: Arc::clone(&asker.caller.reach),
            trust: heart.node.trust().clone(),
            log: heart.config.audit_dir.clone(),
        };
        let limit = self.limit.unwrap_or(usize::MAX);
        let head = heart.head.clone();
        heart
            .carrying
            .reader
            .follow(sight, (self.after, limit, wait), head, asker.reply);
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
    Ok((messages.map_err(fault)?, parse_wait(asked.wait, POLL_WAIT)?))
}

fn parse_wait(seconds: f64, most: Duration) -> Result<Duration, ApiError> {
    let wait = Duration::try_from_secs_f64(seconds);
    let wait = wait.map_err(|_| ApiError::invalid_params("wait is a number of seconds"));
    Ok(wait?.min(most))
}

fn take(reply: &Mutex<Option<Reply>>) -> Option<Reply> {
    let mut reply = reply.lock().unwrap_or_else(PoisonError::into_inner);
    reply.take()
}

fn busy(text: &str) -> ApiError {
    ApiError::refused(Reason::CarrierBusy, text)
}

const LONGEST_WAIT: Duration = Duration::from_secs(60);
const POLL_WAIT: Duration = Duration::from_secs(25);
const POLL_PACE: Duration = Duration::from_millis(100);
