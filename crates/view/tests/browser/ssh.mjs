// Looking from another machine: the line of docs/view.md, over a real sshd. The machine with the agent is a network of its own, in
// which `signet view` listens at the very ports that ssh takes here.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";

import { eventually } from "./household.mjs";
import { Visitor } from "./visitor.mjs";

const root = new URL("../../../../", import.meta.url);

/** Two ports of 127.0.0.1, one behind the other, that nobody has. */
async function freePorts() {
    const listens = (port) => new Promise((done) => {
        const server = createServer();
        server.once("error", () => done(undefined));
        server.listen(port, "127.0.0.1", () => { const at = server.address().port; server.close(() => done(at)); });
    });
    for (;;) {
        const first = await listens(0);
        if (first < 65_000 && await listens(first + 1) !== undefined) return first;
    }
}

/** Writes keys, the configuration of the sshd, and the program that leads to it: the other machine, as far as ssh can tell. */
function otherMachine(sshd, signet, home, dir) {
    for (const name of ["host", "user"]) execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(dir, name)]);
    const config = [
        `HostKey ${join(dir, "host")}`, `AuthorizedKeysFile ${join(dir, "user.pub")}`, "StrictModes no", "UsePAM no", "PermitRootLogin yes",
        "PidFile none", `SetEnv PATH=${dirname(signet)}:/usr/bin:/bin SIGNET_HOME=${home.dir}`,
    ];
    const beside = resolve(dirname(sshd), "../..");
    // From OpenSSH 9.8 on a session is a program of its own.
    const session = join(beside, "usr/lib/openssh/sshd-session");
    if (existsSync(session)) config.push(`SshdSessionPath ${session}`);
    writeFileSync(join(dir, "sshd_config"), `${config.join("\n")}\n`);
    const libraries = ["usr/lib", "lib"].map((lib) => join(beside, lib)).filter(existsSync)
        .flatMap((lib) => readdirSync(lib).filter((name) => name.endsWith("-linux-gnu")).map((name) => join(lib, name)));
    // Without the user to which it lowers itself it does not start: it finds one in a file of its own.
    writeFileSync(join(dir, "machine"), `#!/bin/sh
exec unshare -n -m sh -c '
mount --make-rprivate / && ip link set lo up && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd
grep -q ^sshd: /etc/passwd || {
    { cat /etc/passwd; echo sshd:x:65533:65534::/run/sshd:/bin/false; } >/run/passwd && mount --bind /run/passwd /etc/passwd
}
LD_LIBRARY_PATH=${libraries.join(":")} exec ${sshd} -i -e -f ${join(dir, "sshd_config")} 2>${join(dir, "sshd.log")}'
`, { mode: 0o755 });
}

export async function overSsh(browser, sshd, signet, { alice }, dir) {
    otherMachine(sshd, signet, alice, dir);
    const port = await freePorts();
    const line = /^ssh -t -L 7701:127\.0\.0\.1:7701 -L 7702:127\.0\.0\.1:7702 HOST signet view --port 7701$/m.exec(readFileSync(new URL("docs/view.md", root), "utf8"));
    assert.ok(line !== null, "docs/view.md has the line");
    const [, ...typed] = line[0].replaceAll("7701", port).replaceAll("7702", port + 1).split(" ");
    // ssh would ask whether the host is known, and takes its standard input for no terminal.
    const more = ["-t", "-F", "none", "-i", join(dir, "user"), "-o", `ProxyCommand=${join(dir, "machine")}`, "-o", "StrictHostKeyChecking=no", "-o", `UserKnownHostsFile=${join(dir, "known")}`, "-l", "root"];
    const child = spawn("ssh", [...more, ...typed.map((word) => (word === "HOST" ? "agent" : word))], { env: { PATH: "/usr/bin:/bin" } });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => { said += piece; });
    const addresses = () => [...said.matchAll(/http:\/\/127\.0\.0\.1:\d+\/o\/\S+/g)].map(([found]) => found);
    const address = async (count) => eventually(`address ${count}`, () => {
        if (child.exitCode !== null) throw new Error(`${said}${readFileSync(join(dir, "sshd.log"), "utf8")}`);
        return addresses()[count - 1];
    });
    try {
        for (const count of [1, 2]) {
            const visitor = await Visitor.open(browser);
            const at = await visitor.enter({ once: await address(count) });
            assert.match(await visitor.text(), /Agents that are trusted/);
            await visitor.page.goto(at.room);
            await eventually("the log was looked at", async () => (await visitor.text()).includes("are complete and unchanged"));
            await visitor.close();
            // Enter prints another one.
            if (count === 1) child.stdin.write("\r");
        }
        const gone = new Promise((done) => child.once("exit", done));
        child.stdin.write("\u0003");
        await gone;
        assert.match(said, /Ctrl-C ends it/);
    } finally {
        child.kill();
    }
}
