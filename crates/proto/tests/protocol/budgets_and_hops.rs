//! How much and how far: budgets and hops, from both sides.

use std::time::Duration;

use signet_proto::carrier::CarrierId;
use signet_proto::entry::{AttemptLine, Entry};
use signet_proto::headers::{MessageType, Tier};
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Continues, LocalError, Sending};
use signet_proto::policy::{CallBudget, Policy};

use crate::household::allowed::{capability, content, met, offering, try_send, with_bob};
use crate::household::forger::hear;
use crate::household::liar::Liar;
use crate::household::net::{Net, message_of};
use crate::household::{self, Agent};

#[test]
fn the_sender_is_told_at_once_and_drafts_go_out_at_the_pace() {
    let (mut net, _) = with_bob(Policy {
        messages_per_minute: Some(60),
        ..Policy::default()
    });
    for _ in 0..150 {
        net.ask(0, 1);
    }
    net.run_for(10_000);
    let early = net.agents[1].node.inbox().len();
    assert!(
        (60..=75).contains(&early),
        "a minute's worth at once: {early}"
    );
    let error = try_send(&mut net, 0, 1, content(1, None)).unwrap_err();
    assert_eq!(error.name(), "budget-exceeded");
    assert!(
        error.to_string().contains("60 messages a minute"),
        "{error}"
    );
    let bob = net.agents[1].id();
    assert_eq!(net.agents[0].node.standing(&bob, net.at(0).now).withheld, 1);
    net.run_for(100_000);
    assert_eq!(
        net.agents[1].node.inbox().len(),
        150,
        "the rest came, a second apart"
    );
    assert_eq!(net.agents[1].refusals(), Vec::<&str>::new());
}

fn attempts(net: &Net) -> Vec<AttemptLine> {
    let log = net.agents[0].log.iter();
    let attempts = log.filter_map(|(_, entry)| match entry {
        Entry::Attempt(line) => Some(line.clone()),
        _ => None,
    });
    attempts.collect()
}

fn write_attempts(net: &mut Net) {
    let at = net.at(0);
    let outcome = net.agents[0].node.turn(at).me().refused_attempts();
    let effects = net.agents[0].keep(at, outcome);
    net.perform(0, effects);
}

#[test]
fn what_our_agent_tried_and_was_refused_leaves_a_line_and_nothing_of_its_content() {
    const SECRET: &str = "never in a log";
    let (mut net, _) = met(offering(vec![capability("calendar.read", 1, None)]));
    let mut refused = Vec::new();
    for tried in [
        content(1, Some("door.open")),
        content(3, Some("door.open")),
        content(2, Some("calendar.read")),
    ] {
        let tried = Content {
            summary: Some(SECRET.into()),
            body: SECRET.into(),
            conversation_id: "dinner-1".parse().ok(),
            ..tried
        };
        let (tier, capability) = (tried.data_tier, tried.capability.clone());
        let error = try_send(&mut net, 0, 1, tried).unwrap_err();
        refused.push((error.name().to_owned(), tier, capability));
    }
    // An agent that sends to somebody unknown has made a slip, and overstepped no limit: that leaves no line.
    let nobody = Sending::Ping;
    let at = net.at(0);
    let unknown = "agent-nobody".parse().unwrap();
    let slip = net.agents[0].node.turn(at).sent().send(&unknown, nobody);
    assert_eq!(slip.unwrap_err().name(), "peer-unknown");
    write_attempts(&mut net);
    let lines = attempts(&net);
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            let tried = line.tried.as_ref().unwrap();
            assert_eq!(
                (line.count, line.peer.clone()),
                (1, Some(net.agents[1].id()))
            );
            assert_eq!(tried.message_type, MessageType::Request);
            assert_eq!(tried.conversation.as_ref().unwrap().as_str(), "dinner-1");
            (
                line.reason.clone(),
                Tier::parse(tried.tier).ok(),
                tried.capability.clone(),
            )
        })
        .collect();
    assert_eq!(told, refused);
    for line in lines {
        let mut bytes = Vec::new();
        Entry::Attempt(line.clone()).write(&mut bytes);
        let text = format!("{{{}}}", String::from_utf8(bytes).unwrap());
        assert!(!text.contains(SECRET), "{text}");
        let read = serde_json::from_str(&text).unwrap();
        assert_eq!(Entry::parse(read).unwrap(), Some(Entry::Attempt(line)));
    }
    net.restart(0);
    net.ask(0, 1);
}

