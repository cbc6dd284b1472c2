//! The pause of all agents of the person, and its end: both can be undone, so neither is asked twice.

use axum::response::Response;
use maud::html;
use serde_json::json;
use signet_api::Pausing;
use signet_proto::ids::Digest;

use super::{mark_of, notice};
use crate::DeskError;
use crate::desk::Desk;
use crate::forms::{DeskChoice, ShownForm};
use crate::pages;
use crate::words::DeskWords;

pub(super) fn page(
    desk: &Desk,
    words: &DeskWords,
    home: &str,
    said: Option<&str>,
) -> Result<Response, DeskError> {
    let pausing = desk.home(home)?.person.pausing()?;
    let (stands, button) = match pausing.paused {
        true => (words.pausing, words.resume_all),
        false => (words.working, words.pause_all),
    };
    let token = desk.forms.hand_out(ShownForm {
        home: home.to_owned(),
        choice: DeskChoice::Pause {
            paused: !pausing.paused,
        },
        mark: mark(&pausing),
    })?;
    let body = html! {
        (notice(said))
        p { (stands) @if let Some(since) = &pausing.since { " (" (words.since) " " (since) ")" } }
        form method="post" action="do" {
            input type="hidden" name="token" value=(token);
            div.choices { button type="submit" { (button) } }
        }
        (pages::back(words))
    };
    Ok(pages::page(words, words.pause, &body))
}

pub(super) fn decide(
    desk: &Desk,
    words: &DeskWords,
    shown: &ShownForm,
    paused: bool,
) -> Result<Response, DeskError> {
    let home = desk.home(&shown.home)?;
    if mark(&home.person.pausing()?) != shown.mark {
        return page(desk, words, &shown.home, Some(words.changed));
    }
    home.person.pause(paused)?;
    let what = match paused {
        true => words.paused_now,
        false => words.resumed_now,
    };
    Ok(pages::done(words, what, &html! {}))
}

fn mark(pausing: &Pausing) -> Digest {
    mark_of(&json!([pausing.paused, pausing.serial, pausing.since]))
}
