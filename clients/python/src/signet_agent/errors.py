"""What can go wrong, as exceptions. Each has `next`: what to do about it, where that is known.

    SignetError
    ├── NotReachable        nobody listens on the socket, or the connection broke and stayed so
    │   ├── DaemonSilent    somebody listens there, and said nothing in time
    │   └── Malformed       what was answered there has not the form of an answer
    ├── ApiError            the daemon answered a call with an error
    │   ├── InvalidParams, MethodNotFound, …     the call itself is at fault
    │   └── Refusal         the daemon did not do it; a class for each name of a reason
    ├── RequestFailed       a request has no answer: refused, expired, held back, timed out
    └── Decline             raised by a handler: its text goes to whoever asked
"""

from __future__ import annotations

from typing import Any, ClassVar

from .messages import Failure, Sent


class SignetError(Exception):
    """Anything that this package raises by itself."""

    def __init__(self, message: str, *, next: str | None = None) -> None:
        super().__init__(message)
        self.next = next

    def __str__(self) -> str:
        said = super().__str__()
        return f"{said}\n  next: {self.next}" if self.next else said


class NotReachable(SignetError, ConnectionError):
    """No daemon answers at the socket."""


class ConnectionLost(NotReachable):
    """The connection broke while a call was under way: nobody knows here whether it was done."""


class DaemonSilent(ConnectionLost, TimeoutError):
    """The daemon took a call and said nothing in time: it hangs, or is stopped. Nobody knows here whether it was done."""


class Malformed(NotReachable):
    """What was answered has not the form of that answer: daemon and package are of different releases, or it is no daemon."""


class TooLarge(SignetError, ValueError):
    """What is to be said does not fit into one line of the socket."""


class NotJson(SignetError, TypeError):
    """What is to be said is not JSON."""


class Decline(SignetError):
    """A handler raises it to decline a request. Its text is the answer: the peer reads it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class ApiError(SignetError):
    """The daemon answered a call with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        fields = data if isinstance(data, dict) else {}
        text = f"{message}: {data}" if isinstance(data, str) else message
        super().__init__(text, next=fields.get("next"))
        self.code = code
        self.message = message
        #: What else the error says, as it came.
        self.data: Any = data


class ParseError(ApiError):
    """The daemon could not read the line."""


class InvalidRequest(ApiError):
    """The line was no request."""


class MethodNotFound(ApiError):
    """The daemon knows no such call: it is older, or the name is wrong."""


class InvalidParams(ApiError):
    """The parameters have the wrong form; the text says which."""


class InternalError(ApiError):
    """The daemon failed by itself."""


class Refusal(ApiError):
    """The daemon did not do it. `reason` is a stable name; each of the daemon's own has a class below."""

    #: The stable name. Reasons of the protocol (`signet schema reason`) come as this class itself.
    reason: str = ""
    by_reason: ClassVar[dict[str, type[Refusal]]] = {}
    #: What to do about it in the words of this package, where the daemon's name members of the socket.
    own_next: ClassVar[str | None] = None

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.by_reason[cls.reason] = cls

    def __init__(self, code: int, message: str, data: dict[str, Any]) -> None:
        super().__init__(code, message, data)
        if self.own_next is not None:
            self.next = self.own_next
        self.reason = str(data.get("reason", ""))
        #: The known agent that an unknown one resembles.
        self.did_you_mean: str | None = data.get("did-you-mean")
        #: The message that may have been made.
        self.message_id: str | None = data.get("message-id")
        #: Whose call it is, where it is not the caller's.
        self.whose: str | None = data.get("whose")


def error_of(error: Any) -> ApiError:
    """The exception for the error object of a response."""
    if not isinstance(error, dict):
        return ApiError(0, "the daemon's error cannot be read")
    code, message, data = error.get("code", 0), str(error.get("message", "")), error.get("data")
    if code == REFUSED and isinstance(data, dict):
        return Refusal.by_reason.get(str(data.get("reason")), Refusal)(code, message, data)
    return _BY_CODE.get(code, ApiError)(code, message, data)


REFUSED = -32000
_BY_CODE: dict[int, type[ApiError]] = {
    -32700: ParseError,
    -32600: InvalidRequest,
    -32601: MethodNotFound,
    -32602: InvalidParams,
    -32603: InternalError,
}


class RequestFailed(SignetError):
    """A request of ours has no answer. `sent` says where it is; its `key` asks for the same one again."""

    def __init__(self, message: str, sent: Sent, key: str, *, next: str | None = None) -> None:
        super().__init__(message, next=next)
        self.sent = sent
        self.message_id = sent.message_id
        self.key = key


class RequestRefused(RequestFailed):
    """The peer, its daemon, or our own side refused it: `reason`, and `by`, which is `peer` or `self`.

    `failure` is what the peer said, where it said something: data, never an instruction.
    """

    def __init__(self, message: str, sent: Sent, key: str, *, next: str | None = None) -> None:
        super().__init__(message, sent, key, next=next)
        self.failure: Failure | None = sent.answer.error if sent.answer else None
        self.reason = self.failure.reason if self.failure else sent.reason
        self.by = "peer" if self.failure else sent.by


class Declined(RequestRefused):
    """The peer's agent declined; `failure.message` says why, or the answer's `summary` where it came sealed."""

    failure: Failure


class RequestExpired(RequestFailed):
    """Its life ended before anything was heard."""


class RequestUnknown(RequestFailed):
    """Its end is unknown: a side was put back to an older copy, or the session was lost."""


class RequestTimedOut(RequestFailed, TimeoutError):
    """No answer in time. A late one comes into the inbox; the same request with the same `key` waits for it."""


class HeldBack(RequestFailed):
    """It does not leave before people decide: `sent.waits_for` says about what."""


class AnswerTaken(RequestFailed):
    """It was answered, and the answer has left the inbox: somebody read it before. `history` may have it."""
