//! The result of one check.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use signet_audit::visible;

use crate::hint;

/// How the thing does that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Health {
    /// All is as it should be.
    Well,
    /// What was checked works, and could be safer.
    Advice,
    /// What was checked works, and may not for long.
    Warning,
    /// The check could not look.
    Unknown,
    /// Somebody has to do something.
    Fault,
}

/// What one check found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct CheckResult {
    /// The name of the check, which stays.
    pub(super) check: &'static str,
    pub(super) health: Health,
    /// What was looked at.
    pub(super) looked_at: String,
    pub(super) found: String,
    /// What follows from it; absent where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) means: Option<String>,
    /// What to do; absent where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

/// A check, before anything was found.
#[derive(Clone, Debug)]
pub(super) struct DoctorCheck {
    name: &'static str,
    looked_at: String,
}

impl DoctorCheck {
    pub(super) fn of(name: &'static str, looked_at: impl ToString) -> Self {
        let looked_at = looked_at.to_string();
        Self { name, looked_at }
    }

    pub(super) fn well(self, found: impl ToString) -> CheckResult {
        self.found(Health::Well, found.to_string(), None)
    }

    pub(super) fn advice(self, found: impl ToString, means: &str, next: &str) -> CheckResult {
        self.found(Health::Advice, found.to_string(), Some((means, next)))
    }

    pub(super) fn warning(self, found: impl ToString, means: &str, next: &str) -> CheckResult {
        self.found(Health::Warning, found.to_string(), Some((means, next)))
    }

    pub(super) fn unknown(self, found: impl ToString, means: &str, next: &str) -> CheckResult {
        self.found(Health::Unknown, found.to_string(), Some((means, next)))
    }

    pub(super) fn fault(self, found: impl ToString, means: &str, next: &str) -> CheckResult {
        self.found(Health::Fault, found.to_string(), Some((means, next)))
    }

    fn found(self, health: Health, found: String, more: Option<(&str, &str)>) -> CheckResult {
        let (means, next) = more.unzip();
        CheckResult {
            check: self.name,
            health,
            looked_at: self.looked_at,
            found,
            means: means.map(hint::typed),
            next: next.map(hint::typed),
        }
    }
}

impl CheckResult {
    /// The finding for a person: one line, and two more where something is to be said.
    pub(super) fn page(&self) -> String {
        let (word, style) = self.health.word();
        let found = visible(&self.found);
        let looked_at = visible(&self.looked_at);
        let mut page = format!(
            "{style}{word:<7}{style:#}  {}: {found} ({looked_at})\n",
            self.check
        );
        for (name, text) in [("means", &self.means), ("next", &self.next)] {
            if let Some(text) = text {
                // Writing to a String cannot fail.
                let _ = writeln!(page, "         {name}: {}", visible(text));
            }
        }
        page
    }
}

impl Health {
    const fn word(self) -> (&'static str, Style) {
        match self {
            Self::Well => ("well", AnsiColor::Green.on_default()),
            Self::Advice => ("advice", Style::new()),
            Self::Warning => ("warning", AnsiColor::Yellow.on_default()),
            Self::Unknown => ("unknown", AnsiColor::Yellow.on_default()),
            Self::Fault => ("FAULT", AnsiColor::Red.on_default().bold()),
        }
    }
}
