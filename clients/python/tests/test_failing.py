"""Handlers that end badly cost their own message a try, and neither the others nor the agent."""

import asyncio
import contextlib
import logging
import sys
import threading
import time
import unittest

from household import BOB, alice, bob, log, serving
from signet_agent import SignetError, blocking


class Failing(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        logging.disable(logging.ERROR)
        self.addCleanup(logging.disable, logging.NOTSET)

    async def test_a_message_that_lets_a_library_exit_does_not_end_the_agent(self):
        agent = bob()

        @agent.handles("test.exits")
        async def exits(request):
            return sys.exit(3) if request.tries == 1 else "well"

        @agent.handles("test.exits-in-a-thread")
        def in_a_thread(request):
            return sys.exit(3) if request.tries == 1 else "well"

        async with serving(agent, "test.exits", "test.exits-in-a-thread"), alice() as asker:
            for name in ("test.exits", "test.exits-in-a-thread"):
                self.assertEqual((await asker.request(BOB, {}, capability=name)).body, "well")
        self.assertIn("raised SystemExit", log("bob"))

    # Python 3.10 does not tell who cancelled: there the message waits for the end of its lease.
    async def test_a_handler_that_gives_something_up_has_failed_once_and_at_once(self):
        agent = bob(lease=2.0 if sys.version_info < (3, 11) else 60.0)

        @agent.handles("test.cancels")
        async def cancels(request):
            if request.tries == 1:
                inner = asyncio.ensure_future(asyncio.sleep(60))
                asyncio.get_running_loop().call_soon(inner.cancel)
                await inner
            return "well"

        async with serving(agent, "test.cancels"), alice() as asker:
            self.assertEqual((await asker.request(BOB, {}, capability="test.cancels", timeout=30)).body, "well")

    async def test_threads_that_hang_take_no_place_from_others(self):
        agent, never = bob(parallel=1), threading.Event()
        self.addCleanup(never.set)

        @agent.handles("test.hangs", timeout=0.3)
        def hangs(request):
            return never.wait() if request.tries < 3 else "well"

        @agent.handles("test.quick")
        def quick(request):
            return "quick"

        async with serving(agent, "test.hangs", "test.quick"), alice() as asker:
            asked = asyncio.create_task(asker.request(BOB, {}, capability="test.hangs"))
            self.assertEqual((await asker.request(BOB, {}, capability="test.quick", timeout=10)).body, "quick")
            self.assertEqual((await asked).body, "well")

    async def test_a_thread_that_hangs_does_not_keep_the_process_from_its_end(self):
        alice()
        program = """
import os, time
from signet_agent import Agent
agent = Agent(home=os.environ["SIGNET_TEST_BOB"], grace=0.5)
@agent.handles("fixed.lamp")
def lamp(request):
    if request.tries == 1:
        print("begun", flush=True)
        time.sleep(3600)
    return "well"
agent.run()
"""
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
        try:
            async with alice() as asker:
                asked = asyncio.create_task(asker.request(BOB, {}, capability="fixed.lamp"))
                self.assertEqual(await process.stdout.readline(), b"begun\n")
                process.terminate()
                self.assertEqual(await asyncio.wait_for(process.wait(), 10), 0)
                again = bob()
                again.handles("fixed.lamp")(lambda request: "well")
                async with serving(again):
                    self.assertEqual((await asked).body, "well")
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def test_a_fault_of_on_progress_costs_neither_the_answer_nor_what_follows(self):
        agent, heard = bob(), []

        @agent.handles("test.tells")
        async def tells(request):
            for number in range(3):
                await request.progress(str(number))
                await asyncio.sleep(0.2)
            return "well"

        def on_progress(told):
            heard.append(told["note"])
            raise KeyError(told["note"])

        async with serving(agent, "test.tells"), alice() as asker:
            answer = await asker.request(BOB, {}, capability="test.tells", on_progress=on_progress)
        self.assertEqual(answer.body, "well")
        self.assertEqual(heard[-1], "2")


class OwnThread(unittest.TestCase):
    def test_a_call_that_would_wait_for_itself_is_refused(self):
        agent = blocking.Agent(socket="/nowhere/agent.sock")
        self.addCleanup(agent.close)

        async def handler():
            return agent.status()

        began = time.monotonic()
        with self.assertRaises(SignetError) as refused:
            agent._wait(handler())
        self.assertIn("wait for itself", str(refused.exception))
        self.assertLess(time.monotonic() - began, 5)


if __name__ == "__main__":
    unittest.main()
