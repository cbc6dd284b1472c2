//! The settings that `signet up` writes into `config.toml`: which NATS servers the agent uses, and what its
//! programs may offer.

use signet_proto::policy::NamePattern;
use signet_transport::SCHEMES;

use crate::cli::CliError;
use crate::config::{Config, ReplyPrefix};
use crate::files::private;
use crate::home::Home;

/// The configuration of `home` as it is written down: NATS_URL is this shell's, and no word of the home's.
pub(super) fn load(home: &Home) -> Result<Config, CliError> {
    Ok(Config::parse(&read(home)?, home, None)?)
}

/// The servers that the configuration of `home` names itself; `None` where it leaves the default.
pub(crate) fn servers_of(home: &Home) -> Result<Option<Vec<String>>, CliError> {
    let text = read(home)?;
    let written = place_of(&text, &SERVERS)
        // The template of the configuration has this setting only as a comment, and a comment sets nothing: so a line that
        // begins with `#` does not count.
        .is_some_and(|at| !text.get(at..).unwrap_or_default().starts_with('#'));
    if !written {
        return Ok(None);
    }
    Ok(Some(Config::parse(&text, home, None)?.nats.servers))
}

/// Writes `servers` into the configuration, in the place of what stands there.
pub(super) fn set_servers(home: &Home, servers: &[String]) -> Result<(), CliError> {
    check(servers)?;
    set(home, &SERVERS, &format!("{servers:?}"), |config| {
        config.nats.servers == servers
    })
}

/// Writes into the configuration what programs of the agent may offer, in the place of what stands there.
pub(super) fn set_offers(home: &Home, patterns: &[NamePattern]) -> Result<(), CliError> {
    let names: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    set(home, &OFFERS, &format!("{names:?}"), |_| true)
}

/// Writes the reply prefix.
pub(super) fn set_reply_prefix(home: &Home, prefix: ReplyPrefix) -> Result<(), CliError> {
    let value = format!("\"{}\"", prefix.as_str());
    set(home, &REPLY_PREFIX, &value, |config| {
        config.nats.reply_prefix == prefix
    })
}

/// Writes the paths of files, in the place of what stands there.
pub(super) fn set_files(home: &Home, files: &[(Setting, String)]) -> Result<(), CliError> {
    let mut text = read(home)?;
    for (setting, path) in files {
        let value = toml::Value::from(path.as_str()).to_string();
        text = edited(&text, setting, &value).ok_or_else(|| by_hand(home, setting, &value))?;
    }
    // Parse the whole only when all stand in it: some settings need another one beside them, and two logins are refused.
    Config::parse(&text, home, None)?;
    Ok(private::replace(&home.config_file(), text.as_bytes())?)
}

/// Writes the value in the place of the setting, also where that is a comment. `took` says whether the
/// configuration has it then.
fn set(
    home: &Home,
    setting: &Setting,
    value: &str,
    took: impl Fn(&Config) -> bool,
) -> Result<(), CliError> {
    let by_hand = || by_hand(home, setting, value);
    let text = edited(&read(home)?, setting, value).ok_or_else(by_hand)?;
    // Parse the new text before it is written: a person may have edited the lines around the setting, and a
    // configuration that cannot be read would keep the daemon from starting.
    let parsed = Config::parse(&text, home, None);
    if parsed.is_ok_and(|config| took(&config)) {
        return Ok(private::replace(&home.config_file(), text.as_bytes())?);
    }
    Err(by_hand())
}

/// The text with that value of the setting: in the place of what stands there, or else at the head of its section. `None`
/// where it has no such section.
fn edited(text: &str, setting: &Setting, value: &str) -> Option<String> {
    let (before, after) = match place_of(text, setting) {
        Some(place) => {
            let (before, rest) = text.split_at_checked(place)?;
            (before, rest.split_once('\n').map_or("", |(_, after)| after))
        }
        None => text.split_at_checked(head_of(text, setting)?)?,
    };
    Some(format!("{before}{} = {value}\n{after}", setting.name))
}

