//! Attacks on handoffs, each test named after the attack.

use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::certificate::Certificate;
use signet_proto::envelope::{Form, Method};
use signet_proto::handoff::TaskState;
use signet_proto::headers::Tier;
use signet_proto::keys::Purpose;
use signet_proto::node::Effect;
use signet_proto::statement::Revocation;

use crate::household::forger::hear;
use crate::household::net::Net;
use crate::household::tasks::{
    ALICE, BOB, CAROL, DAVE, HOUR, MET, accept, chain, given, hand, handing, held, household, link,
    mandate, offer, report, reports, say, sign, task, who,
};
use crate::household::{self, Agent, at, identity_with, key};

const INVALID: Option<&str> = Some("mandate-invalid");
const WIDENED: Option<&str> = Some("authority-widened");
const UNKNOWN: Option<&str> = Some("task-unknown");

/// What an agent says to a handoff of that chain: nothing, when it takes it.
fn verdict(net: &mut Net, way: (usize, usize), n: u64, chain: &Value) -> Option<&'static str> {
    let bytes = offer(net, way, n, chain);
    heard(net, way.1, &bytes)
}

/// A refusal has no effect on the agent, and leaves no task.
fn heard(net: &mut Net, to: usize, bytes: &[u8]) -> Option<&'static str> {
    let before = net.agents[to].node.tasks().iter().count();
    let (reason, effects) = hear(net, to, bytes);
    let acted = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Deliver(_) | Effect::Answer(_)));
    let after = net.agents[to].node.tasks().iter().count();
    assert!(
        reason.is_none() || !acted && before == after,
        "refused, and acted all the same"
    );
    reason
}

/// What Carol says to the chain from Alice over Bob, with Bob's mandate changed.
fn narrowed(change: impl FnOnce(&mut Value)) -> Option<&'static str> {
    let mut net = household();
    verdict(&mut net, (BOB, CAROL), 1, &chain(change))
}

fn set(name: &'static str, value: impl Into<Value>) -> impl FnOnce(&mut Value) {
    let value = value.into();
    move |mandate| mandate[name] = value
}

#[test]
fn an_honest_chain_is_taken() {
    assert_eq!(narrowed(|_| {}), None);
    assert_eq!(narrowed(set("capabilities", json!([]))), None);
    assert_eq!(narrowed(set("tier", 1)), None);
    assert_eq!(narrowed(set("depth", 0)), None);
    assert_eq!(
        narrowed(set("not-after", at(2 * HOUR).now.to_string())),
        None
    );
}

#[test]
fn a_handoff_with_one_capability_more() {
    let more = json!(["calendar.read", "door.open", "mail.send"]);
    assert_eq!(narrowed(set("capabilities", more)), WIDENED);
    assert_eq!(narrowed(set("capabilities", json!(["door.open"]))), WIDENED);
}

#[test]
fn a_handoff_of_a_higher_tier() {
    assert_eq!(narrowed(set("tier", 3)), WIDENED);
}

#[test]
fn a_handoff_that_may_be_handed_on_as_often_as_before() {
    assert_eq!(narrowed(set("depth", 5)), WIDENED);
    assert_eq!(narrowed(set("depth", 6)), WIDENED);
}

#[test]
fn a_handoff_of_a_task_that_may_not_be_handed_on() {
    let mut net = household();
    let first = mandate(ALICE, BOB, None, set("depth", 0));
    let second = mandate(BOB, CAROL, Some(&first), set("depth", 0));
    let chain = json!([link(ALICE, first), link(BOB, second)]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), WIDENED);
}

#[test]
fn a_handoff_that_outlasts_the_one_before() {
    let longer = at(24 * HOUR + 1).now.to_string();
    assert_eq!(narrowed(set("not-after", longer)), WIDENED);
}

/// Alice's mandate to Bob, in the hands of Carol.
#[test]
fn a_handoff_used_by_a_third_agent() {
    let mut net = household();
    let stolen = mandate(ALICE, BOB, None, |_| {});
    let as_it_is = json!([link(ALICE, stolen.clone())]);
    assert_eq!(verdict(&mut net, (CAROL, DAVE), 1, &as_it_is), INVALID);
    let next = mandate(CAROL, DAVE, Some(&stolen), |_| {});
    let spun_on = json!([link(ALICE, stolen), link(CAROL, next)]);
    assert_eq!(verdict(&mut net, (CAROL, DAVE), 2, &spun_on), INVALID);
}

