"""Works off what comes: receives under leases, runs handlers side by side, and answers each message once.

    receive ──▶ Run ──▶ handler ──▶ respond by the lease; where that has ended, by the message's name
       ▲         └── extended while it runs; the same message under a new lease joins the run that goes on
       └── connects again with pauses that grow, and offers again what it serves
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from .client import MARGIN, Pauses
from .connection import PROMPT, Connection, connect
from .errors import (
    ApiError,
    ConnectionLost,
    Decline,
    InvalidParams,
    MethodNotFound,
    NotReachable,
    Refusal,
    SignetError,
)
from .handlers import Handler, Handlers, Misfit
from .messages import Leased, list_of
from .refusals import LeaseEnded, OfferConfigured, OfferRefused
from .request import BlockingRequest, Request
from .run import Outcome, Run, settle
from .schema import json_of
from .threads import Threads

logger = logging.getLogger("signet_agent")


class Service:
    """The handlers of one agent at work."""

    def __init__(self, path: Path, handlers: Handlers, parallel: int, lease: float, patience: float) -> None:
        self._path, self._handlers, self._lease = path, handlers, lease
        self._connecting = max(patience, MARGIN)
        self._parallel = parallel
        self._connection: Connection | None = None
        self._connected = asyncio.Event()
        #: What is worked on, by its key; a message that comes again meanwhile belongs to the same run.
        self._runs: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()
        #: What was answered a moment ago: it may have been handed out once more just before.
        self._recent: dict[str, float] = {}
        self._threads = Threads(parallel)

    async def serve(self) -> None:
        """Goes on until it is cancelled. What cannot be offered at the first start ends it: nobody would ask."""
        extending = asyncio.create_task(self._extend())
        try:
            await self._serve()
        finally:
            extending.cancel()

    async def finish(self, grace: float) -> None:
        """Lets what is worked on come to its end for `grace` seconds, and leaves the rest to the next start."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=grace)
        for task in set(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._connection is not None:
            self._connection.close()

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """One call by the connection that holds the leases, as soon as there is one."""
        while True:
            await self._connected.wait()
            if self._connection is not None and self._connection.is_open:
                return await self._connection.call(method, params, PROMPT)
            self._connected.clear()

    async def call_now(self, method: str, params: dict[str, Any]) -> Any:
        """The same for what is of no use later: it waits for no connection."""
        if self._connection is None:
            raise ConnectionLost(f"there is no connection to {self._path}")
        return await self._connection.call(method, params, PROMPT)

    async def _serve(self) -> None:
        pauses, first = Pauses(), True
        while True:
            try:
                self._connection = await connect(self._path, self._connecting)
                await self._offer(self._connection, first)
                first, pauses = False, Pauses()
                self._connected.set()
                await self._receive(self._connection)
            except (NotReachable, ApiError) as error:
                if first and isinstance(error, FOR_THE_PERSON):
                    raise
                logger.warning("%s", error)
            self._disconnect()
            await pauses.pass_by()

    def _disconnect(self) -> None:
        """Leases end with their connection; what is worked on goes on, and is answered by its name."""
        self._connected.clear()
        if self._connection is not None:
            self._connection.close()
        for run in self._runs.values():
            run.lease = None

    async def _offer(self, connection: Connection, first: bool) -> None:
        for handler in self._handlers.by_capability.values():
            if not handler.offered:
                continue
            try:
                await connection.call("offer", handler.offer(), PROMPT)
            except OfferConfigured:
                logger.info("%s is offered by the configuration", handler.capability)
            except (Refusal, InvalidParams) as error:
                if first:
                    raise
                logger.error("%s is not offered any more: %s", handler.capability, error)

    async def _receive(self, connection: Connection) -> None:
        while True:
            while len(self._runs) >= self._parallel and connection.is_open:
                # Handlers that are done wait for the next connection when this one has ended.
                self._freed.clear()
                freed = asyncio.ensure_future(self._freed.wait())
                either: set[asyncio.Future[Any]] = {freed, connection.ended}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                freed.cancel()
            asked: dict[str, Any] = {"wait": WAIT, "lease": self._lease, "limit": self._parallel - len(self._runs)}
            if (wanted := self._handlers.wanted) is not None:
                asked["capabilities"] = wanted
            received = await connection.call("receive", asked, WAIT + PROMPT)
            for leased in list_of(Leased, received, "messages"):
                await self._take(connection, leased)
            # What a quick handler answers goes out before the next is asked for.
            await asyncio.sleep(0)

    async def _take(self, connection: Connection, leased: Leased) -> None:
        key, lease = leased.key, leased.lease
        if (run := self._runs.get(key)) is not None:
            logger.info("%s came again and belongs to the run that goes on", key)
            run.lease = lease
            return
        if key in self._recent and not await self._is_live(connection, lease):
            return
        run = Run(leased, key, leased.tries, lease)
        self._runs[key] = run
        task = asyncio.create_task(self._work(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _is_live(self, connection: Connection, lease: str) -> bool:
        try:
            await connection.call("extend", {"lease": lease, "seconds": self._lease}, PROMPT)
        except LeaseEnded:
            return False
        return True

    async def _work(self, run: Run) -> None:
        try:
            await settle(run, await self._outcome(run), self.call)
            self._note(run.key)
        finally:
            del self._runs[run.key]
            self._freed.set()

    def _note(self, key: str) -> None:
        now = time.monotonic()
        # A dict keeps the order: the oldest stand first, and only they are looked at.
        while self._recent and now - self._recent[oldest := next(iter(self._recent))] >= RECENT:
            del self._recent[oldest]
        self._recent.pop(key, None)
        self._recent[key] = now

    async def _outcome(self, run: Run) -> Outcome:
        """What the handler says. Nothing of an exception but its class leaves this process."""
        message = run.message
        handler = self._handlers.of(message.capability)
        if message.type not in HANDLED or handler is None:
            # Answers and reports: they stay in the inbox, where whoever waits for them finds them.
            return Outcome.kept()
        try:
            body, arguments = handler.arguments(message.body)
            request = Request(message, body, run.key, run.tries, self.call_now)
            answer = json_of(await _within(handler.timeout, self._handle(handler, request, arguments)))
        except Misfit as misfit:
            return Outcome.declined(str(misfit))
        except Decline as decline:
            return Outcome.declined(decline.text)
        except _Over:
            logger.error("%s: %s took over %s s", run.key, handler.place, handler.timeout)
            return Outcome.failed("timed out")
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            # The handler gave something up, and not we the handler.
            logger.error("%s: %s failed", run.key, handler.place, exc_info=error)
            return Outcome.failed("raised CancelledError")
        except (Exception, SystemExit) as error:
            # A message whose handler wants the process to end would end every process that it comes to.
            logger.error("%s: %s failed", run.key, handler.place, exc_info=error)
            return Outcome.failed(f"raised {type(error).__name__}")
        return Outcome.answered(answer)

    async def _handle(self, handler: Handler, request: Request[Any], arguments: dict[str, Any]) -> Any:
        if handler.is_async:
            return await handler.function(request, **arguments)
        blocking = BlockingRequest(request, asyncio.get_running_loop())
        answer = await self._threads.run(lambda: handler.function(blocking, **arguments))
        return await answer if asyncio.iscoroutine(answer) else answer

    async def _extend(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            for run in list(self._runs.values()):
                if (lease := run.lease) is None:
                    continue
                try:
                    await self.call("extend", {"lease": lease, "seconds": self._lease})
                except LeaseEnded:
                    if run.lease == lease:
                        run.lease = None
                except SignetError as error:
                    logger.debug("%s: its lease was not extended: %s", run.key, error)


def _is_cancelled() -> bool:
    """Whether this very task is to end. Before Python 3.11 nothing tells it from an exception of the same name."""
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is None or cancelling() > 0


class _Over(Exception):
    """The time of a try is over."""


async def _within(seconds: float, handled: Coroutine[Any, Any, Any]) -> Any:
    """As asyncio.wait_for, without a task of its own: every message passes here."""
    task, over = asyncio.current_task(), False
    assert task is not None

    def end() -> None:
        nonlocal over
        over = True
        task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, end)
    try:
        return await handled
    except asyncio.CancelledError:
        if not over:
            raise
        # From Python 3.11 on a task counts by how many it was cancelled.
        getattr(task, "uncancel", lambda: None)()
        raise _Over from None
    finally:
        timer.cancel()


#: Seconds that one call waits for what comes.
WAIT = 30.0
#: Seconds for which an answered message is remembered.
RECENT = 60.0
#: What ends the agent at its first start: nobody but its author mends it.
FOR_THE_PERSON = (OfferRefused, InvalidParams, MethodNotFound)
#: What handlers are for.
HANDLED = ("request", "notification", "handoff")
