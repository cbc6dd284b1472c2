"""Asks so many orders, sixteen at a time, each under a key of its own; prints a line for each answer."""

import asyncio
import json
import os
import sys

from signet_agent import Agent


async def main(orders: int) -> None:
    numbers = iter(range(orders))
    async with Agent(home=os.environ["SIGNET_TEST_ALICE"], patience=120) as agent:

        async def ask() -> None:
            for number in numbers:
                answer = await agent.request(
                    "agent-bob", {"number": number}, capability="test.orders", key=f"order-{number}", timeout=300
                )
                assert answer.body["number"] == number, answer.body
                print(json.dumps({"number": number, "message-id": answer.in_reply_to}), flush=True)

        await asyncio.gather(*(ask() for _ in range(16)))


asyncio.run(main(int(sys.argv[1])))
