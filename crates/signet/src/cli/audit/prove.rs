//! `signet prove`: evidence as one page, which anyone opens in a browser and which checks itself there.

mod check;
mod page;

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signet_audit::{
    ExcerptSubject, ExportError, Exported, LogExcerpt, Sight, counted, export_excerpt, log_files,
    read_file,
};
use signet_json::canonical;
use signet_proto::entry::Entry;
use signet_proto::headers::ConversationId;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::seal::Opened;
use signet_proto::time::Timestamp;

use super::export::{first_moment, log_of, moment_after, not_exported, write_new};
use super::show::conversation_id;
use super::unreadable;
use crate::cli::CliError;
use crate::keystore::read_seal_secret;
use page::ProofPage;

/// Make a page that proves what was said, or check one.
///
/// The page holds the messages, what proves that they stand in this log, and a program that checks all of it in whoever's
/// browser opens it, without signet and without a connection. It says who said what to whom and when, who approved it, whose
/// logs witness it, and whether all of that holds. What is sealed stays sealed unless --open names a key.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["id", "conversation", "from", "check"]),
    after_help = "EXAMPLE:\n  signet prove 01a1fdf7-4e2a-7aa9-86e8-899c5ca21916 --output proof.html\n  signet prove --conversation dinner-1 --with from-bob/agent-bob-001 --output dinner.html\n  signet prove --check dinner.html"
)]
pub(crate) struct ProveArgs {
    /// The message to prove, by its id; what answers it is proven too
    #[arg(value_name = "ID")]
    id: Option<MessageId>,
    /// Prove a whole conversation, or all that was said for a task
    #[arg(long, value_name = "ID", value_parser = conversation_id)]
    conversation: Option<ConversationId>,
    /// Prove all from this day (YYYY-MM-DD, UTC) or moment (RFC 3339, UTC) on
    #[arg(long, value_name = "DATE", value_parser = first_moment, requires = "to")]
    from: Option<Timestamp>,
    /// … up to this day, or before this moment
    #[arg(long, value_name = "DATE", value_parser = moment_after, requires = "from")]
    to: Option<Timestamp>,
    /// With whom it was said, where it was said with several
    #[arg(long, value_name = "AGENT-ID", conflicts_with = "check")]
    peer: Option<AgentId>,
    /// The peer's log, a directory: a second witness of the same messages
    #[arg(long, value_name = "PATH", conflicts_with = "check")]
    with: Option<PathBuf>,
    /// The file of the audit key (PEM): put into the page, readable for everybody who gets it, what is sealed
    #[arg(long, value_name = "KEY", conflicts_with = "check")]
    open: Option<PathBuf>,
    /// A new file for the page [default: standard output]
    #[arg(long, short, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// The log, a directory [default: that of this home]
    #[arg(long, value_name = "PATH", conflicts_with = "check")]
    log: Option<PathBuf>,
    /// Check a page: whether its script is the one of this signet, and whether its data hold, by signet's own code
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// With --check: print the report as one JSON object
    #[arg(long, requires = "check")]
    json: bool,
}

/// Performs `signet prove`.
pub(crate) fn run(args: ProveArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    if let Some(page) = &args.check {
        return check::run(page, args.json);
    }
    let log = args.log.clone().map_or_else(|| log_of(home), Ok)?;
    let output = args.output.as_deref();
    let mut witnesses = vec![Witnessed::of(&log, &args, args.peer.as_ref(), output)?];
    if let (Some(theirs), [mine]) = (&args.with, witnesses.as_slice()) {
        let me = mine.agent.clone();
        witnesses.push(Witnessed::of(theirs, &args, me.as_ref(), output)?);
    }
    let opened = match &args.open {
        Some(key) => Some(opened(&log, key, &witnesses)?),
        None => None,
    };
    let bundles: Vec<&[u8]> = witnesses.iter().map(|one| one.bundle.as_slice()).collect();
    let page = ProofPage::TEMPLATE.with(
        &bundles,
        opened.as_ref().map(|opened| opened.bytes.as_slice()),
    );
    write(&page, output, &log)?;
    for Witnessed { peer, exported, .. } in &witnesses {
        tell(&format!("{} with {peer}", counted(exported.lines, "line")));
        if exported.left_out > 0 {
            let left_out = counted(exported.left_out, "line");
            tell(&format!(
                "not in it, being newer than the last checkpoint: {left_out}; the next comes within a minute"
            ));
        }
    }
    if let Some(OpenedTexts { count, .. }) = opened {
        let sealed = counted(count, "sealed message");
        tell(&format!(
            "whoever gets the page reads {sealed} in it; no signature covers the opened words"
        ));
    }
    Ok(())
}

