//! The frame around every page: head, ways to the others, search, foot.

use maud::{DOCTYPE, Markup, html};

use super::parts::{fault, moment, said};
use super::text::Text;
use super::{PageShown, RoomView};
use crate::ViewError;

/// A page of the room.
pub(super) fn page(view: &RoomView<'_>, here: &str, title: &str, main: Markup) -> PageShown {
    PageShown::Page(whole(view, here, title, main))
}

/// That nothing is here.
pub(super) fn nothing(view: &RoomView<'_>) -> PageShown {
    let text = view.text;
    let main = html! { h1 { (text.nothing_title) } p { (text.nothing_text) } p { a.button href="today" { (text.today) } } };
    PageShown::Nothing(whole(view, "", text.nothing_title, main))
}

fn whole(view: &RoomView<'_>, here: &str, title: &str, main: Markup) -> Markup {
    let text = view.text;
    let waits = view
        .ask
        .waiting(view.now)
        .map_or(0, |waiting| waiting.decisions());
    let ways = [
        ("today", text.today),
        ("conversations", text.conversations),
        ("people", text.people),
        ("left", text.left),
        ("refused", text.refused),
        ("proof", text.proof),
    ];
    html! {
        (DOCTYPE)
        html lang=(text.lang) {
            (head(title, true))
            body {
                a.skip href="#main" { (text.skip) }
                header.top {
                    a.brand href="today" { (seal()) span { (text.room) } }
                    nav aria-label=(text.pages) {
                        ul {
                            @for (address, name) in ways {
                                li {
                                    a href=(address) aria-current=[(here == address).then_some("page")] {
                                        (name)
                                        @if address == "today" && waits > 0 { span.count { (waits) } }
                                    }
                                }
                            }
                        }
                    }
                    form.find role="search" action="search" method="get" {
                        label.hidden for="find" { (text.search_hint) }
                        input #find name="q" type="search" placeholder=(text.search_hint) autocomplete="off"
                            value=[view.query.text("q")];
                        button type="submit" { (text.search_go) }
                    }
                }
                main #main tabindex="-1" { (main) }
                footer { (foot(view)) }
            }
        }
    }
}

fn foot(view: &RoomView<'_>) -> Markup {
    let text = view.text;
    html! {
        @for log in &view.logs {
            @if let Some(fault) = &log.fault {
                p.warn { (text.log_fault) (said(&log.agent)) ": " span lang="en" { (said(fault)) } }
            } @else if !log.is_whole && log.top > 0 {
                p.progress {
                    (text.indexing) (text.number(log.low)) (text.of_lines) (text.number(log.top)) " (" (said(log.name())) ")"
                }
            }
        }
        p { (text.read_only) " " span #live .live data-on=(text.live_on) data-off=(text.live_off) {} }
        p { (moment(text, view.now)) }
    }
}

fn head(title: &str, is_inside: bool) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · signet" }
            @if is_inside {
                link rel="icon" href="icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="room.css";
                script type="module" src="room.js" {}
            }
        }
    }
}

fn seal() -> Markup {
    html! {
        svg.seal viewBox="0 0 32 32" aria-hidden="true" {
            circle cx="16" cy="16" r="14" {}
            path d="M10 17.2l4.2 4.2L22.5 12" {}
        }
    }
}

/// A page without the room around it.
fn bare(text: &Text, title: &str, main: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(text.lang) {
            (head(title, false))
            body { main { h1 { (title) } (main) } }
        }
    }
}

/// Behind a one-time address: the way in.
pub(crate) fn entering(text: &Text, to: &str) -> Markup {
    let refresh = format!("0;url={to}");
    html! {
        (DOCTYPE)
        html lang=(text.lang) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="refresh" content=(refresh);
                title { (text.enter_title) " · signet" }
            }
            body { main { h1 { (text.enter_title) } p { a href=(to) { (text.enter_go) } } } }
        }
    }
}

/// For a one-time address that was used.
pub(crate) fn used(text: &Text) -> Markup {
    bare(text, text.used_title, html! { p { (text.used_text) } })
}

/// For who has not entered.
pub(crate) fn turned_away(text: &Text) -> Markup {
    bare(text, text.away_title, html! { p { (text.away_text) } })
}

/// For what did not work.
pub(crate) fn failed(text: &Text, error: &ViewError) -> Markup {
    bare(
        text,
        text.failed_title,
        html! { p { (fault(text, error)) } p { a href="today" { (text.today) } } },
    )
}
