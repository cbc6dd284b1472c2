//! Both logs, proven and read: at the same time where that is enough, else each as a whole.

use std::collections::HashSet;
use std::path::Path;

use signet_proto::ids::{AgentId, Digest};

use super::merge::{GivenLog, Merged, merge};
use super::side::Side;
use crate::chain::Head;
use crate::claim::Claim;
use crate::error::LogError;
use crate::verify::{LogReport, VerifyReport, WitnessStatement, grown, hear_one, one_log, verify};

/// Two logs that were proven, and what is to be compared of them.
pub(super) struct LogsRead {
    pub(super) verification: VerifyReport,
    pub(super) sides: [Side; 2],
    /// How many messages were found in both already.
    pub(super) agreed: u64,
}

impl LogsRead {
    /// Proves and reads the logs at `paths`, which are those of `agents`.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub(super) fn of(paths: [&Path; 2], agents: [&AgentId; 2]) -> Result<Self, LogError> {
        match together(paths, agents)? {
            Some(merged) => Self::of_merged(merged, paths, agents),
            None => Ok(Self {
                verification: verify(&paths.map(Path::to_owned)),
                sides: whole(paths, agents)?,
                agreed: 0,
            }),
        }
    }

    fn of_merged(
        merged: Merged,
        paths: [&Path; 2],
        agents: [&AgentId; 2],
    ) -> Result<Self, LogError> {
        let Merged {
            mut reports,
            sides,
            agreed,
            unproven,
        } = merged;
        let (sides, agreed) = match sides {
            Some(sides) => (sides, agreed),
            None => {
                let sides = whole(paths, agents)?;
                let [mine, theirs] = &sides;
                let [my_report, their_report] = &mut reports;
                let [my_unproven, their_unproven] = &unproven;
                hear(my_report, mine, theirs, their_unproven);
                hear(their_report, theirs, mine, my_unproven);
                (sides, 0)
            }
        };
        let mut logs = Vec::from(reports);
        // Sort the reports by name: that is the order in which `verify` gives them.
        logs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self {
            verification: VerifyReport {
                logs,
                ..VerifyReport::default()
            },
            sides,
            agreed,
        })
    }
}

/// Reads both logs at the same time; `None` where one of the paths is not one log that can be read to its end.
fn together(paths: [&Path; 2], agents: [&AgentId; 2]) -> Result<Option<Merged>, LogError> {
    let [mine, theirs] = paths;
    let (Some((my_name, my_files)), Some((their_name, their_files))) =
        (one_log(mine)?, one_log(theirs)?)
    else {
        return Ok(None);
    };
    if my_name == their_name {
        return Ok(None);
    }
    let [me, them] = agents;
    let given = |path, files, agent| GivenLog { path, files, agent };
    let logs = [
        given(mine, &my_files, me),
        given(theirs, &their_files, them),
    ];
    // The error may be dropped: `None` makes the caller read the whole logs, which meets the same error again.
    Ok(merge(logs).ok())
}

/// Reads each log as a whole.
fn whole(paths: [&Path; 2], agents: [&AgentId; 2]) -> Result<[Side; 2], LogError> {
    let ([mine, theirs], [me, them]) = (paths, agents);
    Ok([
        Side::read(mine, me.clone(), them)?,
        Side::read(theirs, them.clone(), me)?,
    ])
}

/// Takes into the report of a log what the messages say of it that came to `witness`, but for those in the lines `unproven`.
fn hear(report: &mut LogReport, ours: &Side, witness: &Side, unproven: &[u64]) {
    let is_proven = |claim: &&Claim| unproven.binary_search(&claim.seq).is_err();
    let proven = witness.came.iter().filter(is_proven);
    let mut heads: Vec<_> = proven
        .filter_map(|claim| claim.head.map(|head| (head, claim)))
        .collect();
    heads.sort_by_key(|(head, _)| *head);
    let ask = |grown: &HashSet<Digest>| {
        let mut statement = WitnessStatement::default();
        for (hash, claim) in &heads {
            match ours.lines.get(hash) {
                Some(seq) => {
                    let (seq, hash) = (*seq, *hash);
                    statement.confirm(witness.agent.as_ref(), Head { seq, hash });
                }
                None if grown.contains(hash) || ours.may_precede(claim.signed) => {}
                None => statement.doubt(claim.seq),
            }
        }
        statement.unknown.sort_unstable();
        statement
    };
    let mut statement = ask(&HashSet::new());
    if statement.unknown_count > 0 {
        // The messages that the witness has of our agent may name lines that were written since our log was read: ask again
        // with those lines.
        statement = ask(&grown(&ours.files, ours.lines.len() as u64));
    }
    hear_one(report, &ours.files, witness.agent.as_ref(), statement);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::tests::claim;

    /// A daemon writes on while its log is read, and a peer may know the new lines already.
    #[test]
    fn a_head_that_was_written_since_the_log_was_read_is_no_unknown_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("inter-agent-2026-02.jsonl");
        std::fs::write(&file, "first\nsecond\n").unwrap();
        let [first, second, third] =
            ["first", "second", "third"].map(|line| Digest::of(&[line.as_bytes()]));
        let mut ours = Side::of("agent-alice-001".parse().unwrap());
        ours.files = vec![file];
        ours.lines.insert(first, 1);
        let hearing = |heads: &[Digest], unproven: &[u64]| {
            let mut witness = Side::of("agent-bob-001".parse().unwrap());
            witness.came = (1..)
                .zip(heads)
                .map(|(number, head)| Claim {
                    head: Some(*head),
                    ..claim(number)
                })
                .collect();
            let mut report = LogReport::default();
            hear(&mut report, &ours, &witness, unproven);
            let confirmed = report.witnesses.iter().map(|witness| witness.head.seq);
            (confirmed.collect::<Vec<_>>(), report.left_out)
        };
        assert_eq!(hearing(&[first], &[]), (vec![1], 0));
        assert_eq!(hearing(&[first, second], &[]), (vec![1], 0));
        assert_eq!(hearing(&[first, second, third], &[]), (vec![1], 1));
        assert_eq!(
            hearing(&[third, first], &[1]),
            (vec![1], 0),
            "nobody signed that"
        );
    }
}
