"""What scripts/scale assumes of a deployment: each parameter with its default, its unit and what it is.

Costs are those that were measured with release 0.1.0 on two shared cores; `assumed` stands behind whatever was not.
"""

from dataclasses import dataclass, field, fields
from typing import Any


def given(default: float, unit: str, says: str) -> Any:
    """A parameter: its default, its unit, and what it is. The type is that of the default."""
    return field(default=default, metadata={"unit": unit, "says": says})


@dataclass(frozen=True)
class Plan:
    """One deployment, and what a thing costs in it."""

    # The deployment.
    agents: int = given(100_000, "agents", "agents of all realms together")
    realms: int = given(1, "realms", "buses that have nothing in common; each has `servers` of its own")
    servers: int = given(15, "servers", "NATS servers of the hub of one realm")
    site_agents: int = given(3, "agents", "agents behind one leaf server, where sites keep their mail")
    streams: int = given(1, "streams", "streams over which the mailboxes of a hub are spread; signet makes one")
    replicas: int = given(3, "copies", "copies of a mailbox of the hub, each on another server")
    messages_a_day: float = given(50.0, "messages", "messages that an agent sends in a day; assumed")
    peak: float = given(5.0, "times", "the busiest hour, in means; assumed")
    peers: int = given(20, "peers", "peers of an agent; assumed")
    seed: int = given(1, "", "where chance plays")
    # What a thing costs.
    message_us: float = given(95.0, "us of CPU", "a message at its receiver, with its receipt")
    send_us: float = given(95.0, "us of CPU", "a message at its sender, with the receipt that it takes; assumed")
    stored_us: float = given(50.0, "us of CPU", "a message at each server that stores it")
    passed_us: float = given(20.0, "us of CPU", "a message at each server that passes it on; assumed, and two do")
    receipt_us: float = given(700.0, "us of CPU", "a receipt that a reconnect makes, at its sender")
    handshake_us: float = given(3_100.0, "us of CPU", "a handshake with one peer after new keys")
    order_us: float = given(1_000.0, "us of CPU", "a revocation told to one peer, at its sender")
    connect_us: float = given(2_000.0, "us of CPU", "a connection with TLS and logins, at the server; assumed")
    message_bytes: float = given(1_100.0, "bytes", "a message on the wire")
    receipt_bytes: float = given(1_000.0, "bytes", "a receipt on the wire")
    flight_bytes: float = given(1_700.0, "bytes", "a flight of a handshake on the wire")
    message_log: float = given(1_100.0, "bytes", "a message in a log, at its sender and at its receiver")
    receipt_log: float = given(1_200.0, "bytes", "a receipt in a log, likewise")
    outcome_log: float = given(240.0, "bytes", "what became of a message, in a log")
    handshake_log: float = given(9_800.0, "bytes", "a handshake in a log")
    # What a thing holds.
    mailbox_kib: float = given(57.0, "KiB", "memory for a mailbox: its subject and its durable consumer")
    connection_kib: float = given(103.0, "KiB", "memory for the connection of an agent")
    leaf_kib: float = given(170.0, "KiB", "memory for the connection of a leaf server; assumed")
    interest_bytes: float = given(200.0, "bytes", "memory for a subject that somebody listens to, on every server; assumed")
    mailbox_mib: float = given(64.0, "MiB", "disk that each copy of a mailbox reserves")
    # Where it ends.
    consumers_a_stream: int = given(1_000, "consumers", "limit of consumers on one stream")
    connections_a_server: int = given(65_536, "connections", "limit of connections to one server (`max_connections`)")
    groups_a_server: int = given(2_000, "groups", "replicated streams and consumers that one server keeps up with; assumed")
    memory_gib: float = given(8.0, "GiB", "memory of a server; assumed")
    disk_gib: float = given(200.0, "GiB", "disk of a server; assumed")
    cores: float = given(4.0, "cores", "processors of a server; assumed")
    busy: float = given(0.5, "share", "share of the processors that may be at work in the busiest hour; assumed")
    # Storms.
    restarted: float = given(1.0, "share", "share of a hub's servers that restart at once")
    outage_s: float = given(30.0, "s", "how long a server is away when it restarts; assumed")
    reconnect_s: float = given(10.0, "s", "within how long its clients connect again; assumed")
    open_s: float = given(300.0, "s", "how long after a message something may still be open in its session")
    gone_peers: float = given(5.0, "peers", "peers of an agent that were lost within `years`; assumed")
    years: float = given(3.0, "years", "how long the deployment has existed; assumed")
    give_up_days: int = given(30, "days", "after so long a silent peer is announced to no more")
    longest_silence_h: float = given(6.0, "h", "the longest time between two announces to a silent peer")
    revoked_a_day: float = given(0.001, "share", "share of the agents that are revoked in a day; assumed")
    repeat_days: int = given(30, "days", "for so long a revocation is told again, daily")
    many_peers: int = given(20_000, "peers", "peers of an authority that is revoked, or takes other keys; assumed")
    awake_h: float = given(8.0, "h", "hours of a day in which a peer's daemon runs, in one piece; assumed")
    move_share: float = given(0.01, "share", "share of the agents that take other keys at once; assumed")
    move_minutes: float = given(60.0, "min", "within how long they do; assumed")

    def of_realm(self) -> float:
        """The agents of one realm."""
        return self.agents / self.realms


# Parameters that are shares, and the most that others may be: beyond it a run takes longer than anybody waits.
SHARES = ("busy", "restarted", "revoked_a_day", "move_share")
MOST = {"agents": 10**12, "years": 100, "give_up_days": 36_500, "repeat_days": 36_500, "awake_h": 24, "peers": 10**7,
        "many_peers": 10**7, "outage_s": 10**5, "reconnect_s": 10**4, "move_minutes": 10**4, "longest_silence_h": 10**4}


def parameters() -> list[tuple[str, Any, str, str]]:
    """Name, default, unit and meaning of each parameter."""
    return [(f.name, f.default, f.metadata["unit"], f.metadata["says"]) for f in fields(Plan)]
