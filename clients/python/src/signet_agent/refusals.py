"""A class for each of the daemon's own reasons to refuse a call, in the order of its table.

Written by clients/generate.py from schemas/api.schema.json: `make generated` writes it anew.
"""

from __future__ import annotations

from .errors import Refusal


class PeerUnknown(Refusal):
    """No such peer."""

    reason = "peer-unknown"


class PeerResembles(Refusal):
    """No such peer, and its id resembles a known one: `did_you_mean`."""

    reason = "peer-resembles"


class PeerRevoked(Refusal):
    """The peer is trusted no more."""

    reason = "peer-revoked"


class TooManyStrangers(Refusal):
    """Mail for too many strangers waits."""

    reason = "too-many-strangers"


class StrangerUnknown(Refusal):
    """No stranger of that name waits."""

    reason = "stranger-unknown"


class StrangerAmbiguous(Refusal):
    """More than one root key claims the name."""

    reason = "stranger-ambiguous"


class DraftUnknown(Refusal):
    """No such draft waits."""

    reason = "draft-unknown"


class Paused(Refusal):
    """The agents of this person pause."""

    reason = "paused"


class KeysRefused(Refusal):
    """The staged keys cannot be used."""

    reason = "keys-refused"


class ConfigUnusable(Refusal):
    """The configuration that was read anew cannot be used."""

    reason = "config-unusable"


class NoCard(Refusal):
    """The configuration has no section `card`."""

    reason = "no-card"


class OutboxFull(Refusal):
    """Too much waits for that peer."""

    reason = "outbox-full"


class TooManyRequests(Refusal):
    """Too many requests wait for answers."""

    reason = "too-many-requests"


class NotWaiting(Refusal):
    """No such request waits in the inbox."""

    reason = "not-waiting"


class NotQuarantined(Refusal):
    """No such message is in the quarantine."""

    reason = "not-quarantined"


class AnswerWaits(Refusal):
    """An answer to it waits already."""

    reason = "answer-waits"


class MessageUnknown(Refusal):
    """This agent remembers no such message of its own."""

    reason = "message-unknown"


class Ambiguous(Refusal):
    """Two peers used that message-id."""

    reason = "ambiguous"


class NoRequest(Refusal):
    """It wants no answer."""

    reason = "no-request"


class NotRemembered(Refusal):
    """No such call came within three days."""

    reason = "not-remembered"


class IsHandoff(Refusal):
    """It is a handoff."""

    reason = "is-handoff"


class TooManyTasks(Refusal):
    """Too many tasks with that peer are open."""

    reason = "too-many-tasks"


class WrongClock(Refusal):
    """The clock stands outside the dates of the certificate."""

    reason = "wrong-clock"


class CapabilityNeeded(Refusal):
    """The peer offers several capabilities, and the request names none."""

    reason = "capability-needed"
    own_next = "name one with `capability`, or ask the people there with `for_people=True`"


class CapabilityReserved(Refusal):
    """That capability is for reports."""

    reason = "capability-reserved"


class KeyReused(Refusal):
    """The caller's key was used with other content."""

    reason = "key-reused"


class LeaseEnded(Refusal):
    """The lease has ended, or never was."""

    reason = "lease-ended"


class KeyUnfit(Refusal):
    """The caller's key has not the form of one."""

    reason = "key-unfit"


class Leased(Refusal):
    """Somebody holds it under a lease."""

    reason = "leased"


class OfferRefused(Refusal):
    """The capability may not be offered."""

    reason = "offer-refused"


class OfferConfigured(Refusal):
    """The configuration offers that capability already."""

    reason = "offer-configured"


class NoSession(Refusal):
    """There is no session with that peer."""

    reason = "no-session"


class ApprovalNeeded(Refusal):
    """What a person has to approve first cannot be sent so."""

    reason = "approval-needed"


class HistoryUnreadable(Refusal):
    """The log cannot be read."""

    reason = "history-unreadable"


class PlaceNeeded(Refusal):
    """The place of the connection was needed for another client."""

    reason = "place-needed"


class DiskFull(Refusal):
    """The disk is full."""

    reason = "disk-full"


class Stopping(Refusal):
    """The daemon stops; nothing was done."""

    reason = "stopping"


class OutcomeUnknown(Refusal):
    """The daemon stopped; nobody knows whether it was done."""

    reason = "outcome-unknown"


class NotForThisSocket(Refusal):
    """The call is not for callers of this socket."""

    reason = "not-for-this-socket"


class BeyondCeiling(Refusal):
    """The call goes beyond what this socket is allowed."""

    reason = "beyond-ceiling"


class DecisionUnsigned(Refusal):
    """The decision has to be signed by the person's control key."""

    reason = "decision-unsigned"


class CallGone(Refusal):
    """The call was one of an earlier release."""

    reason = "call-gone"


class CarrierUnknown(Refusal):
    """This daemon has no carrier of that name."""

    reason = "carrier-unknown"


class CarrierTaken(Refusal):
    """Another connection carries it."""

    reason = "carrier-taken"


class CarrierDetached(Refusal):
    """No connection carries it."""

    reason = "carrier-detached"


class CarrierBusy(Refusal):
    """It has handed in as much as is judged at once, or asks too often."""

    reason = "carrier-busy"


class CarrierUnreachable(Refusal):
    """The peer has no address on it."""

    reason = "carrier-unreachable"
