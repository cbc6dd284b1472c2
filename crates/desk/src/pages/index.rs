//! The first page: what waits in each home, and the ways to decide it.

use std::sync::Arc;

use maud::{Markup, html};
use signet::cli::PersonsHome;
use signet_api::{Draft, Trust, WaitsFor};
use signet_text::visible;

use super::fault;
use crate::DeskError;
use crate::desk::{Desk, HomeAtDesk};
use crate::markup::{address, words_of};
use crate::words::DeskWords;

/// Everything that waits.
pub(crate) fn index(desk: &Desk, words: &DeskWords) -> Markup {
    let homes = desk.homes();
    html! {
        p { (words.desk_says) }
        @for home in &homes { (of_home(desk, words, home)) }
    }
}

fn of_home(desk: &Desk, words: &DeskWords, home: &Arc<HomeAtDesk>) -> Markup {
    let shown = waiting(desk, words, home).unwrap_or_else(|error| fault::shown(words, &error));
    html! {
        section aria-label={ (words.home_word) " " (home.name) } {
            h2 { (words.home_word) " " bdi { (visible(&home.name)) } }
            (shown)
        }
    }
}

fn waiting(desk: &Desk, words: &DeskWords, home: &HomeAtDesk) -> Result<Markup, DeskError> {
    let (name, person) = (home.name.as_str(), &home.person);
    let status = person.status()?;
    Ok(html! {
        p { bdi { (status.agent) } ", " (words.agent_of) " " bdi { (status.principal) } }
        (strangers(words, name, person)?)
        (drafts(words, name, person)?)
        (alarms(words, name, person)?)
        (asked_for(desk, words, name))
        (pause(words, name, status.paused))
        (trusted(words, name, person)?)
    })
}

fn strangers(words: &DeskWords, home: &str, person: &PersonsHome) -> Result<Markup, DeskError> {
    let pending = person.strangers()?;
    Ok(html! {
        @if !pending.pending.is_empty() { h3 { (words.strangers) } }
        @for one in &pending.pending {
            article id={ "stranger-" (home) "-" (one.agent) } {
                p { (words.claims) " " b { bdi { (one.agent) } } ", " (words.claims_for) " " b { bdi { (one.principal) } } }
                (words_of(&one.fingerprint))
                p { a href=(address("stranger", &[("home", home), ("agent", &one.agent), ("root", &one.root)])) { (words.stranger) } }
            }
        }
        @if !pending.root_alarms.is_empty() {
            h3 { (words.root_alarms) }
            p { (words.root_alarms_say) }
            @for one in &pending.root_alarms { p { code { (one.root) } ", " (words.since) " " (one.since) } }
        }
    })
}

fn drafts(words: &DeskWords, home: &str, person: &PersonsHome) -> Result<Markup, DeskError> {
    let drafts = person.drafts()?;
    let asks = |draft: &&Draft| draft.waits_for == WaitsFor::Approval;
    let drafts: Vec<&Draft> = drafts.iter().filter(asks).collect();
    Ok(html! {
        @if !drafts.is_empty() { h3 { (words.drafts) } }
        @for draft in drafts {
            article id={ "draft-" (home) "-" (draft.message_id) } {
                p { (words.recipient) " " b { bdi { (draft.peer) } } ", " (words.tier) " " (draft.data_tier) ", " (words.until) " " (draft.until) }
                @if let Some(summary) = &draft.summary { p { bdi { (visible(summary)) } } }
                p { a href=(address("draft", &[("home", home), ("id", &draft.message_id)])) { (words.draft) } }
            }
        }
    })
}

fn alarms(words: &DeskWords, home: &str, person: &PersonsHome) -> Result<Markup, DeskError> {
    let alarms = person.alarms()?.alarms;
    Ok(html! {
        @if !alarms.is_empty() {
            article id={ "alarm-" (home) } {
                h3 { (words.alarms) }
                @for alarm in &alarms { p { b { (alarm.alarm) } " " (words.with) " " bdi { (alarm.peer) } } }
                p { a href=(address("alarms", &[("home", home)])) { (words.alarms) } }
            }
        }
    })
}

fn asked_for(desk: &Desk, words: &DeskWords, home: &str) -> Markup {
    let wishes = desk.wishes.of(home);
    html! {
        @if !wishes.is_empty() {
            article id={ "asked-" (home) } {
                h3 { (words.open_sealed) }
                p { (words.asked_for) ":" }
                @for wish in &wishes {
                    p { a href=(address("open", &[("home", home), ("id", &wish.message_id)])) { code { (wish.message_id) } } }
                }
            }
        }
    }
}

fn pause(words: &DeskWords, home: &str, is_paused: bool) -> Markup {
    html! {
        article id={ "pause-" (home) } {
            p { @if is_paused { (words.pausing) } @else { (words.working) } }
            p { a href=(address("pause", &[("home", home)])) { (words.pause) } }
        }
    }
}

fn trusted(words: &DeskWords, home: &str, person: &PersonsHome) -> Result<Markup, DeskError> {
    let known = person.trusted()?;
    let known: Vec<_> = known
        .iter()
        .filter(|known| known.trust == Trust::Trusted)
        .collect();
    Ok(html! {
        @if !known.is_empty() {
            h3 { (words.trusted) }
            ul {
                @for one in known {
                    @let peer = one.peer.peer.as_str();
                    li id={ "agent-" (home) "-" (peer) } { a href=(address("agent", &[("home", home), ("agent", peer)])) { (peer) } }
                }
            }
        }
    })
}
