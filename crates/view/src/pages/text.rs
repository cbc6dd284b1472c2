//! Every word of the pages, in English and German. The texts of a log are shown as they are, in whatever language.

use signet_audit::{Language, reason_in_words};

macro_rules! texts {
    ($( $name:ident: $english:literal, $german:literal; )*) => {
        /// The words of one language.
        #[derive(Debug)]
        pub(crate) struct Text {
            $( pub(crate) $name: &'static str, )*
        }

        static ENGLISH: Text = Text { $( $name: $english, )* };
        static GERMAN: Text = Text { $( $name: $german, )* };

        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str, &str)] = &[ $( (stringify!($name), $english, $german), )* ];
    };
}

texts! {
    lang: "en", "de";
    room: "Reading room", "Lesezimmer";
    skip: "Skip to the page", "Zum Inhalt";
    pages: "Pages", "Seiten";
    today: "Today", "Heute";
    conversations: "Conversations", "Gespräche";
    people: "People", "Leute";
    left: "What left", "Was hinausging";
    refused: "Refused", "Abgewiesen";
    proof: "Proof", "Beweis";
    search: "Search", "Suche";
    search_words: "Words", "Wörter";
    search_hint: "Search what was said", "Im Gesagten suchen";
    search_who: "Agent", "Agent";
    search_tier: "Tier", "Stufe";
    search_any: "any", "alle";
    search_from: "From", "Von";
    search_to: "Until", "Bis";
    search_go: "Search", "Suchen";
    search_none: "Nothing fits.", "Nichts passt.";
    search_start: "Type a word, choose an agent, a tier or dates.", "Ein Wort eingeben, einen Agenten, eine Stufe oder Tage wählen.";
    search_cut: "Only the newest lines with these words were looked at. More words, an agent or dates find older ones.", "Nur die neuesten Zeilen mit diesen Wörtern wurden angesehen. Weitere Wörter, ein Agent oder Tage finden ältere.";
    sealed_not: "What is sealed (tiers 3 and 4) is in no index: it is found by person and date alone.", "Was versiegelt ist (Stufen 3 und 4), steht in keinem Verzeichnis: es wird nur über Person und Tag gefunden.";
    older: "Older", "Ältere";
    newest: "Back to the newest", "Zurück zu den neuesten";
    further: "Further", "Weiter";
    back: "All conversations", "Alle Gespräche";
    all_people: "All people", "Alle Leute";
    daemon_of: "The daemon of ", "Der Daemon von ";
    daemon_works: " is at work.", " arbeitet.";
    daemon_away: " does not answer: what is shown stands in the log, and nothing comes or leaves.", " antwortet nicht: Gezeigt wird, was im Protokoll steht, und nichts kommt herein oder geht hinaus.";
    daemon_alone: " is connected to no server: what is to leave waits until it is.", " ist mit keinem Server verbunden: Was hinaus soll, wartet, bis er es ist.";
    daemon_paused: " pauses, as you decided: its agent is handed nothing, and nothing leaves.", " pausiert, wie du entschieden hast: Sein Agent bekommt nichts, und nichts geht hinaus.";
    daemon_refusing: " takes nothing in and sends nothing", " nimmt nichts an und sendet nichts";
    daemon_revoked: " sends nothing: the certificate of its agent was revoked.", " sendet nichts: Das Zertifikat seines Agenten wurde widerrufen.";
    daemon_clock: " signs nothing: the clock stands outside the dates of the certificate.", " unterschreibt nichts: Die Uhr steht außerhalb der Tage, für die das Zertifikat gilt.";
    pause_or_resume: "Pause or resume", "Anhalten oder weiterlaufen lassen";
    session: "Session", "Sitzung";
    session_until: "until ", "bis ";
    session_open: "open", "offen";
    session_begins: "a handshake is under way", "ein Handschlag ist im Gang";
    session_none: "none now", "jetzt keine";
    waits_to_leave: "Waits to leave", "Wartet darauf, hinauszugehen";
    unconfirmed: "Left, and has no receipt yet", "Ging hinaus und hat noch keine Quittung";
    withdraw: "Take the trust back", "Vertrauen entziehen";
    withdraw_command: "To take the trust back, type:", "Um das Vertrauen zu entziehen, eingeben:";
    waits: "Waits for you", "Wartet auf dich";
    waits_none: "Nothing waits for you.", "Nichts wartet auf dich.";
    last_day: "The last day", "Der letzte Tag";
    last_lines: "Last in the log", "Zuletzt im Protokoll";
    nothing_yet: "Nothing has happened yet.", "Noch ist nichts geschehen.";
    all_of_it: "All conversations", "Alle Gespräche";
    stranger: "A stranger", "Jemand Fremdes";
    stranger_says: " says that it acts for ", " sagt, für ";
    stranger_end: ". Nobody has verified either name.", " zu handeln. Niemand hat einen der Namen geprüft.";
    stranger_compare: "Ask that person, by telephone or face to face, to read out the words of their own agent. They have to be these:", "Bitte diese Person, am Telefon oder von Angesicht, die Wörter ihres eigenen Agenten vorzulesen. Es müssen diese sein:";
    words_of: "Words", "Wörter";
    own_words: "The words of this person's root key", "Die Wörter des Wurzelschlüssels dieser Person";
    answer_from: " from ", " von ";
    draft_waits: "A message waits for your yes", "Eine Nachricht wartet auf dein Ja";
    draft_to: "To ", "An ";
    draft_until: "Waits until ", "Wartet bis ";
    draft_sealed: "What it says is sealed. It is opened where you decide.", "Was sie sagt, ist versiegelt. Geöffnet wird es dort, wo du entscheidest.";
    decide: "Decide", "Entscheiden";
    decide_command: "To decide, type:", "Zum Entscheiden eingeben:";
    open_sealed: "Open", "Öffnen";
    open_command: "To read it, type:", "Zum Lesen eingeben:";
    alarm: "Alarm", "Alarm";
    alarm_second: "This agent may run twice, or was put back to an older copy; or the other one behaves so. New sessions with it wait: make sure that your agent runs once, then ask the other person.", "Dieser Agent läuft vielleicht doppelt oder wurde auf eine ältere Kopie zurückgesetzt; oder der andere verhält sich so. Neue Sitzungen mit ihm warten: Sieh nach, dass dein Agent einmal läuft, dann frage die andere Person.";
    alarm_restored: "The other agent has messages of this one that this log does not know: it was put back to an older copy, or runs twice, or the other is wrong. Compare the two logs.", "Der andere Agent hat Nachrichten von diesem, die dieses Protokoll nicht kennt: Er wurde auf eine ältere Kopie zurückgesetzt, läuft doppelt, oder der andere irrt sich. Vergleiche die beiden Protokolle.";
    alarm_peer_restored: "The other agent has forgotten what it had confirmed: it was put back to an older copy. Its person should compare the logs.", "Der andere Agent hat vergessen, was er bestätigt hatte: Er wurde auf eine ältere Kopie zurückgesetzt. Seine Person sollte die Protokolle vergleichen.";
    alarm_reuse: "The other agent gave one number to two messages: it was put back to an older copy, or runs twice. Tell its person.", "Der andere Agent gab zwei Nachrichten dieselbe Nummer: Er wurde auf eine ältere Kopie zurückgesetzt oder läuft doppelt. Sag es seiner Person.";
    alarm_lost: "The end of this agent's own log was lost, and that was accepted. What it said and whom it trusted since is forgotten.", "Das Ende des eigenen Protokolls ging verloren, und das wurde hingenommen. Was der Agent seither sagte und wem er vertraute, ist vergessen.";
    alarm_changed: "A finished month of this agent's own log is not what it wrote. Put it back from a copy, and find out who writes there.", "Ein fertiger Monat des eigenen Protokolls ist nicht, was der Agent schrieb. Lege ihn aus einer Kopie zurück und finde heraus, wer dort schreibt.";
    wants_answer: "wants an answer", "wünscht eine Antwort";
    asks: " asks ", " fragt ";
    answers: " answers ", " antwortet ";
    declines: " says no to ", " sagt nein zu ";
    tells: " writes to ", " schreibt ";
    hands: " hands a task to ", " gibt eine Aufgabe an ";
    reports: " reports to ", " berichtet ";
    says: " sends to ", " sendet an ";
    kept_out: "kept out: ", "abgewiesen: ";
    peer_refused: " refused: ", " wies ab: ";
    not_allowed: "not allowed: ", "nicht erlaubt: ";
    somebody: "Somebody", "Jemand";
    you_approved: "You approved what goes to ", "Du hast genehmigt, was hinausgeht an ";
    you_refused: "You refused what was to go to ", "Du hast abgelehnt, was hinausgehen sollte an ";
    draft_for: "Waits for your yes, for ", "Wartet auf dein Ja, für ";
    paused: "You paused your agents", "Du hast deine Agenten angehalten";
    resumed: "You let your agents go on", "Du hast deine Agenten weiterlaufen lassen";
    numbers_missing: "Messages never came from ", "Nachrichten kamen nie an von ";
    note_recovery: "The end of the log was torn, and set aside", "Das Ende des Protokolls war abgerissen und wurde beiseitegelegt";
    note_flood: "More came than is written down one by one", "Es kam mehr, als einzeln aufgeschrieben wird";
    note_gap: "Messages were lost before they could be judged", "Nachrichten gingen verloren, bevor sie beurteilt wurden";
    note_rebuilt: "The memory beside the log was made again", "Das Gedächtnis neben dem Protokoll wurde neu gemacht";
    note_loss: "Lines were lost, and that was accepted", "Zeilen gingen verloren, und das wurde hingenommen";
    note_clock: "A clock is wrong: ", "Eine Uhr geht falsch: ";
    trust_bound: "You let in ", "Du hast eingelassen: ";
    trust_pending: "Waits for an introduction: ", "Wartet auf eine Vorstellung: ";
    trust_refused: "You refused ", "Du hast abgelehnt: ";
    trust_withdrawn: "You took the trust back from ", "Du hast das Vertrauen entzogen: ";
    trust_revoked: "Its own person revoked ", "Die eigene Person hat widerrufen: ";
    trust_root_changed: "Somebody came with another key under the name of ", "Jemand kam mit anderem Schlüssel unter dem Namen ";
    trust_root_succeeded: "A new key, named before, for ", "Ein neuer, vorher genannter Schlüssel für ";
    trust_root_replaced: "You let in a new key of ", "Du hast einen neuen Schlüssel eingelassen von ";
    task_offered: "Task handed over", "Aufgabe übergeben";
    task_accepted: "Task taken", "Aufgabe angenommen";
    task_declined: "Task declined", "Aufgabe abgelehnt";
    task_working: "Works on it", "Ist dabei";
    task_completed: "Task done", "Aufgabe erledigt";
    task_failed: "Task failed", "Aufgabe gescheitert";
    task_returned: "Task given back", "Aufgabe zurückgegeben";
    outcome_failed: "Handling it failed", "Die Bearbeitung scheiterte";
    outcome_set_aside: "Went to the quarantine", "Kam in Quarantäne";
    outcome_expired: "Expired without a receipt", "Abgelaufen ohne Bestätigung";
    outcome_draft_expired: "Its time ran out before it left", "Die Zeit lief ab, bevor sie hinausging";
    outcome_draft_refused: "It will not leave", "Sie geht nicht hinaus";
    outcome_answer_failed: "Its answer could not be made", "Die Antwort konnte nicht gemacht werden";
    outcome_retried: "You let it be tried again", "Du hast sie noch einmal versuchen lassen";
    outcome_dropped: "You gave it up", "Du hast sie aufgegeben";
    tier_1: "public", "öffentlich";
    tier_2: "household", "Haushalt";
    tier_3: "sensitive", "heikel";
    tier_4: "restricted", "vertraulich";
    sealed: "sealed", "versiegelt";
    sealed_here: "Sealed: nobody without the key reads it, this page neither.", "Versiegelt: Niemand liest es ohne Schlüssel, auch diese Seite nicht.";
    open: "open", "offen";
    messages_one: "message", "Nachricht";
    messages_many: "messages", "Nachrichten";
    lines_one: "line", "Zeile";
    lines_many: "lines", "Zeilen";
    times_one: "time", "Mal";
    times_many: "times", "Mal";
    with: "with ", "mit ";
    verified: "signature verified", "Unterschrift geprüft";
    unproven: "not proven: only what it claimed", "nicht bewiesen: nur, was es behauptete";
    withheld: "Its contents were not kept.", "Der Inhalt wurde nicht aufbewahrt.";
    about_line: "About this line", "Zu dieser Zeile";
    line_number: "Line", "Zeile";
    line_hash: "SHA-256 of the line", "SHA-256 der Zeile";
    line_before: "of the line before", "der Zeile davor";
    message_id: "Message", "Nachricht";
    message_hash: "SHA-256 of the message", "SHA-256 der Nachricht";
    written: "Written", "Geschrieben";
    in_log: "In the log of", "Im Protokoll von";
    whole_line: "Keep the whole line as a file", "Die ganze Zeile als Datei";
    raw_line: "The line, byte for byte", "Die Zeile, Byte für Byte";
    shortened: "Shortened here. All of it: ", "Hier gekürzt. Das Ganze: ";
    bytes_one: "byte", "Byte";
    bytes_many: "bytes", "Byte";
    in_thread: "The conversation", "Das Gespräch";
    handed_to: "to", "an";
    may_use: "may use", "darf nutzen";
    until: "until", "bis";
    trusted: "trusted", "vertraut";
    refused_person: "refused", "abgelehnt";
    withdrawn: "trust taken back", "Vertrauen entzogen";
    revoked: "revoked", "widerrufen";
    waiting: "waits for an introduction", "wartet auf Vorstellung";
    heard_only: "heard, never decided upon", "gehört, nie entschieden";
    since: "since ", "seit ";
    heard: "Last heard", "Zuletzt gehört";
    never: "never", "nie";
    sent_us: "Came from there", "Kam von dort";
    sent_them: "Went there", "Ging dorthin";
    they_may: "May ask of you", "Darf von dir erfragen";
    we_may: "You may ask of it", "Du darfst dort erfragen";
    up_to_tier: "up to tier ", "bis Stufe ";
    no_capability: "no capability by name", "keine Fähigkeit mit Namen";
    grants_none: "nothing said yet", "noch nichts gesagt";
    decisions: "What was decided", "Was entschieden wurde";
    their_talk: "What was said", "Was gesagt wurde";
    acts_for: "acts for", "handelt für";
    known_to: "known to", "bekannt bei";
    nobody: "Nobody is known yet.", "Noch ist niemand bekannt.";
    left_none: "Nothing left in this time.", "In dieser Zeit ging nichts hinaus.";
    left_weeks: "The last 26 weeks", "Die letzten 26 Wochen";
    left_each: "Each square is a day; the darker it is, the more left.", "Jedes Quadrat ist ein Tag; je dunkler, desto mehr ging hinaus.";
    left_by: "By agent and tier", "Nach Agent und Stufe";
    left_last: "Last to leave", "Zuletzt hinausgegangen";
    left_sum: "in all", "gesamt";
    to_whom: "To", "An";
    granted: "Who got which capability", "Wer welche Fähigkeit bekam";
    refused_why: "Why", "Warum";
    refused_none: "Nothing was refused.", "Nichts wurde abgewiesen.";
    refused_here: "Kept out here", "Hier abgewiesen";
    refused_there: "Refused by others", "Von anderen abgewiesen";
    refused_own: "Not sent by your own rules", "Nach eigenen Regeln nicht gesendet";
    refused_each: "One by one", "Eines nach dem anderen";
    refused_when: "The last 26 weeks", "Die letzten 26 Wochen";
    proof_all: "All ", "Alle ";
    proof_hold: " are complete and unchanged.", " sind vollständig und unverändert.";
    proof_upto: " confirms them up to line ", " bestätigt sie bis Zeile ";
    proof_log_of: "The log of ", "Das Protokoll von ";
    proof_alone: "No other log was at hand that could confirm them.", "Kein anderes Protokoll war zur Hand, das sie bestätigen könnte.";
    proof_broken: "This log does not hold: ", "Dieses Protokoll hält nicht: ";
    proof_fault_one: "fault was found", "Fehler wurde gefunden";
    proof_fault_many: "faults were found", "Fehler wurden gefunden";
    proof_none: "Not looked at yet.", "Noch nicht angesehen.";
    proof_looked: "Looked at ", "Angesehen ";
    proof_since: " written since.", " seitdem geschrieben.";
    proof_again: "Look again", "Noch einmal ansehen";
    proof_runs: "Looking: ", "Es wird angesehen: ";
    proof_signed: "Signatures that hold", "Unterschriften, die halten";
    proof_checks: "Checkpoints that hold", "Prüfpunkte, die halten";
    proof_covered: "Covered by a checkpoint up to line", "Durch einen Prüfpunkt gedeckt bis Zeile";
    proof_decided: "Your decisions that are proven", "Bewiesene Entscheidungen von dir";
    proof_head: "Up to line", "Bis Zeile";
    proof_witness: "Whose log confirms it", "Wessen Protokoll es bestätigt";
    proof_events: "Alarms, holes and what happened to the log", "Alarme, Lücken und was dem Protokoll geschah";
    proof_quiet: "Nothing of that kind.", "Nichts dergleichen.";
    proof_clock: "Messages signed while the clock was wrong", "Nachrichten, unterschrieben bei falscher Uhr";
    proof_export: "To give somebody the proof, type:", "Um jemandem den Beweis zu geben, eingeben:";
    proof_command: "To look at it without this page, type:", "Um es ohne diese Seite anzusehen, eingeben:";
    indexing: "Older lines are still being read, back to line ", "Ältere Zeilen werden noch gelesen, zurück bis Zeile ";
    of_lines: " of ", " von ";
    log_fault: "This log cannot be read: ", "Dieses Protokoll lässt sich nicht lesen: ";
    used_title: "This address was used", "Diese Adresse wurde benutzt";
    used_text: "It is good once, for a minute. Start the reading room again to get another one.", "Sie gilt einmal, eine Minute lang. Starte das Lesezimmer neu, um eine andere zu bekommen.";
    away_title: "Not from here", "Nicht von hier";
    away_text: "The reading room is entered by the address that signet gives, in the browser that opened it.", "Ins Lesezimmer führt die Adresse, die signet nennt, in dem Browser, der sie geöffnet hat.";
    enter_title: "One moment", "Einen Moment";
    enter_go: "Enter the reading room", "Ins Lesezimmer";
    nothing_title: "Nothing is here", "Hier ist nichts";
    nothing_text: "What stood here is not in the log, or the log is being read again.", "Was hier stand, ist nicht im Protokoll, oder das Protokoll wird neu gelesen.";
    failed_title: "That did not work", "Das ging nicht";
    fault_gone: "This line is not in the log any more: the log was written anew, and is read again. Load the page again.", "Diese Zeile steht nicht mehr im Protokoll: Es wurde neu geschrieben und wird neu gelesen. Lade die Seite noch einmal.";
    fault_log: "A log cannot be read.", "Ein Protokoll lässt sich nicht lesen.";
    fault_index: "What is kept to search in cannot be read. Remove it by signet view --forget: it is made again.", "Was zum Suchen aufbewahrt wird, lässt sich nicht lesen. Entferne es mit signet view --forget: Es wird neu gemacht.";
    fault_other: "This is a fault of the reading room or of the system.", "Das ist ein Fehler des Lesezimmers oder des Systems.";
    live_on: "live", "live";
    live_off: "not live", "nicht live";
    less: "less", "weniger";
    more: "more", "mehr";
    and: " and ", " und ";
    read_only: "This page only shows. It holds no key and can change nothing.", "Diese Seite zeigt nur. Sie hat keinen Schlüssel und kann nichts ändern.";
}

