//! Announce, verify, capability, trust: four signed flights that end in one session on both sides.
//!
//! ```text
//! A                                   B
//! Idle ──── 1 announce ────────────▶ Idle
//! AwaitVerify ◀──── 2 verify, H1 ─── AwaitCapability
//! AwaitTrust ── 3 capability, H2 ──▶ Granting
//! session ◀──── 4 trust, H3 ──────── session
//! ```
//!
//! The machine is a fold over messages: [`Handshake::admit`] says whether a flight is welcome and
//! changes nothing; [`Handshake::take`] and [`Handshake::sent`] move it. A refused flight therefore
//! never costs a handshake.

use std::sync::Arc;
use std::time::Duration;

use crate::certificate::{Certificate, KeyStatement, parse_versions};
use crate::envelope::{Message, Method};
use crate::headers::{CapabilityName, Layers};
use crate::ids::{AgentId, Digest, SessionId, Version};
use crate::json::{Map, Value};
use crate::reject::Reason;
use crate::session::SESSION_LIFE;
use crate::time::Timestamp;

/// How long a handshake may stay half open, and a flight is resent.
pub const HALF_OPEN: Duration = Duration::from_secs(300);
/// After this long without flight 4 the initiator starts again: the responder may have lost its half.
pub const START_AGAIN: Duration = Duration::from_secs(15);

/// Which side of a handshake an agent was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A, who announced.
    Initiator,
    /// B, who answered.
    Responder,
}

/// What one side accepts from the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The capabilities that may be asked for.
    pub capabilities: Vec<CapabilityName>,
    /// The highest data tier.
    pub tier: u8,
}

impl Grant {
    /// As flights 3 and 4 carry it.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        let names = self
            .capabilities
            .iter()
            .map(|name| Value::from(name.as_str()))
            .collect();
        members.insert("capabilities".into(), names);
        members.insert("tier".into(), self.tier.into());
        Value::Object(members)
    }

    fn parse(value: &Value) -> Option<Self> {
        let names = value.get("capabilities")?.as_array()?;
        Some(Self {
            capabilities: names
                .iter()
                .map(|name| name.as_str()?.parse().ok())
                .collect::<Option<_>>()?,
            tier: u8::try_from(value.get("tier")?.as_u64()?).ok()?,
        })
    }
}

/// When to send the same flight again: after 1, 2, 4 … s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    next: Timestamp,
    delay: Duration,
    until: Timestamp,
}

impl Retry {
    pub(crate) fn from(now: Timestamp) -> Self {
        let delay = Duration::from_secs(1);
        Self {
            next: now.saturating_add(delay),
            delay,
            until: now.saturating_add(HALF_OPEN),
        }
    }

    /// When it is due, or over.
    pub fn due(&self) -> Timestamp {
        self.next.min(self.until)
    }

    /// Whether to send now; moves to the next time.
    pub(crate) fn strike(&mut self, now: Timestamp) -> bool {
        if now < self.next || now >= self.until {
            return false;
        }
        self.delay *= 2;
        self.next = now.saturating_add(self.delay);
        true
    }

    /// When the other side has probably lost its half: both may start again then.
    pub(crate) fn stale_at(&self) -> Timestamp {
        self.until.saturating_sub(HALF_OPEN - START_AGAIN)
    }

    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until
    }
}

/// The running hash over the flights: H(n) = SHA-256(H(n−1) ‖ hash of message n).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transcript(Digest);

impl Transcript {
    fn start() -> Self {
        Self(Digest::of(&[b"signet/1 handshake"]))
    }

    fn with(self, flight: &Message) -> Self {
        Self(Digest::of(&[self.0.as_bytes(), flight.hash().as_bytes()]))
    }
}

/// One side of a handshake with one peer.
#[derive(Clone, Debug, Default)]
pub enum Handshake {
    /// None under way.
    #[default]
    Idle,
    /// We announced.
    AwaitVerify(AwaitVerify),
    /// We answered flight 2.
    AwaitTrust(AwaitTrust),
    /// The peer announced and we are about to answer, or have.
    AwaitCapability(AwaitCapability),
    /// Flight 3 is here and flight 4 is about to be signed.
    Granting(Granting),
}

