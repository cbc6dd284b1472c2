//! The errors of A2A: code, reason, a sentence, and what stands beside it in each version.

use serde_json::{Map, Value, json};

use super::words::method::Version;
use super::words::read::Misread;

/// Why a call of A2A was not done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct A2aError {
    kind: Kind,
    message: String,
    /// The parameter that does not fit.
    field: Option<String>,
    /// More for programs: texts by name.
    metadata: Map<String, Value>,
}

/// Which error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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

impl Kind {
    /// The code of JSON-RPC.
    pub(crate) const fn code(self) -> i64 {
        match self {
            Self::Parse => -32700,
            Self::Request => -32600,
            Self::Method => -32601,
            Self::Params => -32602,
            Self::Internal => -32603,
            Self::TaskNotFound => -32001,
            Self::NotCancelable => -32002,
            Self::PushNotSupported => -32003,
            Self::Unsupported => -32004,
            Self::ContentType => -32005,
            Self::ExtensionRequired => -32008,
            Self::VersionNotSupported => -32009,
        }
    }

    /// The name in google.rpc.ErrorInfo.
    const fn reason(self) -> &'static str {
        match self {
            Self::Parse => "PARSE_ERROR",
            Self::Request => "INVALID_REQUEST",
            Self::Method => "METHOD_NOT_FOUND",
            Self::Params => "INVALID_PARAMS",
            Self::Internal => "INTERNAL_ERROR",
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::NotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::Unsupported => "UNSUPPORTED_OPERATION",
            Self::ContentType => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::ExtensionRequired => "EXTENSION_SUPPORT_REQUIRED",
            Self::VersionNotSupported => "VERSION_NOT_SUPPORTED",
        }
    }

    /// Whether A2A, and not JSON-RPC, defines it.
    const fn is_of_a2a(self) -> bool {
        self.code() > -32100
    }
}

impl From<Misread> for A2aError {
    fn from(misread: Misread) -> Self {
        Self::params(misread.field, &misread.wrong)
    }
}

impl A2aError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
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
            ..Self::new(Kind::Params, format!("Invalid parameters: {field} {wrong}"))
        }
    }

    /// No task of that name is the caller's.
    pub(crate) fn no_task(id: &str) -> Self {
        let next = "Task not found: none of that id was made by this caller here";
        Self::new(Kind::TaskNotFound, next).with("taskId", id)
    }

    /// A fault of the gateway itself or of its daemon.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
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

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    /// The error object of a response.
    pub(crate) fn write(&self, version: Version) -> Value {
        let mut error = json!({ "code": self.kind.code(), "message": self.message });
        let data = match version {
            Version::V1 => self.details(),
            Version::V03 if self.metadata.is_empty() => None,
            Version::V03 => Some(Value::Object(self.metadata.clone())),
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
                "reason": self.kind.reason(),
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
        let data = fault.write(Version::V1)["data"].clone();
        assert_eq!(
            data,
            json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org", "metadata": {"taskId": "t-1"}}])
        );
        let written = fault.write(Version::V03);
        assert_eq!(
            (&written["code"], &written["data"]),
            (&json!(-32001), &json!({"taskId": "t-1"}))
        );
    }

    #[test]
    fn a_wrong_parameter_is_named() {
        let written = A2aError::params("message.parts", "is empty").write(Version::V1);
        assert_eq!(written["code"], -32602);
        assert_eq!(
            written["data"][0]["fieldViolations"][0]["field"],
            "message.parts"
        );
        assert!(
            A2aError::params("x", "y")
                .write(Version::V03)
                .get("data")
                .is_none()
        );
        assert!(
            A2aError::new(Kind::Method, "x")
                .write(Version::V1)
                .get("data")
                .is_none()
        );
    }
}
