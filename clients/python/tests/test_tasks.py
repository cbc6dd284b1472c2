"""Tasks that are handed over come to the fallback, and are accepted, declined and reported by calls of their own."""

import unittest

from household import BOB, alice, bob, eventually, serving
from signet_agent import Agent


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def test_a_fallback_accepts_does_and_reports_a_task_or_declines_it(self):
        agent, tries = bob(), []

        @agent.fallback
        async def other(request):
            if request.type != "handoff":
                return None
            task, goal = request.body["task"], request.body["goal"]
            if goal == "Wash up":
                return await agent.decline_task(task, "not my turn")
            await agent.accept(task)
            tries.append(request.tries)
            return await agent.report(task, "completed", result={"dish": request.body["input"]})

        async with serving(agent), alice() as giver:
            dinner = await giver.handoff(BOB, "Plan the dinner", input="pasta", wait=10)
            dishes = await giver.handoff(BOB, "Wash up", wait=10)
            await self.becomes(giver, dinner.task, "completed")
            await self.becomes(giver, dishes.task, "declined")
        self.assertEqual(tries, [1])
        async with bob() as left:
            self.assertEqual([one for one in await left.inbox() if one.type == "handoff"], [])

    async def becomes(self, giver: Agent, task: str, state: str):
        async def is_so() -> bool:
            return (await giver.task(task)).state == state

        await eventually(f"the task is {state}", is_so)


if __name__ == "__main__":
    unittest.main()
