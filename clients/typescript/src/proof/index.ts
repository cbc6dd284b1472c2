/**
 * The reading half of signet/1, for whoever has been handed evidence and has no signet: strict JSON, signatures, certificates,
 * lines of logs, checkpoints and inclusion proofs. Written from docs/protocol.md; it opens no file and no connection.
 */

export { type Entry, type Fault, headerOf, type Proof, proveBundle } from "./bundle.js";
export type { Check, What } from "./contents.js";
export type { Decision } from "./decisions.js";
export { Ed25519, type Engine } from "./ed25519.js";
export { chainHolds } from "./handoff.js";
export { canonical, type Json, type JsonObject, NotStrict, parse } from "./json.js";
export type { Line } from "./line.js";
export { type LogFault, type Month, proveLog } from "./log.js";
export { bytesUnderSignature, hashOfBytes, hashText, isRefusal, type Message, readMessage, type Refusal } from "./message.js";
export { REASONS } from "./reasons.js";
export { findings, headline, holds, report, sentence } from "./report.js";
export * as statements from "./statements.js";
export { type Story, storyOf, type Told } from "./story.js";
export { transcriptOf } from "./transcript.js";
export { type Certificate } from "./statements.js";
export { Known } from "./trust.js";
export { wordsOf } from "./words.js";
