"""The same agent for programs without asyncio: every call waits until it is done.

    from signet_agent.blocking import Agent

    with Agent() as agent:
        answer = agent.request("agent-bob-001", {"week": "2026-W48"}, capability="calendar.free-busy")

Calls may come from several threads. Handlers are ordinary functions, each in a thread of its own.
"""

from __future__ import annotations

import asyncio
import functools
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from . import agent as asynchronous
from .errors import SignetError
from .messages import Message, Update

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Agent, P], R]:
    @functools.wraps(method)
    def call(self: Agent, /, *args: P.args, **named: P.kwargs) -> R:
        return self._wait(method(self._agent, *args, **named))

    return call


class Agent:
    """As `signet_agent.Agent`, blocking; its parameters are the same."""

    def __init__(self, **options: Any) -> None:
        self._agent = asynchronous.Agent(**options)
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def handles(self) -> Callable[..., Any]:
        """As `Agent.handles`; the function is given a `BlockingRequest`."""
        return self._agent.handles

    @property
    def fallback(self) -> Callable[..., Any]:
        """As `Agent.fallback`."""
        return self._agent.fallback

    def run(self) -> None:
        """Serves until SIGINT or SIGTERM; handlers may use this agent for calls of their own."""
        loop, stop = self._running(), asyncio.Event()
        before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before[number] = signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
        try:
            self._wait(self._agent.serve_until(stop))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self.close()

    request = _blocking(asynchronous.Agent.request)
    notify = _blocking(asynchronous.Agent.notify)
    ping = _blocking(asynchronous.Agent.ping)
    inbox = _blocking(asynchronous.Agent.inbox)
    acknowledge = _blocking(asynchronous.Agent.acknowledge)
    reply = _blocking(asynchronous.Agent.reply)
    decline = _blocking(asynchronous.Agent.decline)
    history = _blocking(asynchronous.Agent.history)
    outbox = _blocking(asynchronous.Agent.outbox)
    where = _blocking(asynchronous.Agent.where)
    handoff = _blocking(asynchronous.Agent.handoff)
    tasks = _blocking(asynchronous.Agent.tasks)
    task = _blocking(asynchronous.Agent.task)
    accept = _blocking(asynchronous.Agent.accept)
    decline_task = _blocking(asynchronous.Agent.decline_task)
    report = _blocking(asynchronous.Agent.report)
    peers = _blocking(asynchronous.Agent.peers)
    peer = _blocking(asynchronous.Agent.peer)
    status = _blocking(asynchronous.Agent.status)
    call = _blocking(asynchronous.Agent.call)

    def follow(self) -> Iterator[Message]:
        """What waits in the inbox, and then what comes, until the connection ends."""
        return self._iterate(self._agent.follow())

    def subscribe(self, *, message: str | None = None, conversation: str | None = None) -> Iterator[Update]:
        """What moves about one message, or in one conversation, until the connection ends."""
        return self._iterate(self._agent.subscribe(message=message, conversation=conversation))

    def close(self) -> None:
        """Ends the connections, and the thread that keeps them."""
        with self._starting:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._agent.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, call: Coroutine[Any, Any, R]) -> R:
        if threading.current_thread() is self._thread:
            call.close()
            raise SignetError(
                "this call would wait for itself: async handlers and on_progress run in the agent's own thread",
                next="make the handler an ordinary function, or await the calls of signet_agent.Agent",
            )
        future = asyncio.run_coroutine_threadsafe(call, self._running())
        try:
            return future.result()
        except BaseException:
            # An interrupt ends the call too.
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="signet-agent", daemon=True)
                self._thread.start()
            return self._loop

    def _iterate(self, told: AsyncIterator[R]) -> Iterator[R]:
        try:
            while True:
                try:
                    yield self._wait(_next(told))
                except StopAsyncIteration:
                    return
        finally:
            self._wait(_end(told))


async def _next(told: AsyncIterator[R]) -> R:
    return await told.__anext__()


async def _end(told: Any) -> None:
    await told.aclose()
