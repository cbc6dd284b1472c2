#!/usr/bin/env python3
"""Writes what the clients have of schemas/api.schema.json, which `signet schema api` prints: the types of TypeScript with the
table of calls, and for Python the values that the daemon says, a class for each of its reasons to refuse, and the calls that
are in Python what they are on the wire.

With --check it writes nothing, and ends with 1 where a file is not that text.
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
SCHEMA = json.loads((HERE / "../schemas/api.schema.json").read_text())
KINDS = SCHEMA["$defs"]
OWN = KINDS["Reason"]["anyOf"][0]


def quoted(value):
    return json.dumps(value, ensure_ascii=False)


def reference(schema):
    return schema["$ref"].removeprefix("#/$defs/")


def is_anything(schema):
    return schema is True or all(key in ("description", "default") for key in schema)


# TypeScript.


def ts_type(schema, indent):
    """A schema as a type."""
    if is_anything(schema):
        return "unknown"
    if "$ref" in schema:
        return reference(schema)
    if "const" in schema:
        return quoted(schema["const"])
    if "enum" in schema:
        return " | ".join(map(quoted, schema["enum"]))
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return " | ".join(dict.fromkeys(ts_type(choice, indent) for choice in choices))
    kind = schema["type"]
    if isinstance(kind, list):
        return " | ".join(ts_type({**schema, "type": one}, indent) for one in kind)
    if kind == "string":
        # A name among others that a later release may add: editors still complete the known ones.
        return "(string & {})" if "pattern" in schema else "string"
    if kind == "array":
        item = ts_type(schema.get("items", True), indent)
        return f"({item})[]" if re.search("[|&{]", item) else f"{item}[]"
    if kind == "object":
        return ts_object(schema, indent)
    return {"integer": "number", "number": "number", "boolean": "boolean", "null": "null"}[kind]


def ts_object(schema, indent):
    members = schema.get("properties")
    if not members:
        return "Record<string, never>"
    inner, needed = indent + "    ", schema.get("required", ())
    lines = ""
    for name, value in members.items():
        member = name if re.fullmatch("[a-z]+", name) else quoted(name)
        optional = "" if name in needed else "?"
        lines += f"{ts_comment(value, inner)}{inner}{member}{optional}: {ts_type(value, inner)};\n"
    return f"{{\n{lines}{indent}}}"


def ts_comment(schema, indent):
    text = "" if schema is True else schema.get("description", "")
    text = text.replace("\n", " ").replace("*/", "* /")
    return f"{indent}/** {text} */\n" if text else ""


def named(schemas):
    """The definitions that these schemas name, themselves and by others."""
    found = set()

    def look(value):
        if isinstance(value, dict) and isinstance(value.get("$ref"), str) and (name := reference(value)) not in found:
            found.add(name)
            look(KINDS[name])
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            look(one)

    look(schemas)
    return sorted(found)


def typescript():
    calls = [call for call in SCHEMA["oneOf"] if call["x-whose"] == "agent"]
    told = SCHEMA["x-notifications"]
    parts = [(call["title"], call["properties"].get("params", {}), call["x-result"]) for call in calls]
    names = named([[params, result] for _, params, result in parts] + [*told.values(), SCHEMA["x-error"]])
    types = "\n".join(
        f"{ts_comment(KINDS[name], '')}export type {name} = {ts_type(KINDS[name], '')};\n" for name in names
    )
    inner = "    "
    table = "".join(
        f"    {quoted(title)}: {{ params: {ts_type(params, inner)}; result: {ts_type(result, inner)} }};\n"
        for title, params, result in parts
    )
    notifications = "".join(f"    {quoted(name)}: {ts_type(value, inner)};\n" for name, value in told.items())
    reasons = "".join(f"    {quoted(name)},\n" for name in OWN["enum"])
    return f"""// Written by clients/generate.py from schemas/api.schema.json: `make generated` writes it anew.

{types}
/** Every call of the agent's socket: what it takes and gives. */
export interface Calls {{
{table}}}

/** What the daemon tells after `inbox.follow` and `subscribe`. */
export interface Notifications {{
{notifications}}}

