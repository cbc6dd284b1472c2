//! Proof: whether the logs hold, by whose word, and what happened to them.

use maud::{Markup, html};

use super::parts::{command, moment, name, said, sign};
use super::sentence::row;
use super::{PageShown, RoomView, shell};
use crate::ViewError;
use crate::index::{LineTopic, LogState, WantedLines};
use crate::proof::LogProof;

/// The page.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let events = view.ask.find(&WantedLines {
        whats: &[LineTopic::Alarm, LineTopic::Hole, LineTopic::Note],
        before: view.query.number("before").unwrap_or(i64::MAX),
        most: MOST,
        ..WantedLines::default()
    })?;
    let paths: Vec<String> = view
        .logs
        .iter()
        .map(|log| signet_text::word(&log.dir))
        .collect();
    let main = html! {
        h1 { (text.proof) }
        @if let Some(progress) = view.room.proofs.progress() {
            p.progress role="status" { (text.proof_runs) (progress) " %" }
            progress max="100" value=(progress) aria-label=(text.proof_runs) {}
        } @else {
            form action="look" method="post" {
                input type="hidden" name="token" value=(view.room.token);
                button type="submit" { (text.proof_again) }
            }
        }
        @if let Some(fault) = view.room.proofs.fault() { p.warn lang="en" { (said(&fault)) } }
        @for log in &view.logs { (log_proof(view, log)?) }
        section aria-labelledby="events" {
            h2 #events { (text.proof_events) }
            @if events.lines.is_empty() { p.quiet { (text.proof_quiet) } }
            ul.events { @for line in &events.lines { (row(view, line)) } }
        }
        p.typed { (text.proof_command) " " (command(&format!("signet audit verify {}", paths.join(" ")))) }
    };
    Ok(shell::page(view, "proof", text.proof, main))
}

fn read(view: &RoomView<'_>, log: &LogState) -> Result<Option<(i64, LogProof)>, ViewError> {
    let kept = view.ask.proof(log.id)?;
    Ok(kept.and_then(|(at, report)| Some((at, serde_json::from_str(&report).ok()?))))
}

/// Whether a log holds, in one sentence.
pub(super) fn sentence(view: &RoomView<'_>, log: &LogState) -> Result<Markup, ViewError> {
    let text = view.text;
    let found = read(view, log)?;
    Ok(html! {
        @match &found {
            None => p.verdict.quiet {
                span { (name(log.name())) ": " (text.proof_none) " " a href="proof" { (text.proof) } }
            },
            Some((at, proof)) if proof.holds => p.verdict.good {
                (sign(true))
                span {
                    (name(log.name())) ": " (text.proof_all) (text.counted(proof.lines, text.lines_one, text.lines_many)) (text.proof_hold)
                    @match proof.witnesses.first() {
                        Some((agent, seq)) => {
                            " " (text.proof_log_of) (name(&view.peer(log.id, Some(agent)))) (text.proof_upto) (text.number(*seq)) "."
                        },
                        None => { " " (text.proof_alone) }
                    }
                    span.apart { (text.proof_looked) (moment(text, *at)) (since(view, log, proof)) }
                }
            },
            Some((_, proof)) => p.verdict.bad {
                (sign(false))
                span {
                    (name(log.name())) ": " (text.proof_broken)
                    (text.counted(proof.faults.len() as u64 + proof.more, text.proof_fault_one, text.proof_fault_many)) ". "
                    a href="proof" { (text.proof) }
                }
            }
        }
    })
}

/// How many lines were written since a proof.
fn since(view: &RoomView<'_>, log: &LogState, proof: &LogProof) -> Markup {
    let seen = proof.head.as_ref().map_or(0, |(seq, _)| *seq);
    let more = log.top.saturating_sub(seen);
    let text = view.text;
    html! { @if more > 0 { "; " (text.counted(more, text.lines_one, text.lines_many)) (text.proof_since) } @else { "." } }
}

fn log_proof(view: &RoomView<'_>, log: &LogState) -> Result<Markup, ViewError> {
    let text = view.text;
    let Some((_, proof)) = read(view, log)? else {
        return sentence(view, log);
    };
    Ok(html! {
        section.card {
            (sentence(view, log)?)
            @if !proof.faults.is_empty() {
                ul.faults {
                    @for (seq, what) in proof.faults.iter().take(SHOWN) {
                        li { @if let Some(seq) = seq { (text.line_number) " " (text.number(*seq)) ": " } span lang="en" { (said(what)) } }
                    }
                }
            }
            dl.facts {
                @if let Some((seq, hash)) = &proof.head {
                    div { dt { (text.proof_head) } dd { (text.number(*seq)) " " code.hash { (hash) } } }
                }
                div { dt { (text.proof_signed) } dd { (text.number(proof.signed)) } }
                div { dt { (text.proof_decided) } dd { (text.number(proof.decisions)) } }
                div { dt { (text.proof_checks) } dd { (text.number(proof.checkpoints)) } }
                @if let Some(covered) = proof.covered { div { dt { (text.proof_covered) } dd { (text.number(covered)) } } }
                div {
                    dt { (text.proof_witness) }
                    dd {
                        @if proof.witnesses.is_empty() { (text.proof_alone) }
                        @for (agent, seq) in &proof.witnesses { (name(agent)) (text.proof_upto) (text.number(*seq)) " " }
                    }
                }
                @if proof.wrong_clock > 0 { div { dt { (text.proof_clock) } dd { (text.number(proof.wrong_clock)) } } }
            }
            @if let Some(words) = &log.words { p.quiet { (text.own_words) } p.words { @for word in words.split(' ') { span { (word) } } } }
            @for note in proof.notes.iter().take(SHOWN) { p.quiet lang="en" { (said(note)) } }
        }
    })
}

const MOST: u32 = 40;
/// Faults and notes that are shown.
const SHOWN: usize = 20;
