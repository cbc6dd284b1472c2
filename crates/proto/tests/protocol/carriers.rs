//! Several carriers at once: which one a message takes, what each may say of it, and that none of them is
//! believed: only a peer's receipt settles, and what came twice acts once.

use std::sync::Arc;
use std::time::Duration;

use signet_proto::carrier::{CarrierId, Route, Routes, inbox_subject};
use signet_proto::entry::Did;
use signet_proto::entry::Entry;
use signet_proto::envelope::Method;
use signet_proto::ids::MessageId;
use signet_proto::node::{At, Content, Disposition, Effect, Judged, Sending, State};

use crate::household::net::{message_of, times_taken};
use crate::household::{Agent, alice_and_bob, at};

const NATS: CarrierId = CarrierId::NATS;
const ALICE: usize = 0;
const BOB: usize = 1;
const MINUTE: i64 = 60_000;

fn post() -> CarrierId {
    "post".parse().unwrap()
}

/// What went out: by which carrier, to which address, and what.
pub(crate) type Sent = (CarrierId, String, Arc<[u8]>);

/// Alice and Bob, whom each other's carriers reach in the order given.
pub(crate) struct Pair {
    pub(crate) agents: [Agent; 2],
    pub(crate) now: i64,
    /// Carriers that bring nothing.
    dead: Vec<CarrierId>,
    pub(crate) sent: Vec<(usize, Sent)>,
    told: Vec<(MessageId, State)>,
}

impl Pair {
    pub(crate) fn new(order: &[CarrierId]) -> Self {
        let (alice, bob) = alice_and_bob();
        let mut pair = Self {
            agents: [alice, bob],
            now: 0,
            dead: Vec::new(),
            sent: Vec::new(),
            told: Vec::new(),
        };
        for who in [ALICE, BOB] {
            let peer = pair.agents[1 - who].id();
            let mut routes = Routes::default();
            let route = |carrier: &CarrierId| Route {
                carrier: carrier.clone(),
                address: match *carrier == NATS {
                    true => inbox_subject(&peer),
                    false => format!("post:{peer}"),
                },
            };
            routes.set(peer.clone(), order.iter().map(route).collect());
            pair.agents[who].node.set_routes(routes);
            for carrier in order {
                pair.connect(who, carrier);
            }
        }
        pair
    }

    pub(crate) fn at(&self) -> At {
        at(self.now)
    }

    fn connect(&mut self, who: usize, carrier: &CarrierId) {
        let at = self.at();
        let node = &mut self.agents[who].node;
        let connected = node.turn(at).carriers().connected(carrier);
        let drained = node.turn(at).carriers().drained(carrier);
        for outcome in [connected, drained] {
            let effects = self.agents[who].keep(at, outcome);
            self.perform(who, effects);
        }
    }

    fn disconnect(&mut self, carrier: &CarrierId) {
        for who in [ALICE, BOB] {
            let elapsed = self.at().elapsed;
            self.agents[who].node.handle_disconnected(carrier, elapsed);
        }
    }

    /// Whatever goes by a carrier that is not dead arrives at once.
    fn perform(&mut self, who: usize, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Publish(parcel) => {
                    let (carrier, bytes) = (parcel.carrier().clone(), Arc::clone(parcel.bytes()));
                    let sent = (
                        carrier.clone(),
                        parcel.address().to_owned(),
                        Arc::clone(&bytes),
                    );
                    self.sent.push((who, sent));
                    if !self.dead.contains(&carrier) {
                        self.bring(1 - who, &bytes, &carrier);
                    }
                }
                Effect::Settle {
                    message_id, state, ..
                } => self.told.push((message_id, state)),
                _ => {}
            }
        }
    }

    fn bring(&mut self, to: usize, bytes: &[u8], by: &CarrierId) -> Option<Disposition> {
        let at = self.at();
        let agent = &mut self.agents[to];
        let judged = Judged::of(bytes, agent.node.trust()).by(by.clone());
        let outcome = agent.node.turn(at).handle_inbound(judged);
        let ruled = outcome.ruled;
        let effects = agent.keep(at, outcome);
        self.perform(to, effects);
        ruled
    }

    pub(crate) fn tell(&mut self, life: Duration) -> MessageId {
        let (at, peer) = (self.at(), self.agents[BOB].id());
        let content = Content {
            life: Some(life),
            ..Content::default()
        };
        let agent = &mut self.agents[ALICE];
        let sent = agent
            .node
            .turn(at)
            .sent()
            .send(&peer, Sending::Notification(content));
        let sent = sent.unwrap();
        let (name, outcome) = (sent.id, sent.outcome);
        let effects = agent.keep(at, outcome);
        self.perform(ALICE, effects);
        name
    }

    /// Lets time pass, a tenth of a second at a time.
    pub(crate) fn run_for(&mut self, ms: i64) {
        for _ in 0..ms / 100 {
            self.now += 100;
            for who in [ALICE, BOB] {
                let at = self.at();
                let due = self.agents[who].node.poll_timeout(at);
                if due.is_some_and(|due| due <= at.now) {
                    let effects = self.agents[who].tick(at);
                    self.perform(who, effects);
                }
            }
        }
    }

    /// By which carriers a message went, in order.
    fn ways_of(&self, name: MessageId) -> Vec<CarrierId> {
        let sent = self.sent.iter().map(|(_, sent)| sent);
        let named = sent.filter(|(_, _, bytes)| message_of(bytes).headers.message_id == name);
        named.map(|(carrier, _, _)| carrier.clone()).collect()
    }

    fn state(&self, name: MessageId) -> State {
        self.agents[ALICE].node.sent().status(name).unwrap().state
    }

    pub(crate) fn receipts(&self, who: usize, from: usize) -> Vec<CarrierId> {
        let sent = self.sent.iter().skip(from).filter(|(by, _)| *by == who);
        let receipts = sent
            .filter(|(_, (_, _, bytes))| message_of(bytes).form.method() == Some(Method::Receipt));
        receipts
            .map(|(_, (carrier, _, _))| carrier.clone())
            .collect()
    }

    fn gave_up(&self) -> usize {
        let lines = self.agents[ALICE].log.iter();
        let given_up = lines.filter(
            |(_, entry)| matches!(entry, Entry::Outcome(line) if line.what == Did::Expired),
        );
        given_up.count()
    }
}

