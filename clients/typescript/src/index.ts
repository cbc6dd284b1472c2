// signet-agent: an agent plugs into the messaging daemon of its machine.
//
//   import { Agent } from "signet-agent";
//   const agent = new Agent();
//   agent.handles("calendar.free-busy", async (request) => ({ evenings: ["Tue", "Thu"] }));
//   await agent.run();
//
// The package talks to `agent.sock` alone: it holds no key, verifies no signature, and decides nothing for the person.

export * from "./agent.js";
export type * as api from "./api.js";
export type {
    Calls,
    Failure,
    Message,
    Name,
    Outgoing,
    Peer,
    Reason,
    Said,
    Sent,
    ShownPeer,
    ShownTask,
    Status,
    Task,
    Waiting,
} from "./api.js";
export { REASONS } from "./api.js";
export * from "./errors.js";
export type * from "./options.js";
export { findSocket } from "./places.js";
export { Request } from "./request.js";
