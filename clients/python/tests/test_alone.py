"""What needs no daemon: types and schemas, where the socket is, errors, and a daemon that is none."""

import asyncio
import dataclasses
import enum
import functools
import json
import logging
import socket
import tempfile
import time
import typing
import unittest
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, TypedDict
from unittest import mock

import signet_agent
from signet_agent import (
    Agent,
    DaemonSilent,
    Decline,
    Message,
    NoHome,
    NotReachable,
    Request,
    RequestRefused,
    SignetError,
    Unsuited,
)
from signet_agent.errors import ApiError, Refusal, error_of
from signet_agent.places import find_socket
from signet_agent.schema import Misfit, convert, json_of, schema_of

MESSAGE = Message("agent-bob", "bob", "m", "request", "t", "e", 1, 1)
REPOSITORY = Path(__file__).resolve().parents[3]


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Guest(TypedDict, total=False):
    name: str
    age: int


@dataclasses.dataclass
class Dinner:
    guests: list[Guest]
    mood: Mood
    at: Annotated[str, "when, as HH:MM"] = "19:30"
    dishes: dict[str, int] = dataclasses.field(default_factory=dict)
    note: Optional[str] = None
    kind: Literal["big", "small"] = "small"
    free_busy: float | None = dataclasses.field(default=None, metadata={"name": "free-busy"})


@dataclasses.dataclass
class Knot:
    inner: Optional["Knot"] = None


class Schemas(unittest.TestCase):
    def test_types_are_said_in_json_schema(self):
        schema = schema_of(Dinner, "dinner")
        self.assertEqual(schema["required"], ["guests", "mood"])
        self.assertIs(schema["additionalProperties"], False)
        members = schema["properties"]
        self.assertEqual(members["mood"], {"enum": ["good", "bad"]})
        self.assertEqual(members["at"], {"type": "string", "description": "when, as HH:MM"})
        self.assertEqual(members["note"], {"anyOf": [{"type": "string"}, {"type": "null"}]})
        self.assertEqual(members["free-busy"], {"anyOf": [{"type": "number"}, {"type": "null"}]})
        self.assertEqual(members["dishes"], {"type": "object", "additionalProperties": {"type": "integer"}})
        self.assertEqual(members["guests"]["items"]["required"], [])

    def test_a_body_becomes_a_value_of_the_type_and_back(self):
        body = {"guests": [{"name": "Ann"}], "mood": "bad", "free-busy": 2, "dishes": {"soup": 1.0}}
        dinner = convert(Dinner, body)
        self.assertEqual((dinner.mood, dinner.free_busy, dinner.dishes), (Mood.BAD, 2.0, {"soup": 1}))
        self.assertEqual(json_of(dinner)["free-busy"], 2.0)
        self.assertEqual(json_of(dinner)["mood"], "bad")

    def test_a_body_that_does_not_fit_is_refused_without_being_repeated(self):
        good = {"guests": [], "mood": "bad"}
        wrong = [
            None,
            [],
            "secret",
            {**good, "secret": 1},
            {**good, "mood": "secret"},
            {**good, "guests": [{"name": 7}]},
            {**good, "guests": ["secret"]},
            {**good, "at": None},
            {**good, "kind": True},
            {**good, "dishes": {"secret": True}},
            {**good, "dishes": {"secret": 1.5}},
            {**good, "free-busy": "secret"},
            {"mood": "bad"},
        ]
        for body in wrong:
            with self.assertRaises(Misfit) as misfit:
                convert(Dinner, body)
            self.assertNotIn("secret", str(misfit.exception))

    def test_what_a_schema_cannot_say_is_refused_by_name_when_it_is_declared(self):
        agent = Agent(socket="/nowhere")

        async def with_bytes(request, photo: bytes): ...
        async def with_set(request, names: set[str]): ...
        async def untyped(request, week): ...
        async def starred(request, *weeks: str): ...
        async def nothing(): ...
        async def both(request: Request[Dinner], week: str): ...
        async def knotted(request: Request[Knot]): ...
        async def lost(request, week: "Nowhere"): ...  # noqa: F821
        async def for_a_request(dinner: Dinner): ...

        for function in (with_bytes, with_set, untyped, starred, nothing, both, knotted, lost, for_a_request):
            with self.assertRaises(Unsuited) as refused:
                agent.handles(f"test.{function.__name__}")(function)
            self.assertIn(function.__name__, str(refused.exception))

    def test_a_schema_that_is_given_is_taken_as_it_is(self):
        agent, schema = Agent(socket="/nowhere"), {"type": "object", "maxProperties": 3}

        @agent.handles("test.given", schema=schema, description="mine")
        async def given(request: Request[dict[str, Any]]):
            """Not this."""

        offer = agent._handlers.by_capability["test.given"].offer()
        self.assertEqual(offer, {"capability": "test.given", "schema": schema, "description": "mine"})

    def test_whatever_can_be_called_is_a_handler_and_its_types_are_read(self):
        class Calendar:
            async def method(self, request, week: str): ...
            async def __call__(self, request, week: str): ...

        def curried(days, request: Request[Any], week: str): ...

        agent, calendar = Agent(socket="/nowhere"), Calendar()
        for name, function in {
            "test.method": calendar.method,
            "test.object": calendar,
            "test.partial": functools.partial(curried, 7),
        }.items():
            agent.handles(name)(function)
            handler = agent._handlers.by_capability[name]
            self.assertEqual(handler.schema["required"], ["week"], name)
            self.assertEqual(handler.is_async, name != "test.partial", name)

    def test_a_decorator_without_a_name_is_refused(self):
        with self.assertRaises(SignetError):
            Agent(socket="/nowhere").handles(lambda request: 1)

    def test_a_capability_has_one_handler(self):
        agent = Agent(socket="/nowhere")
        agent.handles("test.twice")(lambda request: 1)
        with self.assertRaises(SignetError):
            agent.handles("test.twice")(lambda request: 2)


