// What keys say of other keys and of people's decisions (docs/protocol.md, sections 3, 4, 14 and 15): the form of each, and
// whether its signature holds.

import { base64url, sha256, utf8 } from "./bytes.js";
import type { Ed25519 } from "./ed25519.js";
import * as form from "./forms.js";
import { canonical, type Json, type JsonObject, without } from "./json.js";

/** The first line of what is signed, by its purpose. */
export type Label = "message" | "certificate" | "keys" | "revocation" | "approval" | "decision" | "pause" | "handoff" | "invitation";

/** The bytes under a signature: the first line, and the canonical form of the rest. */
export function signedBytes(label: Label, rest: JsonObject): Uint8Array {
    return utf8(`signet/1 ${label}\n${canonical(rest)}`);
}

/** Whether this key signed the object, but for its `signature`, for this purpose. */
export function signedBy(curve: Ed25519, label: Label, statement: JsonObject, key: Json | undefined): Promise<boolean> {
    const signature = form.bytesOf(statement["signature"]);
    return curve.holds(form.bytesOf(key), signedBytes(label, without(statement, "signature")), signature);
}

const root = { "root-key": form.key, "next-root": form.hash, signature: form.signature };
const span = { serial: form.serial, "not-before": form.time, "not-after": form.time };

/** How members are spelt, without asking whether what they spell is a key, or a list that ascends. */
const spelt = {
    certificate: {
        type: form.oneOf("agent"), "agent-id": form.name, "principal-id": form.name, "signing-key": form.hash,
        layers: form.layers, versions: form.versionList, ...span, ...root, "root-key": form.hash,
    },
    control: {
        type: form.oneOf("control"), "principal-id": form.name, "control-key": form.hash, "audit-key": form.sealingKeySpelt,
        ...span, ...root, "root-key": form.hash,
    },
    keys: {
        type: form.oneOf("keys"), "agent-id": form.name, "sealing-key": form.sealingKeySpelt, serial: form.serial,
        "not-after": form.time, signature: form.signature,
    },
    revocation: {
        type: form.oneOf("revocation"), "principal-id": form.name, "agent-id": form.name, serial: form.serial,
        reason: form.characters(1, 200), "revoked-at": form.time, "root-key": form.hash, signature: form.signature,
    },
    pause: {
        type: form.oneOf("pause"), "principal-id": form.name, paused: form.bool, serial: form.serial, "issued-at": form.time,
        signature: form.signature,
    },
};

/** The spelling of a statement inside of a message: all that V03 asks. */
export const spelling = {
    certificate: form.object(spelt.certificate),
    control: form.object(spelt.control),
    keys: form.object(spelt.keys),
    revocation: form.object(spelt.revocation),
    pause: form.object(spelt.pause),
};

const lasts: form.Form = (value) => before(form.member(value, "not-before"), form.member(value, "not-after"));

/** The form of a certificate. Its keys are keys, its versions ascend, and it ends after it begins. */
export const isCertificate: form.Form = (value) =>
    form.object({ ...spelt.certificate, "signing-key": form.key, versions: form.versions, ...root })(value) && lasts(value);

export const isControl: form.Form = (value) =>
    form.object({ ...spelt.control, "control-key": form.key, "audit-key": form.sealingKey, ...root })(value) && lasts(value);

export const isKeyStatement = form.object({ ...spelt.keys, "sealing-key": form.sealingKey });
export const isRevocation = form.object({ ...spelt.revocation, "root-key": form.key });
export const isPause = form.object(spelt.pause);

export const isApproval = form.object({
    type: form.oneOf("approval"), "principal-id": form.name, draft: form.hash, decision: form.oneOf("approved", "refused"),
    "decided-at": form.time, signature: form.signature,
});

const mandateMembers = form.object(
    {
        type: form.oneOf("handoff"), task: form.uuid, from: form.name, to: form.name, tier: form.tier,
        capabilities: form.list(form.capability, 0, 64), depth: form.integer(0, 7), "not-after": form.time, "issued-at": form.time,
        signature: form.signature,
    },
    { parent: form.hash },
);
const THIRTY_DAYS = 30n * 86_400n * 1_000_000_000n;

export const isMandate: form.Form = (value) => {
    if (!mandateMembers(value)) return false;
    const names = form.member(value, "capabilities") as Json[];
    const life = nanos(form.member(value, "not-after")) - nanos(form.member(value, "issued-at"));
    return new Set(names).size === names.length && life > 0n && life <= THIRTY_DAYS;
};

/** A certificate of an agent, in whose form and root signature nothing is wrong. */
export interface Certificate {
    readonly value: JsonObject;
    /** Its canonical form: two certificates are one where this is the same. */
    readonly text: string;
    readonly agent: string;
    readonly principal: string;
    readonly key: string;
    readonly keyId: string;
    readonly root: string;
    readonly nextRoot: string;
    readonly serial: number;
    readonly layers: number[];
    readonly notBefore: bigint;
    readonly notAfter: bigint;
}

/** The certificate that a value is by its form, or null. Whether its root key signed it is another question. */
export function certificateOf(value: Json | undefined): Certificate | null {
    if (value === undefined || !isCertificate(value)) return null;
    const object = value as JsonObject;
    const member = (name: string) => object[name] as string;
    return {
        value: object,
        text: canonical(object),
        agent: member("agent-id"),
        principal: member("principal-id"),
        key: member("signing-key"),
        keyId: keyIdOf(member("signing-key")),
        root: member("root-key"),
        nextRoot: member("next-root"),
        serial: object["serial"] as number,
        layers: object["layers"] as number[],
        notBefore: nanos(object["not-before"]),
        notAfter: nanos(object["not-after"]),
    };
}

/** Whether the root key in it signed a certificate, of an agent or of control keys, or a revocation. */
export function signedByItsRoot(curve: Ed25519, label: "certificate" | "revocation", value: JsonObject): Promise<boolean> {
    return signedBy(curve, label, value, value["root-key"]);
}

/** `ed25519:` and the hash of a public key. */
export function keyIdOf(key: string): string {
    return `ed25519:${base64url(sha256(form.bytesOf(key)))}`;
}

/** The hash by which a certificate names the next root key. */
export function rootHash(key: string): string {
    return base64url(sha256(form.bytesOf(key)));
}

/** The hash of a statement with its signature: what `parent` and `draft` name. */
export function hashOf(value: Json): string {
    return base64url(sha256(canonical(value)));
}

/** Whether a control certificate covers this time. */
export function covers(control: JsonObject, time: Json | undefined): boolean {
    return nanos(control["not-before"]) <= nanos(time) && nanos(time) <= nanos(control["not-after"]);
}

/** Nanoseconds since 1970 of a time whose form was looked at. */
export function nanos(time: Json | undefined): bigint {
    return form.timeOf(time) ?? 0n;
}

function before(one: Json | undefined, other: Json | undefined): boolean {
    return nanos(one) < nanos(other);
}
