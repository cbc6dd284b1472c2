//! Certificates and key statements that run out, and are renewed: in time, too late, or while their agent
//! is down.

use signet_proto::certificate::{KEYS_LIFE, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::entry::Entry;
use signet_proto::headers::Layers;
use signet_proto::ids::Digest;
use signet_proto::keys::SealSecret;
use signet_proto::node::Outcome;
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use crate::cast::{self, NAMES};
use crate::household::net::{Dice, message_of};
use crate::household::{self, START};
use crate::mood::Mood;
use crate::note;
use crate::world::World;

/// What an agent has of its person, and how long it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Papers {
    /// For longer than any run.
    #[default]
    Lasting,
    /// The certificate ends then, in ms.
    Certificate(i64),
    /// The key statement ends then, in ms.
    Keys(i64),
    /// The ones after those; with another signing key or with the same.
    Renewed(bool),
}

impl Papers {
    pub fn of(dice: &mut Dice, chaos: i64) -> Self {
        let ends = 10_000 + dice.below(2 * chaos as u64) as i64;
        match dice.percent(60) {
            true => Self::Certificate(ends),
            false => Self::Keys(ends),
        }
    }

    pub fn identity(self, who: usize) -> Identity {
        let (agent, person) = (format!("agent-{}", NAMES[who]), NAMES[who]);
        let until = |ms: i64| Timestamp::from_millis(START + ms);
        let mut own = match self {
            Self::Lasting => return cast::identity(who),
            Self::Certificate(ends) => household::identity_with(&agent, person, 1, |request| {
                request.not_after = until(ends);
            }),
            Self::Keys(_) | Self::Renewed(false) => {
                household::identity_with(&agent, person, 1, |request| {
                    request.serial += u64::from(self == Self::Renewed(false));
                })
            }
            Self::Renewed(true) => household::identity_with(&agent, person, 2, |_| {}),
        };
        let (serial, ends) = match self {
            Self::Keys(ends) => (1, until(ends)),
            Self::Renewed(_) => (2, until(0).saturating_add(KEYS_LIFE)),
            _ => (1, own.keys.not_after),
        };
        let secret = Digest::of(&[b"sealing", agent.as_bytes()]).0;
        own.secrets = vec![SealSecret::of(Zeroizing::new(secret))];
        let id = own.certificate.agent.clone();
        let sealing = own.secrets[0].public();
        own.keys = KeyStatement::sign(&id, sealing, serial, ends, &own.signing).unwrap();
        own.layers = Layers::of(&[0, 1, 2, 3]);
        if self == Self::Renewed(true) {
            own.former = vec![household::key(&format!("signing key 1 of {agent}"))];
        }
        own
    }
}

impl Mood {
    /// The run of a seed in which papers run out and are renewed.
    pub fn running_out(dice: &mut Dice) -> Self {
        let mut mood = Self::of(dice);
        mood.skewed = false;
        mood.offsets.iter_mut().for_each(|offset| *offset %= 30_000);
        mood.runs_out(dice);
        mood
    }

    fn runs_out(&mut self, dice: &mut Dice) {
        self.papers = vec![Papers::Lasting; self.agents];
        let all_at_once = dice.percent(30).then(|| Papers::of(dice, self.chaos));
        for who in 0..self.agents {
            if dice.percent(50) || all_at_once.is_some() || who == 0 {
                self.papers[who] = all_at_once.unwrap_or_else(|| Papers::of(dice, self.chaos));
                let when = dice.below(self.chaos as u64) as i64;
                let renewal = crate::faults::Fault::Renew(who, dice.percent(50));
                self.faults.push((when, renewal));
            }
        }
        self.acts += 10;
    }
}

impl World {
    /// As every log begins.
    pub fn genesis(&mut self, who: usize) {
        let agent = &mut self.agents[who];
        if agent.papers == Papers::Lasting {
            return;
        }
        let at = agent.at(self.now);
        let own = Entry::Genesis(agent.papers.identity(who).certificate);
        agent.node.as_mut().unwrap().recall(at.now, &own);
        let mut outcome = Outcome::default();
        outcome.entries.push(own);
        self.keep(who, outcome, Vec::new());
    }

    /// A person renews what their agent has; one that is down finds it when it starts.
    pub fn renew(&mut self, who: usize, rekeys: bool) {
        let agent = &mut self.agents[who];
        if matches!(agent.papers, Papers::Lasting | Papers::Renewed(_)) {
            return;
        }
        agent.papers = Papers::Renewed(rekeys);
        note!(self, "{} has other papers", NAMES[who]);
        let agent = &mut self.agents[who];
        let at = agent.at(self.now);
        if let Some(node) = agent.node.as_mut() {
            let outcome = node.turn(at).me().adopt(agent.papers.identity(who));
            self.keep(who, outcome, Vec::new());
        }
    }

    /// Whether a message is refused because what its sender had, or had received, has run out or was
    /// replaced meanwhile.
    pub fn is_run_out(&self, to: usize, bytes: &[u8], reason: Reason) -> bool {
        let sender = message_of(bytes).headers.agent_id;
        let from = self.agents.iter().position(|agent| *agent.id() == sender);
        let short = |who: usize| {
            let papers = self.mood.papers.get(who);
            papers.is_some_and(|papers| *papers != Papers::Lasting)
        };
        let because = [
            Reason::CertificateExpired,
            Reason::KeysInvalid,
            Reason::SessionEnded,
            Reason::SessionUnknown,
            // These come when a flight was under way while its sender was certified anew, or when a mandate waited for
            // that long.
            Reason::SerialRolledBack,
            Reason::MandateInvalid,
        ];
        because.contains(&reason) && (short(to) || from.is_some_and(short))
    }
}
