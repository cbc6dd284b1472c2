// What the lines of a log prove about each other (docs/protocol.md, section 12, What proves a log): whose keys they make known,
// and whether messages, tasks and decisions hold under those keys.

import type { Ed25519 } from "./ed25519.js";
import { bytesOf, member } from "./forms.js";
import { isObject, type Json, type JsonObject } from "./json.js";
import { type Decision, Decisions } from "./decisions.js";
import { faultsOf, type Line } from "./line.js";
import { bytesUnderSignature, isFlight, type Message } from "./message.js";
import { type Certificate, certificateOf, nanos, rootHash, signedByItsRoot } from "./statements.js";
import { chainHolds } from "./handoff.js";

/** Whose log it is, and about whom its lines are: each null where nothing says so. */
export interface Parties {
    readonly agent: string | null;
    readonly peer: string | null;
}

/** One thing that was looked at in a line, and the fault where it does not hold. */
export interface Check {
    readonly what: What;
    readonly fault: string | null;
}

/** The line as a log writes it · between the two · a key that a root key certified · the person · the time · the signature ·
 * the chain of mandates · the certificate's or revocation's root key · a person's decision. */
export type What = "line" | "parties" | "key" | "person" | "time" | "signature" | "mandates" | "root" | "decision";

/** What a line proves. */
export interface Judged {
    readonly checks: Check[];
    /** Whose signature holds over the message in it. */
    readonly signer: Certificate | null;
    /** The person's decision that let the message leave. */
    readonly approval: Decision | null;
}

interface Root {
    key: string;
    next: string;
    serial: number;
}

const TAKEN = ["bound", "renewed", "root-succeeded", "root-replaced"];

/** Judges lines in their order. */
export class Contents {
    private readonly roots = new Map<string, Root>();
    private readonly newest = new Map<string, Certificate>();
    private readonly keys = new Map<string, Certificate>();
    private readonly decisions = new Decisions((principal) => this.roots.get(principal)?.key, (agent) => this.newest.get(agent));
    private readonly curve: Ed25519;
    readonly parties: Parties;

    constructor(curve: Ed25519, parties: Parties) {
        this.curve = curve;
        this.parties = parties;
    }

    /** The root key that is known for an agent's person. */
    rootOf(agent: string): string | undefined {
        const principal = this.newest.get(agent)?.principal;
        return principal === undefined ? undefined : this.roots.get(principal)?.key;
    }

    async judge(line: Line): Promise<Judged> {
        const checks: Check[] = [];
        const add = (what: What, fault: string | null) => void checks.push({ what, fault });
        const faults = faultsOf(line);
        if (faults.length === 0) add("line", null);
        for (const fault of faults) add("line", fault);
        if (line.kind === "genesis") this.take(certificateOf(line.value["certificate"]) as Certificate, true);
        if (line.kind === "trust") add("root", this.trust(line));
        if (line.kind === "handoff") for (const fault of await this.handed(line)) add("mandates", fault);
        if (line.kind === "draft" || line.kind === "approval" || line.kind === "pause") {
            add("decision", this.decisions.write(line, this.person()));
        }
        const signer = line.message === null ? null : await this.message(line, line.message, add);
        const approval = line.message === null ? null : this.decisions.of(line.message);
        const sent = line.value["verdict"] === "sent" && line.message !== null;
        if (sent && this.decisions.concerns(line.message as Message)) {
            add("decision", this.decisions.sent(line.message as Message, line.ts));
        }
        return { checks, signer, approval: sent ? approval : null };
    }

    private person(): string | undefined {
        return this.parties.agent === null ? undefined : this.newest.get(this.parties.agent)?.principal;
    }

    /** Takes what a `trust` line makes known, or says why it cannot. */
    private trust(line: Line): string | null {
        const { change } = line.value;
        if (change === "revoked") {
            const revocation = line.value["revocation"] as JsonObject;
            const known = this.roots.get(revocation["principal-id"] as string);
            return known?.key === revocation["root-key"] ? null : "the revocation's root key is not the one known for its principal";
        }
        if (!TAKEN.includes(change as string)) return null;
        const certificate = certificateOf(line.value["certificate"]) as Certificate;
        const known = this.roots.get(certificate.principal);
        const same = known?.key === certificate.root;
        const fits = {
            bound: known === undefined || same,
            renewed: same,
            "root-succeeded": known?.next === rootHash(certificate.root),
            "root-replaced": true,
        }[change as "bound"];
        if (!fits) return "the certificate's root key is not the one known for its principal before";
        this.take(certificate, true);
        return null;
    }

