"""What an agent asks of others, and of its daemon: messages, mail, tasks, and a look around."""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar

from .asking import ask
from .client import MARGIN, Client, Pauses
from .connection import connect
from .errors import Malformed, SignetError
from .messages import Message, Sent, Update, list_of, member, value_of
from .places import find_socket
from .plain import PlainCalls

C = TypeVar("C", bound="Calls")
logger = logging.getLogger("signet_agent")


class Calls(PlainCalls):
    """The calls of the agent's socket."""

    def __init__(
        self,
        socket: str | os.PathLike[str] | None,
        home: str | os.PathLike[str] | None,
        patience: float,
    ) -> None:
        self.socket = find_socket(socket, home)
        self._patience = patience
        self._client: tuple[asyncio.AbstractEventLoop, Client] | None = None

    # What it asks of others.

    async def request(
        self,
        /,
        peer: str,
        body: Any = None,
        *,
        capability: str | None = None,
        timeout: float = 60.0,
        key: str | None = None,
        keep: bool = False,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        **more: Any,
    ) -> Message:
        """Asks `peer` and waits for the answer, whose `body` holds what it says.

        It is sent once, also when the connection breaks or the daemon starts anew meanwhile; with a `key` of the
        caller's own also when this program does. The answer leaves the inbox, unless `keep`. `on_progress` hears
        what the peer tells while it works. `more`: `conversation`, `summary`, `tier`, `life`, `continues`,
        `continues_from`, `introduce`, `for_people`: it asks for no capability; without it, a request that names none is for the
        only one that the peer offers.
        """
        params = _message("request", peer, body, capability, key, more)
        client = self._opened()
        if on_progress is None:
            return await ask(client, params, timeout, keep)
        began = time.monotonic()
        sent = value_of(Sent, await client.wait("send", lambda: {**params, "wait": 0.0}, began + timeout))
        timeout = max(0.0, timeout - (time.monotonic() - began))
        telling = asyncio.create_task(self._tell(sent.message_id, on_progress))
        try:
            return await ask(client, params, timeout, keep)
        finally:
            telling.cancel()

    async def _tell(self, message_id: str, on_progress: Callable[[dict[str, Any]], None]) -> None:
        """Until it is cancelled, and again where the connection broke."""
        pauses = Pauses()
        while True:
            try:
                async for update in self.subscribe(message=message_id):
                    if update.progress is not None:
                        _hand_on(update.progress, on_progress)
            except SignetError as error:
                logger.debug("progress of %s is not heard: %s", message_id, error)
            await pauses.pass_by()

    async def notify(
        self,
        /,
        peer: str,
        body: Any = None,
        *,
        capability: str | None = None,
        key: str | None = None,
        wait: float = 0.0,
        **more: Any,
    ) -> Sent:
        """Tells `peer` something that wants no answer; with `wait`, until the peer has it. `more` as for `request`."""
        params = _message("notification", peer, body, capability, key, more) | {"wait": wait}
        return value_of(Sent, await self._opened().call("send", params))

    async def ping(self, peer: str, timeout: float = 10.0) -> Message:
        """A sign of life of the peer's daemon."""
        params = _message("ping", peer, None, None, None, {"life": max(1, int(timeout))})
        return await ask(self._opened(), params, timeout, False)

    # Its mail.

    async def acknowledge(self, *messages: Message) -> None:
        """They are read, and leave the inbox: all or none."""
        await self.call("acknowledge", messages=[one.name for one in messages])

    async def reply(self, message: Message, body: Any, *, summary: str | None = None) -> str:
        """Answers a request that waits in the inbox; the answer's message-id."""
        replied = await self._once("respond", message=message.name, body=body, summary=summary)
        return _name_of(replied)

    async def decline(self, message: Message, text: str) -> str:
        """Declines a request that waits in the inbox; the peer reads `text`."""
        return _name_of(await self._once("respond", message=message.name, decline=text))

    async def follow(self) -> AsyncIterator[Message]:
        """What waits in the inbox, and then what comes, until the connection ends. It stays in the inbox."""
        async for update in self._told("inbox.follow", {}):
            if update.message is not None:
                yield update.message

    async def subscribe(self, *, message: str | None = None, conversation: str | None = None) -> AsyncIterator[Update]:
        """What moves about one message, or in one conversation, until the connection ends."""
        async for update in self._told("subscribe", _present({"message": message, "conversation": conversation})):
            yield update

    # Tasks.

    async def handoff(self, /, peer: str, goal: str, **more: Any) -> Sent:
        """Hands a task to `peer`, within limits: `input`, `capabilities`, `tier`, `depth`, `not_after`, `lasts`,
        `under`, `summary`, `data_tier`, `wait`, `introduce`. It is not repeated when the connection breaks."""
        return value_of(Sent, await self._once("handoff.send", peer=peer, goal=goal, **more))

    # Everything else.

    async def call(self, /, method: str, **params: Any) -> Any:
        """Any call of docs/agent-api.md that may be repeated; `message_id` stands for `message-id`, None is left out."""
        return await self._opened().call(method, _present(params))

    async def close(self) -> None:
        """Ends the connections of calls. The next call opens them anew."""
        if self._client is not None:
            _, client = self._client
            self._client = None
            await client.close()

    async def __aenter__(self: C) -> C:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _once(self, method: str, **params: Any) -> Any:
        return await self._opened().call(method, _present(params), again=False)

    def _opened(self) -> Client:
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            self._client = (loop, Client(self.socket, self._patience))
        return self._client[1]

    async def _told(self, method: str, params: dict[str, Any]) -> AsyncIterator[Update]:
        heard: asyncio.Queue[Update | None] = asyncio.Queue()
        within = max(self._patience, MARGIN)
        connection = await connect(self.socket, within, lambda kind, said: _hear(heard, kind, said))
        connection.ended.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            began = await connection.call(method, params, within)
            for message in _waiting(began):
                yield Update("inbox.message", message)
            while (update := await heard.get()) is not None:
                yield update
        finally:
            connection.close()


