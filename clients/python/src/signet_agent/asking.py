"""One request of ours, from its first call to its answer: sent once, whatever breaks meanwhile."""

from __future__ import annotations

import time
from typing import Any

from .client import Client, Pauses
from .errors import (
    AnswerTaken,
    Declined,
    HeldBack,
    RequestExpired,
    RequestRefused,
    RequestTimedOut,
    RequestUnknown,
    SignetError,
)
from .messages import Message, Sent, value_of
from .refusals import CapabilityNeeded


async def ask(client: Client, params: dict[str, Any], timeout: float, keep: bool) -> Message:
    """The answer. The call is repeated with its key until one is there: that is the same message each time.

    `keep` leaves the answer in the inbox, for a caller that acknowledges it when it has used it.
    """
    deadline, pauses, key = time.monotonic() + timeout, Pauses(0.05, 2.0), params["key"]

    def asked() -> dict[str, Any]:
        # A wait that ends before the deadline is begun anew.
        return {**params, "wait": max(0.0, min(deadline - time.monotonic(), SLICE))}

    while True:
        began = time.monotonic()
        sent = value_of(Sent, await client.wait("send", asked, deadline))
        if (answer := _end(sent, key)) is not None:
            if not keep or answer.error:
                client.read_later(answer.name)
            if answer.error:
                raise _refused(sent, key)
            return answer
        left = deadline - time.monotonic()
        if left <= 0:
            raise RequestTimedOut(
                f"no answer to {sent.message_id} within {timeout} s: it is {sent.state}",
                sent,
                key,
                next="ask again with the error's key, or see where it is: signet status " + sent.message_id,
            )
        if time.monotonic() - began < 1.0:
            await pauses.pass_by(left)


def _end(sent: Sent, key: str) -> Message | None:
    """The answer, None while none is there, or why there will be none."""
    if sent.answer is not None:
        return sent.answer
    name = sent.message_id
    if sent.state == "answered":
        raise AnswerTaken(f"{name} was answered, and the answer has left the inbox", sent, key)
    if sent.state == "refused":
        raise _refused(sent, key)
    if sent.state == "expired":
        raise RequestExpired(f"the life of {name} ended, and nothing was heard", sent, key)
    if sent.state == "unknown":
        raise RequestUnknown(f"the end of {name} is unknown: {sent.reason}", sent, key)
    if sent.waits_for in PEOPLE:
        help = {"approval": "signet drafts", "introduction": "signet trust pending", "resume": "signet resume"}
        command = help.get(sent.waits_for or "", "signet status")
        raise HeldBack(f"{name} waits for {sent.waits_for}", sent, key, next=f"its person decides: {command}")
    return None


def _refused(sent: Sent, key: str) -> SignetError:
    failure = sent.answer.error if sent.answer else None
    if failure is not None and failure.reason == "declined":
        return Declined(f"{sent.message_id} was declined", sent, key)
    by = "peer" if failure else sent.by
    whose = {"peer": "the peer's side", "self": "our own side"}.get(by or "", "somebody")
    reason = failure.reason if failure else sent.reason
    text, next = f"{sent.message_id} was refused by {whose}: {reason}", None
    if sent.offers:
        text += f"; the peer offers {', '.join(sent.offers)}, and the request names none of them"
        next = CapabilityNeeded.own_next
    return RequestRefused(text, sent, key, next=next)


#: Seconds that one call waits: the daemon allows an hour.
SLICE = 300.0
#: What only people end.
PEOPLE = ("approval", "introduction", "resume", "clock", "alarm")
