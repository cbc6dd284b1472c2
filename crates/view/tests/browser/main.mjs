// `signet view` in Chromium beside real daemons: `CHROMIUM=… NATS_SERVER=… node main.mjs SIGNET [--picture FILE]`.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import * as desk from "./desk.mjs";
import { Household, endAll, eventually } from "./household.mjs";
import { paint } from "./picture.mjs";
import * as room from "./room.mjs";
import { overSsh } from "./ssh.mjs";
import { View } from "./view.mjs";
import { Visitor, launch } from "./visitor.mjs";

const [signet, ...more] = process.argv.slice(2);
const picture = more[0] === "--picture" ? resolve(more[1]) : undefined;
const folder = mkdtempSync(join(tmpdir(), "signet-view-"));
const browser = await launch();

let [told, failed] = [0, 0];
/** The person, when they are in. */
let visitor;
async function part(name, run) {
    const begun = Date.now();
    const took = () => `${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`;
    told += 1;
    try {
        const found = await run();
        visitor?.sound();
        console.error(`ok ${told} - ${took()}`);
        return found;
    } catch (error) {
        // The other parts are tried all the same: one run tells of everything.
        failed += 1;
        console.error(`not ok ${told} - ${took()}\n${String(error.stack).replace(/^/gm, "    ")}`);
        return undefined;
    }
}

async function all(household, hand) {
    const view = await View.open(resolve(signet), ["--home", household.alice.dir, "--home", household.bob.dir]);
    visitor = await Visitor.open(browser);
    const at = await part("the address that is printed leads by the desk into the room, once", async () => {
        const found = await visitor.enter(view);
        for (const [locale, ...said] of [
            ["en-GB", /used already/, /Not from here/, /is not at the desk/],
            ["de-DE", /schon benutzt/, /Nicht von hier/, /nicht am Schreibtisch/],
        ]) {
            const late = await Visitor.open(browser, { locale });
            late.origins = visitor.origins;
            for (const [at, way] of [view.once, found.room, found.desk].entries()) {
                await late.page.goto(way);
                assert.match(await late.text(), said[at]);
                await late.inspect("somebody who is not in");
            }
            await late.close();
        }
        return found;
    });
    await part("both logs hold", () => eventually("both were looked at", async () => {
        await visitor.page.goto(`${at.room}today`);
        return (await visitor.text()).match(/are complete and unchanged/g)?.length === 2;
    }));
    const pages = await part("every sort of page is found", () => room.pages(visitor, at.room)) ?? [];
    await part(`${pages.length} pages: axe, both themes, 360 px, Tab`, () => room.everyPage(visitor, at.room, pages));
    await part("the room by the keyboard", () => room.byKeyboard(visitor, at.room));
    await part("a message arrives", () => room.live(visitor, at.room, household));
    await part("German pages of the room", () => room.german(browser, visitor, at.room, pages));
    await part("without a script", () => room.withoutScript(browser, visitor, at.room, pages));
    await part("days where the person is", () => room.days(browser, visitor, at.room));
    await part("German pages of the desk", () => desk.german(browser, visitor, at.desk, household));
    await part("a stranger", () => desk.stranger(visitor, at.room, household, hand));
    await part("drafts", () => desk.drafts(visitor, at.room, household, hand));
    await part("pause and resume", () => desk.pause(visitor, at.desk, household, hand));
    await part("an alarm", () => desk.alarm(visitor, at.room, household, hand));
    await part("a sealed message", () => desk.sealed(visitor, at.room, household, hand));
    await part("trust withdrawn", () => desk.withdrawal(visitor, at.desk, household, hand));
    await part("a daemon away and back", () => room.restart(browser, visitor, at, household));
    await visitor.close();
    if (process.env.SSHD) {
        const dir = mkdtempSync(join(folder, "ssh-"));
        await part("from another machine, over ssh", () => overSsh(browser, process.env.SSHD, resolve(signet), household, dir));
    }
    await part("Ctrl-C ends all of it", () => view.end());
}

try {
    const household = (name) => new Household(resolve(signet), process.env.NATS_SERVER, join(folder, name));
    if (picture === undefined) {
        const [one, other] = [household("desk"), household("hand")];
        await part("two households", () => Promise.all([one.open(), other.open()]));
        await all(one, other);
    } else {
        const calm = household("calm");
        await part("a household", () => calm.open({ isCalm: true }));
        await part("a picture", () => paint(browser, resolve(signet), calm, picture));
    }
    if (!process.env.SSHD && picture === undefined) console.error("# over ssh: left out");
    console.log(`${told - failed} of ${told} parts hold`);
    process.exitCode = failed === 0 ? 0 : 1;
} finally {
    await browser.close();
    endAll();
    rmSync(folder, { recursive: true, force: true });
}
