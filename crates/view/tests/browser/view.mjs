// `signet view` as a person starts it on a machine without a browser of its own: it prints the address to open.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { eventually } from "./household.mjs";

export class View {
    /** The command on homes, or with other words. */
    static async open(signet, args, env = {}) {
        const child = spawn(signet, ["view", ...args], { env: { PATH: "/usr/bin:/bin", ...env }, stdio: ["ignore", "pipe", "pipe"] });
        const view = Object.assign(new View(), { child, said: "" });
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => { view.said += piece; });
        view.once = await eventually("signet view prints an address", () => {
            if (child.exitCode !== null) throw new Error(view.said);
            return /http:\/\/\S+\/o\/\S+/.exec(view.said)?.[0];
        });
        return view;
    }

    /** The numbers of the command and of the programs that it started. */
    processes() {
        const { pid } = this.child;
        return [pid, ...readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter((one) => one !== "").map(Number)];
    }

    /** Ctrl-C; every program goes with it. */
    async end() {
        const all = this.processes();
        this.child.kill("SIGINT");
        await eventually("the programs of signet view have gone", () => all.every((pid) => !isThere(pid)));
    }
}

function isThere(pid) {
    try {
        // A process that has ended and that nobody has asked about yet is a zombie.
        return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch {
        return false;
    }
}