/// Bob's mandate for Dave, shown to Carol.
#[test]
fn a_handoff_to_somebody_else() {
    let mut net = household();
    let chain = json!([link(BOB, mandate(BOB, DAVE, None, |_| {}))]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), INVALID);
}

/// Bob has a second agent with the same key, which never gave Carol anything.
#[test]
fn a_handoff_of_the_givers_brother() {
    let mut net = household();
    let brother = identity_with("agent-bob-2", "bob", 1, |request| {
        request.signing_key = who(BOB).signing.public().clone();
    });
    let mandate = mandate(BOB, CAROL, None, set("from", "agent-bob-2"));
    let chain = json!([{"mandate": mandate, "certificate": brother.certificate.to_value()}]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), INVALID);
}

/// Bob's newer key signed the mandate, his older one the message.
#[test]
fn a_handoff_under_another_key_than_the_message() {
    let mut net = household();
    let newer = identity_with("agent-bob", "bob", 2, |_| {});
    let mut value = mandate(BOB, CAROL, None, |_| {});
    value.as_object_mut().unwrap().remove("signature");
    let mandate = sign(value, &newer.signing, Purpose::Handoff);
    let chain = json!([{"mandate": mandate, "certificate": newer.certificate.to_value()}]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), INVALID);
}

/// Bob names as the one before a mandate that Alice never gave for this, or none.
#[test]
fn a_forged_parent() {
    let mut net = household();
    let first = mandate(ALICE, BOB, None, |_| {});
    let wider = mandate(ALICE, BOB, None, set("tier", 4));
    let second = mandate(BOB, CAROL, Some(&wider), |_| {});
    let forged = json!([link(ALICE, first.clone()), link(BOB, second)]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &forged), INVALID);
    let orphan = json!([
        link(ALICE, first),
        link(BOB, mandate(BOB, CAROL, None, |_| {}))
    ]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 2, &orphan), INVALID);
}

/// Bob holds a narrow task and leaves out that he does.
#[test]
fn a_chain_without_its_beginning() {
    let mut net = household();
    let first = mandate(ALICE, BOB, None, |_| {});
    let cut = json!([link(BOB, mandate(BOB, CAROL, Some(&first), |_| {}))]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &cut), INVALID);
}

#[test]
fn a_chain_spliced_from_two_tasks() {
    assert_eq!(narrowed(set("task", task(2).to_string())), INVALID);
}

/// The body's task is another than the mandates', or the conversation is.
#[test]
fn a_chain_for_another_task_than_the_message_says() {
    let mut net = household();
    let chain = chain(|_| {});
    let body = |task: String| json!({"task": task, "goal": "Find an evening", "chain": chain});
    let form = Form::Call(Method::Handoff);
    let (one, two) = (task(1).to_string(), task(2).to_string());
    for (n, inside, outside) in [
        (1, &two, Some(&one)),
        (2, &one, Some(&two)),
        (3, &one, None),
    ] {
        let body = body(inside.clone());
        let bytes = say(&net, (BOB, CAROL), n, form.clone(), body, |draft, _| {
            draft.conversation_id = outside.map(|outside| outside.parse().unwrap());
        });
        assert_eq!(heard(&mut net, CAROL, &bytes), INVALID);
    }
}

#[test]
fn a_mandate_of_an_unknown_issuer() {
    let mut net = household();
    // Carol's daemon knows Bob, and nobody has ever told it of Alice.
    let mut carol = Agent::new("agent-carol", "carol");
    carol.knows(&net.agents[BOB]);
    net.agents[CAROL] = carol;
    net.send(CAROL, BOB, signet_proto::node::Sending::Ping);
    net.run_for(5_000);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain(|_| {})), INVALID);
    let own = json!([link(BOB, mandate(BOB, CAROL, None, |_| {}))]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 2, &own), None);
}