/// An agent that does not listen asks again at once, for ever.
#[test]
fn an_agent_in_a_loop_fills_no_disk_with_what_it_was_refused() {
    let (mut net, _) = met(Policy::default());
    for _ in 0..5_000 {
        try_send(&mut net, 0, 1, content(1, Some("door.open"))).unwrap_err();
    }
    write_attempts(&mut net);
    assert_eq!(attempts(&net).len(), 20);
    net.run_for(61_000);
    let lines = attempts(&net);
    let (last, told) = lines.split_last().unwrap();
    assert!(told.iter().all(|line| line.count == 1) && told.len() == 20);
    assert_eq!((last.count, last.tried.as_ref()), (4_980, None));
    assert_eq!(last.reason, "capability-not-granted");
    // A clean stop writes what was only counted.
    for _ in 0..30 {
        try_send(&mut net, 0, 1, content(1, Some("door.open"))).unwrap_err();
    }
    let rest = net.agents[0].node.handle_stop().entries;
    assert_eq!(rest.len(), 21);
    assert_eq!(net.agents[0].node.handle_stop().entries.len(), 0);
}

#[test]
fn a_clock_that_was_set_back_starves_nobody() {
    let mut bucket = CallBudget::default();
    let at = |ms| household::at(ms).now;
    let year = 365 * 24 * 3_600_000;
    while let Some(fuller) = bucket.at(at(year), 60).take(60, Duration::ZERO) {
        bucket = fuller;
    }
    // The clock was a year ahead: a second after it is right, there is room again.
    bucket = bucket.at(at(0), 60);
    assert!(bucket.take(60, Duration::ZERO).is_none(), "and not before");
    assert!(bucket.at(at(1_000), 60).take(60, Duration::ZERO).is_some());
}

#[test]
fn what_waited_for_an_hour_is_no_flood() {
    let (mut net, _) = met(Policy {
        messages_per_minute: Some(10),
        ..Policy::default()
    });
    net.cut = Some((0, 1));
    for _ in 0..50 {
        net.run_for(60_000);
        for _ in 0..8 {
            net.ask(0, 1);
        }
    }
    net.cut = None;
    let at = net.at(0);
    let effects = net.agents[0]
        .node
        .turn(at)
        .carriers()
        .connected(&CarrierId::NATS)
        .effects;
    net.perform(0, effects);
    net.run_for(600_000);
    // The probe is not the lowest number, so that no receipt covers it before it goes once more with the rest.
    assert_eq!(net.agents[1].refusals(), ["duplicate"]);
    assert_eq!(net.agents[1].node.inbox().len(), 401);
}

#[test]
fn answers_and_receipts_do_not_count() {
    let (mut net, _) = with_bob(Policy {
        messages_per_minute: Some(1),
        conversation_per_minute: Some(1),
        ..Policy::default()
    });
    let asked: Vec<_> = (0..20)
        .map(|_| {
            let name = net.ask(1, 0);
            net.run_for(2_000);
            name
        })
        .collect();
    for request in &asked {
        net.reply(0, *request);
    }
    net.run_for(10_000);
    assert_eq!(net.agents[1].refusals(), Vec::<&str>::new());
    assert_eq!(net.agents[1].node.inbox().len(), 20);
}

pub(crate) fn three() -> Net {
    let names = [
        ("agent-alice", "alice"),
        ("agent-bob", "bob"),
        ("agent-carol", "carol"),
    ];
    let mut agents: Vec<Agent> = names
        .map(|(agent, person)| Agent::new(agent, person))
        .into();
    for one in 0..3 {
        for other in 0..3 {
            if one != other {
                let certificate = agents[other].certificate();
                let outcome = agents[one]
                    .node
                    .turn(household::at(0))
                    .people()
                    .bind(&certificate)
                    .unwrap();
                agents[one].keep(household::at(0), outcome);
            }
        }
    }
    Net::new(agents, 1)
}

