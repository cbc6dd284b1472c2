//! `signet policy show` in plain words.

use std::fmt::Write as _;

use signet_api::{By, Capability, Finding, Grant, Offer, PeerPolicy, Policy};
use signet_audit::{counted, visible};

use super::{source, visible_lines};
use crate::cli::print::{or_dash, safe_json};

/// The whole policy, for a person.
pub(super) fn page(policy: &Policy) -> String {
    let mut page = String::from("TIERS  what a peer must have before anything of a tier passes\n");
    for tier in &policy.tiers {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "  {} {:<10} layers {:<14} {}",
            tier.tier,
            tier.name,
            numbers(&tier.layers, ", "),
            tier.meaning,
        );
    }
    page.push_str("\nEVERY PEER  unless a [[peer]] says otherwise\n");
    let grant = &policy.grant;
    let may = may_send(
        grant.tier,
        grant.capabilities.as_deref(),
        grant.messages_per_minute,
    );
    let _ = writeln!(page, "  may send   {may}");
    if let Some(conversation) = grant.conversation_messages_per_minute {
        let _ = writeln!(
            page,
            "             {} a minute in one conversation",
            counted(conversation.into(), "message")
        );
    }
    page.push_str("\nOFFERED BY US\n");
    page.push_str(&of_own(&policy.capabilities));
    if policy.peers.is_empty() {
        page.push_str("\nNO PEERS YET\n  next: signet peer add FILE\n");
    }
    for peer in &policy.peers {
        page.push_str(&of_peer(peer));
    }
    visible_lines(&page)
}

/// What a peer offers, on a line each, with the schema as text below.
pub(crate) fn of_offers(offers: Option<&[Offer]>) -> String {
    let offers = offers.unwrap_or_default().iter();
    let line = |offer: &Offer| {
        let schema = offer
            .schema
            .as_deref()
            .map(|text| visible(text).into_owned());
        line_of(
            &offer.name,
            offer.tier,
            offer.description.as_deref(),
            schema,
        )
    };
    offers.map(line).collect()
}

/// Numbers as the configuration has them.
pub(crate) fn bracketed(layers: Option<&[u8]>) -> String {
    format!("[{}]", numbers(layers.unwrap_or_default(), ","))
}

fn of_peer(peer: &PeerPolicy) -> String {
    let person = or_dash(peer.principal.as_deref());
    let layers = numbers(peer.certificate_layers.as_deref().unwrap_or_default(), ", ");
    let mut page = format!(
        "\n{} of {person}\n  certificate proves the layers {layers}\n",
        peer.peer
    );
    let (sends, gets) = (&peer.sends, &peer.gets);
    let limits = of_limits("may send us", sends.highest_tier, &sends.limits, false);
    page.push_str(&limits);
    let own = match peer.by {
        By::Peer => " (its [[peer]])",
        By::Session | By::Grant | By::Offer | By::Other => "",
    };
    let _ = writeln!(page, "    we grant: {}{own}", of_grant(&sends.grant));
    let limits = of_limits("may get from us", gets.highest_tier, &gets.limits, true);
    page.push_str(&limits);
    let _ = match &gets.grant {
        Some(grant) => writeln!(page, "    it grants: {}", of_grant(grant)),
        None => writeln!(
            page,
            "    what it grants is known after the first handshake"
        ),
    };
    page.push_str(&of_offers(peer.capabilities.as_deref()));
    page
}

/// How much may pass one way, and what keeps more from it.
fn of_limits(verb: &str, highest: u8, limits: &[Finding], sends: bool) -> String {
    let most = match highest {
        0 => "nothing".to_owned(),
        1 => "tier 1".to_owned(),
        most => format!("tiers 1 to {most}"),
    };
    let mut page = format!("  {verb:<15} {most}\n");
    for limit in limits {
        let source = source(sends, limit);
        let _ = writeln!(page, "    not more: {}{source}", limit.text);
    }
    page
}

fn of_own(capabilities: &[Capability]) -> String {
    if capabilities.is_empty() {
        return "  none; [[capability]] in config.toml\n".to_owned();
    }
    let line = |own: &Capability| {
        let schema = own.schema.as_ref().map(safe_json);
        line_of(&own.name, own.tier, own.description.as_deref(), schema)
    };
    capabilities.iter().map(line).collect()
}

/// One offer on a line. A peer wrote the description and the schema: both are escaped before they are set into the page,
/// so that a line feed in them begins no new line.
fn line_of(name: &str, tier: u8, description: Option<&str>, schema: Option<String>) -> String {
    let description = description.map(|text| format!(": {}", visible(text)));
    let description = description.unwrap_or_default();
    let schema = schema.map(|schema| format!("    body: {schema}\n"));
    format!(
        "  offers {name} up to tier {tier}{description}\n{}",
        schema.unwrap_or_default()
    )
}

fn of_grant(grant: &Grant) -> String {
    may_send(
        grant.tier,
        Some(&grant.capabilities),
        grant.messages_per_minute,
    )
}

fn may_send(tier: u8, capabilities: Option<&[String]>, budget: Option<u32>) -> String {
    let names = match capabilities {
        None => "every capability".to_owned(),
        Some([]) => "no capabilities".to_owned(),
        Some(names) => names.join(", "),
    };
    let budget = budget.map_or("any number of messages".to_owned(), |number| {
        format!("{} a minute", counted(number.into(), "message"))
    });
    format!("up to tier {tier}, {names}, {budget}")
}

fn numbers(layers: &[u8], between: &str) -> String {
    let layers: Vec<String> = layers.iter().map(u8::to_string).collect();
    layers.join(between)
}

#[cfg(test)]
mod tests {
    use super::may_send;

    #[test]
    fn a_peer_that_may_send_one_message_a_minute_is_said_so() {
        let said = may_send(1, None, Some(1));
        assert_eq!(said, "up to tier 1, every capability, 1 message a minute");
    }
}
