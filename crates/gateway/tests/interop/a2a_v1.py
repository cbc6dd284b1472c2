"""a2a-sdk 1.x against a gateway: a2a_v1.py BASE PEER. With a TOKEN behind that, the card for those who have one."""

import asyncio
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)

base, peer, *token = sys.argv[1:]


def says(name, text, now=False):
    message = Message(message_id=name, role=Role.ROLE_USER, parts=[Part(text=text)])
    return SendMessageRequest(
        message=message, configuration=SendMessageConfiguration(return_immediately=now)
    )


async def last_of(client, request):
    told = [event async for event in client.send_message(request)]
    assert told, "nothing came"
    return told


def task_of(told):
    found = [event.task for event in told if event.HasField("task")]
    assert found, told
    return found[-1]


async def shown(token):
    """The card that is shown to whoever may speak for the agent."""
    async with httpx.AsyncClient(timeout=60, headers={"authorization": f"Bearer {token}"}) as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        for interface in card.supported_interfaces:
            interface.url = f"{base}/a2a/{peer}"
        client = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
        extended = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
        assert any(skill.id == "test.talk" for skill in extended.skills), extended
        print("ok: GetExtendedAgentCard")


async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        assert card.supported_interfaces[0].protocol_version == "1.0", card
        for interface in card.supported_interfaces:
            interface.url = f"{base}/a2a/{peer}"
        plain = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
        stream = ClientFactory(ClientConfig(streaming=True, httpx_client=http)).create(card)

        task = task_of(await last_of(plain, says("v1-1", "hello")))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED, task
        assert task.artifacts[0].parts[0].text == "heard hello", task
        print("ok: SendMessage")

        told = await last_of(stream, says("v1-2", "count"))
        states = [event.status_update.status.state for event in told if event.HasField("status_update")]
        assert states[-1] == TaskState.TASK_STATE_COMPLETED, told
        texts = [event.artifact_update.artifact.parts[0].text for event in told if event.HasField("artifact_update")]
        assert texts[-1] == "one two three" and texts[0] == "one", texts
        print("ok: SendStreamingMessage")

        found = await plain.get_task(GetTaskRequest(id=task.id, history_length=1))
        assert found.history[0].parts[0].text == "hello", found
        listed = await plain.list_tasks(ListTasksRequest(page_size=1))
        assert listed.page_size == 1 and listed.total_size >= 2 and listed.next_page_token, listed
        print("ok: GetTask, ListTasks")

        declined = task_of(await last_of(plain, says("v1-3", "decline")))
        assert declined.status.state == TaskState.TASK_STATE_REJECTED, declined
        assert "not on Sundays" in declined.status.message.parts[0].text, declined
        print("ok: a task that is rejected")

        slow = task_of(await last_of(plain, says("v1-4", "slow", now=True)))

        async def follow():
            async for event in stream.subscribe(SubscribeToTaskRequest(id=slow.id)):
                if event.HasField("status_update") and event.status_update.status.state == TaskState.TASK_STATE_CANCELED:
                    return True
            return False

        following = asyncio.create_task(follow())
        await asyncio.sleep(1)
        canceled = await plain.cancel_task(CancelTaskRequest(id=slow.id))
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED, canceled
        assert await asyncio.wait_for(following, 30)
        print("ok: SubscribeToTask, CancelTask")
        assert not card.capabilities.extended_agent_card, card


asyncio.run(shown(*token) if token else main())
