// The page's script: takes the bundles out of the page, proves them, and shows what they prove.

import { headerOf, proveBundle, type Proof } from "../bundle.js";
import { fromBase64, hex, sha256 } from "../bytes.js";
import { Ed25519 } from "../ed25519.js";
import { isObject, type Json, NotStrict, parse } from "../json.js";
import { storyOf } from "../story.js";
import { element } from "./elements.js";
import { textsFor } from "./texts.js";
import { View } from "./view.js";

const script = hex(sha256(document.currentScript?.textContent ?? ""));
const texts = textsFor(navigator.language);
document.documentElement.lang = texts.lang;
document.title = texts.title;
const place = document.getElementById("page") as HTMLElement;

/** The bytes of the page's data elements of that class. */
function data(kind: string): (Uint8Array | null)[] {
    return [...document.querySelectorAll(`script[type="text/plain"].${kind}`)].map((found) => fromBase64((found.textContent ?? "").trim()));
}

/** What was opened, by the hash of its message: a page holds at most one such element. */
function openedTexts(): Map<string, Json> {
    const [bytes] = data("opened");
    if (bytes === undefined || bytes === null) return new Map();
    try {
        const found = parse(bytes, { bytes: 64 << 20, depth: 80, values: 1_000_000 });
        return new Map(isObject(found) ? Object.entries(found) : []);
    } catch (fault) {
        if (fault instanceof NotStrict) return new Map();
        throw fault;
    }
}

async function main(): Promise<void> {
    const begun = performance.now();
    const bundles = data("bundle");
    const curve = await Ed25519.open();
    const proofs: Proof[] = [];
    for (const bytes of bundles) {
        if (bytes === null || headerOf(bytes) === null) return fail();
        proofs.push(await proveBundle(curve, bytes));
    }
    if (proofs.length === 0) return fail();
    const shown = { proofs, story: storyOf(proofs), opened: openedTexts(), engine: curve.engine, script, now: new Date() };
    place.replaceChildren(new View(texts).page(shown));
    document.body.dataset["verdict"] = shown.story.holds ? "holds" : "fails";
    performance.measure("signet-proof", { start: begun });
}

function fail(): void {
    const banner = element("p", "verdict", element("strong", "", texts.fails));
    place.replaceChildren(element("h1", "", texts.title), element("section", "fails", banner, element("p", "sentence", texts.broken)));
    document.body.dataset["verdict"] = "fails";
}

place.textContent = texts.checking;
main().catch(fail);