/// Passes a call on and on, until somebody refuses. How many were sent, and what was said.
pub(crate) fn pass_on(
    net: &mut Net,
    pause: i64,
    most: usize,
    mut content: impl FnMut(usize, Option<MessageId>) -> Content,
) -> (usize, Option<LocalError>) {
    let mut before = None;
    for hop in 0..most {
        let (from, to) = (hop % 3, (hop + 1) % 3);
        match try_send(net, from, to, content(from, before)) {
            Ok(name) => before = Some(name),
            Err(error) => return (hop, Some(error)),
        }
        net.run_for(pause);
    }
    (most, None)
}

#[test]
fn a_loop_over_three_agents_that_never_count_is_stopped_at_the_ninth_hop() {
    let mut net = three();
    let said = |_: usize, _: Option<MessageId>| Content {
        conversation_id: "round-and-round".parse().ok(),
        ..content(1, None)
    };
    let (sent, error) = pass_on(&mut net, 3_000, 100, said);
    assert_eq!((sent, error.unwrap().name()), (8, "hops-exceeded"));
    let hops: Vec<u8> = net
        .sent
        .iter()
        .map(|(_, _, bytes)| message_of(bytes).headers.hops)
        .collect();
    assert_eq!(hops.iter().max(), Some(&8));
}

#[test]
fn a_loop_that_says_what_it_continues_is_stopped_however_slow_it_is() {
    let mut net = three();
    let said = |_: usize, before: Option<MessageId>| Content {
        continues: before.map(|message| Continues {
            from: None,
            message,
        }),
        ..content(1, None)
    };
    let (sent, error) = pass_on(&mut net, 3_600_000, 100, said);
    assert_eq!((sent, error.unwrap().name()), (8, "hops-exceeded"));
}

#[test]
fn people_who_take_turns_are_not_stopped() {
    let mut net = three();
    let said = |_: usize, _: Option<MessageId>| Content {
        conversation_id: "holidays".parse().ok(),
        ..content(1, None)
    };
    let (sent, error) = pass_on(&mut net, 90_000, 60, said);
    assert_eq!((sent, error), (60, None));
    // An agent that asks again and again, and is answered each time, is not stopped either.
    for _ in 0..30 {
        let asked = net.send(0, 1, Sending::Request(said(0, None)));
        net.run_for(2_000);
        net.reply(1, asked);
        net.run_for(2_000);
    }
    assert!(net.agents.iter().all(|agent| agent.refusals().is_empty()));
}

#[test]
fn people_who_take_turns_are_not_stopped_after_a_clock_was_put_back() {
    let mut net = three();
    let said = |_: usize, _: Option<MessageId>| Content {
        conversation_id: "holidays".parse().ok(),
        ..content(1, None)
    };
    net.skew = vec![24 * 3_600_000; 3];
    net.run_for(1_000);
    assert_eq!(pass_on(&mut net, 90_000, 3, said), (3, None));
    net.skew = vec![0; 3];
    assert_eq!(pass_on(&mut net, 90_000, 60, said), (60, None));
    // A loop is still stopped after the clock was put back.
    let (sent, error) = pass_on(&mut net, 3_000, 100, said);
    assert_eq!(error.map(|error| error.name()), Some("hops-exceeded"));
    assert!(sent <= 8, "{sent}");
    household::people::remembered(&net);
}

#[test]
fn hops_are_counted_after_a_restart_too() {
    let mut net = three();
    let said = |_: usize, before: Option<MessageId>| Content {
        conversation_id: "round".parse().ok(),
        continues: before.map(|message| Continues {
            from: None,
            message,
        }),
        ..content(1, None)
    };
    let before = pass_on(&mut net, 3_000, 5, said);
    assert_eq!(before.0, 5);
    for who in 0..3 {
        net.restart(who);
    }
    net.run_for(1_000);
    let last = net.agents[2]
        .node
        .inbox()
        .after(0)
        .last()
        .unwrap()
        .message
        .clone();
    assert_eq!(last.headers.hops, 5);
    let name = last.headers.message_id;
    let sent = try_send(&mut net, 2, 0, said(2, Some(name))).unwrap();
    net.run_for(5_000);
    let items: Vec<_> = net.agents[0].node.inbox().after(0).collect();
    let came = items
        .iter()
        .find(|item| item.message.headers.message_id == sent)
        .unwrap();
    assert_eq!(came.message.headers.hops, 6);
    assert_eq!(
        came.message
            .headers
            .conversation_id
            .as_ref()
            .unwrap()
            .as_str(),
        "round"
    );
    let unknown = try_send(
        &mut net,
        2,
        0,
        said(2, Some(MessageId::from_parts(1, [1; 10]))),
    );
    assert_eq!(unknown.unwrap_err().name(), "not-remembered");
}

