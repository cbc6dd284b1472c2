//! The body of a message, laid out: an object as a table, a list as a list, text as text. A body that is too much for
//! a page is cut, with the hash of all of it and a way to all of it.

use maud::{Markup, html};
use signet_json::Value;
use signet_proto::ids::Digest;

use super::RoomView;
use super::parts::{bounded, said};
use crate::index::IndexedLine;

/// A body, within bounds.
pub(super) fn carried(view: &RoomView<'_>, line: &IndexedLine, body: &Value) -> Markup {
    let mut left = Left {
        values: MOST_VALUES,
        chars: MOST_CHARS,
        is_cut: false,
    };
    let shown = laid_out(body, 0, &mut left);
    let text = view.text;
    html! {
        div.body { (shown) }
        @if left.is_cut {
            @let bytes = signet_json::canonical(body);
            @let hash = Digest::of(&[&bytes]).to_hex();
            p.cut {
                (text.shortened)
                (text.counted(bytes.len() as u64, text.bytes_one, text.bytes_many)) ", SHA-256 " code.hash { (hash) } " "
                a href=(format!("whole?id={}", line.id)) { (text.whole_line) }
            }
        }
    }
}

/// The goal of a task.
pub(super) fn goal_of(goal: &str) -> Markup {
    let (shown, is_cut) = bounded(goal, 2_000);
    html! { p.quote { bdi { (shown) @if is_cut { "…" } } } }
}

/// How much may still be shown.
struct Left {
    values: usize,
    chars: usize,
    is_cut: bool,
}

impl Left {
    fn take(&mut self) -> bool {
        self.is_cut |= self.values == 0 || self.chars == 0;
        self.values = self.values.saturating_sub(1);
        !self.is_cut
    }
}

fn laid_out(value: &Value, depth: usize, left: &mut Left) -> Markup {
    if !left.take() || depth > DEEPEST {
        left.is_cut = true;
        return html! { span.quiet { "…" } };
    }
    match value {
        Value::Null => html! { span.quiet { "–" } },
        Value::Bool(value) => html! { code { (value) } },
        Value::Number(number) => html! { code { (number.to_string()) } },
        Value::String(words) => {
            let (shown, is_cut) = bounded(words, left.chars.min(MOST_STRING));
            left.chars = left.chars.saturating_sub(shown.len());
            left.is_cut |= is_cut;
            html! { bdi.text { (shown) @if is_cut { "…" } } }
        }
        Value::Array(values) => html! {
            @if values.is_empty() { span.quiet { "–" } }
            ul.list { @for value in values.iter().take(1 + left.values) { li { (laid_out(value, depth + 1, left)) } } }
        },
        Value::Object(members) => html! {
            @if members.is_empty() { span.quiet { "–" } }
            dl.table {
                @for (name, value) in members.iter().take(1 + left.values) {
                    div { dt { (said(name)) } dd { (laid_out(value, depth + 1, left)) } }
                }
            }
        },
    }
}

/// Objects and lists within each other that are laid out.
const DEEPEST: usize = 8;
const MOST_VALUES: usize = 200;
/// Characters of all texts together, and of one.
const MOST_CHARS: usize = 20_000;
const MOST_STRING: usize = 4_000;
