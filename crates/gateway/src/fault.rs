//! Why a tool did not do what it was asked: a name for programs, a sentence, and what to do next.

use std::fmt;

use serde_json::{Value, json};
use signet_api::{ApiError, ClientError, Reason};

/// Why a tool did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    /// The daemon could not be asked, or refused.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// What answers at the socket lets its caller decide for the person.
    #[error(
        "the socket is the person's own, where a program could decide for them; a gateway takes the agent's"
    )]
    PersonsSocket,
    /// The arguments do not fit the schema of the tool.
    #[error("the arguments do not fit the tool's input schema: {0}")]
    Arguments(String),
    /// What was asked goes beyond the tier of this gateway, or of the token that calls.
    #[error("{ceiling} sends and shows nothing above tier {highest}, and this is of tier {asked}")]
    Tier {
        /// The tier of what was asked.
        asked: u8,
        /// The highest.
        highest: u8,
        /// Whose it is.
        ceiling: TierSource,
    },
    /// No such resource.
    #[error("there is no such resource")]
    NoResource,
    /// As many calls are under way as the daemon has places for, and none came free in time.
    #[error(
        "as many calls are under way as there are places at the daemon; nothing of this one is done"
    )]
    Busy,
    /// The system gives no randomness, or an answer has no form: a fault of ours.
    #[error("a fault in the gateway itself: {0}")]
    Own(&'static str),
}

/// What sets the highest tier of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TierSource {
    /// The command that serves it alone.
    Command,
    /// Its token, within what gateway.toml lets any.
    Token,
}

impl fmt::Display for TierSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Command => "this gateway",
            Self::Token => "this token",
        })
    }
}

impl DoorError {
    /// The daemon's word about what was asked, where it is a refusal. One that passes, such as that of a full disk, is no
    /// such word: it says of nothing whether it is there.
    pub(crate) fn refusal(&self) -> Option<&ApiError> {
        match self {
            Self::Daemon(ClientError::Refused(error)) => Some(error).filter(|it| !it.passes()),
            _ => None,
        }
    }

    /// The daemon's refusal of this moment, which passes.
    pub(crate) fn passing(&self) -> Option<&ApiError> {
        match self {
            Self::Daemon(ClientError::Refused(error)) => Some(error).filter(|it| it.passes()),
            _ => None,
        }
    }

    /// The name for programs.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Daemon(ClientError::Refused(error) | ClientError::Stopped(error)) => {
                error.reason().map_or(of_params(error), Reason::as_str)
            }
            Self::Daemon(ClientError::NotReachable { .. }) => DAEMON_AWAY,
            Self::Daemon(ClientError::TimedOut(_)) => "timed-out",
            Self::Daemon(ClientError::Malformed) => "not-a-daemon",
            Self::Daemon(_) => OUTCOME_UNKNOWN,
            Self::PersonsSocket => "persons-socket",
            Self::Arguments(_) => "arguments-unfit",
            Self::Tier { .. } => "tier-withheld",
            Self::NoResource => "resource-unknown",
            Self::Busy => BUSY,
            Self::Own(_) => "fault",
        }
    }

    /// What is wrong.
    fn message(&self) -> String {
        match self {
            Self::Daemon(ClientError::Refused(error) | ClientError::Stopped(error)) => {
                error.fault().unwrap_or(&error.message).to_owned()
            }
            // The text leaves out the path of the daemon's socket, because a model can do nothing with that path.
            Self::Daemon(ClientError::NotReachable { .. }) => {
                "the daemon of this agent does not answer; nothing was sent or changed".to_owned()
            }
            other => other.to_string(),
        }
    }

    /// What to do about it.
    fn next(&self) -> &str {
        match self {
            Self::Daemon(ClientError::Refused(error) | ClientError::Stopped(error)) => {
                if error.is(&Reason::CapabilityNeeded) {
                    return NAME_ONE;
                }
                let next = error.refusal().and_then(|refusal| refusal.next.as_deref());
                next.unwrap_or(match error.is_of_params() {
                    true => "correct the arguments, then call the tool again",
                    false => "agent_status and list_agents show what is possible now",
                })
            }
            Self::Daemon(ClientError::NotReachable { .. }) => {
                "ask the person to start it (signet run, or signet up), then call the tool again"
            }
            Self::Daemon(ClientError::Malformed) => {
                "ask the person to look: signet doctor; the gateway and the daemon may be of different releases"
            }
            Self::Daemon(_) => {
                "it may be done all the same: look with message_status before you repeat it; the same call with \
                 the same key sends nothing twice"
            }
            Self::PersonsSocket => {
                "ask the person to start the gateway with --socket of agent.sock"
            }
            Self::Arguments(_) => "correct the arguments, then call the tool again",
            Self::Tier {
                ceiling: TierSource::Command,
                ..
            } => "leave it to the person, or ask them to start the gateway with a higher --tier",
            Self::Tier {
                ceiling: TierSource::Token,
                ..
            } => {
                "leave it to the person, or ask them for a token of a higher tier (signet token make NAME --tier TIER); `tier` \
                 under [mcp] of gateway.toml is the highest of any"
            }
            Self::NoResource => "resources/list and resources/templates/list name what there is",
            Self::Busy => "call the tool again a little later, or with fewer calls at once",
            Self::Own(_) => "call the tool again, and tell the person if it stays so",
        }
    }

    /// All of it, as the result of a tool shows it. `key` is that of the call, where it had one.
    pub(crate) fn shown(&self, key: Option<&str>) -> Value {
        let mut error = json!({
            "name": self.name(),
            "message": self.message(),
            "next": self.next(),
        });
        let refusal = match self {
            Self::Daemon(ClientError::Refused(error) | ClientError::Stopped(error)) => {
                error.refusal()
            }
            Self::Daemon(_)
            | Self::PersonsSocket
            | Self::Arguments(_)
            | Self::Tier { .. }
            | Self::NoResource
            | Self::Busy
            | Self::Own(_) => None,
        };
        let more = [
            (
                "did_you_mean",
                refusal.and_then(|refusal| refusal.did_you_mean.as_deref()),
            ),
            (
                "message_id",
                refusal.and_then(|refusal| refusal.message_id.as_deref()),
            ),
            ("key", key.filter(|_| self.is_in_doubt())),
        ];
        for (name, value) in more {
            if let (Some(value), Some(error)) = (value, error.as_object_mut()) {
                error.insert(name.to_owned(), Value::from(value));
            }
        }
        json!({ "error": error })
    }

    /// As an error of JSON-RPC: the daemon's own where it is one.
    pub(crate) fn api_error(&self) -> ApiError {
        match self {
            Self::Daemon(ClientError::Refused(error) | ClientError::Stopped(error)) => {
                error.clone()
            }
            other => ApiError::refused(other.name(), other.message()).with_next(other.next_call()),
        }
    }

    /// What to do about it for a program that calls by JSON-RPC, where there are no tools.
    const fn next_call(&self) -> &'static str {
        match self {
            Self::Daemon(ClientError::NotReachable { .. }) => {
                "start the daemon (signet run, or signet up), then send the call again"
            }
            Self::Daemon(ClientError::Malformed) => {
                "look with signet doctor: the gateway and the daemon may be of different releases"
            }
            Self::Daemon(_) => {
                "it may be done all the same: look with `history` before you send it again; a `send` with the same key sends \
                 nothing twice"
            }
            Self::PersonsSocket => "start the gateway with --socket of agent.sock",
            Self::Arguments(_) => "correct the parameters, then send the call again",
            Self::Tier { .. } => "leave it to the person, or use a token of a higher tier",
            Self::NoResource => "look with `history` for what there is",
            Self::Busy => "send the call again a little later, or fewer at once",
            Self::Own(_) => "send the call again, and tell the person if it stays so",
        }
    }

    /// Whether nobody can say if it was done.
    fn is_in_doubt(&self) -> bool {
        match self {
            Self::Daemon(ClientError::Stopped(error)) => error.is(&Reason::OutcomeUnknown),
            Self::Daemon(error) => {
                matches!(
                    error,
                    ClientError::Closed | ClientError::TimedOut(_) | ClientError::Io(_)
                )
            }
            Self::PersonsSocket
            | Self::Arguments(_)
            | Self::Tier { .. }
            | Self::NoResource
            | Self::Busy
            | Self::Own(_) => false,
        }
    }
}

