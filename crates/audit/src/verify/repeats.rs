//! Messages that stand in a log twice: the same number in one session and direction, the same message-id,
//! or a message of the log's own that names an older line than its own message before it.
//!
//! An honest log says of each message once that it was sent or accepted. A line copied to another place,
//! with the chain made anew behind it, is still signed; only what it repeats shows it. An answer or a report that the
//! peer refused because the own clock was ahead is sent a second time under its message-id, with another number
//! and the same content (docs/protocol.md, section 6, "Signed anew").

use std::collections::{HashMap, VecDeque};

use signet_json::canonical;
use signet_proto::entry::{Direction, Ruling, Verdict};
use signet_proto::envelope::{Form, Message};
use signet_proto::ids::{Digest, MessageId, SessionId};
use signet_proto::policy::is_report;

use crate::newest_keys::NewestKeys;

/// The messages that the log has sent and accepted so far, to find one that is there twice.
pub(super) struct Repeats {
    sent: SessionNumbers,
    accepted: SessionNumbers,
    /// The message-ids of the newest messages; with the content of those that may be sent once more.
    known: NewestKeys<(bool, MessageId), Option<Digest>>,
    /// The newest line that a message of the log's own named as its head.
    head: u64,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            sent: SessionNumbers::default(),
            accepted: SessionNumbers::default(),
            known: NewestKeys::new(IDS),
            head: 0,
        }
    }
}

impl Repeats {
    /// Takes a message, and tells of what it is a repetition. `head` is the number of the line that it
    /// names as the head of this log, when it is one of the log's own.
    pub(super) fn follow(
        &mut self,
        verdict: &Verdict,
        message: &Message,
        head: Option<u64>,
    ) -> Option<&'static str> {
        let is_own = verdict.direction == Direction::Out;
        // A peer may send a refused message as often as it likes, so repetitions of it are no fault.
        if let Ruling::Rejected(_) = verdict.ruling {
            return None;
        }
        let headers = &message.headers;
        let sessions = if is_own {
            &mut self.sent
        } else {
            &mut self.accepted
        };
        let place = headers.session.zip(headers.sequence);
        let is_number_new = place.is_none_or(|(session, number)| sessions.take(session, number));
        let again = is_own.then(|| content_signed_anew(message)).flatten();
        let is_id_new = self.remember(is_own, headers.message_id, again);
        let is_head_newer = head.is_none_or(|head| self.head <= head);
        self.head = self.head.max(head.unwrap_or_default());
        Some(match (is_own, is_number_new, is_id_new, is_head_newer) {
            (_, true, true, true) => return None,
            (true, false, ..) => {
                "its number was sent in this session before: the line is a copy, or one was put in"
            }
            (true, _, false, _) => {
                "its message-id was sent before: the line is a copy, or one was put in"
            }
            (true, ..) => {
                "it names an older line as head than a message of this log before it: it was moved or copied"
            }
            (false, false, ..) => {
                "its number was accepted in this session before: the line is a copy, or one was put in"
            }
            (false, ..) => {
                "its message-id was accepted before: the line is a copy, or one was put in"
            }
        })
    }

    /// Whether the name is new among the newest, or says a second time what it may: `again`.
    fn remember(&mut self, is_own: bool, id: MessageId, again: Option<Digest>) -> bool {
        let name = (is_own, id);
        if let Some(said) = self.known.get_mut(&name) {
            // The protocol lets a message be signed anew and sent again only once. So `take` removes the content: a third
            // message finds nothing to match.
            return said.take().is_some_and(|said| Some(said) == again);
        }
        self.known.push(name, again);
        true
    }
}

/// The hash of the content of an answer or a report, which stays when it is signed anew; `None` for every other message.
fn content_signed_anew(message: &Message) -> Option<Digest> {
    let may = matches!(message.form, Form::Success | Form::Failure { .. }) || is_report(message);
    let headers = &message.headers;
    may.then(|| {
        let body = message.body().map(canonical).unwrap_or_default();
        let sealed = message
            .sealed
            .as_ref()
            .map(|sealed| canonical(&sealed.to_value()));
        let reply = headers
            .in_reply_to
            .map(|id| id.to_string())
            .unwrap_or_default();
        let summary = message.summary.as_deref().unwrap_or_default();
        Digest::of(&[
            &[headers.data_tier.number()],
            reply.as_bytes(),
            b" ",
            summary.as_bytes(),
            b" ",
            &body,
            &sealed.unwrap_or_default(),
        ])
    })
}

/// The numbers of one direction.
#[derive(Default)]
struct SessionNumbers {
    numbers: HashMap<SessionId, (u64, Numbers)>,
    clock: u64,
}

