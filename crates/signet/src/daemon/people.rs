//! What a person decides through the control socket: whom to trust, what may leave, when to pause.
//!
//! Each method is a function of the node, so that the command line can do the same on a stopped
//! agent's state.

use serde::Deserialize;
use serde_json::{Value, json};
use signet_proto::certificate::{Certificate, ControlCertificate};
use signet_proto::entry::Alarm;
use signet_proto::ids::{AgentId, KeyId, MessageId};
use signet_proto::keys::fingerprint;
use signet_proto::node::{At, LocalError, Node, Outcome, Stranger, hash_of_draft};
use signet_proto::reject::DROPPED;
use signet_proto::statement::{Approval, PauseStatement, Revocation};
use signet_proto::time::Timestamp;

use crate::control::ApiError;
use crate::render;

use super::listing::{MESSAGES, page};
use super::methods::{bind_refused, bound, refused};
use super::params::{BindParams, MessageParams, PeerParams, named, parse, parse_given};

/// What a method did: what to show, and what to write and perform first.
pub type Done = (Value, Outcome);

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct StrangerParams {
    agent: String,
    root: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct DraftsParams {
    /// How many were already seen.
    skip: usize,
    /// Only those whose message-id begins so.
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct StatementParams {
    statement: Value,
    control: Option<Value>,
}

/// Serves one of a person's methods; `None` when the name is none of them.
pub fn serve(
    node: &mut Node,
    at: At,
    method: &str,
    params: Value,
) -> Option<Result<Done, ApiError>> {
    Some(match method {
        "alarms.list" => Ok((json!({"alarms": ringing(node)}), Outcome::default())),
        "alarms.clear" => {
            let shown = json!({"alarms": ringing(node)});
            Ok((shown, node.handle_clear(at)))
        }
        "trust.pending" => Ok((pending(node, at), Outcome::default())),
        "trust.list" => Ok((list(node, at), Outcome::default())),
        "trust.approve" => decide(node, at, params, Node::handle_approve),
        "trust.refuse" => decide(node, at, params, Node::handle_refuse),
        "trust.revoke" => withdraw(node, at, params),
        "trust.replace-root" => replace_root(node, at, params),
        "trust.revocation" => take_revocation(node, at, params),
        "drafts.list" => drafts(node, params).map(|shown| (shown, Outcome::default())),
        "drafts.decide" => decide_draft(node, at, params),
        "drafts.drop" => drop_draft(node, at, params),
        "pause.tell" => pause(node, at, params),
        "pause.show" => Ok((pausing(node), Outcome::default())),
        _ => return None,
    })
}

fn pending(node: &Node, at: At) -> Value {
    let waiting: Vec<Value> = node.pending(at.now).map(stranger).collect();
    let alarms = node.root_alarms(at.now);
    let alarms = alarms.map(|(root, since)| {
        let line = json!({"root": root.to_string(), "since": since.to_string()});
        line
    });
    json!({"pending": waiting, "root-alarms": alarms.collect::<Vec<_>>()})
}

fn stranger(stranger: &Stranger) -> Value {
    let claimed = &stranger.certificate;
    json!({
        "agent": claimed.agent.as_str(),
        "principal": claimed.principal.as_str(),
        "root": claimed.root.id().to_string(),
        "fingerprint": fingerprint(&claimed.root),
        "layers": claimed.layers.to_value(),
        "serial": claimed.serial,
        "not-after": claimed.not_after.to_string(),
        "since": stranger.since.to_string(),
    })
}

fn list(node: &Node, at: At) -> Value {
    let peers = node.trust().peers();
    let peer = |(agent, peer)| {
        let mut shown = render::peer(agent, peer, &node.standing(agent, at.now));
        if let Some(members) = shown.as_object_mut() {
            members.insert("trust".into(), standing(node, agent).into());
        }
        shown
    };
    peers.map(peer).collect()
}

fn standing(node: &Node, agent: &AgentId) -> &'static str {
    let view = node.trust();
    match view.peer(agent) {
        Some(peer) if peer.is_withdrawn() => "withdrawn",
        Some(_) if view.trusted(agent).is_none() => "revoked",
        _ => "trusted",
    }
}

type Decide = fn(&mut Node, At, &AgentId, Option<KeyId>) -> Result<Outcome, LocalError>;

fn decide(node: &mut Node, at: At, params: Value, decide: Decide) -> Result<Done, ApiError> {
    let params = parse::<StrangerParams>(params)?;
    let agent = named::<AgentId>("agent", &params.agent)?;
    let root = params.root.as_deref();
    let root = root.map(|root| named::<KeyId>("root", root)).transpose()?;
    let outcome = decide(node, at, &agent, root).map_err(refused)?;
    let peer = node.trust().peer(&agent).and_then(|peer| peer.newest());
    let fingerprint = peer.map(|newest| fingerprint(&newest.root));
    Ok((
        json!({"agent": agent.as_str(), "fingerprint": fingerprint}),
        outcome,
    ))
}

/// What rings, as `alarms.list` and `status` tell it.
pub(super) fn ringing(node: &Node) -> Value {
    let alarm = |((what, peer), since): (&(Alarm, AgentId), &Timestamp)| {
        json!({
            "alarm": what.as_str(),
            "peer": peer.as_str(),
            "since": since.to_string(),
            "text": node.alarm_text(*what, peer),
        })
    };
    node.alarms().iter().map(alarm).collect()
}

fn withdraw(node: &mut Node, at: At, params: Value) -> Result<Done, ApiError> {
    let agent = named::<AgentId>("peer", &parse::<PeerParams>(params)?.peer)?;
    let before = node.inbox().aside().count();
    let outcome = node.handle_withdraw(at, &agent).map_err(|error| {
        let what = format!("{agent} is not trusted; signet trust list shows who is");
        ApiError::refused(error.name(), what)
    })?;
    let aside = node.inbox().aside().count().saturating_sub(before);
    let ended = outcome.effects.iter();
    let ended = ended.filter(|effect| matches!(effect, signet_proto::node::Effect::Settle { .. }));
    let shown = json!({"peer": agent.as_str(), "ended": ended.count(), "set-aside": aside});
    Ok((shown, outcome))
}

fn replace_root(node: &mut Node, at: At, params: Value) -> Result<Done, ApiError> {
    let certificate = parse_certificate(&parse::<BindParams>(params)?.certificate)?;
    let outcome = node
        .handle_replace_root(at, &certificate)
        .map_err(bind_refused)?;
    Ok((bound(&certificate, true), outcome))
}

fn take_revocation(node: &mut Node, at: At, params: Value) -> Result<Done, ApiError> {
    let revocation = Revocation::parse(&parse::<StatementParams>(params)?.statement);
    let revocation = revocation.map_err(|error| invalid(&error))?;
    let outcome = node.handle_revocation(at, &revocation).map_err(refused)?;
    let shown = json!({
        "agent": revocation.agent.as_str(),
        "principal": revocation.principal.as_str(),
        "serial": revocation.serial,
        "changed": !outcome.entries.is_empty(),
    });
    Ok((shown, outcome))
}

fn drafts(node: &Node, params: Value) -> Result<Value, ApiError> {
    let params = parse_given::<DraftsParams>(params)?;
    let named = |waiter: &signet_proto::node::Waiter<'_>| {
        let name = waiter.draft.message_id.to_string();
        name.starts_with(&params.name)
    };
    let draft = |waiter: signet_proto::node::Waiter<'_>| {
        let draft = waiter.draft;
        json!({
            "peer": waiter.peer.as_str(),
            "message-id": draft.message_id.to_string(),
            "waits-for": waiter.waits_for.as_str(),
            "held-by": super::outbox::held_by(node, waiter.peer, waiter.waits_for),
            "until": waiter.until.to_string(),
            "type": draft.form.message_type().as_str(),
            "data-tier": draft.data_tier,
            "capability": draft.capability.as_ref().map(|name| name.as_str()),
            "summary": draft.summary,
            "body": draft.body,
            "draft": waiter.value,
            "hash": waiter.value.map(|value| hash_of_draft(value).to_string()),
        })
    };
    let control = node.identity().control.as_ref();
    let control = control.map(|control| control.to_value().clone());
    let drafts = node.drafts().filter(named).skip(params.skip).map(draft);
    Ok(json!({
        "drafts": page(drafts, MESSAGES),
        "waiting": node.drafts().count(),
        "control": control,
    }))
}