    /** From here on messages are proved under this certificate. */
    private take(certificate: Certificate, settles: boolean): void {
        this.keys.set(`${certificate.agent} ${certificate.keyId}`, certificate);
        const { principal, root: key, nextRoot: next, serial } = certificate;
        const known = this.roots.get(principal);
        if (known === undefined || (settles && (known.key !== key || serial >= known.serial))) this.roots.set(principal, { key, next, serial });
        if (settles || certificate.serial >= (this.newest.get(certificate.agent)?.serial ?? 0)) this.newest.set(certificate.agent, certificate);
    }

    /** A flight makes a key known where its agent and its root key, or that one's named successor, are known. */
    private async learn(message: Message): Promise<void> {
        if (!isFlight(message.method)) return;
        const certificate = certificateOf(member(message.envelope["body"], "certificate"));
        if (certificate === null || certificate.agent !== message.headers["agent-id"]) return;
        const root = this.roots.get(certificate.principal);
        const own = this.newest.get(certificate.agent)?.principal === certificate.principal;
        if (!own || root === undefined || (root.key !== certificate.root && root.next !== rootHash(certificate.root))) return;
        if (await signedByItsRoot(this.curve, "certificate", certificate.value)) this.take(certificate, false);
    }

    private async message(line: Line, message: Message, add: (what: What, fault: string | null) => void): Promise<Certificate | null> {
        const { agent, peer } = this.parties;
        const { headers } = message;
        const incoming = line.value["dir"] === "in";
        const [sender, recipient] = [headers["agent-id"] as string, headers["recipient-id"] as string];
        if (agent !== null && (incoming ? recipient : sender) !== agent) {
            add("parties", "the message inside is not between this agent and the line's peer");
        } else if (peer !== null && (incoming ? sender : recipient) !== peer) {
            add("parties", "the message is not one with the peer that the bundle is about");
        } else {
            add("parties", null);
        }
        await this.learn(message);
        const certificate = this.keys.get(`${sender} ${headers["key-id"]}`);
        if (certificate === undefined) {
            add("key", "no line before certifies the key that signed the message");
            return null;
        }
        add("key", null);
        const person = headers["principal-id"] === certificate.principal;
        add("person", person ? null : "the message's principal-id is not its sender's");
        const time = nanos(headers["timestamp"]);
        const within = certificate.notBefore <= time && time <= certificate.notAfter;
        const told = sender === agent || line.value["reason"] === "certificate-expired";
        add("time", within || told ? null : "the sender's certificate was not valid at the message's timestamp");
        const signature = bytesOf(message.envelope["signature"]);
        const holds = await this.curve.holds(bytesOf(certificate.key), bytesUnderSignature(message), signature);
        add("signature", holds ? null : "the message's signature does not hold");
        return holds ? certificate : null;
    }

    private async handed(line: Line): Promise<(string | null)[]> {
        const chain = line.value["chain"];
        if (chain === undefined) return [];
        const faults: string[] = [];
        const last = (chain as Json[]).at(-1);
        const incoming = line.value["dir"] === "in";
        const [from, to] = [member(last, "mandate", "from"), member(last, "mandate", "to")];
        const { agent } = this.parties;
        const [other, own] = incoming ? [from, to] : [to, from];
        if (other !== line.value["peer"] || (agent !== null && own !== agent)) {
            faults.push("the last mandate is not between this agent and the line's peer");
        }
        if (!(await chainHolds(this.curve, (chain as Json[]).filter(isObject)))) {
            faults.push("the chain of mandates does not hold: a signature or a link is wrong, or a step is wider than the one before");
        }
        return faults.length === 0 ? [null] : faults;
    }
}
