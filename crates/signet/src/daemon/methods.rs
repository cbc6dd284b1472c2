//! Every call of every socket passes here: whether its caller may ask it, and who serves it.

use serde_json::Value;
use signet_api::{
    ApiError, Call, FollowInbox, ListInbox, Method, Reason, Request, ShowStatus, with_request,
};
use signet_proto::node::Outcome;
use signet_proto::reject;
use signet_proto::time::Timestamp;

use crate::control::{Caller, Notifier, RawCall, Reply};
use crate::effects::{Deed, Follower};

use super::answer::{Answer as _, Asker};
use super::heart::Heart;
use super::serve::{Serve, value_of};

impl Heart {
    /// Serves one call. A call that changes something is answered when that is durable.
    pub(super) async fn call(&mut self, raw: RawCall) {
        let RawCall {
            method,
            params,
            caller,
            reply,
            notifier,
            narrowing,
        } = raw;
        // Calls are served in their order: what was asked before it was narrowed reaches as far as it did.
        let caller = narrowing.of(caller);
        // Nothing can be written, and so nothing may be said that rests on a line.
        if self.is_refusing() {
            let refused = match Call::parse(&method, params) {
                Ok(Call::ShowStatus(_)) => value_of::<ShowStatus>(&self.status(&caller)),
                _ => Err(disk_full()),
            };
            return reply.send(refused);
        }
        match self.admit(&caller, &method, params) {
            Ok(call) => {
                let asker = Asker {
                    caller: &caller,
                    reply,
                    notifier,
                    narrowing,
                };
                with_request!(call, request => request.answer(self, asker).await);
            }
            Err(error) => self.refuse(reply, error).await,
        }
    }

    /// Reads a call that its caller may ask. What a caller may not is noted: somebody tries to reach further.
    fn admit(&mut self, caller: &Caller, method: &str, params: Value) -> Result<Call, ApiError> {
        let beyond = |line: &&Method| !caller.role.may_use(line.whose);
        if let Some(line) = Call::named(method).filter(beyond) {
            self.node
                .note_forbidden(self.at(), line.name, NOT_FOR_THIS_SOCKET);
            return Err(not_for_this_socket(caller, line));
        }
        let call = Call::parse(method, params)?;
        let at = self.at();
        let admitted = caller.reach.admit(&self.node, &call);
        let admitted = admitted.and_then(|()| self.decisions.admit(&self.node, at, &call));
        if let Err(error) = &admitted
            && let Some(reason) = reason_of(error)
        {
            self.node.note_forbidden(at, call.method(), reason);
        }
        admitted.map(|()| call)
    }

    /// A call that needs nothing but the node.
    pub(super) async fn serve<R: Serve>(&mut self, request: R, caller: &Caller, reply: Reply) {
        let at = self.at();
        match request.serve(&mut self.node, at, &caller.reach) {
            Ok((answer, outcome)) => {
                let made = R::makes(&answer).map(str::to_owned);
                let answer = value_of::<R>(&answer);
                self.answer(reply, answer, (at.now, outcome), made.as_deref())
                    .await;
            }
            Err(error) => self.refuse(reply, error).await,
        }
    }

    /// What is shown is durable: the answer follows every line that it may rest on.
    pub(super) async fn show<R: Request>(
        &mut self,
        shown: Result<R::Answer, ApiError>,
        reply: Reply,
    ) {
        match shown {
            Ok(shown) => {
                let answer = value_of::<R>(&shown);
                let shown_only = (self.at().now, Outcome::default());
                self.answer(reply, answer, shown_only, None).await;
            }
            Err(error) => self.refuse(reply, error).await,
        }
    }

    /// Answers once `outcome` is durable. It comes with the time at which the node made it: another time in its
    /// lines would be another past at the next start. `made` names the message of ours that the call makes.
    pub(super) async fn answer(
        &mut self,
        mut reply: Reply,
        answer: Result<Value, ApiError>,
        (now, outcome): (Timestamp, Outcome),
        made: Option<&str>,
    ) {
        // Who asked only to be shown something loses nothing by a stop.
        if !outcome.entries.is_empty() {
            reply.in_doubt(made);
        }
        let answer = vec![Deed::Answer(reply, answer)];
        self.write(now, vec![outcome], answer).await;
    }

    /// The journal keeps the order: what is listed now and what arrives later fit together.
    pub(super) async fn follow(&mut self, caller: &Caller, reply: Reply, notifier: Notifier) {
        let at = self.at();
        let listed = ListInbox::default().serve(&mut self.node, at, &caller.reach);
        // While the agents pause nothing is listed, and the follower hears of what arrives when they go on.
        let listed = listed.ok().map(|(listed, _)| listed);
        let follower = Follower {
            notifier,
            reach: caller.reach.clone(),
        };
        let answer = Deed::Answer(reply, value_of::<FollowInbox>(&listed));
        let deeds = vec![Deed::Follow(follower), answer];
        self.write(at.now, Vec::new(), deeds).await;
    }
}

/// A refusal that says whose call it is.
fn not_for_this_socket(caller: &Caller, line: &Method) -> ApiError {
    let (role, whose, method) = (caller.role.as_str(), line.whose.as_str(), line.name);
    let text = format!(
        "{method} is the {whose}'s call, and this is the {role}'s socket; only the {whose} decides that"
    );
    let refusal = ApiError::refused(Reason::NotForThisSocket, text);
    refusal.with(|refusal| refusal.whose = Some(line.whose))
}

/// What is noted of a refusal: a call that was misspelt is nobody's attempt.
fn reason_of(error: &ApiError) -> Option<&'static str> {
    match error.reason()? {
        Reason::BeyondCeiling => Some("beyond-ceiling"),
        Reason::DecisionUnsigned => Some("decision-unsigned"),
        Reason::Protocol(name) => [
            reject::Reason::StatementInvalid,
            reject::Reason::StatementStale,
        ]
        .into_iter()
        .map(reject::Reason::name)
        .find(|known| known == name),
        _ => None,
    }
}

const NOT_FOR_THIS_SOCKET: &str = "not-for-this-socket";

/// Also for what only shows: it might rest on a line that is not durable.
fn disk_full() -> ApiError {
    let text = "the disk is full, and nothing is taken in, answered or sent; free some space where \
                the log is, and the daemon goes on by itself";
    ApiError::refused(Reason::DiskFull, text)
}
