//! Today: whether all is well, what waits, and the last day.

use maud::{Markup, html};

use super::parts::{command, face, moment, name, said, sign, tier};
use super::proof::sentence as proven;
use super::sentence::{alarm, row};
use super::{PageShown, RoomView, daemon, shell};
use crate::ViewError;
use crate::days::DAY;
use crate::index::{IndexedLine, IndexedThread, WaitingForPerson, WantedLines};

/// The page.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let waiting = view.ask.waiting(view.now)?;
    let mut found = view.ask.find(&WantedLines {
        from: view.now.saturating_sub(DAY),
        most: LINES,
        ..WantedLines::default()
    })?;
    let mut title = text.last_day;
    if found.lines.is_empty() {
        title = text.last_lines;
        found = view.ask.find(&WantedLines {
            most: LINES,
            ..WantedLines::default()
        })?;
    }
    let main = html! {
        h1 { (text.today) }
        section.proofs aria-label=(text.proof) {
            @for log in &view.logs { (proven(view, log)?) (daemon::sentence(view, log, &home(view, log.id))) }
        }
        section aria-labelledby="waits" {
            h2 #waits { (text.waits) }
            (waits(view, &waiting)?)
        }
        section aria-labelledby="day" {
            h2 #day { (title) }
            @if found.lines.is_empty() { p.quiet { (text.nothing_yet) } }
            ul.events { @for line in &found.lines { (row(view, line)) } }
            p { a href="conversations" { (text.all_of_it) } }
        }
    };
    Ok(shell::page(view, "today", text.today, main))
}

fn waits(view: &RoomView<'_>, waiting: &WaitingForPerson) -> Result<Markup, ViewError> {
    let is_quiet = waiting.decisions() == 0 && waiting.asked.is_empty();
    Ok(html! {
        @if is_quiet { p.quiet { (view.text.waits_none) } }
        @for line in &waiting.alarms { (alarm_card(view, line)) }
        @for (log, agent) in &waiting.strangers { (stranger(view, *log, agent)?) }
        @for (line, until) in &waiting.drafts { (draft(view, line, *until)) }
        @for conversation in &waiting.asked { (asked(view, conversation)?) }
    })
}

fn alarm_card(view: &RoomView<'_>, line: &IndexedLine) -> Markup {
    let text = view.text;
    html! {
        article.card.bad {
            h3 { (sign(false)) (text.alarm) ": " (name(line.peer.as_deref().unwrap_or("?"))) }
            p { (alarm(view, line.reason.as_deref().unwrap_or_default())) }
            p.beside { (moment(text, line.at)) }
            (decide(view, line.log(), &format!("/to/alarm?home={}", home(view, line.log())), "signet alarms"))
        }
    }
}

fn stranger(view: &RoomView<'_>, log: i64, agent: &str) -> Result<Markup, ViewError> {
    let text = view.text;
    let Some(person) = view.ask.person(log, agent)? else {
        return Ok(html! {});
    };
    let to = format!(
        "/to/stranger?home={}&id={}",
        home(view, log),
        encoded(agent)
    );
    Ok(html! {
        article.card {
            h3 { (face(agent)) (text.stranger) ": " (name(agent)) }
            p {
                (name(agent)) (text.stranger_says) (name(person.person.as_deref().unwrap_or("?"))) (text.stranger_end)
            }
            @if let Some(words) = &person.words {
                p { (text.stranger_compare) }
                p.words { @for word in words.split(' ') { span { (word) } } }
            }
            (decide(view, log, &to, "signet trust pending"))
        }
    })
}

fn draft(view: &RoomView<'_>, line: &IndexedLine, until: i64) -> Markup {
    let text = view.text;
    let id = line.message.as_deref().unwrap_or_default();
    let to = format!(
        "/to/draft?home={}&id={}",
        home(view, line.log()),
        encoded(id)
    );
    let peer = view.peer(line.log(), line.peer.as_deref());
    html! {
        article.card {
            h3 { (face(&peer)) (text.draft_waits) }
            p { (text.draft_to) (name(&peer)) " " @if let Some(n) = line.tier { (tier(text, n, line.sealed)) } }
            @match &line.summary {
                Some(summary) => p.quote { (said(summary)) },
                None => @if line.sealed { p { (text.draft_sealed) } }
            }
            p.beside { (text.draft_until) (moment(text, until)) }
            (decide(view, line.log(), &to, &format!("signet approve {id}")))
        }
    }
}

fn asked(view: &RoomView<'_>, conversation: &IndexedThread) -> Result<Markup, ViewError> {
    let text = view.text;
    let line = view.ask.line(conversation.last)?;
    let peer = view.peer(conversation.log, conversation.peer.as_deref());
    let summary = line.as_ref().and_then(|line| line.summary.as_deref());
    let link = format!("conversation?id={}", conversation.id);
    Ok(html! {
        a.card.asked href=(link) {
            span.lead {
                (face(&peer))
                span {
                    (name(&peer)) " " (text.wants_answer)
                    @if view.logs.len() > 1 { (text.answer_from) (name(view.owner(conversation.log))) }
                }
            }
            @if let Some(summary) = summary { span.quote { (said(summary)) } }
            span.beside { (moment(text, conversation.at)) }
        }
    })
}

/// The way to decide: at the desk, or by a command where there is none.
pub(super) fn decide(view: &RoomView<'_>, log: i64, to: &str, typed: &str) -> Markup {
    let text = view.text;
    let _ = log;
    html! {
        @match &view.room.settings.desk {
            Some(desk) => p.acts { a.button rel="noreferrer" href=(format!("{desk}{to}")) { (text.decide) } },
            None => p.typed { (text.decide_command) " " (command(typed)) }
        }
    }
}

/// The person's name for the home of a log, for an address.
pub(super) fn home(view: &RoomView<'_>, log: i64) -> String {
    let dir = super::parts::log_of(&view.logs, log).map(|log| &log.dir);
    let homes = &view.room.settings.homes;
    let found = homes.iter().find(|home| Some(&home.log) == dir);
    encoded(found.map_or("", |home| &home.name))
}

/// A text as part of an address.
pub(super) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// How many lines of the last day are shown.
const LINES: u32 = 10;
