//! One try of a handler without a daemon and without a peer.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use signet_api::Message;

use crate::handle::config::HandlerSection;
use crate::handle::trace::Trace;
use signet_handlers::{Attempt, Done, Fault};

/// Lets one handler try a body as if a peer had sent it, without a daemon and without a peer. What goes to and fro is
/// printed.
///
/// # Errors
/// When the system has no room; the inner error says how the try failed.
pub(crate) fn try_once(section: &HandlerSection, body: Value) -> io::Result<Result<Done, Fault>> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let message = message(section.capability(), body);
    let key = format!("{}/{}", message.from, message.message_id);
    let attempt = Attempt {
        key: &key,
        tries: 1,
        message: &message,
        teller: None,
    };
    let mut handler = section.handler(&Trace::print());
    let ended = runtime.block_on(async {
        let tried = tokio::time::timeout(section.timeout(), handler.handle(&attempt)).await;
        tried.unwrap_or(Err(Fault::TimedOut))
    });
    Ok(ended)
}

/// A request that nobody sent. Its name is another one each time: an agent that knows it again would not work.
fn message(capability: &str, body: Value) -> Message {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or(Duration::ZERO).as_nanos();
    Message {
        from: "handler-test".to_owned(),
        principal: "handler-test".to_owned(),
        message_id: format!("test-{now}"),
        message_type: "request".to_owned(),
        timestamp: String::new(),
        expires_at: String::new(),
        data_tier: 1,
        hops: 0,
        capability: Some(capability.to_owned()),
        conversation_id: None,
        in_reply_to: None,
        summary: None,
        body: Some(body),
        sealed: None,
        shut: None,
        error: None,
    }
}
