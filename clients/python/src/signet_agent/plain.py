"""The calls of the agent's socket that are here what they are on the wire.

Written by clients/generate.py from schemas/api.schema.json: `make generated` writes it anew.
"""

from __future__ import annotations

from typing import Any, Literal

from .messages import list_of, value_of
from .values import Outgoing, Peer, Said, Status, Task, Waiting


class PlainCalls:
    """They ask by `call`, and by `_once` where a call changes something."""

    async def call(self, /, method: str, **params: Any) -> Any:
        raise NotImplementedError

    async def _once(self, method: str, **params: Any) -> Any:
        raise NotImplementedError

    async def inbox(self, *, after: int = 0, limit: int | None = None) -> list[Waiting]:
        """What waits, oldest first, from behind the number `after`."""
        return list_of(Waiting, await self.call("inbox.list", after=after, limit=limit), "messages")

    async def history(
        self,
        *,
        peer: str | None = None,
        conversation: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> list[Said]:
        """What was said, newest first, in tiers 1 and 2; `before` the line of an earlier answer."""
        return list_of(Said, await self.call("history", peer=peer, conversation=conversation, before=before, limit=limit), "messages")

    async def outbox(self, peer: str | None = None) -> list[Outgoing]:
        """Messages of ours that have neither a receipt nor an end."""
        return list_of(Outgoing, await self.call("outbox.list", peer=peer), "messages")

    async def where(self, message_id: str) -> Outgoing:
        """Where one message of ours is."""
        return value_of(Outgoing, await self.call("message.status", message_id=message_id))

    async def tasks(self) -> list[Task]:
        """Every task, held or given, newest first."""
        return list_of(Task, await self.call("handoff.list"), "tasks")

    async def task(self, task: str) -> Task:
        """One task with the chain of those who gave it."""
        return value_of(Task, await self.call("handoff.show", task=task))

    async def accept(self, task: str) -> Task:
        """Takes a task that was offered."""
        return value_of(Task, await self._once("handoff.accept", task=task))

    async def decline_task(self, task: str, why: str) -> Task:
        """Does not take a task; the giver reads `why`."""
        return value_of(Task, await self._once("handoff.decline", task=task, why=why))

    async def report(
        self,
        task: str,
        state: Literal["working", "completed", "failed", "returned"],
        *,
        note: str | None = None,
        result: Any = None,
    ) -> Task:
        """Says how a task goes."""
        return value_of(Task, await self._once("handoff.report", task=task, state=state, note=note, result=result))

    async def peers(self) -> list[Peer]:
        """Every agent that is trusted."""
        return list_of(Peer, await self.call("peer.list"))

    async def peer(self, peer: str) -> Peer:
        """One agent, with what it offers."""
        return value_of(Peer, await self.call("peer.show", peer=peer))

    async def status(self) -> Status:
        """How the daemon does."""
        return value_of(Status, await self.call("status"))