/// The initiator's state after flight 1.
#[derive(Clone, Debug)]
pub struct AwaitVerify {
    announce: Arc<Message>,
    /// When to send flight 1 again.
    pub retry: Retry,
}

/// The initiator's state from flight 2 on.
#[derive(Clone, Debug)]
pub struct AwaitTrust {
    verify: Arc<Message>,
    transcript: Transcript,
    choice: Option<Version>,
    capability: Option<Arc<Message>>,
    /// When to send flight 3 again.
    pub retry: Retry,
}

/// The responder's state from flight 1 on.
#[derive(Clone, Debug)]
pub struct AwaitCapability {
    announce: Arc<Message>,
    transcript: Transcript,
    verify: Option<Arc<Message>>,
    choice: Option<Version>,
    since: Timestamp,
}

/// The responder's state from flight 3 on.
#[derive(Clone, Debug)]
pub struct Granting {
    capability: Arc<Message>,
    named: Vec<SessionId>,
    transcript: Transcript,
    choice: Version,
}

/// What a finished handshake gives: all that a session needs.
#[derive(Clone, Debug)]
pub struct Established {
    /// H4.
    pub id: SessionId,
    /// Our side.
    pub role: Role,
    /// The version chosen.
    pub version: Version,
    /// When flight 4 was signed.
    pub began: Timestamp,
    /// The first not-after of either side's certificate and key statement, or 30 days.
    pub ends: Timestamp,
    /// What we accept from the peer.
    pub given: Grant,
    /// What the peer accepts from us.
    pub received: Grant,
    /// Our last flight.
    pub last_flight: Arc<Message>,
    /// The hash of the flight that it answers.
    pub answers: Digest,
    /// The peer's certificate.
    pub certificate: Certificate,
    /// The lowest version that the peer offers.
    pub lowest_version: Version,
    /// The sessions that the peer said it holds.
    pub named: Vec<SessionId>,
}

impl Handshake {
    /// Whether a proven flight is welcome now (check V11). Changes nothing.
    ///
    /// # Errors
    /// The reason for which the flight is refused.
    pub fn admit(&self, flight: &Message, me: &AgentId) -> Result<(), Reason> {
        let body = Body::of(flight)?;
        let Some(method) = flight.form.method() else {
            return Err(Reason::HandshakeUnexpected);
        };
        match (method, self) {
            (Method::Announce, _) => self.admit_announce(flight, &body, me),
            (Method::Verify, Self::AwaitVerify(state)) => state.admit(flight, &body),
            (Method::Capability, Self::AwaitCapability(state)) => state.admit(&body),
            (Method::Trust, Self::AwaitTrust(state)) => state.admit(&body),
            _ => Err(Reason::HandshakeUnexpected),
        }
    }

    /// Moves on by a flight that [`Handshake::admit`] welcomed. Flight 4 ends it, with a session when
    /// the peer granted one.
    pub fn take(&mut self, flight: &Arc<Message>, now: Timestamp) -> Option<Established> {
        match (flight.form.method()?, std::mem::take(self)) {
            (Method::Announce, _) => {
                *self = Self::AwaitCapability(AwaitCapability::of(flight, now))
            }
            (Method::Verify, Self::AwaitVerify(state)) => {
                let next = state.take(flight, now);
                *self = if next.choice.is_some() {
                    Self::AwaitTrust(next)
                } else {
                    Self::Idle
                };
            }
            (Method::Capability, Self::AwaitCapability(state)) => {
                *self = state.take(flight).map_or(Self::Idle, Self::Granting);
            }
            (Method::Trust, Self::AwaitTrust(state)) => return state.finish(flight),
            (_, before) => *self = before,
        }
        None
    }

