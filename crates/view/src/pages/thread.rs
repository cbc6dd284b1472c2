//! One conversation, in its order: what was said, what was refused, what became of it.

use maud::{Markup, html};
use signet_json::Value;
use signet_proto::entry::{Entry, Evidence, TaskChange};

use super::body::{carried, goal_of};
use super::parts::{face, fault, moment, name, said, tier};
use super::sentence::{outcome, task, verb, why};
use super::today::{decide, encoded, home};
use super::{PageShown, RoomView, shell};
use crate::ViewError;
use crate::index::{Act, IndexedLine, LineTopic};

/// The page.
pub(super) fn page(view: &RoomView<'_>) -> Result<PageShown, ViewError> {
    let text = view.text;
    let id = view.query.number("id").unwrap_or(-1);
    let Some(conversation) = view.ask.conversation(id)? else {
        return Ok(shell::nothing(view));
    };
    let after = view.query.number("after").unwrap_or(0);
    let mut lines = view.ask.thread(id, after, MOST + 1)?;
    let has_more = lines.len() > MOST as usize;
    lines.truncate(MOST as usize);
    let peer = view.peer(conversation.log, conversation.peer.as_deref());
    let own = view.owner(conversation.log);
    let further = has_more.then(|| lines.last().map(|line| line.id)).flatten();
    let main = html! {
        p { a href="conversations" { "← " (text.back) } }
        h1.pair { (face(&peer)) (name(&peer)) span.apart { (text.and.trim()) } (face(own)) (name(own)) }
        p.beside {
            @if conversation.is_open { span.state.open { (text.open) } }
            span { (text.counted(conversation.messages.unsigned_abs(), text.messages_one, text.messages_many)) }
            span.id { (said(&conversation.key)) }
        }
        ol.thread { @for line in &lines { (item(view, line, &conversation.key)?) } }
        @if let Some(further) = further {
            p.pager { a href=(format!("conversation?id={id}&after={further}")) { (text.further) } }
        }
    };
    Ok(shell::page(view, "conversations", text.conversations, main))
}

