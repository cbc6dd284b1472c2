//! The index's row of a line: names, a summary, and the words of what travels in clear. Nothing of what is sealed,
//! and no body.

use signet_audit::{LogLine, Mark};
use signet_proto::entry::{
    AlarmLine, AttemptLine, Direction, DraftLine, Entry, Evidence, HandoffLine, OutcomeLine,
    Ruling, TaskChange, TrustChange, TrustLine, Verdict,
};
use signet_proto::envelope::{Class, Form, Message, Method};
use signet_proto::ids::Digest;
use signet_proto::keys::fingerprint;
use signet_proto::policy::is_mere_ping;
use signet_proto::receipt::MISSING;

use super::place::short;
use super::topic::{Act, LineTopic};
use super::words::LineWords;

/// The row that the index keeps of one line.
#[derive(Debug, Default)]
pub(super) struct LineRow {
    pub(super) what: Option<LineTopic>,
    pub(super) act: Act,
    pub(super) peer: Option<String>,
    /// For whom the peer acts, as far as the line proves it.
    pub(super) person: Option<String>,
    pub(super) tier: Option<u8>,
    /// The message that the line is about.
    pub(super) message: Option<String>,
    /// The thread of lines that belong together: a conversation, a task, or the request that is answered.
    pub(super) thread: Option<String>,
    /// The message that it answers.
    pub(super) answers: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) sealed: bool,
    /// For how many occurrences the line stands.
    pub(super) count: u64,
    /// Whether it is a line that opens or closes something: a request, an approval that is wanted, an alarm that rings.
    pub(super) opens: bool,
    pub(super) words: LineWords,
    pub(super) standing: Option<StandingTold>,
    /// The capabilities that its sender grants, as the flight says it.
    pub(super) grant: Option<String>,
    /// Whether it proves that the peer lived.
    pub(super) heard: bool,
    /// Session and number of what left and has no answer.
    pub(super) number: Option<(i64, i64)>,
    /// Session, number and reason of what a peer's receipt refuses.
    pub(super) excepted: Vec<(i64, i64, String)>,
}

/// The standing of somebody, as a `trust` or `genesis` line says it.
#[derive(Debug)]
pub(super) struct StandingTold {
    pub(super) change: &'static str,
    pub(super) agent: String,
    pub(super) person: String,
    pub(super) words: String,
}

impl LineRow {
    /// The row that is kept of a line; `what` is `None` for lines that no page shows by themselves.
    pub(super) fn of(line: &LogLine) -> Self {
        let mut row = Self {
            count: 1,
            ..Self::default()
        };
        match &line.entry {
            Some(entry) => row.read(entry),
            None => {
                let is_recovery = matches!(line.mark, Some(Mark::Recovery { .. }));
                row.what = is_recovery.then_some(LineTopic::Note);
                row.reason = is_recovery.then(|| "recovery".to_owned());
            }
        }
        if row.what.is_some() {
            for text in [&row.peer, &row.person, &row.summary, &row.reason] {
                row.words.take(text.as_deref().unwrap_or_default());
            }
        }
        row
    }

    /// Whether a draft waits no longer after this line.
    pub(super) fn ends_draft(&self) -> bool {
        let reason = self.reason.as_deref().unwrap_or_default();
        self.what == Some(LineTopic::Approval) || reason.starts_with("draft-")
    }

    fn read(&mut self, entry: &Entry) {
        match entry {
            Entry::Message(verdict) => self.message(verdict),
            Entry::Genesis(certificate) => {
                self.standing = Some(StandingTold {
                    change: "genesis",
                    agent: certificate.agent.to_string(),
                    person: certificate.principal.to_string(),
                    words: fingerprint(&certificate.root),
                });
            }
            Entry::Trust(line) => self.trust(line),
            Entry::Revoked(revocation) => {
                self.what = Some(LineTopic::Trust);
                self.peer = Some(revocation.agent.to_string());
                self.reason = Some(TrustChange::Revoked.as_str().to_owned());
            }
            Entry::Draft(draft) => self.draft(draft),
            Entry::Approval(line) => {
                self.about(LineTopic::Approval, line.peer.as_str());
                self.message = Some(line.message_id.to_string());
                self.thread = self.message.clone();
                self.reason = Some(line.approval.decision.as_str().to_owned());
            }
            Entry::Pause(statement) => {
                self.what = Some(LineTopic::Pause);
                let word = if statement.paused {
                    "paused"
                } else {
                    "resumed"
                };
                self.reason = Some(word.to_owned());
            }
            Entry::Outcome(line) => self.outcome(line),
            Entry::Handoff(line) => self.handoff(line),
            Entry::Alarm(line) => self.alarm(line),
            Entry::Attempt(line) => self.attempt(line),
            Entry::Hole(hole) => {
                self.about(LineTopic::Hole, hole.peer.as_str());
                self.count = hole.to.saturating_sub(hole.from).saturating_add(1);
            }
            Entry::Clock(line) => {
                self.about(LineTopic::Note, line.peer.as_str());
                self.reason = Some("clock".to_owned());
            }
            Entry::Flood(flood) => self.note("flood", flood.count),
            Entry::Gap(_) => self.note("gap", 1),
            Entry::Rebuilt(_) => self.note("rebuilt", 1),
            Entry::Loss(_) => self.note("loss", 1),
        }
    }

