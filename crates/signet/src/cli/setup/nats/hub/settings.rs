//! The configuration of a hub: written, and read back where signet wrote it.

use std::fmt::Write as _;

use signet_proto::ids::AgentId;
use zeroize::Zeroizing;

use super::address::HubAddress;
use super::household::HubHousehold;
use crate::cli::setup::nats::conf::is_quotable;
use crate::config::ReplyPrefix;

/// The settings in the configuration of a hub. Names of files stand in it as they were given.
pub(super) struct HubSettings {
    /// Where households reach it.
    pub(super) address: HubAddress,
    /// The file of its authority's certificate; none where the households' systems trust the authority.
    pub(super) authority: Option<String>,
    /// The prefix at which the households' servers answer their agents.
    pub(super) replies: ReplyPrefix,
    /// Where it writes its process id.
    pub(super) pid: String,
    /// Where it listens for households: HOST:PORT.
    pub(super) listen: HubAddress,
    /// The file of its certificate.
    pub(super) certificate: String,
    /// The file of the certificate's key.
    pub(super) key: String,
    pub(super) households: Vec<HubHousehold>,
}

impl HubSettings {
    /// The text of the configuration.
    pub(super) fn render(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        let authority = self.authority.as_ref();
        let authority = authority.map_or_else(String::new, |file| format!("{AUTHORITY}{file}\n"));
        let replies = match self.replies {
            ReplyPrefix::OneToken => "",
            ReplyPrefix::TwoTokens => TWO_TOKENS,
        };
        let Self {
            address,
            pid,
            listen,
            certificate,
            key,
            ..
        } = self;
        let listen = format!("listen: \"{listen}\"");
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{HEAD}{authority}{replies}{SERVER}{PID}{pid}\"\n{LEAFNODES}  {listen}\n{WHY}{ADDRESS}{address}\"\n{TLS}\
             {CERTIFICATE}{certificate}{KEY}{key}{USERS}"
        );
        for household in &self.households {
            self.household(household, &mut text);
        }
        text.push_str(END);
        text
    }

    fn household(&self, household: &HubHousehold, text: &mut String) {
        let replies = |agent: &AgentId| format!("\"{}.>\"", self.replies.of(agent));
        let mut publish = vec!["\"agent.*.inbox\"".to_owned()];
        match self.replies {
            ReplyPrefix::OneToken => {
                let others = self.households.iter();
                let others = others.filter(|other| other.name != household.name);
                publish.extend(others.flat_map(|other| &other.agents).map(replies));
            }
            ReplyPrefix::TwoTokens => publish.push("\"_INBOX.*.>\"".to_owned()),
        }
        let own = &household.agents;
        let subscribe: Vec<String> = own
            .iter()
            .map(inbox)
            .chain(own.iter().map(replies))
            .collect();
        let (publish, subscribe) = (publish.join(", "), subscribe.join(", "));
        let (name, password) = (&household.name, household.password.as_str());
        let _ = write!(
            text,
            "      {{\n{NAME}{name}{PASSWORD}{password}\"\n        permissions: {{\n          publish: {{ allow: [ {publish} ] \
             }}\n{SUBSCRIBE}{subscribe} ] }}\n        }}\n      }}\n"
        );
    }

    /// Reads what [`HubSettings::render`] wrote; `None` for every other text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (head, users) = text.split_once(USERS)?;
        let line = |start: &str| head.lines().find_map(|line| line.strip_prefix(start));
        let file = |text: &str| is_quotable(text).then(|| text.to_owned());
        let tls = line(CERTIFICATE)?;
        let (certificate, key) = tls.split_once(KEY)?;
        let listen = line("  listen: \"")?.strip_suffix('"')?;
        let mut households = Vec::new();
        let mut lines = users.lines();
        while let Some(line) = lines.next() {
            if let Some(login) = line.strip_prefix(NAME) {
                let lists = lines
                    .by_ref()
                    .find_map(|line| line.strip_prefix(SUBSCRIBE))?;
                households.push(household(login, lists)?);
            }
        }
        let settings = Self {
            address: line(ADDRESS)?.strip_suffix('"')?.parse().ok()?,
            authority: match line(AUTHORITY) {
                Some(name) => Some(file(name)?),
                None => None,
            },
            replies: match line(TWO_TOKENS.trim_end()) {
                Some(_) => ReplyPrefix::TwoTokens,
                None => ReplyPrefix::OneToken,
            },
            pid: file(line(PID)?.strip_suffix('"')?)?,
            listen: listen.parse().ok()?,
            certificate: file(certificate)?,
            key: file(key)?,
            households,
        };
        // The lines above look for known texts alone. That the whole is the same again proves that there is no other text,
        // which would be lost.
        (*settings.render() == *text).then_some(settings)
    }
}

