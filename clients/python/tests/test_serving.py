"""Handlers against a real daemon: they offer, receive, answer, decline, fail, tell how it goes."""

import asyncio
import contextlib
import dataclasses
import logging
import sys
import time
import unittest

from household import ALICE, BOB, alice, bob, eventually, kill_daemon, lines, log, serving
from signet_agent import Decline, Declined, Request, RequestRefused
from signet_agent.refusals import OfferRefused


@dataclasses.dataclass
class Week:
    week: str
    days: int = 7


class Serving(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        logging.getLogger("signet_agent").setLevel(logging.CRITICAL)

    async def test_a_decorated_function_answers_and_the_answer_leaves_the_inbox(self):
        agent = bob()

        @agent.handles("test.evenings")
        async def evenings(request):
            return {"evenings": ["Tue", "Thu"], "for": request.sender}

        async with serving(agent, "test.evenings"), alice() as asker:
            answer = await asker.request(BOB, {"week": "2026-W48"}, capability="test.evenings")
            self.assertEqual(answer.body, {"evenings": ["Tue", "Thu"], "for": ALICE})
            self.assertEqual((answer.sender, answer.principal, answer.type), (BOB, "bob", "response"))
            self.assertNotIn("Thu", repr(answer), "what may have come sealed does not print")

            async def gone():
                return answer.message_id not in [one.message_id for one in await asker.inbox()]

            await eventually("the answer leaves the inbox", gone)

    async def test_the_schema_follows_from_the_types_and_the_daemon_holds_it(self):
        agent = bob()

        @agent.handles("test.dataclass", tier=2)
        async def by_dataclass(request: Request[Week]):
            """Looks at a week."""
            return dataclasses.replace(request.body, days=request.body.days + 1)

        @agent.handles("test.members")
        async def by_members(request, week: str, days: int = 7):
            return [week, days]

        async with serving(agent, "test.dataclass", "test.members"), alice() as asker:
            offered = {one["name"]: one for one in (await asker.peer(BOB)).capabilities}
            shown = offered["test.dataclass"]
            self.assertEqual((shown["description"], shown["tier"]), ("Looks at a week.", 2))
            answer = await asker.request(BOB, {"week": "W48"}, capability="test.dataclass")
            self.assertEqual(answer.body, {"week": "W48", "days": 8})
            answer = await asker.request(BOB, {"week": "W48", "days": 2}, capability="test.members")
            self.assertEqual(answer.body, ["W48", 2])
            for wrong in ({}, {"week": 48}, {"week": "W48", "other": 1}, None):
                with self.assertRaises(RequestRefused) as refused:
                    await asker.request(BOB, wrong, capability="test.members")
                self.assertEqual((refused.exception.by, refused.exception.reason), ("peer", "body-unfit"))

    async def test_an_offer_ends_with_its_program(self):
        agent = bob()

        @agent.handles("test.passing")
        async def passing(request):
            return None

        async with serving(agent, "test.passing"), alice() as asker:
            self.assertIsNone((await asker.request(BOB, {}, capability="test.passing")).body)

        async def withdrawn():
            async with alice() as asker:
                return "test.passing" not in [one["name"] for one in (await asker.peer(BOB)).capabilities]

        await eventually("the offer is withdrawn", withdrawn)

    async def test_what_may_not_be_offered_ends_the_agent_with_what_to_do(self):
        agent = bob()

        @agent.handles("door.open")
        async def door(request):
            return None

        with self.assertRaises(OfferRefused) as refused:
            await asyncio.wait_for(agent.serve(), 20)
        self.assertIn("[offer] allow", str(refused.exception))

    async def test_what_the_configuration_offers_is_served_without_an_offer(self):
        agent = bob()

        @agent.handles("fixed.lamp")
        async def lamp(request):
            return "on"

        async with serving(agent, "fixed.lamp"), alice() as asker:
            self.assertEqual((await asker.request(BOB, {}, capability="fixed.lamp")).body, "on")

    async def test_a_decline_is_the_answer_and_its_text_is_data(self):
        agent = bob()

        @agent.handles("test.decline")
        async def decline(request):
            raise Decline("not on Sundays")

        async with serving(agent, "test.decline"), alice() as asker:
            with self.assertRaises(Declined) as declined:
                await asker.request(BOB, {}, capability="test.decline")
        self.assertEqual(declined.exception.failure.message, "not on Sundays")
        self.assertEqual(declined.exception.reason, "declined")
        self.assertNotIn("Sundays", str(declined.exception))

    async def test_an_exception_costs_a_try_and_its_text_stays_here(self):
        agent, tries = bob(), []

        @agent.handles("test.raises")
        async def raises(request):
            tries.append(request.tries)
            if request.tries == 1:
                raise ValueError("the password is swordfish")
            return request.tries

        async with serving(agent, "test.raises"), alice() as asker:
            answer = await asker.request(BOB, {}, capability="test.raises")
        self.assertEqual((answer.body, tries), (2, [1, 2]))
        self.assertIn("raised ValueError", log("bob"))
        self.assertNotIn("swordfish", log("bob") + log("alice"))

    async def test_a_handler_that_takes_too_long_is_ended(self):
        agent = bob()

        @agent.handles("test.slow", timeout=0.3)
        async def slow(request):
            if request.tries == 1:
                await asyncio.sleep(60)
            return "quick"

        async with serving(agent, "test.slow"), alice() as asker:
            self.assertEqual((await asker.request(BOB, {}, capability="test.slow")).body, "quick")
        self.assertIn("timed out", log("bob"))

    async def test_an_answer_that_no_message_holds_ends_its_request_at_once(self):
        agent, tries = bob(), []

        @agent.handles("test.unsendable")
        async def unsendable(request):
            tries.append(request.tries)
            return {"set": {1, 2}, "nan": float("nan"), "large": "x" * 300_000, "huge": "x" * 2_000_000}[request.body]

        async with serving(agent, "test.unsendable"), alice() as asker:
            for kind, why in (("set", "not JSON"), ("nan", "not JSON"), ("large", "too-large"), ("huge", "too large")):
                with self.assertRaises(Declined) as declined:
                    await asker.request(BOB, kind, capability="test.unsendable")
                self.assertTrue(declined.exception.failure.message.endswith(f"cannot be sent: {why}"), kind)
                self.assertEqual(declined.exception.sent.answer.body, {"state": "failed"})
        self.assertEqual(tries, [1, 1, 1, 1])

    async def test_progress_reaches_whoever_asked_and_settles_nothing(self):
        agent, heard = bob(), []

        @agent.handles("test.progress")
        async def progress(request):
            for number in range(5):
                await request.progress(f"step {number}", part={"n": number}, index=number, last=number == 4)
                await asyncio.sleep(0.1)
            return "done"

        async with serving(agent, "test.progress"), alice() as asker:
            answer = await asker.request(BOB, {}, capability="test.progress", on_progress=heard.append)
        self.assertEqual(answer.body, "done")
        self.assertTrue(heard and heard[-1]["note"] == "step 4" and heard[-1]["part"]["last"], heard)

    async def test_handlers_run_side_by_side_up_to_the_limit(self):
        agent, now, most = bob(parallel=3), [0], [0]

        @agent.handles("test.parallel")
        async def parallel(request):
            now[0] += 1
            most[0] = max(most[0], now[0])
            await asyncio.sleep(0.3)
            now[0] -= 1
            return request.body

        async with serving(agent, "test.parallel"), alice() as asker:
            asked = [asker.request(BOB, number, capability="test.parallel") for number in range(9)]
            answers = await asyncio.gather(*asked)
        self.assertEqual([one.body for one in answers], list(range(9)))
        self.assertEqual(most[0], 3)

    async def test_an_ordinary_function_runs_in_a_thread_and_tells_how_it_goes(self):
        agent = bob()

        @agent.handles("test.thread")
        def thread(request):
            time.sleep(0.2)
            return request.progress("half")

        async with serving(agent, "test.thread"), alice() as asker:
            self.assertIs((await asker.request(BOB, {}, capability="test.thread")).body, True)

    async def test_a_lease_is_extended_while_its_handler_runs(self):
        agent, runs = bob(lease=1.0), []

        @agent.handles("test.long")
        async def long(request):
            runs.append(request.tries)
            await asyncio.sleep(3.5)
            return request.tries

        async with serving(agent, "test.long"), alice() as asker:
            self.assertEqual((await asker.request(BOB, {}, capability="test.long")).body, 1)
        self.assertEqual(runs, [1])

    async def test_a_handler_goes_on_when_its_daemon_is_killed_and_answers_once(self):
        # With every place taken nothing is received: the end of the connection has to be noticed all the same.
        agent, runs = bob(parallel=1), []

        @agent.handles("test.killed")
        async def killed(request):
            runs.append(request.tries)
            kill_daemon("bob")
            await asyncio.sleep(3)
            return "late"

        async with serving(agent, "test.killed"), alice() as asker:
            answer = await asker.request(BOB, {}, capability="test.killed")
            self.assertEqual(answer.body, "late")
        self.assertEqual(runs, [1], "the message that came again belonged to the run that went on")
        answered = [line for line in lines("bob", verdict="sent", type="response") if line["id"] == answer.message_id]
        self.assertEqual(len(answered), 1)

    async def test_programs_serve_until_they_are_told_to_stop_and_let_their_handler_come_to_its_end(self):
        # Without daemons no program is started.
        alice()
        programs = {
            "asyncio": """
import asyncio, os
from signet_agent import Agent
agent = Agent(home=os.environ["SIGNET_TEST_BOB"])
@agent.handles("fixed.lamp")
async def lamp(request):
    print("begun", flush=True)
    await asyncio.sleep(1)
    return (await agent.status()).agent
agent.run()
""",
            "blocking": """
import os, time
from signet_agent.blocking import Agent
agent = Agent(home=os.environ["SIGNET_TEST_BOB"])
@agent.handles("fixed.lamp")
def lamp(request):
    print("begun", flush=True)
    time.sleep(1)
    return agent.status().agent
agent.run()
""",
        }
        for name, program in programs.items():
            with self.subTest(name):
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
                )
                try:
                    async with alice() as asker:
                        asked = asyncio.create_task(asker.request(BOB, name, capability="fixed.lamp"))
                        self.assertEqual(await process.stdout.readline(), b"begun\n")
                        process.terminate()
                        self.assertEqual((await asked).body, BOB)
                    self.assertEqual(await asyncio.wait_for(process.wait(), 20), 0)
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        process.kill()

    async def test_a_fallback_takes_notifications_and_leaves_answers_alone(self):
        agent, heard, told = bob(), [], ({"dinner": "19:30"}, "really nobody?")

        @agent.fallback
        async def fallback(request):
            # What other tests have left is taken, too.
            if request.body in told:
                heard.append((request.type, request.body))
            return "taken"

        async with serving(agent), alice() as asker:
            self.assertEqual((await asker.notify(BOB, told[0], wait=10)).state, "received")
            self.assertEqual((await asker.request(BOB, told[1], for_people=True)).body, "taken")
        self.assertCountEqual(heard, [("notification", told[0]), ("request", told[1])])
        async with bob() as left:
            self.assertEqual([one for one in await left.inbox() if one.type == "notification"], [])


if __name__ == "__main__":
    unittest.main()
