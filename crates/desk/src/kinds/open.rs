//! A sealed line of the log, opened with the person's audit key, one at a time, and shown as plain text.

use axum::response::Response;
use maud::{Markup, html};
use signet::cli::SealedLine;
use signet_text::visible;

use super::draft::bounded;
use super::notice;
use crate::DeskError;
use crate::desk::Desk;
use crate::forms::{DeskChoice, ShownForm};
use crate::pages;
use crate::plain::{self, PlainBody};
use crate::words::DeskWords;

pub(super) fn page(
    desk: &Desk,
    words: &DeskWords,
    home: &str,
    id: &str,
    said: Option<&str>,
) -> Result<Response, DeskError> {
    let sealed = desk.home(home)?.person.sealed(id)?;
    let mut lines = Vec::new();
    for line in &sealed {
        lines.push(html! {
            article {
                (about(words, line))
                (button(desk, words, home, id, line, false)?)
            }
        });
    }
    let body = html! {
        (notice(said))
        p { (words.open_says) }
        @if lines.is_empty() { p { (words.not_sealed) } }
        @for line in &lines { (line) }
        (pages::back(words))
    };
    Ok(pages::page(words, words.open_sealed, &body))
}

pub(super) fn decide(
    desk: &Desk,
    words: &DeskWords,
    shown: &ShownForm,
    id: &str,
    number: u64,
    as_text: bool,
) -> Result<Response, DeskError> {
    let home = desk.home(&shown.home)?;
    let sealed = home.person.sealed(id)?;
    let is_it = |line: &&SealedLine| line.number() == number && line.hash() == shown.mark;
    let Some(line) = sealed.iter().find(is_it) else {
        return page(desk, words, &shown.home, id, Some(words.changed));
    };
    let opened = home.person.open(line)?;
    let body = opened.body.unwrap_or_default();
    if as_text {
        return Ok(pages::plain(plain::whole(&body)));
    }
    let shown_body = PlainBody::of(&body);
    // The button for the whole body sends a form too, and is no link: no address of the desk may show a sealed message.
    let way = match shown_body.is_cut {
        true => button(desk, words, &shown.home, id, line, true)?,
        false => html! {},
    };
    let page = html! {
        article {
            (about(words, line))
            dl {
                dt { (words.summary) }
                dd { @if let Some(summary) = &opened.summary { pre tabindex="0" { (visible(summary)) } } @else { (words.no_summary) } }
                dt { (words.body) }
                dd { @if body.is_null() { (words.no_body) } @else { (bounded(words, &shown_body, &way)) } }
            }
        }
        (pages::back(words))
    };
    Ok(pages::page(words, words.opened, &page))
}

fn about(words: &DeskWords, line: &SealedLine) -> Markup {
    let how = match line.direction {
        "in" => words.came_from,
        "out" => words.went_to,
        _ => words.waits_for,
    };
    html! {
        p {
            (words.line) " " (line.number()) ", " (line.time()) ": " (how) " " b { bdi { (line.peer) } } ", "
            (words.tier) " " (line.tier)
        }
    }
}

fn button(
    desk: &Desk,
    words: &DeskWords,
    home: &str,
    id: &str,
    line: &SealedLine,
    as_text: bool,
) -> Result<Markup, DeskError> {
    let token = desk.forms.hand_out(ShownForm {
        home: home.to_owned(),
        choice: DeskChoice::Open {
            message_id: id.to_owned(),
            line: line.number(),
            as_text,
        },
        mark: line.hash(),
    })?;
    let says = if as_text {
        words.whole_text
    } else {
        words.open_now
    };
    Ok(html! {
        form method="post" action="do" {
            input type="hidden" name="token" value=(token);
            button type="submit" { (says) }
        }
    })
}
