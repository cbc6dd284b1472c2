"""How what the daemon said becomes the values of `values`, and what it tells unasked."""

from __future__ import annotations

import functools
import typing
from collections.abc import Hashable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, TypeVar

from .values import Failure, Leased, Message, Outgoing, Peer, Said, Sent, Status, Task, Waiting

__all__ = [
    "Failure",
    "Leased",
    "Message",
    "Outgoing",
    "Peer",
    "Said",
    "Sent",
    "Status",
    "Task",
    "Update",
    "Waiting",
    "list_of",
    "malformed",
    "member",
    "value_of",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Update:
    """Something that moved: `state` of a message of ours, or a `message` that came, such as progress."""

    #: `conversation.message`, `message.progress`, `message.moved` or `inbox.message`.
    kind: str
    message: Message | None = None
    #: Of `message.moved`.
    moved: dict[str, Any] | None = None

    @property
    def progress(self) -> dict[str, Any] | None:
        """What a peer told of a request: `state`, and perhaps `note` and `part`."""
        body = self.message.body if self.message and self.kind == "message.progress" else None
        return body if isinstance(body, dict) else None


def value_of(kind: type[T], given: Any) -> T:
    """What the daemon said, as `kind`. Members that a later daemon adds are passed over; what is missing or of another
    type is `Malformed`."""
    members = member(given, dict, kind.__name__)
    values: dict[str, Any] = {}
    for own, name, types, is_needed in _members(typing.cast(Hashable, kind)):
        if name not in members:
            if is_needed:
                raise malformed(f"{kind.__name__} has no {name}")
            continue
        values[own] = _nested(own, member(members[name], types, f"{kind.__name__}: {name}"))
    return kind(**values)


def list_of(kind: type[T], given: Any, name: str | None = None) -> list[T]:
    """A list of such, which stands in the member `name` where one is named."""
    if name is not None:
        given = member(given, dict, f"a list of {kind.__name__}").get(name)
    return [value_of(kind, one) for one in member(given, list, f"a list of {kind.__name__}")]


def member(value: Any, types: type | tuple[type, ...], what: str) -> Any:
    """The value, where it is of these types: true is no number."""
    known = types if isinstance(types, tuple) else (types,)
    fits = isinstance(value, known) and (bool in known or not isinstance(value, bool))
    if not fits and object not in known:
        raise malformed(f"{what} is of another type")
    return value


def malformed(what: str) -> Exception:
    # It names classes of this module.
    from .errors import Malformed

    return Malformed(
        f"what the daemon answered has not its form: {what}",
        next="are the daemon and this package of one release? signet --version",
    )


@functools.cache
def _members(kind: Any) -> tuple[tuple[str, str, tuple[type, ...], bool], ...]:
    """The members of a class: its own name for each and that on the wire, what it may be, and whether it has to be there."""
    hints = typing.get_type_hints(kind)
    return tuple(
        (
            one.name,
            one.metadata.get("name", one.name.replace("_", "-")),
            _types(hints[one.name]),
            (one.default is MISSING and one.default_factory is MISSING) or one.name in getattr(kind, "NEEDED", ()),
        )
        for one in fields(kind)
    )


def _types(hint: Any) -> tuple[type, ...]:
    """What JSON makes of a type: dataclasses are objects, and an Optional may be null."""
    inner = typing.get_args(hint)
    if hint is Any:
        return (object,)
    if inner and type(None) in inner:
        return tuple(found for one in inner for found in _types(one))
    plain = typing.get_origin(hint) or hint
    return (dict,) if is_dataclass(plain) else (plain,)


def _nested(name: str, value: Any) -> Any:
    if name == "answer" and isinstance(value, dict):
        return value_of(Message, value)
    if name == "error" and isinstance(value, dict):
        return value_of(Failure, value)
    if name == "peers" and isinstance(value, list):
        return [value_of(Peer, one) for one in value]
    return value
