//! Two logs proven and read at the same time. A message that stands in both is done with as soon as both were read so far,
//! so memory holds what stands in one of them alone.
//!
//! ```text
//! log A ──▶ sent, came ─┐                       ┌─▶ in both: counted, its head looked at, forgotten
//!                       ├─▶ which is behind? ───┤
//! log B ──▶ sent, came ─┘                       └─▶ in one alone: kept
//! ```
//!
//! Where the two do not simply agree (a message that nobody sent, a head that is no line, a refusal that the other side
//! does not know of), it is left to the comparison of the whole logs (`side.rs`) to say what is wrong.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use signet_proto::ids::AgentId;

use super::half::{Half, Irregular, take};
use super::side::Side;
use crate::chain::Head;
use crate::claim::{ClaimTeller, Told};
use crate::error::LogError;
use crate::verify::{LogReport, Witness, verify_telling};

/// Two logs that were read together.
pub(super) struct Merged {
    pub(super) reports: [LogReport; 2],
    /// What stands in one of them alone; `None` where the whole logs have to be compared.
    pub(super) sides: Option<[Side; 2]>,
    /// How many messages stand in both.
    pub(super) agreed: u64,
    /// The lines of each about a message that came, and whose signature does not hold.
    pub(super) unproven: [Vec<u64>; 2],
}

/// One log, and whose it is.
pub(super) struct GivenLog<'a> {
    pub(super) path: &'a Path,
    pub(super) files: &'a [PathBuf],
    pub(super) agent: &'a AgentId,
}

/// Proves both logs, and holds them against each other on the way.
///
/// # Errors
/// When one of them cannot be read.
pub(super) fn merge(logs: [GivenLog<'_>; 2]) -> Result<Merged, LogError> {
    let [mine, theirs] = logs;
    thread::scope(|scope| {
        let (my_teller, my_told) = teller(theirs.agent);
        let (their_teller, their_told) = teller(mine.agent);
        let walk = |given: &GivenLog<'_>, teller| verify_telling(given.path, given.files, teller);
        let (mine, theirs) = (&mine, &theirs);
        let mine_walked = scope.spawn(move || walk(mine, my_teller));
        let theirs_walked = scope.spawn(move || walk(theirs, their_teller));
        let mut halves = [Half::new(mine.agent), Half::new(theirs.agent)];
        let is_regular = read_both(&mut halves, [my_told, their_told]);
        // Join both walks even if the comparison ended early: a walk gives its report only when it has verified its whole log.
        let reports = [join(mine_walked)?, join(theirs_walked)?];
        let agreed = halves.iter().map(|half| half.agreed).sum();
        let unproven = halves
            .each_mut()
            .map(|half| std::mem::take(&mut half.unproven));
        let confirmed = halves.each_ref().map(|half| half.confirmed);
        let [my_half, their_half] = halves;
        let sides = is_regular.and_then(|()| Ok([my_half.finish()?, their_half.finish()?]));
        Ok(Merged {
            reports: match &sides {
                Ok(_) => witnessed(reports, confirmed, [theirs.agent, mine.agent]),
                Err(Irregular) => reports,
            },
            sides: sides.ok(),
            agreed,
            unproven,
        })
    })
}

fn teller(peer: &AgentId) -> (ClaimTeller, Receiver<Vec<Told>>) {
    let (to, told) = sync_channel(WAITING);
    (ClaimTeller::new(peer.clone(), to), told)
}

fn join(
    walked: thread::ScopedJoinHandle<'_, Result<LogReport, LogError>>,
) -> Result<LogReport, LogError> {
    walked
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads on in the log that keeps fewer messages which the other lacks, so that neither runs far ahead of the other.
fn read_both(halves: &mut [Half; 2], told: [Receiver<Vec<Told>>; 2]) -> Result<(), Irregular> {
    let [mine, theirs] = told;
    let (mut mine, mut theirs) = (Some(mine), Some(theirs));
    loop {
        let [my_half, their_half] = halves;
        let is_mine = (my_half.open(), my_half.told) <= (their_half.open(), their_half.told);
        let next = match (&mine, &theirs) {
            (Some(told), None) => (told, true),
            (None, Some(told)) => (told, false),
            (Some(told), Some(_)) if is_mine => (told, true),
            (Some(_), Some(told)) => (told, false),
            (None, None) => return Ok(()),
        };
        match next {
            (told, true) => match told.recv() {
                Ok(told) => take(my_half, their_half, told)?,
                Err(_) => mine = None,
            },
            (told, false) => match told.recv() {
                Ok(told) => take(their_half, my_half, told)?,
                Err(_) => theirs = None,
            },
        }
    }
}

/// Takes into each report the newest of its lines that the other log remembers.
fn witnessed(
    mut reports: [LogReport; 2],
    confirmed: [Option<Head>; 2],
    witnesses: [&AgentId; 2],
) -> [LogReport; 2] {
    for ((report, head), agent) in reports.iter_mut().zip(confirmed).zip(witnesses) {
        let agent = agent.clone();
        report
            .witnesses
            .extend(head.map(|head| Witness { agent, head }));
    }
    reports
}

/// So many times the claims that are passed on together may wait.
const WAITING: usize = 4;

#[cfg(test)]
mod tests {
    use signet_proto::ids::Digest;

    use super::*;
    use crate::claim::tests::claim;
    use crate::claim::{Claim, Learned};

    /// Reading on in the log that is ahead would keep all of that log in memory. The one log got far ahead with its first
    /// lines; the other says the same piece by piece, and names a head that is no line in the end, with which the reading
    /// ends: by then all before that was held against the log that is ahead.
    #[test]
    fn the_log_that_is_behind_is_read_on_whichever_of_the_two_it_is() {
        for behind in [0, 1] {
            let mut halves =
                ["agent-alice-001", "agent-bob-001"].map(|name| Half::new(&name.parse().unwrap()));
            let (to_behind, told_behind) = sync_channel(WAITING);
            let (to_ahead, told_ahead) = sync_channel(WAITING);
            let sent = |number| Told::Sent(claim(number), None);
            let came = |number| Told::Came(claim(number), Learned::default(), true);
            let irregular = Claim {
                head: Some(Digest([1; 32])),
                ..claim(3)
            };
            for told in [sent(1), sent(2), Told::Sent(irregular, None)] {
                to_behind.send(vec![told]).unwrap();
            }
            to_ahead.send(vec![came(3), came(1), came(2)]).unwrap();
            to_ahead.send(vec![came(4)]).unwrap();
            drop((to_behind, to_ahead));
            let told = match behind {
                0 => [told_behind, told_ahead],
                _ => [told_ahead, told_behind],
            };
            assert!(read_both(&mut halves, told).is_err());
            let [behind_half, ahead] = [&halves[behind], &halves[1 - behind]];
            let told = (behind_half.told, ahead.told);
            assert_eq!(
                (told, behind_half.agreed),
                ((3, 1), 3),
                "log {behind} is behind"
            );
        }
    }
}
