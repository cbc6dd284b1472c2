//! One line of the log: what it says, its place in the chain, and its bytes.

use maud::{Markup, html};
use signet_proto::entry::Entry;

use super::parts::{bounded, moment, said, tier};
use super::sentence::sentence;
use super::{PageShown, RoomView, shell};
use crate::ViewError;
use crate::index::IndexedLine;

/// The page.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let Some(line) = view.ask.line(view.query.number("id").unwrap_or(-1))? else {
        return Ok(shell::nothing(view));
    };
    let whole = view.room.read(view.ask, &line)?;
    let raw = String::from_utf8_lossy(&whole.raw);
    let (shown, is_cut) = bounded(&raw, SHOWN);
    let message_hash = match &whole.entry {
        Some(Entry::Message(verdict)) => Some(verdict.hash.to_hex()),
        _ => None,
    };
    let main = html! {
        h1 { (text.line_number) " " (text.number(line.seq().unsigned_abs())) }
        p.lead { (sentence(view, &line)) }
        @if let Some(summary) = &line.summary { p.quote { (said(summary)) } }
        dl.facts {
            (fact(text.in_log, html! { (said(view.owner(line.log()))) }))
            (fact(text.written, moment(text, line.at)))
            @if let Some(n) = line.tier { (fact(text.search_tier, tier(text, n, line.sealed))) }
            @if let Some(reason) = &line.reason { (fact(text.refused_why, html! { code { (said(reason)) } })) }
            @if let Some(id) = &line.message { (fact(text.message_id, html! { code.hash { (said(id)) } })) }
            @if let Some(hash) = message_hash { (fact(text.message_hash, html! { code.hash { (hash) } })) }
            (fact(text.line_hash, html! { code.hash { (whole.hash.to_hex()) } }))
            (fact(text.line_before, html! { code.hash { (whole.prev.to_hex()) } }))
        }
        p.acts {
            @if let Some(thread) = line.thread {
                a.button href=(format!("conversation?id={thread}#l{}", line.id)) { (text.in_thread) }
            }
            a href=(format!("whole?id={}", line.id)) { (text.whole_line) }
        }
        h2 { (text.raw_line) }
        pre.raw tabindex="0" { code { (shown) @if is_cut { "…" } } }
        (proof_of(view, &line))
    };
    Ok(shell::page(view, "", text.line_number, main))
}

/// The bytes of a line, to be kept.
pub(super) fn whole(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let Some(line) = view.ask.line(view.query.number("id").unwrap_or(-1))? else {
        return Ok(shell::nothing(view));
    };
    let whole = view.room.read(view.ask, &line)?;
    Ok(PageShown::Whole(
        whole.raw,
        format!("line-{}.json", line.seq()),
    ))
}

fn fact(name: &str, value: Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// How somebody else is given the proof that this line stands in the log.
fn proof_of(view: &RoomView<'_>, line: &IndexedLine) -> Markup {
    let Some(peer) = &line.peer else {
        return html! {};
    };
    let day = signet_proto::time::Timestamp::from_millis(line.at).to_string();
    let day = day.get(..10).unwrap_or_default();
    html! {
        p.typed {
            (view.text.proof_export) " "
            (super::parts::command(&format!("signet audit export --peer {peer} --from {day} --out bundle.jsonl")))
        }
    }
}

/// Characters of a line that are shown.
const SHOWN: usize = 8_000;
