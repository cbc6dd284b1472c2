"""The agent behind the second daemon, on our Python client: agent.py HOME."""

import asyncio
import sys

from signet_agent import Agent, Decline

agent = Agent(home=sys.argv[1])


@agent.handles("test.talk")
async def talk(request):
    """Says what it was asked."""
    body = request.body
    if body == "count":
        for index, word in enumerate(["one", "two", "three"]):
            await request.progress("counting", part=word, index=index)
            await asyncio.sleep(0.2)
        return "one two three"
    if body == "decline":
        raise Decline("not on Sundays")
    if body == "slow":
        await asyncio.sleep(30)
    return {"heard": body} if isinstance(body, dict) else f"heard {body}"


agent.run()
