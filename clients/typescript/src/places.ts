// Where the agent's socket is: as the command `signet` finds its home.

import { isAbsolute, join } from "node:path";

import { NoHome } from "./errors.js";

export interface Where {
    /** The socket itself. */
    socket?: string;
    /** The agent's home. */
    home?: string;
}

/**
 * `socket`, else agent.sock in `home`, else $SIGNET_AGENT_SOCKET, else agent.sock in the home of the environment:
 * $SIGNET_HOME, else $XDG_DATA_HOME/signet, else ~/.local/share/signet.
 */
export function findSocket(where: Where, environment: NodeJS.ProcessEnv = process.env): string {
    if (where.socket !== undefined) return where.socket;
    if (where.home !== undefined) return join(where.home, SOCKET);
    return environment["SIGNET_AGENT_SOCKET"] || join(homeOf(environment), SOCKET);
}

function homeOf(environment: NodeJS.ProcessEnv): string {
    if (environment["SIGNET_HOME"]) return environment["SIGNET_HOME"];
    // The XDG specification has relative paths ignored.
    const data = environment["XDG_DATA_HOME"] ?? "";
    if (isAbsolute(data)) return join(data, "signet");
    if (environment["HOME"]) return join(environment["HOME"], ".local/share/signet");
    throw new NoHome(
        "no home directory: neither SIGNET_HOME, XDG_DATA_HOME nor HOME names one",
        "set SIGNET_HOME to the agent's home, or SIGNET_AGENT_SOCKET to its socket",
    );
}

const SOCKET = "agent.sock";
