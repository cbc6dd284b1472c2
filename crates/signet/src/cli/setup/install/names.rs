//! What the parts of one installed agent are called: instance, users, groups, directories.

use signet_proto::ids::AgentId;

use crate::cli::CliError;

/// The name of an instance: `signet@NAME`, the user `signet-NAME`, the home `/var/lib/signet/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instance(String);

impl Instance {
    /// The one that was asked for, else the agent's id without `agent-` in front.
    pub(super) fn choose(asked: Option<&str>, agent: &AgentId) -> Result<Self, CliError> {
        let own = agent.as_str();
        Self::parse(asked.unwrap_or(own.strip_prefix("agent-").unwrap_or(own)))
    }

    /// Names are those of users as well, and no two agents may come to the same user or group:
    /// `signet-agent-x` is the group of the socket of `x`, and would be the user of `agent-x`.
    fn parse(text: &str) -> Result<Self, CliError> {
        let plain = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-');
        let is_name = !text.is_empty()
            && text.len() <= LONGEST
            && text.chars().all(plain)
            && !text.starts_with('-')
            && !text.ends_with('-');
        let is_taken = TAKEN.iter().any(|taken| {
            text.strip_prefix(taken)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        });
        if is_name && !is_taken {
            return Ok(Self(text.to_owned()));
        }
        let what = match is_taken {
            true => format!("{text:?} would share users or groups with other parts of signet"),
            false => format!("{text:?} cannot be the name of a user of this system"),
        };
        let next = format!(
            "name the instance with --name: 1 to {LONGEST} of a-z, 0-9 and '-', such as alice"
        );
        Err(CliError::usage(what, next))
    }

    /// The name as it stands behind the `@` of a unit.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The text of the sysusers file of this agent.
    pub(super) fn sysusers(&self) -> String {
        let (name, user, socket) = (&self.0, self.user(), self.socket_group());
        let (handlers, gateway) = (self.handlers(), self.gateway());
        format!(
            "# signet@{name}: the daemon's user, who may use its agent's socket, who may read logs, the handlers' user, the gateway's\n\
             u {user} - \"signet agent {name}\" {home}\n\
             g {socket} - -\n\
             g {AUDIT_GROUP} - -\n\
             u {handlers} - \"handlers of signet agent {name}\" {HANDLERS}/{name}\n\
             m {handlers} {socket}\n\
             u {gateway} - \"gateway of signet agent {name}\" {GATEWAYS}/{name}\n\
             m {gateway} {socket}\n",
            home = self.home(),
        )
    }
}

/// A name of something of an instance, by the form that the instance's own name is set into.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $form:literal;)*) => {
        impl Instance {$(
            $(#[$doc])*
            pub(super) fn $name(&self) -> String {
                format!($form, self.0)
            }
        )*}
    };
}

names! {
    /// The daemon's unit.
    unit = "signet@{}.service";
    /// The unit of the handlers.
    handlers_unit = "signet-handlers@{}.service";
    /// The daemon's user, and its group.
    user = "signet-{}";
    /// The handlers' user, and its group.
    handlers = "signet-handlers-{}";
    /// The unit of the gateway.
    gateway_unit = "signet-gateway@{}.service";
    /// The gateway's user, and its group.
    gateway = "signet-gateway-{}";
    /// Where the gateway keeps its tokens and tasks.
    gateway_directory = "{GATEWAYS}/{}";
    /// What the gateway does.
    gateway_file = "/etc/signet/gateway-{}.toml";
    /// Whose members may use the agent's socket.
    socket_group = "signet-agent-{}";
    /// The home of the agent.
    home = "{HOMES}/{}";
    /// Its login on the NATS server.
    nats_seed = "{HOMES}/{}/nats.nk";
    /// Where the handlers may write.
    handlers_directory = "{HANDLERS}/{}";
    /// The command of the handlers.
    handlers_command = "/etc/signet/handlers-{}.env";
    /// What handles which capability.
    handlers_file = "/etc/signet/handlers-{}.toml";
    /// The users and groups, in the words of sysusers.d(5).
    sysusers_file = "/etc/sysusers.d/signet-{}.conf";
}

/// Below it are the homes.
pub(crate) const HOMES: &str = "/var/lib/signet";
const HANDLERS: &str = "/var/lib/signet-handlers";
const GATEWAYS: &str = "/var/lib/signet-gateway";
/// Whose members may read logs.
pub(super) const AUDIT_GROUP: &str = "signet-audit";
/// A name of a user has at most 31 characters, and the longest one begins with `signet-handlers-`.
const LONGEST: usize = 15;
/// What follows `signet-` in other users and groups.
const TAKEN: [&str; 5] = ["agent", "audit", "gateway", "handlers", "nats"];

#[cfg(test)]
mod tests {
    use super::*;

    fn name(asked: Option<&str>, agent: &str) -> Option<String> {
        let name = Instance::choose(asked, &agent.parse().unwrap()).ok()?;
        Some(name.as_str().to_owned())
    }

    #[test]
    fn an_agents_id_without_its_beginning_names_the_instance() {
        assert_eq!(name(None, "agent-alice-001").as_deref(), Some("alice-001"));
        assert_eq!(name(None, "alpha").as_deref(), Some("alpha"));
        assert_eq!(name(Some("a"), "agent-alice-001").as_deref(), Some("a"));
        assert_eq!(name(None, "agent-with-a-very-long-name"), None);
    }

    /// The daemon of `agent-x` would have run in the group that opens the socket of `x`.
    #[test]
    fn no_agent_gets_the_user_or_group_of_another_part_by_its_name() {
        for taken in ["agent-x", "agent", "audit", "nats", "handlers-x", "gateway"] {
            assert_eq!(name(Some(taken), "x"), None, "{taken}");
            assert_eq!(name(None, &format!("agent-{taken}")), None, "{taken}");
        }
        assert_eq!(name(Some("agents"), "x").as_deref(), Some("agents"));
    }

    #[test]
    fn a_name_leads_out_of_no_directory_and_out_of_no_line() {
        for bad in ["", "..", "a/b", "a b", "a\nb", "A", "-a", "a-", "%i", "a.b"] {
            assert_eq!(name(Some(bad), "x"), None, "{bad:?}");
        }
    }

    #[test]
    fn every_user_and_group_has_a_name_that_the_system_takes() {
        let name = Instance::choose(Some(&"x".repeat(LONGEST)), &"x".parse().unwrap()).unwrap();
        for user in [
            name.user(),
            name.handlers(),
            name.gateway(),
            name.socket_group(),
        ] {
            assert!(user.len() <= 31, "{user}");
        }
    }
}
