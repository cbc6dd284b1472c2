//! The first line of a report: one sentence that a person can repeat to another.

use super::bundle::BundleReport;
use super::report::{LogReport, VerifyReport};
use signet_text::printable;

impl VerifyReport {
    /// `OK` or `NOT OK`, what is proven, and what is not.
    #[must_use]
    pub fn headline(&self) -> String {
        let unread = self.unreadable.len() as u64;
        let mut parts: Vec<String> = Vec::new();
        if unread > 0 {
            parts.push(format!("{} cannot be read", counted(unread, "path")));
        }
        parts.extend(self.logs.iter().map(LogReport::clause));
        parts.extend(self.bundles.iter().map(bundle_clause));
        if let (true, Some(what)) = (self.holds(), self.unproven()) {
            parts.push(what);
        }
        let verdict = if self.holds() { "OK" } else { "NOT OK" };
        format!("{verdict}: {}.", parts.join("; "))
    }

    /// What an honest result still leaves unproven; nothing where a peer's log confirms it.
    fn unproven(&self) -> Option<String> {
        let logs = &self.logs;
        if logs.is_empty() || logs.iter().any(|log| !log.witnesses.is_empty()) {
            return None;
        }
        Some(if logs.iter().any(|log| log.links_only) {
            "contents, signatures and peers' logs were not looked at".to_owned()
        } else if logs.len() > 1 {
            "none of these logs has a line of another".to_owned()
        } else {
            "no peer's log was compared".to_owned()
        })
    }
}

impl LogReport {
    /// What the report knows of this log, as part of a sentence and without a verdict.
    fn clause(&self) -> String {
        let whose = match &self.agent {
            Some(agent) => agent.to_string(),
            None => printable(&self.name.to_string_lossy()).into_owned(),
        };
        let lines = counted(self.lines, "line");
        let faults = self.faults.len() as u64 + self.left_out;
        if faults > 0 {
            let upto = self.head.map_or("no line of it holds".to_owned(), |head| {
                format!("it holds up to line {}", grouped(head.seq))
            });
            return format!(
                "{} in {lines} of {whose}: changed, damaged, or evidence is missing; {upto}",
                counted(faults, "finding"),
            );
        }
        if self.lines == 0 {
            return format!("the log of {whose} has no line, and so nothing is proven");
        }
        format!(
            "{lines} of {whose}{}{} {}",
            self.months(),
            self.before(),
            self.proven_by()
        )
    }

    fn months(&self) -> String {
        match &self.span {
            Some((from, to)) if from == to => format!(", {from},"),
            Some((from, to)) => format!(", {from} to {to},"),
            None => String::new(),
        }
    }

    fn before(&self) -> String {
        match self.first.filter(|first| *first > 1) {
            Some(first) => format!(
                " from line {} on (what stands before was not given)",
                grouped(first)
            ),
            None => String::new(),
        }
    }

    fn proven_by(&self) -> String {
        let mut words = Vec::new();
        let without = match self.unpromised.is_empty() || self.proven.is_none() {
            true => String::new(),
            false => format!(
                " (but for {}, which has none)",
                printable(&self.unpromised.join(", "))
            ),
        };
        if let Some(head) = self.proven {
            let line = grouped(head.seq);
            words.push(format!("up to line {line} by its own checkpoints{without}"));
        }
        for witness in &self.witnesses {
            let line = grouped(witness.head.seq);
            words.push(format!("up to line {line} by the log of {}", witness.agent));
        }
        match words.is_empty() {
            false => format!("are complete and unchanged {}", words.join(" and ")),
            true => "fit together by their chain alone, which does not show a log cut off at its end or written anew".to_owned(),
        }
    }
}

fn bundle_clause(bundle: &BundleReport) -> String {
    let (agent, peer) = bundle.parties();
    if !bundle.faults.is_empty() {
        return format!(
            "{} in the bundle of {agent} about {peer}: it proves nothing",
            counted(bundle.faults.len() as u64 + bundle.more_faults, "finding")
        );
    }
    format!(
        "{} about {peer} stand in the log of {agent}; that none was left out, the bundle does not prove",
        counted(bundle.lines, "line")
    )
}

fn counted(count: u64, thing: &str) -> String {
    signet_text::counted_as(&grouped(count), count, thing)
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use signet_proto::ids::Digest;

    use super::super::report::Witness;
    use super::*;
    use crate::chain::Head;

    #[test]
    fn a_headline_says_up_to_where_and_by_what_a_log_is_proven() {
        let head = |seq| Head {
            seq,
            hash: Digest([7; 32]),
        };
        let witness = Witness {
            agent: "agent-bob-001".parse().unwrap(),
            head: head(1_200),
        };
        let chain = "fit together by their chain alone, which does not show a log cut off at its end or written anew";
        let own = "are complete and unchanged up to line 1,234 by its own checkpoints";
        let without = " (but for 2026-02, 2026-03, which has none)";
        let theirs = "up to line 1,200 by the log of agent-bob-001";
        for (proven, unpromised, witnessed, words) in [
            (None, vec![], false, chain.to_owned()),
            (None, vec!["2026-02"], false, chain.to_owned()),
            (Some(1_234), vec![], false, own.to_owned()),
            (
                Some(1_234),
                vec!["2026-02", "2026-03"],
                false,
                format!("{own}{without}"),
            ),
            (Some(1_234), vec![], true, format!("{own} and {theirs}")),
            (
                None,
                vec!["2026-02"],
                true,
                format!("are complete and unchanged {theirs}"),
            ),
        ] {
            let report = LogReport {
                agent: "agent-alice-001".parse().ok(),
                lines: 1_240,
                first: Some(1),
                proven: proven.map(head),
                unpromised: unpromised.into_iter().map(str::to_owned).collect(),
                witnesses: witnessed.then(|| witness.clone()).into_iter().collect(),
                ..LogReport::default()
            };
            let clause = format!("1,240 lines of agent-alice-001 {words}");
            assert_eq!(report.clause(), clause);
        }
    }

    #[test]
    fn thousands_are_told_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_234, "1,234"),
            (1_000_000, "1,000,000"),
        ] {
            assert_eq!(super::grouped(number), text);
        }
    }
}
