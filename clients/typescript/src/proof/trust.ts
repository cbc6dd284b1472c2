// Who is known, and how a certificate stands (docs/protocol.md, section 4, Who is known, and V06).

import type { Ed25519 } from "./ed25519.js";
import { bytesOf, member } from "./forms.js";
import type { Json, JsonObject } from "./json.js";
import { bytesUnderSignature, isFlight, type Message } from "./message.js";
import { type Certificate, certificateOf, isKeyStatement, nanos, rootHash, signedBy, signedByItsRoot } from "./statements.js";

interface Root {
    key: string;
    /** The hash of the root key that alone may follow, and the serial of the certificate that named it. */
    next: string;
    serial: number;
}

interface Agent {
    principal: string;
    /** The newest first, four at most. */
    certificates: Certificate[];
    withdrawn: boolean;
}

const DAY = 86_400n * 1_000_000_000n;
const STATEMENT_LIFE = 45n * DAY + 3_600n * 1_000_000_000n;

/** Whom somebody knows: by a person's word, and by what root keys signed since. */
export class Known {
    private readonly roots = new Map<string, Root>();
    private readonly agents = new Map<string, Agent>();
    private readonly refused = new Set<string>();
    private readonly revocations: JsonObject[] = [];

    /** A person trusts this agent. */
    trust(certificate: Certificate): void {
        this.refused.delete(`${certificate.root} ${certificate.agent}`);
        const root = this.roots.get(certificate.principal);
        if (root !== undefined && root.key !== certificate.root) this.forget(certificate.principal);
        this.take(certificate);
        (this.agents.get(certificate.agent) as Agent).withdrawn = false;
    }

    /** A certificate of a known agent, under its known root key or that one's named successor, takes its place. */
    take(certificate: Certificate): void {
        const root = this.roots.get(certificate.principal);
        if (root === undefined || root.key !== certificate.root || certificate.serial >= root.serial) {
            const { root: key, nextRoot: next, serial } = certificate;
            this.roots.set(certificate.principal, { key, next, serial });
        }
        const agent = this.agents.get(certificate.agent);
        const { principal } = certificate;
        const others = (agent?.certificates ?? []).filter((other) => other.text !== certificate.text);
        const certificates = [certificate, ...others].slice(0, 4);
        this.agents.set(certificate.agent, { principal, certificates, withdrawn: agent?.withdrawn ?? false });
    }

    withdraw(agent: string): void {
        const found = this.agents.get(agent);
        if (found !== undefined) found.withdrawn = true;
    }

    refuse(certificate: Certificate): void {
        this.refused.add(`${certificate.root} ${certificate.agent}`);
    }

    revoke(revocation: JsonObject): void {
        this.revocations.push(revocation);
    }

    /** The root key that is known for a principal. */
    rootOf(principal: string): string | undefined {
        return this.roots.get(principal)?.key;
    }

    newest(agent: string): Certificate | undefined {
        return this.agents.get(agent)?.certificates[0];
    }

    principalOf(agent: string): string | undefined {
        return this.agents.get(agent)?.principal;
    }

    /** Whether this certificate's root key is the one that the known root key of its principal named. */
    succeeds(certificate: Certificate): boolean {
        const root = this.roots.get(certificate.principal);
        const newest = this.newest(certificate.agent);
        return root !== undefined && rootHash(certificate.root) === root.next && certificate.serial > (newest?.serial ?? 0);
    }

    /** How a certificate stands: the reason of the first of the seven lines that fits, or null where it is good. */
    judge(certificate: Certificate): string | null {
        const root = this.roots.get(certificate.principal);
        const agent = this.agents.get(certificate.agent);
        const newest = agent?.certificates[0];
        const same = newest?.text === certificate.text;
        const succeeds = this.succeeds(certificate);
        if (root !== undefined && root.key !== certificate.root && !succeeds) {
            if (!same) return "root-changed";
            return this.standing(agent as Agent, certificate);
        }
        if (agent === undefined) {
            if (this.isRevoked(certificate)) return "certificate-revoked";
            if (this.refused.has(`${certificate.root} ${certificate.agent}`)) return "trust-withdrawn";
            return root === undefined ? "principal-unknown" : "agent-unknown";
        }
        if (agent.principal !== certificate.principal) return "agent-id-taken";
        if (this.isRevoked(certificate)) return "certificate-revoked";
        const back = newest !== undefined && (certificate.serial < newest.serial || (certificate.serial === newest.serial && !same));
        if (root?.key === certificate.root && back) return "serial-rolled-back";
        return agent.withdrawn ? "trust-withdrawn" : null;
    }

