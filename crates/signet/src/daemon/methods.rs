//! What the control socket offers: one method a verb of the command line.

use serde_json::{Value, json};
use signet_api::Reason;
use signet_proto::certificate::Certificate;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::keys::fingerprint;
use signet_proto::node::{Content, LocalError};
use signet_proto::trust::BindError;

use crate::control::{ApiError, RawCall, Reply};
use crate::effects::Deed;
use crate::permission;
use crate::render;

use super::handoffs::parse_handoff;
use super::heart::Heart;
use super::listing::{MESSAGES, page};
use super::params::{
    AcknowledgeParams, BindParams, ListParams, Name, PeerParams, ReplyParams, SkipParams, named,
    parse, parse_given, parse_question, parse_send,
};
use super::people;

impl Heart {
    /// Serves one call. A call that changes something is answered when that is durable.
    pub(super) async fn call(&mut self, call: RawCall) {
        let RawCall {
            method,
            params,
            reply,
            notifier,
        } = call;
        if self.is_refusing() {
            let refused = match method.as_str() {
                "status" => Ok(self.status()),
                _ => Err(disk_full()),
            };
            return reply.send(refused);
        }
        let served = match method.as_str() {
            "send" => return self.send(parse_send(params), reply).await,
            "handoff.send" => {
                let parsed = parse_handoff(params, self.at().now);
                return self.send(parsed, reply).await;
            }
            "handoff.accept" | "handoff.decline" | "handoff.report" => {
                return self.decide_task(&method, params, reply).await;
            }
            "receive" => return self.receive(parse_given(params), reply, &notifier).await,
            "respond" => return self.respond(parse(params), reply).await,
            "acknowledge" => return self.acknowledge(parse(params), reply).await,
            "fail" => return self.fail(parse(params), reply).await,
            "extend" => return self.extend(parse(params), reply),
            "progress" => return self.progress(parse(params), reply).await,
            "offer" => return self.offer(parse(params), reply, &notifier).await,
            "subscribe" => return self.subscribe(parse(params), reply, &notifier).await,
            "history" => return self.history(parse_given(params), reply),
            "reply" => return self.reply(params, reply).await,
            "inbox.acknowledge" => return self.take_from_inbox(params, reply).await,
            "inbox.start" | "inbox.fail" | "inbox.keep" | "quarantine.retry"
            | "quarantine.drop" => {
                return self.note_try(&method, params, reply).await;
            }
            "peer.add" => return self.bind(params, reply).await,
            "keys.adopt" => return self.adopt_staged(reply).await,
            "inbox.follow" => {
                // The journal keeps the order: what is listed now and what arrives later fit together.
                let listed = self.list(Value::Null);
                let deeds = vec![
                    Deed::Follow(notifier),
                    Deed::Answer(reply, listed.unwrap_or_default()),
                ];
                return self.write(self.at().now, Vec::new(), deeds).await;
            }
            "inbox.list" => self.list(params),
            "inbox.aside" => self.aside(params),
            "quarantine.list" => self.quarantine(params),
            "outbox.list" => self.outbox(params),
            "message.status" => self.whereabouts(params),
            "peer.list" => Ok(self.peers()),
            "peer.show" => self.peer(params),
            "policy.show" => Ok(permission::show(&self.node, self.at().now)),
            "policy.check" => self.check_policy(params),
            "handoff.list" => Ok(self.tasks()),
            "handoff.show" => self.task(params),
            "status" => Ok(self.status()),
            _ => return self.decide(&method, params, reply).await,
        };
        match served {
            // What is shown is durable: the answer follows every line that it may rest on.
            Ok(shown) => {
                let answer = vec![Deed::Answer(reply, shown)];
                self.write(self.at().now, Vec::new(), answer).await;
            }
            // The caller may have gone.
            Err(error) => reply.send(Err(error)),
        }
    }

