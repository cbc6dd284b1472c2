// A person's browser: what it must never meet, and what every page has to be for eyes, keyboards and small screens.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const root = new URL("../../../../", import.meta.url);
const tools = createRequire(new URL(".tools/browser/node_modules/", root));
const { chromium } = tools("playwright-core");
const AXE = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");

export async function launch() {
    const args = ["--no-sandbox", "--disable-background-networking", "--disable-quic", "--disable-component-update", "--disable-sync", "--no-first-run"];
    return await chromium.launch({ executablePath: process.env.CHROMIUM, args });
}

/** Words that no German sentence has. */
export const ENGLISH = /\b(the|of|and|with|what|search|people|today|nothing|decide|does not|answer|whose|lines?)\b/i;

/** The themes and widths in which a page is looked at. Two languages, two themes and two widths are eight; in these four each theme
 * meets each width, and each language meets both. */
const ENGLISH_LOOKS = [["light", 1280], ["dark", 360]];
const GERMAN_LOOKS = [["light", 360], ["dark", 1280]];

/** A browser of its own, with one tab. */
export class Visitor {
    /** Of requests to others than these origins, of dialogs, windows and errors its end tells. `like` is a browser that is in already. */
    static async open(browser, { like, locale = "en-GB", timezoneId = "Europe/Berlin", width = 1280, javaScriptEnabled = true } = {}) {
        const storageState = await like?.context.storageState();
        const context = await browser.newContext({ locale, timezoneId, javaScriptEnabled, storageState, viewport: { width, height: 900 } });
        const page = await context.newPage();
        const [faults, asked] = [[], new Set()];
        page.on("request", (request) => asked.add(new URL(request.url()).origin));
        page.on("dialog", (dialog) => { faults.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
        page.on("pageerror", (error) => faults.push(String(error)));
        page.on("popup", () => faults.push("a window"));
        // Of the policy's reports this is all: each stands on the console. That a page says "not found" is no fault of the page.
        const isAnswer = (text) => /^Failed to load resource: the server responded with a status of 4\d\d/.test(text);
        page.on("console", (message) => { if (message.type() === "error" && !isAnswer(message.text())) faults.push(`${page.url()}: ${message.text()}`); });
        const looks = locale.startsWith("de") ? GERMAN_LOOKS : ENGLISH_LOOKS;
        return Object.assign(new Visitor(), { context, page, looks, faults, asked, origins: like?.origins ?? [] });
    }

    /** Opens the address that the command printed: by the desk into the room. Gives the ways into both. */
    async enter(view) {
        const { origin } = new URL(view.once);
        await this.page.goto(view.once);
        await this.page.waitForURL((url) => url.origin !== origin && url.pathname.startsWith("/s/"));
        const room = this.page.url();
        await this.page.goto(`${origin}/home`);
        const desk = this.page.url();
        assert.ok(desk.startsWith(`${origin}/s/`), desk);
        this.origins = [new URL(room).origin, origin];
        return { room, desk };
    }

    /** What was wrong until now: it is told once. */
    sound() {
        const elsewhere = [...this.asked].filter((origin) => !this.origins.includes(origin)).map((origin) => `request to ${origin}`);
        const all = [...new Set([...elsewhere, ...this.faults.splice(0)])];
        assert.ok(all.length === 0, all.join("\n"));
    }

    async close() {
        await this.context.close();
        this.sound();
    }

    async text() {
        return await this.page.locator("body").innerText();
    }

    /** The words of the page itself: without those of people, agents and commands, and without what says that it is in English. */
    async ownWords() {
        return await this.page.evaluate(() => {
            const copy = document.body.cloneNode(true);
            for (const one of copy.querySelectorAll("bdi, pre, code, [lang=en]")) one.remove();
            return copy.textContent;
        });
    }

    /** Everything that a page has to be: for who hears it, in both themes, on a small screen, by the keyboard alone. */
    async inspect(name) {
        const { pathname, search } = new URL(this.page.url());
        const [at, was] = [`${name} (${pathname.split("/").pop()}${search})`, this.page.viewportSize()];
        const session = await this.context.newCDPSession(this.page);
        const axe = await inAxe(session);
        for (const [colorScheme, width] of this.looks) {
            await this.page.emulateMedia({ colorScheme });
            await this.page.setViewportSize({ width, height: 900 });
            // What a theme changes moves for a moment.
            await this.page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));
            for (const fault of await axe()) this.faults.push(`${at}, ${colorScheme}, ${width}: axe: ${fault}`);
            for (const fault of await this.page.evaluate(cutOff)) this.faults.push(`${at}, ${width}: cut off: ${fault}`);
        }
        await session.detach();
        await this.page.emulateMedia({ colorScheme: "light" });
        await this.page.setViewportSize(was);
        await this.#reach(at);
    }

