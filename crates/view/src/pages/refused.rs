//! Refusals: here, by others, and by one's own rules; as counts, and one by one.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::conversations::pager;
use super::parts::{calendar, first_day};
use super::sentence::{row, why};
use super::{PageShown, RoomView, shell};
use crate::ViewError;
use crate::index::{LineTopic, Tally, WantedLines};

/// The page.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let newest = view.ask.newest()?.unwrap_or(view.now).min(view.now);
    let today = view.days.day(newest);
    let from = first_day(today);
    let groups = [
        (
            text.refused_here,
            view.ask.tally(LineTopic::Refused, &view.days, from)?,
        ),
        (
            text.refused_there,
            view.ask.tally(LineTopic::RefusedThere, &view.days, from)?,
        ),
        (
            text.refused_own,
            view.ask.tally(LineTopic::Attempt, &view.days, from)?,
        ),
    ];
    let all: Vec<Tally> = groups
        .iter()
        .flat_map(|(_, tallies)| tallies.clone())
        .collect();
    let found = view.ask.find(&WantedLines {
        whats: &[
            LineTopic::Refused,
            LineTopic::RefusedThere,
            LineTopic::Attempt,
        ],
        before: view.query.number("before").unwrap_or(i64::MAX),
        most: MOST,
        ..WantedLines::default()
    })?;
    let main = html! {
        h1 { (text.refused) }
        @if found.lines.is_empty() && all.is_empty() { p.quiet { (text.refused_none) } }
        @else {
            section aria-labelledby="when" {
                h2 #when { (text.refused_when) }
                div.wide.warm { (calendar(text, today, &all, text.refused)) }
            }
            div.columns { @for (title, tallies) in &groups { (group(view, title, tallies)) } }
            section aria-labelledby="each" {
                h2 #each { (text.refused_each) }
                ul.events { @for line in &found.lines { (row(view, line)) } }
                (pager(view, "refused", found.has_more.then(|| found.lines.last().map(|line| line.at)).flatten()))
            }
        }
    };
    Ok(shell::page(view, "refused", text.refused, main))
}

/// How often for which reason, the most frequent first; reasons with the same words are one.
fn group(view: &RoomView<'_>, title: &str, tallies: &[Tally]) -> Markup {
    let text = view.text;
    let mut counts: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for tally in tallies {
        let words = text.reason(&tally.name);
        let count = counts.entry(words).or_insert((0, &tally.name));
        count.0 += tally.n;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    let most = counts.first().map_or(1, |(_, (n, _))| *n).max(1);
    html! {
        section {
            h2 { (title) }
            @if counts.is_empty() { p.quiet { (text.refused_none) } }
            ul.bars {
                @for (_, (n, reason)) in counts.iter().take(ROWS) {
                    li {
                        span { (why(view, reason)) }
                        b { (text.number(*n)) }
                        meter min="0" max=(most) value=(n) { (n) }
                    }
                }
            }
        }
    }
}

const MOST: u32 = 30;
const ROWS: usize = 20;