    fn about(&mut self, what: LineTopic, peer: &str) {
        self.what = Some(what);
        self.peer = Some(peer.to_owned());
    }

    fn note(&mut self, name: &str, count: u64) {
        self.what = Some(LineTopic::Note);
        self.reason = Some(name.to_owned());
        self.count = count;
    }

    fn message(&mut self, verdict: &Verdict) {
        let came = verdict.direction == Direction::In;
        self.peer = verdict.peer().map(|peer| peer.to_string());
        self.tier = verdict.tier();
        self.summary = verdict.summary().map(str::to_owned);
        self.act = Act::of_type(verdict.message_type());
        self.what = match (verdict.ruling, came) {
            (Ruling::Rejected(reason), _) => {
                self.reason = Some(reason.name().to_owned());
                Some(LineTopic::Refused)
            }
            (_, true) => Some(LineTopic::Came),
            (_, false) => Some(LineTopic::Left),
        };
        match &verdict.evidence {
            Evidence::Whole(message) | Evidence::Headers(message) => self.said(message, came),
            Evidence::Withheld(headers, _) => {
                let id = headers.get("message-id").and_then(|id| id.as_str());
                self.message = id.map(str::to_owned);
                self.sealed = true;
            }
            Evidence::Copy(_) | Evidence::Raw(..) => {}
        }
    }

    /// The content of a whole message: it is the sender's word, signed.
    fn said(&mut self, message: &Message, came: bool) {
        let headers = &message.headers;
        let is_refused = self.what == Some(LineTopic::Refused);
        self.act = Act::of_form(&message.form);
        self.heard = came && !is_refused;
        self.person = came.then(|| headers.principal_id.to_string());
        self.message = Some(headers.message_id.to_string());
        self.answers = headers.in_reply_to.map(|id| id.to_string());
        self.sealed = message.sealed.is_some();
        let conversation = headers.conversation_id.as_ref();
        let thread = conversation.map(|id| id.as_str().to_owned());
        self.thread = thread
            .or_else(|| self.answers.clone())
            .or(self.message.clone());
        if matches!(message.form, Form::Call(Method::Capability | Method::Trust)) && !is_refused {
            let grant = message.body().and_then(|body| body.get("grant"));
            self.grant = grant.map(ToString::to_string);
        }
        if let Form::Failure {
            message, reason, ..
        } = &message.form
        {
            self.reason = self.reason.take().or_else(|| Some(reason.clone()));
            self.summary = self.summary.take().or_else(|| Some(message.clone()));
        }
        let session = headers.session.map_or(0, |session| {
            short(&Digest::of(&[session.to_string().as_bytes()]))
        });
        if message.form.class() == Class::Control && !is_refused {
            self.what = None;
            if came && message.form.method() == Some(Method::Receipt) {
                self.receipt(message, session);
            }
            return;
        }
        if !came && matches!(self.act, Act::Tells | Act::Reports) {
            let number = headers.sequence.map(u64::cast_signed);
            self.number = number.map(|number| (session, number));
        }
        self.opens = matches!(self.act, Act::Asks | Act::Hands);
        if let Some(capability) = &headers.capability {
            self.words.take(capability.as_str());
        }
        // A ping is the daemons' own sign of life, which a person finds in the log, not among what was said. A ping that carries
        // anything else is shown: nobody hides a message by calling it a ping.
        if !is_refused && is_mere_ping(message) {
            self.what = None;
        }
        if self.what == Some(LineTopic::Came) && self.act == Act::Declines {
            self.what = Some(LineTopic::RefusedThere);
        }
        if !self.sealed
            && let Some(body) = message.body()
        {
            self.words.take_value(body);
            // A task's messages say in their body what others say in a summary.
            let told = body.get("goal").or_else(|| body.get("note"));
            let told = told.and_then(|told| told.as_str());
            self.summary = self.summary.take().or_else(|| told.map(str::to_owned));
        }
    }

