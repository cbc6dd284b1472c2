//! Daemons over carriers in memory: the seam that NATS stands behind carries others as well, two at once
//! where one of them delivers nothing, and what came by both acts once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use signet::carrier::{
    Carrier, CarrierError, CarrierSet, CarrierSource, News, Reading, Settling, Ticket,
};
use signet::daemon::{Carried, DaemonError, run_over};
use signet::home::Home;
use signet::manager::Manager;
use signet_proto::carrier::{CarrierId, Parcel, Route, Routes};
use signet_proto::node::Disposition;
use tokio::sync::{mpsc, oneshot};

use crate::house::{self, Ear, House, eventually};

/// Everybody's boxes of one carrier.
#[derive(Clone, Default)]
struct Hub {
    boxes: Arc<Mutex<HashMap<String, mpsc::UnboundedSender<News>>>>,
    /// What the daemons said of what was brought.
    ruled: Arc<Mutex<Vec<Disposition>>>,
    /// It says that it holds what it was given, and brings nothing.
    swallows: bool,
    /// It never comes back from what it was asked to send.
    hangs: bool,
    /// How often it brings each message.
    times: usize,
    /// Held by whoever wants it to be stuck when it is asked how it is.
    stuck: Arc<Mutex<()>>,
    /// Its task has ended.
    dead: Arc<AtomicBool>,
}

struct InMemory {
    hub: Hub,
    address: String,
}

struct Letters(mpsc::UnboundedReceiver<News>);

impl Hub {
    fn bringing(times: usize) -> Self {
        Self {
            times,
            ..Self::default()
        }
    }

    fn put(&self, address: &str, news: News) {
        let boxes = self.boxes.lock().unwrap();
        boxes.get(address).map(|to| to.send(news));
    }

    /// A daemon's end of it.
    fn open(&self, name: &str, agent: &str) -> (CarrierId, Box<dyn Carrier>, Reading) {
        let (id, address): (CarrierId, _) = (name.parse().unwrap(), format!("{name}:{agent}"));
        let (into, out) = mpsc::unbounded_channel();
        for news in [News::Connected, News::Drained] {
            into.send(news).unwrap();
        }
        self.boxes.lock().unwrap().insert(address.clone(), into);
        let carrier = InMemory {
            hub: self.clone(),
            address: address.clone(),
        };
        let reading = Reading {
            id: id.clone(),
            address,
            source: Box::new(Letters(out)),
        };
        (id, Box::new(carrier), reading)
    }
}

impl Carrier for InMemory {
    fn publish<'p>(
        &'p self,
        parcel: &'p Parcel,
    ) -> BoxFuture<'p, Result<BoxFuture<'static, bool>, CarrierError>> {
        let address = parcel.address().to_owned();
        let bytes = Bytes::from_owner(Arc::clone(parcel.bytes()));
        if self.hub.hangs {
            return std::future::pending().boxed();
        }
        let times = if self.hub.swallows { 0 } else { self.hub.times };
        for _ in 0..times {
            let news = News::Message {
                bytes: bytes.clone(),
                address: address.as_str().into(),
                ticket: Some(Ticket::of(self.address.clone())),
            };
            self.hub.put(&address, news);
        }
        ready(Ok(ready(true).boxed())).boxed()
    }

    fn settle(&self, settled: Vec<(Ticket, Settling)>) -> BoxFuture<'_, Result<(), CarrierError>> {
        for (ticket, settled) in settled {
            assert!(ticket.meaning::<String>().is_some());
            self.hub.ruled.lock().unwrap().push(settled.ruled);
        }
        ready(Ok(())).boxed()
    }

    fn is_connected(&self) -> bool {
        drop(self.hub.stuck.lock());
        true
    }

    fn has_mailbox(&self) -> bool {
        false
    }

    fn ready(&self, _within: Duration) -> BoxFuture<'_, Result<(), CarrierError>> {
        ready(Ok(())).boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        let dead = self.hub.dead.load(Ordering::Relaxed);
        let answer = (!dead)
            .then_some(())
            .ok_or(CarrierError("it is no more".into()));
        ready(answer).boxed()
    }

    fn stop_reading(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        self.hub.put(&self.address, News::Stopped);
        ready(Ok(())).boxed()
    }

    fn drain(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        self.hub.boxes.lock().unwrap().remove(&self.address);
        ready(Ok(())).boxed()
    }
}

impl CarrierSource for Letters {
    fn receive_many<'s>(&'s mut self, out: &'s mut Vec<News>, max: usize) -> BoxFuture<'s, usize> {
        self.0.recv_many(out, max).boxed()
    }
}

/// A daemon in this process.
struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), DaemonError>>,
}

/// Starts the daemon of a home over these hubs, and knows its peer on each, in the order given.
fn start(home: &house::Home, peer: &str, hubs: &[(&str, &Hub)]) -> Running {
    start_under(Manager::default, home, peer, hubs)
}