/// Where the first line behind the one that begins the section of a setting begins.
fn head_of(text: &str, setting: &Setting) -> Option<usize> {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').map(|line| {
        at += line.len();
        (line, at)
    });
    let found = lines.find(|(line, _)| line.ends_with('\n') && line.trim() == setting.section);
    found.map(|(_, end)| end)
}

fn by_hand(home: &Home, setting: &Setting, value: &str) -> CliError {
    let Setting { section, name } = *setting;
    let what = format!(
        "{}: no place was found for `{name}` in {section}",
        home.config_file().display()
    );
    let next = format!("write it by hand: {name} = {value}, then signet up again");
    CliError::usage(what, next)
}

/// Whether these are addresses of NATS servers, without a login. What is refused is not repeated: it may hold a
/// secret.
pub(crate) fn check(servers: &[String]) -> Result<(), CliError> {
    let what = "the address of the NATS server cannot be used";
    for server in servers {
        if server.contains('@') {
            let next = "an address holds no login: give --login, or put nkey, creds or user into config.toml";
            return Err(CliError::usage(what, next));
        }
        let mut schemes = SCHEMES.iter();
        let rest = schemes.find_map(|scheme| Some((*scheme, server.strip_prefix(scheme)?)));
        let usable = |(scheme, rest): (&str, &str)| {
            // A WebSocket server may stand behind a proxy that knows it by a path.
            let (host, path) = match scheme {
                "ws://" | "wss://" => rest.split_once('/').unwrap_or((rest, "")),
                _ => (rest, ""),
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]%".contains(c);
            !host.is_empty()
                && host.chars().all(plain)
                && path.chars().all(|c| plain(c) || c == '/')
        };
        if !rest.is_some_and(usable) {
            let next =
                "write nats://HOST:PORT or tls://HOST:PORT, over a WebSocket wss://HOST:PORT";
            return Err(CliError::usage(what, next));
        }
    }
    Ok(())
}