    /// A person's decision, or a method that there is not.
    async fn decide(&mut self, method: &str, params: Value, reply: Reply) {
        let at = self.at();
        match people::serve(&mut self.node, at, method, params) {
            Some(Ok((shown, outcome))) => {
                let answer = vec![Deed::Answer(reply, shown)];
                self.write(at.now, vec![outcome], answer).await;
            }
            Some(Err(error)) => reply.send(Err(error)),
            None => reply.send(Err(ApiError::method_not_found())),
        }
    }

    async fn reply(&mut self, params: Value, reply: Reply) {
        let at = self.at();
        let done = parse::<ReplyParams>(params).and_then(|params| {
            let request = named::<MessageId>("message-id", &params.message_id)?;
            let from = params
                .from
                .as_deref()
                .map(|from| named::<AgentId>("from", from))
                .transpose()?;
            let answer = match (params.body, params.decline) {
                (Some(body), None) => Ok(Content {
                    body,
                    summary: params.summary,
                    ..Content::default()
                }),
                (None, Some(text)) => Err(text),
                _ => {
                    return Err(ApiError::invalid_params(
                        "give body or decline, one of them",
                    ));
                }
            };
            self.node
                .handle_reply(at, from.as_ref(), request, answer)
                .map_err(refused)
        });
        match done {
            Ok((message_id, outcome)) => {
                let value = json!({"message-id": message_id.to_string()});
                self.write(at.now, vec![outcome], vec![Deed::Answer(reply, value)])
                    .await;
            }
            Err(error) => self.refuse(reply, error).await,
        }
    }

    async fn take_from_inbox(&mut self, params: Value, reply: Reply) {
        let at = self.at();
        let done = parse::<AcknowledgeParams>(params).and_then(|params| {
            let name = |name: &Name| {
                Ok((
                    named("from", &name.from)?,
                    named("message-id", &name.message_id)?,
                ))
            };
            let names = params
                .messages
                .iter()
                .map(name)
                .collect::<Result<Vec<_>, ApiError>>()?;
            let outcome = self.node.handle_acknowledge(at, &names).map_err(refused)?;
            Ok((names.len(), outcome))
        });
        match done {
            Ok((count, outcome)) => {
                let answer = Deed::Answer(reply, json!({"acknowledged": count}));
                self.write(at.now, vec![outcome], vec![answer]).await;
            }
            Err(error) => reply.send(Err(error)),
        }
    }

    async fn bind(&mut self, params: Value, reply: Reply) {
        let at = self.at();
        let done = parse::<BindParams>(params).and_then(|params| {
            let certificate = people::parse_certificate(&params.certificate)?;
            let outcome = self
                .node
                .handle_bind(at, &certificate)
                .map_err(bind_refused)?;
            Ok((certificate, outcome))
        });
        match done {
            Ok((certificate, outcome)) => {
                let value = bound(&certificate, !outcome.entries.is_empty());
                self.write(at.now, vec![outcome], vec![Deed::Answer(reply, value)])
                    .await;
            }
            Err(error) => reply.send(Err(error)),
        }
    }

    fn list(&self, params: Value) -> Result<Value, ApiError> {
        if self.node.pausing().is_paused() {
            return Err(paused());
        }
        let params = parse_given::<ListParams>(params)?;
        let items = self.node.inbox().after(params.after).map(|item| {
            let opened = self.node.opened(&item.message);
            let mut value = render::item(&item.message, opened.as_ref());
            if let Some(members) = value.as_object_mut() {
                members.insert("number".into(), item.number.into());
            }
            value
        });
        let messages = page(items, params.limit.unwrap_or(MESSAGES));
        Ok(json!({"messages": messages, "waiting": self.node.inbox().len()}))
    }

    /// What revoked agents sent and our agent had not taken: for the person.
    fn aside(&self, params: Value) -> Result<Value, ApiError> {
        let skip = parse_given::<SkipParams>(params)?.skip;
        let items = self.node.inbox().aside().skip(skip);
        let items = items.map(|message| render::item(message, self.node.opened(message).as_ref()));
        Ok(json!({"messages": page(items, MESSAGES)}))
    }

