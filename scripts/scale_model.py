"""The model behind scripts/scale: what follows from what is assumed, in seconds, bytes and counts.

A storm is stepped through in time: work comes in, servers work it off at their rate, and the rest waits. All else is
multiplied. Two calls with the same `Plan` give the same figures: chance has a seed. Where a function asks whether the hub
`keeps` mail, its mailboxes lie on the hub; else each site has a leaf server with its own mailboxes.
"""

from dataclasses import replace
from itertools import accumulate
from random import Random
from typing import Iterable, NamedTuple

from scale_plan import Plan

DAY = 86_400
MINUTE = 60
KIB, MIB, GIB = 1_024, 1_024**2, 1_024**3
# The agents of one hub, or the peers of one agent, are played by at most so many of them; each then counts for several.
PLAYED = 2_000
# The length of a step, in seconds.
STEP = 0.1


class Storm(NamedTuple):
    """How a storm is worked off: its work and its highest backlog, and in seconds how long the last of that backlog waits
    and how long all of it takes."""

    work: float
    backlog: float
    wait: float
    seconds: float


def worked_off(arrivals: Iterable[tuple[float, float]], rate: float) -> Storm:
    """Lets work arrive, each piece at its second, at a queue that works off `rate` in a second."""
    steps: dict[int, float] = {}
    for at, work in arrivals:
        step = int(at / STEP + 1e-9)
        steps[step] = steps.get(step, 0.0) + work
    backlog, highest, before = 0.0, 0.0, 0
    for step in sorted(steps):
        backlog = max(0.0, backlog - rate * STEP * (step - before)) + steps[step]
        highest, before = max(highest, backlog), step
    first = min(steps, default=0)
    return Storm(sum(steps.values()), highest, highest / rate, (before - first) * STEP + backlog / rate)


# ------------------------------------------------------------------------------------------------------- steady load


def sent_in_a_second(plan: Plan) -> float:
    """Messages of all agents, without receipts, in the mean."""
    return plan.agents * plan.messages_a_day / DAY


def bytes_of_a_message(plan: Plan) -> float:
    return plan.message_bytes + plan.receipt_bytes


def hub_us(plan: Plan, keeps: bool) -> float:
    """CPU of the hub for a message, or for a receipt: stored by each copy, or passed on by the two servers it crosses."""
    return plan.replicas * plan.stored_us if keeps else 2 * plan.passed_us


def hub_cores(plan: Plan, keeps: bool) -> float:
    """Cores of one realm's hub at work in the busiest hour; a message has one receipt."""
    return sent_in_a_second(plan) / plan.realms * plan.peak * 2 * hub_us(plan, keeps) / 1e6


def log_a_day(plan: Plan) -> float:
    """Bytes that the log of one agent grows in a day: what it sends and what it receives, with receipts and outcomes."""
    return 2 * plan.messages_a_day * (plan.message_log + plan.receipt_log + plan.outcome_log)


def daemon_cpu_a_day(plan: Plan) -> float:
    """Seconds of CPU of one daemon in a day."""
    return plan.messages_a_day * (plan.message_us + plan.send_us) / 1e6


# ------------------------------------------------------------------------------------------------ a restart of a server


def sent_meanwhile(plan: Plan) -> float:
    """Messages of a realm that are sent while its hub is away, in the mean."""
    return sent_in_a_second(plan) / plan.realms * plan.outage_s


def open_share(plan: Plan, load: float) -> float:
    """Share of an agent's sessions in which something is open: it took a message within `open_s` before the outage, so that
    its receipt may be lost, or a message went either way meanwhile. `load` is in means."""
    one_way = plan.messages_a_day * load / plan.peers / DAY
    return min(1.0, one_way * (plan.open_s + 2 * plan.outage_s))


def messages_a_second(plan: Plan, keeps: bool) -> float:
    """What the hub of a realm works off: its processors, or the streams, each of which has one leader that counts."""
    by_cores = plan.servers * plan.cores / (hub_us(plan, keeps) / 1e6)
    return min(by_cores, plan.streams / (plan.stored_us / 1e6)) if keeps else by_cores


def restart(plan: Plan, share: float) -> Storm:
    """Servers of a realm were away. Each agent that was connected to them sends receipts in a share of its sessions."""
    rng = Random(plan.seed)
    agents, receipts = plan.of_realm() * plan.restarted, plan.peers * share
    played = min(PLAYED, max(1, round(agents)))
    weight = agents / played
    takes = receipts * plan.receipt_us / 1e6
    pieces = min(100, int(takes / STEP) + 1)
    arrivals = []
    for _ in range(played):
        back = rng.random() * plan.reconnect_s
        arrivals += [(back + takes * n / pieces, weight * receipts / pieces) for n in range(pieces)]
    return worked_off(arrivals, messages_a_second(plan, keeps=True))


def connecting(plan: Plan, connections: float) -> Storm:
    """The connections of a realm are made anew, in the order of chance."""
    rng = Random(plan.seed)
    connections *= plan.restarted
    played = min(PLAYED, max(1, round(connections)))
    arrivals = [(rng.random() * plan.reconnect_s, connections / played) for _ in range(played)]
    return worked_off(arrivals, plan.servers * plan.cores / (plan.connect_us / 1e6))


# ---------------------------------------------------------------------------------------------- peers that are gone


def copies_of_an_announce() -> int:
    """The same bytes go out at once, after 1, 2, 4 … s, until five minutes are over."""
    return 1 + sum(at < 5 * MINUTE for at in accumulate(2**n for n in range(20)))


