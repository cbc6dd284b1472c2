"""The agent that is killed: it answers each order with its number. Every answer takes a moment, so that kills hit it."""

import asyncio
import os
import random

from signet_agent import Agent

agent = Agent(home=os.environ["SIGNET_TEST_BOB"])


@agent.handles("test.orders")
async def order(request, number: int):
    await asyncio.sleep(random.uniform(0.0, 0.02))
    return {"number": number, "tries": request.tries}


agent.run()