fn item(view: &RoomView<'_>, line: &IndexedLine, key: &str) -> Result<Markup, ViewError> {
    let id = format!("l{}", line.id);
    match line.what {
        LineTopic::Came | LineTopic::Left | LineTopic::Refused | LineTopic::RefusedThere => {
            bubble(view, line, key, &id)
        }
        LineTopic::Draft => Ok(html! { li.aside #(id) { (draft(view, line)) } }),
        LineTopic::Handoff => handoff(view, line, &id),
        LineTopic::Approval => {
            let text = view.text;
            let words = match line.reason.as_deref() {
                Some("approved") => text.you_approved,
                _ => text.you_refused,
            };
            let peer = view.peer(line.log(), line.peer.as_deref());
            Ok(html! { li.aside #(id) { p { (words) (name(&peer)) " " (moment(text, line.at)) } } })
        }
        LineTopic::Outcome => {
            let words = outcome(view, line.reason.as_deref().unwrap_or_default());
            Ok(html! {
                li.aside #(id) {
                    p { (words) @if let Some(why) = &line.summary { ": " (said(why)) } " " (moment(view.text, line.at)) }
                }
            })
        }
        _ => Ok(
            html! { li.aside #(id) { p { (super::sentence::sentence(view, line)) " " (moment(view.text, line.at)) } } },
        ),
    }
}

/// Whether a message left: also one that the other side then refused.
fn is_ours(line: &IndexedLine) -> bool {
    let was_refused = line.what == LineTopic::RefusedThere && line.act != Act::Declines;
    line.what == LineTopic::Left || was_refused
}

fn bubble(
    view: &RoomView<'_>,
    line: &IndexedLine,
    key: &str,
    id: &str,
) -> Result<Markup, ViewError> {
    let text = view.text;
    let peer = view.peer(line.log(), line.peer.as_deref());
    let own = view.owner(line.log());
    let is_ours = is_ours(line);
    let (from, to) = if is_ours {
        (own, peer.as_str())
    } else {
        (peer.as_str(), own)
    };
    let is_refused = line.what == LineTopic::Refused;
    let class = match (is_refused, is_ours) {
        (true, _) => "bubble theirs refused",
        (_, true) => "bubble ours",
        (_, false) => "bubble theirs",
    };
    let whole = view.room.read(view.ask, line);
    Ok(html! {
        li class=(class) id=(id) {
            article {
                header {
                    (face(from))
                    span.who { (name(from)) (verb(view, line.act)) (name(to)) }
                    (moment(text, line.at))
                }
                @if is_refused { p.reasoned { (text.kept_out) (why(view, line.reason.as_deref().unwrap_or_default())) } }
                @else if line.what == LineTopic::RefusedThere {
                    p.reasoned { (why(view, line.reason.as_deref().unwrap_or_default())) }
                }
                @if let Some(summary) = &line.summary { p.summary { (said(summary)) } }
                @match &whole {
                    Ok(whole) => (content(view, line, key, whole)),
                    Err(error) => p.warn { (fault(text, error)) }
                }
                footer.beside {
                    @if let Some(n) = line.tier { (tier(text, n, line.sealed)) }
                    @if let Ok(whole) = &whole { (standing(view, whole)) }
                    a href=(format!("line?id={}", line.id)) { (text.about_line) }
                }
            }
        }
    })
}

/// Leaves out of a task's message what stands beside it: the task's id at the top of the page, the goal or note as its
/// summary, and through whose hands it came in the line of the task.
fn leave_out_what_is_shown(body: &mut Value, line: &IndexedLine, key: &str) {
    let Some(members) = body.as_object_mut() else {
        return;
    };
    let is_task = members.get("task").and_then(Value::as_str) == Some(key);
    if !is_task {
        return;
    }
    members.remove("task");
    let summary = line.summary.as_deref();
    members.retain(|name, value| {
        let is_told = matches!(name.as_str(), "goal" | "note") && value.as_str() == summary;
        let is_chain = name == "chain" && line.act == Act::Hands;
        !is_told && !is_chain
    });
}

/// The content of a message, or why it is not shown.
fn content(
    view: &RoomView<'_>,
    line: &IndexedLine,
    key: &str,
    whole: &signet_audit::LogLine,
) -> Markup {
    let text = view.text;
    let Some(Entry::Message(verdict)) = &whole.entry else {
        return html! {};
    };
    match &verdict.evidence {
        Evidence::Whole(_) if line.sealed => sealed(view, line),
        Evidence::Whole(message) => match message.copy_of_body() {
            Some(mut body) => {
                leave_out_what_is_shown(&mut body, line, key);
                match body.as_object().is_some_and(signet_json::Map::is_empty) {
                    true => html! {},
                    false => carried(view, line, &body),
                }
            }
            None => html! {},
        },
        Evidence::Headers(_) | Evidence::Withheld(..) => html! { p.quiet { (text.withheld) } },
        Evidence::Copy(_) | Evidence::Raw(..) => html! { p.quiet { (text.unproven) } },
    }
}

fn sealed(view: &RoomView<'_>, line: &IndexedLine) -> Markup {
    let text = view.text;
    let id = line.message.as_deref().unwrap_or_default();
    let to = format!(
        "/to/open?home={}&id={}",
        home(view, line.log()),
        encoded(id)
    );
    html! {
        p.sealed { (super::parts::lock()) (text.sealed_here) }
        @match &view.room.settings.desk {
            Some(desk) => p.acts { a.button rel="noreferrer" href=(format!("{desk}{to}")) { (text.open_sealed) } },
            None => p.typed { (text.open_command) " " (super::parts::command("signet audit open --key KEY")) }
        }
    }
}

/// Whether the signature was proved when the message came.
fn standing(view: &RoomView<'_>, whole: &signet_audit::LogLine) -> Markup {
    let Some(Entry::Message(verdict)) = &whole.entry else {
        return html! {};
    };
    match (&verdict.evidence, verdict.reason()) {
        (Evidence::Whole(_), None) => {
            html! { span.good { (super::parts::sign(true)) (view.text.verified) } }
        }
        (Evidence::Raw(..) | Evidence::Copy(_), _) => {
            html! { span.bad { (super::parts::sign(false)) (view.text.unproven) } }
        }
        _ => html! {},
    }
}

fn draft(view: &RoomView<'_>, line: &IndexedLine) -> Markup {
    let text = view.text;
    let peer = view.peer(line.log(), line.peer.as_deref());
    let id = line.message.as_deref().unwrap_or_default();
    let to = format!(
        "/to/draft?home={}&id={}",
        home(view, line.log()),
        encoded(id)
    );
    let waits = view
        .ask
        .waiting(view.now)
        .is_ok_and(|waiting| waiting.drafts.iter().any(|(draft, _)| draft.id == line.id));
    html! {
        p { (text.draft_for) (name(&peer)) " " (moment(text, line.at)) }
        @if waits { (decide(view, line.log(), &to, &format!("signet approve {id}"))) }
    }
}

/// A change of a task; of one that was handed over, through whose hands it came and what its holder may do.
fn handoff(view: &RoomView<'_>, line: &IndexedLine, id: &str) -> Result<Markup, ViewError> {
    let text = view.text;
    let words = task(view, line.reason.as_deref().unwrap_or_default());
    let whole = view.room.read(view.ask, line);
    let offered = match whole.as_ref().map(|whole| &whole.entry) {
        Ok(Some(Entry::Handoff(handoff))) => match &handoff.change {
            TaskChange::Offered(offered) => Some(offered),
            TaskChange::Moved { .. } => None,
        },
        _ => None,
    };
    let Some(offered) = offered else {
        return Ok(html! {
            li.aside id=(id) {
                p { b { (words) } @if let Some(note) = &line.summary { ": " (said(note)) } " " (moment(text, line.at)) }
            }
        });
    };
    Ok(html! {
        li.aside id=(id) {
            article.card.task {
                h2 { (words) " " (moment(text, line.at)) }
                @if let Some(goal) = &offered.goal { (goal_of(goal)) }
                ol.chain {
                    @for link in offered.chain.links() {
                        @let mandate = &link.mandate;
                        li {
                            p {
                                (name(link.certificate.agent.as_str())) " (" (said(link.certificate.principal.as_str())) ") "
                                (text.handed_to) " " (name(mandate.to.as_str()))
                            }
                            p.beside {
                                span { (text.may_use) ": "
                                    @if mandate.authority.capabilities.is_empty() { (text.no_capability) }
                                    @for capability in mandate.authority.capabilities.iter().take(SHOWN) {
                                        code { (capability.as_str()) } " "
                                    }
                                }
                                span { (text.up_to_tier) (mandate.authority.tier) }
                                span { (text.until) " " (moment(text, mandate.authority.not_after.as_millis())) }
                            }
                        }
                    }
                }
            }
        }
    })
}

const MOST: u32 = 60;
/// Capabilities of one mandate that are shown.
const SHOWN: usize = 12;
