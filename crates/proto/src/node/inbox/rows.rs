//! The inbox as rows, and back.

use serde_json::{Value, to_value};

use super::{Gone, Inbox, Item, Shelved, Tries, weight};
use crate::ids::{AgentId, MessageId};
use crate::node::rows::tables::{
    ASIDE, INBOX, Lines, QUARANTINE, Restored, Row, Tables, all, text_of, unread, written,
};
use crate::stored::Stored;

impl Inbox {
    /// The rows of one table, by key; none of another part's.
    pub(in crate::node) fn table(&self, table: &'static str) -> Lines<'_> {
        match table {
            INBOX => {
                let mut items: Vec<_> = self.after(0).collect();
                // The state's database takes rows in the order of their keys as text: sort the numbers as texts, where 10 comes
                // before 9.
                items.sort_by_cached_key(|item| item.number.to_string());
                Box::new(items.into_iter().map(|item| self.row(&item)))
            }
            QUARANTINE => all(|rows| {
                for shelved in self.quarantine.iter() {
                    let headers = &shelved.message.headers;
                    let key = format!("{} {}", headers.agent_id, headers.message_id);
                    rows.put(QUARANTINE, &key, shelved);
                }
            }),
            ASIDE => all(|rows| {
                for (place, gone) in self.gone.iter().enumerate() {
                    rows.put(ASIDE, &place.to_string(), gone);
                }
                for (place, message) in self.aside.iter().enumerate() {
                    let place = self.gone.len() + place;
                    rows.put_message(ASIDE, place.to_string(), message);
                }
            }),
            _ => Box::new(std::iter::empty()),
        }
    }

    fn row(&self, item: &Item) -> Row {
        let headers = &item.message.headers;
        let tries = self.tries(&headers.agent_id, headers.message_id);
        let tries = written(&to_value(tries).unwrap_or_default());
        let message = text_of(&item.message);
        Row {
            table: INBOX,
            key: item.number.to_string(),
            value: format!("{{\"message\":{message},\"tries\":{tries}}}"),
        }
    }

    /// Takes back what its rows say; `arrivals` is the number of the last message that came.
    pub(in crate::node) fn put_back(&mut self, tables: &mut Tables, arrivals: u64) -> Restored {
        for ((number,), value) in tables.read::<(u64,), Value>(INBOX)? {
            let message = value.get("message").and_then(Stored::from_stored);
            let tries = value.get("tries").cloned();
            let tries = tries.and_then(|tries| serde_json::from_value::<Tries>(tries).ok());
            let row = message.zip(tries);
            let (message, tries) = row.ok_or_else(|| unread(INBOX, &number.to_string()))?;
            // Set `arrivals` one too low: `insert` adds one to it, and so gives each message its old number back.
            self.arrivals = number.saturating_sub(1);
            self.insert(&message);
            if tries != Tries::default() {
                let headers = &message.headers;
                let name = (headers.agent_id.clone(), headers.message_id);
                self.tries.insert(name, tries);
            }
        }
        // Restore `arrivals`: the newest message may have left the inbox, and its number must not be given out again.
        self.arrivals = arrivals;
        for (_, shelved) in tables.read::<(AgentId, MessageId), Shelved>(QUARANTINE)? {
            let peer = shelved.message.headers.agent_id.clone();
            let bytes = weight(&shelved.message);
            self.total.add(bytes);
            self.shares.entry(peer).or_default().add(bytes);
            self.quarantine.put(shelved);
        }
        let mut rows = tables.read::<(usize,), Value>(ASIDE)?;
        // Rows come in the order of their keys as text, but in `gone` and `aside` the message that was set aside first has to
        // be first.
        rows.sort_by_key(|(place, _)| *place);
        for ((place,), value) in rows {
            // A row holds a whole message, or only the name of one: of the messages that were set aside longest ago, only the
            // names are kept.
            if let Ok(name) = serde_json::from_value::<Gone>(value.clone()) {
                self.gone.push_back(name);
                continue;
            }
            let message = Stored::from_stored(&value);
            let message = message.ok_or_else(|| unread(ASIDE, &place.to_string()))?;
            self.aside.push_back(message);
        }
        Ok(())
    }
}
