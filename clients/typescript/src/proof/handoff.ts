// A chain of mandates (docs/protocol.md, section 14): what of it can be proved from itself.

import type { Ed25519 } from "./ed25519.js";
import type { Json, JsonObject } from "./json.js";
import { certificateOf, hashOf, nanos, signedBy, signedByItsRoot } from "./statements.js";

/** Whether each link is signed and follows the one before (rules 5 to 9), under certificates that their root keys signed. */
export async function chainHolds(curve: Ed25519, chain: JsonObject[]): Promise<boolean> {
    const seen = new Set<Json>();
    let before: JsonObject | null = null;
    for (const link of chain) {
        const mandate = link["mandate"] as JsonObject;
        const certificate = certificateOf(link["certificate"]);
        if (certificate === null || certificate.agent !== mandate["from"]) return false;
        if (!(await signedByItsRoot(curve, "certificate", certificate.value))) return false;
        if (!(await signedBy(curve, "handoff", mandate, certificate.key))) return false;
        if (before === null ? "parent" in mandate : !follows(mandate, before)) return false;
        if (before === null) seen.add(mandate["from"] as Json);
        if (seen.has(mandate["to"] as Json)) return false;
        seen.add(mandate["to"] as Json);
        before = mandate;
    }
    return before !== null;
}

function follows(mandate: JsonObject, before: JsonObject): boolean {
    const names = before["capabilities"] as Json[];
    return (
        mandate["parent"] === hashOf(before) &&
        mandate["from"] === before["to"] &&
        mandate["task"] === before["task"] &&
        (mandate["capabilities"] as Json[]).every((name) => names.includes(name)) &&
        (mandate["tier"] as number) <= (before["tier"] as number) &&
        (mandate["depth"] as number) < (before["depth"] as number) &&
        nanos(mandate["not-after"]) <= nanos(before["not-after"])
    );
}
