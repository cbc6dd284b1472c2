"""The handlers of an agent: which function serves which capability, and what body it takes."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import SignetError
from .request import BlockingRequest, Request
from .schema import Member, Misfit, Unsuited, convert, hints_of, members_from, object_schema, schema_of

Function = Callable[..., Any]


@dataclass(frozen=True)
class Handler:
    """One function, and what it serves."""

    function: Function
    #: None for one that takes what no other does.
    capability: str | None
    schema: dict[str, Any] | None
    description: str | None
    tier: int | None
    #: Whether peers are told of it while the agent runs.
    offered: bool
    #: Seconds that one try may take.
    timeout: float
    #: The type of `request.body`, where the function says it.
    kind: Any = Any
    #: The members of the body that the function takes as parameters.
    members: tuple[Member, ...] | None = None

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(_annotated(self.function))

    @property
    def place(self) -> str:
        """What errors and this process's log call it."""
        return _place(self.function)

    def offer(self) -> dict[str, Any]:
        """What the daemon is told."""
        said = {
            "capability": self.capability,
            "schema": self.schema,
            "description": self.description,
            "tier": self.tier,
        }
        return {name: value for name, value in said.items() if value is not None}

    def arguments(self, body: Any) -> tuple[Any, dict[str, Any]]:
        """The body as the function takes it: as `request.body`, and as parameters. Raises `Misfit`."""
        if self.members is not None:
            return body, members_from(list(self.members), body)
        return convert(self.kind, body), {}


class Handlers:
    """All handlers of one agent."""

    def __init__(self) -> None:
        self.by_capability: dict[str, Handler] = {}
        self.fallback: Handler | None = None

    def add(self, handler: Handler) -> None:
        taken = self.fallback if handler.capability is None else self.by_capability.get(handler.capability)
        if taken is not None:
            what = handler.capability or "what no other handler takes"
            raise SignetError(f"{what} has a handler already: {taken.place}")
        if handler.capability is None:
            self.fallback = handler
        else:
            self.by_capability[handler.capability] = handler

    def of(self, capability: str | None) -> Handler | None:
        known = self.by_capability.get(capability) if capability is not None else None
        return known or self.fallback

    @property
    def wanted(self) -> list[str] | None:
        """The capabilities that are asked for; None for everything."""
        return None if self.fallback else list(self.by_capability)


def declare(
    function: Function,
    capability: str | None,
    *,
    schema: dict[str, Any] | None,
    description: str | None,
    tier: int | None,
    offered: bool,
    timeout: float,
) -> Handler:
    """Reads the function's types. Raises `Unsuited` for what a schema cannot say."""
    kind, members = _taken(function)
    if schema is None and members is not None:
        schema = object_schema(members, _place(function))
    elif schema is None and kind is not Any:
        schema = schema_of(kind, _place(function))
    elif members is not None:
        # A schema that is given holds for peers; the types are read all the same, and have to be known.
        object_schema(members, _place(function))
    return Handler(
        function=function,
        capability=capability,
        schema=schema,
        description=description or _first_line(function),
        tier=tier,
        offered=offered and capability is not None,
        timeout=timeout,
        kind=kind,
        members=None if members is None else tuple(members),
    )


def _taken(function: Function) -> tuple[Any, list[Member] | None]:
    """The type of the body by the first parameter, or its members by all the others."""
    place = _place(function)
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        raise Unsuited(f"{place}: a handler takes the request as its first parameter")
    hints = hints_of(_annotated(function), place)
    first = hints.get(parameters[0].name)
    kind = _body_of(first, place)
    if len(parameters) == 1:
        return kind, None
    if kind is not Any:
        raise Unsuited(f"{place}: name the body's type in Request[…], or its members as parameters; not both")
    return Any, [_member(one, hints, place) for one in parameters[1:]]


def _body_of(annotation: Any, place: str) -> Any:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(origin, type) and issubclass(origin, Request):
        return Any if isinstance(args[0], typing.TypeVar) else args[0]
    if annotation in (None, Any, object) or (isinstance(annotation, type) and issubclass(annotation, Request)):
        return Any
    kind = getattr(annotation, "__name__", None) or str(annotation)
    raise Unsuited(f"{place}: its first parameter is the request; for a body of the type {kind} write Request[{kind}]")


def _annotated(function: Function) -> Function:
    """What has the annotations: a partial function and an object that can be called have none of their own."""
    while isinstance(function, functools.partial):
        function = function.func
    is_plain = inspect.isroutine(function) or isinstance(function, type)
    return function if is_plain else type(function).__call__


def _place(function: Function) -> str:
    name = getattr(_annotated(function), "__qualname__", None)
    return name or type(function).__qualname__


def _member(parameter: inspect.Parameter, hints: dict[str, Any], place: str) -> Member:
    at = f"{place}: parameter {parameter.name}"
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise Unsuited(f"{at}: a member of the body is a parameter with a name of its own, neither * nor **")
    if parameter.name not in hints:
        raise Unsuited(f"{at}: it has no type; annotate it, or take the whole body as request.body")
    required = parameter.default is parameter.empty
    return Member(parameter.name, parameter.name, hints[parameter.name], required)


def _first_line(function: Function) -> str | None:
    text = inspect.getdoc(_annotated(function))
    return text.strip().split("\n", 1)[0][:DESCRIPTION] if text and text.strip() else None


#: The longest description that a capability may have.
DESCRIPTION = 200

__all__ = ["Function", "Handler", "Handlers", "Misfit", "declare"]
