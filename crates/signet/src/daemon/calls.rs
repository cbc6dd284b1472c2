//! Every call of every socket passes here: whether its caller may ask it, and who serves it.
//!
//! ```text
//! RawCall ─▶ admit (whose call, how far the caller reaches, what the person signed) ─▶ AnswerCall::answer ─▶ Batch
//! ```
//!
//! One file a subject. What needs the node alone is [`Serve`], which the command line asks of a stopped agent as well.

mod attention;
mod card;
mod carrying;
pub(super) mod decision;
mod drafts;
mod handoffs;
mod history;
mod inbox;
mod keys;
mod leases;
pub(super) mod listing;
mod metrics;
mod narrow;
mod nearest;
mod offer;
mod outbox;
mod peers;
mod people;
mod quarantine;
mod reach;
mod receive;
mod reload;
mod sending;
pub(super) mod serve;
mod status;
mod subscribe;

use signet_api::{
    ApiError, Call, Method, Params, Reason, Request, ShowMetrics, ShowStatus, with_request,
};
use signet_proto::reject;

use crate::control::{Narrowing, Notifier, RawCall, ReplySender, SocketCaller};

use super::batch::Batch;
use super::daemon_state::DaemonState;
use serve::{Serve, text_of};

/// Who asks, and where the answer goes.
struct Asker<'a> {
    caller: &'a SocketCaller,
    reply: ReplySender,
    /// Tells the client more, after the answer.
    notifier: Notifier,
    /// What the connection of the caller is narrowed to.
    narrowing: Narrowing,
}

/// A call that the daemon answers. What [`Serve`] can do needs nothing more.
trait AnswerCall: Request {
    /// Does what is asked; the answer is in the batch, behind the lines that it may rest on, or comes later.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch;
}

impl<R: Serve> AnswerCall for R {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let at = state.at();
        let done = self.serve(&mut state.node.turn(at), &asker.caller.reach);
        let made = done.as_ref().ok().and_then(|(answer, _)| R::makes(answer));
        let made = made.map(str::to_owned);
        state.answer::<R>(at.now, done, asker.reply, made.as_deref())
    }
}

/// Serves one call. A call that changes something is answered when that is durable.
pub(super) fn call(state: &mut DaemonState, raw: RawCall) -> Batch {
    let RawCall {
        method,
        params,
        caller,
        reply,
        notifier,
        narrowing,
    } = raw;
    // A call that came before `narrow` keeps its wider reach. Calls are served in order, so apply the narrowing here, where the
    // call is served, and not when it comes.
    let caller = narrowing.of(caller);
    // On a full disk no line can be written: refuse every call but those that have to say what is wrong, and write none.
    if state.log.full_since().is_some() {
        let may_use = |line: &&Method| caller.may_use(line);
        let is_callers = Call::named(&method).filter(may_use).is_some();
        reply.send(match Call::parse(&method, params) {
            Ok(Call::ShowStatus(_)) if is_callers => {
                text_of::<ShowStatus>(&status::status(state, &caller))
            }
            Ok(Call::ShowMetrics(_)) if is_callers => {
                text_of::<ShowMetrics>(&metrics::metrics(state))
            }
            _ => Err(disk_full()),
        });
        return Batch::nothing();
    }
    match admit(state, &caller, &method, params) {
        Ok(call) => {
            let asker = Asker {
                caller: &caller,
                reply,
                notifier,
                narrowing,
            };
            with_request!(call, request => request.answer(state, asker))
        }
        Err(error) => state.refuse(reply, error),
    }
}

/// Reads a call that its caller may ask. What a caller may not is noted: somebody tries to reach further.
fn admit(
    state: &mut DaemonState,
    caller: &SocketCaller,
    method: &str,
    params: Params,
) -> Result<Call, ApiError> {
    let (at, node) = (state.at(), &mut state.node);
    let beyond = |line: &&Method| !caller.may_use(line);
    // Check whether the caller may use the method before its parameters are read, so that an
    // attempt with malformed parameters is noted too.
    if let Some(line) = Call::named(method).filter(beyond) {
        node.turn(at)
            .me()
            .note_forbidden(line.name, NOT_FOR_THIS_SOCKET);
        return Err(not_for_this_socket(caller, line));
    }
    let call = Call::parse(method, params)?;
    let admitted = reach::admit(&caller.reach, node, &call);
    // Check the caller's limits before the person's signature: checking the signature uses up the signed decision, and
    // a call that is refused for its limits must not cost the person a decision.
    let admitted = admitted.and_then(|()| state.decisions.admit(node, at.now, &call));
    if let Err(error) = &admitted
        && let Some(reason) = reason_of(error)
    {
        node.turn(at).me().note_forbidden(call.method(), reason);
    }
    admitted.map(|()| call)
}

/// A refusal that says whose call it is.
fn not_for_this_socket(caller: &SocketCaller, line: &Method) -> ApiError {
    let (role, whose, method) = (caller.role.as_str(), line.whose.as_str(), line.name);
    let text = match caller.role.may_use(line.whose) {
        // The socket allows this call, so the connection was lowered to one that only looks: say that.
        true => format!(
            "{method} is not among the calls of a connection that only looks; nothing widens it again"
        ),
        false => format!(
            "{method} is the {whose}'s call, and this is the {role}'s socket; only the {whose} decides that"
        ),
    };
    let refusal = ApiError::refused(Reason::NotForThisSocket, text);
    refusal.with(|refusal| refusal.whose = Some(line.whose))
}

/// The reason under which a refused call is noted as an attempt to reach too far; `None` for one that is only
/// misspelt.
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

/// The refusal of every call on a full disk, also of one that only shows something: the answer could depend on a line
/// that is not durable.
fn disk_full() -> ApiError {
    let text = "the disk is full, and nothing is taken in, answered or sent; free some space where \
                the log is, and the daemon goes on by itself";
    ApiError::refused(Reason::DiskFull, text)
}
