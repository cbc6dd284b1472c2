// Every text of the page that is the page's own, in English and in German. What others wrote is never translated, and the
// verifier's reasons are in the words of `signet audit verify`.

import type { What } from "../contents.js";

export interface Texts {
    readonly lang: string;
    readonly title: string;
    readonly holds: string;
    readonly fails: string;
    readonly broken: string;
    readonly checking: string;
    readonly one: (said: { from: string; person: string; to: string; when: string; summary: string | null; sealed: boolean }) => string;
    readonly many: (said: { one: string; other: string; count: number; from: string; to: string }) => string;
    readonly approved: (person: string, count: number, all: number) => string;
    readonly logs: (agents: string[]) => string;
    readonly received: (agent: string, count: number, all: number) => string;
    readonly justNow: (when: string) => string;
    readonly failsNow: (when: string) => string;
    readonly limits: string;
    readonly compare: string;
    readonly rootOf: (agent: string) => string;
    readonly thread: string;
    readonly protocol: (count: number) => string;
    readonly findings: string;
    readonly line: (number: number) => string;
    readonly checks: string;
    readonly whole: string;
    readonly summary: string;
    readonly sealed: string;
    readonly opened: string;
    readonly none: string;
    readonly refused: (reason: string) => string;
    readonly kept: (verdict: string, reason: string | null) => string;
    readonly tier: (tier: number) => string;
    readonly byPerson: (person: string, when: string) => string;
    readonly hasIt: (agent: string, when: string) => string;
    readonly cut: (more: number, hash: string) => string;
    readonly what: Readonly<Record<What | "place", string>>;
    readonly unproven: string;
    readonly engine: Readonly<Record<"webcrypto" | "noble", string>>;
    readonly script: string;
    readonly believe: string;
    readonly more: (count: number) => string;
}

const messages = (count: number, all: number, it: string, them: string, of: (count: number, all: number) => string) =>
    all === 1 ? it : count === all ? them : of(count, all);

const english: Texts = {
    lang: "en",
    title: "Evidence of what agents said",
    holds: "It holds",
    fails: "It does not hold",
    broken: "There is nothing here that could be checked.",
    checking: "Checking …",
    one: ({ from, person, to, when, summary, sealed }) =>
        `${from} of ${person} told ${to} on ${when}: ${summary === null ? (sealed ? "something that is sealed" : "a message without a summary") : `“${summary}”`}.`,
    many: ({ one, other, count, from, to }) => `${one} and ${other} exchanged ${count} messages, from ${from} to ${to}.`,
    approved: (person, count, all) =>
        `${person} signed ${messages(count, all, "that it may leave", "that all of them may leave", () => `that ${count} of them may leave`)}.`,
    logs: (agents) => `The log of ${agents.join(" and the log of ")} ${agents.length > 1 ? "witness it" : "witnesses it"}, under the log's checkpoint.`,
    received: (agent, count, all) =>
        `${agent} signed ${messages(count, all, "that it has it", "that it has all of those that it was sent", () => `that it has ${count} of the ${all} that it was sent`)}.`,
    justNow: (when) => `All of this holds, as checked just now (${when}) by this browser.`,
    failsNow: (when) => `This does not hold, as checked just now (${when}) by this browser: something was changed, is damaged or is missing. Believe nothing of it.`,
    limits: "Not proven: that no message was left out, and that the log has no other version. The log itself, or the peer's, proves that.",
    compare: "The signatures stand under these root keys. Compare their words with the people themselves, by telephone or face to face:",
    rootOf: (agent) => `Root key of ${agent}’s person`,
    thread: "What was said",
    protocol: (count) => `What the protocol needs besides: ${count} ${count === 1 ? "line" : "lines"} (handshakes, receipts)`,
    findings: "What does not hold",
    line: (number) => `line ${number}`,
    checks: "What was checked",
    whole: "The message as it was signed",
    summary: "Checks of the message",
    sealed: "Sealed: only its recipient, and each side’s person, can read it.",
    opened: "Opened by whoever made this page. No signature covers these words: the signature is over the sealed box.",
    none: "(no text)",
    refused: (reason) => `Refused: ${reason}`,
    kept: (verdict, reason) => (reason === null ? ({ accepted: "accepted by its recipient", sent: "sent" } as Record<string, string>)[verdict] ?? verdict : `refused by its recipient (${reason})`),
    tier: (tier) => ["public", "household", "sensitive", "restricted"][tier - 1] ?? String(tier),
    byPerson: (person, when) => `${person} approved it (${when})`,
    hasIt: (agent, when) => `${agent} signed that it has it (${when})`,
    cut: (more, hash) => `… ${more} more characters; SHA-256 of the whole message: ${hash}`,
    what: {
        place: "It stands in the log, under the checkpoint of its month",
        line: "The line is as a log writes it, and says what the message says",
        parties: "It is between these two agents",
        key: "The key that signed it was certified, under the root key of the sender’s person",
        person: "The sender acts for the person whom its certificate names",
        time: "It was signed while the certificate was valid",
        signature: "The signature holds over every character of it",
        mandates: "The chain of mandates holds",
        root: "The root key is the one that is known for this person",
        decision: "It left as its draft says, and with the approval that it waited for",
    },
    unproven: "This line is here for its certificates alone; no checkpoint covers it",
    engine: { webcrypto: "The browser itself computed the signatures (WebCrypto).", noble: "This browser has no Ed25519: the code in this page computed the signatures (@noble/curves)." },
    script: "SHA-256 of the script that checked this:",
    believe: "A page that was edited cannot be believed for its own words. The command signet prove --check FILE compares the script and checks the data with other code; signet-proof, of the package signet-agent, is the same verifier for Node.",
    more: (count) => `Show ${count} more`,
};