const DAY: Duration = Duration::from_secs(24 * 3600);

#[test]
fn a_peer_without_routes_of_its_own_is_reached_by_nats_alone() {
    let (mut alice, bob) = alice_and_bob();
    let sending = Sending::Notification(Content::default());
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), sending)
        .unwrap()
        .outcome;
    let parcels = outcome.effects.iter().filter_map(|effect| match effect {
        Effect::Publish(parcel) => Some((parcel.carrier().clone(), parcel.address().to_owned())),
        _ => None,
    });
    let expected = (NATS, "agent.agent-bob.inbox".to_owned());
    assert_eq!(parcels.collect::<Vec<_>>(), [expected]);
}

#[test]
fn a_message_goes_by_the_first_carrier_that_is_up_and_after_its_back_off_by_the_next() {
    let mut pair = Pair::new(&[NATS, post()]);
    pair.tell(DAY);
    pair.run_for(1_000);
    pair.dead = vec![NATS];
    let name = pair.tell(DAY);
    assert_eq!(pair.ways_of(name), [NATS]);
    pair.run_for(6_000);
    assert_eq!(pair.ways_of(name), [NATS, post()]);
    assert_eq!(pair.state(name), State::Received);
    // A carrier that says itself that it is down is not tried first.
    pair.disconnect(&NATS);
    let name = pair.tell(DAY);
    pair.run_for(6_000);
    assert_eq!(pair.ways_of(name), [post()]);
    assert_eq!(pair.state(name), State::Received);
}

/// Of a peer that is silent on one carrier nothing is known on another.
#[test]
fn a_new_message_to_a_silent_peer_goes_at_once_by_a_carrier_by_which_none_went_in_vain() {
    let mut pair = Pair::new(&[NATS, post()]);
    pair.tell(DAY);
    pair.run_for(1_000);
    pair.dead = vec![NATS, post()];
    let old = pair.tell(DAY);
    pair.run_for(11_000);
    assert_eq!(pair.ways_of(old), [NATS, post(), NATS]);
    let held = pair.tell(DAY);
    assert_eq!(pair.ways_of(held), [], "of both nothing is heard");
    pair.disconnect(&NATS);
    pair.dead = vec![NATS];
    let new = pair.tell(DAY);
    assert_eq!(pair.ways_of(new), [post()]);
    assert_eq!(times_taken(&pair.agents[BOB], new), 1);
    pair.run_for(20_000);
    for name in [old, held, new] {
        assert_eq!(pair.state(name), State::Received);
    }
}

/// The peer's mailbox takes all, and by the other carrier nothing is heard.
#[test]
fn what_a_mailbox_holds_keeps_no_new_message_from_it() {
    let mut pair = Pair::new(&[NATS, post()]);
    pair.tell(DAY);
    pair.run_for(1_000);
    pair.dead = vec![NATS, post()];
    let bob = pair.agents[BOB].id();
    for _ in 0..3 {
        let name = pair.tell(DAY);
        assert_eq!(pair.ways_of(name), [NATS]);
        let at = pair.at();
        let node = &mut pair.agents[ALICE].node;
        node.turn(at).carriers().stored(&NATS, &bob, name);
        pair.run_for(40_000);
        assert!(pair.ways_of(name).contains(&post()));
    }
}

