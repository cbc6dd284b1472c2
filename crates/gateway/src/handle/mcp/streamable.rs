//! MCP over streamable HTTP: each message is a POST; its answer is JSON, or one event of a stream.

use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde_json::{Value, json};

use super::{greeted, greeting, pass_on};
use crate::handle::events::Events;
use crate::handle::http::{self, HandlerPost, is_stream, who_asks};
use crate::handle::jsonrpc::{self, RpcAnswer};
use crate::handle::trace::Trace;
use crate::outgoing::{Endpoint, HttpAnswer};
use signet_handlers::answer::{self, ANSWER};
use signet_handlers::{Attempt, Fault};

/// A server at an address.
pub(crate) struct Streamable {
    endpoint: Endpoint,
    session: Option<HttpSession>,
    last: u64,
}

/// What the server said when it was greeted.
struct HttpSession {
    /// Its name for the session, where it keeps one.
    id: Option<String>,
    version: &'static str,
}

impl Streamable {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            session: None,
            last: 0,
        }
    }

    /// Calls the tool. A session that the server has forgotten is begun anew, once.
    pub(super) async fn call(
        &mut self,
        attempt: &Attempt<'_>,
        trace: &Trace,
        params: Value,
    ) -> Result<RpcAnswer, Fault> {
        let was_kept = self.session.is_some();
        match self.try_call(attempt, trace, params.clone()).await {
            Err(Fault::Status(404)) if was_kept => self.try_call(attempt, trace, params).await,
            called => called,
        }
    }

    async fn try_call(
        &mut self,
        attempt: &Attempt<'_>,
        trace: &Trace,
        params: Value,
    ) -> Result<RpcAnswer, Fault> {
        // Take the session out, and put it back only after a good call: the server may have ended the session of a failed call,
        // so the next call begins a new one.
        let session = match self.session.take() {
            Some(session) => session,
            None => self.greet(attempt, trace).await?,
        };
        let (called, _) = self
            .ask(attempt, trace, Some(&session), "tools/call", params)
            .await?;
        self.session = Some(session);
        Ok(called)
    }

    async fn greet(&mut self, attempt: &Attempt<'_>, trace: &Trace) -> Result<HttpSession, Fault> {
        let (answer, reply) = self
            .ask(attempt, trace, None, "initialize", greeting())
            .await?;
        let session = HttpSession {
            id: reply.header(SESSION).map(str::to_owned),
            version: greeted(answer)?,
        };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let post = self.post(attempt, trace, Some(&session), &ready);
        let taken = http::post(&self.endpoint, post).await?;
        match taken.status.is_success() {
            true => Ok(session),
            false => Err(Fault::Status(taken.status.as_u16())),
        }
    }

    async fn ask(
        &mut self,
        attempt: &Attempt<'_>,
        trace: &Trace,
        session: Option<&HttpSession>,
        method: &str,
        params: Value,
    ) -> Result<(RpcAnswer, HttpAnswer), Fault> {
        self.last += 1;
        let id = json!(self.last);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let post = self.post(attempt, trace, session, &request);
        let (mut events, mut found) = (Events::default(), None);
        let mut watch = |headers: &HeaderMap, piece: &[u8]| match is_stream(headers) {
            true => events.push(piece, |data| {
                trace.heard(attempt, data);
                found = answer_in(attempt, data, &id)?;
                Ok(found.is_some())
            }),
            false => Ok(false),
        };
        let reply = http::post_until(&self.endpoint, post, &mut watch).await?;
        if is_stream(&reply.headers) && reply.status.is_success() {
            let value = found.ok_or(Fault::CutShort)?;
            return Ok((jsonrpc::answer(value, &id)?, reply));
        }
        trace.heard(attempt, &reply.body);
        match reply.status {
            // An MCP server answers 404 if the session has ended (streamable HTTP): report the status, whatever the body says,
            // so that `call` begins a new session.
            StatusCode::NOT_FOUND if session.is_some() => Err(Fault::Status(404)),
            _ => Ok((jsonrpc::outcome(&reply, &id)?, reply)),
        }
    }

    fn post(
        &self,
        attempt: &Attempt<'_>,
        trace: &Trace,
        session: Option<&HttpSession>,
        request: &Value,
    ) -> HandlerPost {
        let body = request.to_string().into_bytes();
        trace.sent(attempt, &body);
        let mut headers = who_asks(attempt);
        if let Some(session) = session {
            headers.push(("mcp-protocol-version", session.version.to_owned()));
            headers.extend(session.id.iter().map(|id| (SESSION, id.clone())));
        }
        HandlerPost {
            body,
            accept: "application/json, text/event-stream",
            headers,
        }
    }
}

/// The answer, if the event holds it. Progress is passed on; what else a server asks in a stream gets no answer.
fn answer_in(attempt: &Attempt<'_>, data: &[u8], id: &Value) -> Result<Option<Value>, Fault> {
    if data.is_empty() {
        return Ok(None);
    }
    let value = answer::read(data, ANSWER)?;
    match (value.get("method"), value.get("id") == Some(id)) {
        (None, true) => Ok(Some(value)),
        (None, false) => Err(Fault::WrongId),
        (Some(_), _) => {
            pass_on(attempt, &value);
            Ok(None)
        }
    }
}

const SESSION: &str = "mcp-session-id";
