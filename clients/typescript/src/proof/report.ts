// What a proof says to people, in the words of `signet audit verify`.

import type { Proof } from "./bundle.js";

/** Whether all of it holds. */
export function holds(proof: Proof): boolean {
    return proof.faults.length === 0;
}

/** The first line: whether it holds, what is proven, and what is not. */
export function headline({ agent, peer, lines, faults }: Proof): string {
    if (faults.length > 0) {
        const findings = faults.length === 1 ? "1 finding" : `${faults.length} findings`;
        return `NOT OK: ${findings} in the bundle of ${agent} about ${peer}: it proves nothing.`;
    }
    const about = `${lines} ${lines === 1 ? "line" : "lines"} about ${peer} stand in the log of ${agent}`;
    return `OK: ${about}; that none was left out, the bundle does not prove.`;
}

/** The findings, each with its place, and how many more there are than are told. */
export function findings(proof: Proof, name: string, most: number): string[] {
    const told = proof.faults.slice(0, most).map(({ line, fault }) => `${name}, line ${line}: ${fault}`);
    const more = proof.faults.length - told.length;
    if (more > 0) told.push(`… and ${more} ${more === 1 ? "finding" : "findings"} more (--all tells each)`);
    return told;
}

/** One sentence of details. */
export function sentence(proof: Proof): string {
    const { agent, peer, from, to, lines, months, signed, roots, leftOut } = proof;
    if (!holds(proof)) return `bundle of ${agent} about ${peer}: TAMPERED OR DAMAGED: it proves nothing.`;
    const under = [...months].sort().map(([month, size]) => `${month} (${size} ${size === 1 ? "line" : "lines"})`);
    const stand = lines === 1 ? "1 line stands" : `${lines} lines stand`;
    const by = [...signed].sort().map(([who, count]) => `${count} by ${who} (root key: ${roots.get(who) ?? "unknown"})`);
    const rest = leftOut > 0 ? `, its maker left out ${leftOut} newer than the checkpoint` : "";
    return (
        `bundle of ${agent} about ${peer} from ${from} to ${to}: ${stand} in its log under the checkpoints of ${under.join(", ")}; ` +
        `messages are signed, ${by.join(" and ")}${rest}; ` +
        "that no line was left out, and that the log has no other version, it does not prove."
    );
}

/** The report as `signet audit verify` prints it. */
export function report(proof: Proof, name: string, most = 20): string {
    return `${[headline(proof), ...findings(proof, name, most), sentence(proof)].join("\n")}\n`;
}
