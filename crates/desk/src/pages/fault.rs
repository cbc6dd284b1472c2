//! Why something is not done, in the page's language, with what the command line says of it.

use maud::{Markup, html};
use signet::cli::Exit;
use signet_text::visible;

use crate::DeskError;
use crate::words::DeskWords;

/// A fault in a sentence of the page's language. The command line's own words stand behind it: they are English, and say so to
/// whoever has a page read out.
pub(super) fn shown(words: &DeskWords, error: &DeskError) -> Markup {
    let said = match error {
        DeskError::UnknownHome => words.unknown_home,
        DeskError::Gone => words.gone,
        DeskError::Used => words.used_form,
        DeskError::Told { exit, .. } => match exit {
            Exit::NotReachable => words.no_daemon,
            Exit::Usage => words.not_usable,
            Exit::Refused | Exit::Waiting => words.not_allowed,
            Exit::Disk => words.not_written,
            Exit::Done | Exit::Fault => words.fault,
        },
        DeskError::System(_) | DeskError::Cord(_) | DeskError::NoListener => words.fault,
    };
    let (what, next) = match error {
        DeskError::Told { what, next, .. } => (what.clone(), next.as_str()),
        DeskError::System(_) | DeskError::Cord(_) | DeskError::NoListener => {
            (error.to_string(), "")
        }
        DeskError::UnknownHome | DeskError::Gone | DeskError::Used => (String::new(), ""),
    };
    html! {
        p.fault { (said) }
        @if !what.is_empty() { p { (words.signet_says) ": " span lang="en" { (visible(&what)) } } }
        @if !next.is_empty() { p { (words.next) ": " code lang="en" { (visible(next)) } } }
    }
}