    private standing(agent: Agent, certificate: Certificate): string | null {
        if (agent.withdrawn) return "trust-withdrawn";
        return this.isRevoked(certificate) ? "certificate-revoked" : null;
    }

    /** Revocations count for the certificates of the root key that signed them; the known one's also for those of older root keys. */
    isRevoked(certificate: Certificate): boolean {
        const known = this.rootOf(certificate.principal);
        return this.revocations.some(
            (one) =>
                one["principal-id"] === certificate.principal &&
                one["agent-id"] === certificate.agent &&
                (one["serial"] as number) >= certificate.serial &&
                (one["root-key"] === certificate.root || (one["root-key"] === known && !this.succeeds(certificate))),
        );
    }

    private forget(principal: string): void {
        this.roots.delete(principal);
        for (const agent of this.agents.values()) {
            if (agent.principal !== principal) continue;
            agent.withdrawn = true;
            agent.certificates = [];
        }
    }

    /** The first reason of V06 and V07 for which this agent refuses a message, or null: its sender is trusted and signed it. */
    async verify(curve: Ed25519, message: Message): Promise<string | null> {
        const { headers } = message;
        const sender = headers["agent-id"] as string;
        const flight = isFlight(message.method);
        const found = flight ? await this.certified(curve, message) : this.keyOf(sender, headers["key-id"] as string);
        if (typeof found === "string") return found;
        const time = nanos(headers["timestamp"]);
        if (time < found.notBefore || time > found.notAfter) return "certificate-expired";
        if (headers["principal-id"] !== found.principal) return "principal-mismatch";
        if (!isWithin(headers["skill-layers-loaded"], found.layers)) return "layers-exceed-certificate";
        if (flight && !(await keysHold(curve, message, found))) return "keys-invalid";
        const holds = await curve.holds(bytesOf(found.key), bytesUnderSignature(message), bytesOf(message.envelope["signature"]));
        return holds ? null : "signature-invalid";
    }

    private keyOf(sender: string, keyId: string): Certificate | string {
        const agent = this.agents.get(sender);
        if (agent === undefined) return "agent-unknown";
        if (agent.withdrawn) return "trust-withdrawn";
        const certificate = agent.certificates.find((one) => one.keyId === keyId);
        if (certificate === undefined) return "key-unknown";
        return this.isRevoked(certificate) ? "certificate-revoked" : certificate;
    }

    private async certified(curve: Ed25519, message: Message): Promise<Certificate | string> {
        const certificate = certificateOf(member(message.envelope["body"], "certificate"));
        if (certificate === null || certificate.agent !== message.headers["agent-id"]) return "certificate-invalid";
        const fault = this.judge(certificate);
        if (fault !== null) return fault;
        const known = this.newest(certificate.agent)?.text === certificate.text;
        if (!known && !(await signedByItsRoot(curve, "certificate", certificate.value))) return "certificate-invalid";
        return certificate.keyId === message.headers["key-id"] ? certificate : "key-unknown";
    }
}

/** Whether the key statement of a flight is its sender's, and of its time. */
async function keysHold(curve: Ed25519, message: Message, certificate: Certificate): Promise<boolean> {
    const keys = member(message.envelope["body"], "keys");
    if (keys === undefined || !isKeyStatement(keys)) return false;
    const statement = keys as JsonObject;
    const [time, end] = [nanos(message.headers["timestamp"]), nanos(statement["not-after"])];
    if (statement["agent-id"] !== certificate.agent || end < time || end > time + STATEMENT_LIFE) return false;
    return signedBy(curve, "keys", statement, certificate.key);
}

export function isWithin(layers: Json | undefined, most: number[]): boolean {
    return (layers as number[]).every((layer) => most.includes(layer));
}