/// The same under a service manager.
fn start_under(
    manager: impl FnOnce() -> Manager + Send + 'static,
    home: &house::Home,
    peer: &str,
    hubs: &[(&str, &Hub)],
) -> Running {
    let (mut ways, mut readings, mut routes) = (Vec::new(), Vec::new(), Vec::new());
    for (name, hub) in hubs {
        let (id, carrier, reading) = hub.open(name, &home.agent);
        routes.push(Route {
            carrier: id.clone(),
            address: format!("{name}:{peer}"),
        });
        ways.push((id, carrier));
        readings.push(reading);
    }
    let mut all = Routes::default();
    all.set(peer.parse().unwrap(), routes);
    let carried = Carried::By(CarrierSet::of(ways), readings, all);
    let (stop, stopped) = oneshot::channel::<()>();
    let dir = home.dir.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let asked = async move { drop(stopped.await) };
        runtime.block_on(async move { run_over(&Home::at(dir), carried, &manager(), asked).await })
    });
    wait_for_socket(&home.dir);
    Running { stop, thread }
}

fn wait_for_socket(dir: &Path) {
    let socket = dir.join("control.sock");
    eventually("the control socket", || socket.exists().then_some(()));
}

impl Running {
    fn end(self) {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap().unwrap();
    }
}

#[test]
fn two_daemons_talk_by_a_carrier_in_memory_and_no_server() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let hub = Hub::bringing(1);
    let both = [
        start(&alice, &bob.agent, &[("memory", &hub)]),
        start(&bob, &alice.agent, &[("memory", &hub)]),
    ];
    let said = alice.done(&["ping", &bob.agent]);
    assert!(said.starts_with("agent-bob of bob answers"), "{said}");
    alice.done(&["send", &bob.agent, "--notify", "{\"n\":1}", "--wait", "30"]);
    assert_eq!(bob.inbox().len(), 1);
    let lines = bob.walk();
    let carried = lines.iter().filter(|line| line["carrier"] == "memory");
    assert!(carried.count() >= 4, "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| line["dir"] == "in" || line["carrier"].is_null())
    );
    let ruled = hub.ruled.lock().unwrap().clone();
    assert!(ruled.len() >= 6, "{ruled:?}");
    assert!(
        ruled.iter().all(|ruled| *ruled == Disposition::Accepted),
        "{ruled:?}"
    );
    both.into_iter().for_each(Running::end);
}

#[test]
fn by_two_carriers_of_which_one_swallows_everything_and_one_doubles_it_a_message_acts_once() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let swallowing = Hub {
        swallows: true,
        ..Hub::default()
    };
    let doubling = Hub::bringing(2);
    let hubs = [("hole", &swallowing), ("memory", &doubling)];
    let both = [
        start(&alice, &bob.agent, &hubs),
        start(&bob, &alice.agent, &hubs),
    ];
    alice.done(&["send", &bob.agent, "--notify", "{\"n\":1}"]);
    eventually("it arrives", || (!bob.inbox().is_empty()).then_some(()));
    assert_eq!(bob.inbox().len(), 1);
    let ruled = doubling.ruled.lock().unwrap().clone();
    assert!(
        ruled.contains(&Disposition::Refused),
        "copies are told as such"
    );
    assert!(swallowing.ruled.lock().unwrap().is_empty());
    both.into_iter().for_each(Running::end);
}

#[test]
fn a_carrier_that_hangs_on_every_message_keeps_no_other_waiting() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let hanging = Hub {
        hangs: true,
        ..Hub::default()
    };
    let memory = Hub::bringing(1);
    let hubs = [("hung", &hanging), ("memory", &memory)];
    let both = [
        start(&alice, &bob.agent, &hubs),
        start(&bob, &alice.agent, &hubs),
    ];
    for n in 0..5 {
        let body = n.to_string();
        alice.cli(&["send", &bob.agent, "--notify", &body, "--wait", "0"]);
    }
    eventually("all arrive", || (bob.inbox().len() == 5).then_some(()));
    both.into_iter().for_each(Running::end);
}

/// The event loop itself is held up, as by a fault in the daemon: it asks the carrier how it is, and hears nothing.
#[test]
fn an_event_loop_that_is_stuck_or_a_carrier_that_is_dead_ends_the_beats() {
    let house = House::new();
    let alice = house.home("alice");
    let mut ear = Ear::new();
    let (path, span) = (ear.path(), Duration::from_millis(300));
    let hub = Hub::bringing(1);
    let manager = move || Manager::at(path, Some(span));
    let running = start_under(manager, &alice, "agent-bob", &[("memory", &hub)]);
    ear.word("READY=1");
    ear.word("WATCHDOG=1");
    let held = hub.stuck.lock().unwrap();
    let mut client = alice.client().unwrap();
    let asking = std::thread::spawn(move || client.raw("status", &serde_json::json!({})).map(drop));
    ear.during(span * 2);
    assert_eq!(ear.beats(span * 5), 0, "the event loop is stuck");
    drop(held);
    asking.join().unwrap().unwrap();
    ear.word("WATCHDOG=1");
    hub.dead.store(true, Ordering::Relaxed);
    ear.during(span * 2);
    assert_eq!(ear.beats(span * 5), 0, "the carrier is dead");
    hub.dead.store(false, Ordering::Relaxed);
    ear.word("WATCHDOG=1");
    running.end();
    ear.word("STOPPING=1");
}