    /// Moves on by a flight of our own. Flight 4 ends it.
    pub fn sent(&mut self, flight: &Arc<Message>, now: Timestamp) -> Option<Established> {
        match (flight.form.method()?, std::mem::take(self)) {
            (Method::Announce, _) => {
                *self = Self::AwaitVerify(AwaitVerify {
                    announce: Arc::clone(flight),
                    retry: Retry::from(now),
                });
            }
            (Method::Verify, Self::AwaitCapability(state)) => {
                let next = state.sent(flight);
                *self = if next.choice.is_some() {
                    Self::AwaitCapability(next)
                } else {
                    Self::Idle
                };
            }
            (Method::Capability, Self::AwaitTrust(state)) => {
                *self = Self::AwaitTrust(state.sent(flight, now))
            }
            (Method::Trust, Self::Granting(state)) => return state.finish(flight),
            (_, before) => *self = before,
        }
        None
    }

    /// The transcript hash that our next flight must carry.
    pub fn transcript(&self) -> Option<Digest> {
        match self {
            Self::Idle | Self::AwaitVerify(_) => None,
            Self::AwaitTrust(state) => Some(state.transcript.0),
            Self::AwaitCapability(state) => Some(state.transcript.0),
            Self::Granting(state) => Some(state.transcript.0),
        }
    }

    /// The stored flight that answers a repeated one, by the hash of the repeated one.
    pub fn answer_to(&self, hash: Digest) -> Option<&Arc<Message>> {
        match self {
            Self::AwaitCapability(state) if state.announce.hash() == hash => state.verify.as_ref(),
            Self::AwaitTrust(state) if state.verify.hash() == hash => state.capability.as_ref(),
            _ => None,
        }
    }

    /// When a resend or the end is due.
    pub fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Idle | Self::Granting(_) => None,
            Self::AwaitVerify(state) => Some(state.retry.due()),
            Self::AwaitTrust(state) => Some(state.retry.due()),
            Self::AwaitCapability(state) => Some(state.since.saturating_add(HALF_OPEN)),
        }
    }

    /// What to do about the time: the flight to send again, or that it is over.
    pub fn overdue(&mut self, now: Timestamp) -> Overdue {
        let (retry, flight) = match self {
            Self::Idle | Self::Granting(_) => return Overdue::Nothing,
            Self::AwaitCapability(state) => {
                let over = now >= state.since.saturating_add(HALF_OPEN);
                return if over {
                    Overdue::Over
                } else {
                    Overdue::Nothing
                };
            }
            Self::AwaitVerify(state) => (&mut state.retry, Some(&state.announce)),
            Self::AwaitTrust(state) => (&mut state.retry, state.capability.as_ref()),
        };
        if retry.is_over(now) {
            return Overdue::Over;
        }
        match flight {
            Some(flight) if retry.strike(now) => Overdue::Resend(Arc::clone(flight)),
            _ => Overdue::Nothing,
        }
    }

    /// What a restart leaves of it, and the flight that the log does not show as sent.
    ///
    /// An initiator starts anew. A responder keeps its half, which the log shows whole: its peer only
    /// repeats flight 1, which is a copy now, and nothing else would answer it.
    pub fn restart(&mut self, now: Timestamp) -> Option<Method> {
        match self {
            Self::AwaitCapability(state) if now < state.since.saturating_add(HALF_OPEN) => {
                state.verify.is_none().then_some(Method::Verify)
            }
            Self::Granting(state) if now < state.capability.headers.expires_at => {
                Some(Method::Trust)
            }
            _ => {
                *self = Self::Idle;
                None
            }
        }
    }

    /// Whether anything is under way.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    fn admit_announce(
        &self,
        flight: &Message,
        body: &Body<'_>,
        me: &AgentId,
    ) -> Result<(), Reason> {
        body.admit_offer(flight)?;
        let later_than = |known: &Message| flight.headers.timestamp > known.headers.timestamp;
        let go_on_as_initiator = *me < flight.headers.agent_id;
        match self {
            Self::AwaitVerify(_) if go_on_as_initiator => Err(Reason::HandshakeCrossed),
            // The peer answered us before: a later announce means that it lost its half.
            Self::AwaitTrust(state) if !later_than(&state.verify) => Err(Reason::HandshakeCrossed),
            Self::AwaitCapability(state) if !later_than(&state.announce) => {
                Err(Reason::AnnounceStale)
            }
            Self::Granting(state) if !later_than(&state.capability) => Err(Reason::AnnounceStale),
            _ => Ok(()),
        }
    }
}