def announces(plan: Plan, days: int) -> list[int]:
    """Announces to one silent peer on each day: five minutes after the first ones, then ten, up to the longest silence."""
    found = [0] * days
    at, silence = 0.0, 5.0 * MINUTE
    while at < days * DAY:
        found[int(at / DAY)] += 1
        at += 5 * MINUTE + silence
        silence = min(2 * silence, plan.longest_silence_h * 3_600)
    return found


def announced_a_second(plan: Plan, gives_up: bool) -> float:
    """Flights a second to peers that are gone, at the end of `years` in which they were lost one after the other."""
    days = max(1, round(plan.years * 365))
    lost_a_day = plan.agents * plan.gone_peers / days
    a_day = announces(plan, days)
    flights = 0.0
    for age in range(days):
        if not gives_up or age < plan.give_up_days:
            flights += lost_a_day * a_day[age]
    return flights * copies_of_an_announce() / DAY


def hastened(plan: Plan, gives_up: bool) -> float:
    """Announces that all agents send at once when their connection is back: one to each peer that is not given up."""
    lost = plan.agents * plan.gone_peers
    return lost * min(1.0, plan.give_up_days / (plan.years * 365)) if gives_up else lost


# --------------------------------------------------------------------------------------- revocations and other keys


def orders_a_day(plan: Plan) -> float:
    """Orders told in a day, once as many revocations are repeated as begin."""
    return plan.agents * plan.revoked_a_day * plan.peers * plan.repeat_days


def told_by_one(plan: Plan) -> Storm:
    """One agent that many know is revoked, and tells all of them: its daemon works that off by itself."""
    return worked_off([(0.0, float(plan.many_peers))], 1e6 / plan.order_us)


def keys_of_one(plan: Plan) -> tuple[Storm, float, float]:
    """One agent that many know takes other keys: what its daemon works off at once, and after how many hours half and 99 of
    100 have met it again. A peer hears an announce while it is awake, or within five minutes of waking up."""
    rng = Random(plan.seed)
    at_once = worked_off([(0.0, float(plan.many_peers))], 1e6 / plan.handshake_us)
    times, at, silence = [], 0.0, 5.0 * MINUTE
    while at < 30 * DAY:
        times.append(at)
        at += 5 * MINUTE + silence
        silence = min(2 * silence, plan.longest_silence_h * 3_600)
    met = []
    for _ in range(PLAYED):
        wakes = rng.random() * DAY
        awake = min(DAY, plan.awake_h * 3_600 + 5 * MINUTE)
        heard = (at for at in times if (at - wakes + 5 * MINUTE) % DAY < awake)
        met.append(next(heard, 30.0 * DAY))
    met.sort()
    return at_once, met[PLAYED // 2] / 3_600, met[PLAYED * 99 // 100] / 3_600


def keys_of_many(plan: Plan, keeps: bool) -> Storm:
    """A share of a realm's agents takes other keys: five messages with each peer cross the hub, minute for minute."""
    rng = Random(plan.seed)
    handshakes = plan.of_realm() * plan.move_share * plan.peers
    arrivals = [(rng.random() * plan.move_minutes * MINUTE, handshakes * 5 / PLAYED) for _ in range(PLAYED)]
    return worked_off(arrivals, messages_a_second(plan, keeps))


# ------------------------------------------------------------------------------------------------------------- limits


def sites(plan: Plan) -> float:
    """Leaf servers of one realm."""
    return plan.of_realm() / plan.site_agents


def memory(plan: Plan, keeps: bool) -> float:
    """Bytes of one server of the hub."""
    agents = plan.of_realm()
    interest = 2 * agents * plan.interest_bytes
    if keeps:
        own = agents * plan.connection_kib + agents * plan.replicas * plan.mailbox_kib
        return own * KIB / plan.servers + interest
    return sites(plan) * plan.leaf_kib * KIB / plan.servers + interest


def demands(plan: Plan, keeps: bool) -> dict[str, tuple[float, float]]:
    """What is wanted of each thing that has a limit, and that limit."""
    agents, servers = plan.of_realm(), plan.servers
    found = {
        "connections of a server": ((agents if keeps else sites(plan)) / servers, plan.connections_a_server),
        "memory of a server, GiB": (memory(plan, keeps) / GIB, plan.memory_gib),
        "cores of a server, busiest hour": (hub_cores(plan, keeps) / servers, plan.cores * plan.busy),
    }
    if keeps:
        groups = (agents + plan.streams) * plan.replicas / servers
        leader = sent_in_a_second(plan) / plan.realms * plan.peak * 2
        found["consumers of a stream"] = (agents / plan.streams, plan.consumers_a_stream)
        found["replicated groups of a server"] = (groups if plan.replicas > 1 else 0.0, plan.groups_a_server)
        found["disk of a server, GiB"] = (agents * plan.replicas * plan.mailbox_mib * MIB / servers / GIB, plan.disk_gib)
        found["messages a second of a stream"] = (leader / plan.streams, plan.busy * 1e6 / plan.stored_us)
    return found


def ends_at(plan: Plan, keeps: bool, name: str) -> int | None:
    """With how many agents at most, all else as it is, the thing is enough; none where it always is."""
    low, high = 0, 10**15
    while low + 1 < high:
        tried = (low + high) // 2
        wanted, limit = demands(replace(plan, agents=tried), keeps)[name]
        low, high = (tried, high) if wanted <= limit else (low, tried)
    return low if high < 10**15 else None
