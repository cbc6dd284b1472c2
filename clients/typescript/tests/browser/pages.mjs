// The proof page in Chromium, opened as a file, with the network off: `CHROMIUM=… node pages.mjs [SIGNET]`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { forged, honest, long, hostile } from "../proof/forged.mjs";

const root = new URL("../../../../", import.meta.url);
const { chromium } = createRequire(new URL(".tools/browser/node_modules/", root))("playwright-core");
const template = readFileSync(new URL("crates/signet/src/cli/audit/prove/page.html", root), "utf8");
const folder = mkdtempSync(join(tmpdir(), "signet-pages-"));
const args = ["--no-sandbox", "--disable-background-networking", "--disable-quic", "--disable-component-update", "--disable-sync", "--no-first-run"];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });

const element = (bytes, kind = "bundle") => `<script type="text/plain" class="${kind}">${Buffer.from(bytes).toString("base64")}</script>\n`;
const pageOf = (...bundles) => template.replace("<!-- data -->\n", () => bundles.map((bytes) => element(bytes)).join(""));

/** Opens a page, and has what it shows; a request, a dialog or an error of the page is a failure, but where one is awaited. */
async function open(html, { locale = "en-GB", width = 800, before, blocked = false, javaScriptEnabled = true } = {}) {
    const file = join(folder, "page.html");
    writeFileSync(file, html);
    const context = await browser.newContext({ offline: true, locale, viewport: { width, height: 900 }, timezoneId: "Europe/Berlin", javaScriptEnabled });
    const page = await context.newPage();
    const faults = [];
    page.on("request", (request) => { if (!request.url().startsWith("file:")) faults.push(`request ${request.url()}`); });
    page.on("dialog", (dialog) => { faults.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
    page.on("console", (message) => { if (message.type() === "error") faults.push(message.text()); });
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("popup", () => faults.push("a window"));
    if (before !== undefined) await page.addInitScript(before);
    await page.goto(pathToFileURL(file).href);
    if (!blocked && javaScriptEnabled) await page.waitForFunction(() => document.body.dataset.verdict !== undefined, null, { timeout: 60_000 });
    const found = await page.evaluate(() => ({
        verdict: document.body.dataset.verdict, text: document.body.innerText, lang: document.documentElement.lang,
        wide: document.documentElement.scrollWidth, scripts: document.scripts.length, images: document.images.length,
    })).catch(() => ({ text: "" }));
    return { page, faults, ...found, close: () => context.close() };
}

const told = [];
async function part(name, run) {
    await run();
    told.push(name);
    console.error(`ok ${told.length} - ${name}`);
}

try {
    await part("twenty honest pages hold", async () => {
        for (const { name, bytes } of honest()) {
            const shown = await open(pageOf(bytes));
            assert.deepEqual([shown.verdict, shown.faults], ["holds", []], name);
            assert.match(shown.text, /All of this holds, as checked just now/, name);
            assert.match(shown.text, /The browser itself computed the signatures/, name);
            await shown.close();
        }
    });
    await part("forged pages do not hold, and say why", async () => {
        const all = forged();
        assert.ok(all.length >= 40);
        for (const { name, fault, bytes } of all) {
            const shown = await open(pageOf(bytes));
            assert.deepEqual([shown.verdict, shown.faults], ["fails", []], name);
            assert.ok(shown.text.includes(fault) || fault.startsWith("does not say of which"), `${name}: ${shown.text}`);
            assert.doesNotMatch(shown.text, /It holds|All of this holds/, name);
            await shown.close();
        }
    });
    await part("a page whose own data were edited does not hold", async () => {
        const [{ bytes }] = honest();
        const html = pageOf(bytes);
        const begin = html.indexOf('class="bundle">') + 15;
        const edits = [
            html.slice(0, begin) + html.slice(begin + 400), html.replace('class="bundle">', 'class="bundle">AAAA'),
            html.replace(/class="bundle">[^<]*/, 'class="bundle">'), html.replace(/class="bundle">[^<]*/, 'class="bundle">!!!'),
            html.replace('class="bundle"', 'class="other"'), pageOf(bytes, forged()[0].bytes), pageOf(Buffer.from("hello\n")),
        ];
        for (const [at, edited] of edits.entries()) {
            const shown = await open(edited);
            assert.equal(shown.verdict, "fails", `edit ${at}`);
            await shown.close();
        }
    });
    await part("another script, or one more, is not run by a page with this policy", async () => {
        const html = pageOf(honest()[0].bytes);
        const edited = await open(html.replace("<script>", "<script>document.body.dataset.verdict='holds';"), { blocked: true });
        assert.equal(edited.verdict, undefined);
        assert.ok(edited.faults.some((fault) => fault.includes("Content Security Policy")), `${edited.faults}`);
        await edited.close();
        const added = await open(html.replace("</body>", "<script>document.title='x'</script><img src=x onerror=alert(1)></body>"));
        assert.ok(added.faults.every((fault) => fault.includes("Content Security Policy")) && added.faults.length > 0, `${added.faults}`);
        await added.close();
    });
    await part("hostile words stay words", async () => {
        for (const { name, bytes } of hostile()) {
            const shown = await open(pageOf(bytes), { width: 360 });
            assert.deepEqual([shown.verdict, shown.faults, shown.images], ["holds", [], 0], name);
            assert.ok(shown.wide <= 360, `${name}: ${shown.wide} wide`);
            assert.doesNotMatch(shown.text, /[\u202a-\u202e\u2066-\u2069]/u, name);
            // What is folded has more that is folded in it.
            for (let depth = 0; depth < 3; depth += 1) {
                await shown.page.evaluate(async () => {
                    for (const details of document.querySelectorAll("details:not([open])")) details.open = true;
                    await new Promise((resolve) => setTimeout(resolve, 50));
                });
            }
            assert.equal(await shown.page.evaluate(() => document.images.length + document.querySelectorAll("bdi *").length), 0, name);
            assert.ok((await shown.page.evaluate(() => document.documentElement.scrollWidth)) <= 360, name);
            assert.deepEqual(shown.faults, [], name);
            await shown.close();
        }
    });
    await part("the checks of each message stand behind it, with the keyboard alone", async () => {
        const shown = await open(pageOf(honest()[0].bytes));
        const summary = shown.page.locator("article details.checks > summary").first();
        await summary.focus();
        await shown.page.keyboard.press("Enter");
        const checks = shown.page.locator("article").first().locator("li");
        await checks.first().waitFor();
        assert.equal(await checks.count(), 7);
        for (const check of await checks.allInnerTexts()) assert.match(check, /^✓ /);
        await shown.close();
    });
    await part("German where the browser is, the script's hash, and no script at all", async () => {
        const shown = await open(pageOf(honest()[0].bytes), { locale: "de-AT" });
        assert.match(shown.text, /All das stimmt, soeben .* von diesem Browser geprüft/);
        assert.equal(shown.lang, "de");
        const script = template.slice(template.lastIndexOf("<script>") + 8, template.lastIndexOf("</script>"));
        const { createHash } = await import("node:crypto");
        assert.ok(shown.text.includes(createHash("sha256").update(script).digest("hex")));
        await shown.close();
        const bare = await open(pageOf(honest()[0].bytes), { javaScriptEnabled: false });
        assert.match(await bare.page.locator("noscript").innerText(), /this page checks nothing/);
        await bare.close();
    });
    await part("a browser without Ed25519 computes by the page's own code", async () => {
        const before = () => {
            const { importKey } = SubtleCrypto.prototype;
            SubtleCrypto.prototype.importKey = function (...given) {
                return given[2] === "Ed25519" ? Promise.reject(new DOMException("no", "NotSupportedError")) : importKey.apply(this, given);
            };
        };
        const good = await open(pageOf(honest()[0].bytes), { before });
        assert.deepEqual([good.verdict, good.faults], ["holds", []]);
        assert.match(good.text, /the code in this page computed the signatures/);
        await good.close();
        for (const { name, bytes } of forged().filter(({ fault }) => fault.includes("signature"))) {
            const shown = await open(pageOf(bytes), { before });
            assert.equal(shown.verdict, "fails", name);
            await shown.close();
        }
    });
    await part("a thousand messages", async () => {
        const times = [];
        const session = await browser.newBrowserCDPSession();
        const spent = async () => (await session.send("SystemInfo.getProcessInfo")).processInfo.reduce((sum, { type, cpuTime }) => Math.max(sum, type === "renderer" ? cpuTime : 0), 0);
        for (let round = 0; round < 3; round += 1) {
            const shown = await open(pageOf(long(1000)));
            assert.deepEqual([shown.verdict, shown.faults], ["holds", []]);
            const wall = await shown.page.evaluate(() => performance.getEntriesByName("signet-proof")[0].duration);
            times.push(`${wall.toFixed(0)} ms (the page took ${((await spent()) * 1000).toFixed(0)} ms of a processor)`);
            await shown.close();
        }
        console.error(`# 1,000 messages: ${times.join(", ")}; the page without data: ${(template.length / 1024).toFixed(0)} KiB`);
    });
    const signet = process.argv[2];
    if (signet !== undefined) {
        await part("the pages of the sample logs, made by signet", async () => {
            const log = (agent) => new URL(`audit/sample/${agent}`, root).pathname;
            const made = join(folder, "made.html");
            const given = ["prove", "--log", log("agent-alice-001"), "--output", made];
            for (const [more, said] of [
                [["01a20aa4-a0ca-7b67-9028-a9c7ef35df78"], /alice signed that it may leave.*agent-bob-001 signed that it has it/],
                [["--conversation", "dinner-2026-48", "--with", log("agent-bob-001")], /The log of agent-alice-001 and the log of agent-bob-001 witness it/],
                [["--from", "2026-11-23", "--to", "2026-11-24", "--peer", "agent-bob-001"], /exchanged \d+ messages/],
            ]) {
                execFileSync(signet, [...given, ...more], { stdio: ["ignore", "ignore", "pipe"], env: {} });
                const shown = await open(readFileSync(made, "utf8"));
                assert.deepEqual([shown.verdict, shown.faults], ["holds", []]);
                assert.match(shown.text, said);
                await shown.close();
                rmSync(made);
            }
        });
    }
    console.log(`${told.length} parts hold`);
} finally {
    await browser.close();
    rmSync(folder, { recursive: true });
}