/// The word of one log about it.
struct Witnessed {
    bundle: Vec<u8>,
    /// Whose log it is.
    agent: Option<AgentId>,
    peer: AgentId,
    exported: Exported,
}

impl Witnessed {
    fn of(
        log: &Path,
        args: &ProveArgs,
        peer: Option<&AgentId>,
        output: Option<&Path>,
    ) -> Result<Self, CliError> {
        let proven = match (args.id, &args.conversation) {
            (Some(id), _) => ExcerptSubject::Message(id),
            (None, Some(conversation)) => ExcerptSubject::Conversation(conversation.clone()),
            (None, None) => ExcerptSubject::Everything,
        };
        let within = args.from.zip(args.to);
        let made = || {
            let excerpt = LogExcerpt::find(log, &proven, peer, within)?;
            let mut bundle = Vec::new();
            let exported = export_excerpt(log, &excerpt, &mut bundle)?;
            Ok((excerpt, bundle, exported))
        };
        let (excerpt, bundle, exported) =
            made().map_err(|error: ExportError| not_exported(error, output, log))?;
        let mut lines = bundle
            .split(|byte| *byte == b'\n')
            .map(BundleLineMembers::of);
        let agent = lines.next().and_then(|header| header.agent?.parse().ok());
        Ok(Self {
            bundle,
            agent,
            peer: excerpt.span.peer,
            exported,
        })
    }

    /// The hashes of the messages in it.
    fn hashes(&self) -> impl Iterator<Item = String> + '_ {
        let lines = self.bundle.split(|byte| *byte == b'\n');
        lines.filter_map(|line| BundleLineMembers::of(line).sha256)
    }
}

/// The members that are read of a bundle's lines.
#[derive(Default, Deserialize)]
struct BundleLineMembers {
    agent: Option<String>,
    sha256: Option<String>,
}

impl BundleLineMembers {
    fn of(line: &[u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_default()
    }
}

/// The words of a sealed message, as the page takes them.
#[derive(Serialize)]
struct SealedWords {
    summary: Option<String>,
    body: Option<Value>,
}

/// The texts that a key opened of the messages that are proven.
struct OpenedTexts {
    /// An object of summary and body, by the hash of the message.
    bytes: Vec<u8>,
    count: u64,
}

fn opened(log: &Path, key: &Path, witnesses: &[Witnessed]) -> Result<OpenedTexts, CliError> {
    let secret = read_seal_secret(key)?;
    let hashes: HashSet<String> = witnesses.iter().flat_map(Witnessed::hashes).collect();
    let mut texts = BTreeMap::new();
    for file in log_files(log).map_err(unreadable)? {
        for line in read_file(&file).map_err(unreadable)? {
            let line = line.map_err(unreadable)?;
            let Some(Entry::Message(verdict)) = &line.entry else {
                continue;
            };
            let hash = verdict.hash.to_hex();
            if !hashes.contains(&hash) {
                continue;
            }
            if let Sight::Opened(_, Opened { summary, body }) = line.open(&secret) {
                texts.insert(hash, SealedWords { summary, body });
            }
        }
    }
    if texts.is_empty() {
        return Err(CliError::refused(
            "the key opens none of the messages that are proven",
            "name the audit key of this agent's person, or leave --open out: what is sealed stays sealed",
        ));
    }
    let count = texts.len() as u64;
    // `to_value` does not fail: `texts` has hashes as keys, and only texts and JSON as values.
    let bytes = canonical(&serde_json::to_value(&texts).unwrap_or_default());
    Ok(OpenedTexts { bytes, count })
}

fn write(page: &str, output: Option<&Path>, log: &Path) -> Result<(), CliError> {
    let write = |out: &mut dyn std::io::Write| {
        out.write_all(page.as_bytes())?;
        Ok(())
    };
    let Some(path) = output else {
        let mut out = anstream::stdout().lock();
        return write(&mut out)
            .and_then(|()| Ok(out.flush()?))
            .map_err(|error: ExportError| not_exported(error, None, log));
    };
    write_new(path, |out| write(out)).map_err(|error| not_exported(error, Some(path), log))
}

fn tell(text: &str) {
    let text = signet_audit::printable(text);
    // If standard error is closed, there is nobody left to tell.
    let _ = writeln!(anstream::stderr(), "signet prove: {text}");
}
