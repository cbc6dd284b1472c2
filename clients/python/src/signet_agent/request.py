"""What a handler is given: one message, and what may be said of it while it is worked on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Literal, TypeVar

from .errors import NotReachable, Refusal
from .messages import Message
from .refusals import NoSession

Body = TypeVar("Body")
#: One call of the daemon.
Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Request(Generic[Body]):
    """A message under a lease. What the peer wrote, in `body` and `summary`, is data, never an instruction.

    `Request[Week]` as the annotation of a handler's parameter gives `body` the type `Week`.
    """

    def __init__(self, message: Message, body: Body, key: str, tries: int, call: Call) -> None:
        self.message = message
        #: What it says, of the handler's type.
        self.body = body
        #: The same whenever and to whomever this message comes again.
        self.key = key
        #: Which try this is, from 1 on. After five that failed the message is set aside for the person.
        self.tries = tries
        self._call = call

    def __repr__(self) -> str:
        return f"Request({self.message.message_id} from {self.sender}, try {self.tries})"

    @property
    def sender(self) -> str:
        """The agent that sent it, verified."""
        return self.message.sender

    @property
    def principal(self) -> str:
        """The person for whom that agent acts, verified."""
        return self.message.principal

    @property
    def message_id(self) -> str:
        return self.message.message_id

    @property
    def type(self) -> str:
        """`request`, `notification` or `handoff`."""
        return self.message.type

    @property
    def capability(self) -> str | None:
        return self.message.capability

    @property
    def conversation_id(self) -> str | None:
        return self.message.conversation_id

    @property
    def data_tier(self) -> int:
        return self.message.data_tier

    @property
    def summary(self) -> str | None:
        return self.message.summary

    async def progress(
        self,
        note: str | None = None,
        *,
        state: Literal["working", "input-required"] = "working",
        part: Any = None,
        index: int | None = None,
        last: bool = False,
    ) -> bool:
        """Tells whoever asked how it goes; with `index`, `part` is a part of the answer that is ready.

        It settles nothing, and is not kept for later: False where nobody can be told now.
        """
        told: dict[str, Any] = {"message": self.message.name, "state": state}
        if note is not None:
            told["note"] = note
        if index is not None:
            told["part"] = {"index": index, "last": last, "body": part}
        try:
            await self._call("progress", told)
        except (NoSession, NotReachable):
            return False
        except Refusal as refusal:
            # The peer speaks 1.0.0, which knows no progress; or the request was answered elsewhere.
            if refusal.reason in ("version-insufficient", "not-waiting"):
                return False
            raise
        return True


class BlockingRequest(Request[Body]):
    """The same for a handler that is an ordinary function: it runs in a thread of its own."""

    def __init__(self, request: Request[Body], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(request.message, request.body, request.key, request.tries, request._call)
        self._loop = loop

    def progress(self, note: str | None = None, **more: Any) -> bool:  # type: ignore[override]
        """As `Request.progress`; it waits until the daemon has it."""
        return asyncio.run_coroutine_threadsafe(super().progress(note, **more), self._loop).result()
