//! Reasons in plain words, in the languages in which a log is told to people. The name of each is what docs/protocol.md looks
//! up.

/// A language in which a log is told to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
}

/// The meaning of the reason of that name; `None` where there are no words for it.
#[must_use]
pub fn reason_in_words(reason: &str, language: Language) -> Option<&'static str> {
    let (_, english, german) = TABLE.iter().find(|(names, ..)| names.contains(&reason))?;
    Some(match language {
        Language::English => english,
        Language::German => german,
    })
}

type ReasonWords = (&'static [&'static str], &'static str, &'static str);

const TABLE: &[ReasonWords] = &[
    (
        &["declined"],
        "the other agent declined",
        "der andere Agent lehnte ab",
    ),
    (&["not-approved"], "not approved", "nicht genehmigt"),
    (
        &["agent-unknown", "principal-unknown", "unknown-agent"],
        "from nobody who is known",
        "von niemandem, der bekannt ist",
    ),
    (
        &["agent-id-taken"],
        "under a name that belongs to somebody else",
        "unter einem Namen, der jemand anderem gehört",
    ),
    (
        &["root-changed"],
        "under a known name with another key",
        "unter bekanntem Namen mit anderem Schlüssel",
    ),
    (
        &["signature-invalid"],
        "forged, or changed on the way",
        "gefälscht oder unterwegs verändert",
    ),
    (
        &[
            "certificate-invalid",
            "keys-invalid",
            "key-unknown",
            "principal-mismatch",
            "layers-exceed-certificate",
            "serial-rolled-back",
        ],
        "papers that do not hold",
        "Ausweise, die nicht halten",
    ),
    (
        &["certificate-expired"],
        "papers that have run out",
        "abgelaufene Ausweise",
    ),
    (
        &["certificate-revoked", "peer-revoked"],
        "papers that were revoked",
        "widerrufene Ausweise",
    ),
    (
        &["trust-withdrawn"],
        "from somebody no longer trusted",
        "von jemandem, dem nicht mehr vertraut wird",
    ),
    (
        &[
            "duplicate",
            "message-id-reuse",
            "sequence-reuse",
            "sequence-below-window",
        ],
        "a copy of what came before",
        "eine Kopie von Früherem",
    ),
    (
        &["statement-stale"],
        "an old order, sent again",
        "eine alte Anordnung, noch einmal gesendet",
    ),
    (
        &["expired", "timestamp-in-future", "lifetime-too-long"],
        "out of its time",
        "außerhalb seiner Zeit",
    ),
    (
        &["tier-not-granted", "tier-lowered", "layers-insufficient"],
        "more confidential than was agreed",
        "vertraulicher als vereinbart",
    ),
    (
        &["capability-not-granted", "capability-needed"],
        "something that was not granted",
        "etwas, das nicht erlaubt wurde",
    ),
    (
        &["seal-required"],
        "should have been sealed",
        "hätte versiegelt sein müssen",
    ),
    (
        &["unsealable", "seal-mismatch"],
        "a seal that does not fit",
        "ein Siegel, das nicht passt",
    ),
    (
        &["budget-exceeded", "inbox-full", "handshake-busy"],
        "too much at once",
        "zu viel auf einmal",
    ),
    (
        &["hops-exceeded"],
        "went round in circles",
        "drehte sich im Kreis",
    ),
    (
        &[
            "wrong-recipient",
            "wrong-subject",
            "reflected",
            "response-unsolicited",
        ],
        "meant for somebody else",
        "für jemand anderen bestimmt",
    ),
    (
        &["mandate-invalid", "authority-widened", "task-unknown"],
        "a task that was not theirs to give",
        "eine Aufgabe, die nicht zu vergeben war",
    ),
    (
        &[
            "not-for-this-socket",
            "beyond-ceiling",
            "decision-unsigned",
            "statement-invalid",
        ],
        "not for programs to decide",
        "nichts, was Programme entscheiden",
    ),
    (
        &[
            "handshake-required",
            "session-unknown",
            "session-ended",
            "handshake-unexpected",
            "handshake-crossed",
            "announce-stale",
            "transcript-mismatch",
        ],
        "outside a session",
        "außerhalb einer Sitzung",
    ),
    (
        &[
            "version-mismatch",
            "version-insufficient",
            "version-unsupported",
            "version-downgrade",
        ],
        "another version of signet",
        "eine andere Version von signet",
    ),
    (
        &["peer-refused"],
        "the other side refused to meet",
        "die andere Seite wollte sich nicht treffen",
    ),
    (
        &["body-unfit", "does-not-fit"],
        "did not fit what was agreed",
        "passte nicht zur Vereinbarung",
    ),
    (
        &[
            "too-large",
            "invalid-utf8",
            "byte-order-mark",
            "malformed-json",
            "duplicate-name",
            "lone-surrogate",
            "number-out-of-range",
            "too-deep",
            "too-many-values",
            "batch-unsupported",
            "invalid-shape",
            "method-not-found",
            "header-missing",
            "header-unknown",
            "header-invalid",
            "message-type-mismatch",
            "id-mismatch",
            "offer-invalid",
        ],
        "not a message of signet",
        "keine Nachricht von signet",
    ),
    (&["dropped"], "given up", "aufgegeben"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_the_protocol_has_words() {
        for reason in signet_proto::reject::Reason::ALL {
            for language in [Language::English, Language::German] {
                let words = reason_in_words(reason.name(), language);
                assert!(
                    words.is_some_and(|words| words != reason.name()),
                    "{reason:?}"
                );
            }
        }
        assert_eq!(reason_in_words("no-such-reason", Language::German), None);
    }
}
