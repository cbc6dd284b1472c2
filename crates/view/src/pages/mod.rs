//! The pages: compiled templates that escape by themselves, in the words of one table.

mod body;
mod conversations;
mod daemon;
mod left;
mod line;
mod parts;
mod people;
mod proof;
mod refused;
mod search;
mod sentence;
mod shell;
mod text;
mod thread;
mod today;

use std::collections::HashMap;

use maud::Markup;

pub(crate) use shell::{entering, failed, turned_away, used};
pub(crate) use text::Text;

use crate::ViewError;
use crate::days::Days;
use crate::index::{IndexReader, LogState};
use crate::query::RoomQuery;
use crate::room::Room;
use crate::shared::now;

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("../../assets/room.css");
/// The script, for what pages can do beyond links and forms.
pub(crate) const SCRIPT: &str = include_str!("../../assets/room.js");
/// The room's sign.
pub(crate) const ICON: &str = include_str!("../../assets/icon.svg");

/// The answer to an address.
pub(crate) enum PageShown {
    /// A page.
    Page(Markup),
    /// That nothing is there.
    Nothing(Markup),
    /// Bytes to keep, and the name of their file.
    Whole(Vec<u8>, String),
}

/// The state that every page knows.
pub(crate) struct RoomView<'a> {
    pub(crate) room: &'a Room,
    pub(crate) text: &'static Text,
    pub(crate) ask: &'a IndexReader,
    pub(crate) query: &'a RoomQuery,
    pub(crate) logs: Vec<LogState>,
    pub(crate) now: i64,
    pub(crate) days: Days,
    /// The persons of agents that are trusted, by log and agent.
    persons: HashMap<(i64, String), String>,
}

impl RoomView<'_> {
    /// For whom the agent of a log acts.
    pub(crate) fn owner(&self, log: i64) -> &str {
        parts::owner(&self.logs, log)
    }

    /// People's name for a peer: its person where it is trusted, else what it calls itself. A stranger could say that it
    /// acts for anybody.
    pub(crate) fn peer(&self, log: i64, agent: Option<&str>) -> String {
        let Some(agent) = agent else {
            return self.text.somebody.to_owned();
        };
        let person = self.persons.get(&(log, agent.to_owned()));
        person.map_or_else(|| agent.to_owned(), Clone::clone)
    }
}

/// The page of a name.
///
/// # Errors
/// When the index or a log cannot be read.
pub(crate) fn show(
    room: &Room,
    text: &'static Text,
    days: Days,
    name: &str,
    query: &RoomQuery,
) -> Result<PageShown, ViewError> {
    room.ask(|ask| {
        let people = ask.people(MOST_PEOPLE)?;
        let persons = people.into_iter().filter(|person| person.is_trusted());
        let view = RoomView {
            room,
            text,
            ask,
            query,
            logs: ask.logs()?,
            now: now(),
            days,
            persons: persons
                .map(|person| ((person.log, person.agent.clone()), person.name().to_owned()))
                .collect(),
        };
        match name {
            "" | "today" => today::page(&view),
            "conversations" => conversations::page(&view),
            "conversation" => thread::page(&view),
            "people" => people::page(&view),
            "person" => people::one(&view),
            "left" => left::page(&view),
            "refused" => refused::page(&view),
            "proof" => proof::page(&view),
            "search" => search::page(&view),
            "line" => line::page(&view),
            "whole" => line::whole(&view),
            _ => Ok(shell::nothing(&view)),
        }
    })
}

const MOST_PEOPLE: u32 = 2_000;
