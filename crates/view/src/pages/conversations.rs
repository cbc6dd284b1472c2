//! Conversations, like mail: with whom, what was said last, whether it is answered.

use maud::{Markup, html};

use super::parts::{face, moment, name, said, tier};
use super::sentence::verb;
use super::{PageShown, RoomView, shell};
use crate::ViewError;
use crate::index::{IndexedThread, LineTopic};

/// The page.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let before = view.query.number("before").unwrap_or(i64::MAX);
    let peer = view.query.text("peer");
    let mut found = view.ask.conversations(peer, before, MOST + 1)?;
    let has_more = found.len() > MOST as usize;
    found.truncate(MOST as usize);
    let main = html! {
        h1 { (text.conversations) @if let Some(peer) = peer { " " (text.with) (name(peer)) } }
        @if found.is_empty() { p.quiet { (text.nothing_yet) } }
        ul.mail { @for conversation in &found { (row(view, conversation)?) } }
        (pager(view, "conversations", has_more.then(|| found.last().map(|last| last.at)).flatten()))
    };
    Ok(shell::page(view, "conversations", text.conversations, main))
}

fn row(view: &RoomView<'_>, conversation: &IndexedThread) -> Result<Markup, ViewError> {
    let text = view.text;
    let line = view.ask.line(conversation.last)?;
    let peer = view.peer(conversation.log, conversation.peer.as_deref());
    let own = view.owner(conversation.log);
    let link = format!("conversation?id={}", conversation.id);
    let state = match conversation.is_open {
        true => html! { span.state.open { (text.open) } },
        false => html! {},
    };
    Ok(html! {
        li {
            a href=(link) {
                (face(&peer))
                span.head {
                    span { (name(&peer)) @if view.logs.len() > 1 { " " span.apart { (text.with) (said(own)) } } }
                    (moment(text, conversation.at))
                }
                @if let Some(line) = line {
                    span.last {
                        @let (from, to) = match line.what { LineTopic::Left => (own, peer.as_str()), _ => (peer.as_str(), own) };
                        @match (&line.summary, line.sealed) {
                            (Some(summary), _) => (said(summary)),
                            (None, true) => em { (text.sealed_here) },
                            (None, false) => em { (said(from)) (verb(view, line.act)) (said(to)) }
                        }
                    }
                }
                span.beside {
                    @if conversation.tier > 1 { (tier(text, conversation.tier, conversation.tier > 2)) }
                    (state)
                    span { (text.counted(conversation.messages.unsigned_abs(), text.messages_one, text.messages_many)) }
                }
            }
        }
    })
}

/// The way to older ones, and back to the newest.
pub(super) fn pager(view: &RoomView<'_>, address: &str, before: Option<i64>) -> Markup {
    let text = view.text;
    let is_first = view.query.text("before").is_none();
    html! {
        @if before.is_some() || !is_first {
            p.pager {
                @if !is_first { a href=(format!("{address}?{}", view.query.with(&[("before", "")]))) { (text.newest) } }
                @if let Some(before) = before {
                    a href=(format!("{address}?{}", view.query.with(&[("before", &before.to_string())]))) { (text.older) }
                }
            }
        }
    }
}

const MOST: u32 = 40;