/// What time asks of a handshake.
#[derive(Clone, Debug)]
pub enum Overdue {
    /// Not yet.
    Nothing,
    /// This flight goes out again.
    Resend(Arc<Message>),
    /// It has taken too long.
    Over,
}

impl AwaitVerify {
    fn admit(&self, flight: &Message, body: &Body<'_>) -> Result<(), Reason> {
        body.admit_offer(flight)?;
        body.admit_transcript(Transcript::start().with(&self.announce))?;
        let mine = Body::of(&self.announce)?.versions()?;
        match (best_common(&mine, &body.versions()?), body.choice()) {
            (best, choice) if best == choice => Ok(()),
            (None, Some(_)) => Err(Reason::VersionUnsupported),
            _ => Err(Reason::VersionDowngrade),
        }
    }

    fn take(self, verify: &Arc<Message>, now: Timestamp) -> AwaitTrust {
        AwaitTrust {
            transcript: Transcript::start().with(&self.announce).with(verify),
            choice: Body::of(verify).ok().and_then(|body| body.choice()),
            verify: Arc::clone(verify),
            capability: None,
            retry: Retry::from(now),
        }
    }
}

impl AwaitTrust {
    /// Whether the peer chose a version, so that flight 3 may follow.
    pub fn choice(&self) -> Option<Version> {
        self.choice
    }

    fn admit(&self, body: &Body<'_>) -> Result<(), Reason> {
        if self.capability.is_none() {
            return Err(Reason::HandshakeUnexpected);
        }
        body.admit_transcript(self.transcript)?;
        body.admit_same_credentials(&self.verify)
    }

    fn sent(mut self, capability: &Arc<Message>, now: Timestamp) -> Self {
        self.transcript = self.transcript.with(capability);
        self.capability = Some(Arc::clone(capability));
        let retry = Retry::from(now);
        self.retry = Retry {
            until: now.saturating_add(START_AGAIN),
            ..retry
        };
        self
    }

    fn finish(self, trust: &Arc<Message>) -> Option<Established> {
        let mine = self.capability?;
        let named = Body::of(&self.verify).ok()?.sessions();
        let theirs = Body::of(trust).ok()?;
        if theirs.text("decision") != Some("granted") {
            return None;
        }
        let last = Last {
            flight: mine,
            answers: self.verify.hash(),
            granted: Arc::clone(trust),
        };
        established(
            Role::Initiator,
            self.choice?,
            self.transcript.with(trust),
            &last,
            trust,
            named,
        )
    }
}

impl AwaitCapability {
    fn of(announce: &Arc<Message>, now: Timestamp) -> Self {
        let transcript = Transcript::start().with(announce);
        Self {
            announce: Arc::clone(announce),
            transcript,
            verify: None,
            choice: None,
            since: now,
        }
    }

    /// The versions that the peer offers.
    pub fn offered(&self) -> Vec<Version> {
        Body::of(&self.announce)
            .and_then(|body| body.versions())
            .unwrap_or_default()
    }

    fn admit(&self, body: &Body<'_>) -> Result<(), Reason> {
        if self.verify.is_none() || self.choice.is_none() {
            return Err(Reason::HandshakeUnexpected);
        }
        body.admit_transcript(self.transcript)?;
        body.admit_same_credentials(&self.announce)
    }

    fn sent(mut self, verify: &Arc<Message>) -> Self {
        self.transcript = self.transcript.with(verify);
        self.choice = Body::of(verify).ok().and_then(|body| body.choice());
        self.verify = Some(Arc::clone(verify));
        self
    }

    fn take(self, capability: &Arc<Message>) -> Option<Granting> {
        Some(Granting {
            named: Body::of(&self.announce).ok()?.sessions(),
            transcript: self.transcript.with(capability),
            capability: Arc::clone(capability),
            choice: self.choice?,
        })
    }
}

impl Granting {
    fn finish(self, trust: &Arc<Message>) -> Option<Established> {
        if Body::of(trust).ok()?.text("decision") != Some("granted") {
            return None;
        }
        let answers = self.capability.hash();
        let last = Last {
            flight: Arc::clone(trust),
            answers,
            granted: Arc::clone(&self.capability),
        };
        established(
            Role::Responder,
            self.choice,
            self.transcript.with(trust),
            &last,
            trust,
            self.named,
        )
    }
}