fn of_params(error: &ApiError) -> &'static str {
    match error.is_of_params() {
        true => "arguments-unfit",
        false => "refused",
    }
}

/// What a client can do about a request that named none of several capabilities.
pub(crate) const NAME_ONE: &str = "\
    call the tool again with one of them as `capability`, or with `for_people`: true where the people there are asked";
/// Nobody answers at the daemon's socket: nothing is done.
pub(crate) const DAEMON_AWAY: &str = "daemon-away";
/// The daemon took a call and went before it answered.
pub(crate) const OUTCOME_UNKNOWN: &str = "outcome-unknown";
/// The name of a refusal for want of a slot: the same call may be done a little later.
pub(crate) const BUSY: &str = "busy";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_its_name_and_what_to_do() {
        let refusal = ApiError::refused(Reason::PeerResembles, "no agent bo is known")
            .with_next("write bob")
            .with(|refusal| refusal.did_you_mean = Some("bob".to_owned()));
        let shown = DoorError::from(ClientError::Refused(refusal)).shown(Some("k"));
        assert_eq!(
            shown,
            json!({"error": {"name": "peer-resembles", "message": "no agent bo is known", "next": "write bob",
                "did_you_mean": "bob"}})
        );
        let unfit = ClientError::Refused(ApiError::invalid_params("tier: 1 to 4"));
        let shown = DoorError::from(unfit).shown(None);
        assert_eq!(shown["error"]["name"], "arguments-unfit");
        assert_eq!(shown["error"]["message"], "tier: 1 to 4");
    }

    #[test]
    fn a_program_without_tools_is_told_of_none() {
        for fault in [
            DoorError::from(ClientError::NotReachable {
                path: "agent.sock".into(),
                source: std::io::ErrorKind::NotFound.into(),
            }),
            DoorError::from(ClientError::Closed),
            DoorError::from(ClientError::Malformed),
            DoorError::Own("x"),
        ] {
            let error = fault.api_error();
            let next = error.refusal().and_then(|refusal| refusal.next.clone());
            let next = next.unwrap();
            assert!(
                !next.contains("tool") && !next.contains("message_status"),
                "{next}"
            );
        }
    }

    #[test]
    fn only_what_may_be_done_names_the_key_to_repeat_it_with() {
        let lost = DoorError::from(ClientError::Closed);
        assert_eq!(lost.shown(Some("k"))["error"]["key"], "k");
        let stopped = DoorError::from(ClientError::Stopped(ApiError::outcome_unknown(Some("id"))));
        assert_eq!(stopped.shown(Some("k"))["error"]["key"], "k");
        assert_eq!(stopped.shown(Some("k"))["error"]["message_id"], "id");
        let not_begun = DoorError::from(ClientError::Stopped(ApiError::stopping()));
        assert!(not_begun.shown(Some("k"))["error"].get("key").is_none());
    }
}
