// Handlers against a real daemon: they offer, receive, answer, decline, fail, tell how it goes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";

import { Decline, Declined, isRefusal, RequestRefused } from "../dist/index.js";
import { alice, ALICE, bob, BOB, eventually, killDaemon, log, serving, skip } from "./household.mjs";

const daemon = (name, body) => test(name, { skip, timeout: 120_000 }, body);

daemon("a handler answers and the answer leaves the inbox", async () => {
    const agent = bob().handles("test.evenings", async (request) => ({ evenings: ["Tue", "Thu"], for: request.sender }));
    await serving(agent, ["test.evenings"], async (asker) => {
        const answer = await asker.request(BOB, { week: "2026-W48" }, { capability: "test.evenings" });
        assert.deepEqual(answer.body, { evenings: ["Tue", "Thu"], for: ALICE });
        assert.deepEqual([answer.from, answer.principal, answer.type], [BOB, "bob", "response"]);
        await eventually("the answer leaves the inbox", async () => {
            return !(await asker.inbox()).some((one) => one["message-id"] === answer["message-id"]);
        });
    });
});

daemon("the daemon holds bodies against the schema that was offered", async () => {
    const schema = { type: "object", required: ["week"], properties: { week: { type: "string" } }, additionalProperties: false };
    const agent = bob().handles("test.schema", (request) => request.body.week, { schema, tier: 2, description: "Looks." });
    await serving(agent, ["test.schema"], async (asker) => {
        const shown = (await asker.peer(BOB)).capabilities.find((one) => one.name === "test.schema");
        assert.deepEqual([shown.tier, shown.description, JSON.parse(shown.schema)], [2, "Looks.", schema]);
        assert.equal((await asker.request(BOB, { week: "W48" }, { capability: "test.schema" })).body, "W48");
        for (const wrong of [{}, { week: 48 }, { week: "W48", other: 1 }, null]) {
            const refused = await assert.rejects(asker.request(BOB, wrong, { capability: "test.schema" }), (error) => {
                return error instanceof RequestRefused && error.by === "peer" && error.reason === "body-unfit";
            });
            assert.equal(refused, undefined);
        }
    });
});

daemon("what may not be offered ends the agent with what to do", async () => {
    const agent = bob().handles("door.open", () => null);
    await assert.rejects(agent.serve(AbortSignal.timeout(20_000)), (error) => {
        return isRefusal(error, "offer-refused") && error.message.includes("[offer] allow");
    });
});

daemon("what the configuration offers is served without an offer", async () => {
    const agent = bob().handles("fixed.lamp", () => "on");
    await serving(agent, ["fixed.lamp"], async (asker) => {
        assert.equal((await asker.request(BOB, {}, { capability: "fixed.lamp" })).body, "on");
    });
});

daemon("a decline is the answer and its text is data", async () => {
    const agent = bob().handles("test.decline", () => {
        throw new Decline("not on Sundays");
    });
    await serving(agent, ["test.decline"], async (asker) => {
        await assert.rejects(asker.request(BOB, {}, { capability: "test.decline" }), (error) => {
            assert(error instanceof Declined);
            assert.equal(error.failure.message, "not on Sundays");
            return error.reason === "declined" && !error.message.includes("Sundays");
        });
    });
});

daemon("an error costs a try and its text stays here", async () => {
    const tries = [];
    const agent = bob().handles("test.throws", (request) => {
        tries.push(request.tries);
        if (request.tries === 1) throw new RangeError("the password is swordfish");
        return request.tries;
    });
    await serving(agent, ["test.throws"], async (asker) => {
        assert.equal((await asker.request(BOB, {}, { capability: "test.throws" })).body, 2);
    });
    assert.deepEqual(tries, [1, 2]);
    assert(log("bob").includes("threw RangeError"));
    assert(!(log("bob") + log("alice")).includes("swordfish"));
});

daemon("a handler that takes too long is given up and told so", async () => {
    let aborted = false;
    const late = async (request) => {
        if (request.tries > 1) return "quick";
        request.signal.addEventListener("abort", () => (aborted = true));
        await sleep(60_000, undefined, { ref: false });
    };
    const agent = bob().handles("test.slow", late, { timeout: 0.3 });
    await serving(agent, ["test.slow"], async (asker) => {
        assert.equal((await asker.request(BOB, {}, { capability: "test.slow" })).body, "quick");
    });
    assert(aborted && log("bob").includes("timed out"));
});

daemon("an answer that no message holds ends its request at once", async () => {
    const answers = { map: new Map(), nan: NaN, large: "x".repeat(300_000), huge: "x".repeat(2_000_000) };
    const tries = [];
    const agent = bob().handles("test.unsendable", (request) => {
        tries.push(request.tries);
        return answers[request.body];
    });
    await serving(agent, ["test.unsendable"], async (asker) => {
        const reasons = { map: "not JSON, or too large", nan: "not JSON, or too large", large: "too-large", huge: "not JSON, or too large" };
        for (const [kind, why] of Object.entries(reasons)) {
            await assert.rejects(asker.request(BOB, kind, { capability: "test.unsendable" }), (error) => {
                assert(error instanceof Declined && error.failure.message.endsWith(`cannot be sent: ${why}`), error.message);
                assert.deepEqual(error.sent.answer.body, { state: "failed" });
                return true;
            });
        }
    });
    assert.deepEqual(tries, [1, 1, 1, 1]);
});