#[test]
fn an_address_is_the_carriers_own() {
    let mut pair = Pair::new(&[post(), NATS]);
    pair.tell(DAY);
    let addresses = pair.sent.iter().filter(|(who, _)| *who == ALICE);
    let by_post = addresses.filter(|(_, (carrier, _, _))| *carrier == post());
    let all: Vec<_> = by_post
        .map(|(_, (_, address, _))| address.clone())
        .collect();
    assert!(!all.is_empty());
    assert!(all.iter().all(|address| address == "post:agent-bob"));
}

#[test]
fn what_comes_by_two_carriers_acts_once_and_each_hears_its_ruling() {
    let mut pair = Pair::new(&[NATS, post()]);
    let name = pair.tell(DAY);
    pair.run_for(1_000);
    let sent = pair.sent.iter().map(|(_, sent)| sent);
    let mut sent = sent.filter(|(_, _, bytes)| message_of(bytes).headers.message_id == name);
    let bytes = Arc::clone(&sent.next().unwrap().2);
    assert_eq!(pair.bring(BOB, &bytes, &post()), Some(Disposition::Refused));
    assert_eq!(times_taken(&pair.agents[BOB], name), 1);
    assert_eq!(pair.agents[BOB].refusals(), ["duplicate"]);
    assert_eq!(pair.agents[BOB].node.inbox().len(), 1);
    assert_eq!(pair.bring(BOB, b"{", &post()), Some(Disposition::Refused));
    let mut more = (0..20_000).map(|_| pair.bring(BOB, b"{", &post()));
    assert!(more.any(|ruled| ruled == Some(Disposition::Counted)));
    let at = pair.at();
    assert_eq!(pair.agents[BOB].node.turn(at).handle_timeout().ruled, None);
}

/// A captured gateway: it calls all mail delivered, and its own mailbox read.
#[test]
fn a_carrier_that_calls_everything_stored_stops_no_other_and_gives_up_no_number() {
    let mut pair = Pair::new(&[post(), NATS]);
    pair.tell(DAY);
    pair.run_for(1_000);
    pair.dead = vec![post()];
    let name = pair.tell(DAY);
    let (at, bob) = (pair.at(), pair.agents[BOB].id());
    let node = &mut pair.agents[ALICE].node;
    node.turn(at).carriers().stored(&post(), &bob, name);
    assert!(node.sent().status(name).unwrap().stored);
    pair.run_for(6_000);
    assert_eq!(pair.ways_of(name), [post(), NATS]);
    assert_eq!(pair.state(name), State::Received);
    // The gateway (`post`) calls its mailbox read while NATS is up and has not been read: no message is given up for
    // that.
    pair.dead = vec![post(), NATS];
    let name = pair.tell(Duration::from_secs(60));
    let at = pair.at();
    pair.disconnect(&NATS);
    let connected = pair.agents[ALICE].node.turn(at).carriers().connected(&NATS);
    let drained = pair.agents[ALICE].node.turn(at).carriers().drained(&post());
    for outcome in [connected, drained] {
        pair.agents[ALICE].keep(at, outcome);
    }
    pair.run_for(30 * MINUTE);
    assert_eq!(pair.gave_up(), 0);
    assert_eq!(pair.state(name), State::Queued);
}

#[test]
fn a_carrier_that_never_says_it_was_read_keeps_what_expired_for_an_hour_and_no_longer() {
    let mut pair = Pair::new(&[NATS, post()]);
    pair.tell(DAY);
    pair.run_for(1_000);
    pair.dead = vec![NATS, post()];
    let at = pair.at();
    pair.disconnect(&post());
    let connected = pair.agents[ALICE]
        .node
        .turn(at)
        .carriers()
        .connected(&post());
    pair.agents[ALICE].keep(at, connected);
    let name = pair.tell(Duration::from_secs(60));
    pair.run_for(30 * MINUTE);
    assert_eq!(pair.gave_up(), 0);
    pair.run_for(31 * MINUTE);
    assert_eq!(pair.gave_up(), 1);
    assert_eq!(pair.state(name), State::Expired);
}

#[test]
fn while_no_carrier_was_read_nothing_is_given_up_however_long_it_takes() {
    let mut pair = Pair::new(&[NATS, post()]);
    pair.tell(DAY);
    pair.run_for(1_000);
    pair.disconnect(&NATS);
    pair.disconnect(&post());
    pair.tell(Duration::from_secs(60));
    pair.run_for(3 * 60 * MINUTE);
    assert_eq!(pair.gave_up(), 0);
}

