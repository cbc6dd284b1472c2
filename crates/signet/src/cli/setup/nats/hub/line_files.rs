//! The files that `signet nats hub` writes for the households: each has one secret line.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::authority::HubAuthority;
use super::household::{HouseholdName, HubHousehold};
use super::line::{HubAccess, HubUrl};
use super::settings::HubSettings;
use super::{HubArgs, file};
use crate::cli::{CliError, print};
use crate::files::private;
use crate::hint;

/// The lines that are to be written.
pub(super) struct Lines(Vec<NewLine>);

/// The line of one household, and its file.
struct NewLine {
    household: HouseholdName,
    file: PathBuf,
    line: Zeroizing<String>,
}

impl Lines {
    /// Whatever would keep a line from being written is looked at before the configuration changes.
    pub(super) fn of(
        args: &HubArgs,
        settings: &HubSettings,
        households: &[HouseholdName],
    ) -> Result<Self, CliError> {
        let folder = folder(args);
        let authority = settings.authority.as_deref();
        let authority = authority.filter(|_| !households.is_empty());
        let authority = authority.map(file::authority).transpose()?;
        let named = |one: &&HubHousehold| households.contains(&one.name);
        let each = settings.households.iter().filter(named);
        let lines = each.map(|one| NewLine::of(one, settings, authority.clone(), &folder));
        let lines = lines.collect::<Result<_, _>>()?;
        if !folder.as_os_str().is_empty() && !folder.is_dir() {
            let what = format!("{} is no folder", folder.display());
            let next = format!("mkdir -m 700 {}", hint::word(&folder));
            return Err(CliError::usage(what, next));
        }
        Ok(Self(lines))
    }

    pub(super) fn write(&self) -> Result<(), CliError> {
        for NewLine {
            household,
            file,
            line,
        } in &self.0
        {
            private::create_whole(file, format!("{}\n", **line).as_bytes())?;
            print(&format!(
                "line     {}: secret, for {household} alone\n",
                file.display()
            ))?;
        }
        Ok(())
    }
}

/// The files with the lines of households that were turned out: no hub takes these lines any more.
pub(super) fn left_behind(args: &HubArgs, settings: &HubSettings) -> Vec<PathBuf> {
    let is_out = |name: &&HouseholdName| !settings.households.iter().any(|one| one.name == **name);
    let files = args
        .remove
        .iter()
        .filter(is_out)
        .map(|name| line_file(&folder(args), name));
    files.filter(|file| file.is_file()).collect()
}

fn folder(args: &HubArgs) -> PathBuf {
    let beside = args.file.parent().unwrap_or(Path::new("")).to_owned();
    args.lines.clone().unwrap_or(beside)
}

fn line_file(folder: &Path, household: &HouseholdName) -> PathBuf {
    folder.join(format!("{household}.line"))
}

impl NewLine {
    fn of(
        household: &HubHousehold,
        settings: &HubSettings,
        authority: Option<HubAuthority>,
        folder: &Path,
    ) -> Result<Self, CliError> {
        let file = line_file(folder, &household.name);
        if file.symlink_metadata().is_ok() {
            let what = format!("{} is there already", file.display());
            let next = format!(
                "rm {}  # if that line is of no use any more; or name another folder: --lines DIR",
                hint::word(&file)
            );
            return Err(CliError::usage(what, next));
        }
        let access = HubAccess {
            hub: HubUrl::of(settings.address.clone()),
            household: household.name.clone(),
            password: household.password.clone(),
            agents: household.agents.clone(),
            replies: settings.replies,
            authority,
        };
        let line = access.to_line().ok_or_else(|| {
            let what = format!(
                "the line of {} would be longer than what is pasted",
                household.name
            );
            CliError::usage(
                what,
                "name a file with one certificate: --ca FILE; or fewer agents",
            )
        })?;
        Ok(Self {
            household: household.name.clone(),
            file,
            line,
        })
    }
}
