//! `signet prove --check`: whether a page is the one that signet writes, and whether its data hold by signet's own code.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use signet_audit::{VerifyReport, printable, verify_bundles};

use super::page::{ProofPage, bundles_in, script_of};
use crate::cli::audit::{FINDINGS, conclude};
use crate::cli::{CliError, Exit};

pub(super) fn run(path: &Path, is_json: bool) -> Result<(), CliError> {
    let page = fs::read_to_string(path).map_err(|error| {
        let what = format!("{}: {error}", path.display());
        CliError::file(&error, what, "name a page that signet prove has made")
    })?;
    let checked = Checked::of(path, &page);
    if checked.report.bundles.is_empty() {
        let what = format!("{} has no evidence in it", path.display());
        let next = "name a page that signet prove has made";
        return Err(CliError::usage(what, next));
    }
    let verdict = match checked.holds() {
        true => Exit::Done,
        false => Exit::Refused,
    };
    conclude(is_json, &checked.to_json(), &checked, verdict)
}

/// The findings about a page.
struct Checked {
    /// Whether it is this signet's page, but for its data.
    is_ours: bool,
    /// SHA-256 of its script, hex, where it has one.
    script: Option<String>,
    /// Whether words stand in it that no signature covers.
    is_opened: bool,
    report: VerifyReport,
}

impl Checked {
    fn of(path: &Path, page: &str) -> Self {
        let data = ProofPage::TEMPLATE.data_of(page);
        let is_ours = data.is_some();
        let is_opened = data.as_ref().is_some_and(|data| data.opened.is_some());
        let bundles = data.map_or_else(|| bundles_in(page), |data| data.bundles);
        let named: Vec<(PathBuf, Vec<u8>)> = bundles
            .into_iter()
            .map(|bundle| (path.to_owned(), bundle))
            .collect();
        Self {
            is_ours,
            script: script_of(page),
            is_opened,
            report: verify_bundles(&named, FINDINGS),
        }
    }

    fn holds(&self) -> bool {
        self.is_ours && !self.report.is_tampered()
    }

    fn to_json(&self) -> Value {
        let report = CheckReport {
            holds: self.holds(),
            page: self.is_ours,
            script: self.script.as_deref(),
            script_of_this_signet: ProofPage::TEMPLATE.script(),
            opened: self.is_opened,
            data: self.report.to_json(),
        };
        // `to_value` does not fail: the report holds texts, truth values and JSON.
        serde_json::to_value(report).unwrap_or_default()
    }
}

/// The report for programs.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct CheckReport<'a> {
    holds: bool,
    page: bool,
    script: Option<&'a str>,
    script_of_this_signet: String,
    opened: bool,
    data: Value,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = self.script.as_deref().unwrap_or("none");
        let ours = ProofPage::TEMPLATE.script();
        if self.is_ours {
            writeln!(
                f,
                "OK: the page is the one that this signet writes; SHA-256 of its script: {script}"
            )?;
        } else if script == ours {
            writeln!(
                f,
                "NOT OK: the page was edited around its script: believe nothing that it shows"
            )?;
        } else {
            writeln!(
                f,
                "NOT OK: the page has another script than this signet writes: believe nothing that it shows"
            )?;
            writeln!(f, "SHA-256 of its script: {}", printable(script))?;
            writeln!(f, "SHA-256 of this signet's: {ours}")?;
        }
        if self.is_opened {
            writeln!(
                f,
                "note: the page shows opened words of sealed messages; they are its maker's, and no signature covers them"
            )?;
        }
        write!(f, "{}", self.report)
    }
}
