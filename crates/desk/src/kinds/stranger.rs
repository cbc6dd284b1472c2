//! A stranger: the twelve words that two people compare, and the decision whether to trust it under that root key.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::json;
use signet_api::Stranger;
use signet_proto::ids::Digest;

use super::{DeskStep, FinalWords, form, mark_of, notice};
use crate::DeskError;
use crate::desk::Desk;
use crate::forms::{DeskChoice, ShownForm};
use crate::markup::{address, words_of};
use crate::pages;
use crate::words::DeskWords;

/// The claimed id of a stranger, and its root key.
#[derive(Clone, Copy)]
pub(super) struct StrangerName<'a> {
    pub(super) agent: &'a str,
    pub(super) root: &'a str,
}

pub(super) fn page(
    desk: &Desk,
    words: &DeskWords,
    home: &str,
    named: StrangerName<'_>,
    step: DeskStep,
    said: Option<&str>,
) -> Result<Response, DeskError> {
    let stranger = fetch(desk, home, named)?;
    let choices = match step {
        DeskStep::Look => choices(words, home, named),
        DeskStep::Sure { approve } => last_step(desk, words, home, &stranger, approve)?,
    };
    let body = html! {
        (notice(said))
        p { (words.stranger_says) }
        article {
            dl {
                dt { (words.claims) } dd { b { bdi { (stranger.agent) } } }
                dt { (words.claims_for) } dd { b { bdi { (stranger.principal) } } }
                dt { (words.their_words) } dd { (words_of(&stranger.fingerprint)) }
                dt { (words.root_key) } dd { code { (stranger.root) } }
                dt { (words.since) } dd { (stranger.since) }
            }
        }
        (choices)
    };
    Ok(pages::page(words, words.stranger, &body))
}

fn choices(words: &DeskWords, home: &str, named: StrangerName<'_>) -> Markup {
    let StrangerName { agent, root } = named;
    let link = |choice| {
        let pairs = [
            ("home", home),
            ("agent", agent),
            ("root", root),
            ("choice", choice),
        ];
        address("stranger", &pairs)
    };
    html! {
        div.choices {
            a.choice href=(link("approve")) { (words.approve_stranger) }
            a.choice href=(link("refuse")) { (words.refuse_stranger) }
        }
        (pages::back(words))
    }
}

fn last_step(
    desk: &Desk,
    words: &DeskWords,
    home: &str,
    stranger: &Stranger,
    approve: bool,
) -> Result<Markup, DeskError> {
    let shown = ShownForm {
        home: home.to_owned(),
        choice: DeskChoice::Stranger {
            agent: stranger.agent.clone(),
            root: stranger.root.clone(),
            approve,
        },
        mark: mark(stranger),
    };
    let compared = html! {
        @if approve {
            label { input type="checkbox" name="compared" value="yes" required; " " (words.compared) }
        }
    };
    let (consequence, button) = match approve {
        true => (words.sure_approve_stranger, words.trust_it),
        false => (words.sure_refuse_stranger, words.refuse_it),
    };
    let says = FinalWords {
        consequence,
        button,
    };
    form(desk, words, shown, &says, &compared)
}

pub(super) fn decide(
    desk: &Desk,
    words: &DeskWords,
    shown: &ShownForm,
    named: StrangerName<'_>,
    approve: bool,
    is_compared: bool,
) -> Result<Response, DeskError> {
    let stranger = fetch(desk, &shown.home, named)?;
    let step = DeskStep::Sure { approve };
    let again = |said| page(desk, words, &shown.home, named, step, Some(said));
    if mark(&stranger) != shown.mark {
        return again(words.changed);
    }
    // The form requires the tick, and browsers enforce that. Check it here as well: a request without the tick must not
    // approve a stranger whose words nobody compared.
    if approve && !is_compared {
        return again(words.compare_first);
    }
    let person = &desk.home(&shown.home)?.person;
    let (decided, what) = match approve {
        true => (
            person.approve(named.agent, named.root)?,
            words.stranger_trusted,
        ),
        false => (
            person.refuse(named.agent, named.root)?,
            words.stranger_refused,
        ),
    };
    let more = html! { p { b { bdi { (decided.agent) } } } };
    Ok(pages::done(words, what, &more))
}

fn fetch(desk: &Desk, home: &str, named: StrangerName<'_>) -> Result<Stranger, DeskError> {
    let pending = desk.home(home)?.person.strangers()?.pending;
    let is_it = |one: &Stranger| one.agent == named.agent && one.root == named.root;
    pending.into_iter().find(is_it).ok_or(DeskError::Gone)
}

fn mark(stranger: &Stranger) -> Digest {
    mark_of(&json!([
        stranger.agent,
        stranger.principal,
        stranger.root,
        stranger.fingerprint,
    ]))
}