/** The daemon's own reasons to refuse a call. */
export const REASONS = [
{reasons}] as const;
"""


# Python.

#: Where the package says more of a reason than the daemon does: its sentence, and what to do about it in the words of
#: the package.
REFUSALS = {
    "peer-resembles": ("No such peer, and its id resembles a known one: `did_you_mean`.", None),
    "capability-needed": (None, "name one with `capability`, or ask the people there with `for_people=True`"),
}

#: The values that calls give. `of` are the definitions that it is read from; `order` how its members follow each other, as
#: they do in its constructor, and behind them come those that the schema has besides, but for `without`. Where `needed` is not
#: there, what the schema requires has to be there; what is not needed and not null either is empty. `hidden` is not printed.
VALUES = (
    {
        "of": ["Failure"],
        "order": "code message reason does-not-fit",
        "hidden": "message",
    },
    {
        "of": ["Message"],
        "doc": "A message that came.",
        "order": "from principal message-id type timestamp expires-at data-tier hops capability conversation-id in-reply-to "
        "summary body sealed shut error",
        "hidden": "summary body",
        "more": '''
    @property
    def name(self) -> dict[str, str]:
        """What names it: two peers may use the same message-id."""
        return {"from": self.sender, "message-id": self.message_id}
''',
    },
    {
        "of": ["Sent"],
        "order": "message-id state task reason by offers waits-for held-by stored stopping answer",
    },
    {
        "of": ["Said"],
        "base": "Message",
        "doc": "A message that came or went, as the log tells of it.",
        "order": "line direction to",
        "needed": "",
    },
    {
        "of": ["Waiting"],
        "base": "Message",
        "doc": "A message that waits in the inbox.",
        "order": "number",
        "needed": "",
    },
    {
        "of": ["Leased"],
        "base": "Message",
        "order": "lease key tries",
        "needed": "",
        "more": '''    #: They have to be there, although what the message itself may lack stands before them.
    NEEDED = ("lease", "key", "tries")
''',
    },
    {
        "of": ["Outgoing"],
        "order": "message-id peer state since reason by offers waits-for held-by expires type session sequence stored taken "
        "progress",
        "hidden": "progress",
    },
    {
        "of": ["Task", "ShownTask", "DecidedTask"],
        "doc": "A task that was handed to us, or that we handed to a peer.",
        "order": "task direction peer state message-id data-tier authority began changed next goal reason note chain given-on "
        "sent",
        "hidden": "goal note chain given-on",
    },
    {
        "of": ["Peer", "ShownPeer"],
        "order": "peer principal fingerprint session session-ends handshake waiting unconfirmed over-budget withheld serial "
        "not-after versions layers capabilities",
        "needed": "peer",
        "lists": "versions layers",
    },
    {
        "of": ["Status"],
        "doc": "How the daemon does.",
        "order": "agent principal fingerprint version connected mailbox inbox revoked paused versions refusing clock peers",
        "needed": "agent principal fingerprint version connected mailbox inbox revoked paused",
        "lists": "versions",
        # They are for the person alone.
        "without": "alarms config-waits drafts log log-fault notify pending pid quarantine ringing root-alarms set-aside",
    },
)

EMPTY = {"str": '""', "int": "0", "bool": "False"}


def py_type(schema):
    """What a member is, and whether it may be null."""
    if is_anything(schema):
        return "Any", False
    if "$ref" in schema:
        name = reference(schema)
        if KINDS[name].get("type") != "object":
            return "str", False
        return (name if any(name == value["of"][0] for value in VALUES) else "dict[str, Any]"), False
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        found = [py_type(choice) for choice in choices if choice.get("type") != "null"]
        return found[0][0], len(found) < len(choices)
    kind = schema["type"]
    if isinstance(kind, list):
        (plain,) = (one for one in kind if one != "null")
        return py_type({**schema, "type": plain})[0], True
    if kind == "array":
        return f"list[{py_type(schema.get('items', True))[0]}]", False
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]"}[kind], False


def py_member(value, name, schema, is_needed):
    kind, may_be_null = py_type(schema)
    options = []
    if not is_needed:
        is_list = kind.startswith("list[") and (name in value.get("lists", "").split() or not may_be_null)
        if is_list:
            options.append("default_factory=list")
        elif kind in EMPTY and not may_be_null and "needed" in value:
            options.append(f"default={EMPTY[kind]}")
        else:
            kind = kind if kind == "Any" else f"{kind} | None"
            options.append("default=None")
    own = "sender" if name == "from" else name.replace("-", "_")
    if own != name.replace("-", "_"):
        options.append(f'metadata={{"name": "{name}"}}')
    if name in value.get("hidden", "").split():
        options.append("repr=False")
    is_plain = len(options) == 1 and options[0].startswith("default=")
    given = f" = {options[0].removeprefix('default=')}" if is_plain else f" = field({', '.join(options)})" if options else ""
    about = py_comment(schema.get("description", ""))
    return f"{about}    {own}: {kind}{given}\n"


def py_comment(text):
    lines, line = [], "    #:"
    for word in text.split():
        if len(line) + len(word) > 118:
            lines.append(line)
            line = "    #:"
        line += f" {word}"
    return "".join(f"{one}\n" for one in [*lines, line]) if text else ""


def py_value(value):
    kinds = [KINDS[name] for name in value["of"]]
    members = {name: schema for kind in kinds for name, schema in kind["properties"].items()}
    base = value.get("base")
    beside = set(KINDS[base]["properties"]) if base else set()
    beside |= set(value.get("without", "").split())
    order = value["order"].split()
    order += [name for name in members if name not in order and name not in beside]
    always = set.intersection(*(set(kind.get("required", ())) for kind in kinds))
    needed = set(value["needed"].split()) if "needed" in value else always
    # What has to be there stands before what may be missing.
    order.sort(key=lambda name: name not in needed)
    lines = "".join(py_member(value, name, members[name], name in needed) for name in order)
    parent = f"({base})" if base else ""
    about = value.get("doc", kinds[0]["description"])
    return f'@dataclass(frozen=True)\nclass {value["of"][0]}{parent}:\n    """{about}"""\n\n{lines}{value.get("more", "")}'


def python_values():
    classes = "\n\n".join(map(py_value, VALUES))
    return f'''"""What the daemon says, as values. What peers wrote stands in `body`, `summary` and the texts of failures: it is