    fn peers(&self) -> Value {
        let now = self.at().now;
        let peer = |(agent, peer)| render::peer(agent, peer, &self.node.standing(agent, now));
        self.node.trust().peers().map(peer).collect()
    }

    fn peer(&self, params: Value) -> Result<Value, ApiError> {
        let agent = named::<AgentId>("peer", &parse::<PeerParams>(params)?.peer)?;
        let peer = self
            .node
            .trust()
            .peer(&agent)
            .ok_or_else(|| refused(LocalError::PeerUnknown(agent.clone())))?;
        let now = self.at().now;
        let shown = render::peer(&agent, peer, &self.node.standing(&agent, now));
        Ok(render::with_offers(shown, self.node.session(&agent, now)))
    }

    fn check_policy(&self, params: Value) -> Result<Value, ApiError> {
        let question = parse_question(params)?;
        permission::answer(&self.node, self.at().now, &question)
            .ok_or_else(|| refused(LocalError::PeerUnknown(question.peer)))
    }

    /// What the clock says, where it stands outside the dates of our certificate.
    fn clock_outside(&self) -> Option<Value> {
        let now = self.at().now;
        let (from, to) = self.node.outside_certificate(now)?;
        Some(json!({
            "now": now.to_string(), "not-before": from.to_string(), "not-after": to.to_string(),
        }))
    }

    fn status(&self) -> Value {
        let certificate = &self.node.identity().certificate;
        let head = *self.head.borrow();
        json!({
            "agent": certificate.agent.as_str(),
            "principal": certificate.principal.as_str(),
            "fingerprint": fingerprint(&certificate.root),
            "version": env!("CARGO_PKG_VERSION"),
            "versions": certificate.versions.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "pid": std::process::id(),
            "connected": self.carriers.is_any_connected(),
            "refusing": self.full.borrow().map(|since| json!({
                "reason": "disk-full", "since": since.to_string(),
            })),
            "mailbox": self.carriers.has_mailbox(),
            "inbox": self.node.inbox().len(),
            "set-aside": self.node.inbox().aside().count(),
            "quarantine": self.node.inbox().quarantine().iter().count(),
            "revoked": self.node.is_revoked(),
            "clock": self.clock_outside(),
            "paused": self.node.pausing().is_paused(),
            "pending": self.node.pending(self.at().now).count(),
            "alarms": self.node.alarms().len(),
            "ringing": super::people::ringing(&self.node),
            "root-alarms": self.node.root_alarms(self.at().now).count(),
            "drafts": self.node.drafts().count(),
            "log-fault": self.log_fault,
            "log": head.map(|head| json!({"seq": head.seq, "head": head.hash.to_hex()})),
            "peers": self.peers(),
        })
    }
}

/// What `peer add` says, with the daemon or without.
pub fn bound(certificate: &Certificate, changed: bool) -> Value {
    json!({
        "peer": certificate.agent.as_str(),
        "principal": certificate.principal.as_str(),
        "fingerprint": fingerprint(&certificate.root),
        "changed": changed,
    })
}

pub(super) fn paused() -> ApiError {
    let text = "the agents of this person pause, and nothing is handed over; `signet resume`";
    ApiError::refused(Reason::Paused, text)
}

pub(super) fn refused(error: LocalError) -> ApiError {
    ApiError::refused(error.name(), error.to_string())
}

/// Also for what only shows: it might rest on a line that is not durable.
fn disk_full() -> ApiError {
    let text = "the disk is full, and nothing is taken in, answered or sent; free some space where \
                the log is, and the daemon goes on by itself";
    ApiError::refused(Reason::DiskFull, text)
}

pub(super) fn bind_refused(error: BindError) -> ApiError {
    ApiError::refused(error.name(), error.to_string())
}
