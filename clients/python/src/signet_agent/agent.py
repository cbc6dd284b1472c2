"""An agent: its handlers, and how they are set to work."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .calls import Calls
from .errors import SignetError
from .handlers import Function, Handlers, declare
from .service import Service

F = TypeVar("F", bound=Function)


class Agent(Calls):
    """An agent of this machine, by its daemon's `agent.sock`.

    `Agent()` finds the socket as the command `signet` does. Nothing is opened before the first call, and none of it
    decides anything for the person: trust, keys, policy and approval are theirs.
    """

    def __init__(
        self,
        *,
        socket: str | os.PathLike[str] | None = None,
        home: str | os.PathLike[str] | None = None,
        parallel: int = 8,
        lease: float = 60.0,
        patience: float = 30.0,
        grace: float = 10.0,
    ) -> None:
        """`parallel`: how many handlers run at once. `lease`: seconds for which a message is kept from others, and
        extended while its handler runs. `patience`: seconds that a call waits for a daemon that was there and has
        gone. `grace`: seconds for handlers to come to their end when the agent is told to stop."""
        if not 1 <= parallel <= 100:
            raise SignetError("parallel is from 1 to 100")
        if not 1.0 <= lease <= 86_400.0:
            raise SignetError("lease is from 1 second to a day")
        super().__init__(socket, home, patience)
        self._parallel, self._lease, self._grace = parallel, lease, grace
        self._handlers = Handlers()

    def handles(
        self,
        capability: str,
        *,
        schema: Mapping[str, Any] | None = None,
        description: str | None = None,
        tier: int | None = None,
        offer: bool = True,
        timeout: float = 600.0,
    ) -> Callable[[F], F]:
        """The function below serves `capability`, which peers are offered while the agent runs.

        The schema of the body is `schema`, or follows from the function's types; the description is its first line
        of documentation. `tier` is the highest data tier that it takes, 1 or 2. `timeout` ends a try.
        """

        if not isinstance(capability, str):
            raise SignetError(
                "a handler serves a capability by its name", next='write @agent.handles("…"), with the name in brackets'
            )

        def decorate(function: F) -> F:
            self._handlers.add(
                declare(
                    function,
                    capability,
                    schema=None if schema is None else dict(schema),
                    description=description,
                    tier=tier,
                    offered=offer,
                    timeout=timeout,
                )
            )
            return function

        return decorate

    def fallback(self, function: F) -> F:
        """The function below takes what no other handler does: requests, notifications and handoffs."""
        given = {"schema": None, "description": None, "tier": None, "offered": False, "timeout": 600.0}
        self._handlers.add(declare(function, None, **given))  # type: ignore[arg-type]
        return function

    def run(self) -> None:
        """Serves until SIGINT or SIGTERM. Connects again by itself when the daemon goes and comes."""
        asyncio.run(self._run())

    async def serve(self) -> None:
        """Serves until the task is cancelled; then handlers have `grace` seconds to come to their end."""
        if self._handlers.wanted == []:
            raise SignetError("this agent handles nothing; decorate a function with @agent.handles(…) first")
        service = Service(self.socket, self._handlers, self._parallel, self._lease, self._patience)
        try:
            await service.serve()
        finally:
            await service.finish(self._grace)

    async def serve_until(self, stop: asyncio.Event) -> None:
        """Serves until `stop` is set."""
        serving, stopping = asyncio.ensure_future(self.serve()), asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving

    async def _run(self) -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            # Only the main thread may; elsewhere whoever runs the thread ends it.
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                loop.add_signal_handler(number, stop.set)
        try:
            await self.serve_until(stop)
        finally:
            await self.close()
