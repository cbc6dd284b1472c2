//! Room on the disks of the home and of its log.

use signet_audit::counted;

use super::finding::{CheckResult, DoctorCheck};
use super::scene::Scene;
use crate::disk_space::DiskSpace;
use crate::hint;

/// The disks of the home and of the log: the fuller of the two.
pub(super) fn space(scene: &Scene) -> CheckResult {
    let dirs = [scene.home.path(), scene.config.audit_dir.as_path()];
    let check = DoctorCheck::of("disk", "the room on the disks of the home and of the log");
    let rooms = dirs.into_iter().filter_map(DiskSpace::at);
    // A disk without free inodes takes no new file, however many bytes are free: count room for one file as 4 KiB.
    let Some(least) = rooms.min_by_key(|room| room.bytes.min(room.files.saturating_mul(4096)))
    else {
        let next = format!("df {}", hint::word(scene.home.path()));
        return check.unknown(
            "the system does not say",
            "signet cannot tell how long there is room",
            &next,
        );
    };
    weigh(check, least)
}

fn weigh(check: DoctorCheck, room: DiskSpace) -> CheckResult {
    let left = match room.files < FILES {
        true => format!("{} can be made", counted(room.files, "more file")),
        false => format!("{} MiB are left", room.bytes >> 20),
    };
    let next =
        "make room (df -h shows which disk), or move the log by `dir` in [audit] of config.toml";
    if room.bytes < FULL || room.files == 0 {
        let means = "the daemon stops taking anything in when its log cannot grow";
        return check.fault(left, means, next);
    }
    match room.bytes < NEARLY_FULL || room.files < FILES {
        true => check.warning(
            left,
            "when the disk is full the daemon takes nothing in until there is room",
            next,
        ),
        false => check.well(left),
    }
}

/// Below this the disk counts as full: a flood of messages may fill so much within a minute.
const FULL: u64 = 32 << 20;
const NEARLY_FULL: u64 = 512 << 20;
const FILES: u64 = 100;

#[cfg(test)]
mod tests {
    use super::super::finding::Health;
    use super::*;

    #[test]
    fn a_disk_that_fills_is_a_warning_and_one_that_is_full_has_to_be_seen_to() {
        for (bytes, files, health) in [
            (600 << 20, u64::MAX, Health::Well),
            (500 << 20, u64::MAX, Health::Warning),
            (31 << 20, u64::MAX, Health::Fault),
            (600 << 20, 99, Health::Warning),
            (600 << 20, 0, Health::Fault),
        ] {
            let found = weigh(DoctorCheck::of("disk", ""), DiskSpace { bytes, files });
            assert_eq!(found.health, health, "{bytes} {files}: {found:?}");
        }
    }
}
