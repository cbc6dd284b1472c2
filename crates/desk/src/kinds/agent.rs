//! An agent that is trusted, and taking the trust back.

use axum::response::Response;
use maud::html;
use serde_json::json;
use signet_api::{Trust, TrustedPeer};
use signet_proto::ids::Digest;

use super::{DeskStep, FinalWords, form, mark_of, notice};
use crate::DeskError;
use crate::desk::Desk;
use crate::forms::{DeskChoice, ShownForm};
use crate::markup::{address, words_of};
use crate::pages;
use crate::words::DeskWords;

pub(super) fn page(
    desk: &Desk,
    words: &DeskWords,
    home: &str,
    agent: &str,
    step: DeskStep,
    said: Option<&str>,
) -> Result<Response, DeskError> {
    let known = fetch(desk, home, agent)?;
    let choices = match step {
        DeskStep::Look => html! {
            div.choices {
                a.choice href=(address("agent", &[("home", home), ("agent", agent), ("choice", "refuse")])) { (words.withdraw) }
            }
            (pages::back(words))
        },
        DeskStep::Sure { .. } => {
            let shown = ShownForm {
                home: home.to_owned(),
                choice: DeskChoice::Withdraw {
                    peer: agent.to_owned(),
                },
                mark: mark(&known),
            };
            let says = FinalWords {
                consequence: words.sure_withdraw,
                button: words.withdraw_now,
            };
            form(desk, words, shown, &says, &html! {})?
        }
    };
    let peer = &known.peer;
    let body = html! {
        (notice(said))
        article {
            p { b { bdi { (peer.peer) } } @if let Some(person) = &peer.principal { ", " (words.agent_of) " " bdi { (person) } } }
            @if let Some(fingerprint) = &peer.fingerprint { p { (words.words) } (words_of(fingerprint)) }
        }
        (choices)
    };
    Ok(pages::page(words, words.trusted_one, &body))
}

pub(super) fn decide(
    desk: &Desk,
    words: &DeskWords,
    shown: &ShownForm,
    agent: &str,
) -> Result<Response, DeskError> {
    if mark(&fetch(desk, &shown.home, agent)?) != shown.mark {
        let step = DeskStep::Sure { approve: false };
        return page(desk, words, &shown.home, agent, step, Some(words.changed));
    }
    let withdrawn = desk.home(&shown.home)?.person.withdraw(agent)?;
    let more = html! { p { b { bdi { (withdrawn.peer) } } } };
    Ok(pages::done(words, words.withdrawn, &more))
}

fn fetch(desk: &Desk, home: &str, agent: &str) -> Result<TrustedPeer, DeskError> {
    let known = desk.home(home)?.person.trusted()?;
    let is_it = |one: &TrustedPeer| one.peer.peer == agent && one.trust == Trust::Trusted;
    known.into_iter().find(is_it).ok_or(DeskError::Gone)
}

fn mark(known: &TrustedPeer) -> Digest {
    let peer = &known.peer;
    mark_of(&json!([peer.peer, peer.principal, peer.fingerprint]))
}
