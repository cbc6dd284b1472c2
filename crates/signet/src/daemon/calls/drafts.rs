//! What a person decides about what leaves: drafts, approvals, the pause.

use signet_api::{
    ApiError, DecideDraft, Decided, Decision, Draft, Drafts, DropDraft, Dropped, ListDrafts,
    Pausing, ShowPause, State, TellPause,
};
use signet_json::{Value, canonical};
use signet_proto::certificate::ControlCertificate;
use signet_proto::ids::MessageId;
use signet_proto::node::{Effect, Node, Turn, Waiter, hash_of_draft};
use signet_proto::reject::DROPPED;
use signet_proto::statement::{self, Approval, PauseStatement};

use crate::render;

use super::listing::{MESSAGES, page};
use super::outbox::held_by;
use super::people::invalid;
use super::serve::{Handled, Serve, named, refused, shown};
use crate::reach::Reach;

impl Serve for ListDrafts {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let named = |waiter: &Waiter<'_>| {
            let name = waiter.draft.message_id.to_string();
            name.starts_with(&self.name)
        };
        let drafts = turn.node().sent().drafts().filter(named).skip(self.skip);
        let drafts = drafts.map(|waiter| draft(turn.node(), &waiter, reach));
        shown(Drafts {
            drafts: page(drafts, MESSAGES).collect(),
            waiting: turn.node().sent().drafts().count(),
            control: control(turn.node()),
        })
    }
}

impl Serve for DecideDraft {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let control = parse_control(&self.control)?;
        let approval = Approval::parse(&self.statement, &control);
        let approval = approval.map_err(|error| invalid(&error))?;
        let (draft, outcome) = turn.drafts().decide(&approval).map_err(refused)?;
        let decided = Decided {
            decision: match approval.decision {
                statement::Decision::Approved => Decision::Approved,
                statement::Decision::Refused => Decision::Refused,
            },
            sent: outcome
                .effects
                .iter()
                // An approved message may still be held back, by a pause or because its peer is away: say `sent`
                // only if this very message is published now. The outcome may also publish messages of a
                // handshake, or other drafts.
                .any(|effect| match effect {
                    Effect::Publish(parcel) => parcel.message().headers.message_id == draft,
                    _ => false,
                }),
        };
        Ok((decided, outcome))
    }
}

/// Takes back what has not left.
impl Serve for DropDraft {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let message_id = named::<MessageId>("message-id", &self.message_id)?;
        let (peer, outcome) = turn.drafts().take_back(message_id).map_err(refused)?;
        let dropped = Dropped {
            message_id: self.message_id,
            peer: peer.to_string(),
            state: State::Refused,
            reason: DROPPED.to_owned(),
        };
        Ok((dropped, outcome))
    }

    fn makes(answer: &Dropped) -> Option<&str> {
        Some(&answer.message_id)
    }
}

impl Serve for TellPause {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let control = parse_control(&self.control)?;
        let statement = PauseStatement::parse(&self.statement, &control);
        let statement = statement.map_err(|error| invalid(&error))?;
        let outcome = turn.people().pause(&statement).map_err(refused)?;
        Ok((pausing(turn.node()), outcome))
    }
}

impl Serve for ShowPause {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        shown(pausing(turn.node()))
    }
}

fn draft(node: &Node, waiter: &Waiter<'_>, reach: &Reach) -> Draft {
    let shown = whole_draft(node, waiter);
    match reach.sees(waiter.peer, shown.data_tier) {
        true => shown,
        // This caller may not see messages with this peer, or of this tier, so leave out the content. It only looks,
        // and has no use for what the person signs: so leave out the sealed box and its hash, too.
        false => Draft {
            size: Some(canonical(&shown.body).len() as u64),
            capability: None,
            summary: None,
            body: Value::Null,
            draft: None,
            hash: None,
            ..shown
        },
    }
}

fn whole_draft(node: &Node, waiter: &Waiter<'_>) -> Draft {
    let draft = waiter.draft;
    Draft {
        peer: waiter.peer.to_string(),
        message_id: draft.message_id.to_string(),
        waits_for: render::waits_for(waiter.waits_for),
        held_by: held_by(node, waiter.peer, waiter.waits_for),
        until: waiter.until.to_string(),
        message_type: draft.form.message_type().as_str().to_owned(),
        data_tier: draft.data_tier.number(),
        capability: draft.capability.as_ref().map(ToString::to_string),
        summary: draft.summary.clone(),
        body: draft.body.clone().unwrap_or_default(),
        size: None,
        draft: waiter.value.cloned(),
        hash: waiter.value.map(|value| hash_of_draft(value).to_string()),
    }
}

/// Whether the agents pause, and the number of the person's last word.
fn pausing(node: &Node) -> Pausing {
    let said = node.people().pausing().statement();
    let certified = node.identity().control.as_ref();
    // The person's statements are numbered anew under each control certificate: a number from an older certificate counts as
    // none.
    let newest = certified.map_or(0, |control| control.serial);
    let counted = said.filter(|said| said.control.serial >= newest);
    Pausing {
        paused: node.people().pausing().is_paused(),
        serial: counted.map_or(0, |said| said.serial),
        since: said.map(|said| said.issued_at.to_string()),
        waiting: node.inbox().len(),
        control: control(node),
    }
}

fn control(node: &Node) -> Option<Value> {
    let control = node.identity().control.as_ref();
    control.map(|control| control.to_value())
}

fn parse_control(value: &Value) -> Result<ControlCertificate, ApiError> {
    ControlCertificate::parse(value).map_err(|error| invalid(&error))
}
