//! The alarms that ring, and the person's word that they were seen to.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::json;
use signet_api::Alarm;
use signet_proto::ids::Digest;
use signet_text::visible;

use super::{DeskStep, FinalWords, form, mark_of, notice};
use crate::DeskError;
use crate::desk::Desk;
use crate::forms::{DeskChoice, ShownForm};
use crate::markup::address;
use crate::pages;
use crate::words::DeskWords;

pub(super) fn page(
    desk: &Desk,
    words: &DeskWords,
    home: &str,
    step: DeskStep,
    said: Option<&str>,
) -> Result<Response, DeskError> {
    let alarms = fetch(desk, home)?;
    let choices = match step {
        DeskStep::Look => html! {
            div.choices {
                a.choice href=(address("alarms", &[("home", home), ("choice", "approve")])) { (words.clear) }
            }
            (pages::back(words))
        },
        DeskStep::Sure { .. } => {
            let shown = ShownForm {
                home: home.to_owned(),
                choice: DeskChoice::ClearAlarms,
                mark: mark(&alarms),
            };
            let says = FinalWords {
                consequence: words.sure_clear,
                button: words.clear_now,
            };
            form(desk, words, shown, &says, &html! {})?
        }
    };
    let body = html! {
        (notice(said))
        p { (words.alarms_say) }
        (listed(words, &alarms))
        (choices)
    };
    Ok(pages::page(words, words.alarms, &body))
}

pub(super) fn decide(
    desk: &Desk,
    words: &DeskWords,
    shown: &ShownForm,
) -> Result<Response, DeskError> {
    if mark(&fetch(desk, &shown.home)?) != shown.mark {
        let step = DeskStep::Sure { approve: true };
        return page(desk, words, &shown.home, step, Some(words.changed));
    }
    let cleared = desk.home(&shown.home)?.person.clear_alarms()?.alarms;
    // Show what the daemon says that it cleared: an alarm that began to ring in the last moment is among them.
    Ok(pages::done(words, words.cleared, &listed(words, &cleared)))
}

fn fetch(desk: &Desk, home: &str) -> Result<Vec<Alarm>, DeskError> {
    let alarms = desk.home(home)?.person.alarms()?.alarms;
    match alarms.is_empty() {
        true => Err(DeskError::Gone),
        false => Ok(alarms),
    }
}

fn listed(words: &DeskWords, alarms: &[Alarm]) -> Markup {
    html! {
        @for alarm in alarms {
            article {
                h2 { (alarm.alarm) }
                p { (words.with) " " bdi { (alarm.peer) } ", " (words.since) " " (alarm.since) }
                p { (visible(&alarm.text)) }
            }
        }
    }
}

fn mark(alarms: &[Alarm]) -> Digest {
    let shown = alarms.iter();
    let shown = shown.map(|alarm| json!([alarm.alarm, alarm.peer, alarm.since, alarm.text]));
    mark_of(&shown.collect())
}
