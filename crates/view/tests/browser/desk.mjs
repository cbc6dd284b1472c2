// The desk: every decision by the keyboard alone, and the same by the command line in another household.

import assert from "node:assert/strict";
import { eventually, told } from "./household.mjs";
import { ENGLISH, Visitor } from "./visitor.mjs";

/** The kinds of line that a person's decision leaves. */
const DECISIONS = ["trust", "approval", "refusal", "pause", "alarm"];

/** Makes a decision in both households, and holds the lines that come of it against each other. */
async function alike(what, desk, hand, kinds, byDesk, byHand) {
    const [one, other] = [desk.alice.log().length, hand.alice.log().length];
    await byDesk();
    await byHand();
    const lines = told(desk.alice, one, kinds);
    assert.ok(lines.length > 0, `${what}: no line`);
    assert.deepEqual(lines, told(hand.alice, other, kinds), what);
}

/** Goes from the reading room to the place at the desk that a link of it is about. */
async function fromRoom(visitor, room, page, to, place) {
    await visitor.page.goto(`${room}${page}`);
    await visitor.choose({ to });
    assert.match(visitor.page.url(), place);
    assert.match(await visitor.page.locator(":target").innerText(), /\S/);
}

/** A stranger, after the words were compared. */
export async function stranger(visitor, room, desk, hand) {
    const { page } = visitor;
    const own = (await desk.carol.call("status")).fingerprint.split(" ");
    assert.equal(own.length, 12);
    await alike("a stranger is trusted", desk, hand, ["trust"], async () => {
        await fromRoom(visitor, room, "today", "/to/stranger?home=alice&id=agent-carol", /#stranger-alice-agent-carol$/);
        assert.deepEqual(await page.locator(":target .words li").allInnerTexts(), own);
        await visitor.inspect("desk: first page");
        await visitor.choose("A stranger");
        assert.deepEqual(await page.locator(".words li").allInnerTexts(), own);
        await visitor.inspect("desk: a stranger");
        await page.goto(page.url());
        await visitor.choose("The same words");
        await visitor.inspect("desk: a stranger, once more");
        await page.reload();
        // Without the tick the browser sends nothing.
        const here = page.url();
        await visitor.tabTo("Trust this agent");
        await page.keyboard.press("Enter");
        assert.equal(page.url(), here);
        await page.reload();
        await visitor.tabTo({ to: "compared" });
        await page.keyboard.press("Space");
        await visitor.choose("Trust this agent");
        assert.match(await visitor.text(), /The agent is trusted/);
        await visitor.inspect("desk: done");
    }, () => hand.alice.cli("trust", "approve", hand.carol.agent));
}

/** Two drafts of tier 4: one leaves, one never does. */
export async function drafts(visitor, room, desk, hand) {
    const { page } = visitor;
    const hash = async (id) => (await desk.alice.call("drafts.list", { name: id })).drafts[0].hash;
    for (const [id, choice, button, said, args, body] of [
        ["leaves", "It may leave", "Approve: it may leave", /Approved/, [], "a sealed word"],
        ["stays", "It never leaves", "Refuse", /never leaves/, ["--refuse"], "another sealed word"],
    ]) {
        const kinds = ["approval", "refusal", "outcome", "draft"];
        await alike(`a draft ${id}`, desk, hand, kinds, async () => {
            await fromRoom(visitor, room, "today", `/to/draft?home=alice&id=${desk[id]}`, new RegExp(`#draft-alice-${desk[id]}$`));
            assert.ok(!(await visitor.text()).includes(body), "the first page shows no body");
            await visitor.choose("A draft");
            const text = await visitor.text();
            for (const shown of [body, await hash(desk[id]), "agent-bob", desk[id]]) assert.ok(text.includes(shown), `${shown}: ${text}`);
            await visitor.inspect("desk: a draft");
            await page.reload();
            await visitor.choose(choice);
            assert.ok((await visitor.text()).includes(body));
            await visitor.inspect("desk: a draft, once more");
            await page.reload();
            await visitor.choose(button);
            assert.match(await visitor.text(), said);
        }, () => hand.alice.cli("approve", hand[id], ...args));
    }
    for (const { bob } of [desk, hand]) {
        await eventually("bob has the one", async () => (await bob.call("inbox.list")).messages.some((one) => one.body?.gate === "a sealed word"));
        assert.ok(!(await bob.call("inbox.list")).messages.some((one) => one.body?.letter !== undefined), "and never the other");
    }
    // What was decided is not shown as if it waited.
    await page.goBack();
    assert.match(await visitor.text(), /does not wait any more/);
    await visitor.inspect("desk: it was not done");
}

/** Pause and resume. */
export async function pause(visitor, deskAt, desk, hand) {
    const { page } = visitor;
    await alike("pause and resume", desk, hand, ["pause"], async () => {
        for (const [button, said, paused] of [["Pause all agents", /The agents pause/, true], ["Let all agents go on", /The agents go on/, false]]) {
            await page.goto(deskAt);
            await visitor.choose("Pause and resume");
            await visitor.inspect("desk: pause");
            await page.reload();
            await visitor.choose(button);
            assert.match(await visitor.text(), said);
            assert.equal((await desk.alice.call("pause.show")).paused, paused);
        }
    }, async () => {
        await hand.alice.cli("pause");
        await hand.alice.cli("resume");
    });
}

/** The alarm that rings. */
export async function alarm(visitor, room, desk, hand) {
    await alike("an alarm is cleared", desk, hand, ["alarm"], async () => {
        await fromRoom(visitor, room, "today", "/to/alarm?home=alice", /#alarm-alice$/);
        await visitor.choose("Alarms");
        await visitor.inspect("desk: alarms");
        await visitor.page.reload();
        await visitor.choose("I have seen to them");
        await visitor.inspect("desk: alarms, once more");
        await visitor.page.reload();
        await visitor.choose("Clear the alarms");
        assert.match(await visitor.text(), /The alarms are cleared/);
    }, () => hand.alice.cli("alarms", "clear"));
    assert.deepEqual((await desk.alice.call("alarms.list")).alarms, []);
}

/** A sealed message, which neither way leaves a line about. Daemons talk meanwhile, so that other lines may come. */
export async function sealed(visitor, room, desk, hand) {
    const { page } = visitor;
    const about = (home, id) => home.log().filter((line) => DECISIONS.includes(line.kind) || JSON.stringify(line).includes(id));
    const lines = about(desk.alice, desk.sealed);
    assert.ok(lines.length > 0, "the message itself has a line");
    const thread = await threadOf(visitor, room, desk.sealed);
    assert.ok(!(await visitor.text()).includes("4711"), "the room opens nothing");
    await fromRoom(visitor, room, thread, `/to/open?home=alice&id=${desk.sealed}`, /#asked-alice$/);
    await visitor.choose(desk.sealed);
    assert.ok(!(await visitor.text()).includes("4711"), "a link opens nothing");
    await visitor.inspect("desk: a sealed message");
    await page.reload();
    await visitor.choose("Open");
    const text = await visitor.text();
    assert.ok(text.includes("the pin is 4711") && text.includes("Under seal"), text);
    await visitor.inspect("desk: an opened message");
    assert.deepEqual(about(desk.alice, desk.sealed), lines);
    const { alice } = hand;
    const before = about(alice, hand.sealed);
    assert.match(await alice.cli("audit", "open", "--key", `${alice.dir}/keys/audit.pem`, alice.logs), /the pin is 4711/);
    assert.deepEqual(about(alice, hand.sealed), before);
}

async function threadOf(visitor, room, id) {
    await visitor.page.goto(`${room}search?tier=3`);
    for (const link of await visitor.page.locator('main a[href^="conversation?"]').evaluateAll((all) => all.map((one) => one.getAttribute("href")))) {
        await visitor.page.goto(`${room}${link}`);
        if (await visitor.page.locator(`a[href*="${id}"]`).count() > 0) return link.split("#")[0];
    }
    throw new Error(`no conversation has ${id}`);
}

/** The trust in an agent, taken back. */
export async function withdrawal(visitor, deskAt, desk, hand) {
    await alike("trust is withdrawn", desk, hand, ["trust"], async () => {
        await visitor.page.goto(deskAt);
        await visitor.choose("agent-erin");
        await visitor.inspect("desk: an agent");
        await visitor.page.reload();
        await visitor.choose("Withdraw the trust");
        await visitor.inspect("desk: an agent, once more");
        await visitor.page.reload();
        await visitor.choose("Withdraw the trust");
        assert.match(await visitor.text(), /trusted no more/);
    }, () => hand.alice.cli("trust", "withdraw", hand.erin.agent));
}

/** The same pages in German, with what goes wrong, and the two decisions that can be undone or change nothing. */
export async function german(browser, like, deskAt, desk) {
    const visitor = await Visitor.open(browser, { like, locale: "de-DE", width: 360 });
    const { page } = visitor;
    const { root } = (await desk.alice.call("trust.pending")).pending[0];
    const looksAt = async (at, said) => {
        assert.equal(await page.evaluate(() => document.documentElement.lang), "de", at);
        assert.match(await visitor.text(), said, at);
        assert.doesNotMatch(await visitor.ownWords(), ENGLISH, at);
        await visitor.inspect(`Schreibtisch: ${at}`);
    };
    const carol = `stranger?home=alice&agent=agent-carol&root=${encodeURIComponent(root)}`;
    for (const [at, said] of [
        ["", /Der Schreibtisch/], [carol, /Ein Fremder/], [`${carol}&choice=approve`, /Ein Fremder/], [`${carol}&choice=refuse`, /Ein Fremder/],
        ...["", "&choice=approve", "&choice=refuse"].map((choice) => [`draft?home=alice&id=${desk.leaves}${choice}`, /Ein Entwurf/]),
        ["alarms?home=alice", /Alarme/], ["alarms?home=alice&choice=approve", /Alarme/],
        ["agent?home=alice&agent=agent-bob", /Vertrauen entziehen/], ["agent?home=alice&agent=agent-bob&choice=refuse", /Vertrauen entziehen/],
        ["draft?home=nobody&id=x", /Kein Heim dieses Namens/], ["draft?home=alice&id=x", /./], ["nothing", /wartet nicht mehr/],
    ]) {
        await page.goto(`${deskAt}${at}`);
        await looksAt(at, said);
    }
    for (const [at, shown, button, said] of [
        ["pause?home=alice", /Alle Agenten anhalten/, "Alle Agenten anhalten", /Die Agenten pausieren/],
        ["pause?home=alice", /weitermachen/, "Alle Agenten weitermachen lassen", /Die Agenten machen weiter/],
        [`open?home=alice&id=${desk.sealed}`, /versiegelt/, "Öffnen", /the pin is 4711/],
    ]) {
        await page.goto(`${deskAt}${at}`);
        await looksAt(at, shown);
        // Tab has gone through the page.
        await page.reload();
        await visitor.choose(button);
        await looksAt(`${at}: ${button}`, said);
    }
    await visitor.close();
}
