"""Ordinary functions in threads that hold nobody up: neither other handlers, nor the end of the process."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any

from .errors import SignetError


class ThreadsHang(SignetError):
    """So many handlers in threads were given up and run on that no more are begun."""


class Threads:
    """Each call has a thread of its own: one that never ends takes no place from those that come after it.

    They are daemon threads, which the interpreter does not wait for at its end, as it does for those of an executor.
    """

    def __init__(self, parallel: int) -> None:
        self._most = parallel + LEFT_MOST
        self._running = 0

    async def run(self, function: Callable[[], Any]) -> Any:
        """What `function` gives. Whoever gives the call up leaves its thread to itself."""
        if self._running >= self._most:
            raise ThreadsHang(
                f"{LEFT_MOST} handlers in threads were given up and have not ended",
                next="start this program anew, and let its handlers wait for nothing without a time limit",
            )
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def work() -> None:
            ended: tuple[Any, BaseException | None]
            try:
                ended = context.run(function), None
            except BaseException as error:
                ended = None, error
            # The loop may be closed by now: then nobody asks any more.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._end, done, ended)

        threading.Thread(target=work, name="signet-handler", daemon=True).start()
        self._running += 1
        result, error = await done
        if error is not None:
            raise error
        return result

    def _end(self, done: asyncio.Future[Any], ended: tuple[Any, BaseException | None]) -> None:
        self._running -= 1
        if not done.done():
            done.set_result(ended)


#: How many threads may run on that nobody waits for.
LEFT_MOST = 64