/// Alice's name, certified by a root that Bob made for the purpose.
#[test]
fn a_mandate_of_an_issuer_under_another_root() {
    let mut net = household();
    let certificate = certificate_of_alice_by("root of mallory");
    let first = mandate(ALICE, BOB, None, |_| {});
    let second = mandate(BOB, CAROL, Some(&first), |_| {});
    let forged = json!({"mandate": first, "certificate": certificate.to_value()});
    let chain = json!([forged, link(BOB, second)]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), INVALID);
}

fn certificate_of_alice_by(root: &str) -> Certificate {
    let mut value = who(ALICE).certificate.to_value();
    value.as_object_mut().unwrap().remove("signature");
    value["root-key"] = key(root).public().to_string().into();
    let value = sign(value, &key(root), Purpose::Certificate);
    Certificate::parse(&value).unwrap()
}

/// Bob signs in Alice's name, with his own key and his own certificate.
#[test]
fn a_mandate_under_the_certificate_of_another() {
    let mut net = household();
    let mut first = mandate(ALICE, BOB, None, |_| {});
    first.as_object_mut().unwrap().remove("signature");
    let first = sign(first, &who(DAVE).signing, Purpose::Handoff);
    let second = mandate(BOB, CAROL, Some(&first), |_| {});
    let chain = json!([link(DAVE, first), link(BOB, second)]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), INVALID);
}

#[test]
fn a_mandate_that_was_rewritten_or_signed_for_another_purpose() {
    let mut net = household();
    let mut rewritten = mandate(ALICE, BOB, None, |_| {});
    rewritten["tier"] = 3.into();
    let mut bare = mandate(ALICE, BOB, None, |_| {});
    bare.as_object_mut().unwrap().remove("signature");
    let as_message = sign(bare, &who(ALICE).signing, Purpose::Message);
    for (n, first) in [(1, rewritten), (2, as_message)] {
        let second = mandate(BOB, CAROL, Some(&first), |_| {});
        let chain = json!([link(ALICE, first), link(BOB, second)]);
        assert_eq!(verdict(&mut net, (BOB, CAROL), n, &chain), INVALID);
    }
}

#[test]
fn a_certificate_with_a_key_written_in() {
    let mut net = household();
    let mut certificate = who(ALICE).certificate.to_value();
    certificate["signing-key"] = who(BOB).signing.public().to_string().into();
    certificate["serial"] = 2.into();
    let mut first = mandate(ALICE, BOB, None, |_| {});
    first.as_object_mut().unwrap().remove("signature");
    let first = sign(first, &who(BOB).signing, Purpose::Handoff);
    let second = mandate(BOB, CAROL, Some(&first), |_| {});
    let forged = json!({"mandate": first, "certificate": certificate});
    let chain = json!([forged, link(BOB, second)]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), INVALID);
}

/// Alice's root is pinned, and this agent of hers was never bound: the root's word is enough.
#[test]
fn a_mandate_of_a_known_persons_other_agent() {
    let mut net = household();
    let second = identity_with("agent-alice-2", "alice", 1, |_| {});
    let mut first = mandate(ALICE, BOB, None, set("from", "agent-alice-2"));
    first.as_object_mut().unwrap().remove("signature");
    let first = sign(first, &second.signing, Purpose::Handoff);
    let next = mandate(BOB, CAROL, Some(&first), |_| {});
    let begun = json!({"mandate": first, "certificate": second.certificate.to_value()});
    let chain = json!([begun, link(BOB, next)]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), None);
}

/// Alice's root took her agent's certificate back, and Carol's daemon has heard of it.
#[test]
fn a_mandate_of_a_revoked_issuer() {
    let mut net = household();
    let root = key("root of alice");
    let (person, agent) = ("alice".parse().unwrap(), "agent-alice".parse().unwrap());
    let at = net.at(CAROL);
    let word = Revocation::sign(&person, &agent, 1, "the key was lost", at.now, &root).unwrap();
    let carol = &mut net.agents[CAROL];
    let outcome = carol.node.turn(at).people().revoke(&word).unwrap();
    carol.keep(at, outcome);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain(|_| {})), INVALID);
}