fn decide_draft(node: &mut Node, at: At, params: Value) -> Result<Done, ApiError> {
    let params = parse::<StatementParams>(params)?;
    let control = parse_control(params.control.as_ref())?;
    let approval = Approval::parse(&params.statement, &control).map_err(|error| invalid(&error))?;
    let outcome = node.handle_decision(at, &approval).map_err(refused)?;
    let sent = outcome.effects.iter().any(super::heart::is_publish);
    let shown = json!({"decision": approval.decision.as_str(), "sent": sent});
    Ok((shown, outcome))
}

/// Takes back what has not left.
fn drop_draft(node: &mut Node, at: At, params: Value) -> Result<Done, ApiError> {
    let name = parse::<MessageParams>(params)?.message_id;
    let message_id = named::<MessageId>("message-id", &name)?;
    let (peer, outcome) = node.handle_drop_draft(at, message_id).map_err(refused)?;
    let shown =
        json!({"message-id": name, "peer": peer.as_str(), "state": "refused", "reason": DROPPED});
    Ok((shown, outcome))
}

fn pause(node: &mut Node, at: At, params: Value) -> Result<Done, ApiError> {
    let params = parse::<StatementParams>(params)?;
    let control = parse_control(params.control.as_ref())?;
    let statement = PauseStatement::parse(&params.statement, &control);
    let statement = statement.map_err(|error| invalid(&error))?;
    let outcome = node.handle_pause(at, &statement).map_err(refused)?;
    Ok((pausing(node), outcome))
}

/// Whether the agents pause, and the number of the person's last word.
fn pausing(node: &Node) -> Value {
    let said = node.pausing().statement();
    let control = node.identity().control.as_ref();
    // Under a newer control certificate the numbers begin anew.
    let newest = control.map_or(0, |control| control.serial);
    let counted = said.filter(|said| said.control.serial >= newest);
    json!({
        "paused": node.pausing().is_paused(),
        "serial": counted.map_or(0, |said| said.serial),
        "since": said.map(|said| said.issued_at.to_string()),
        "waiting": node.inbox().len(),
        "control": control.map(|control| control.to_value().clone()),
    })
}

pub(super) fn parse_certificate(value: &Value) -> Result<Certificate, ApiError> {
    Certificate::parse(value)
        .map_err(|error| ApiError::refused("certificate-invalid", error.to_string()))
}

fn parse_control(value: Option<&Value>) -> Result<ControlCertificate, ApiError> {
    let value = value.ok_or_else(|| ApiError::invalid_params("control is missing"))?;
    ControlCertificate::parse(value).map_err(|error| invalid(&error))
}

fn invalid(error: &signet_proto::certificate::CertificateError) -> ApiError {
    ApiError::refused("statement-invalid", error.to_string())
}