/// Whoever overheard a message brings it again by a carrier that is its own.
#[test]
fn a_replay_by_another_carrier_turns_no_receipt_away() {
    let mut pair = Pair::new(&[NATS, post()]);
    let first = pair.tell(DAY);
    pair.run_for(2_000);
    let overheard = pair.sent.iter().map(|(_, sent)| sent);
    let mut overheard =
        overheard.filter(|(_, _, bytes)| message_of(bytes).headers.message_id == first);
    let bytes = Arc::clone(&overheard.next().unwrap().2);
    pair.dead = vec![post()];
    let before = pair.sent.len();
    pair.bring(BOB, &bytes, &post());
    pair.run_for(2_000);
    let mut answered = pair.receipts(BOB, before);
    answered.sort();
    assert_eq!(answered, [NATS, post()], "a copy is answered by all");
    let name = pair.tell(DAY);
    pair.run_for(1_000);
    assert_eq!(pair.ways_of(name), [NATS]);
    assert_eq!(pair.state(name), State::Received);
}

#[test]
fn a_handshake_is_tried_by_the_next_carrier_when_the_first_brings_nothing() {
    let mut pair = Pair::new(&[post(), NATS]);
    pair.dead = vec![post()];
    let name = pair.tell(DAY);
    pair.run_for(20_000);
    assert_eq!(pair.state(name), State::Received);
    assert_eq!(times_taken(&pair.agents[BOB], name), 1);
}

#[test]
fn a_store_that_one_carrier_lost_says_nothing_of_the_others() {
    let mut pair = Pair::new(&[NATS]);
    pair.tell(DAY);
    pair.run_for(1_000);
    pair.dead = vec![NATS];
    let name = pair.tell(DAY);
    let (at, bob) = (pair.at(), pair.agents[BOB].id());
    let node = &mut pair.agents[ALICE].node;
    node.turn(at).carriers().stored(&NATS, &bob, name);
    let outcome = node.turn(at).carriers().mailbox_lost(&post());
    pair.agents[ALICE].keep(at, outcome);
    assert!(pair.agents[ALICE].node.sent().status(name).unwrap().stored);
    let outcome = pair.agents[ALICE]
        .node
        .turn(at)
        .carriers()
        .mailbox_lost(&NATS);
    pair.agents[ALICE].keep(at, outcome);
    assert!(!pair.agents[ALICE].node.sent().status(name).unwrap().stored);
}

/// A gateway that is only starting takes nothing: without another try the receipt would come with the peer's next
/// copy, minutes later.
#[test]
fn a_receipt_that_a_carrier_could_not_hand_on_goes_out_again_until_it_can() {
    let mut pair = Pair::new(&[post()]);
    pair.tell(DAY);
    pair.run_for(1_000);
    let from = pair.sent.len();
    pair.tell(DAY);
    pair.run_for(500);
    let receipts = |pair: &Pair| {
        let sent = pair.sent.iter().skip(from).filter(|(by, _)| *by == BOB);
        let sent = sent.map(|(_, (_, _, bytes))| Arc::clone(bytes));
        let of_receipts =
            |bytes: &Arc<[u8]>| message_of(bytes).form.method() == Some(Method::Receipt);
        sent.filter(of_receipts).collect::<Vec<_>>()
    };
    let first = receipts(&pair).pop().unwrap();
    let name = message_of(&first).headers.message_id;
    let lines = pair.agents[BOB].log.len();
    let alice = pair.agents[ALICE].id();
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
        let before = receipts(&pair).len();
        pair.agents[BOB]
            .node
            .handle_unconfirmed(&post(), &alice, name);
        pair.run_for(seconds * 1_000 - 300);
        assert_eq!(receipts(&pair).len(), before, "{seconds}");
        pair.run_for(600);
        assert_eq!(receipts(&pair).len(), before + 1, "{seconds}");
        assert_eq!(receipts(&pair).last(), Some(&first), "byte for byte");
    }
    assert_eq!(pair.agents[BOB].log.len(), lines, "and without a line");
    let at = pair.at();
    pair.agents[BOB]
        .node
        .turn(at)
        .carriers()
        .stored(&post(), &alice, name);
    let before = receipts(&pair).len();
    pair.run_for(MINUTE);
    assert_eq!(receipts(&pair).len(), before);
}

#[test]
fn a_receipt_that_nats_does_not_confirm_went_out_all_the_same() {
    let mut pair = Pair::new(&[NATS]);
    pair.tell(DAY);
    pair.run_for(1_000);
    let receipt = pair.sent.iter().rev().find(|(by, (_, _, bytes))| {
        *by == BOB && message_of(bytes).form.method() == Some(Method::Receipt)
    });
    let name = message_of(&receipt.unwrap().1.2).headers.message_id;
    let (from, alice) = (pair.sent.len(), pair.agents[ALICE].id());
    pair.agents[BOB]
        .node
        .handle_unconfirmed(&NATS, &alice, name);
    pair.run_for(MINUTE);
    assert_eq!(pair.receipts(BOB, from), []);
}