def _name_of(replied: Any) -> str:
    return str(member(member(replied, dict, "an answer").get("message-id"), str, "an answer: message-id"))


def _hear(heard: asyncio.Queue[Update | None], kind: str, said: Any) -> None:
    try:
        heard.put_nowait(_update(kind, said))
    except Malformed as error:
        logger.warning("%s was told and is passed over: %s", kind, error)


def _hand_on(progress: dict[str, Any], on_progress: Callable[[dict[str, Any]], None]) -> None:
    try:
        on_progress(progress)
    except Exception:
        # The answer is waited for all the same.
        logger.exception("on_progress failed")


def _message(
    kind: str, peer: str, body: Any, capability: str | None, key: str | None, more: dict[str, Any]
) -> dict[str, Any]:
    names = {
        "conversation": "conversation-id",
        "tier": "data-tier",
        "continues_from": "continues-from",
        "for_people": "for-people",
    }
    known = (*names, "summary", "life", "continues", "introduce")
    if unknown := [name for name in more if name not in known]:
        raise SignetError(f"a message has no {unknown[0]}; it may have {', '.join(known)}")
    params = _present({names.get(name, name): value for name, value in more.items()})
    params |= _present({"capability": capability, "key": key or f"py-{uuid.uuid4().hex}"})
    return params | {"peer": peer, "kind": kind, "body": body}


def _present(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are given, as they are called on the wire; a body may be null."""
    given = {name.replace("_", "-"): value for name, value in params.items()}
    return {name: value for name, value in given.items() if value is not None or name == "body"}


def _update(kind: str, said: Any) -> Update:
    if kind == "message.moved":
        return Update(kind, moved=member(said, dict, kind))
    return Update(kind, message=value_of(Message, said))


def _waiting(began: Any) -> Iterable[Message]:
    if not isinstance(began, dict) or "messages" not in began:
        return []
    return list_of(Message, began, "messages")