/// Carol's person withdrew trust in Alice's agent.
#[test]
fn a_mandate_of_an_issuer_that_is_trusted_no_more() {
    let mut net = household();
    let (at, alice) = (net.at(CAROL), net.agents[ALICE].id());
    let carol = &mut net.agents[CAROL];
    let outcome = carol.node.turn(at).people().withdraw(&alice).unwrap();
    carol.keep(at, outcome);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain(|_| {})), INVALID);
}

/// Sensitive work travels sealed, and the log's own line of the task repeats none of it.
#[test]
fn a_sealed_handoff_is_judged_when_it_is_open_and_told_in_no_line() {
    let mut net = household();
    let mut secret = handing("the goal of tier three");
    secret.data_tier = Some(Tier::Sensitive);
    secret.limits.tier = Some(3);
    let task = hand(&mut net, ALICE, BOB, secret);
    accept(&mut net, BOB, task);
    reports(&mut net, BOB, task, TaskState::Completed);
    assert_eq!(given(&net, ALICE, task), TaskState::Completed);
    for agent in [ALICE, BOB] {
        for (_, entry) in &net.agents[agent].log {
            let mut line = Vec::new();
            entry.write(&mut line);
            let line = String::from_utf8(line).unwrap();
            assert!(
                !line.contains("tier three") && !line.contains("word\""),
                "{line}"
            );
        }
        net.restart(agent);
    }
    assert_eq!(given(&net, ALICE, task), TaskState::Completed);
    assert_eq!(held(&net, BOB, task), TaskState::Completed);
}

#[test]
fn a_mandate_of_before_or_after_its_issuers_certificate() {
    let mut net = household();
    let early = at(-2 * HOUR).now.to_string();
    let first = mandate(ALICE, BOB, None, set("issued-at", early));
    let second = mandate(BOB, CAROL, Some(&first), |_| {});
    let chain = json!([link(ALICE, first), link(BOB, second)]);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain), INVALID);
}

/// Alice's newest certificate is known; Bob brings an older one, whose key was lost.
#[test]
fn a_mandate_under_a_certificate_that_was_replaced() {
    let mut net = household();
    let newer = identity_with("agent-alice", "alice", 2, |_| {});
    let mut carol = Agent::new("agent-carol", "carol");
    carol.knows(&net.agents[BOB]);
    let outcome = carol
        .node
        .turn(at(0))
        .people()
        .bind(&newer.certificate)
        .unwrap();
    carol.keep(at(0), outcome);
    net.agents[CAROL] = carol;
    net.send(CAROL, BOB, signet_proto::node::Sending::Ping);
    net.run_for(5_000);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain(|_| {})), INVALID);
}

#[test]
fn a_mandate_out_of_its_time() {
    let mut net = household();
    let ended = chain(set("not-after", at(MET + HOUR).now.to_string()));
    let ahead = chain(set("issued-at", at(MET + 61_000).now.to_string()));
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &ahead), INVALID);
    net.run_for(HOUR + 1);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 2, &ended), INVALID);
    let month = 30 * 24 * HOUR;
    let long = |ms| {
        json!([link(
            BOB,
            mandate(
                BOB,
                CAROL,
                None,
                set("not-after", at(MET + ms).now.to_string())
            )
        )])
    };
    assert_eq!(
        verdict(&mut net, (BOB, CAROL), 3, &long(month + 1)),
        INVALID
    );
    assert_eq!(verdict(&mut net, (BOB, CAROL), 4, &long(month)), None);
}

#[test]
fn a_chain_in_a_circle_or_without_end() {
    let mut net = household();
    let one = mandate(ALICE, BOB, None, |_| {});
    let two = mandate(BOB, ALICE, Some(&one), |_| {});
    let three = mandate(ALICE, CAROL, Some(&two), set("depth", 1));
    let circle = json!([link(ALICE, one.clone()), link(BOB, two), link(ALICE, three)]);
    assert_eq!(verdict(&mut net, (ALICE, CAROL), 1, &circle), INVALID);
    let nine: Vec<Value> = (0..9).map(|_| link(ALICE, one.clone())).collect();
    assert_eq!(verdict(&mut net, (ALICE, CAROL), 2, &nine.into()), INVALID);
    assert_eq!(
        verdict(
            &mut net,
            (ALICE, CAROL),
            3,
            &json!([link(ALICE, mandate(ALICE, CAROL, None, set("depth", 8)))])
        ),
        INVALID
    );
}

