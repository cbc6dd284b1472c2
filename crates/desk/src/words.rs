//! Every string of the desk, in English and German: one table.

use hyper::header::{self, HeaderMap};

macro_rules! words {
    ($( $name:ident: $english:literal, $german:literal; )*) => {
        /// The strings of one language.
        pub(crate) struct DeskWords {
            /// As the attribute `lang` says it.
            pub(crate) lang: &'static str,
            $( pub(crate) $name: &'static str, )*
        }

        const ENGLISH: DeskWords = DeskWords { lang: "en", $( $name: $english, )* };
        const GERMAN: DeskWords = DeskWords { lang: "de", $( $name: $german, )* };

        #[cfg(test)]
        const PAIRS: &[(&str, &str, &str)] = &[ $( (stringify!($name), $english, $german), )* ];
    };
}

impl DeskWords {
    /// Those that the browser asks for first, of the two that there are.
    pub(crate) fn of(headers: &HeaderMap) -> &'static Self {
        let asked = headers.get(header::ACCEPT_LANGUAGE);
        let asked = asked
            .and_then(|asked| asked.to_str().ok())
            .unwrap_or_default();
        let best = asked.split(',').filter_map(wanted).max_by(|one, other| {
            // If two entries are wanted equally the first counts. `max_by` would take the last, so call the earlier one
            // greater.
            one.1.total_cmp(&other.1).then(std::cmp::Ordering::Greater)
        });
        match best {
            Some((german, _)) if german => &GERMAN,
            _ => &ENGLISH,
        }
    }
}

/// Whether one entry of Accept-Language is German, and how much it is wanted; `None` for another language than the two.
fn wanted(entry: &str) -> Option<(bool, f32)> {
    let mut parts = entry.trim().split(';');
    let tag = parts.next()?.trim();
    let language = tag.split('-').next()?;
    let weight = parts.find_map(|part| part.trim().strip_prefix("q=")?.parse().ok());
    let weight: f32 = weight.unwrap_or(1.0);
    match language.to_ascii_lowercase().as_str() {
        "de" => Some((true, weight)),
        "en" | "*" => Some((false, weight)),
        _ => None,
    }
}

