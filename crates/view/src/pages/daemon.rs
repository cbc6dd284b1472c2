//! How the daemons do, in a sentence each, and what only they know of an agent.

use maud::{Markup, html};
use signet_api::{Peer, Status};
use signet_proto::time::Timestamp;

use super::RoomView;
use super::parts::{moment, name, said};
use crate::daemon::DaemonSeen;
use crate::index::LogState;
use crate::settings::ShownHome;

/// How the daemon of a log's home does; nothing of a log that is shown alone. `home` is its name in an address of the desk.
pub(super) fn sentence(view: &RoomView<'_>, log: &LogState, home: &str) -> Markup {
    let text = view.text;
    let Some((shown, state)) = state_of(view, log.id) else {
        return html! {};
    };
    let (is_well, words) = match &state {
        DaemonSeen::Away => (false, text.daemon_away),
        DaemonSeen::Answers(status) => words(view, status),
    };
    let refusing = match &state {
        DaemonSeen::Answers(status) => status.refusing.as_ref(),
        DaemonSeen::Away => None,
    };
    html! {
        p.daemon.warn[!is_well] {
            (text.daemon_of) (name(&shown.name)) (words)
            @if let Some(refusing) = refusing { " (" code { (said(refusing.reason.as_str())) } ")" }
            @if let (Some(desk), DaemonSeen::Answers(_)) = (&view.room.settings.desk, &state) {
                " " a rel="noreferrer" href=(format!("{desk}/to/pause?home={home}")) { (text.pause_or_resume) }
            }
        }
    }
}

/// Whether all is well with a daemon that answers, and what to say behind its name. What stops most comes first.
fn words(view: &RoomView<'_>, status: &Status) -> (bool, &'static str) {
    let text = view.text;
    if status.refusing.is_some() {
        return (false, text.daemon_refusing);
    }
    if status.revoked {
        return (false, text.daemon_revoked);
    }
    if status.clock.is_some() {
        return (false, text.daemon_clock);
    }
    if status.paused {
        return (true, text.daemon_paused);
    }
    match status.connected {
        true => (true, text.daemon_works),
        false => (false, text.daemon_alone),
    }
}

/// Of an agent, what its daemon knows now: the session, and what waits.
pub(super) fn facts(view: &RoomView<'_>, log: i64, agent: &str) -> Markup {
    let text = view.text;
    let Some((_, DaemonSeen::Answers(status))) = state_of(view, log) else {
        return html! {};
    };
    let Some(peer) = status.peers.iter().find(|peer| peer.peer == agent) else {
        return html! {};
    };
    html! {
        div { dt { (text.session) } dd { (session(view, peer)) } }
        @for (label, count) in [(text.waits_to_leave, peer.waiting), (text.unconfirmed, peer.unconfirmed)] {
            @if count > 0 { div { dt { (label) } dd { (text.counted(count as u64, text.messages_one, text.messages_many)) } } }
        }
    }
}

fn session(view: &RoomView<'_>, peer: &Peer) -> Markup {
    let text = view.text;
    let ends = peer.session_ends.as_deref();
    let ends = ends.and_then(|ends| ends.parse::<Timestamp>().ok());
    html! {
        @match (&peer.session, ends) {
            (Some(_), Some(ends)) => { (text.session_until) (moment(text, ends.as_millis())) },
            (Some(_), None) => { (text.session_open) },
            (None, _) => @if peer.handshake { (text.session_begins) } @else { (text.session_none) }
        }
    }
}

fn state_of<'a>(view: &'a RoomView<'_>, log: i64) -> Option<(&'a ShownHome, DaemonSeen)> {
    let dir = super::parts::log_of(&view.logs, log).map(|log| &log.dir);
    let homes = &view.room.settings.homes;
    let shown = homes.iter().find(|home| Some(&home.log) == dir)?;
    let state = view.room.daemons.of(&shown.name)?;
    Some((shown, state))
}
