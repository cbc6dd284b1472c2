//! Every word of a digest, in English and German. The texts of a log are shown as they are, in whatever language.

use signet_audit::{Language, reason_in_words};
use signet_proto::entry::{Alarm, Did, TrustChange};
use signet_proto::handoff::TaskState;

macro_rules! texts {
    ($( $name:ident: $english:literal, $german:literal; )*) => {
        /// The words of one language.
        #[derive(Debug)]
        pub(super) struct DigestText {
            pub(super) language: Language,
            $( pub(super) $name: &'static str, )*
        }

        static ENGLISH: DigestText = DigestText { language: Language::English, $( $name: $english, )* };
        static GERMAN: DigestText = DigestText { language: Language::German, $( $name: $german, )* };

        #[cfg(test)]
        const ALL: &[(&str, &str, &str)] = &[ $( (stringify!($name), $english, $german), )* ];
    };
}

// {} stands for a name, a number or a text that is put in, in the order in which they are given.
texts! {
    title: "{} of {}: {} (UTC)", "{} von {}: {} (UTC)";
    nobody: "A log", "Ein Protokoll";
    talk: "WHO SAID WHAT", "WER WAS SAGTE";
    talk_none: "Nobody said anything.", "Niemand sagte etwas.";
    talk_with: "{}: {} came, {} left", "{}: {} kamen, {} gingen hinaus";
    acts_for: "{} (for {})", "{} (für {})";
    they_ask: "asks: {}", "fragt: {}";
    they_tell: "writes: {}", "schreibt: {}";
    they_hand: "hands over a task: {}", "gibt eine Aufgabe: {}";
    we_ask: "your agent asks: {}", "dein Agent fragt: {}";
    we_tell: "your agent writes: {}", "dein Agent schreibt: {}";
    we_hand: "your agent hands over a task: {}", "dein Agent gibt eine Aufgabe: {}";
    answered: "answered {}{}", "beantwortet {}{}";
    refused: "refused {}: {}{}", "abgewiesen {}: {}{}";
    task: "{} {}{}", "{} {}{}";
    no_answer: "no answer yet", "noch keine Antwort";
    no_answer_ever: "never answered", "nie beantwortet";
    earlier: "and {} before, in signet audit show", "und {} davor, in signet audit show";
    more_peers: "and with {} more", "und mit {} weiteren";
    sealed: "(sealed)", "(versiegelt)";
    wordless: "(without words)", "(ohne Worte)";
    left: "WHAT LEFT", "WAS HINAUSGING";
    left_none: "Nothing left.", "Nichts ging hinaus.";
    left_to: "to {}: {}", "an {}: {}";
    tier_1: "{} public", "{} öffentlich";
    tier_2: "{} household", "{} Haushalt";
    tier_3: "{} sensitive (sealed)", "{} heikel (versiegelt)";
    tier_4: "{} restricted (sealed)", "{} vertraulich (versiegelt)";
    tier: "tier {}", "Stufe {}";
    decided: "WHO WAS MET, AND WHAT WAS DECIDED", "WER HINZUKAM UND WAS ENTSCHIEDEN WURDE";
    decided_none: "Nobody was met, and nothing was decided.", "Niemand kam hinzu, und nichts wurde entschieden.";
    trust_bound: "let in: {}", "eingelassen: {}";
    trust_pending: "a stranger came: {}", "jemand Fremdes kam: {}";
    trust_refused: "the stranger was refused: {}", "abgelehnt wurde: {}";
    trust_withdrawn: "trust taken back from {}", "Vertrauen entzogen: {}";
    trust_revoked: "revoked by its own person: {}", "von der eigenen Person widerrufen: {}";
    trust_root_succeeded: "a new key, named before: {}", "ein neuer, vorher genannter Schlüssel: {}";
    trust_root_replaced: "let in with a new key: {}", "mit neuem Schlüssel eingelassen: {}";
    approved: "approved, to {}, {}: {}", "genehmigt, an {}, {}: {}";
    not_approved: "not approved, to {}, {}: {}", "nicht genehmigt, an {}, {}: {}";
    paused: "all agents paused", "alle Agenten angehalten";
    resumed: "all agents go on", "alle Agenten laufen weiter";
    alarm_cleared: "alarm cleared, {}: {}", "Alarm gelöscht, {}: {}";
    retried: "tried again: a message of {}", "noch einmal versucht: eine Nachricht von {}";
    dropped: "given up: a message with {}", "aufgegeben: eine Nachricht mit {}";
    refusals: "WHAT WAS REFUSED", "WAS ABGEWIESEN WURDE";
    refusals_none: "Nothing was refused.", "Nichts wurde abgewiesen.";
    refused_here: "kept out here", "hier abgewiesen";
    refused_there: "refused by others", "von anderen abgewiesen";
    refused_own: "not sent by your own rules", "nach eigenen Regeln nicht gesendet";
    refusal: "{} × {} ({})", "{} × {} ({})";
    other_reasons: "{} × for other reasons", "{} × aus anderen Gründen";
    and_others: "{} and others", "{} und andere";
    trouble: "ALARMS, AND WHAT WENT WRONG", "ALARME, UND WAS SCHIEFGING";
    trouble_none: "No alarm rang, and nothing went wrong.", "Kein Alarm läutete, und nichts ging schief.";
    alarm_rings: "ALARM, {}: {}", "ALARM, {}: {}";
    alarm_second: "this agent may run twice", "dieser Agent läuft vielleicht doppelt";
    alarm_restored: "it has messages of this agent that this log does not know", "er hat Nachrichten dieses Agenten, die dieses Protokoll nicht kennt";
    alarm_peer_restored: "it has forgotten what it had confirmed", "er hat vergessen, was er bestätigt hatte";
    alarm_reuse: "it gave one number to two messages", "er gab zwei Nachrichten dieselbe Nummer";
    alarm_lost: "the end of this log was lost", "das Ende dieses Protokolls ging verloren";
    alarm_changed: "a finished month of this log was changed", "ein fertiger Monat dieses Protokolls wurde verändert";
    hole: "{} of {} never came", "{} von {} kamen nie an";
    clock: "a clock is wrong, here or at {}", "eine Uhr geht falsch, hier oder bei {}";
    flood: "{} of strangers were counted and not written down", "{} von Fremden wurden gezählt und nicht aufgeschrieben";
    gap: "messages were lost before they could be judged", "Nachrichten gingen verloren, bevor sie beurteilt wurden";
    rebuilt: "the memory beside the log was made again", "das Gedächtnis neben dem Protokoll wurde neu gemacht";
    loss: "lines of the log were lost, and that was accepted", "Zeilen des Protokolls gingen verloren, und das wurde hingenommen";
    torn: "the torn end of the log was set aside", "das abgerissene Ende des Protokolls wurde beiseitegelegt";
    set_aside: "not handled, in the quarantine: a message of {}", "nicht bearbeitet, in Quarantäne: eine Nachricht von {}";
    expired: "expired without a receipt: a message to {}", "abgelaufen ohne Bestätigung: eine Nachricht an {}";
    draft_expired: "its time ran out before it left: a message to {}", "die Zeit lief ab, bevor sie hinausging: eine Nachricht an {}";
    answer_failed: "its answer could not be made: a request of {}", "die Antwort konnte nicht gemacht werden: eine Anfrage von {}";
    root_changed: "somebody came with another key under the name of {}", "jemand kam mit anderem Schlüssel unter dem Namen {}";
    waits: "WHAT WAITS", "WAS WARTET";
    waits_none: "Nothing waits for you.", "Nichts wartet auf dich.";
    waits_stranger: "{} since {}, an introduction: signet trust pending", "{} seit {}, eine Vorstellung: signet trust pending";
    waits_draft: "a draft to {}, {}, since {}: {}", "ein Entwurf an {}, {}, seit {}: {}";
    waits_alarm: "an alarm since {}, {}: {}", "ein Alarm seit {}, {}: {}";
    waits_answer: "{} wants an answer since {}: {}", "{} möchte seit {} eine Antwort: {}";
    waits_task: "a task of {} since {}: {}", "eine Aufgabe von {} seit {}: {}";
    waits_pause: "all agents are paused: signet resume", "alle Agenten sind angehalten: signet resume";
    proof: "PROOF", "BEWEIS";
    proof_empty: "The log has no line.", "Das Protokoll hat keine Zeile.";
    proof_whole: "All {} of this log are complete and unchanged.", "Alle {} dieses Protokolls sind vollständig und unverändert.";
    proof_own: "Its own checkpoints prove them up to line {}.", "Die eigenen Prüfpunkte beweisen sie bis Zeile {}.";
    proof_chain: "Only their chain says so: no checkpoint covers them.", "Das sagt allein ihre Kette: Kein Prüfpunkt deckt sie.";
    proof_witness: "The log of {} confirms them up to line {}.", "Das Protokoll von {} bestätigt sie bis Zeile {}.";
    proof_links: "Signatures were not looked at again; --signatures does.", "Unterschriften wurden nicht noch einmal geprüft; --signatures tut es.";
    proof_signed: "{} hold.", "{} halten.";
    proof_broken: "THIS LOG DOES NOT HOLD: {} found. See signet audit verify.", "DIESES PROTOKOLL HÄLT NICHT: {} gefunden. Siehe signet audit verify.";
    proof_unread: "{} cannot be read; the digest is without them.", "{} sind nicht lesbar; die Übersicht ist ohne sie.";
    told: "Told here: {}.", "Davon erzählt: {}.";
    more: "and {} more before", "und {} weitere davor";
    message_one: "message", "Nachricht";
    message_many: "messages", "Nachrichten";
    line_one: "line", "Zeile";
    line_many: "lines", "Zeilen";
    fault_one: "fault", "Fehler";
    fault_many: "faults", "Fehler";
    signature_one: "signature", "Unterschrift";
    signature_many: "signatures", "Unterschriften";
    agent_one: "agent", "Agenten";
    agent_many: "agents", "Agenten";
    days: "Monday Tuesday Wednesday Thursday Friday Saturday Sunday", "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag";
    state_offered: "offered", "angeboten";
    state_accepted: "taken", "angenommen";
    state_working: "at it", "in Arbeit";
    state_declined: "declined", "abgelehnt";
    state_completed: "done", "erledigt";
    state_failed: "failed", "gescheitert";
    state_returned: "given back", "zurückgegeben";
    state_expired: "its time ended", "abgelaufen";
}

impl DigestText {
    /// The words of a language.
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::German => &GERMAN,
        }
    }

    /// How many there are: a number as the language writes it, and the word for one or many.
    pub(super) fn counted(&self, count: u64, one: &str, many: &str) -> String {
        let word = if count == 1 { one } else { many };
        format!("{} {word}", self.number(count))
    }

    /// A number, its digits in groups of three.
    pub(super) fn number(&self, number: u64) -> String {
        let between = match self.language {
            Language::English => ',',
            Language::German => '.',
        };
        let digits = number.to_string();
        let mut out = String::new();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                out.push(between);
            }
            out.push(digit);
        }
        out
    }

    /// The meaning of a reason; its name where there are no words for it.
    pub(super) fn reason<'a>(&self, reason: &'a str) -> &'a str {
        reason_in_words(reason, self.language).unwrap_or(reason)
    }

    /// A day of the week, from 0 for Monday on.
    pub(super) fn weekday(&self, day: u8) -> &'static str {
        self.days
            .split(' ')
            .nth(usize::from(day))
            .unwrap_or_default()
    }

    pub(super) const fn trust(&self, change: TrustChange) -> &'static str {
        match change {
            TrustChange::Bound | TrustChange::Renewed => self.trust_bound,
            TrustChange::Pending => self.trust_pending,
            TrustChange::Refused => self.trust_refused,
            TrustChange::Withdrawn => self.trust_withdrawn,
            TrustChange::RootChanged => self.root_changed,
            TrustChange::RootSucceeded => self.trust_root_succeeded,
            TrustChange::RootReplaced => self.trust_root_replaced,
            TrustChange::Revoked => self.trust_revoked,
        }
    }

    pub(super) const fn alarm(&self, alarm: Alarm) -> &'static str {
        match alarm {
            Alarm::SecondCopy => self.alarm_second,
            Alarm::Restored => self.alarm_restored,
            Alarm::PeerRestored => self.alarm_peer_restored,
            Alarm::SequenceReuse => self.alarm_reuse,
            Alarm::LogLost => self.alarm_lost,
            Alarm::LogChanged => self.alarm_changed,
        }
    }

    pub(super) const fn state(&self, state: TaskState) -> &'static str {
        match state {
            TaskState::Offered => self.state_offered,
            TaskState::Accepted => self.state_accepted,
            TaskState::Working => self.state_working,
            TaskState::Declined => self.state_declined,
            TaskState::Completed => self.state_completed,
            TaskState::Failed => self.state_failed,
            TaskState::Returned => self.state_returned,
            TaskState::Expired => self.state_expired,
        }
    }

    pub(super) const fn outcome(&self, what: Did) -> &'static str {
        match what {
            Did::Retried => self.retried,
            Did::Dropped => self.dropped,
            Did::Expired => self.expired,
            Did::DraftExpired => self.draft_expired,
            Did::AnswerFailed => self.answer_failed,
            _ => self.set_aside,
        }
    }
}

/// The words with each `{}` replaced by what is given, in its order. Texts that are put in are not looked through: braces in them
/// stay.
pub(super) fn filled(words: &str, with: &[&str]) -> String {
    let mut parts = words.split("{}");
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut with = with.iter();
    for part in parts {
        out.push_str(with.next().copied().unwrap_or_default());
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_stands_in_both_languages_with_as_many_places() {
        for (name, english, german) in ALL {
            assert!(
                !english.trim().is_empty() && !german.trim().is_empty(),
                "{name}"
            );
            let places = |text: &str| text.matches("{}").count();
            assert_eq!(places(english), places(german), "{name}");
        }
    }

    #[test]
    fn a_text_that_holds_places_of_its_own_fills_none() {
        assert_eq!(filled("{} asks: {}", &["{}{}", "a"]), "{}{} asks: a");
    }

    #[test]
    fn numbers_are_grouped_as_each_language_does() {
        let (english, german) = (
            DigestText::of(Language::English),
            DigestText::of(Language::German),
        );
        assert_eq!(
            english.counted(1_234_567, "line", "lines"),
            "1,234,567 lines"
        );
        assert_eq!(german.number(1_234), "1.234");
        assert_eq!(german.weekday(6), "Sonntag");
    }
}
