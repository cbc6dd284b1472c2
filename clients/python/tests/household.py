"""Two real daemons, Alice's and Bob's, which whoever runs the tests has started and starts anew when they end."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import time
import unittest
from pathlib import Path

from signet_agent import Agent

ALICE, BOB = "agent-alice", "agent-bob"


def home(name: str) -> Path:
    named = os.environ.get(f"SIGNET_TEST_{name.upper()}")
    if not named:
        raise unittest.SkipTest(
            f"SIGNET_TEST_{name.upper()} names no home: cargo test --test daemons clients:: runs these tests"
        )
    return Path(named)


def alice(**options) -> Agent:
    return Agent(home=home("alice"), **options)


def bob(**options) -> Agent:
    return Agent(home=home("bob"), **options)


def person(name: str, method: str, params: dict | None = None):
    """One call of the person's socket, without the package that is tested."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(home(name) / "control.sock"))
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        connection.sendall(json.dumps(call).encode() + b"\n")
        with connection.makefile("rb") as answers:
            return json.loads(answers.readline())["result"]


def kill_daemon(name: str) -> None:
    """SIGKILL; the daemon is started anew by whoever runs the tests."""
    os.kill(person(name, "status")["pid"], signal.SIGKILL)


def log(name: str) -> str:
    """The whole log of one side, as text."""
    return "".join(file.read_text() for file in sorted((home(name) / "audit").glob("*/*.jsonl")))


def lines(name: str, **wanted) -> list[dict]:
    found = [json.loads(line) for line in log(name).splitlines()]
    return [line for line in found if all(line.get(key.replace("_", "-")) == value for key, value in wanted.items())]


async def eventually(what: str, look, seconds: float = 30.0):
    """What `look` gives, as soon as it gives something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"in {seconds} s: {what}")


@contextlib.asynccontextmanager
async def serving(agent: Agent, *capabilities: str):
    """The agent at work; entered when Alice has heard of these capabilities."""
    task = asyncio.create_task(agent.serve())

    async def offered() -> bool:
        if task.done():
            task.result()
        shown = await asker.peer(BOB)
        return {one["name"] for one in shown.capabilities or []} >= set(capabilities)

    try:
        async with alice() as asker:
            await eventually(f"{capabilities} are offered", offered)
        yield agent
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await agent.close()
