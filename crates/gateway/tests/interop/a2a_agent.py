"""An agent on a2a-sdk that speaks A2A 1.0, and 0.3 to who asks by its names: a2a_agent.py PORT."""

import json
import sys

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from starlette.applications import Starlette


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        asked = context.get_user_input()
        if "fail" in asked:
            words = updater.new_agent_message([new_text_part("there is no such week")])
            await updater.failed(words)
            return
        await updater.add_artifact([new_text_part(json.dumps({"asked": asked}))])
        await updater.complete()

    async def cancel(self, context, event_queue):
        raise NotImplementedError


port = int(sys.argv[1])
card = AgentCard(
    name="echo",
    description="says what it was asked",
    version="1",
    capabilities=AgentCapabilities(),
    supported_interfaces=[
        AgentInterface(url=f"http://127.0.0.1:{port}/", protocol_binding="JSONRPC", protocol_version=version)
        for version in ("1.0", "0.3")
    ],
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
)
handler = DefaultRequestHandler(Echo(), InMemoryTaskStore(), card)
app = Starlette(routes=create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True))
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
