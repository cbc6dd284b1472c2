//! Who answers a call: the node alone, or what the daemon holds beside it.

use signet_api::{
    AdoptKeys, FindMessage, FollowAttention, FollowInbox, ListHistory, ListOutbox, Narrow,
    Narrowed, OfferCapability, Receive, Reload, Request, Send, SendHandoff, ShowMessage,
    ShowStatus, Subscribe,
};

use crate::control::{Caller, Narrowing, Notifier, Reply};

use super::agent::narrowed;
use super::handoffs::parse_handoff;
use super::heart::Heart;
use super::sending::parse_send;
use super::serve::Serve;

/// Who asks, and where the answer goes.
pub(super) struct Asker<'a> {
    pub(super) caller: &'a Caller,
    pub(super) reply: Reply,
    /// For what comes later.
    pub(super) notifier: Notifier,
    /// How far its connection is narrowed.
    pub(super) narrowing: Narrowing,
}

/// A call that the daemon answers. What [`Serve`] can do needs nothing more.
pub(super) trait Answer: Request {
    /// Does what is asked and answers; what changes something is answered when that is durable.
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>);
}

impl<R: Serve> Answer for R {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        heart.serve(self, asker.caller, asker.reply).await;
    }
}

impl Answer for Send {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        heart
            .send(parse_send(self), asker.caller, asker.reply)
            .await;
    }
}

impl Answer for SendHandoff {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let parsed = parse_handoff(self, heart.at().now);
        heart.send(parsed, asker.caller, asker.reply).await;
    }
}

impl Answer for FollowInbox {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let Asker {
            caller,
            reply,
            notifier,
            ..
        } = asker;
        heart.follow(caller, reply, notifier).await;
    }
}

impl Answer for FollowAttention {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        heart.attend(asker.reply, asker.notifier).await;
    }
}

impl Answer for Receive {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let Asker {
            caller,
            reply,
            notifier,
            ..
        } = asker;
        heart.receive(&self, caller, reply, &notifier).await;
    }
}

impl Answer for OfferCapability {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        heart
            .offer(self, asker.caller, asker.reply, &asker.notifier)
            .await;
    }
}

impl Answer for Subscribe {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let Asker {
            caller,
            reply,
            notifier,
            ..
        } = asker;
        heart.subscribe(&self, caller, reply, notifier).await;
    }
}

impl Answer for ListHistory {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        heart.history(&self, asker.caller, asker.reply);
    }
}

impl Answer for Narrow {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let narrowed = narrowed(&self, &asker.caller.reach).map(|reach| {
            let tier = reach.tier;
            asker.narrowing.set(reach);
            Narrowed { tier }
        });
        heart.show::<Self>(narrowed, asker.reply).await;
    }
}

impl Answer for AdoptKeys {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        heart.adopt_staged(asker.reply).await;
    }
}

impl Answer for Reload {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        heart.reload(asker.reply).await;
    }
}

impl Answer for ListOutbox {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let listed = heart.outbox(&self, &asker.caller.reach);
        heart.show::<Self>(listed, asker.reply).await;
    }
}

impl Answer for ShowMessage {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let found = heart.message_status(&self);
        heart.show::<Self>(found, asker.reply).await;
    }
}

impl Answer for FindMessage {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let found = heart.message_of_key(&self, &asker.caller.reach);
        heart.show::<Self>(found, asker.reply).await;
    }
}

impl Answer for ShowStatus {
    async fn answer(self, heart: &mut Heart, asker: Asker<'_>) {
        let status = Ok(heart.status(asker.caller));
        heart.show::<Self>(status, asker.reply).await;
    }
}
