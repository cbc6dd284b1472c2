//! A line of the log as one sentence.

use maud::{Markup, html};

use super::RoomView;
use super::parts::{moment, name, said, tier};
use crate::index::{Act, IndexedLine, LineTopic};

/// A line in a list: its sentence, what it says, when, and the way to it.
pub(super) fn row(view: &RoomView<'_>, line: &IndexedLine) -> Markup {
    let link = link(line);
    let is_bad = matches!(
        line.what,
        LineTopic::Refused
            | LineTopic::RefusedThere
            | LineTopic::Attempt
            | LineTopic::Alarm
            | LineTopic::Hole
    );
    html! {
        li.event.bad[is_bad] {
            a href=(link) {
                span.who { (sentence(view, line)) }
                @if let Some(summary) = shown_summary(line) { span.what { (said(summary)) } }
                span.beside {
                    @if let Some(n) = line.tier.filter(|n| *n > 2 || line.sealed) { (tier(view.text, n, line.sealed)) }
                    (moment(view.text, line.at))
                }
            }
        }
    }
}

/// Where a line leads: to its conversation, or to itself.
pub(super) fn link(line: &IndexedLine) -> String {
    match line.thread {
        Some(thread) => format!("conversation?id={thread}#l{}", line.id),
        None => format!("line?id={}", line.id),
    }
}

/// The summary, where it is one and not a name that the sentence says already.
fn shown_summary(line: &IndexedLine) -> Option<&str> {
    line.summary.as_deref()
}

/// The event of a line, in a sentence.
pub(super) fn sentence(view: &RoomView<'_>, line: &IndexedLine) -> Markup {
    let text = view.text;
    let own = view.owner(line.log());
    let peer = view.peer(line.log(), line.peer.as_deref());
    let reason = line.reason.as_deref().unwrap_or_default();
    let times = (line.count > 1).then(|| text.counted(line.count, text.times_one, text.times_many));
    html! {
        @match line.what {
            LineTopic::Came => { (name(&peer)) (verb(view, line.act)) (name(own)) }
            LineTopic::Left => { (name(own)) (verb(view, line.act)) (name(&peer)) }
            LineTopic::Refused => { (name(&peer)) ": " (text.kept_out) (why(view, reason)) }
            LineTopic::RefusedThere => { (name(&peer)) (text.peer_refused) (why(view, reason)) }
            LineTopic::Attempt => { (name(own)) ": " (text.not_allowed) (why(view, reason)) }
            LineTopic::Trust => { (trust(view, reason)) (name(&peer)) }
            LineTopic::Draft => { (text.draft_for) (name(&peer)) }
            LineTopic::Approval => {
                @if reason == "approved" { (text.you_approved) } @else { (text.you_refused) }
                (name(&peer))
            }
            LineTopic::Pause => { @if reason == "paused" { (text.paused) } @else { (text.resumed) } }
            LineTopic::Outcome => { (outcome(view, reason)) ": " (name(&peer)) }
            LineTopic::Handoff => { (task(view, reason)) ": " (name(&peer)) }
            LineTopic::Alarm => {
                (name(&peer)) ": " (alarm(view, reason))
            }
            LineTopic::Hole => { (text.numbers_missing) (name(&peer)) }
            LineTopic::Note => { (note(view, reason)) @if line.peer.is_some() { (name(&peer)) } }
        }
        @if let Some(times) = times { " (" (times) ")" }
    }
}

/// The word for what a message does, with the spaces around it.
pub(super) fn verb(view: &RoomView<'_>, act: Act) -> &'static str {
    let text = view.text;
    match act {
        Act::Asks => text.asks,
        Act::Answers => text.answers,
        Act::Declines => text.declines,
        Act::Tells => text.tells,
        Act::Hands => text.hands,
        Act::Reports => text.reports,
        Act::None | Act::Protocol => text.says,
    }
}

/// A reason by its name, with its words beside it.
pub(super) fn why(view: &RoomView<'_>, reason: &str) -> Markup {
    html! { span.reason { (said(view.text.reason(reason))) } }
}

fn trust(view: &RoomView<'_>, change: &str) -> &'static str {
    let text = view.text;
    match change {
        "bound" => text.trust_bound,
        "pending" => text.trust_pending,
        "refused" => text.trust_refused,
        "withdrawn" => text.trust_withdrawn,
        "root-changed" => text.trust_root_changed,
        "root-succeeded" => text.trust_root_succeeded,
        "root-replaced" => text.trust_root_replaced,
        _ => text.trust_revoked,
    }
}

/// The outcome of a message, in words.
pub(super) fn outcome(view: &RoomView<'_>, what: &str) -> &'static str {
    let text = view.text;
    match what {
        "set-aside" => text.outcome_set_aside,
        "expired" => text.outcome_expired,
        "draft-expired" => text.outcome_draft_expired,
        "draft-refused" => text.outcome_draft_refused,
        "answer-failed" => text.outcome_answer_failed,
        "retried" => text.outcome_retried,
        "dropped" => text.outcome_dropped,
        _ => text.outcome_failed,
    }
}

/// Where a task is.
pub(super) fn task(view: &RoomView<'_>, state: &str) -> &'static str {
    let text = view.text;
    match state {
        "offered" => text.task_offered,
        "accepted" => text.task_accepted,
        "declined" => text.task_declined,
        "completed" => text.task_completed,
        "failed" => text.task_failed,
        "returned" => text.task_returned,
        _ => text.task_working,
    }
}

/// The meaning of an alarm, and what to do.
pub(super) fn alarm(view: &RoomView<'_>, what: &str) -> &'static str {
    let text = view.text;
    match what {
        "second-copy" => text.alarm_second,
        "restored-backup" => text.alarm_restored,
        "peer-restored" => text.alarm_peer_restored,
        "sequence-reuse" => text.alarm_reuse,
        "log-lost" => text.alarm_lost,
        _ => text.alarm_changed,
    }
}

fn note(view: &RoomView<'_>, what: &str) -> &'static str {
    let text = view.text;
    match what {
        "recovery" => text.note_recovery,
        "flood" => text.note_flood,
        "gap" => text.note_gap,
        "rebuilt" => text.note_rebuilt,
        "clock" => text.note_clock,
        _ => text.note_loss,
    }
}
