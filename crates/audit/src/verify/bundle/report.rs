//! What a bundle proves, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};
use signet_proto::ids::AgentId;

use signet_text::{counted, counted_doing, printable};

/// What verification of a bundle found.
#[derive(Clone, Debug, Default)]
pub struct BundleReport {
    /// The file.
    pub name: PathBuf,
    /// Whose log the lines are from.
    pub agent: Option<AgentId>,
    /// Whom they are about.
    pub peer: Option<AgentId>,
    /// The span that was asked for, as the bundle says.
    pub span: (String, String),
    /// Lines about the peer that are proven to stand in the log.
    pub lines: u64,
    /// Messages whose signature holds, by their sender.
    pub signed: BTreeMap<String, u64>,
    /// The root keys that the two agents are certified with, in words.
    pub roots: BTreeMap<String, String>,
    /// The months, and how many lines the checkpoint of each covers.
    pub months: BTreeMap<String, u64>,
    /// Lines that its maker left out, because no checkpoint covered them.
    pub left_out: u64,
    /// What is wrong; as many as were asked for.
    pub faults: Vec<String>,
    /// How many faults more there are.
    pub more_faults: u64,
}

impl BundleReport {
    /// The agent and the peer of the bundle, each as a question mark where the bundle does not say.
    pub(in crate::verify) fn parties(&self) -> (String, String) {
        let text =
            |agent: &Option<AgentId>| agent.as_ref().map_or("?".to_owned(), AgentId::to_string);
        (text(&self.agent), text(&self.peer))
    }

    /// What it proves, and what not, in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (agent, peer) = self.parties();
        if !self.faults.is_empty() {
            return format!(
                "bundle of {agent} about {peer}: TAMPERED OR DAMAGED: it proves nothing."
            );
        }
        let months = self
            .months
            .iter()
            .map(|(month, size)| format!("{month} ({})", counted(*size, "line")));
        let signed = self.signed.iter().map(|(sender, count)| {
            let words = self.roots.get(sender).map_or("?", String::as_str);
            format!("{count} by {sender} (root key: {words})")
        });
        let (months, signed): (Vec<_>, Vec<_>) = (months.collect(), signed.collect());
        let left_out = match self.left_out {
            0 => String::new(),
            count => format!(", its maker left out {count} newer than the checkpoint"),
        };
        format!(
            "bundle of {agent} about {peer} from {} to {}: {} in its log under the checkpoints of {}; messages are signed, {}{left_out}; that no line was left out, and that the log has no other version, it does not prove.",
            printable(&self.span.0),
            printable(&self.span.1),
            counted_doing(self.lines, "line", "stands"),
            months.join(", "),
            signed.join(" and "),
        )
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "bundle": self.name.to_string_lossy(),
            "agent": self.agent.as_ref().map(AgentId::as_str),
            "peer": self.peer.as_ref().map(AgentId::as_str),
            "from": self.span.0,
            "to": self.span.1,
            "lines": self.lines,
            "signatures": self.signed,
            "root-keys": self.roots,
            "months": self.months,
            "left-out": self.left_out,
            "faults": self.faults,
            "faults-left-out": self.more_faults,
            "sentence": self.sentence(),
        })
    }
}

/// Tells how many findings are not told one by one.
pub(in crate::verify) fn write_more(f: &mut fmt::Formatter<'_>, left_out: u64) -> fmt::Result {
    match left_out {
        0 => Ok(()),
        more => writeln!(
            f,
            "… and {} more (--all tells each)",
            counted(more, "finding")
        ),
    }
}

impl fmt::Display for BundleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.to_string_lossy();
        self.faults
            .iter()
            .try_for_each(|fault| writeln!(f, "{}, {}", printable(&name), printable(fault)))?;
        write_more(f, self.more_faults)?;
        writeln!(f, "{}", self.sentence())
    }
}