/// The newest version that both lists name.
pub fn best_common(mine: &[Version], theirs: &[Version]) -> Option<Version> {
    mine.iter()
        .rev()
        .find(|version| theirs.contains(version))
        .copied()
}

struct Last {
    flight: Arc<Message>,
    answers: Digest,
    granted: Arc<Message>,
}

fn established(
    role: Role,
    version: Version,
    transcript: Transcript,
    last: &Last,
    trust: &Message,
    named: Vec<SessionId>,
) -> Option<Established> {
    let (mine, theirs) = (Body::of(&last.flight).ok()?, Body::of(&last.granted).ok()?);
    let (my_certificate, my_keys) = mine.credentials()?;
    let (certificate, keys) = theirs.credentials()?;
    let began = trust.headers.timestamp;
    let not_after = my_certificate
        .not_after
        .min(my_keys.not_after)
        .min(certificate.not_after)
        .min(keys.not_after);
    Some(Established {
        id: SessionId(transcript.0),
        role,
        version,
        began,
        ends: began.saturating_add(SESSION_LIFE).min(not_after),
        given: mine.grant()?,
        received: theirs.grant()?,
        last_flight: Arc::clone(&last.flight),
        answers: last.answers,
        lowest_version: certificate.lowest_version(),
        certificate,
        named,
    })
}

/// The body of a flight that fits its schema.
struct Body<'a>(&'a Value);

impl<'a> Body<'a> {
    fn of(flight: &'a Message) -> Result<Self, Reason> {
        flight.body.as_ref().map(Self).ok_or(Reason::InvalidShape)
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    fn versions(&self) -> Result<Vec<Version>, Reason> {
        self.0
            .get("versions")
            .and_then(parse_versions)
            .ok_or(Reason::InvalidShape)
    }

    fn choice(&self) -> Option<Version> {
        self.text("choice")?.parse().ok()
    }

    fn sessions(&self) -> Vec<SessionId> {
        let list = self
            .0
            .get("sessions")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        list.iter()
            .filter_map(|item| item.as_str()?.parse().ok().map(SessionId))
            .collect()
    }

    fn grant(&self) -> Option<Grant> {
        Grant::parse(self.0.get("grant")?)
    }

    fn credentials(&self) -> Option<(Certificate, KeyStatement)> {
        let certificate = Certificate::parse(self.0.get("certificate")?).ok()?;
        let keys = KeyStatement::parse(self.0.get("keys")?, &certificate.signing_key).ok()?;
        Some((certificate, keys))
    }

    /// What flights 1 and 2 offer must lie within the certificate and agree with the headers.
    fn admit_offer(&self, flight: &Message) -> Result<(), Reason> {
        let versions = self.versions()?;
        let (certificate, _) = self.credentials().ok_or(Reason::CertificateInvalid)?;
        if !versions
            .iter()
            .all(|version| certificate.versions.contains(version))
        {
            return Err(Reason::VersionUnsupported);
        }
        if versions.first() != Some(&flight.headers.version) {
            return Err(Reason::VersionMismatch);
        }
        let layers = self
            .0
            .get("layers")
            .ok_or(Reason::InvalidShape)
            .and_then(Layers::try_from)?;
        if layers.is_subset_of(certificate.layers) {
            Ok(())
        } else {
            Err(Reason::LayersExceedCertificate)
        }
    }

    fn admit_transcript(&self, expected: Transcript) -> Result<(), Reason> {
        let same = self.text("transcript") == Some(expected.0.to_string().as_str());
        if same {
            Ok(())
        } else {
            Err(Reason::TranscriptMismatch)
        }
    }

    /// Both flights of one side carry the same certificate and key statement.
    fn admit_same_credentials(&self, earlier: &Message) -> Result<(), Reason> {
        let earlier = Body::of(earlier)?;
        let same = |name| self.0.get(name) == earlier.0.get(name);
        if same("certificate") && same("keys") {
            Ok(())
        } else {
            Err(Reason::TranscriptMismatch)
        }
    }
}
