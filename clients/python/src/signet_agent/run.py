"""One message that is worked on, and how its end is told to the daemon, whatever breaks meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .client import Pauses
from .errors import ApiError, InvalidParams, NotJson, NotReachable, Refusal, TooLarge
from .messages import Message
from .refusals import (
    AnswerWaits,
    DiskFull,
    LeaseEnded,
    NotWaiting,
    OutboxFull,
    OutcomeUnknown,
    Paused,
    PlaceNeeded,
    Stopping,
    WrongClock,
)

logger = logging.getLogger("signet_agent")


@dataclass
class Run:
    """A message under a lease, which may end and come anew while the handler goes on."""

    message: Message
    key: str
    tries: int
    lease: str | None


@dataclass(frozen=True)
class Outcome:
    """How it ended: `answered`, `declined`, `failed` or `kept`."""

    kind: str
    body: Any = None
    text: str = ""

    @classmethod
    def answered(cls, body: Any) -> Outcome:
        return cls("answered", body=body)

    @classmethod
    def declined(cls, text: str) -> Outcome:
        return cls("declined", text=text)

    @classmethod
    def unsendable(cls, why: str) -> Outcome:
        """It was handled, and no message holds what it answers."""
        text = f"it was handled, and its answer cannot be sent: {why}"
        return cls("declined", text=text, body={"state": "failed"})

    @classmethod
    def failed(cls, reason: str) -> Outcome:
        """`reason` stands in the log in clear: it holds nothing of the message."""
        return cls("failed", text=reason)

    @classmethod
    def kept(cls) -> Outcome:
        return cls("kept")


Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


async def settle(run: Run, outcome: Outcome, call: Call) -> None:
    """Tells the daemon how it ended, until it has it or somebody else has settled the message."""
    pauses = Pauses(0.05, 10.0)
    while (said := _said(run, outcome)) is not None:
        lease = run.lease
        try:
            await call(*said)
            return
        except LeaseEnded:
            # The next call goes by the message's name, or by the lease that came meanwhile.
            if run.lease == lease:
                run.lease = None
        except (NotWaiting, AnswerWaits):
            logger.info("%s was settled before", run.key)
            return
        except (NotReachable, Stopping, OutcomeUnknown, PlaceNeeded) as error:
            logger.info("%s: the daemon is told again how it ended: %s", run.key, error)
            await pauses.pass_by()
        except (Paused, DiskFull, OutboxFull, WrongClock) as error:
            logger.warning("%s: its answer has to wait: %s", run.key, error)
            await pauses.pass_by()
        except (Refusal, InvalidParams, NotJson, TooLarge) as error:
            if outcome.kind == "answered" and run.message.type == "request" and _never_leaves(error):
                # More tries would do the work again, and come to the same.
                logger.error("%s: its answer can never be sent: %s", run.key, error)
                outcome = Outcome.unsendable(_name(error))
                continue
            if outcome.kind == "failed":
                logger.error("%s: %s", run.key, error)
                return
            logger.error("%s: its answer cannot be sent: %s", run.key, error)
            outcome = Outcome.failed(f"its answer was refused: {_name(error)}")


def _said(run: Run, outcome: Outcome) -> tuple[str, dict[str, Any]] | None:
    """The call that says so; None where nothing needs to be said."""
    name, asks = run.message.name, run.message.type == "request"
    by = {"lease": run.lease} if run.lease else {"message": name}
    if outcome.kind == "failed":
        # A lease that has ended was a try that failed.
        return run.lease and ("fail", {"lease": run.lease, "reason": outcome.text}) or None
    if outcome.kind == "declined" and asks:
        decline = outcome.text[:DECLINE] or "declined"
        more = {} if outcome.body is None else {"body": outcome.body}
        return "respond", {**by, "decline": decline, **more}
    if outcome.kind == "answered" and asks:
        return "respond", {**by, "body": outcome.body}
    # A handoff is decided by calls of its own, and stays until then.
    stays = outcome.kind == "kept" or run.message.type == "handoff"
    if run.lease:
        return "acknowledge", {"lease": run.lease, "keep": stays}
    return None if stays else ("acknowledge", {"messages": [name]})


def _never_leaves(error: ApiError | NotJson | TooLarge) -> bool:
    """Whether no later try could send the same answer: its size or its form is at fault, and not the moment."""
    return not isinstance(error, Refusal) or error.reason in UNFIT


def _name(error: ApiError | NotJson | TooLarge) -> str:
    if isinstance(error, Refusal):
        return error.reason
    return {NotJson: "not JSON", TooLarge: "too large"}.get(type(error), "its form")


#: What the daemon says of an answer that no message holds (docs/protocol.md, section 10).
UNFIT = ("too-large", "too-deep", "too-many-values", "duplicate-name", "number-out-of-range", "invalid-shape")
#: The longest text of a refusal on the wire, in characters.
DECLINE = 500
