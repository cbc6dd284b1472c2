"""One connection to the agent's socket: JSON-RPC 2.0, one object a line."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import ConnectionLost, DaemonSilent, NotJson, NotReachable, TooLarge, error_of

#: Takes the method and the parameters of what the daemon tells without being asked again.
Hears = Callable[[str, dict[str, Any]], None]


async def connect(path: Path, within: float, hears: Hears | None = None) -> Connection:
    """Connects to the daemon at `path` in time: one that is stopped takes no connection, once so many wait for it as the
    system lets."""
    loop = asyncio.get_running_loop()
    connecting = loop.create_unix_connection(lambda: Connection(path, hears), str(path))
    try:
        _, connection = await asyncio.wait_for(connecting, within)
    # Before Python 3.11 it is no TimeoutError; from there on that one is an OSError.
    except asyncio.TimeoutError:
        raise silent(path, within) from None
    except OSError as error:
        raise _unreachable(path, error) from error
    return connection


class Connection(asyncio.Protocol):
    """Calls may be under way side by side. The daemon reads 16 of them at most before it has answered one."""

    def __init__(self, path: Path, hears: Hears | None) -> None:
        self._path = path
        self._hears = hears
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._buffer = bytearray()
        self._scanned = 0
        self._transport: asyncio.Transport | None = None
        self._over: Exception | None = None
        #: Resolves when the connection has ended.
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_open(self) -> bool:
        return self._over is None

    async def call(self, method: str, params: dict[str, Any], within: float) -> Any:
        """The result of one call. A daemon that says nothing of it for `within` seconds is given up, and the connection."""
        if self._over is not None or self._transport is None:
            raise self._lost()
        number = next(self._ids)
        line = _line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting[number] = answer
        self._transport.write(line)
        timer = loop.call_later(within, self._end, silent(self._path, within))
        try:
            return await answer
        finally:
            timer.cancel()
            self._waiting.pop(number, None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\n", self._scanned)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._scanned = 0
            self._take(line)
        self._scanned = len(self._buffer)
        if self._scanned > ANSWER_MAX:
            self._end(NotReachable(f"what answers at {self._path} does not speak JSON-RPC"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(self._lost())

    def _take(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            return self._end(NotReachable(f"what answers at {self._path} does not speak JSON-RPC"))
        if isinstance(said.get("method"), str):
            if self._hears is not None:
                self._hears(said["method"], said.get("params") or {})
            return None
        if said.get("id") is None:
            # The daemon ends the connection and says why.
            return self._end(error_of(said.get("error")))
        answer = self._waiting.get(said["id"]) if isinstance(said["id"], int) else None
        # A call that was given up is answered late.
        if answer is not None and not answer.done():
            if "error" in said:
                answer.set_exception(error_of(said["error"]))
            else:
                answer.set_result(said.get("result"))
        return None

    def _end(self, why: Exception) -> None:
        if self._over is None:
            self._over = why
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._over)
        self._waiting.clear()
        if not self.ended.done():
            self.ended.set_result(None)
        self.close()

    def _lost(self) -> Exception:
        return self._over or ConnectionLost(
            f"the connection to the daemon at {self._path} broke", next="see whether it runs: signet status"
        )


def silent(path: Path, seconds: float) -> DaemonSilent:
    return DaemonSilent(
        f"the daemon at {path} said nothing within {seconds:.0f} s",
        next="see whether it hangs: signet doctor; what it was told may be done all the same",
    )


def _line(call: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(call, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        line = text.encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(f"{call['method']}: what is to be said is not JSON: {error}") from error
    if len(line) > LINE_MAX:
        raise TooLarge(f"{call['method']}: what is to be said is over {LINE_MAX >> 10} KiB; say less, or in parts")
    return line


def _unreachable(path: Path, error: OSError) -> NotReachable:
    if isinstance(error, PermissionError):
        help = "let this user into the group of the socket: `group` in [agent-socket] of config.toml"
    else:
        help = (
            "start the daemon (signet run, or signet up), or name its socket: SIGNET_HOME, SIGNET_AGENT_SOCKET, "
            "or Agent(home=…)"
        )
    return NotReachable(f"no daemon answers at {path}: {error.strerror or error}", next=help)


#: The daemon takes lines of a megabyte.
LINE_MAX = (1 << 20) - 1
#: Seconds for what a daemon does at once: a slow disk is slow.
PROMPT = 30.0
#: An inbox full of the largest messages fits.
ANSWER_MAX = 64 << 20