fn household(login: &str, lists: &str) -> Option<HubHousehold> {
    let (name, password) = login.split_once(PASSWORD)?;
    let password = password.strip_suffix('"')?.to_owned();
    let subjects = lists.split('"');
    let inboxes = subjects.filter_map(|subject| {
        let agent = subject.strip_prefix("agent.")?;
        agent.strip_suffix(".inbox")?.parse().ok()
    });
    Some(HubHousehold {
        name: name.parse().ok()?,
        password: password.try_into().ok()?,
        agents: inboxes.collect(),
    })
}

fn inbox(agent: &AgentId) -> String {
    format!("\"agent.{agent}.inbox\"")
}

const HEAD: &str = "\
# The hub between the servers of households, by signet nats hub. It carries messages and keeps none. Readable by nats-server
# alone (0600).
";
const AUTHORITY: &str = "# Households know it by: ";
const TWO_TOKENS: &str =
    "# Each agent has this in the [nats] of its config.toml: reply-prefix = \"two-tokens\"\n";
const SERVER: &str = "\
server_name: hub
listen: \"127.0.0.1:-1\"             # no agent connects here: any free port
max_payload: 256KB
";
const PID: &str = "pid_file: \"";
const LEAFNODES: &str = "leafnodes {\n";
const WHY: &str = "  \
  # The address in the households' lines, so that they are told of no other. Not no_advertise: by that a hub of 2.15 lets no
  # household in whose server is older.
";
const ADDRESS: &str = "  advertise: \"";
const TLS: &str = "  \
  # Without TLS whoever reads the network has the passwords of the households.
";
const CERTIFICATE: &str = "  tls { cert_file: \"";
const KEY: &str = "\", key_file: \"";
const USERS: &str = "\", timeout: 5 }
}
# One user for each household. A household sends to the inbox of any agent, and confirms to its senders what its mailboxes hold
# (_INBOX…). It gets what is for its own agents, and nobody else does. Allow-lists only, no deny rules.
accounts {
  CROSSING: {
    users: [
";
const NAME: &str = "        user: \"";
const PASSWORD: &str = "\", password: \"";
const SUBSCRIBE: &str = "          subscribe: { allow: [ ";
const END: &str = "    ]\n  }\n}\n";

#[cfg(test)]
mod tests {
    use super::*;

    /// The file that the page of many servers shows.
    const PAGE: &str = include_str!("../../../../../../../docs/scale/hub.conf");

    #[test]
    fn the_file_of_the_page_is_what_is_written() {
        let settings = HubSettings::parse(PAGE).unwrap();
        assert_eq!(*settings.render(), *PAGE);
        assert_eq!(settings.address.to_string(), "hub.example:7422");
        let agents = settings.households.iter().map(|one| one.agents.len());
        assert_eq!(agents.collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn with_two_tokens_the_lists_name_no_other_household_and_stay_so_when_they_are_read_back() {
        let mut settings = HubSettings::parse(PAGE).unwrap();
        settings.replies = ReplyPrefix::TwoTokens;
        let text = settings.render();
        let lines = PAGE.lines().map(|line| match line.contains("publish: ") {
            true => {
                "          publish: { allow: [ \"agent.*.inbox\", \"_INBOX.*.>\" ] }".to_owned()
            }
            false => line.replace("\"_INBOX_", "\"_INBOX."),
        });
        let mut wanted: Vec<String> = lines.collect();
        wanted.insert(3, TWO_TOKENS.trim_end().to_owned());
        assert_eq!(text.lines().collect::<Vec<_>>(), wanted);
        let read = HubSettings::parse(&text).unwrap();
        assert_eq!(*read.render(), *text);
        // The two kinds of lists do not mix.
        for edited in [
            text.replace(TWO_TOKENS, ""),
            PAGE.replace("server_name", &format!("{TWO_TOKENS}server_name")),
        ] {
            assert!(HubSettings::parse(&edited).is_none(), "{edited}");
        }
    }

    #[test]
    fn a_file_that_somebody_edited_is_not_taken_for_ours() {
        for (from, to) in [
            ("server_name: hub", "server_name: other"),
            ("\"agent.*.inbox\"", "\">\""),
            ("\"_INBOX_agent-bob-001.>\", ", ""),
            ("timeout: 5 }", "timeout: 5, verify: true }"),
            ("house-two", "house-one"),
            ("    ]\n  }\n}\n", "    ]\n  }\n  MINE: {}\n}\n"),
            ("PASSWORD-ONE", "$2a$11$bcrypted"),
            ("hub.example:7422", "hub.example:7422 "),
        ] {
            assert!(PAGE.contains(from), "{from}");
            let edited = PAGE.replacen(from, to, 1);
            assert!(HubSettings::parse(&edited).is_none(), "{to}");
        }
        assert!(HubSettings::parse("").is_none());
    }
}