daemon("progress reaches whoever asked and settles nothing", async () => {
    const heard = [];
    const agent = bob().handles("test.progress", async (request) => {
        for (let number = 0; number < 5; number += 1) {
            await request.progress({ note: `step ${number}`, part: { number }, index: number, last: number === 4 });
            await sleep(100);
        }
        return "done";
    });
    await serving(agent, ["test.progress"], async (asker) => {
        const asking = { capability: "test.progress", onProgress: (told) => heard.push(told) };
        assert.equal((await asker.request(BOB, {}, asking)).body, "done");
    });
    assert(heard.length > 0 && heard.at(-1).note === "step 4" && heard.at(-1).part.last, inspect(heard));
});

daemon("a fault of onProgress costs neither the answer nor what follows", async () => {
    const heard = [];
    const agent = bob().handles("test.tells", async (request) => {
        for (let number = 0; number < 3; number += 1) {
            await request.progress({ note: `${number}` });
            await sleep(200);
        }
        return "well";
    });
    const onProgress = (told) => {
        heard.push(told.note);
        throw new Error(told.note);
    };
    await serving(agent, ["test.tells"], async (asker) => {
        assert.equal((await asker.request(BOB, {}, { capability: "test.tells", onProgress })).body, "well");
    });
    assert.equal(heard.at(-1), "2");
});

daemon("handlers run side by side up to the limit", async () => {
    let [running, most] = [0, 0];
    const agent = bob({ parallel: 3 }).handles("test.parallel", async (request) => {
        running += 1;
        most = Math.max(most, running);
        await sleep(300);
        running -= 1;
        return request.body;
    });
    await serving(agent, ["test.parallel"], async (asker) => {
        const numbers = Array.from({ length: 9 }, (_, number) => number);
        const asked = numbers.map((number) => asker.request(BOB, number, { capability: "test.parallel" }));
        const answers = await Promise.all(asked);
        assert.deepEqual(answers.map((one) => one.body), numbers);
    });
    assert.equal(most, 3);
});

daemon("a lease is extended while its handler runs", async () => {
    const runs = [];
    const agent = bob({ lease: 1 }).handles("test.long", async (request) => {
        runs.push(request.tries);
        await sleep(3_500);
        return request.tries;
    });
    await serving(agent, ["test.long"], async (asker) => {
        assert.equal((await asker.request(BOB, {}, { capability: "test.long" })).body, 1);
    });
    assert.deepEqual(runs, [1]);
});

daemon("a handler goes on when its daemon is killed and answers once", async () => {
    const runs = [];
    // With every place taken nothing is received: the end of the connection has to be noticed all the same.
    const agent = bob({ parallel: 1 }).handles("test.killed", async (request) => {
        runs.push(request.tries);
        await killDaemon("bob");
        await sleep(3_000);
        return "late";
    });
    await serving(agent, ["test.killed"], async (asker) => {
        const answer = await asker.request(BOB, {}, { capability: "test.killed" });
        assert.equal(answer.body, "late");
        const sent = log("bob").split("\n").filter((line) => line.includes('"verdict":"sent"'));
        assert.equal(sent.filter((line) => JSON.parse(line).id === answer["message-id"]).length, 1);
    });
    assert.deepEqual(runs, [1], "the message that came again belonged to the run that went on");
});

daemon("a fallback accepts, does and reports a task", async () => {
    const agent = bob();
    agent.fallback(async (request) => {
        if (request.type !== "handoff") return null;
        await agent.accept(request.body.task);
        return agent.report(request.body.task, "completed", { result: request.body.input });
    });
    await serving(agent, [], async (giver) => {
        const given = await giver.handoff(BOB, "Plan the dinner", { input: "pasta", wait: 10 });
        for (let looks = 0; looks < 100 && (await giver.task(given.task)).state !== "completed"; looks += 1) await sleep(100);
        assert.equal((await giver.task(given.task)).state, "completed");
    });
});

daemon("a fallback takes notifications and leaves answers alone", async () => {
    const told = [{ dinner: "19:30" }, "really nobody?"];
    const heard = [];
    const agent = bob().fallback((request) => {
        // What other tests have left is taken, too.
        const body = JSON.stringify(request.body);
        if (told.some((one) => JSON.stringify(one) === body)) heard.push(request.type);
        assert(!inspect(request).includes("19:30"), "what may have come sealed does not print");
        return "taken";
    });
    await serving(agent, [], async (asker) => {
        assert.equal((await asker.notify(BOB, told[0], { wait: 10 })).state, "received");
        assert.equal((await asker.request(BOB, told[1], { "for-people": true })).body, "taken");
        await eventually("both were heard", () => heard.length === 2);
    });
    assert.deepEqual(heard.sort(), ["notification", "request"]);
    const left = bob();
    assert(!(await left.inbox()).some((one) => one.type === "notification"));
    await left.close();
});

daemon("an agent that is told to stop lets its handler come to its end", async () => {
    const stop = new AbortController();
    const agent = bob().handles("fixed.orders", async () => {
        stop.abort();
        await sleep(500);
        return "in time";
    });
    const asker = alice();
    const [answer] = await Promise.all([
        asker.request(BOB, {}, { capability: "fixed.orders" }),
        agent.serve(stop.signal),
    ]);
    assert.equal(answer.body, "in time");
    await asker.close();
});
