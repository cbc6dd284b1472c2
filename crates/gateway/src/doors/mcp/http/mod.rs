//! MCP over streamable HTTP at `/mcp`: the tools of `signet mcp`, for many clients, each within the scope of its token.
//!
//! The official library speaks both revisions. What it leaves to its user stands here: a session belongs to the token that
//! began it, a token has so many sessions, and an answer of a peer leaves the inbox when the client's connection took it.

mod sessions;
mod taken;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Method, StatusCode};
use rmcp::handler::server::ServerHandler;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use signet_api::ApiError;
use signet_api::rpc::{self, Frame, Id};

use crate::context::Context;
use crate::doors::mcp::receipts::HandedOver;
use crate::doors::mcp::server::Gateway;
use crate::listener::{json, refused};
use crate::scope::Caller;
use sessions::Sessions;

/// Behind authentication.
pub(crate) fn routes(context: &Arc<Context>) -> Router {
    let section = context.config.mcp;
    if !section.enabled {
        return Router::new();
    }
    let daemon = Arc::clone(&context.daemon);
    serving(context, move || {
        Gateway::of_callers(Arc::clone(&daemon), section.tier)
    })
}

/// The door around any server: each session, and each request without one, gets its own of them.
pub(crate) fn serving<S: ServerHandler>(
    context: &Arc<Context>,
    server: impl Fn() -> S + Send + Sync + 'static,
) -> Router {
    let manager = Arc::new(LocalSessionManager::default());
    let room = Arc::new(McpDoor {
        context: Arc::clone(context),
        sessions: Sessions::new(Arc::clone(&manager)),
    });
    // The listener has already checked Host and Origin against gateway.toml for every door, so the library's checks are
    // off.
    let mut config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins();
    config.cancellation_token = context.stop.child_token();
    config.max_request_body_bytes = context.config.limits.body_bytes;
    let service = StreamableHttpService::new(move || Ok(server()), manager, config);
    Router::new()
        .route_service("/mcp", service)
        .route_layer(from_fn_with_state(room, pass))
}

struct McpDoor {
    context: Arc<Context>,
    sessions: Sessions,
}

async fn pass(
    State(room): State<Arc<McpDoor>>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let (head, body) = request.into_parts();
    // The listener has already read the whole body and checked its length, so no limit is needed here.
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        return faulty(&Id::null(), -32_700, "Parse error".to_owned());
    };
    if head.method == Method::POST
        && let Some(answer) = unreadable(&body)
    {
        return answer;
    }
    // Answer as if another token's session did not exist: this token must neither use the session nor learn of it.
    if session(&head.headers).is_some_and(|session| !room.sessions.is_of(session, &caller.name)) {
        return no_session();
    }
    let asked = session(&head.headers).map(str::to_owned);
    let handed_over = HandedOver::default();
    let ends_session = head.method == Method::DELETE;
    let mut request = Request::from_parts(head, Body::from(body));
    request.extensions_mut().insert(handed_over.clone());
    let mut response = next.run(request).await;
    // The library answers the end of a session with 202, which clients take for a failure: so make it 204.
    if ends_session && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
        asked.iter().for_each(|asked| room.sessions.forget(asked));
    }
    // About a session that has ended, the library answers in plain text, but clients read JSON: so replace that answer.
    if let (StatusCode::NOT_FOUND, Some(asked)) = (response.status(), &asked) {
        room.sessions.forget(asked);
        return no_session();
    }
    if let Some(session) = session(response.headers()) {
        room.sessions.note(session, &caller.name).await;
    }
    let daemon = room.context.daemon_of(&caller);
    taken::acknowledged(response, handed_over, daemon)
}

fn no_session() -> Response {
    refused(
        StatusCode::NOT_FOUND,
        "session-unknown",
        "there is no such session",
        "begin a new one, with initialize",
    )
}

fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

/// What a body hears that is no message: the library would say so in plain text, and with the status of another fault.
pub(crate) fn unreadable(body: &[u8]) -> Option<Response> {
    let Ok(raw) = rpc::raw(body) else {
        return Some(faulty(&Id::null(), -32_700, "Parse error".to_owned()));
    };
    if serde_json::from_slice::<ClientJsonRpcMessage>(body).is_ok() {
        return None;
    }
    let (id, why) = match Frame::read(raw) {
        Err((id, why)) => (id, why.to_string()),
        Ok(frame) => {
            let id = frame.id.unwrap_or_else(Id::null);
            (id, "its params do not fit its method".to_owned())
        }
    };
    Some(faulty(&id, -32_600, format!("Invalid Request: {why}")))
}

/// JSON-RPC's own answer.
fn faulty(id: &Id, code: i64, message: String) -> Response {
    let error = ApiError::new(code, message);
    (StatusCode::BAD_REQUEST, json(id.refusal(&error))).into_response()
}

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
