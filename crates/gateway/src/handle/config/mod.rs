//! `handlers.toml`: which capability is handled by what.

mod section;
mod target;
mod written;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use signet_files::{SettingFault, TomlFile};
use signet_handlers::Worker;

use crate::handle::trace::Trace;
use crate::settings_file::{SettingsFault, SettingsFile};

pub use section::HandlerSection;

/// Every handler of one agent.
#[derive(Debug)]
pub struct Handlers {
    sections: Vec<HandlerSection>,
}

impl Handlers {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, everybody may write it, or the first fault in it.
    pub fn load(path: &Path) -> Result<Self, SettingsFault> {
        let beside = path.parent().unwrap_or(Path::new("."));
        FILE.load(path, |text| Self::parse(text, beside))
    }

    /// The handler of a capability.
    pub fn get(&self, capability: &str) -> Option<&HandlerSection> {
        let mut sections = self.sections.iter();
        sections.find(|section| section.capability() == capability)
    }

    /// The handlers, in the order of the file.
    pub fn sections(&self) -> &[HandlerSection] {
        &self.sections
    }

    /// All that work at the socket: as many for each handler as it may do at once.
    pub fn workers(&self, socket: &Path, trace: &Trace, once: bool) -> Vec<Worker> {
        let sections = self.sections.iter();
        let all = sections.flat_map(|section| (0..section.parallel()).map(move |_| section));
        all.map(|section| section.worker(socket, trace, once))
            .collect()
    }

    fn parse(text: &str, beside: &Path) -> Result<Self, SettingFault> {
        let file = TomlFile::parse(text)?;
        file.read::<HandlersFile>()?;
        let of_all = |what: String| SettingFault {
            line: 1,
            what,
            next: "correct it".to_owned(),
        };
        let mut sections: Vec<HandlerSection> = Vec::new();
        for keys in file.tables("handler") {
            let taken = |capability: &str| {
                let mut others = sections.iter();
                others.any(|other| other.capability() == capability)
            };
            sections.push(HandlerSection::read(keys, beside, taken)?);
        }
        if sections.is_empty() {
            return Err(of_all(
                "there is no handler; write a [[handler]]".to_owned(),
            ));
        }
        let said: usize = sections.iter().map(|one| usize::from(one.parallel())).sum();
        let unsaid = sections.iter().filter(|one| one.parallel() == 0).count();
        // The agent's socket has places for `MOST_WORKERS` workers beside other programs: handlers without `parallel` share
        // evenly what the other handlers leave of these places.
        let left = MOST_WORKERS.saturating_sub(said) / unsaid.max(1);
        let left = u8::try_from(left).unwrap_or(u8::MAX);
        sections.iter_mut().for_each(|one| one.take_share(left));
        let places: usize = sections.iter().map(|one| usize::from(one.parallel())).sum();
        match places > MOST_WORKERS {
            true => Err(of_all(format!(
                "`parallel` of all handlers is {places} together, and the daemon has places for {MOST_WORKERS}; give some of them less"
            ))),
            false => Ok(Self { sections }),
        }
    }
}

/// Each table is read in parts: which keys it has, its `kind` says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HandlersFile {
    #[serde(default, rename = "handler")]
    _handler: Vec<BTreeMap<String, IgnoredAny>>,
}

