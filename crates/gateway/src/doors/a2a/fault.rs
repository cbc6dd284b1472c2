//! The errors of A2A: code, reason, a sentence, and what stands beside it in each version.

use serde_json::{Map, Value, json};

use super::words::method::A2aVersion;
use super::words::read::Misread;

/// Why a call of A2A was not done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct A2aError {
    kind: A2aErrorKind,
    message: String,
    /// The parameter that does not fit.
    field: Option<String>,
    /// More for programs: texts by name.
    metadata: Map<String, Value>,
}

/// Which error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum A2aErrorKind {
    Parse,
    Request,
    Method,
    Params,
    Internal,
    TaskNotFound,
    NotCancelable,
    PushNotSupported,
    Unsupported,
    ContentType,
    ExtensionRequired,
    VersionNotSupported,
}

impl A2aErrorKind {
    /// The code of JSON-RPC, and the name in google.rpc.ErrorInfo.
    const fn row(self) -> (i64, &'static str) {
        match self {
            Self::Parse => (-32700, "PARSE_ERROR"),
            Self::Request => (-32600, "INVALID_REQUEST"),
            Self::Method => (-32601, "METHOD_NOT_FOUND"),
            Self::Params => (-32602, "INVALID_PARAMS"),
            Self::Internal => (-32603, "INTERNAL_ERROR"),
            Self::TaskNotFound => (-32001, "TASK_NOT_FOUND"),
            Self::NotCancelable => (-32002, "TASK_NOT_CANCELABLE"),
            Self::PushNotSupported => (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            Self::Unsupported => (-32004, "UNSUPPORTED_OPERATION"),
            Self::ContentType => (-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
            Self::ExtensionRequired => (-32008, "EXTENSION_SUPPORT_REQUIRED"),
            Self::VersionNotSupported => (-32009, "VERSION_NOT_SUPPORTED"),
        }
    }

    /// The code of JSON-RPC.
    pub(crate) const fn code(self) -> i64 {
        self.row().0
    }

    /// Whether A2A defines the code, and not JSON-RPC, whose own codes are from -32700 to -32600.
    const fn is_of_a2a(self) -> bool {
        self.code() > -32_100
    }
}

impl From<Misread> for A2aError {
    fn from(misread: Misread) -> Self {
        Self::params(misread.field, &misread.wrong)
    }
}

impl A2aError {
    pub(crate) fn new(kind: A2aErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            field: None,
            metadata: Map::new(),
        }
    }

    /// A parameter does not fit.
    pub(crate) fn params(field: impl Into<String>, wrong: &str) -> Self {
        let field = field.into();
        Self {
            field: Some(field.clone()),
            ..Self::new(
                A2aErrorKind::Params,
                format!("Invalid parameters: {field} {wrong}"),
            )
        }
    }

    /// No task of that name is the caller's.
    pub(crate) fn no_task(id: &str) -> Self {
        let next = "Task not found: none of that id was made by this caller here";
        Self::new(A2aErrorKind::TaskNotFound, next).with("taskId", id)
    }

    /// A fault of the gateway itself or of its daemon.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(A2aErrorKind::Internal, message)
    }

    /// The same with more for programs.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.to_owned(), value.into());
        self
    }

    /// Whether it was not done for want of a place, and may be done a little later.
    pub(crate) fn is_busy(&self) -> bool {
        self.metadata.get("reason").and_then(Value::as_str) == Some(BUSY_REASON)
    }

    pub(crate) const fn kind(&self) -> A2aErrorKind {
        self.kind
    }

    /// The error object of a response.
    pub(crate) fn write(&self, version: A2aVersion) -> Value {
        let mut error = json!({ "code": self.kind.code(), "message": self.message });
        let data = match version {
            A2aVersion::V1 => self.details(),
            A2aVersion::V03 if self.metadata.is_empty() => None,
            A2aVersion::V03 => Some(Value::Object(self.metadata.clone())),
        };
        if let (Some(data), Some(members)) = (data, error.as_object_mut()) {
            members.insert("data".to_owned(), data);
        }
        error
    }

    /// What 1.0 has beside the code: a list of typed objects.
    fn details(&self) -> Option<Value> {
        let mut details = Vec::new();
        if self.kind.is_of_a2a() || !self.metadata.is_empty() {
            let mut info = json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": self.kind.row().1,
                "domain": "a2a-protocol.org",
            });
            if let (false, Some(members)) = (self.metadata.is_empty(), info.as_object_mut()) {
                members.insert("metadata".to_owned(), Value::Object(self.metadata.clone()));
            }
            details.push(info);
        }
        if let Some(field) = &self.field {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{ "field": field, "description": self.message }],
            }));
        }
        (!details.is_empty()).then_some(Value::Array(details))
    }
}

/// Beside an error that may be gone a little later.
pub(crate) const BUSY_REASON: &str = "BUSY";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_1_0_says_its_reason_in_a_list_and_one_of_0_3_does_not() {
        let fault = A2aError::no_task("t-1");
        let data = fault.write(A2aVersion::V1)["data"].clone();
        assert_eq!(
            data,
            json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org", "metadata": {"taskId": "t-1"}}])
        );
        let written = fault.write(A2aVersion::V03);
        assert_eq!(
            (&written["code"], &written["data"]),
            (&json!(-32001), &json!({"taskId": "t-1"}))
        );
    }

    #[test]
    fn a_wrong_parameter_is_named() {
        let written = A2aError::params("message.parts", "is empty").write(A2aVersion::V1);
        assert_eq!(written["code"], -32602);
        assert_eq!(
            written["data"][0]["fieldViolations"][0]["field"],
            "message.parts"
        );
        assert!(
            A2aError::params("x", "y")
                .write(A2aVersion::V03)
                .get("data")
                .is_none()
        );
        assert!(
            A2aError::new(A2aErrorKind::Method, "x")
                .write(A2aVersion::V1)
                .get("data")
                .is_none()
        );
    }
}