impl Text {
    /// The words for a browser that accepts these languages (RFC 9110, 12.5.4).
    pub(crate) fn of(accepts: &str) -> &'static Self {
        let mut best: Option<(&'static Self, f32)> = None;
        for range in accepts.split(',').take(32) {
            let mut parts = range.split(';');
            let tag = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
            let text = match tag.split('-').next() {
                Some("de") => &GERMAN,
                Some("en") => &ENGLISH,
                _ => continue,
            };
            let weight = parts.find_map(|part| part.trim().strip_prefix("q=")?.parse().ok());
            let weight = weight.unwrap_or(1.0);
            if weight > 0.0 && best.is_none_or(|(_, other)| weight > other) {
                best = Some((text, weight));
            }
        }
        best.map_or(&ENGLISH, |(text, _)| text)
    }

    /// A number with its word.
    pub(crate) fn counted(&self, number: u64, one: &str, many: &str) -> String {
        let word = if number == 1 { one } else { many };
        format!("{} {word}", self.number(number))
    }

    /// A number as the language groups its digits.
    pub(crate) fn number(&self, number: u64) -> String {
        let between = if self.lang == "de" { '.' } else { ',' };
        let digits = number.to_string();
        let mut out = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                out.push(between);
            }
            out.push(digit);
        }
        out
    }

    /// The meaning of a reason, or its name where there are no words for it.
    pub(crate) fn reason<'a>(&self, reason: &'a str) -> &'a str {
        let language = match self.lang {
            "de" => Language::German,
            _ => Language::English,
        };
        reason_in_words(reason, language).unwrap_or(reason)
    }

    /// The name of a tier.
    pub(crate) fn tier(&self, tier: u8) -> &'static str {
        match tier {
            2 => self.tier_2,
            3 => self.tier_3,
            4 => self.tier_4,
            _ => self.tier_1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_hears_the_language_that_it_wants_most() {
        for (accepts, lang) in [
            ("", "en"),
            ("de", "de"),
            ("de-AT,de;q=0.9,en;q=0.8", "de"),
            ("en-GB,en;q=0.9,de;q=0.8", "en"),
            ("fr,de;q=0.4,en;q=0.3", "de"),
            ("de;q=0,en;q=0.1", "en"),
            ("fr;q=0.9", "en"),
            ("de;q=x", "de"),
            (",,;;q=", "en"),
        ] {
            assert_eq!(Text::of(accepts).lang, lang, "{accepts:?}");
        }
    }

    #[test]
    fn every_text_stands_in_both_languages_and_begins_and_ends_alike() {
        for (name, english, german) in ALL {
            assert!(
                !english.trim().is_empty() && !german.trim().is_empty(),
                "{name}"
            );
            // A text that is put together with a name keeps its spaces at the side where the name stands.
            let begin_alike = english.starts_with(' ') == german.starts_with(' ');
            assert!(begin_alike || *name == "stranger_end", "{name}");
            let may_differ = ["trust_", "stranger_", "kept_"]
                .iter()
                .any(|begin| name.starts_with(begin));
            assert!(
                may_differ || english.ends_with(' ') == german.ends_with(' '),
                "{name}"
            );
        }
    }

    #[test]
    fn numbers_are_grouped_as_each_language_does() {
        let (english, german) = (Text::of("en"), Text::of("de"));
        assert_eq!(english.number(1_284_000), "1,284,000");
        assert_eq!(german.number(1_284), "1.284");
        assert_eq!(german.number(999), "999");
        assert_eq!(english.counted(1, "line", "lines"), "1 line");
    }
}