    /// Messages that a receipt names as refused. Receipts say it again and again, and of requests their answers say it, too.
    fn receipt(&mut self, message: &Message, session: i64) {
        let except = message
            .body()
            .and_then(|body| body.get("except")?.as_array());
        for one in except.into_iter().flatten() {
            let reason = one.get("reason").and_then(|reason| reason.as_str());
            let number = one.get("sequence").and_then(|number| number.as_i64());
            if let Some((reason, number)) = reason.zip(number)
                && reason != MISSING
            {
                self.excepted.push((session, number, reason.to_owned()));
            }
        }
    }

    fn trust(&mut self, line: &TrustLine) {
        let certificate = &line.certificate;
        self.about(LineTopic::Trust, certificate.agent.as_str());
        self.person = Some(certificate.principal.to_string());
        self.reason = Some(line.change.as_str().to_owned());
        self.opens = line.change == TrustChange::Pending;
        self.standing = Some(StandingTold {
            change: line.change.as_str(),
            agent: certificate.agent.to_string(),
            person: certificate.principal.to_string(),
            words: fingerprint(&certificate.root),
        });
        // A renewed certificate arrives by itself and asks nothing of the person: show no event.
        if line.change == TrustChange::Renewed {
            self.what = None;
        }
    }

    fn draft(&mut self, draft: &DraftLine) {
        self.about(LineTopic::Draft, draft.peer.as_str());
        self.tier = draft.tier();
        self.message = Some(draft.message_id.to_string());
        self.sealed = draft.sealed().is_some();
        let conversation = draft.conversation().map(|id| id.to_string());
        self.thread = conversation.or_else(|| self.message.clone());
        self.opens = draft.approve.is_some();
        let envelope = draft
            .message
            .get("params")
            .or_else(|| draft.message.get("result"));
        if !self.sealed
            && let Some(envelope) = envelope
        {
            let summary = envelope.get("summary").and_then(|text| text.as_str());
            self.summary = summary.map(str::to_owned);
            if let Some(body) = envelope.get("body") {
                self.words.take_value(body);
            }
        }
        // A message that waits for a session alone leaves by itself: no page of a person's needs it.
        if draft.approve.is_none() {
            self.what = None;
        }
    }

    fn outcome(&mut self, line: &OutcomeLine) {
        use signet_proto::entry::Did;
        self.about(LineTopic::Outcome, line.peer.as_str());
        self.message = Some(line.message_id.to_string());
        self.thread = self.message.clone();
        self.reason = Some(line.what.as_str().to_owned());
        self.summary = line.reason.clone();
        // A message that was handled as usual has a line of its own already: show no second event.
        if matches!(line.what, Did::Acknowledged | Did::Started | Did::Kept) {
            self.what = None;
        }
    }

    fn handoff(&mut self, line: &HandoffLine) {
        self.about(LineTopic::Handoff, line.peer.as_str());
        self.message = Some(line.message_id.to_string());
        self.thread = Some(line.task.to_string());
        self.reason = Some(line.state().as_str().to_owned());
        self.summary = match &line.change {
            TaskChange::Offered(offered) => {
                self.tier = Some(offered.tier);
                offered.goal.clone()
            }
            TaskChange::Moved { note, .. } => note.clone(),
        };
    }

    fn alarm(&mut self, line: &AlarmLine) {
        self.about(LineTopic::Alarm, line.peer.as_str());
        self.reason = Some(line.what.as_str().to_owned());
        self.opens = !line.cleared;
    }

    fn attempt(&mut self, line: &AttemptLine) {
        self.what = Some(LineTopic::Attempt);
        self.peer = line.peer.as_ref().map(|peer| peer.to_string());
        self.reason = Some(line.reason.clone());
        self.count = line.count;
        self.summary = line.call.clone();
        let Some(tried) = &line.tried else { return };
        self.tier = Some(tried.tier);
        self.act = Act::of_type(Some(tried.message_type));
        self.thread = tried.conversation.as_ref().map(|id| id.to_string());
        self.summary = tried.capability.as_ref().map(|name| name.to_string());
    }
}
