//! The decisions of the desk: a file for each kind, with the page that shows it in full and what its button does.
//!
//! ```text
//! look ──link──▶ once more, in full, with a form ──button──▶ fetched anew ──the same?──▶ done
//!                     ▲                                           │ no
//!                     └───────────── shown again ◀────────────────┘
//! ```

mod agent;
mod alarms;
mod draft;
mod open;
mod pause;
mod stranger;

use axum::extract::Request;
use axum::response::Response;
use maud::{Markup, html};
use signet_json::canonical;
use signet_proto::ids::Digest;
use url::form_urlencoded;

use crate::DeskError;
use crate::desk::Desk;
use crate::forms::{DeskChoice, ShownForm};
use crate::pages::plain;
use crate::words::DeskWords;
use stranger::StrangerName;

/// The request of a browser: its language and parameters.
pub(crate) struct PageQuery {
    pub(crate) words: &'static DeskWords,
    pairs: Vec<(String, String)>,
}

impl PageQuery {
    pub(crate) fn of(request: &Request) -> Self {
        let query = request.uri().query().unwrap_or_default();
        Self {
            words: DeskWords::of(request.headers()),
            pairs: form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        }
    }

    /// A parameter of the address; nothing where it names none.
    pub(crate) fn query(&self, name: &str) -> &str {
        value_of(&self.pairs, name)
    }

    /// Which button was chosen on the page before, where one was.
    fn step(&self) -> DeskStep {
        match self.query("choice") {
            "approve" => DeskStep::Sure { approve: true },
            "refuse" => DeskStep::Sure { approve: false },
            _ => DeskStep::Look,
        }
    }
}

/// How far a person is with a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeskStep {
    /// Looking.
    Look,
    /// About to do it.
    Sure { approve: bool },
}

/// A page that shows something in full.
pub(crate) fn show(desk: &Desk, asked: &PageQuery, page: &str) -> Result<Response, DeskError> {
    let (words, home) = (asked.words, asked.query("home"));
    let (id, agent) = (asked.query("id"), asked.query("agent"));
    match page {
        "stranger" => {
            let root = asked.query("root");
            stranger::page(
                desk,
                words,
                home,
                StrangerName { agent, root },
                asked.step(),
                None,
            )
        }
        "draft" => draft::page(desk, words, home, id, asked.step(), None),
        "whole" => Ok(plain(draft::whole(desk, home, id)?)),
        "alarms" => alarms::page(desk, words, home, asked.step(), None),
        "pause" => pause::page(desk, words, home, None),
        "agent" => agent::page(desk, words, home, agent, asked.step(), None),
        "open" => open::page(desk, words, home, id, None),
        _ => Err(DeskError::Gone),
    }
}

/// Does what a form asks for, if what was shown beside it still stands.
pub(crate) fn decide(desk: &Desk, words: &DeskWords, form: &[u8]) -> Result<Response, DeskError> {
    let pairs: Vec<(String, String)> = form_urlencoded::parse(form).into_owned().collect();
    let shown = desk.forms.take(value_of(&pairs, "token"));
    let shown = shown.ok_or(DeskError::Used)?;
    match &shown.choice {
        DeskChoice::Stranger {
            agent,
            root,
            approve,
        } => {
            let is_compared = value_of(&pairs, "compared") == "yes";
            let named = StrangerName { agent, root };
            stranger::decide(desk, words, &shown, named, *approve, is_compared)
        }
        DeskChoice::Draft {
            message_id,
            approve,
        } => draft::decide(desk, words, &shown, message_id, *approve),
        DeskChoice::ClearAlarms => alarms::decide(desk, words, &shown),
        DeskChoice::Withdraw { peer } => agent::decide(desk, words, &shown, peer),
        DeskChoice::Pause { paused } => pause::decide(desk, words, &shown, *paused),
        DeskChoice::Open {
            message_id,
            line,
            as_text,
        } => open::decide(desk, words, &shown, message_id, *line, *as_text),
    }
}

/// The words beside the last button, and on it.
struct FinalWords<'a> {
    consequence: &'a str,
    button: &'a str,
}

/// The last step: what cannot be undone, and the button.
fn form(
    desk: &Desk,
    words: &DeskWords,
    shown: ShownForm,
    says: &FinalWords<'_>,
    more: &Markup,
) -> Result<Markup, DeskError> {
    let token = desk.forms.hand_out(shown)?;
    Ok(html! {
        form method="post" action="do" {
            h2 { (words.sure) }
            p { (says.consequence) }
            (more)
            input type="hidden" name="token" value=(token);
            div.choices {
                button type="submit" { (says.button) }
                a.choice href="./" { (words.back) }
            }
        }
    })
}

/// Says that something changed since it was shown.
fn notice(text: Option<&str>) -> Markup {
    html! { @if let Some(text) = text { p.fault role="alert" { (text) } } }
}

/// Stands for everything that a page shows.
fn mark_of(shown: &serde_json::Value) -> Digest {
    Digest::of(&[&canonical(shown)])
}

/// The one value of that name: of two, neither is meant.
fn value_of<'a>(pairs: &'a [(String, String)], name: &str) -> &'a str {
    let mut named = pairs.iter().filter(|(known, _)| known == name);
    match (named.next(), named.next()) {
        (Some((_, value)), None) => value,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_means_nothing() {
        let pairs: Vec<(String, String)> = form_urlencoded::parse(b"token=a&token=b&c=d")
            .into_owned()
            .collect();
        assert_eq!(value_of(&pairs, "token"), "");
        assert_eq!(value_of(&pairs, "c"), "d");
    }
}
