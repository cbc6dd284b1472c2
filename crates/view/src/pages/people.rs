//! People: who is known, since when and by whose word, and what they may ask.

use maud::{Markup, html};
use signet_json::Value;

use super::parts::{command, face, moment, name, said, sign};
use super::sentence::row;
use super::text::Text;
use super::today::{decide, encoded, home};
use super::{PageShown, RoomView, shell};
use crate::ViewError;
use crate::index::{AgentOfLog, WantedLines};

/// The list.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let people = view.ask.people(MOST)?;
    let main = html! {
        h1 { (text.people) }
        @if people.is_empty() { p.quiet { (text.nobody) } }
        ul.people {
            @for person in &people {
                li {
                    a href=(link(person)) {
                        (face(shown_name(person)))
                        span.head {
                            span { (name(shown_name(person))) " " span.apart { (said(&person.agent)) } }
                            (standing(text, person))
                        }
                        span.beside {
                            @if view.logs.len() > 1 { span { (text.known_to) " " (said(view.owner(person.log))) } }
                            span { (text.heard) ": " @if person.heard > 0 { (moment(text, person.heard)) } @else { (text.never) } }
                        }
                    }
                }
            }
        }
    };
    Ok(shell::page(view, "people", text.people, main))
}

/// One of them.
pub(super) fn one(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let (log, agent) = (
        view.query.number("log").unwrap_or(-1),
        view.query.text("agent").unwrap_or_default(),
    );
    let Some(person) = view.ask.person(log, agent)? else {
        return Ok(shell::nothing(view));
    };
    let (came, left) = view.ask.traffic(log, agent)?;
    let standings = view.ask.standings(log, agent)?;
    let lines = view.ask.find(&WantedLines {
        peer: Some(agent.to_owned()),
        most: LINES,
        ..WantedLines::default()
    })?;
    let main = html! {
        p { a href="people" { "← " (text.all_people) } }
        h1.pair { (face(shown_name(&person))) (name(shown_name(&person))) (standing(text, &person)) }
        p.beside { span { (said(&person.agent)) } span { (text.acts_for) " " (name(person.person.as_deref().unwrap_or("?"))) } }
        @if let Some(words) = &person.words {
            h2 { (text.words_of) }
            p.words { @for word in words.split(' ') { span { (word) } } }
        }
        @if person.change.as_deref() == Some("pending") {
            (decide(view, log, &format!("/to/stranger?home={}&id={}", home(view, log), encoded(agent)), "signet trust pending"))
        }
        @if person.is_trusted() { (withdraw(view, log, agent)) }
        dl.facts {
            @if let Some(first) = person.first.and_then(|first| view.ask.line(first).ok().flatten()) {
                div { dt { (text.trusted) } dd { (text.since) (moment(text, first.at)) } }
            }
            div { dt { (text.heard) } dd { @if person.heard > 0 { (moment(text, person.heard)) } @else { (text.never) } } }
            (super::daemon::facts(view, log, agent))
            div { dt { (text.sent_us) } dd { (text.counted(came, text.messages_one, text.messages_many)) } }
            div { dt { (text.sent_them) } dd { (text.counted(left, text.messages_one, text.messages_many)) } }
            div { dt { (text.they_may) } dd { (capabilities(text, person.we_grant.as_deref())) } }
            div { dt { (text.we_may) } dd { (capabilities(text, person.they_grant.as_deref())) } }
        }
        @if !standings.is_empty() {
            h2 { (text.decisions) }
            ul.events { @for line in &standings { (row(view, line)) } }
        }
        h2 { (text.their_talk) }
        ul.events { @for line in &lines.lines { (row(view, line)) } }
        p { a href=(format!("conversations?peer={}", encoded(agent))) { (text.all_of_it) } }
    };
    Ok(shell::page(view, "people", text.people, main))
}

/// The way to take the trust back: at the desk, or by a command where there is none.
fn withdraw(view: &RoomView<'_>, log: i64, agent: &str) -> Markup {
    let text = view.text;
    html! {
        @match &view.room.settings.desk {
            Some(desk) => p.acts {
                a rel="noreferrer" href=(format!("{desk}/to/agent?home={}&id={}", home(view, log), encoded(agent))) { (text.withdraw) }
            },
            None => p.typed { (text.withdraw_command) " " (command(&format!("signet trust withdraw {agent}"))) }
        }
    }
}

/// A person by name only where the agent is trusted: anybody may claim to act for anybody.
fn shown_name(person: &AgentOfLog) -> &str {
    match person.is_trusted() {
        true => person.name(),
        false => &person.agent,
    }
}

fn link(person: &AgentOfLog) -> String {
    format!("person?log={}&agent={}", person.log, encoded(&person.agent))
}

fn standing(text: &Text, person: &AgentOfLog) -> Markup {
    let (words, holds) = match person.change.as_deref() {
        Some("bound" | "root-succeeded" | "root-replaced") => (text.trusted, Some(true)),
        Some("pending") => (text.waiting, None),
        Some("refused") => (text.refused_person, Some(false)),
        Some("withdrawn") => (text.withdrawn, Some(false)),
        Some("revoked") => (text.revoked, Some(false)),
        _ => (text.heard_only, None),
    };
    let class = match holds {
        Some(true) => "state good",
        Some(false) => "state bad",
        None => "state open",
    };
    html! { span class=(class) { @if let Some(holds) = holds { (sign(holds)) } (words) } }
}

/// The capabilities that a flight of a handshake grants.
pub(super) fn capabilities(text: &Text, grant: Option<&str>) -> Markup {
    let grant: Option<Value> = grant.and_then(|grant| serde_json::from_str(grant).ok());
    let Some(grant) = grant else {
        return html! { span.quiet { (text.grants_none) } };
    };
    let names = grant
        .get("capabilities")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let tier = grant.get("tier").and_then(Value::as_u64);
    html! {
        @if names.is_empty() { span { (text.no_capability) } }
        @for name in names.iter().filter_map(Value::as_str).take(64) { code { (said(name)) } " " }
        @if let Some(tier) = tier { span.apart { (text.up_to_tier) (tier) } }
    }
}

const MOST: u32 = 200;
const LINES: u32 = 12;
