"""The types of a handler as JSON Schema, and bodies as values of those types.

What JSON cannot say is refused by name when the handler is declared, not when a message comes.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from typing import Any


class Unsuited(TypeError):
    """A type cannot be said in JSON Schema."""


class Misfit(ValueError):
    """A body is not of the type. Its text names places of the schema, and repeats nothing of the body."""

    def __init__(self, place: str, wanted: str) -> None:
        super().__init__(f"{place or 'the body'}: {wanted} is wanted")


def schema_of(kind: Any, place: str, within: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The JSON Schema of `kind`; `place` is what an error names."""
    if kind in within:
        raise Unsuited(f"{place}: {_name(kind)} holds itself, which the schema cannot say; give schema=…")
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        texts = [text for text in args[1:] if isinstance(text, str)]
        return schema_of(args[0], place, within) | ({"description": texts[0]} if texts else {})
    if kind is Any:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if origin in _UNIONS:
        return {"anyOf": [schema_of(one, place, within) for one in args]}
    if origin is typing.Literal and all(isinstance(one, (str, int, bool, type(None))) for one in args):
        return {"enum": list(args)}
    if origin is list and args:
        return {"type": "array", "items": schema_of(args[0], f"{place}[]", within)}
    if origin is dict and args and args[0] is str:
        return {"type": "object", "additionalProperties": schema_of(args[1], f"{place}{{}}", within)}
    if kind in (list, dict):
        return {"type": "array" if kind is list else "object"}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _schema_of_enum(kind, place)
    if (members := members_of(kind, place)) is not None:
        return object_schema(members, place, (*within, kind))
    raise Unsuited(
        f"{place}: {_name(kind)} cannot be said in JSON Schema; take str, int, float, bool, None, list[…], "
        "dict[str, …], Literal, an Enum, a dataclass or a TypedDict, or give schema=…"
    )


@dataclasses.dataclass(frozen=True)
class Member:
    """One member of an object: its name on the wire, and in Python."""

    name: str
    python: str
    kind: Any
    required: bool


def object_schema(members: list[Member], place: str, within: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The schema of an object that has these members and no others."""
    properties = {one.name: schema_of(one.kind, f"{place}.{one.name}", within) for one in members}
    required = [one.name for one in members if one.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def members_of(kind: Any, place: str) -> list[Member] | None:
    """The members of a dataclass or a TypedDict; None for another type."""
    is_dataclass = isinstance(kind, type) and dataclasses.is_dataclass(kind)
    if not is_dataclass and not typing.is_typeddict(kind):
        return None
    hints = hints_of(kind, place)
    if is_dataclass:
        return [
            Member(
                name=one.metadata.get("name", one.name),
                python=one.name,
                kind=hints[one.name],
                required=one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING,
            )
            for one in dataclasses.fields(kind)
            if one.init
        ]
    members = []
    for name, hint in hints.items():
        required, bare = _required(hint, name in kind.__required_keys__)
        members.append(Member(name, name, bare, required))
    return members


def hints_of(kind: Any, place: str) -> dict[str, Any]:
    """The annotations, also those that are written as text."""
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise Unsuited(f"{place}: the annotation {error.name!r} cannot be found where it stands") from error


def convert(kind: Any, value: Any, place: str = "") -> Any:
    """`value`, which is JSON, as `kind`."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return convert(args[0], value, place)
    if kind is Any:
        return value
    if kind in _PLAIN:
        return _plain(kind, value, place)
    if origin in _UNIONS:
        return _one_of(args, value, place)
    if origin is typing.Literal:
        if any(value == one and type(value) is type(one) for one in args):
            return value
        raise Misfit(place, "one of the values that the schema names")
    if origin is list or kind is list:
        wanted = args[0] if args else Any
        return [convert(wanted, one, f"{place}[]") for one in _of(list, value, place, "an array")]
    if origin is dict or kind is dict:
        wanted = args[1] if args else Any
        return {name: convert(wanted, one, f"{place}{{}}") for name, one in _of(dict, value, place, "an object").items()}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        for one in kind:
            if one.value == value and type(one.value) is type(value):
                return one
        raise Misfit(place, "one of the values that the schema names")
    return kind(**members_from(members_of(kind, place) or [], value, place))


def members_from(members: list[Member], value: Any, place: str = "") -> dict[str, Any]:
    """The members of an object by their names in Python."""
    given = _of(dict, value, place, "an object")
    if set(given) - {one.name for one in members}:
        raise Misfit(place, "no member but those of the schema")
    taken = {}
    for one in members:
        at = f"{place}.{one.name}" if place else one.name
        if one.name in given:
            taken[one.python] = convert(one.kind, given[one.name], at)
        elif one.required:
            raise Misfit(at, "this member")
    return taken


def json_of(value: Any) -> Any:
    """A handler's answer as JSON: dataclasses and enums become objects and values, all else stays as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            one.metadata.get("name", one.name): json_of(getattr(value, one.name)) for one in dataclasses.fields(value)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {name: json_of(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_of(one) for one in value]
    return value


def _plain(kind: Any, value: Any, place: str) -> Any:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is float and (is_whole or isinstance(value, float)):
        return float(value)
    # JSON has one kind of number: 1.0 is a whole one.
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    fits = is_whole if kind is int else value is None if kind in (None, type(None)) else isinstance(value, kind)
    if fits and kind is not float:
        return value
    raise Misfit(place, _WORDS[_PLAIN[kind]])


def _one_of(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    for kind in kinds:
        try:
            return convert(kind, value, place)
        except Misfit:
            continue
    raise Misfit(place, "one of the forms of the schema")


def _of(kind: Any, value: Any, place: str, wanted: str) -> Any:
    if not isinstance(value, kind):
        raise Misfit(place, wanted)
    return value


def _schema_of_enum(kind: type[enum.Enum], place: str) -> dict[str, Any]:
    values = [one.value for one in kind]
    if not all(isinstance(value, (str, int)) for value in values):
        raise Unsuited(f"{place}: {kind.__name__} has values that are neither texts nor whole numbers")
    return {"enum": values}


def _required(hint: Any, required: bool) -> tuple[bool, Any]:
    # Required and NotRequired stand in `typing` from Python 3.11 on, and in typing_extensions before.
    marks = {"typing.Required": True, "typing.NotRequired": False}
    named = str(typing.get_origin(hint)).replace("typing_extensions.", "typing.")
    if named in marks:
        return marks[named], typing.get_args(hint)[0]
    return required, hint


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)


_PLAIN: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    None: "null",
}
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_UNIONS = (typing.Union, types.UnionType)
