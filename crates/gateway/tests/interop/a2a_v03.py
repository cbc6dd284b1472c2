"""a2a-sdk 0.3.x against a gateway: a2a_v03.py BASE PEER. With a TOKEN behind that, the card for those who have one."""

import asyncio
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, TaskIdParams, TaskQueryParams, TaskState, TextPart

base, peer, *token = sys.argv[1:]


def says(name, text):
    return Message(message_id=name, role=Role.user, parts=[Part(root=TextPart(text=text))])


async def shown(token):
    """The card that is shown to whoever may speak for the agent."""
    async with httpx.AsyncClient(timeout=60, headers={"authorization": f"Bearer {token}"}) as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        card.url = f"{base}/a2a/{peer}"
        client = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
        extended = await client.get_card()
        assert any(skill.id == "test.talk" for skill in extended.skills), extended
        print("ok: agent/getAuthenticatedExtendedCard")


async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        assert card.protocol_version.startswith("0.3"), card
        card.url = f"{base}/a2a/{peer}"
        plain = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
        stream = ClientFactory(ClientConfig(streaming=True, httpx_client=http)).create(card)

        told = [event async for event in plain.send_message(says("v03-1", "hello"))]
        task = told[-1][0]
        assert task.status.state == TaskState.completed, task
        assert task.artifacts[0].parts[0].root.text == "heard hello", task
        print("ok: message/send")

        told = [event async for event in stream.send_message(says("v03-2", "count"))]
        task = told[-1][0]
        assert task.status.state == TaskState.completed, task
        assert task.artifacts[-1].parts[0].root.text == "one two three", task
        print("ok: message/stream")

        found = await plain.get_task(TaskQueryParams(id=task.id, history_length=1))
        assert found.history[0].parts[0].root.text, found
        print("ok: tasks/get")

        told = [event async for event in plain.send_message(says("v03-3", "decline"))]
        assert told[-1][0].status.state == TaskState.rejected, told
        try:
            await plain.cancel_task(TaskIdParams(id=told[-1][0].id))
            raise SystemExit("what is over was canceled")
        except Exception as error:
            assert "-32002" in str(error) or "cancel" in str(error).lower(), error
        print("ok: tasks/cancel of what is over")
        assert not card.supports_authenticated_extended_card, card


asyncio.run(shown(*token) if token else main())
