// The proof page: what the program `signet` holds is made from the sources here, and what bundles tell together.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { Ed25519, proveBundle, storyOf } from "../dist/proof/index.js";
import { pageOf } from "../page.mjs";
import { forged, honest } from "./proof/forged.mjs";

const page = new URL("../../../crates/signet/src/cli/audit/prove/page.html", import.meta.url);
const curve = await Ed25519.open();
const story = async (...bundles) => storyOf(await Promise.all(bundles.map((bytes) => proveBundle(curve, bytes))));
const named = (name) => honest().find((one) => one.name === name).bytes;

test("the page that signet holds is what the sources give", { skip: !existsSync(page) && "the repository is not here" }, async () => {
    assert.ok(readFileSync(page, "utf8") === (await pageOf()), "make it anew: make generated");
});

test("a story has each message once, with who signed that it is there", async () => {
    const { told, holds } = await story(named("a request and its answer"), named("four messages"));
    assert.equal(holds, true);
    assert.equal(told.length, 7);
    const [request] = told.filter(({ message }) => message.method === "agent.request");
    assert.equal(request.received, told.find(({ message }) => message.type === "response").at);
    assert.deepEqual([request.from, request.person, request.to], ["agent-alice-001", "alice", "agent-bob-001"]);
});

test("a story says who approved a message, and whose words a sealed one keeps", async () => {
    const approved = (await story(named("a message that its person approved"))).told.filter(({ entry }) => entry.approval !== null);
    assert.deepEqual(approved.map(({ entry }) => [entry.approval.person, entry.approval.decision]), [["alice", "approved"]]);
    const sealed = (await story(named("what came sealed"))).told.filter((one) => one.sealed);
    assert.deepEqual(sealed.map(({ summary, body }) => [summary, body]), [[undefined, undefined]]);
});

test("one forged bundle beside an honest one is enough for a story not to hold", async () => {
    assert.equal((await story(honest()[0].bytes, forged()[0].bytes)).holds, false);
    assert.equal(storyOf([]).holds, false);
});