class Places(unittest.TestCase):
    def test_the_socket_is_found_as_the_command_finds_its_home(self):
        all = {"SIGNET_AGENT_SOCKET": "/a/s", "SIGNET_HOME": "/s", "XDG_DATA_HOME": "/x", "HOME": "/h"}
        found = []
        for name in [None, *all]:
            all.pop(name, None)
            if all:
                found.append(str(find_socket(environment=all)))
        wanted = ["/a/s", "/s/agent.sock", "/x/signet/agent.sock", "/h/.local/share/signet/agent.sock"]
        self.assertEqual(found, wanted)
        self.assertEqual(str(find_socket("/o", "/i", {})), "/o")
        self.assertEqual(str(find_socket(None, "/i", {"SIGNET_AGENT_SOCKET": "/a"})), "/i/agent.sock")

    def test_empty_variables_and_a_relative_xdg_directory_count_as_unset(self):
        odd = {"SIGNET_AGENT_SOCKET": "", "SIGNET_HOME": "", "XDG_DATA_HOME": "x", "HOME": "/h"}
        self.assertEqual(str(find_socket(environment=odd)), "/h/.local/share/signet/agent.sock")
        with self.assertRaises(NoHome) as none:
            find_socket(environment={})
        self.assertIn("SIGNET_HOME", str(none.exception))


class Errors(unittest.TestCase):
    def test_every_reason_of_the_daemon_has_a_class(self):
        file = REPOSITORY / "schemas/api.schema.json"
        if not file.exists():
            self.skipTest("the repository is not here: only its schema has the reasons")
        reasons = json.loads(file.read_text())["$defs"]["Reason"]["anyOf"][0]["enum"]
        self.assertEqual(set(Refusal.by_reason), set(reasons))

    def test_a_reason_of_the_protocol_keeps_its_name(self):
        refusal = error_of({"code": -32000, "message": "no", "data": {"reason": "version-insufficient", "next": "wait"}})
        self.assertEqual((type(refusal), refusal.reason, refusal.next), (Refusal, "version-insufficient", "wait"))
        self.assertEqual(str(refusal), "no\n  next: wait")

    def test_who_has_to_name_a_capability_is_told_the_names_of_this_package(self):
        data = {"reason": "capability-needed", "next": "send `for-people`"}
        error = error_of({"code": -32000, "message": "bob offers a, b", "data": data})
        self.assertIn("for_people=True", str(error))
        self.assertNotIn("for-people", str(error))

    def test_an_error_that_cannot_be_read_is_one_all_the_same(self):
        for odd in (None, [], "?", {}, {"code": "x", "message": 7, "data": [1]}, {"code": -32000, "data": "?"}):
            self.assertIsInstance(error_of(odd), ApiError)

    def test_the_version_is_that_of_the_package(self):
        text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text()
        self.assertIn(f'version = "{signet_agent.__version__}"', text)

    def test_what_is_exported_is_there(self):
        for name in signet_agent.__all__:
            self.assertTrue(hasattr(signet_agent, name), name)
        self.assertTrue(issubclass(Decline, SignetError))
        self.assertTrue(typing.get_type_hints(signet_agent.Agent.request))