/// The third of the three, whom the others' conversation does not concern.
const CAROL: usize = 2;

fn in_conversation(name: &str) -> Content {
    Content {
        conversation_id: name.parse().ok(),
        ..content(1, None)
    }
}

fn hops_of(net: &Net, name: MessageId) -> u8 {
    let sent = net.sent.iter().map(|(_, _, bytes)| message_of(bytes));
    let mut sent = sent.filter(|message| message.headers.message_id == name);
    sent.next().unwrap().headers.hops
}

/// What Carol makes Alice hear in that conversation, with eight hops.
fn poisons(net: &mut Net, conversation: &str, chain: Option<MessageId>) {
    let mut liar = Liar::new(net, CAROL, 0);
    liar.skip(net.now as u64 + net.agents[0].log.len() as u64);
    let bytes = liar.call(net, |draft, _| {
        draft.conversation_id = conversation.parse().ok();
        draft.hops = 8;
        draft.in_reply_to = chain;
    });
    let (reason, _) = hear(net, 0, &bytes);
    assert_eq!(reason, None, "what Carol says is taken");
}

#[test]
fn a_third_agents_hops_do_not_count_in_a_conversation_that_is_not_its_own() {
    let mut net = three();
    try_send(&mut net, CAROL, 0, content(1, None)).unwrap();
    // Alice begins the conversation `ours` with Bob, and Bob begins `theirs` with Alice: neither is Carol's.
    try_send(&mut net, 0, 1, in_conversation("ours")).unwrap();
    try_send(&mut net, 1, 0, in_conversation("theirs")).unwrap();
    net.run_for(3_000);
    for _ in 0..20 {
        for conversation in ["ours", "theirs"] {
            poisons(&mut net, conversation, None);
            poisons(
                &mut net,
                conversation,
                Some(MessageId::from_parts(7, [7; 10])),
            );
            let said = try_send(&mut net, 0, 1, in_conversation(conversation)).unwrap();
            let most = if conversation == "theirs" { 2 } else { 1 };
            let hops = hops_of(&net, said);
            assert!(hops <= most, "{conversation}: {hops}");
        }
        net.run_for(10_000);
    }
    assert_eq!(net.agents[1].refusals(), Vec::<&str>::new());
    // A message to Carol herself continues Carol's calls, whoever began the conversation: there her hops count.
    let back = try_send(&mut net, 0, CAROL, in_conversation("ours")).unwrap_err();
    assert_eq!(back.name(), "hops-exceeded");
}

#[test]
fn what_an_agent_says_that_it_continues_counts_and_nothing_else() {
    let mut net = three();
    try_send(&mut net, CAROL, 0, content(1, None)).unwrap();
    let asked = try_send(&mut net, 1, 0, in_conversation("dinner")).unwrap();
    net.run_for(3_000);
    poisons(&mut net, "dinner", None);
    let content = Content {
        continues: Some(Continues {
            from: None,
            message: asked,
        }),
        ..in_conversation("dinner")
    };
    let said = try_send(&mut net, 0, 1, content).unwrap();
    assert_eq!(hops_of(&net, said), 2);
    let headers = net
        .sent
        .last()
        .map(|(_, _, bytes)| message_of(bytes))
        .unwrap()
        .headers;
    assert_eq!(headers.in_reply_to, Some(asked));
}

/// Each of them spoke first, so nobody counts what came as its own: the chain that comes round does.
#[test]
fn a_loop_in_which_everybody_began_at_once_is_stopped_all_the_same() {
    let mut net = three();
    for from in 0..3 {
        try_send(&mut net, from, (from + 1) % 3, in_conversation("crossing")).unwrap();
    }
    net.run_for(3_000);
    let said = |_: usize, _: Option<MessageId>| in_conversation("crossing");
    let (sent, error) = pass_on(&mut net, 3_000, 100, said);
    assert_eq!(error.unwrap().name(), "hops-exceeded");
    assert!(sent <= 24, "{sent}");
}