impl SessionNumbers {
    /// Whether the number is new in the session.
    fn take(&mut self, session: SessionId, number: u64) -> bool {
        self.clock += 1;
        // Forget half of the sessions at once: the search for the oldest sessions passes over all of them and should be rare.
        if self.numbers.len() >= SESSIONS && !self.numbers.contains_key(&session) {
            self.forget_half();
        }
        let (used, numbers) = self.numbers.entry(session).or_default();
        *used = self.clock;
        numbers.take(number)
    }

    /// The half that was not used for the longest time.
    fn forget_half(&mut self) {
        let mut used: Vec<u64> = self.numbers.values().map(|(used, _)| *used).collect();
        let middle = used.len() / 2;
        let (_, median, _) = used.select_nth_unstable(middle);
        let median = *median;
        self.numbers.retain(|_, (used, _)| *used >= median);
    }
}

/// Numbers as ranges from and to, ascending: an honest session has few.
#[derive(Default)]
struct Numbers(VecDeque<(u64, u64)>);

impl Numbers {
    /// Whether the number is new.
    fn take(&mut self, number: u64) -> bool {
        let ranges = &mut self.0;
        let next = ranges.partition_point(|(from, _)| *from <= number);
        let before = next.checked_sub(1).and_then(|at| ranges.get_mut(at));
        if let Some((_, to)) = before {
            if number <= *to {
                return false;
            }
            if *to + 1 == number {
                *to = number;
                return true;
            }
        }
        ranges.insert(next, (number, number));
        if ranges.len() > RANGES {
            // Forget the range of the lowest numbers: a repetition in it is then missed, but no honest number is reported.
            ranges.pop_front();
        }
        true
    }
}

/// The most sessions that are remembered for each direction, so that invented sessions cannot fill the memory.
const SESSIONS: usize = 16_384;
/// The most ranges of numbers that are remembered of a session.
const RANGES: usize = 512;
/// The most message-ids that are remembered. A repeated message without a number in a session is found by its id.
const IDS: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use signet_proto::ids::Digest;

    fn session(number: u64) -> SessionId {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        SessionId(Digest(id))
    }

    #[test]
    fn each_number_is_new_once_in_whatever_order() {
        let mut numbers = Numbers::default();
        for number in [5, 3, 4, 9, 1, 2, 6, 8, 7] {
            assert!(numbers.take(number), "{number}");
        }
        for number in 1..=9 {
            assert!(!numbers.take(number), "{number}");
        }
        assert!(numbers.take(10));
    }

    #[test]
    fn sessions_and_gaps_without_end_cost_no_memory_without_end() {
        let mut sessions = SessionNumbers::default();
        for number in 0..3 * SESSIONS as u64 {
            assert!(sessions.take(session(number), 1));
        }
        assert!(sessions.numbers.len() <= SESSIONS);
        let mut numbers = Numbers::default();
        for number in 0..10 * RANGES as u64 {
            assert!(numbers.take(2 * number));
        }
        assert_eq!(numbers.0.len(), RANGES);
        assert!(!numbers.take(20 * RANGES as u64 - 2));
    }

    #[test]
    fn of_too_many_sessions_those_are_forgotten_that_were_silent_for_the_longest_time() {
        let mut sessions = SessionNumbers::default();
        let last = SESSIONS as u64 - 1;
        for number in 0..=last {
            assert!(sessions.take(session(number), 1));
        }
        for number in [0, last] {
            assert!(!sessions.take(session(number), 1), "{number} is remembered");
        }
        assert!(sessions.take(session(last + 1), 1), "one too many");
        for number in [0, last / 2 + 2, last, last + 1] {
            assert!(!sessions.take(session(number), 1), "{number} spoke lately");
        }
        assert!(sessions.take(session(1), 1), "nobody knows it any more");
    }

    #[test]
    fn a_session_that_counts_on_stays_one_range_however_long_it_is() {
        let mut numbers = Numbers::default();
        let last = 3 * RANGES as u64;
        assert!((1..=last).all(|number| numbers.take(number)));
        assert!((1..=last).all(|number| !numbers.take(number)));
        assert_eq!(numbers.0, [(1, last)]);
    }

    #[test]
    fn a_message_id_is_known_again_among_the_newest_and_no_longer() {
        let mut repeats = Repeats::default();
        let id = |number: usize| MessageId::from_parts(number as u64, [0; 10]);
        for number in 0..IDS {
            assert!(repeats.remember(true, id(number), None));
        }
        assert!(!repeats.remember(true, id(0), None), "it was sent before");
        assert!(repeats.remember(false, id(0), None), "it never came");
        assert_eq!(repeats.known.len(), IDS);
        assert!(!repeats.remember(true, id(1), None));
        assert!(repeats.remember(true, id(0), None), "forgotten");
    }
}