/// Alice gave the task away herself, and it comes back to her as somebody else's.
#[test]
fn a_task_of_ours_handed_back_to_us() {
    let mut net = household();
    let first = mandate(ALICE, BOB, None, |_| {});
    let second = mandate(BOB, ALICE, Some(&first), |_| {});
    let back = json!([link(ALICE, first), link(BOB, second)]);
    assert_eq!(verdict(&mut net, (BOB, ALICE), 1, &back), INVALID);
    let ours = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    let taken = json!([link(
        CAROL,
        mandate(CAROL, ALICE, None, set("task", ours.to_string()))
    )]);
    assert_eq!(verdict(&mut net, (CAROL, ALICE), 1, &taken), INVALID);
}

#[test]
fn a_replayed_mandate_under_a_new_message() {
    let mut net = household();
    let used = chain(|_| {});
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &used), None);
    assert_eq!(verdict(&mut net, (BOB, CAROL), 2, &used), INVALID);
    net.run_for(5_000);
    let at = net.at(CAROL);
    let declined = net.agents[CAROL]
        .node
        .turn(at)
        .tasks()
        .decline(task(1), "no".into());
    net.agents[CAROL].keep(at, declined.unwrap().1);
    assert_eq!(
        verdict(&mut net, (BOB, CAROL), 3, &used),
        INVALID,
        "declined is used"
    );
    net.restart(CAROL);
    assert_eq!(
        verdict(&mut net, (BOB, CAROL), 4, &used),
        INVALID,
        "remembered"
    );
    let anew = chain(set("issued-at", household::at(MET + 1).now.to_string()));
    assert_eq!(
        verdict(&mut net, (BOB, CAROL), 5, &anew),
        None,
        "given anew"
    );
}

/// Dave gives Carol a task of the same name, to loosen or to tighten what Bob gave her.
#[test]
fn a_second_giver_of_a_task_that_is_held() {
    let mut net = household();
    assert_eq!(verdict(&mut net, (BOB, CAROL), 1, &chain(|_| {})), None);
    let second = json!([link(DAVE, mandate(DAVE, CAROL, None, set("tier", 4)))]);
    assert_eq!(verdict(&mut net, (DAVE, CAROL), 1, &second), INVALID);
}

#[test]
fn a_status_from_somebody_who_does_not_hold_the_task() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    accept(&mut net, BOB, task);
    let stranger = report(&net, (CAROL, ALICE), 1, task, "completed");
    assert_eq!(heard(&mut net, ALICE, &stranger), UNKNOWN);
    let giver = report(&net, (ALICE, BOB), 1, task, "completed");
    assert_eq!(heard(&mut net, BOB, &giver), UNKNOWN);
    let other = report(
        &net,
        (BOB, ALICE),
        1,
        household::tasks::task(7),
        "completed",
    );
    assert_eq!(heard(&mut net, ALICE, &other), UNKNOWN);
    assert_eq!(given(&net, ALICE, task), TaskState::Accepted);
}

#[test]
fn a_status_going_backwards() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    accept(&mut net, BOB, task);
    reports(&mut net, BOB, task, TaskState::Working);
    for (n, state) in [
        (1, "working"),
        (2, "offered"),
        (3, "accepted"),
        (4, "declined"),
    ] {
        let back = report(&net, (BOB, ALICE), n, task, state);
        assert_eq!(heard(&mut net, ALICE, &back), UNKNOWN, "{state}");
    }
    reports(&mut net, BOB, task, TaskState::Failed);
    for (n, state) in [
        (5, "working"),
        (6, "completed"),
        (7, "failed"),
        (8, "returned"),
    ] {
        let back = report(&net, (BOB, ALICE), n, task, state);
        assert_eq!(heard(&mut net, ALICE, &back), UNKNOWN, "{state}");
    }
    assert_eq!(given(&net, ALICE, task), TaskState::Failed);
}

#[test]
fn a_status_after_the_authority_has_ended() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    accept(&mut net, BOB, task);
    net.run_for(25 * HOUR);
    let late = report(&net, (BOB, ALICE), 1, task, "completed");
    assert_eq!(heard(&mut net, ALICE, &late), UNKNOWN);
    assert_eq!(given(&net, ALICE, task), TaskState::Expired);
}

