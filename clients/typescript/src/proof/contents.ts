// What the lines of a log prove about each other (docs/protocol.md, section 12, What proves a log): whose keys they make known,
// and whether messages, tasks and decisions hold under those keys.

import type { Ed25519 } from "./ed25519.js";
import { bytesOf, member } from "./forms.js";
import { isObject, type Json, type JsonObject } from "./json.js";
import { type Decision, Decisions, type Person } from "./decisions.js";
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
    readonly checks: readonly Check[];
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

interface KnownAgent {
    readonly principal: string;
    /** The newest last. */
    readonly certificates: Certificate[];
}

interface Signed {
    readonly certificate: Certificate;
    readonly holds: Promise<boolean>;
}

const FORGED = "the message's signature does not hold";
const OF_ANOTHER = "the message is not one with the peer that the bundle is about";
const DECISIONS = ["draft", "approval", "outcome", "pause"];
const TAKEN = ["bound", "renewed", "root-succeeded", "root-replaced"];

/** Judges lines in their order. */
export class Contents {
    private readonly roots = new Map<string, Root>();
    private readonly agents = new Map<string, KnownAgent>();
    /** Whose log it is, by its first line. */
    private me: string | null = null;
    private readonly decisions = new Decisions((agent) => this.rootOf(agent));
    private readonly curve: Ed25519;
    readonly parties: Parties;

    constructor(curve: Ed25519, parties: Parties) {
        this.curve = curve;
        this.parties = parties;
    }

    /** The root key that is known for an agent's person. */
    rootOf(agent: string): string | undefined {
        const known = this.agents.get(agent);
        return known === undefined ? undefined : this.roots.get(known.principal)?.key;
    }

    /** What the line proves; of a signature the verdict may come later, while the next lines are judged. */
    async judge(line: Line): Promise<() => Promise<Judged>> {
        const checks: (Check | Promise<Check>)[] = [];
        const add = (what: What, fault: string | null) => void checks.push({ what, fault });
        const faults = faultsOf(line);
        if (faults.length === 0) add("line", null);
        for (const fault of faults) add("line", fault);
        const bare = line.kind === "handoff" || (line.kind === "message" && line.message === null);
        const other = bare && this.parties.peer !== null && line.value["peer"] !== this.parties.peer;
        if (other) add("parties", OF_ANOTHER);
        if (line.kind === "genesis") this.begin(certificateOf(line.value["certificate"]) as Certificate);
        if (line.kind === "trust") add("root", this.trust(line));
        if (line.kind === "handoff" && !other) for (const fault of await this.handed(line)) add("mandates", fault);
        if (DECISIONS.includes(line.kind)) add("decision", this.decisions.write(line, this.person()));
        const signed = line.message === null ? null : await this.message(line, line.message, add);
        if (signed !== null) checks.push(signed.holds.then((holds) => ({ what: "signature", fault: holds ? null : FORGED })));
        const sent = line.value["verdict"] === "sent" ? line.message : null;
        const left = sent === null ? undefined : this.decisions.sent(sent);
        if (left !== undefined) add("decision", left);
        const approval = sent === null ? null : this.decisions.of(sent);
        return async () => {
            const signer = signed !== null && (await signed.holds) ? signed.certificate : null;
            return { checks: await Promise.all(checks), signer, approval };
        };
    }

    /** Whose word counts: the person of the log's agent, by the root key of its own certificate or the one that is known since. */
    private person(): Person | null {
        const known = this.me === null ? undefined : this.agents.get(this.me);
        const newest = known?.certificates.at(-1);
        if (known === undefined || newest === undefined) return null;
        return { principal: known.principal, roots: [newest.root, this.roots.get(known.principal)?.key] };
    }

    private begin(own: Certificate): void {
        this.me = own.agent;
        this.bind(own);
    }

    /** Takes what a `trust` line makes known, or says why it cannot. */
    private trust(line: Line): string | null {
        const { change } = line.value;
        if (change === "revoked") {
            const revocation = line.value["revocation"] as JsonObject;
            const known = this.roots.get(revocation["principal-id"] as string);
            const root = revocation["root-key"] as string;
            const counts = known !== undefined && (known.key === root || known.next === rootHash(root));
            return counts ? null : "the revocation's root key is not the one known for its principal";
        }
        if (!TAKEN.includes(change as string)) return null;
        const certificate = certificateOf(line.value["certificate"]) as Certificate;
        if (change === "root-replaced") this.roots.set(certificate.principal, rootOf(certificate));
        return this.bind(certificate);
    }

    /** From here on messages are proved under this certificate; or why it cannot be. */
    private bind(certificate: Certificate): string | null {
        const { agent, principal } = certificate;
        const known = this.agents.get(agent);
        if (known?.certificates.some(({ text }) => text === certificate.text)) return null;
        // Between two lines its own person may have changed the root key several times.
        const root = agent === this.me ? undefined : this.roots.get(principal);
        const same = root?.key === certificate.root;
        const succeeds = !same && root?.next === rootHash(certificate.root);
        if (root !== undefined && !same && !succeeds) return "the certificate's root key is not the one known for its principal before";
        // An older certificate does not bring back the successor that the root key named before.
        if (root === undefined || succeeds || certificate.serial >= root.serial) this.roots.set(principal, rootOf(certificate));
        if (known !== undefined && known.principal !== principal) return "the agent was known as another principal's before";
        this.agents.set(agent, { principal, certificates: [...(known?.certificates ?? []), certificate] });
        return null;
    }

    /** A flight makes a key known where its agent and its root key, or that one's named successor, are known. */
    private async learn(message: Message): Promise<void> {
        if (!isFlight(message.method)) return;
        const certificate = certificateOf(member(message.envelope["body"], "certificate"));
        if (certificate === null) return;
        const known = this.agents.get(certificate.agent);
        const root = this.roots.get(certificate.principal);
        if (known?.principal !== certificate.principal || root === undefined) return;
        if (root.key !== certificate.root && root.next !== rootHash(certificate.root)) return;
        if (known.certificates.some(({ text }) => text === certificate.text)) return;
        if (await signedByItsRoot(this.curve, "certificate", certificate.value)) known.certificates.push(certificate);
    }

    private async message(line: Line, message: Message, add: (what: What, fault: string | null) => void): Promise<Signed | null> {
        const { agent, peer } = this.parties;
        const { headers } = message;
        const incoming = line.value["dir"] === "in";
        const [sender, recipient] = [headers["agent-id"] as string, headers["recipient-id"] as string];
        if (agent !== null && (incoming ? recipient : sender) !== agent) {
            add("parties", "the message inside is not between this agent and the line's peer");
        } else if (peer !== null && (incoming ? sender : recipient) !== peer) {
            add("parties", OF_ANOTHER);
        } else {
            add("parties", null);
        }
        await this.learn(message);
        const certificate = this.agents.get(sender)?.certificates.findLast(({ keyId }) => keyId === headers["key-id"]);
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
        return { certificate, holds: this.curve.holds(bytesOf(certificate.key), bytesUnderSignature(message), signature) };
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

const rootOf = ({ root: key, nextRoot: next, serial }: Certificate): Root => ({ key, next, serial });