/// Where the line of the setting begins in its section, also where it is a comment.
fn place_of(text: &str, setting: &Setting) -> Option<usize> {
    let (mut at, mut inside) = (0, false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        if bare.starts_with('[') {
            inside = bare == setting.section;
        }
        // Find the line of the setting, and do not write the TOML anew: that would lose the person's comments
        // and the order of the lines.
        let name = bare.trim_start_matches('#').trim_start();
        let name = name.strip_prefix(setting.name).map(str::trim_start);
        if inside && name.is_some_and(|rest| rest.starts_with('=')) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// A setting that is written.
pub(super) struct Setting {
    /// The line that begins its section.
    pub(super) section: &'static str,
    pub(super) name: &'static str,
}

const SERVERS: Setting = Setting {
    section: "[nats]",
    name: "servers",
};
const REPLY_PREFIX: Setting = Setting {
    section: "[nats]",
    name: "reply-prefix",
};
const OFFERS: Setting = Setting {
    section: "[offer]",
    name: "allow",
};

/// The text of the configuration, if nobody but its owner can change it: what is written anew has the owner's mode, and
/// would hide that others wrote it.
fn read(home: &Home) -> Result<String, CliError> {
    Ok(Config::text(home)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(text: &str) -> (tempfile::TempDir, Home) {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        std::fs::write(home.config_file(), text).unwrap();
        (directory, home)
    }

    const AGENT: &str = "[agent]\nagent = \"a\"\nprincipal = \"p\"\n";

    #[test]
    fn the_setting_takes_the_place_of_the_comment_and_nothing_else_changes() {
        let template = Config::template(&"a".parse().unwrap(), &"p".parse().unwrap());
        let (_directory, home) = home(&template);
        assert_eq!(servers_of(&home).unwrap(), None);
        let servers = ["nats://127.0.0.1:4333".to_owned()];
        set_servers(&home, &servers).unwrap();
        assert_eq!(servers_of(&home).unwrap().unwrap(), servers);
        let others = [
            "nats://a.example:4222".to_owned(),
            "tls://b.example:4222".to_owned(),
        ];
        set_servers(&home, &others).unwrap();
        assert_eq!(servers_of(&home).unwrap().unwrap(), others);
        let text = std::fs::read_to_string(home.config_file()).unwrap();
        let changed: Vec<_> = text
            .lines()
            .filter(|line| !template.contains(line))
            .collect();
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!(text.lines().count(), template.lines().count());
    }

    #[test]
    fn an_address_of_a_websocket_may_have_a_path_and_none_a_login() {
        let fits = |server: &str| check(&[server.to_owned()]).is_ok();
        for server in ["wss://a.example", "ws://[::1]:80/nats", "wss://a:443/b/c"] {
            assert!(fits(server), "{server}");
        }
        for server in [
            "wss:///nats",
            "tls://a/nats",
            "wss://u@a",
            "wss://a/\"",
            "http://a",
        ] {
            assert!(!fits(server), "{server}");
        }
    }

    #[test]
    fn what_may_be_offered_takes_the_place_of_the_comment() {
        let template = Config::template(&"a".parse().unwrap(), &"p".parse().unwrap());
        let (_directory, home) = home(&template);
        let patterns = ["calendar.*", "lamp.switch"].map(|pattern| pattern.parse().unwrap());
        set_offers(&home, &patterns).unwrap();
        let text = std::fs::read_to_string(home.config_file()).unwrap();
        assert!(text.contains("\nallow = [\"calendar.*\", \"lamp.switch\"]\n"));
        assert_eq!(text.lines().count(), template.lines().count());
        let policy = Config::parse(&text, &home, None).unwrap().policy;
        assert!(policy.allows_offer(&"calendar.free-busy".parse().unwrap()));
        assert!(!policy.allows_offer(&"door.open".parse().unwrap()));
    }

    #[test]
    fn what_has_no_place_or_would_break_the_file_is_left_to_the_person() {
        for text in [
            AGENT.to_owned(),
            format!("{AGENT}[nats]\nservers = [\n \"nats://x:1\"]\n"),
        ] {
            let (_directory, home) = home(&text);
            let failure = set_servers(&home, &["nats://127.0.0.1:1".to_owned()]);
            assert!(failure.is_err());
            assert_eq!(std::fs::read_to_string(home.config_file()).unwrap(), text);
        }
    }

    #[test]
    fn a_configuration_that_others_may_write_is_refused_and_keeps_its_mode() {
        let text = format!("{AGENT}[nats]\nservers = []\n[notify]\ncommand = [\"/tmp/theirs\"]\n");
        let (_directory, home) = home(&text);
        let file = home.config_file();
        for mode in [0o666, 0o622, 0o620] {
            let others = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&file, others).unwrap();
            assert!(load(&home).is_err() && servers_of(&home).is_err());
            let failure = set_servers(&home, &["nats://127.0.0.1:1".to_owned()]).unwrap_err();
            assert!(
                matches!(&failure, CliError::Told { next, .. } if next.starts_with("chmod 600 ")),
                "{failure:?}"
            );
            let facts = std::fs::metadata(&file).unwrap();
            let is = std::os::unix::fs::MetadataExt::mode(&facts) & 0o777;
            assert_eq!(
                (is, std::fs::read_to_string(&file).unwrap()),
                (mode, text.clone())
            );
        }
    }

    #[test]
    fn a_setting_of_that_name_in_another_section_is_not_taken_for_it() {
        let text = format!(
            "{AGENT}[[peer]]\n# servers = 1\nid = \"b\"\n[nats]\nservers = [\"nats://x:1\"]\n"
        );
        let (_directory, home) = home(&text);
        assert_eq!(servers_of(&home).unwrap().unwrap(), ["nats://x:1"]);
    }
}
