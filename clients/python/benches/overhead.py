"""What the client costs over the bare socket: requests to an agent of the package by an agent of the package, in turn
with the same by hand on both sides. Prints milliseconds as JSON; the two daemons are those of SIGNET_TEST_ALICE and
SIGNET_TEST_BOB, and Bob's configuration has the capabilities fixed.orders and fixed.lamp.
"""

import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time

from signet_agent import Agent

REQUESTS = int(os.environ.get("SIGNET_TEST_REQUESTS", "500"))
ALICE, BOB = os.environ["SIGNET_TEST_ALICE"], os.environ["SIGNET_TEST_BOB"]


class Bare:
    """The socket without the package: one call after the other."""

    def __init__(self, home: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"{home}/agent.sock")
        self.lines = self.socket.makefile("rb")

    def call(self, method: str, params: dict) -> dict:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.socket.sendall(json.dumps(call).encode() + b"\n")
        return json.loads(self.lines.readline())["result"]


def serve_bare() -> None:
    bare = Bare(BOB)
    while True:
        for leased in bare.call("receive", {"wait": 30, "capabilities": ["fixed.lamp"]})["messages"]:
            bare.call("respond", {"lease": leased["lease"], "body": leased["body"]})


def serve_agent() -> None:
    agent = Agent(home=BOB)

    @agent.handles("fixed.orders")
    async def order(request):
        return request.body

    agent.run()


async def measure() -> dict:
    bare, with_package, by_hand = Bare(ALICE), [], []
    async with Agent(home=ALICE) as agent:
        for number in range(REQUESTS + 20):
            began = time.perf_counter()
            answer = await agent.request("agent-bob", {"n": number}, capability="fixed.orders")
            with_package.append(time.perf_counter() - began)
            assert answer.body == {"n": number}
            # Telling that the answer is read goes on behind the caller's back: not into the next measurement.
            await asyncio.sleep(0.005)
            # With a key, as the package has one: the daemon writes a line more for it.
            send = {"peer": "agent-bob", "kind": "request", "body": {"n": number}, "capability": "fixed.lamp"}
            send |= {"wait": 60, "key": f"bare-{os.getpid()}-{number}"}
            began = time.perf_counter()
            sent = bare.call("send", send)
            by_hand.append(time.perf_counter() - began)
            answer = sent["answer"]
            bare.call("acknowledge", {"messages": [{name: answer[name] for name in ("from", "message-id")}]})
            await asyncio.sleep(0.005)
    package, hand = (1000 * statistics.median(times[20:]) for times in (with_package, by_hand))
    return {
        "requests": REQUESTS,
        "package-p50": round(package, 3),
        "bare-p50": round(hand, 3),
        "overhead-p50": round(package - hand, 3),
    }


def main() -> None:
    if len(sys.argv) > 1:
        return {"bare": serve_bare, "agent": serve_agent}[sys.argv[1]]()
    with contextlib.ExitStack() as stack:
        for kind in ("bare", "agent"):
            serving = stack.enter_context(subprocess.Popen([sys.executable, __file__, kind]))
            stack.callback(serving.kill)
        print(json.dumps(asyncio.run(measure())))


if __name__ == "__main__":
    main()