#[test]
fn the_chain_of_a_loop_is_known_after_a_restart_too() {
    let mut net = three();
    let said = |_: usize, _: Option<MessageId>| in_conversation("round");
    assert_eq!(pass_on(&mut net, 3_000, 6, said).0, 6);
    for who in 0..3 {
        net.restart(who);
    }
    let (sent, error) = pass_on(&mut net, 3_000, 100, said);
    assert_eq!((sent, error.unwrap().name()), (2, "hops-exceeded"));
    household::people::remembered(&net);
}

/// Alice or Bob began, and was silent for four days, which nobody remembers any more.
#[test]
fn a_member_is_not_the_first_to_speak_because_whoever_was_has_been_silent_for_four_days() {
    for first in [0, 1] {
        let mut net = three();
        try_send(&mut net, CAROL, 0, content(1, None)).unwrap();
        try_send(&mut net, first, 1 - first, in_conversation("dinner")).unwrap();
        net.run_for(4 * 24 * 3_600_000);
        // These calls in another conversation push the calls of four days ago out of the memory.
        try_send(&mut net, 0, 1, in_conversation("lunch")).unwrap();
        try_send(&mut net, 1, 0, in_conversation("lunch")).unwrap();
        net.run_for(3_000);
        poisons(&mut net, "dinner", None);
        household::people::remembered(&net);
        net.restart(0);
        poisons(&mut net, "dinner", None);
        let said = try_send(&mut net, 0, 1, in_conversation("dinner"));
        let hops = said.map(|said| hops_of(&net, said));
        assert!(hops.is_ok_and(|hops| hops <= 2), "{first} began");
    }
}

#[test]
fn who_may_send_one_message_a_minute_is_told_of_one_message() {
    let (mut net, _) = with_bob(Policy {
        messages_per_minute: Some(1),
        ..Policy::default()
    });
    let refused = (0..20).find_map(|_| {
        net.run_for(1_000);
        try_send(&mut net, 0, 1, content(1, None)).err()
    });
    let error = refused.unwrap().to_string();
    assert!(error.contains("takes 1 message a minute, and"), "{error}");
}

/// Carol is written to in the same conversation, and names whatever she heard there.
#[test]
fn a_member_of_a_conversation_cannot_end_what_others_say_in_it() {
    let mut net = three();
    let first = try_send(&mut net, 0, 1, in_conversation("dinner")).unwrap();
    try_send(&mut net, 0, CAROL, in_conversation("dinner")).unwrap();
    try_send(&mut net, CAROL, 0, in_conversation("dinner")).unwrap();
    net.run_for(3_000);
    for minute in 0..20 {
        // Bob says something in the conversation. After that, Alice tells Carol something that continues nothing of
        // Bob's.
        let said = Content {
            continues: (minute == 0).then_some(Continues {
                from: None,
                message: first,
            }),
            ..in_conversation("dinner")
        };
        try_send(&mut net, 1, 0, said).unwrap();
        net.run_for(10_000);
        try_send(&mut net, 0, CAROL, in_conversation("dinner")).ok();
        net.run_for(1_000);
        let carol = net.agents[CAROL].id();
        let heard = net
            .sent
            .iter()
            .map(|(_, _, bytes)| message_of(bytes).headers);
        let heard = heard.filter(|headers| headers.recipient_id == carol);
        let known = heard.flat_map(|headers| [Some(headers.message_id), headers.in_reply_to]);
        let known: std::collections::BTreeSet<_> = known.flatten().collect();
        for chain in known.into_iter().rev().take(12).map(Some).chain([None]) {
            poisons(&mut net, "dinner", chain);
            net.run_for(7);
        }
        net.run_for(20_000);
        let said = try_send(&mut net, 0, 1, in_conversation("dinner"));
        let hops = hops_of(&net, said.unwrap());
        assert!(hops <= 4, "in minute {minute}: {hops}");
        net.run_for(75_000);
    }
    assert_eq!(net.agents[1].refusals(), Vec::<&str>::new());
}
