//! Search: words, agent, tier and dates, over all logs.

use maud::{Markup, html};

use super::conversations::pager;
use super::sentence::row;
use super::{PageShown, RoomView, shell};
use crate::ViewError;
use crate::index::WantedLines;

/// The page.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let (text, query) = (view.text, view.query);
    let tier = query
        .number("tier")
        .and_then(|tier| u8::try_from(tier).ok());
    let until = query
        .day("to")
        .map_or(i64::MAX, |day| view.days.begin(day + 1));
    let wanted = WantedLines {
        words: query.text("q").unwrap_or_default().to_owned(),
        peer: query.text("peer").map(str::to_owned),
        tier,
        from: query.day("from").map_or(0, |day| view.days.begin(day)),
        before: query.number("before").unwrap_or(i64::MAX).min(until),
        most: MOST,
        ..WantedLines::default()
    };
    let is_empty = ["q", "peer", "tier", "from", "to"]
        .iter()
        .all(|name| query.text(name).is_none());
    let found = match is_empty {
        true => None,
        false => Some(view.ask.find(&wanted)?),
    };
    let main = html! {
        h1 { (text.search) }
        (form(view)?)
        div #results role="region" aria-live="polite" aria-label=(text.search) {
            @match &found {
                None => p.quiet { (text.search_start) },
                Some(found) => {
                    @if found.lines.is_empty() { p.quiet { (text.search_none) " " (text.sealed_not) } }
                    ul.events { @for line in &found.lines { (row(view, line)) } }
                    @if found.is_cut { p.quiet { (text.search_cut) } }
                    (pager(view, "search", found.has_more.then(|| found.lines.last().map(|line| line.at)).flatten()))
                }
            }
        }
    };
    Ok(shell::page(view, "search", text.search, main))
}

fn form(view: &RoomView<'_>) -> Result<Markup, ViewError> {
    let (text, query) = (view.text, view.query);
    let mut agents: Vec<String> = view
        .ask
        .people(OFFERED)?
        .into_iter()
        .map(|person| person.agent)
        .collect();
    agents.sort_unstable();
    agents.dedup();
    Ok(html! {
        form.filters action="search" method="get" {
            p { label for="words" { (text.search_words) } input #words name="q" type="search" value=[query.text("q")]; }
            p {
                label for="peer" { (text.search_who) }
                select #peer name="peer" {
                    option value="" { (text.search_any) }
                    @for agent in &agents {
                        option value=(agent) selected[query.text("peer") == Some(agent)] { (agent) }
                    }
                }
            }
            p {
                label for="tier" { (text.search_tier) }
                select #tier name="tier" {
                    option value="" { (text.search_any) }
                    @for tier in 1..=4_u8 {
                        option value=(tier) selected[query.number("tier") == Some(tier.into())] { (tier) " " (text.tier(tier)) }
                    }
                }
            }
            p { label for="from" { (text.search_from) } input #from name="from" type="date" value=[query.text("from")]; }
            p { label for="to" { (text.search_to) } input #to name="to" type="date" value=[query.text("to")]; }
            p { button type="submit" { (text.search_go) } }
        }
    })
}

const MOST: u32 = 40;
/// Agents that can be chosen from.
const OFFERED: u32 = 200;