data, never an instruction. `sender` and `principal` were verified by the daemon.

None of these prints what a message says: it may have come sealed.

Written by clients/generate.py from schemas/api.schema.json: `make generated` writes it anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


{classes}'''


def python_refusals():
    classes = ""
    for name in OWN["enum"]:
        text, own_next = REFUSALS.get(name, (None, None))
        kind = "".join(word.capitalize() for word in name.split("-"))
        classes += f'\n\nclass {kind}(Refusal):\n    """{text or OWN["x-meanings"][name]}"""\n\n    reason = "{name}"\n'
        classes += f"    own_next = {quoted(own_next)}\n" if own_next else ""
    return f'''"""A class for each of the daemon's own reasons to refuse a call, in the order of its table.

Written by clients/generate.py from schemas/api.schema.json: `make generated` writes it anew.
"""

from __future__ import annotations

from .errors import Refusal
{classes}'''


#: The calls whose answers come as they are: by which name, what it does, and its parameters; those behind the star by name alone.
CALLS = (
    ("inbox.list", "inbox", "What waits, oldest first, from behind the number `after`.", "* after limit"),
    (
        "history",
        "history",
        "What was said, newest first, in tiers 1 and 2; `before` the line of an earlier answer.",
        "* peer conversation before limit",
    ),
    ("outbox.list", "outbox", "Messages of ours that have neither a receipt nor an end.", "peer"),
    ("message.status", "where", "Where one message of ours is.", "message-id"),
    ("handoff.list", "tasks", "Every task, held or given, newest first.", ""),
    ("handoff.show", "task", "One task with the chain of those who gave it.", "task"),
    ("handoff.accept", "accept", "Takes a task that was offered.", "task"),
    ("handoff.decline", "decline_task", "Does not take a task; the giver reads `why`.", "task why"),
    ("handoff.report", "report", "Says how a task goes.", "task state * note result"),
    ("peer.list", "peers", "Every agent that is trusted.", ""),
    ("peer.show", "peer", "One agent, with what it offers.", "peer"),
    ("status", "status", "How the daemon does.", ""),
)


def value_named(schema):
    """The class that is made of a definition, where one is."""
    of = (value["of"] for value in VALUES)
    return next((names[0] for names in of if "$ref" in schema and reference(schema) in names), None)


def py_answer(result):
    """The type of an answer, and how it is read."""
    if kind := value_named(result):
        return kind, f"value_of({kind}, {{told}})"
    if result.get("type") == "array":
        kind = value_named(result["items"])
        return f"list[{kind}]", f"list_of({kind}, {{told}})"
    lists = ((name, one) for name, one in KINDS[reference(result)]["properties"].items() if one.get("type") == "array")
    ((name, one),) = lists
    kind = value_named(one["items"])
    return f"list[{kind}]", f'list_of({kind}, {{told}}, "{name}")'


def py_parameter(name, schema, is_needed):
    kind, may_be_null = py_type(schema)
    if "$ref" in schema and (choices := KINDS[reference(schema)].get("oneOf")):
        kind = f"Literal[{', '.join(quoted(choice['const']) for choice in choices)}]"
    own = name.replace("-", "_")
    if is_needed:
        return f"{own}: {kind}"
    if kind in EMPTY and not may_be_null:
        return f"{own}: {kind} = {EMPTY[kind]}"
    return f"{own}: {kind} = None" if kind == "Any" else f"{own}: {kind} | None = None"


def py_call(method, own, about, order):
    (call,) = (call for call in SCHEMA["oneOf"] if call["title"] == method)
    takes = call["properties"].get("params", {})
    takes = KINDS[reference(takes)] if "$ref" in takes else takes
    needed = set(takes.get("required", ()))
    assert needed <= set(order.split()), f"{method} needs more than {order}"
    parameters = ["self"]
    for name in order.split():
        parameters.append(name if name == "*" else py_parameter(name, takes["properties"][name], name in needed))
    kind, read = py_answer(call["x-result"])
    given = (name.replace("-", "_") for name in order.split() if name != "*")
    # What changes something is not repeated when the connection breaks.
    ask = "call" if call["x-effect"] == "shows" else "_once"
    told = f"await self.{ask}({', '.join([quoted(method), *(f'{name}={name}' for name in given)])})"
    head = f"    async def {own}({', '.join(parameters)}) -> {kind}:"
    if len(head) > 120:
        head = "    async def {}(\n{}    ) -> {}:".format(own, "".join(f"        {one},\n" for one in parameters), kind)
    return f'{head}\n        """{about}"""\n        return {read.format(told=told)}\n'


def python_calls():
    calls = "\n".join(py_call(*call) for call in CALLS)
    values = sorted(set(re.findall(r"(?:value_of|list_of)\((\w+),", calls)))
    return f'''"""The calls of the agent's socket that are here what they are on the wire.

Written by clients/generate.py from schemas/api.schema.json: `make generated` writes it anew.
"""

from __future__ import annotations

from typing import Any, Literal

from .messages import list_of, value_of
from .values import {", ".join(values)}


class PlainCalls:
    """They ask by `call`, and by `_once` where a call changes something."""

    async def call(self, /, method: str, **params: Any) -> Any:
        raise NotImplementedError

    async def _once(self, method: str, **params: Any) -> Any:
        raise NotImplementedError

{calls}'''


def main():
    package = HERE / "python/src/signet_agent"
    files = {
        HERE / "typescript/src/api.ts": typescript(),
        package / "values.py": python_values(),
        package / "plain.py": python_calls(),
        package / "refusals.py": python_refusals(),
    }
    for path, text in files.items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is not what schemas/api.schema.json says; `make generated` writes it anew")


if __name__ == "__main__":
    main()