    /** Goes through the page by Tab alone: everything that can be used is reached, and shows that it is. */
    async #reach(at) {
        let left = await this.page.evaluate(() => {
            const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.closest("[inert]") === null;
            const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")];
            // By what they are: where a message arrives meanwhile, another of the same stands in its place.
            globalThis.unreached = new Set(all.filter(isShown).map((one) => one.outerHTML));
            document.activeElement?.blur();
            return globalThis.unreached.size;
        });
        const blind = new Set();
        // A field for a date has several places.
        for (let rest = left * 2 + 40; left > 0 && rest > 0; rest -= 1) {
            await this.page.keyboard.press("Tab");
            const [still, unseen] = await this.page.evaluate(() => {
                const here = document.activeElement;
                const { outlineStyle, outlineWidth } = getComputedStyle(here);
                globalThis.unreached.delete(here.outerHTML);
                const isSeen = here === document.body || (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2);
                return [globalThis.unreached.size, isSeen ? undefined : here.outerHTML.slice(0, 120)];
            });
            left = still;
            if (unseen !== undefined) blind.add(unseen);
        }
        // What a message that arrived meanwhile took off the page, or wrote anew, cannot be reached any more.
        const missed = await this.page.evaluate(() => {
            const there = new Set([...document.querySelectorAll("*")].map((one) => one.outerHTML));
            return [...globalThis.unreached].filter((one) => there.has(one)).map((one) => one.slice(0, 120));
        });
        for (const one of missed) this.faults.push(`${at}: Tab does not reach ${one}`);
        for (const one of blind) this.faults.push(`${at}: Tab reaches unseen ${one}`);
    }

    /** Goes by Tab to what `is` holds of, which may look at text and address; or begins with that text. */
    async tabTo(wanted) {
        const is = typeof wanted === "string" ? (_, text) => text.startsWith(wanted) : (href) => href.includes(wanted.to);
        for (let press = 0; press < 200; press += 1) {
            await this.page.keyboard.press("Tab");
            const [href, text] = await this.page.evaluate(() => {
                const here = document.activeElement;
                return [here?.getAttribute("href") ?? here?.getAttribute("name") ?? "", (here?.textContent ?? "").trim()];
            });
            if (is(href, text)) return;
        }
        throw new Error(`Tab never reaches ${JSON.stringify(wanted)} on ${this.page.url()}: ${await this.text()}`);
    }

    /** Chooses links and buttons one after the other, by the keyboard alone; each leads to another page. */
    async choose(...all) {
        for (const wanted of all) {
            await this.tabTo(wanted);
            await Promise.all([this.page.waitForEvent("load"), this.page.keyboard.press("Enter")]);
            // A page may lead on by itself.
            await this.page.waitForFunction(() => document.querySelector("meta[http-equiv=refresh]") === null);
        }
    }
}

/** axe, in a world of its own: the page's policy holds for the page's scripts. Each call gives the faults that it finds now, by every
 * rule that axe has and still stands by: those for the highest level of WCAG, too, and those that it has on trial. */
async function inAxe(session) {
    const { frameTree } = await session.send("Page.getFrameTree");
    const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
    await session.send("Runtime.evaluate", { expression: AXE, contextId });
    const expression = `axe.run(document, {
        resultTypes: ["violations"],
        runOnly: axe.getRules().filter(({ tags }) => !tags.includes("deprecated")).map(({ ruleId }) => ruleId),
    }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 200) + ": " + failureSummary)))`;
    return async () => {
        const { result, exceptionDetails } = await session.send("Runtime.evaluate", { expression, contextId, awaitPromise: true, returnByValue: true });
        assert.equal(exceptionDetails, undefined);
        return result.value;
    };
}

/** What does not fit into the width of the screen, or into its own box. */
function cutOff() {
    const found = [];
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) found.push(`the page scrolls sideways: ${wide}`);
    for (const one of document.body.querySelectorAll("*")) {
        if (one.closest(".hidden, .skip") !== null || one.ownerSVGElement || !one.checkVisibility()) continue;
        const { left, right, width } = one.getBoundingClientRect();
        const name = `${one.tagName.toLowerCase()}.${one.getAttribute("class")}: ${(one.textContent ?? "").slice(0, 40)}`;
        if (width > 0 && (right > innerWidth + 1 || left < -1)) found.push(`${name}: from ${left} to ${right}`);
        const isBox = getComputedStyle(one).overflowX !== "visible" && !["INPUT", "SELECT"].includes(one.tagName);
        if (isBox && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1) found.push(`${name}: ${one.scrollWidth} in ${one.clientWidth}`);
    }
    // Words that two people compare stand whole: none is broken at the end of its box.
    for (const one of document.querySelectorAll(".words > *")) {
        const line = Number.parseFloat(getComputedStyle(one).lineHeight);
        if (one.clientHeight > 1.9 * line) found.push(`the word ${one.textContent} is broken`);
    }
    return found;
}
