//! Messages that left: to whom, how confidential, when, by whose leave; and which capability went to whom.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::conversations::pager;
use super::parts::{calendar, face, first_day, name, tier};
use super::people::capabilities;
use super::sentence::row;
use super::{PageShown, RoomView, shell};
use crate::ViewError;
use crate::index::{LineTopic, Tally, WantedLines};

/// The page.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let newest = view.ask.newest()?.unwrap_or(view.now).min(view.now);
    let today = view.days.day(newest);
    let peer = view.query.text("peer");
    let tallies = view
        .ask
        .tally(LineTopic::Left, &view.days, first_day(today))?;
    let tallies: Vec<Tally> = tallies
        .into_iter()
        .filter(|tally| peer.is_none_or(|peer| tally.name == peer))
        .collect();
    let found = view.ask.find(&WantedLines {
        whats: &[LineTopic::Left, LineTopic::Approval],
        peer: peer.map(str::to_owned),
        before: view.query.number("before").unwrap_or(i64::MAX),
        most: MOST,
        ..WantedLines::default()
    })?;
    let main = html! {
        h1 { (text.left) @if let Some(peer) = peer { " " (text.draft_to.to_lowercase()) (name(peer)) } }
        section aria-labelledby="weeks" {
            h2 #weeks { (text.left_weeks) }
            div.wide { (calendar(text, today, &tallies, text.left)) }
            p.quiet { (text.left_each) }
        }
        section aria-labelledby="by" {
            h2 #by { (text.left_by) }
            (table(view, &tallies))
        }
        section aria-labelledby="granted" {
            h2 #granted { (text.granted) }
            (granted(view)?)
        }
        section aria-labelledby="last" {
            h2 #last { (text.left_last) }
            ul.events { @for line in &found.lines { (row(view, line)) } }
            (pager(view, "left", found.has_more.then(|| found.lines.last().map(|line| line.at)).flatten()))
        }
    };
    Ok(shell::page(view, "left", text.left, main))
}

fn table(view: &RoomView<'_>, tallies: &[Tally]) -> Markup {
    let text = view.text;
    let mut rows: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for tally in tallies {
        let row = rows.entry(&tally.name).or_default();
        if let Some(cell) = row.get_mut(usize::from(tally.tier.clamp(1, 4)) - 1) {
            *cell += tally.n;
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    let labels = [1, 2, 3, 4].map(|n| format!("{n} {}", text.tier(n)));
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.iter().sum::<u64>()));
    html! {
        @if rows.is_empty() { p.quiet { (text.left_none) } }
        @else {
            div.wide {
                table {
                    thead {
                        tr {
                            th scope="col" { (text.to_whom) }
                            @for n in 1..=4_u8 { th.number scope="col" { (tier(text, n, false)) } }
                            th.number scope="col" { (text.left_sum) }
                        }
                    }
                    tbody {
                        @for (agent, counts) in rows.iter().take(ROWS as usize) {
                            tr {
                                th scope="row" {
                                    a href=(format!("left?peer={}", super::today::encoded(agent))) { (face(agent)) (name(agent)) }
                                }
                                @for (n, label) in counts.iter().zip(&labels) {
                                    td.number data-label=(label) { @if *n > 0 { (text.number(*n)) } @else { "·" } }
                                }
                                td.number data-label=(text.left_sum) { b { (text.number(counts.iter().sum())) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn granted(view: &RoomView<'_>) -> Result<Markup, ViewError> {
    let people = view.ask.people(ROWS)?;
    let granted: Vec<_> = people
        .iter()
        .filter(|person| person.is_trusted() && person.we_grant.is_some())
        .collect();
    Ok(html! {
        @if granted.is_empty() { p.quiet { (view.text.grants_none) } }
        dl.facts {
            @for person in granted {
                div { dt { (name(person.name())) } dd { (capabilities(view.text, person.we_grant.as_deref())) } }
            }
        }
    })
}

const MOST: u32 = 30;
const ROWS: u32 = 100;
