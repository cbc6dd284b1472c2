//! What tools of the fixture do while they are called.

use std::time::Duration;

use rmcp::model::{ClientCapabilities, ErrorData, ProgressNotificationParam, ServerNotification};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;
use tokio::time::sleep;

/// Three lines, with time between them.
pub(crate) async fn log(context: &RequestContext<RoleServer>) {
    for line in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        let notification =
            json!({"method": "notifications/message", "params": {"level": "info", "data": line}});
        if let Ok(notification) = serde_json::from_value::<ServerNotification>(notification) {
            // The client may have gone.
            let _ = context.peer.send_notification(notification).await;
        }
        sleep(PAUSE).await;
    }
}

/// From nothing to all of it, for who gave a token.
pub(crate) async fn progress(context: &RequestContext<RoleServer>) {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, done).with_total(100.0);
            // The client may have gone.
            let _ = context.peer.notify_progress(progress).await;
        }
        sleep(PAUSE).await;
    }
}

/// The client did not say that it can sample.
pub(crate) fn wants_sampling() -> ErrorData {
    let wanted = serde_json::from_value::<ClientCapabilities>(json!({ "sampling": {} }));
    match wanted {
        Ok(wanted) => ErrorData::missing_required_client_capability(wanted),
        Err(error) => ErrorData::internal_error(error.to_string(), None),
    }
}

/// Between two steps of a tool.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