words! {
    desk: "The desk", "Der Schreibtisch";
    desk_says: "Here you decide. Every page shows in full what a button does; nothing is done by a link.",
        "Hier entscheidest du. Jede Seite zeigt ganz, was ein Knopf tut; kein Link tut etwas.";
    back: "Back to the desk", "Zurück zum Schreibtisch";
    agent_of: "agent of", "Agent von";
    home_word: "Home", "Heim";
    no_daemon: "The daemon of this home does not answer.", "Der Daemon dieses Heims antwortet nicht.";
    not_usable: "A key or a file is not there, or cannot be used as it is.", "Ein Schlüssel oder eine Datei fehlt oder ist so nicht zu gebrauchen.";
    not_allowed: "The daemon or a rule does not allow it, or the key does not fit.", "Der Daemon oder eine Regel erlaubt es nicht, oder der Schlüssel passt nicht.";
    not_written: "Nothing can be written to the disk.", "Auf die Platte lässt sich nichts schreiben.";
    fault: "This is a fault in the desk itself.", "Das ist ein Fehler des Schreibtischs selbst.";
    signet_says: "signet says", "signet sagt (englisch)";
    next: "What to do", "Was zu tun ist";
    strangers: "Strangers that wait for an introduction", "Fremde, die auf eine Vorstellung warten";
    stranger: "A stranger", "Ein Fremder";
    stranger_says: "Nobody has verified either name. Ask that person, by telephone or face to face, to read out the twelve words of their own agent (signet status), and compare each.",
        "Keinen der beiden Namen hat jemand geprüft. Bitte diese Person, am Telefon oder von Angesicht zu Angesicht, die zwölf Wörter ihres eigenen Agenten vorzulesen (signet status), und vergleiche jedes.";
    claims: "It says that it is", "Er nennt sich";
    claims_for: "and that it acts for", "und gibt an zu handeln für";
    since: "since", "seit";
    until: "until", "bis";
    words: "Words", "Wörter";
    their_words: "The words of its root key", "Die Wörter seines Wurzelschlüssels";
    root_key: "Root key", "Wurzelschlüssel";
    approve_stranger: "The same words: trust this agent …", "Dieselben Wörter: diesem Agenten trauen …";
    refuse_stranger: "Other words: refuse it …", "Andere Wörter: ablehnen …";
    sure_approve_stranger: "From now on this agent may write to yours, and what waits for it leaves. What has left cannot be taken back.",
        "Von nun an darf dieser Agent deinem schreiben, und was für ihn wartet, geht hinaus. Was hinausgegangen ist, kann nicht zurückgeholt werden.";
    sure_refuse_stranger: "You will not be asked again about this agent under this root key.",
        "Nach diesem Agenten unter diesem Wurzelschlüssel wirst du nicht mehr gefragt.";
    compared: "I have compared all twelve words with the person", "Ich habe alle zwölf Wörter mit der Person verglichen";
    compare_first: "Nothing was decided: say first that you have compared the words.",
        "Es wurde nichts entschieden: Bestätige erst, dass du die Wörter verglichen hast.";
    trust_it: "Trust this agent", "Diesem Agenten trauen";
    refuse_it: "Refuse", "Ablehnen";
    stranger_trusted: "The agent is trusted.", "Dem Agenten wird getraut.";
    stranger_refused: "The stranger is refused.", "Der Fremde ist abgelehnt.";
    root_alarms: "Somebody uses the name of a person you know with another root key", "Jemand benutzt den Namen einer Person, die du kennst, mit einem anderen Wurzelschlüssel";
    root_alarms_say: "Nothing was accepted. Ask the person, by telephone or face to face; a new key of theirs is taken by: signet trust replace-root",
        "Es wurde nichts angenommen. Frage die Person, am Telefon oder von Angesicht zu Angesicht; einen neuen Schlüssel von ihr nimmt: signet trust replace-root";
    drafts: "Drafts that wait for your approval", "Entwürfe, die auf deine Freigabe warten";
    draft: "A draft", "Ein Entwurf";
    draft_says: "This leaves for the recipient exactly as it stands here, if you approve it. What you sign is the hash of this very draft.",
        "Genau so, wie es hier steht, geht es an den Empfänger, wenn du es freigibst. Du unterschreibst die Prüfsumme genau dieses Entwurfs.";
    recipient: "For", "An";
    kind: "Kind", "Art";
    tier: "Tier", "Stufe";
    capability: "It asks for", "Es bittet um";
    summary: "Summary", "Zusammenfassung";
    no_summary: "none", "keine";
    body: "Body", "Inhalt";
    no_body: "none", "keiner";
    message_name: "Name of the message", "Name der Nachricht";
    hash_signed: "Hash that is signed", "Prüfsumme, die unterschrieben wird";
    cut: "This is the beginning. Read the whole before you decide:", "Das ist der Anfang. Lies das Ganze, bevor du entscheidest:";
    whole_text: "the whole text", "der ganze Text";
    bytes: "bytes", "Bytes";
    approve_draft: "It may leave …", "Es darf hinaus …";
    refuse_draft: "It never leaves …", "Es bleibt hier …";
    sure_approve_draft: "It leaves at once, or as soon as the recipient is reached. What has left cannot be taken back.",
        "Es geht sofort hinaus, oder sobald der Empfänger erreichbar ist. Was hinausgegangen ist, kann nicht zurückgeholt werden.";
    sure_refuse_draft: "The draft ends, and the agent is told that you refused.", "Der Entwurf endet, und dem Agenten wird gesagt, dass du abgelehnt hast.";
    approve: "Approve: it may leave", "Freigeben: es darf hinaus";
    approved_sent: "Approved, and on its way.", "Freigegeben und unterwegs.";
    approved_waits: "Approved; it leaves by itself as soon as it can.", "Freigegeben; es geht von selbst hinaus, sobald es kann.";
    refused_draft: "Refused; it never leaves.", "Abgelehnt; es bleibt hier.";
    changed: "This has changed since it was shown, and nothing was decided. It is shown again as it stands now.",
        "Das hat sich geändert, seit es gezeigt wurde, und nichts wurde entschieden. Hier steht es, wie es jetzt ist.";
    alarms: "Alarms", "Alarme";
    alarms_say: "An alarm is what only a person can judge. Clearing them says that you have seen to them, and the agent goes on.",
        "Ein Alarm ist, was nur ein Mensch beurteilen kann. Löschst du ihn, so sagst du, dass du dich gekümmert hast, und der Agent macht weiter.";
    with: "with", "mit";
    clear: "I have seen to them: clear …", "Ich habe mich gekümmert: löschen …";
    sure_clear: "All alarms that are shown here are cleared. What they held back goes on.", "Alle Alarme, die hier stehen, werden gelöscht. Was sie zurückhielten, geht weiter.";
    clear_now: "Clear the alarms", "Alarme löschen";
    cleared: "The alarms are cleared.", "Die Alarme sind gelöscht.";
    pausing: "The agents of this person pause: none is handed a message, and none sends one.", "Die Agenten dieser Person pausieren: keinem wird eine Nachricht gegeben, und keiner sendet eine.";
    working: "The agents of this person are at work.", "Die Agenten dieser Person arbeiten.";
    pause: "Pause and resume", "Pause und Fortsetzen";
    pause_all: "Pause all agents", "Alle Agenten anhalten";
    resume_all: "Let all agents go on", "Alle Agenten weitermachen lassen";
    paused_now: "The agents pause. Those that this agent knows are told as soon as they are reached.", "Die Agenten pausieren. Die dieser Agent kennt, erfahren es, sobald sie erreichbar sind.";
    resumed_now: "The agents go on.", "Die Agenten machen weiter.";
    trusted: "Agents that are trusted", "Agenten, denen getraut wird";
    trusted_one: "An agent that is trusted", "Ein Agent, dem getraut wird";
    withdraw: "Withdraw the trust …", "Das Vertrauen entziehen …";
    sure_withdraw: "Messages to it and from it that are under way end at once, and open work between the two ends. You may trust it again; what ended stays ended.",
        "Nachrichten an ihn und von ihm, die unterwegs sind, enden sofort, und offene Arbeit zwischen beiden endet. Du kannst ihm wieder trauen; was endete, bleibt beendet.";
    withdraw_now: "Withdraw the trust", "Vertrauen entziehen";
    withdrawn: "The agent is trusted no more.", "Dem Agenten wird nicht mehr getraut.";
    open_sealed: "Open a sealed message", "Eine versiegelte Nachricht öffnen";
    open_says: "It was sealed on its way and lies sealed in the log. Your audit key opens it here, once, for you; nothing of it is kept.",
        "Sie war unterwegs versiegelt und liegt versiegelt im Protokoll. Dein Prüfschlüssel öffnet sie hier, einmal, für dich; nichts davon wird aufgehoben.";
    open_now: "Open", "Öffnen";
    opened: "An opened message", "Eine geöffnete Nachricht";
    not_sealed: "The log has no sealed line of that name.", "Das Protokoll hat keine versiegelte Zeile dieses Namens.";
    asked_for: "Asked for in the reading room", "Im Lesezimmer angefragt";
    line: "Line", "Zeile";
    came_from: "came from", "kam von";
    went_to: "went to", "ging an";
    waits_for: "ready for", "bereit für";
    sure: "Once more: this cannot be undone", "Noch einmal: das ist nicht rückgängig zu machen";
    entering: "You are being let in …", "Du wirst eingelassen …";
    go_on: "Go on", "Weiter";
    used_address: "This address was used already, or is too old.", "Diese Adresse wurde schon benutzt oder ist zu alt.";
    not_in: "This browser is not at the desk. Open it by: signet view", "Dieser Browser ist nicht am Schreibtisch. Öffne ihn mit: signet view";
    elsewhere: "Your desk is open in the tab that signet view opened. What you asked for stands there; or open it anew by: signet view",
        "Dein Schreibtisch ist in dem Tab offen, den signet view geöffnet hat. Dort steht, wonach du fragtest; oder öffne ihn neu mit: signet view";
    nothing_here: "There is nothing at this address.", "Unter dieser Adresse ist nichts.";
    wrong_host: "This address is called by another name than its own.", "Diese Adresse wurde unter einem anderen als ihrem Namen aufgerufen.";
    other_user: "This desk is another user's.", "Dieser Schreibtisch gehört einem anderen Benutzer.";
    other_site: "Another page asked for this, and is refused.", "Eine andere Seite hat das verlangt und wird abgewiesen.";
    wrong_form: "This is not how the desk is called.", "So wird der Schreibtisch nicht aufgerufen.";
    too_much: "The form is too long, or did not come in time.", "Das Formular ist zu lang oder kam nicht rechtzeitig.";
    refused: "It was not done", "Es wurde nicht getan";
    unknown_home: "No home of that name is at this desk.", "Kein Heim dieses Namens ist an diesem Schreibtisch.";
    gone: "That does not wait any more: it was decided elsewhere, or its time is over.", "Das wartet nicht mehr: es wurde anderswo entschieden, oder seine Zeit ist um.";
    used_form: "This form was used already, or lay for too long. Nothing was done now; look on the desk how it stands.",
        "Dieses Formular wurde schon benutzt oder lag zu lange. Jetzt wurde nichts getan; sieh am Schreibtisch nach, wie es steht.";
    done: "Done", "Getan";
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn lang(asked: &'static str) -> &'static str {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(asked));
        DeskWords::of(&headers).lang
    }

    #[test]
    fn the_browsers_language_is_spoken_where_it_is_one_of_the_two() {
        assert_eq!(lang("de-AT,en;q=0.8"), "de");
        assert_eq!(lang("en-GB,de;q=0.8"), "en");
        assert_eq!(lang("fr,de;q=0.5,en;q=0.4"), "de");
        assert_eq!(lang("fr"), "en");
        assert_eq!(lang("de, en"), "de");
        assert_eq!(lang("en;q=nonsense, de;q=0.1"), "en");
        assert_eq!(DeskWords::of(&HeaderMap::new()).lang, "en");
    }

    #[test]
    fn each_string_says_something_else_in_each_language() {
        for (name, english, german) in PAIRS {
            assert!(!english.is_empty() && !german.is_empty(), "{name}");
            assert_ne!(english, german, "{name}");
        }
    }
}
