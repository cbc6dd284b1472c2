//! The parts that all pages are put together from.

use maud::{Markup, html};
use signet_proto::time::Timestamp;
use signet_text::visible;

use super::text::Text;
use crate::ViewError;
use crate::index::{LogState, Tally};

/// A moment: in UTC here, in the browser's zone where a script may run, exact when one points at it.
pub(super) fn moment(text: &Text, at: i64) -> Markup {
    let exact = Timestamp::from_millis(at).to_string();
    html! { time datetime=(exact) title=(exact) { (spoken(text, &exact)) } }
}

/// `26 Nov 2026, 13:05`, from a time as the log spells it.
fn spoken(text: &Text, exact: &str) -> String {
    let part = |from: usize, to: usize| exact.get(from..to).unwrap_or_default();
    let month = part(5, 7).parse().unwrap_or(0_usize);
    let name = match text.lang {
        "de" => GERMAN_MONTHS,
        _ => MONTHS,
    };
    let name = name.get(month.wrapping_sub(1)).copied().unwrap_or_default();
    let day = part(8, 10).trim_start_matches('0');
    let dot = if text.lang == "de" { "." } else { "" };
    format!("{day}{dot} {name} {}, {} UTC", part(0, 4), part(11, 16))
}

/// A day, of those since 1970.
pub(super) fn day(text: &Text, day: i64) -> String {
    let exact = Timestamp::from_millis(day.saturating_mul(crate::days::DAY)).to_string();
    let spoken = spoken(text, &exact);
    spoken.split(',').next().unwrap_or_default().to_owned()
}

/// A stranger's text: hidden characters are shown as escapes, and what is too long is cut.
pub(super) fn said(what: &str) -> Markup {
    let (shown, is_cut) = bounded(what, LONGEST_TEXT);
    html! { bdi { (shown) @if is_cut { "…" } } }
}

/// The beginning of a text with its hidden characters escaped, and whether more follows.
pub(super) fn bounded(what: &str, most: usize) -> (String, bool) {
    let end = what.char_indices().nth(most).map(|(end, _)| end);
    let cut = what.get(..end.unwrap_or(what.len())).unwrap_or_default();
    (visible(cut).into_owned(), end.is_some())
}

/// A fault in a sentence of the page's language. What the program or the system says of it stands behind: it is English, and says
/// so to whoever has a page read out.
pub(super) fn fault(text: &Text, error: &ViewError) -> Markup {
    let (words, is_told) = match error {
        ViewError::Gone => (text.fault_gone, false),
        ViewError::Log { .. } => (text.fault_log, true),
        ViewError::Index { .. } => (text.fault_index, true),
        _ => (text.fault_other, true),
    };
    html! { (words) @if is_told { " " span lang="en" { "(" (said(&error.to_string())) ")" } } }
}

/// A name, in its own box: no name reads into what stands beside it.
pub(super) fn name(who: &str) -> Markup {
    html! { b.name { (said(who)) } }
}

/// The tier of a message, in a word and its number.
pub(super) fn tier(text: &Text, tier: u8, sealed: bool) -> Markup {
    let class = format!("tier tier-{}", tier.clamp(1, 4));
    html! {
        span class=(class) {
            @if sealed { (lock()) }
            (tier) " " (text.tier(tier))
            @if sealed { span.apart { (text.sealed) } }
        }
    }
}

/// A circle with the first letter of a name.
pub(super) fn face(who: &str) -> Markup {
    let sum = who.bytes().fold(7_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    let class = format!("face face-{}", sum % 6);
    let first = who.chars().find(|c| c.is_alphanumeric());
    html! { span class=(class) aria-hidden="true" { (first.map(|c| c.to_uppercase().to_string()).unwrap_or_default()) } }
}

/// A padlock.
pub(super) fn lock() -> Markup {
    html! {
        svg.lock viewBox="0 0 16 16" aria-hidden="true" {
            path d="M4 7V5a4 4 0 0 1 8 0v2h1v7H3V7zm2 0h4V5a2 2 0 0 0-4 0z" {}
        }
    }
}

/// A sign in front of a sentence: that something holds, or that one has to look.
pub(super) fn sign(holds: bool) -> Markup {
    let (class, path) = match holds {
        true => (
            "sign good",
            "M6.5 12.5 2.5 8.5l1.4-1.4 2.6 2.6 5.6-5.6 1.4 1.4z",
        ),
        false => ("sign bad", "M7 2h2v8H7zm0 10h2v2H7z"),
    };
    html! { svg class=(class) viewBox="0 0 16 16" aria-hidden="true" { path d=(path) {} } }
}

/// A command to type.
pub(super) fn command(what: &str) -> Markup {
    html! { code.command { (what) } }
}

/// The log of this number.
pub(super) fn log_of(logs: &[LogState], id: i64) -> Option<&LogState> {
    logs.iter().find(|log| log.id == id)
}

/// For whom the agent of a log acts.
pub(super) fn owner(logs: &[LogState], id: i64) -> &str {
    log_of(logs, id).map_or("?", LogState::name)
}

/// Twenty-six weeks of squares, one a day, and what each of them says.
pub(super) fn calendar(text: &Text, today: i64, tallies: &[Tally], label: &str) -> Markup {
    // Day 4 of 1970 was a Monday; a column is a week from Monday on.
    let monday = (today - 4).div_euclid(7) * 7 + 4 - 7 * (WEEKS - 1);
    let count = |day: i64| -> u64 {
        tallies
            .iter()
            .filter(|tally| tally.day == day)
            .map(|tally| tally.n)
            .sum()
    };
    let most = (monday..=today).map(count).max().unwrap_or(0);
    let total = (monday..=today).map(count).sum();
    let shade = |n: u64| match n {
        0 => 0,
        n => 1 + (n * 3 / most.max(1)).min(3),
    };
    let size = format!("0 0 {} 83", WEEKS * 12 - 1);
    let spoken = format!(
        "{label}: {}, {}",
        text.left_weeks,
        text.counted(total, text.messages_one, text.messages_many)
    );
    html! {
        svg.calendar viewBox=(size) role="img" aria-label=(spoken) {
            @for day in monday..=today {
                @let n = count(day);
                @let (x, y) = ((day - monday).div_euclid(7) * 12, (day - monday).rem_euclid(7) * 12);
                rect.{ "shade-" (shade(n)) } x=(x) y=(y) width="11" height="11" rx="2" {
                    title { (self::day(text, day)) ": " (text.number(n)) }
                }
            }
        }
        p.legend { (text.less) @for level in 0..5 { span.{ "swatch shade-" (level) } {} } (text.more) }
    }
}

/// The first day that [`calendar`] shows.
pub(super) fn first_day(today: i64) -> i64 {
    (today - 4).div_euclid(7) * 7 + 4 - 7 * (WEEKS - 1)
}

const WEEKS: i64 = 26;
/// In characters: summaries have 500 at most.
const LONGEST_TEXT: usize = 600;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const GERMAN_MONTHS: [&str; 12] = [
    "Jan.", "Feb.", "März", "April", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez.",
];
