"""Calls of the daemon: by connections that are made when they are needed and again when they broke."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .connection import Connection, Hears, connect, silent
from .errors import ApiError, ConnectionLost, NotReachable, Refusal, SignetError
from .refusals import OutcomeUnknown, PlaceNeeded, Stopping

logger = logging.getLogger("signet_agent")


class Link:
    """One connection at a time, with room for so many calls."""

    def __init__(self, path: Path, hears: Hears | None = None) -> None:
        self._path = path
        self._hears = hears
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._room = asyncio.Semaphore(IN_FLIGHT)
        #: How many calls are under way.
        self.busy = 0

    async def _connected(self, within: float) -> Connection:
        async with self._connecting:
            if self._connection is None or not self._connection.is_open:
                self._connection = await connect(self._path, within, self._hears)
            return self._connection

    async def call(self, method: str, params: dict[str, Any], within: float) -> Any:
        """One call, which is answered `within` seconds or given up: also what waits for room counts."""
        deadline = time.monotonic() + within
        self.busy += 1
        try:
            await self._take_place(within)
            try:
                connection = await self._opened(deadline, within)
                return await connection.call(method, params, max(0.1, deadline - time.monotonic()))
            finally:
                self._room.release()
        finally:
            self.busy -= 1

    async def _opened(self, deadline: float, within: float) -> Connection:
        """The connection, made anew where it has ended; that another call is about to make it counts, too."""
        if self._connection is not None and self._connection.is_open:
            return self._connection
        left = max(0.1, deadline - time.monotonic())
        try:
            return await asyncio.wait_for(self._connected(within), left)
        except asyncio.TimeoutError:
            raise silent(self._path, within) from None

    async def _take_place(self, within: float) -> None:
        if not self._room.locked():
            await self._room.acquire()
            return
        try:
            await asyncio.wait_for(self._room.acquire(), within)
        except asyncio.TimeoutError:
            raise silent(self._path, within) from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class Pauses:
    """How long a daemon that is not there is left alone: longer each time."""

    def __init__(self, first: float = 0.1, most: float = 5.0) -> None:
        self._next, self._most = first, most

    async def pass_by(self, at_most: float = float("inf")) -> None:
        pause, self._next = self._next, min(self._next * 2, self._most)
        await asyncio.sleep(max(0.0, min(pause, at_most)))


class Client:
    """What waits has connections of its own: it must not hold up what is done at once."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path = path
        self._patience = patience
        self._prompt = Link(path)
        self._waiting = [Link(path) for _ in range(WAITING_LINKS)]
        #: Whether a daemon has answered here before: then it is worth waiting for.
        self._was_there = False
        self._read: list[dict[str, str]] = []
        self._telling: asyncio.Task[None] | None = None

    async def call(self, method: str, params: dict[str, Any], *, again: bool = True) -> Any:
        """One call that is done at once. `again`: whether it may be repeated when the connection broke under it."""
        deadline = time.monotonic() + self._patience

        def attempt() -> Any:
            return self._prompt.call(method, params, max(deadline - time.monotonic(), MARGIN))

        return await self._persist(attempt, deadline, again)

    async def wait(self, method: str, params: Callable[[], dict[str, Any]], deadline: float) -> Any:
        """One call that waits for others, and may be repeated until `deadline`: `params` gives it anew each time."""

        def attempt() -> Any:
            asked = params()
            # It waits by itself for so long, and then says where the message is.
            within = float(asked.get("wait", 0.0)) + MARGIN
            return min(self._waiting, key=lambda link: link.busy).call(method, asked, within)

        return await self._persist(attempt, deadline, True)

    async def _persist(self, attempt: Callable[[], Any], deadline: float, again: bool) -> Any:
        pauses = Pauses()
        while True:
            try:
                answer = await attempt()
            except (NotReachable, Stopping, PlaceNeeded, OutcomeUnknown) as error:
                left = deadline - time.monotonic()
                if left <= 0 or not self._is_worth(error, again):
                    raise
                await pauses.pass_by(left)
            except ApiError:
                self._was_there = True
                raise
            else:
                self._was_there = True
                return answer

    def _is_worth(self, error: SignetError, again: bool) -> bool:
        if type(error) is NotReachable:
            # Nothing was asked.
            return self._was_there
        self._was_there = True
        return again or isinstance(error, Stopping)

    def read_later(self, name: dict[str, str]) -> None:
        """Tells the daemon soon that an answer is read: until then it stands in the inbox. Nobody waits for it."""
        self._read.append(name)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_read())

    async def _tell_read(self) -> None:
        while self._read:
            names, self._read = self._read[:READ_AT_ONCE], self._read[READ_AT_ONCE:]
            try:
                await self.call("acknowledge", {"messages": names})
            except Refusal:
                # All or none: somebody else has taken one of them.
                for name in names:
                    await self._tell_one(name)
            except SignetError as error:
                logger.warning("%d answers that were read stay in the inbox: %s", len(names), error)

    async def _tell_one(self, name: dict[str, str]) -> None:
        try:
            await self.call("acknowledge", {"messages": [name]})
        except SignetError:
            logger.debug("%s has left the inbox before", name["message-id"])

    async def close(self) -> None:
        if self._telling is not None:
            await asyncio.wait({self._telling}, timeout=CLOSING)
        for link in [self._prompt, *self._waiting]:
            link.close()


#: The daemon reads 16 lines of a connection before it has answered one.
IN_FLIGHT = 14
#: All programs together have 64 connections to a socket.
WAITING_LINKS = 4
#: How many answers one call says to be read.
READ_AT_ONCE = 100
#: Seconds that a daemon has for its answer when the time of the call is over.
MARGIN = 2.0
#: Seconds for what is still to be said.
CLOSING = 2.0

__all__ = ["Client", "ConnectionLost", "Link", "Pauses"]
