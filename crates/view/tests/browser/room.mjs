// The reading room: every page, in every way in which a person may look at it.

import assert from "node:assert/strict";
import { eventually } from "./household.mjs";
import { ENGLISH, Visitor } from "./visitor.mjs";

const PLAIN = ["today", "conversations", "people", "left", "refused", "proof", "search", "search?q=dinner", "search?tier=3", "nothing-here"];

/** What lies behind the lists, one of each sort: where it is found, by what is said there, and by what its address begins. */
const BEHIND = [
    ["conversations", "Dinner is at half past seven", "conversation?"], ["conversations", "Order the cake", "conversation?"],
    ["conversations", "Asks who brings the chairs", "conversation?"], ["search?tier=3", "sealed", "conversation?"], ["search?tier=4", "sealed", "line?"],
    ["refused", "kept out", "line?"], ["people", "agent-carol", "person?"], ["people", "agent-bob", "person?"],
];

/** The addresses of every sort of page. */
export async function pages(visitor, room) {
    const { page } = visitor;
    const found = new Set(PLAIN);
    for (const [list, said, begins] of BEHIND) {
        await page.goto(`${room}${list}`);
        const link = page.locator(`main a[href^="${begins}"]`).filter({ hasText: said }).first();
        found.add((await link.getAttribute("href")).split("#")[0]);
    }
    const [talk] = [...found].filter((address) => address.startsWith("conversation?"));
    await page.goto(`${room}${talk}`);
    found.add(await page.locator('a[href^="line?"]').first().getAttribute("href"));
    return [...found];
}

/** Every page in both themes, on a small screen, by Tab alone. */
export async function everyPage(visitor, room, all) {
    for (const page of all) {
        await visitor.page.goto(`${room}${page}`);
        await visitor.inspect(`room: ${page}`);
    }
}

/** The whole room by the keyboard: to each page by its link, a search by what is typed, the proof by its button. */
export async function byKeyboard(visitor, room) {
    const { page } = visitor;
    await page.goto(`${room}today`);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.className), "skip");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
    for (const name of ["Conversations", "People", "What left", "Refused", "Proof", "Today"]) {
        await visitor.choose(name);
        assert.equal(await page.locator("h1").innerText(), name);
    }
    await visitor.tabTo({ to: "q" });
    await page.keyboard.type("salad");
    // It answers while one types.
    await page.locator("main .event, main .events li").filter({ hasText: "Dinner is at half past seven" }).first().waitFor();
    await Promise.all([page.waitForEvent("load"), page.keyboard.press("Enter")]);
    assert.match(page.url(), /search\?q=salad/);
    await visitor.choose({ to: "conversation?id=" });
    assert.match(await page.locator("li:target, :target").first().innerText(), /19:30/);
    await page.goto(`${room}proof`);
    await visitor.tabTo("Look again");
    await Promise.all([page.waitForEvent("load"), page.keyboard.press("Space")]);
    await eventually("the proof is looked at again", async () => (await visitor.text()).match(/are complete and unchanged/g)?.length === 2);
}

/** A message that arrives stands on the page by itself, and times are the person's own. */
export async function live(visitor, room, { alice, bob }) {
    const { page } = visitor;
    await page.goto(`${room}today`);
    await page.locator("#live[data-state=on]").waitFor();
    await page.evaluate(() => { globalThis.stays = true; });
    await bob.send(alice, { summary: "The train is late", body: { minutes: 20 } });
    await page.getByText("The train is late").first().waitFor();
    assert.equal(await page.evaluate(() => globalThis.stays), true, "it was not loaded anew");
    const times = await page.locator("main time").evaluateAll((all) => all.map((one) => [one.textContent, one.dateTime, one.title]));
    assert.ok(times.length > 5);
    for (const [shown, exact, title] of times) {
        const own = new Date(exact).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "Europe/Berlin" });
        assert.ok(shown.endsWith(own) && title === exact, `${shown}: ${exact}`);
    }
}

/** The same pages in German, without a word of English on the frame. */
export async function german(browser, like, room, all) {
    const visitor = await Visitor.open(browser, { like, locale: "de-AT", width: 360 });
    for (const page of all) {
        await visitor.page.goto(`${room}${page}`);
        assert.equal(await visitor.page.evaluate(() => document.documentElement.lang), "de", page);
        assert.doesNotMatch(await visitor.ownWords(), ENGLISH, page);
        await visitor.inspect(`Lesezimmer: ${page}`);
    }
    await visitor.close();
}

/** Without a script everything can be read, and searched. */
export async function withoutScript(browser, like, room, all) {
    const visitor = await Visitor.open(browser, { like, javaScriptEnabled: false });
    for (const page of all) {
        await visitor.page.goto(`${room}${page}`);
        assert.ok((await visitor.page.locator("h1").innerText()).length > 0, page);
        for (const time of await visitor.page.locator("time").allInnerTexts()) assert.match(time, / UTC$/, page);
    }
    await visitor.page.goto(`${room}today`);
    await visitor.page.locator("#find").fill("salad");
    await visitor.page.locator("#find").press("Enter");
    await visitor.page.getByText("Dinner is at half past seven").first().waitFor();
    await visitor.close();
}

/** Days begin at midnight where the person is: with 25 hours between two people, one of them has another day than Greenwich. */
export async function days(browser, like, room) {
    for (const timezoneId of ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu"]) {
        const visitor = await Visitor.open(browser, { like, timezoneId });
        const { page } = visitor;
        const day = (shift) => new Date(Date.now() + shift * 86_400_000).toLocaleDateString("sv-SE", { timeZone: timezoneId });
        await page.goto(`${room}left`);
        const spoken = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: timezoneId }).format(new Date()).replace("Sept", "Sep");
        await eventually(`the last square is ${spoken} in ${timezoneId}`, async () => {
            const last = await page.locator(".calendar rect title").last().textContent();
            return last.startsWith(`${spoken}: `) && !last.endsWith(": 0");
        });
        for (const [from, to, is] of [[day(0), day(0), true], [day(1), "", false], ["", day(-1), false]]) {
            await page.goto(`${room}search?q=salad&from=${from}&to=${to}`);
            assert.equal(await page.getByText("Dinner is at half past seven").count() > 0, is, `${timezoneId}: ${from} to ${to}`);
        }
        await visitor.close();
    }
}

/** A daemon that goes is said to be away, in both languages, and is found again. */
export async function restart(browser, visitor, { room, desk }, { alice }) {
    const { page } = visitor;
    await page.goto(`${room}today`);
    const away = page.getByText(/daemon of alice does not answer/);
    assert.equal(await away.count(), 0);
    await alice.stop();
    await away.waitFor();
    await visitor.inspect("room: a daemon is away");
    await page.goto(desk);
    assert.match(await visitor.text(), /The daemon of this home does not answer/);
    await visitor.inspect("desk: a daemon is away");
    const other = await Visitor.open(browser, { like: visitor, locale: "de-DE", width: 360 });
    for (const [way, said] of [[`${room}today`, /Daemon von alice antwortet nicht/], [desk, /Daemon dieses Heims antwortet nicht/]]) {
        await other.page.goto(way);
        assert.match(await other.text(), said);
        await other.inspect("ein Daemon ist weg");
    }
    await other.close();
    await page.goto(`${room}today`);
    await away.waitFor();
    await alice.run();
    await away.waitFor({ state: "detached" });
    await page.goto(desk);
    assert.doesNotMatch(await visitor.text(), /does not answer/);
}
