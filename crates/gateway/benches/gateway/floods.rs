//! Those who do not behave, each kind by threads of its own.

use std::collections::VecDeque;
use std::io::{BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use signet_testkit::pen::{Pen, seed};

use crate::bed::Bed;
use crate::caller::read;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Idle,
    HalfHeads,
    HalfOpen,
    HugeHeads,
    Forged,
    NoToken,
}

pub const KINDS: [Kind; 6] = [
    Kind::Idle,
    Kind::HalfHeads,
    Kind::HalfOpen,
    Kind::HugeHeads,
    Kind::Forged,
    Kind::NoToken,
];

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "10,000 idle connections, and new ones",
            Self::HalfHeads => "10,000 heads that drip, and new ones",
            Self::HalfOpen => "bodies whose senders have gone",
            Self::HugeHeads => "heads of 100 KB and of 1,000 lines",
            Self::Forged => "forged envelopes at the inbox",
            Self::NoToken => "requests without a token that holds",
        }
    }
}

/// A flood, until it is ended.
pub struct Flood {
    stop: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

/// What a thread of a flood knows.
#[derive(Clone)]
struct Source {
    kind: Kind,
    to: SocketAddr,
    stop: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
    /// What is sent.
    bodies: Arc<Vec<Vec<u8>>>,
    inbox: String,
    /// Connections of a crowd.
    crowd: usize,
}

impl Flood {
    pub fn begin(kind: Kind, bed: &Bed, crowd: usize) -> Self {
        let source = Source {
            kind,
            to: bed.address,
            stop: Arc::default(),
            count: Arc::default(),
            bodies: Arc::new(forged()),
            inbox: format!("/agent/{}/inbox", bed.alice.agent),
            crowd,
        };
        let thread = |_| {
            let source = source.clone();
            std::thread::spawn(move || source.run())
        };
        let flood = Self {
            stop: Arc::clone(&source.stop),
            count: Arc::clone(&source.count),
            threads: (0..THREADS).map(thread).collect(),
        };
        let began = Instant::now();
        let enough = if matches!(kind, Kind::Idle | Kind::HalfHeads) {
            crowd as u64
        } else {
            crowd.min(100) as u64
        };
        while flood.count() < enough {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{kind:?}: {}",
                flood.count()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        flood
    }

    /// What it has done so far: connections, or requests.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

impl Source {
    fn run(&self) {
        // Give way to the gateway, the daemons and the measuring client. Linux has a nice value for each thread, so
        // this call lowers this thread alone.
        nice(19).unwrap();
        match self.kind {
            Kind::Idle => self.crowd(b"", b""),
            Kind::HalfHeads => self.crowd(b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nX: ", b"x"),
            Kind::HalfOpen => self.gone(),
            Kind::HugeHeads => self.huge(),
            Kind::Forged => self.posts(&self.inbox, ""),
            Kind::NoToken => self.posts("/rpc", "Authorization: Bearer nobody-knows-it\r\n"),
        }
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn connect(&self) -> Option<TcpStream> {
        let stream = TcpStream::connect(self.to).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        Some(stream)
    }

    /// Connections up to the crowd, then a few new ones each moment; all of them say a little now and then.
    fn crowd(&self, first: &[u8], then: &[u8]) {
        let (mut open, mut at) = (VecDeque::new(), 0);
        while self.goes_on() {
            for _ in 0..NEW {
                let Some(mut stream) = self.connect() else {
                    continue;
                };
                let _ = stream.write_all(first);
                open.push_back(stream);
                self.count.fetch_add(1, Ordering::Relaxed);
            }
            let is_whole = open.len() >= self.crowd / THREADS;
            while open.len() > self.crowd / THREADS {
                open.pop_front();
            }
            if is_whole {
                for _ in 0..NEW {
                    at = (at + 1) % open.len();
                    let _ = open[at].write_all(then);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Half a body, and nobody behind it any more.
    fn gone(&self) {
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{{",
            self.inbox
        );
        let mut open = VecDeque::new();
        while self.goes_on() {
            let Some(mut stream) = self.connect() else {
                continue;
            };
            let _ = stream.write_all(head.as_bytes());
            if open.len() % 2 == 0 {
                let _ = stream.shutdown(Shutdown::Write);
            }
            open.push_back(stream);
            self.count.fetch_add(1, Ordering::Relaxed);
            if open.len() > 500 {
                open.pop_front();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn huge(&self) {
        let long = format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
            "y".repeat(100_000)
        );
        let many = format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
            "X: y\r\n".repeat(1_000)
        );
        while self.goes_on() {
            for head in [&long, &many] {
                let Some(mut stream) = self.connect() else {
                    continue;
                };
                let _ = stream.write_all(head.as_bytes());
                let _ = read(&mut BufReader::new(stream));
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Requests on connections that stay, each after the answer to the one before.
    fn posts(&self, path: &str, more: &str) {
        let request = |body: &[u8]| {
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}Content-Length: {}\r\n\r\n",
                body.len()
            );
            [head.as_bytes(), body].concat()
        };
        let requests: Vec<Vec<u8>> = self.bodies.iter().map(|body| request(body)).collect();
        let mut open: Vec<Option<BufReader<TcpStream>>> = (0..ABREAST).map(|_| None).collect();
        let mut next = requests.iter().cycle();
        while self.goes_on() {
            for place in &mut open {
                let mut stream = place.take().or_else(|| self.connect().map(BufReader::new));
                if let (Some(stream), Some(request)) = (&mut stream, next.next()) {
                    let _ = stream.get_mut().write_all(request);
                }
                *place = stream;
            }
            for place in &mut open {
                let answered = place.as_mut().and_then(read);
                self.count
                    .fetch_add(u64::from(answered.is_some()), Ordering::Relaxed);
                if answered.is_none() {
                    *place = None;
                }
            }
        }
    }
}

/// Envelopes of a stranger's, whole and spoilt, and junk.
fn forged() -> Vec<Vec<u8>> {
    let eve = Pen::made("agent-eve", "eve", &seed([3; 32]), |_| {});
    let one = |number: u64| {
        let session = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let mut bytes = eve.sign(eve.notification("agent-alice", session, number));
        if number % 3 == 1 {
            let last = bytes.len() - 10;
            bytes[last] ^= 1;
        }
        if number % 3 == 2 {
            bytes.truncate(600);
        }
        bytes
    };
    (0..30).map(one).collect()
}

/// File descriptors for a crowd.
pub fn raise_limits(crowd: usize) {
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.map_or(65_536, |most| most.min(65_536));
    assert!(
        wanted > crowd as u64 + 1_000,
        "{wanted} file descriptors are not enough: see ulimit -n"
    );
    let raised = Rlimit {
        current: Some(wanted),
        maximum: now.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

pub const CROWD: usize = 10_000;
const THREADS: usize = 4;
/// Requests of one thread under way.
const ABREAST: usize = 16;
/// New connections of a thread in each moment.
const NEW: usize = 5;
