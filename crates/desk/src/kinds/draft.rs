//! A draft: who gets it, what it says as it will leave, and the person's decision, which is signed over exactly that.

use axum::response::Response;
use maud::{Markup, html};
use signet::cli::FetchedDraft;
use signet_api::{Decision, WaitsFor};
use signet_text::visible;

use super::{DeskStep, FinalWords, form, notice};
use crate::DeskError;
use crate::desk::Desk;
use crate::forms::{DeskChoice, ShownForm};
use crate::markup::{address, words_of};
use crate::pages;
use crate::plain::{self, PlainBody};
use crate::words::DeskWords;

pub(super) fn page(
    desk: &Desk,
    words: &DeskWords,
    home: &str,
    id: &str,
    step: DeskStep,
    said: Option<&str>,
) -> Result<Response, DeskError> {
    let fetched = fetch(desk, home, id)?;
    let hash = fetched.hash()?;
    let link = |choice| address("draft", &[("home", home), ("id", id), ("choice", choice)]);
    let choices = match step {
        DeskStep::Look => html! {
            div.choices {
                a.choice href=(link("approve")) { (words.approve_draft) }
                a.choice href=(link("refuse")) { (words.refuse_draft) }
            }
            (pages::back(words))
        },
        DeskStep::Sure { approve } => {
            let shown = ShownForm {
                home: home.to_owned(),
                choice: DeskChoice::Draft {
                    message_id: id.to_owned(),
                    approve,
                },
                mark: fetched.mark(),
            };
            let (consequence, button) = match approve {
                true => (words.sure_approve_draft, words.approve),
                false => (words.sure_refuse_draft, words.refuse_it),
            };
            let says = FinalWords {
                consequence,
                button,
            };
            form(desk, words, shown, &says, &html! {})?
        }
    };
    let body = html! {
        (notice(said))
        p { (words.draft_says) }
        (in_full(words, home, &fetched, &hash))
        (choices)
    };
    Ok(pages::page(words, words.draft, &body))
}

/// The whole body as text.
pub(super) fn whole(desk: &Desk, home: &str, id: &str) -> Result<String, DeskError> {
    Ok(plain::whole(&fetch(desk, home, id)?.draft().body))
}

pub(super) fn decide(
    desk: &Desk,
    words: &DeskWords,
    shown: &ShownForm,
    id: &str,
    approve: bool,
) -> Result<Response, DeskError> {
    let fetched = fetch(desk, &shown.home, id)?;
    if fetched.mark() != shown.mark {
        let step = DeskStep::Sure { approve };
        return page(desk, words, &shown.home, id, step, Some(words.changed));
    }
    // Sign the draft that was just compared with the shown one. A draft fetched again could have changed in between,
    // and the person would sign something that they never saw.
    let decided = desk.home(&shown.home)?.person.decide(&fetched, approve)?;
    let what = match (decided.decision, decided.sent) {
        (Decision::Approved, true) => words.approved_sent,
        (Decision::Approved, false) => words.approved_waits,
        (Decision::Refused, _) => words.refused_draft,
    };
    let more = html! { p { (words.message_name) ": " code { (id) } } };
    Ok(pages::done(words, what, &more))
}

fn fetch(desk: &Desk, home: &str, id: &str) -> Result<FetchedDraft, DeskError> {
    let fetched = desk.home(home)?.person.draft(id)?;
    let asks = |fetched: &FetchedDraft| fetched.draft().waits_for == WaitsFor::Approval;
    fetched.filter(asks).ok_or(DeskError::Gone)
}

fn in_full(words: &DeskWords, home: &str, fetched: &FetchedDraft, hash: &str) -> Markup {
    let draft = fetched.draft();
    html! {
        article {
            dl {
                dt { (words.recipient) }
                dd { b { bdi { (draft.peer) } } @if let Some(person) = &fetched.principal { ", " (words.agent_of) " " bdi { (person) } } }
                @if let Some(fingerprint) = &fetched.words { dt { (words.their_words) } dd { (words_of(fingerprint)) } }
                dt { (words.kind) } dd { (draft.message_type) }
                dt { (words.tier) } dd { (draft.data_tier) }
                @if let Some(capability) = &draft.capability { dt { (words.capability) } dd { (capability) } }
                dt { (words.until) } dd { (draft.until) }
                dt { (words.message_name) } dd { code { (draft.message_id) } }
                dt { (words.summary) }
                dd { @if let Some(summary) = &draft.summary { pre tabindex="0" { (visible(summary)) } } @else { (words.no_summary) } }
                dt { (words.body) }
                dd { (body(words, home, fetched)) }
                dt { (words.hash_signed) } dd { code { (hash) } }
            }
        }
    }
}

fn body(words: &DeskWords, home: &str, fetched: &FetchedDraft) -> Markup {
    let draft = fetched.draft();
    if draft.body.is_null() {
        return html! { (words.no_body) };
    }
    let whole = address("whole", &[("home", home), ("id", &draft.message_id)]);
    bounded(
        words,
        &PlainBody::of(&draft.body),
        &html! { a href=(whole) { (words.whole_text) } },
    )
}

/// A body, with its size and hash; of one that is too long the beginning, and the way to the whole.
pub(super) fn bounded(words: &DeskWords, body: &PlainBody, way: &Markup) -> Markup {
    html! {
        pre tabindex="0" { (body.text) }
        @if body.is_cut { div.fault { (words.cut) " " (way) } }
        p { (body.bytes) " " (words.bytes) ", SHA-256 " code { (body.sha256) } }
    }
}
