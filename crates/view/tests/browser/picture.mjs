// The picture of the README: Today of a household in which nobody did any harm.

import { statSync, writeFileSync } from "node:fs";
import { eventually } from "./household.mjs";
import { View } from "./view.mjs";
import { Visitor } from "./visitor.mjs";

/** In bytes: what a page that is read in a hurry may load. */
const MOST = 120 * 1024;

export async function paint(browser, signet, { alice, bob }, file) {
    const view = await View.open(signet, ["--home", alice.dir, "--home", bob.dir]);
    // From 1024 on the ways to the pages stand beside them.
    const visitor = await Visitor.open(browser, { width: 1040 });
    const { room } = await visitor.enter(view);
    const { page } = visitor;
    await eventually("both were looked at", async () => {
        await page.goto(`${room}today`);
        return (await visitor.text()).match(/are complete and unchanged/g)?.length === 2;
    });
    await page.locator("#live[data-state=on]").waitFor();
    await page.setViewportSize({ width: 1040, height: 880 });
    writeFileSync(file, await page.screenshot({ scale: "css" }));
    const { size } = statSync(file);
    if (size > MOST) throw new Error(`${file} has ${size} bytes, and may have ${MOST}`);
    await visitor.close();
    await view.end();
}
