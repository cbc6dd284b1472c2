//! Every key of a file, with where it and its value stand: faults are found by the one and told by the other.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key, or one table of an array of tables.
#[derive(Debug)]
pub(crate) struct WrittenKey {
    /// From the top of the file: `nats.tls.ca`, `peer.0.id`; `peer.0` for the first [[peer]] itself.
    pub(crate) path: String,
    /// The bytes of the key.
    pub(crate) at: Range<usize>,
    /// The bytes of its value; of a table that has a header of its own, those of the header.
    pub(crate) value: Range<usize>,
}

/// All keys of a table and of those in it; what is in a table comes behind the table.
pub(crate) fn keys_of(table: &DeTable<'_>) -> Vec<WrittenKey> {
    let mut all = Vec::new();
    for (key, value) in table {
        collect(key.get_ref().to_string(), key.span(), value, &mut all);
    }
    all
}

fn collect(
    path: String,
    at: Range<usize>,
    value: &Spanned<DeValue<'_>>,
    all: &mut Vec<WrittenKey>,
) {
    all.push(WrittenKey {
        path: path.clone(),
        at,
        value: value.span(),
    });
    match value.get_ref() {
        DeValue::Table(inner) => inner.iter().for_each(|(key, value)| {
            collect(format!("{path}.{}", key.get_ref()), key.span(), value, all)
        }),
        DeValue::Array(items) => {
            let tables = items.iter().enumerate();
            tables
                .filter(|(_, item)| item.get_ref().is_table())
                .for_each(|(number, item)| {
                    collect(format!("{path}.{number}"), item.span(), item, all)
                });
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {}
    }
}

/// The table of a path and the last name in it.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// A table as its header is written: `[nats.tls]`, `[[peer]]`.
pub(crate) fn header(table: &str) -> String {
    let is_number = |name: &&str| name.bytes().all(|byte| byte.is_ascii_digit());
    let names: Vec<&str> = table.split('.').filter(|name| !is_number(name)).collect();
    match (table, is_number(&split(table).1)) {
        ("", _) => "the file".to_owned(),
        (_, true) => format!("[[{}]]", names.join(".")),
        (_, false) => format!("[{}]", names.join(".")),
    }
}
