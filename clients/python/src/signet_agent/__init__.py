"""signet-agent: an agent plugs into the messaging daemon of its machine.

    from signet_agent import Agent

    agent = Agent()

    @agent.handles("calendar.free-busy")
    async def free_busy(request):
        return {"evenings": ["Tue", "Thu"]}

    agent.run()

The package talks to `agent.sock` alone: it holds no key, verifies no signature, and decides nothing for the person.
"""

from . import blocking, refusals
from .agent import Agent
from .errors import (
    AnswerTaken,
    ApiError,
    ConnectionLost,
    DaemonSilent,
    Decline,
    Declined,
    HeldBack,
    InvalidParams,
    Malformed,
    NotJson,
    NotReachable,
    Refusal,
    RequestExpired,
    RequestFailed,
    RequestRefused,
    RequestTimedOut,
    RequestUnknown,
    SignetError,
    TooLarge,
)
from .messages import Failure, Message, Outgoing, Peer, Said, Sent, Status, Task, Update, Waiting
from .places import NoHome
from .request import BlockingRequest, Request
from .schema import Unsuited

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AnswerTaken",
    "ApiError",
    "BlockingRequest",
    "ConnectionLost",
    "DaemonSilent",
    "Decline",
    "Declined",
    "Failure",
    "HeldBack",
    "InvalidParams",
    "Malformed",
    "Message",
    "NoHome",
    "NotJson",
    "NotReachable",
    "Outgoing",
    "Peer",
    "Refusal",
    "Request",
    "RequestExpired",
    "RequestFailed",
    "RequestRefused",
    "RequestTimedOut",
    "RequestUnknown",
    "Said",
    "Sent",
    "SignetError",
    "Status",
    "Task",
    "TooLarge",
    "Unsuited",
    "Update",
    "Waiting",
    "blocking",
    "refusals",
]
