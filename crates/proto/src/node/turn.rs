//! One input to the node: its time, and the lines and effects that come of it.
//!
//! Whatever makes lines or effects happens within a [`Turn`], through the door of the part whose decision it is. Each
//! line is written by [`Turn::write`], so that no caller forgets to tell what the line changed.

use std::sync::Arc;

use signet_json::{Map, Value};

use crate::draft::{Draft, Signed};
use crate::entry::{
    CauseLine, ClockLine, Did, Direction, Entry, Evidence, OutcomeLine, Ruling, TrustChange,
    Verdict,
};
use crate::envelope::{Form, Message, Method};
use crate::handshake::Established;
use crate::headers::{CapabilityName, Tier};
use crate::ids::{AgentId, MessageId};
use crate::seal::Sealed;
use crate::time::Timestamp;

use super::{Accepted, Arrival, At, Changed, Effect, Judged, Node, Notice, Outcome, Ruled, State};

/// What the node makes of one input. Everything that it does in answer has the same time and adds to the same
/// outcome, in the order in which it comes about.
#[derive(Debug)]
pub struct Turn<'n> {
    pub(super) node: &'n mut Node,
    pub(super) at: At,
    /// The lines and effects so far.
    pub(super) out: Outcome,
}

/// The doors of the parts: what can be done about each within a turn.
macro_rules! doors {
    ($($(#[doc = $about:literal])+ $name:ident: $door:ident,)+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug)]
            pub struct $door<'t, 'n> {
                pub(super) turn: &'t mut Turn<'n>,
            }
        )+

        impl<'n> Turn<'n> {
            $(
                $(#[doc = $about])+
                pub fn $name(&mut self) -> $door<'_, 'n> {
                    $door { turn: self }
                }
            )+
        }
    };
}

doors! {
    /// Our keys, our configuration, and what our agent tried in vain.
    me: MeDoor,
    /// The peers.
    peers: PeersDoor,
    /// What reaches the peers.
    carriers: CarriersDoor,
    /// Answers to what is late, lost, or a copy.
    copies: CopiesDoor,
    /// Handshakes with peers.
    flights: FlightsDoor,
    /// What each side tells the other of what it has.
    receipts: ReceiptsDoor,
    /// The ways out.
    ways: WaysDoor,
    /// What came, and who has it.
    inbox: InboxDoor,
    /// Who has which message.
    leases: LeasesDoor,
    /// What we say.
    sent: SentDoor,
    /// What waits to leave.
    drafts: DraftsDoor,
    /// What programs offer.
    offers: OffersDoor,
    /// What was handed to us, and what we hand on.
    tasks: TasksDoor,
    /// What people decide.
    people: PeopleDoor,
    /// What rings.
    alarms: AlarmsDoor,
}

impl Node {
    /// Opens a turn: what comes in `now`, and all that is done in answer.
    pub fn turn(&mut self, now: At) -> Turn<'_> {
        let mut turn = Turn {
            node: self,
            at: now,
            out: Outcome::default(),
        };
        // If many peers have changed, enter them into the agenda now: otherwise `poll_timeout` would have to ask each of them,
        // every time.
        if turn.node.peers.known().have_changed_much() {
            turn.peers().uphold_agenda();
        }
        turn
    }
}

impl Turn<'_> {
    /// Judges one input from the network (checks V08 to V12; V01 to V07 came before).
    pub fn handle_inbound(mut self, judged: Judged) -> Outcome {
        self.read_clock();
        Arrival::judge(&mut self, judged);
        self.out
    }

    /// Everything that is due.
    pub fn handle_timeout(mut self) -> Outcome {
        self.overdue();
        self.out
    }

    /// The log has been told again: handshakes of ours are forgotten, what was accepted and not
    /// answered is answered, and each session's peer hears how far we are.
    pub fn resume(mut self) -> Outcome {
        self.node.alarms.start(self.at.elapsed);
        self.node.clock.resume(self.at.elapsed);
        self.read_clock();
        // While the log was replayed, sessions were not compared with our present keys: compare them now.
        self.node.peers.retire_sessions(self.node.me.identity());
        self.me().record_own();
        self.offers().recall_offers();
        self.node.peers.known().index_talks();
        self.peers().resume();
        self.tasks().end_unsent();
        let pings: Vec<_> = self.node.sent.pings().map(Arc::clone).collect();
        for ping in pings {
            self.answer_ping(&ping);
        }
        self.out
    }

    /// A carrier dropped messages before they were read: the log says so.
    pub fn handle_gap(mut self, cause: String) -> Outcome {
        self.write(Entry::Gap(CauseLine { cause }));
        self.out
    }

    /// What is due of each part, in their order.
    pub(super) fn overdue(&mut self) {
        // Read the clock first: if it was put back, that corrects the times with which the calls below compare.
        self.read_clock();
        let strangers = self.node.people.overdue(self.at.now);
        let counted = [strangers, self.node.peers.overdue(self.at.elapsed)];
        for flood in counted.into_iter().flatten() {
            self.write(Entry::Flood(flood));
        }
        self.me().write_attempts();
        self.leases().overdue();
        self.people().tell_decrees();
        self.alarms().look_for_holes();
        self.offers().end_lapsed_offers();
        self.peers().overdue();
    }

    /// What the node knows now.
    pub fn node(&self) -> &Node {
        self.node
    }

    /// When the input came.
    pub fn now(&self) -> Timestamp {
        self.at.now
    }

    /// The lines and effects so far; the next ones begin anew.
    pub(super) fn take(&mut self) -> Outcome {
        std::mem::take(&mut self.out)
    }

    /// Writes a line: the node changes by it, and whoever waits for such a change hears of it.
    pub(super) fn write(&mut self, entry: Entry) {
        self.write_ruled(entry, None);
    }

    /// As [`Turn::write`]: `ruled` is the message of the line, where it was ruled on just now.
    pub(super) fn write_ruled(&mut self, entry: Entry, ruled: Option<&Ruled>) {
        let changed = self.node.apply(self.at.now, &entry, ruled);
        // Most turns write one line. Room for four, as a vector takes it by itself, are nearly 3 KB for each message, and at
        // such a size glibc puts all its small free pieces together first.
        if self.out.entries.is_empty() {
            self.out.entries.reserve_exact(1);
        }
        // Push this log line before `follow` adds further lines, which have to come after it in the log.
        self.out.entries.push(entry);
        self.follow(changed);
    }

    /// Writes a message of ours down, and lets it go out when the line is durable.
    pub(super) fn write_sent(&mut self, signed: Signed) {
        self.write_sealed(signed, None);
    }

    /// The same for a message with a sealed box: `copy` holds it for our person.
    pub(super) fn write_sealed(&mut self, signed: Signed, copy: Option<Sealed>) {
        let message = signed.message();
        let entry = Entry::Message(Verdict {
            direction: Direction::Out,
            ruling: Ruling::Sent,
            bytes: message.canonical().len() as u64,
            hash: message.hash(),
            evidence: Evidence::Whole(Arc::clone(message)),
            copy,
        });
        let peer = self.node.peers.entry(signed.recipient());
        peer.bytes().note_sent(&entry);
        // Write the log line first, so that its effects come before the message: a peer answers flight 4 at once, and by then
        // the workers have to know the peer's new key (`welcome`).
        self.write(entry);
        self.ways().publish(signed);
    }

    /// Tells our person. Before the line about it is written: then the notice comes before what follows from the line.
    pub(super) fn notify(&mut self, notice: Notice) {
        let notice = Effect::Notice(Box::new(notice));
        self.out.effects.push(notice);
    }

    /// Lets the workers verify by the trust store as it is now.
    pub(super) fn tell_trust(&mut self) {
        let view = self.node.trust().clone();
        self.out.effects.push(Effect::Trust(view));
    }

    /// Our agent may have it.
    pub(super) fn hand_over(&mut self, accepted: Accepted) {
        let message = accepted.message();
        let headers = &message.headers;
        let is_kept = || self.node.inbox.find(&headers.agent_id, headers.message_id);
        let effect = match message.form {
            Form::Call(Method::Progress) => Effect::Progress(accepted),
            Form::Call(_) => Effect::Deliver(accepted),
            Form::Success | Form::Failure { .. } if is_kept().is_some() => Effect::Answer(accepted),
            // An answer that is not in the inbox answers a ping of ours: every other answer was put into the inbox before.
            Form::Success | Form::Failure { .. } => Effect::Pong(accepted),
        };
        self.out.effects.push(effect);
    }

    /// Our agent may have what waits in the inbox: it came during a pause, or is tried again.
    pub(super) fn hand_over_waiting(&mut self, peer: &AgentId, name: MessageId) {
        if let Some(message) = self.node.inbox.find(peer, name).cloned() {
            // Open a sealed message each time that it is handed over: neither the inbox nor the state keeps its content in clear.
            let opened = self.node.opened(&message);
            self.hand_over(Accepted::kept(message, opened));
        }
    }

    pub(super) fn answer_ping(&mut self, message: &Arc<Message>) {
        let mut body = Map::new();
        body.insert("pong".into(), true.into());
        body.insert("received".into(), self.at.now.to_string().into());
        let id = self.node.ids.fresh(self.at.now);
        let draft = Draft::answer(Form::Success, message, id, Some(Value::Object(body)));
        if self.sent().dispatch(draft, None).is_err() {
            // Write a log line that ends the ping: without it, every start would try to answer the ping again.
            let (peer, ping) = (&message.headers.agent_id, message.headers.message_id);
            let line = OutcomeLine::of(peer, ping, Did::AnswerFailed);
            self.write(Entry::Outcome(line));
        }
    }

    /// Reads the clock. That it was put back is written down, since the log's own times do not go back;
    /// and whatever was to wait for the time that has not come now is tried at once.
    pub(super) fn read_clock(&mut self) {
        let now = self.at.now;
        self.node.clock.run(self.at.elapsed);
        if !self.node.clock.was_put_back(now) {
            return self.node.clock.read(now);
        }
        let entry = Entry::Clock(ClockLine {
            peer: self.node.me.identity().agent().clone(),
            // The difference says how far the clock is behind the time of this log line: the line bears `now`, or the time of
            // the line before if that is later.
            difference_ms: now.as_millis() - self.node.clock.written().max(now).as_millis(),
        });
        self.write(entry);
        self.node.clock.read(now);
        // The log line about the clock has corrected what the node remembers. Whatever still waits for a time that lies in the
        // future now would wait too long: let it be tried at once.
        self.node.people.put_clock_back(now);
        self.node.peers.go_on_at(now);
        let peers: Vec<_> = self.node.peers.known().names().cloned().collect();
        for peer in peers {
            // Answers and reports that peers refused because our clock was ahead may be signed again (protocol.md, section 6).
            self.sent().sign_anew(&peer);
        }
    }

    /// What follows from what a line changed: effects tell where messages of ours are, a new session is welcomed and
    /// may show a second copy of us, and an alarm rings where a log was put back.
    fn follow(&mut self, changed: Changed) {
        let fates = changed.fates.into_iter();
        let settled = fates.map(|(peer, message_id, state)| Effect::Settle {
            offers: self.offers_beside(&peer, &state),
            peer,
            message_id,
            state,
        });
        let settled: Vec<_> = settled.collect();
        self.out.effects.extend(settled);
        if let Some(established) = changed.established {
            self.welcome(&established, changed.renewed);
            let peer = &established.certificate.agent;
            self.offers().mark_offers(peer);
            self.node.peers.mark_outdated(&self.node.me, peer);
            self.alarms().suspect_copy_by_number(peer);
        }
        if let Some((peer, misfit)) = changed.misfit {
            self.alarms().follow_misfit(&peer, misfit);
        }
        for (peer, message_id, state) in changed.unsent {
            self.drafts().end(&peer, message_id, state);
        }
    }

    /// What the peer offers, where a message ended because it named none of several capabilities.
    fn offers_beside(&self, peer: &AgentId, state: &State) -> Vec<CapabilityName> {
        let session = self.node.peers.session(peer, self.at.now);
        let session = session.filter(|_| state.needs_capability());
        session.map_or_else(Vec::new, |session| session.offers_for(Tier::Public))
    }

    /// What a finished handshake is worth: the peer's newer certificate, and whoever waits for it.
    fn welcome(&mut self, established: &Established, renewed: Option<TrustChange>) {
        let certificate = &established.certificate;
        // The flight's own log line has renewed the certificate in the trust store already: the line written here only tells
        // the person.
        if let Some(change) = renewed {
            let entry = Entry::trust(change, certificate.clone());
            self.out.entries.push(entry);
        }
        if renewed == Some(TrustChange::RootSucceeded) {
            self.notify(Notice::RootSucceeded(certificate.clone()));
        }
        // Give the workers the peer's new key before the session is reported: the peer's next message may be signed with that
        // key.
        self.tell_trust();
        let peer = certificate.agent.clone();
        self.out.effects.push(Effect::Established(peer));
    }
}