const german: Texts = {
    lang: "de",
    title: "Beleg dafür, was Agenten gesagt haben",
    holds: "Es stimmt",
    fails: "Es stimmt nicht",
    broken: "Hier ist nichts, was sich prüfen ließe.",
    checking: "Wird geprüft …",
    one: ({ from, person, to, when, summary, sealed }) =>
        `${from} (für ${person}) schrieb am ${when} an ${to}: ${summary === null ? (sealed ? "etwas Versiegeltes" : "eine Nachricht ohne Zusammenfassung") : `„${summary}“`}.`,
    many: ({ one, other, count, from, to }) => `${one} und ${other} tauschten ${count} Nachrichten aus, vom ${from} bis zum ${to}.`,
    approved: (person, count, all) =>
        `${person} hat unterschrieben, dass ${messages(count, all, "sie hinausdarf", "alle hinausdürfen", () => `${count} davon hinausdürfen`)}.`,
    logs: (agents) => `Das Protokoll von ${agents.join(" und das Protokoll von ")} ${agents.length > 1 ? "bezeugen" : "bezeugt"} es, unter dem Prüfpunkt des Protokolls.`,
    received: (agent, count, all) =>
        `${agent} hat unterschrieben, dass ${messages(count, all, "sie angekommen ist", "alles an ihn angekommen ist", () => `${count} der ${all} Nachrichten an ihn angekommen sind`)}.`,
    justNow: (when) => `All das stimmt, soeben (${when}) von diesem Browser geprüft.`,
    failsNow: (when) => `Das stimmt nicht, soeben (${when}) von diesem Browser geprüft: Etwas wurde verändert, ist beschädigt oder fehlt. Glauben Sie nichts davon.`,
    limits: "Nicht bewiesen ist, dass keine Nachricht weggelassen wurde und dass es keine andere Fassung des Protokolls gibt. Das zeigt nur das Protokoll selbst oder das der Gegenseite.",
    compare: "Die Unterschriften stehen unter diesen Hauptschlüsseln. Vergleichen Sie deren Wörter mit den Personen selbst, am Telefon oder von Angesicht zu Angesicht:",
    rootOf: (agent) => `Hauptschlüssel der Person von ${agent}`,
    thread: "Was gesagt wurde",
    protocol: (count) => `Was das Verfahren außerdem braucht: ${count} ${count === 1 ? "Zeile" : "Zeilen"} (Handschläge, Quittungen)`,
    findings: "Was nicht stimmt",
    line: (number) => `Zeile ${number}`,
    checks: "Was geprüft wurde",
    whole: "Die Nachricht, wie sie unterschrieben wurde",
    summary: "Prüfungen der Nachricht",
    sealed: "Versiegelt: nur der Empfänger und die Person jeder Seite können es lesen.",
    opened: "Geöffnet von dem, der diese Seite gemacht hat. Keine Unterschrift deckt diese Worte: Unterschrieben ist der versiegelte Umschlag.",
    none: "(ohne Text)",
    refused: (reason) => `Abgelehnt: ${reason}`,
    kept: (verdict, reason) => (reason === null ? ({ accepted: "vom Empfänger angenommen", sent: "gesendet" } as Record<string, string>)[verdict] ?? verdict : `vom Empfänger abgewiesen (${reason})`),
    tier: (tier) => ["öffentlich", "Haushalt", "vertraulich", "streng vertraulich"][tier - 1] ?? String(tier),
    byPerson: (person, when) => `${person} hat es freigegeben (${when})`,
    hasIt: (agent, when) => `${agent} hat den Empfang unterschrieben (${when})`,
    cut: (more, hash) => `… noch ${more} Zeichen; SHA-256 der ganzen Nachricht: ${hash}`,
    what: {
        place: "Sie steht im Protokoll, unter dem Prüfpunkt ihres Monats",
        line: "Die Zeile ist so, wie ein Protokoll sie schreibt, und sagt, was die Nachricht sagt",
        parties: "Sie ist zwischen diesen beiden Agenten",
        key: "Der Schlüssel, der sie unterschrieb, ist beglaubigt, unter dem Hauptschlüssel der Person des Absenders",
        person: "Der Absender handelt für die Person, die sein Zertifikat nennt",
        time: "Sie wurde unterschrieben, als das Zertifikat galt",
        signature: "Die Unterschrift gilt für jedes Zeichen",
        mandates: "Die Kette der Aufträge stimmt",
        root: "Der Hauptschlüssel ist der, der für diese Person bekannt ist",
        decision: "Sie ging so hinaus, wie ihr Entwurf sagt, und mit der Freigabe, auf die er wartete",
    },
    unproven: "Diese Zeile ist nur wegen ihrer Zertifikate hier; kein Prüfpunkt deckt sie",
    engine: { webcrypto: "Der Browser selbst hat die Unterschriften nachgerechnet (WebCrypto).", noble: "Dieser Browser kennt Ed25519 nicht: Der Code in dieser Seite hat die Unterschriften nachgerechnet (@noble/curves)." },
    script: "SHA-256 des Skripts, das geprüft hat:",
    believe: "Einer veränderten Seite kann man nicht auf ihr Wort glauben. Der Befehl signet prove --check DATEI vergleicht das Skript und prüft die Daten mit anderem Code; signet-proof aus dem Paket signet-agent ist dasselbe Prüfprogramm für Node.",
    more: (count) => `${count} weitere zeigen`,
};

/** The texts for a browser's language. */
export const textsFor = (language: string): Texts => (/^de\b/i.test(language) ? german : english);