class NoDaemon(unittest.IsolatedAsyncioTestCase):
    async def test_a_daemon_that_does_not_run_is_said_with_what_to_do(self):
        with tempfile.TemporaryDirectory() as place:
            with self.assertRaises(NotReachable) as error:
                await Agent(home=place).status()
        self.assertIn("signet run", str(error.exception))

    async def test_what_does_not_speak_json_rpc_is_left(self):
        long = b"x" * (65 << 20)
        for said in (b"HTTP/1.1 400 Bad Request\n", b"[]\n", b"\xff\xfe\n", b'"line"\n', long, b""):
            with self.assertRaises(NotReachable):
                await self.ask(said)

    async def test_late_and_foreign_answers_are_passed_over(self):
        lines = [
            {"jsonrpc": "2.0", "id": 99, "result": "foreign"},
            {"jsonrpc": "2.0", "id": "1", "result": "a text"},
            {"jsonrpc": "2.0", "id": [1], "result": "odd"},
            {"jsonrpc": "2.0", "method": "inbox.message", "params": None},
            {"jsonrpc": "2.0", "id": 1, "result": []},
        ]
        said = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self.assertEqual(await self.ask(said), [])

    async def test_an_answer_in_many_pieces_is_one(self):
        said = json.dumps({"jsonrpc": "2.0", "id": 1, "result": [{"peer": "agent-é"}]}).encode() + b"\n"
        peers = await self.ask(said, piece=1)
        self.assertEqual(peers[0].peer, "agent-é")

    async def test_no_answer_of_another_form_is_a_fault_of_python(self):
        odd = [None, [], {}, "x", 7, {"messages": None}, {"messages": [None]}, {"messages": [{"number": 1}]}]
        odd += [{"message-id": 7, "state": "answered"}, {"message-id": "m", "state": "answered", "answer": 7}]
        odd += [{"message-id": "m", "state": "answered", "answer": {"from": "x"}}, [None], [{"peer": None}]]
        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place) / "s")
            result = None

            async def serve(reader, writer):
                while line := await reader.readline():
                    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}
                    writer.write(json.dumps(answer).encode() + b"\n")

            server = await asyncio.start_unix_server(serve, path)
            async with Agent(socket=path, patience=0.5) as agent:
                for result in odd:
                    for call in (
                        lambda: agent.request("agent-bob", 1, timeout=0.2),
                        lambda: agent.reply(MESSAGE, 1),
                        lambda: agent.decline(MESSAGE, "no"),
                        *(agent.inbox, agent.history, agent.outbox, agent.tasks, agent.peers, agent.status),
                        lambda: agent.where("m"),
                    ):
                        try:
                            await asyncio.wait_for(call(), 10)
                        except SignetError:
                            pass
            server.close()

    async def test_who_named_none_of_several_capabilities_is_told_what_there_is_and_how_it_is_said_here(self):
        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place) / "s")
            why = {"reason": "capability-needed", "by": "self", "offers": ["door.open", "door.shut"]}

            async def serve(reader, writer):
                while line := await reader.readline():
                    result = {"message-id": "m", "state": "refused", **why}
                    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}
                    writer.write(json.dumps(answer).encode() + b"\n")

            server = await asyncio.start_unix_server(serve, path)
            async with Agent(socket=path, patience=0.5) as agent:
                with self.assertRaises(RequestRefused) as refused:
                    await agent.request("agent-bob", 1)
            self.assertEqual(refused.exception.sent.offers, ["door.open", "door.shut"])
            for words in ("door.open, door.shut", "`capability`", "for_people=True"):
                self.assertIn(words, str(refused.exception))
            server.close()

    async def test_an_agent_that_serves_goes_on_after_answers_of_another_form(self):
        with tempfile.TemporaryDirectory() as place:
            path, seen = str(Path(place) / "s"), asyncio.Event()
            odd = [None, {}, {"messages": 7}, {"messages": [{"key": "k"}]}]

            async def serve(reader, writer):
                while line := await reader.readline():
                    call = json.loads(line)
                    result = odd.pop(0) if odd and call["method"] == "receive" else {"messages": []}
                    if not odd and call["method"] == "receive":
                        seen.set()
                        await asyncio.sleep(0.1)
                    writer.write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode() + b"\n")

            server = await asyncio.start_unix_server(serve, path)
            agent = Agent(socket=path)
            agent.handles("test.any")(lambda request: 1)
            serving = asyncio.create_task(agent.serve())
            await asyncio.wait_for(seen.wait(), 20)
            self.assertFalse(serving.done())
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            server.close()

    async def test_a_daemon_that_says_nothing_is_given_up_in_time(self):
        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place) / "s")

            async def serve(reader, writer):
                await asyncio.sleep(60)

            server = await asyncio.start_unix_server(serve, path)
            async with Agent(socket=path, patience=0.5) as agent:
                for call, most in (
                    (lambda: agent.request("agent-bob", 1, timeout=0.5), 10),
                    (lambda: agent.request("agent-bob", 1, timeout=0.5, on_progress=print), 10),
                    (lambda: agent.notify("agent-bob", 1), 10),
                    (agent.status, 10),
                ):
                    began = time.monotonic()
                    with self.assertRaises(DaemonSilent) as silent:
                        await asyncio.wait_for(call(), 20)
                    self.assertLess(time.monotonic() - began, most)
                    self.assertIsInstance(silent.exception, TimeoutError)
                    self.assertIn("signet doctor", str(silent.exception))
            server.close()

    async def test_a_daemon_that_takes_no_connection_is_given_up_in_time(self):
        with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as stopped:
            path = str(Path(place) / "s")
            stopped.bind(path)
            stopped.listen(0)
            with socket.socket(socket.AF_UNIX) as first:
                # So that there is no room for another one.
                first.connect(path)
                await self.give_up(path)
                # What neither is made nor fails, as some systems do where there is no room.
                with mock.patch.object(asyncio.get_running_loop(), "create_unix_connection", self.never):
                    await self.give_up(path)

    async def give_up(self, path: str):
        async with Agent(socket=path, patience=0.5) as agent:
            for call in (
                lambda: agent.request("agent-bob", 1, timeout=0.5),
                lambda: agent.request("agent-bob", 1, timeout=0.5, on_progress=print),
                agent.status,
                agent.follow().__anext__,
                agent.subscribe(message="m").__anext__,
            ):
                began = time.monotonic()
                with self.assertRaises(NotReachable):
                    await asyncio.wait_for(call(), 20)
                self.assertLess(time.monotonic() - began, 10)
            agent.handles("test.any")(lambda request: 1)
            serving = asyncio.create_task(agent.serve())
            with self.assertLogs("signet_agent", logging.WARNING) as said:
                await asyncio.wait_for(self.several(said.records), 20)
            self.assertFalse(serving.done())
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    @staticmethod
    async def several(records):
        while len(records) < 2:
            await asyncio.sleep(0.05)

    @staticmethod
    async def never(*_):
        await asyncio.sleep(60)

    async def ask(self, said: bytes, piece: int = 1 << 20):
        """`peers()` of an agent whose daemon says this, and hangs up."""

        async def serve(reader, writer):
            await reader.readline()
            try:
                for start in range(0, len(said), piece):
                    writer.write(said[start : start + piece])
                    await writer.drain()
            except ConnectionError:
                pass
            writer.close()

        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place) / "s")
            server = await asyncio.start_unix_server(serve, path)
            agent = Agent(socket=path, patience=0.2)
            try:
                return await asyncio.wait_for(agent.peers(), 20)
            finally:
                await agent.close()
                server.close()


if __name__ == "__main__":
    unittest.main()