const FILE: SettingsFile = SettingsFile {
    option: "--handlers",
    document: "docs/handlers.md",
    danger: "what it names is run",
};
/// The agent's socket has 64 places, and others need some as well.
const MOST_WORKERS: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Handlers, (usize, String)> {
        let told = Handlers::parse(text, Path::new("/nowhere"));
        told.map_err(|fault| (fault.line, fault.what))
    }

    const GOOD: &str =
        "[[handler]]\ncapability = \"a.b\"\nkind = \"a2a\"\nurl = \"http://127.0.0.1:9000/\"\n";

    #[test]
    fn each_kind_is_read() {
        let text = r#"
            [[handler]]
            capability = "calendar.free-busy"
            kind = "a2a"
            url = "http://127.0.0.1:9000/"
            version = "1.0"
            timeout = 30
            parallel = 4
            schema = '{"type": "object"}'
            description = "Tells when there is time"
            [[handler]]
            capability = "weather.now"
            kind = "simple-a2a"
            url = "http://localhost/agent"
            offer = false
            [[handler]]
            capability = "sum"
            kind = "http"
            url = "http://[::1]:9/"
            method = "add"
            [[handler]]
            capability = "notes"
            kind = "mcp"
            command = ["uvx", "notes"]
            tool = "search"
            [[handler]]
            capability = "notes.far"
            kind = "mcp"
            url = "http://127.0.0.1:9/mcp"
            tool = "search"
            [[handler]]
            capability = "shell"
            kind = "exec"
            command = ["jq", "-c", ".body"]
            tier = 2
        "#;
        let handlers = parse(text).unwrap();
        assert_eq!(handlers.sections().len(), 6);
        assert_eq!(
            handlers.workers(Path::new("s"), &Trace::off(), true).len(),
            24
        );
        let offer = handlers.get("calendar.free-busy").unwrap().offer().unwrap();
        assert_eq!(offer.schema, Some(serde_json::json!({"type": "object"})));
        assert!(handlers.get("weather.now").unwrap().offer().is_none());
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_line_and_without_its_address() {
        for (from, to, at, what) in [
            ("url = ", "urll = ", 4, "urll"),
            ("\"a2a\"", "\"a3a\"", 3, "one of \"exec\", \"a2a\""),
            ("kind = \"a2a\"\n", "", 1, "kind"),
            ("kind = \"a2a\"", "kind = \"exec\"", 1, "needs a `command`"),
            (
                "url = \"http://127.0.0.1:9000/\"",
                "",
                1,
                "`url` is missing in [[handler]]",
            ),
            ("url = ", "tool = \"x\"\nurl = ", 4, "unknown key \"tool\""),
            ("url = ", "version = \"2.0\"\nurl = ", 1, "version"),
            ("url = ", "parallel = 0\nurl = ", 1, "parallel"),
            ("url = ", "parallel = 49\nurl = ", 1, "parallel"),
            ("url = ", "timeout = 0\nurl = ", 1, "timeout"),
            ("url = ", "timeout = -1.0\nurl = ", 1, "timeout"),
            ("url = ", "timeout = inf\nurl = ", 1, "timeout"),
            ("url = ", "tier = 5\nurl = ", 1, "tier"),
            ("url = ", "schema = \"{\"\nurl = ", 1, "schema"),
            ("url = ", "schema = \"missing.json\"\nurl = ", 1, "schema"),
            ("url = ", "token = \"s3cret\"\nurl = ", 4, "token"),
            (
                "url = ",
                "token-file = \"t\"\ntoken-env = \"T\"\nurl = ",
                1,
                "token",
            ),
            ("127.0.0.1", "s3cret.example.org", 1, "https"),
            ("127.0.0.1", "u:s3cret@127.0.0.1", 1, "user"),
            ("a.b", "", 1, "capability"),
            ("[[handler]]", "[handler]", 1, ""),
        ] {
            let (line, told) = parse(&GOOD.replace(from, to)).unwrap_err();
            assert!(line >= at && told.contains(what), "{to}: {line}: {told}");
            assert!(!told.contains("s3cret"), "{told}");
        }
        let (line, told) = parse(&GOOD.replace("kind", "url = \"x\"\nkind")).unwrap_err();
        assert!(
            line == 5 && told.contains("`url`") && told.ends_with("first in line 3"),
            "{line}: {told}"
        );
        assert!(
            parse(&format!("{GOOD}{GOOD}"))
                .unwrap_err()
                .1
                .contains("already")
        );
        assert!(parse("").is_err());
    }

    #[test]
    fn thirteen_handlers_that_say_nothing_of_parallel_share_the_places() {
        let of = |many: usize, more: &str| {
            let all = (0..many).map(|n| GOOD.replace("a.b", &format!("a.b{n}")) + more);
            parse(&all.collect::<String>())
        };
        let workers = |handlers: &Handlers| handlers.workers(Path::new("s"), &Trace::off(), true);
        let thirteen = of(13, "").unwrap();
        assert!(thirteen.sections().iter().all(|one| one.parallel() == 3));
        assert_eq!(workers(&thirteen).len(), 39);
        assert_eq!(of(2, "").unwrap().sections()[0].parallel(), 4);
        assert_eq!(workers(&of(48, "").unwrap()).len(), 48);
        let (_, told) = of(49, "").unwrap_err();
        assert!(told.contains("49 together"), "{told}");
        assert!(of(13, "parallel = 4\n").is_err(), "what is said is meant");
    }

    #[test]
    fn a_command_of_the_file_finds_what_it_is_given_of_the_environment_and_no_token_of_another() {
        let told = |env: &str| {
            let script = r#"printf '"%s%s"' "$CARGO_MANIFEST_DIR" "${PATH:+ and a path}""#;
            let text = format!(
                "[[handler]]\ncapability = \"a.b\"\nkind = \"exec\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n{env}"
            );
            let handlers = parse(&text).unwrap();
            let tried =
                crate::handle::trial::try_once(handlers.get("a.b").unwrap(), serde_json::json!(1));
            match tried.unwrap().unwrap() {
                signet_handlers::Done::Answer(answer) => answer.as_str().unwrap().to_owned(),
                _ => panic!("it prints"),
            }
        };
        // Beside the usual ones such as PATH, a command gets only the variables that `env` names, and so no token of another
        // handler. CARGO_MANIFEST_DIR stands for such a token, because Cargo sets it for every test.
        let ours = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        assert_eq!(told(""), " and a path");
        assert_eq!(
            told("env = [\"CARGO_MANIFEST_DIR\"]\n"),
            format!("{ours} and a path")
        );
        let elsewhere = GOOD.to_owned() + "env = [\"X\"]\n";
        let (line, told) = parse(&elsewhere).unwrap_err();
        assert!(line == 5 && told.contains("unknown key \"env\""), "{told}");
    }

    #[test]
    fn a_file_that_everybody_may_write_runs_nothing() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("handlers.toml");
        std::fs::write(&path, GOOD).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Handlers::load(&path).is_ok());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o646)).unwrap();
        let open = Handlers::load(&path).unwrap_err();
        assert!(
            open.to_string().contains("everybody may write it"),
            "{open}"
        );
    }
}
