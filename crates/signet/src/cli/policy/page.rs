//! `signet policy show` in plain words.

use std::fmt::Write as _;

use serde_json::Value;
use signet_audit::visible;

use super::super::ask::{safe_json, text};
use super::{list, number, source, visible_lines};

/// The whole policy, for a person.
pub(super) fn page(policy: &Value) -> String {
    let mut page = String::from("TIERS  what a peer must have before anything of a tier passes\n");
    for tier in list(policy, "tiers") {
        let _ = writeln!(
            page,
            "  {} {:<10} layers {:<14} {}",
            number(tier, "tier").unwrap_or_default(),
            text(tier, "name"),
            numbers(tier.get("layers")),
            text(tier, "meaning"),
        );
    }
    page.push_str("\nEVERY PEER  unless a [[peer]] says otherwise\n");
    let grant = policy.get("grant").unwrap_or(&Value::Null);
    let _ = writeln!(page, "  may send   {}", of_grant(grant));
    let conversation = number(grant, "conversation-messages-per-minute");
    if let Some(conversation) = conversation {
        let _ = writeln!(
            page,
            "             {conversation} messages a minute in one conversation"
        );
    }
    page.push_str("\nOFFERED BY US\n");
    page.push_str(&of_capabilities(
        policy,
        "none; [[capability]] in config.toml\n",
    ));
    if list(policy, "peers").next().is_none() {
        page.push_str("\nNO PEERS YET  signet peer add FILE\n");
    }
    for peer in list(policy, "peers") {
        page.push_str(&of_peer(peer));
    }
    visible_lines(&page)
}

fn of_peer(peer: &Value) -> String {
    let mut page = format!("\n{} of {}\n", text(peer, "peer"), text(peer, "principal"));
    let layers = numbers(peer.get("certificate-layers"));
    let _ = writeln!(page, "  certificate proves the layers {layers}");
    for (name, verb) in [("sends", "may send us"), ("gets", "may get from us")] {
        let side = peer.get(name).unwrap_or(&Value::Null);
        let most = match number(side, "highest-tier").unwrap_or_default() {
            0 => "nothing".to_owned(),
            1 => "tier 1".to_owned(),
            most => format!("tiers 1 to {most}"),
        };
        let _ = writeln!(page, "  {verb:<15} {most}");
        for limit in list(side, "limits") {
            let _ = writeln!(
                page,
                "    not more: {}{}",
                text(limit, "text"),
                source(name == "gets", limit)
            );
        }
        let grant = side.get("grant").filter(|grant| !grant.is_null());
        match grant {
            Some(grant) if name == "sends" => {
                let own = if text(peer, "by") == "peer" {
                    " (its [[peer]])"
                } else {
                    ""
                };
                let _ = writeln!(page, "    we grant: {}{own}", of_grant(grant));
            }
            Some(grant) => {
                let _ = writeln!(page, "    it grants: {}", of_grant(grant));
            }
            None => page.push_str("    what it grants is known after the first handshake\n"),
        }
    }
    page.push_str(&of_capabilities(peer, ""));
    page
}

/// Capabilities on a line each, with the schema as text below.
///
/// What a peer wrote is escaped before it is set into the page: it makes no line of its own.
pub(in super::super) fn of_capabilities(holder: &Value, none: &str) -> String {
    let mut page = String::new();
    for capability in list(holder, "capabilities") {
        let description = capability.get("description").and_then(Value::as_str);
        let _ = writeln!(
            page,
            "  offers {} up to tier {}{}",
            text(capability, "name"),
            number(capability, "tier").unwrap_or_default(),
            description
                .map(|text| format!(": {}", visible(text)))
                .unwrap_or_default(),
        );
        let schema = match capability.get("schema") {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) => visible(text).into_owned(),
            Some(schema) => safe_json(schema),
        };
        let _ = writeln!(page, "    body: {schema}");
    }
    if page.is_empty() && !none.is_empty() {
        return format!("  {none}");
    }
    page
}

fn of_grant(grant: &Value) -> String {
    let names: Vec<&str> = list(grant, "capabilities")
        .filter_map(Value::as_str)
        .collect();
    let names = match grant.get("capabilities") {
        Some(Value::Array(_)) if names.is_empty() => "no capabilities".to_owned(),
        Some(Value::Array(_)) => names.join(", "),
        _ => "every capability".to_owned(),
    };
    let budget = number(grant, "messages-per-minute");
    let budget = budget.map_or("any number of messages".to_owned(), |number| {
        format!("{number} messages a minute")
    });
    format!(
        "up to tier {}, {names}, {budget}",
        number(grant, "tier").unwrap_or_default()
    )
}

fn numbers(layers: Option<&Value>) -> String {
    let layers = layers.and_then(Value::as_array).into_iter().flatten();
    let layers: Vec<String> = layers.map(Value::to_string).collect();
    layers.join(", ")
}