#[test]
fn a_status_with_more_in_it_or_as_a_request() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    let body = json!({"task": task.to_string(), "state": "completed", "authority": "all"});
    let capability = |draft: &mut signet_proto::draft::Draft, _: &mut _| {
        draft.capability = "signet.task".parse().ok();
    };
    let form = Form::Call(Method::Notification);
    let more = say(&net, (BOB, ALICE), 1, form, body, capability);
    assert_eq!(heard(&mut net, ALICE, &more), UNKNOWN);
    let body = json!({"task": task.to_string(), "state": "completed"});
    let form = Form::Call(Method::Request);
    let request = say(&net, (BOB, ALICE), 2, form, body, capability);
    assert_eq!(
        heard(&mut net, ALICE, &request),
        Some("capability-not-granted")
    );
    assert_eq!(given(&net, ALICE, task), TaskState::Offered);
}

#[test]
fn an_answer_that_takes_another_task() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    let offer = net.agents[ALICE]
        .node
        .tasks()
        .given(task)
        .next()
        .unwrap()
        .offer;
    let body = json!({"task": household::tasks::task(3).to_string(), "decision": "accepted"});
    let wrong = say(&net, (BOB, ALICE), 1, Form::Success, body, |draft, _| {
        draft.in_reply_to = Some(offer);
    });
    assert_eq!(heard(&mut net, ALICE, &wrong), UNKNOWN);
    assert_eq!(given(&net, ALICE, task), TaskState::Offered);
}

#[test]
fn an_agent_that_reports_by_hand_or_answers_a_handoff_as_a_request() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    let by_hand = signet_proto::node::Sending::Notification(signet_proto::node::Content {
        capability: "signet.task".parse().ok(),
        ..Default::default()
    });
    let refused = household::tasks::sends(&mut net, BOB, ALICE, by_hand);
    assert_eq!(refused.unwrap_err(), "capability-reserved");
    let at = net.at(BOB);
    let offer = net.agents[BOB].node.tasks().held(task).unwrap().offer;
    let reply = net.agents[BOB]
        .node
        .turn(at)
        .sent()
        .reply(None, offer, Err("no".into()));
    assert_eq!(reply.unwrap_err().name(), "is-handoff");
    assert_eq!(held(&net, BOB, task), TaskState::Offered);
}

/// A peer that gives more tasks than there is room for: it runs out alone.
#[test]
fn a_flood_of_tasks() {
    let mut net = household();
    let flood = |n: u64| {
        let name = set("task", task(1_000 + n).to_string());
        json!([link(BOB, mandate(BOB, CAROL, None, name))])
    };
    for n in 0..256 {
        assert_eq!(verdict(&mut net, (BOB, CAROL), n, &flood(n)), None, "{n}");
    }
    assert_eq!(
        verdict(&mut net, (BOB, CAROL), 256, &flood(256)),
        Some("inbox-full")
    );
    let other = json!([link(
        DAVE,
        mandate(DAVE, CAROL, None, set("task", task(2).to_string()))
    )]);
    assert_eq!(verdict(&mut net, (DAVE, CAROL), 1, &other), None);
    net.restart(CAROL);
    assert_eq!(net.agents[CAROL].node.tasks().iter().count(), 257);
}

#[test]
fn a_handoff_that_outlives_its_last_mandate_is_refused() {
    let mut net = household();
    let chain = json!([link(ALICE, mandate(ALICE, BOB, None, |_| {}))]);
    let outlives = |by: u64| {
        let id = task(1).to_string();
        let body = json!({"task": id, "goal": "Find an evening", "chain": chain});
        let form = Form::Call(Method::Handoff);
        say(&net, (ALICE, BOB), 1 + by, form, body, |draft, stamp| {
            let end = at(24 * HOUR).now;
            draft.conversation_id = id.parse().ok();
            draft.life = end.since(stamp.now) + Duration::from_millis(by);
        })
    };
    let (late, fits) = (outlives(1), outlives(0));
    assert_eq!(hear(&mut net, BOB, &late).0, Some("mandate-invalid"));
    assert_eq!(hear(&mut net, BOB, &fits).0, None);
}
