//! The versions of A2A, and how each calls what can be asked.

/// A version of A2A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum A2aVersion {
    /// 0.3: names with a stroke.
    V03,
    /// 1.0: names as of gRPC.
    V1,
}

/// What a method does, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum A2aMethod {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    SetPush,
    GetPush,
    ListPush,
    DeletePush,
    ExtendedCard,
}

impl A2aMethod {
    /// Whether it is about a task that is there, of which the gateway knows without the daemon.
    pub(crate) const fn is_of_tasks(self) -> bool {
        !matches!(self, Self::Send | Self::Stream | Self::ExtendedCard)
    }
}

impl A2aVersion {
    /// The version that the text of a header names, without its patch number.
    pub(crate) fn named(text: &str) -> Option<Self> {
        let mut numbers = text.trim().split('.');
        let known = match (numbers.next(), numbers.next()) {
            (Some("0"), Some("3")) => Self::V03,
            (Some("1"), Some("0")) => Self::V1,
            _ => return None,
        };
        let patch = numbers.next().unwrap_or("0");
        let is_number = !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && numbers.next().is_none()).then_some(known)
    }

    /// The number that names it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V1 => "1.0",
        }
    }
}

impl A2aMethod {
    /// The method of that name, with the version whose name it is.
    pub(crate) fn named(name: &str) -> Option<(Self, A2aVersion)> {
        let found = NAMES.iter().find(|(known, ..)| *known == name);
        found.map(|(_, method, version)| (*method, *version))
    }

    /// Its first name in that version; empty where the version has no such method.
    pub(crate) fn name(self, version: A2aVersion) -> &'static str {
        let found = NAMES
            .iter()
            .find(|(_, method, of)| *method == self && *of == version);
        found.map_or("", |(name, ..)| name)
    }
}

/// Every name of every method. The list of push configurations has two names in the specification of 1.0, and so has the
/// subscription in that of 0.3.
const NAMES: [(&str, A2aMethod, A2aVersion); 23] = {
    use A2aMethod::*;
    use A2aVersion::{V1, V03};
    [
        ("SendMessage", Send, V1),
        ("SendStreamingMessage", Stream, V1),
        ("GetTask", Get, V1),
        ("ListTasks", List, V1),
        ("CancelTask", Cancel, V1),
        ("SubscribeToTask", Subscribe, V1),
        ("CreateTaskPushNotificationConfig", SetPush, V1),
        ("GetTaskPushNotificationConfig", GetPush, V1),
        ("ListTaskPushNotificationConfigs", ListPush, V1),
        ("ListTaskPushNotificationConfig", ListPush, V1),
        ("DeleteTaskPushNotificationConfig", DeletePush, V1),
        ("GetExtendedAgentCard", ExtendedCard, V1),
        ("message/send", Send, V03),
        ("message/stream", Stream, V03),
        ("tasks/get", Get, V03),
        ("tasks/cancel", Cancel, V03),
        ("tasks/resubscribe", Subscribe, V03),
        ("task/subscribe", Subscribe, V03),
        ("tasks/pushNotificationConfig/set", SetPush, V03),
        ("tasks/pushNotificationConfig/get", GetPush, V03),
        ("tasks/pushNotificationConfig/list", ListPush, V03),
        ("tasks/pushNotificationConfig/delete", DeletePush, V03),
        ("agent/getAuthenticatedExtendedCard", ExtendedCard, V03),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_number_is_ignored_and_what_is_no_version_is_refused() {
        for (text, version) in [
            ("1.0", Some(A2aVersion::V1)),
            ("1.0.7", Some(A2aVersion::V1)),
            (" 0.3 ", Some(A2aVersion::V03)),
            ("0.3.0", Some(A2aVersion::V03)),
            ("1", None),
            ("1.1", None),
            ("2.0", None),
            ("1.0.x", None),
            ("1.0.0.0", None),
            ("1.0.", None),
        ] {
            assert_eq!(A2aVersion::named(text), version, "{text}");
        }
    }

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<&str> = NAMES.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NAMES.len());
        assert_eq!(A2aMethod::named("tasks/list"), None);
        assert_eq!(A2aMethod::named("sendMessage"), None);
    }
}
