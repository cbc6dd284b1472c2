#!/usr/bin/env python3
"""An agent that speaks signet/1 over NATS without the daemon, written from docs/protocol.md and schemas/ alone; sections
and checks (V01 to V12) are cited as that document numbers them. It needs PyNaCl and nats-py. README.md says how it is run
and what it leaves out. state.py beside it holds keys and sessions, wire.py strict JSON, schemas and signatures."""
import argparse
import asyncio
import json
import pathlib
import secrets
import sys
import time

from state import Handshake, Home, Session, Trust, opens, transcript
from wire import DAY, FLIGHTS, MINUTE, NEWER, ORDERS, SECOND, Message, Refused, b64, key_id, require, version, written


class Peer:
    """The agent. Bytes come in by `take`, time by `tick`; what is to leave stands in `outbox` as (agent-id, bytes)."""
    spoken = ("1.0.0",)

    def __init__(self, home, trusted, offers=None, handler=None, clock=time.time_ns, note=lambda *_: None):
        self.home, self.id, self.offers, self.handler = home, home.id, offers or {}, handler
        self.clock, self.note, self.last = clock, note, 0
        self.trust, self.handshakes, self.sessions = Trust(home.certificate, trusted), {}, {}
        self.ids, self.replies, self.open, self.taken, self.ended, self.inbox, self.outbox = {}, {}, {}, {}, {}, [], []

    # Speaking

    def write(self, *said, **more):
        """Signs a message: no timestamp is earlier than one before it, whatever the clock does."""
        self.last = max(self.clock(), self.last + 10**6)
        return self.home.write(self.last, *said, **more)

    def usable(self, to):
        """The newest session that is confirmed, not closed and not over."""
        return max((s for s in self.sessions.values() if s.peer == to and s.confirmed and not s.closed
                    and self.clock() < s.ends), key=lambda s: s.began, default=None)

    async def session(self, to):
        """Waits for a session with room in it: 4,096 numbers, 16 MiB."""
        while not (s := self.usable(to)) or s.next - s.floor >= 4096 or sum(len(m.raw) for m in s.unsettled.values()) > 2**24:
            require(to not in self.ended, self.ended.get(to))
            if not s and to not in self.handshakes:
                self.announce(to)
            await asyncio.sleep(0.02)
        return s

    def send(self, s, method, content, headers, error=None):
        """A numbered message: it goes out again until it is receipted or its time is over."""
        require(not s.closed, "session-closed")
        m = self.write(s.peer, method, content, headers | {"session": s.id, "sequence": s.next}, error=error,
                       seal_to=s.them.body["keys"]["sealing-key"])
        m.wait, m.next = 5 * SECOND, self.clock() + 5 * SECOND
        s.unsettled[s.next], s.next = m, s.next + 1
        self.outbox.append((s.peer, m.raw))
        return m

    async def ask(self, to, body, capability=None, tier=1, summary=None, timeout=60):
        """Sends a request and gives the peer's answer: (its message, its body, opened where it was sealed)."""
        s = await asyncio.wait_for(self.session(to), timeout)
        require(tier <= s.granted["tier"] and set(range(tier)) <= set(s.them.body["layers"]), "tier-not-granted")
        headers = {"data-tier": tier} | ({"capability": capability} if capability else {})
        m = self.send(s, "agent.request", {"body": body} | ({"summary": summary} if summary else {}), headers)
        self.open[m.id] = (to, tier, asyncio.get_running_loop().create_future())
        try:
            return await asyncio.wait_for(self.open[m.id][2], timeout)
        finally:
            del self.open[m.id]

    async def serve(self, m, body):
        """Lets the handler answer a request; what it declines is a failure in its own words, sealed in tiers 3 and 4."""
        content, error = {}, None
        try:
            if m.h.get("capability") == "signet.ping":
                content["body"] = {"pong": True, "received": written(self.clock())}
            else:
                require(self.handler and m.method != "agent.handoff", "Nobody here does this.")
                content["body"] = await self.handler(m, body)
        except Refused as words:
            content = {"reason": "declined"} | ({"summary": str(words)} if m.tier > 2 else {})
            error = {"code": -32091, "message": "" if m.tier > 2 else str(words)}
        if m.method != "agent.notification":
            headers = {n: m.h[n] for n in ("capability", "conversation-id", "data-tier") if n in m.h}
            headers |= {"in-reply-to": m.id, "hops": m.h.get("hops", 1) + 1}
            self.send(await self.session(m.sender), None, content, headers, error)

    # Judging: V01 to V12 (section 8)

    def take(self, raw, subject=None):
        """Judges one input and does what follows. Gives the reason of a refusal, or None."""
        m = None
        try:
            require(subject in (None, f"agent.{self.id}.inbox"), "wrong-subject")
            m = Message.read(raw)
            require(m.h["recipient-id"] == self.id, "wrong-recipient")
            require(m.sender != self.id, "reflected")
            late = self.trust.prove(m)
        except Refused as refused:  # a stranger, or bytes: nobody is answered
            return self.noted(m, str(refused))
        s = self.sessions.get(m.session)
        s = s if s and s.peer == m.sender else None
        if m.hash in (self.ids.get((m.sender, m.id)), s and s.seen.get(m.n)):
            self.repeat(m, s)
            return self.noted(m, "duplicate")
        try:
            require(not late, late)
            m.in_time(self.clock())
            self.in_session(m, s)
            body = self.flight(m) if m.method in FLIGHTS else self.permitted(m, s)
        except Refused as refused:
            if s and m.n:
                if s.new(m):
                    s.judged(m, str(refused))
                s.due = self.clock()
            return self.noted(m, str(refused))
        self.ids[(m.sender, m.id)] = m.hash
        if len(self.ids) > 200_000:
            del self.ids[next(iter(self.ids))]
        if m.method == "agent.receipt":
            self.receipted(m, s)
        elif s:
            s.judged(m)
            s.due = self.clock()
            if m.method:
                self.inbox.append((m, body))
            else:
                s.unsettled = {n: sent for n, sent in s.unsettled.items() if sent.id != m.h["in-reply-to"]}  # it is a receipt too
                failed = m.reason and Refused(f"{m.reason}: {m.value['error']['message'] or body}")
                self.result(m.h["in-reply-to"], failed or (m, body))
        return self.noted(m, None)

    def noted(self, m, reason):
        self.note(m.sender if m else None, (m.method or "answer") if m else None, reason or "accepted")
        return reason

    def in_session(self, m, s):
        """V10."""
        receipt = m.method == "agent.receipt"
        if m.method in FLIGHTS + ORDERS:
            require(m.session is None and m.n is None and m.tier <= 2, "header-invalid")
        else:
            require(m.session, "handshake-required")
            if not s:
                self.puzzled(m)
            require(s, "session-unknown")
            require(m.h["trust-layer-version"] == s.version, "version-mismatch")
            newest = key_id(self.trust.known[m.sender][0]["signing-key"])
            require(m.h["key-id"] == s.key or receipt and m.h["key-id"] == newest, "key-unknown")
            require(m.method not in NEWER or version(s.version) >= (1, 1, 0), "version-insufficient")
            require(m.method != "agent.offer" or m.tier <= 2, "header-invalid")
            require(not receipt or m.n is None and m.tier <= 2, "header-invalid")
            require(receipt or m.at <= s.ends, "session-ended")
            require(receipt or m.n, "header-missing")
            if not receipt:
                s.look(m)
        require((m.sender, m.id) not in self.ids, "message-id-reuse")
        if s and not s.confirmed:
            s.confirmed = True
            self.handshakes = {to: shake for to, shake in self.handshakes.items() if transcript(shake.flights) != s.id}

    def puzzled(self, m):
        """A session that this agent does not hold, since it keeps nothing: the peer hears so by an announce."""
        newest = max((s.began for s in self.sessions.values() if s.peer == m.sender), default=0)
        if m.at > newest and self.clock() > newest + MINUTE and m.sender not in self.handshakes:
            self.announce(m.sender)

    def permitted(self, m, s):
        """V12. Gives the body, opened where it was sealed."""
        if m.method in ORDERS + ["agent.receipt"]:
            return self.ordered(m) if m.method in ORDERS else None
        wanted = m.method in (None, "agent.progress")  # it was asked for: no grant speaks of it
        asked, capability = self.open.get(m.h.get("in-reply-to")), m.h.get("capability")
        require(not wanted or asked and asked[0] == m.sender, "response-unsolicited")
        require(not wanted or m.tier >= asked[1], "tier-lowered")
        require(m.tier < 3 or not m.envelope.keys() & {"summary", "body"}, "seal-required")
        require(m.tier >= 3 or "sealed" not in m.envelope, "seal-mismatch")
        require(wanted or m.h.get("hops", 1) <= 8, "hops-exceeded")
        require(wanted or m.tier <= s.grant["tier"], "tier-not-granted")
        require(m.reason or set(range(m.tier)) <= set(m.h["skill-layers-loaded"]), "layers-insufficient")
        task = capability == "signet.task" and m.method == "agent.notification"
        if not wanted and capability and capability != "signet.ping" and not task:
            require(capability in s.grant["capabilities"] and capability in s.offers, "capability-not-granted")
            require(m.tier <= s.offers[capability], "tier-not-granted")
        body = self.home.opened(m) if "sealed" in m.envelope else m.body
        self.fitting(m, s, body)
        return body

    def ordered(self, m):
        """Those about pause are for agents of one person, who keep a control certificate."""
        require(m.method == "agent.revoke", "statement-invalid")
        require(self.revoke(m.body["revocation"]), "statement-invalid")
        require(m.body["revocation"]["agent-id"] != m.sender or not self.trust.is_revoked(self.trust.named(m)), "certificate-revoked")

    def fitting(self, m, s, body):
        """What a body has to be. This agent hands nothing off, so nobody holds a task of it."""
        require(not m.method or m.h.get("capability") != "signet.task", "task-unknown")

    def revoke(self, word):
        holds = self.trust.revoke(word)
        for s in self.sessions.values():
            if self.trust.is_revoked(s.them.body["certificate"]):
                self.close(s, "peer-revoked")
        return holds

    # Handshake (section 5)

    def announce(self, to):
        self.ended.pop(to, None)
        self.fly(to, Handshake(True, []), self.opening(to))

    def opening(self, to):
        held = sorted((s for s in self.sessions.values() if s.peer == to and not s.closed), key=lambda s: -s.began)
        return {"certificate": self.home.certificate, "keys": self.home.statement(self.clock()), "versions": list(self.spoken),
                "nonce": b64(secrets.token_bytes(32)), "layers": self.home.certificate["layers"],
                "sessions": [s.id for s in held[:8]]}

    def settling(self, shake):
        mine = shake.flights[not shake.ours].body  # the same certificate and key statement as in the first or second
        return {"certificate": mine["certificate"], "keys": mine["keys"], "transcript": transcript(shake.flights),
                "capabilities": [{"name": name, "tier": tier} for name, tier in self.offers.items()],
                "grant": {"capabilities": list(self.offers), "tier": 4}}

    def fly(self, to, shake, body):
        m = self.write(to, FLIGHTS[len(shake.flights)], {"body": body}, life=5 * MINUTE)
        if shake.flights:
            self.replies[shake.flights[-1].hash] = m  # for a copy of what it answers
        shake.flights.append(m)
        shake.wait, shake.next = SECOND, self.clock() + SECOND
        shake.until = self.clock() + {1: 10 * MINUTE, 3: 15 * SECOND}.get(len(shake.flights), 5 * MINUTE)
        self.handshakes[to] = shake
        self.outbox.append((to, m.raw))

    def flight(self, m):
        """V11, and the flight that follows."""
        n, shake, body = FLIGHTS.index(m.method), self.handshakes.get(m.sender), m.body
        require(n == 0 or shake and len(shake.flights) == n and shake.ours == n % 2, "handshake-unexpected")
        mine = shake.flights[0].body["versions"] if n == 1 and shake else self.spoken
        common = max(set(mine) & set(body.get("versions", [])), key=version, default=None)
        if n < 2:
            opens(m)
        if n == 0:
            if shake and shake.ours:  # both began: the lower agent-id goes on, unless the other has begun anew
                later = len(shake.flights) > 1 and m.at > shake.flights[1].at
                require(later or len(shake.flights) == 1 and m.sender < self.id, "handshake-crossed")
            require(m.at > self.taken.get(m.sender, -1), "announce-stale")
            require(shake or len(self.handshakes) < 64, "handshake-busy")
        else:
            shake.follows(n, body, common)
        require(version(m.h["trust-layer-version"]) >= self.trust.lowest.get(m.sender, (0,)), "version-downgrade")
        if n == 0:
            self.taken[m.sender], shake = m.at, Handshake(False, [])
        for word in body.get("revocations", []):
            self.revoke(word)
            require(not self.trust.is_revoked(body["certificate"]), "certificate-revoked")
        shake.flights.append(m)
        if n == 0:
            self.fly(m.sender, shake, self.opening(m.sender) | {"choice": common, "transcript": transcript(shake.flights)})
        elif n < 3 and (n == 2 or common):
            self.fly(m.sender, shake, self.settling(shake) | ({"decision": "granted"} if n == 2 else {}))
        if n < 2 and not common or n == 3 and body["decision"] == "refused":
            del self.handshakes[m.sender]
            self.ended[m.sender] = "version-unsupported" if n < 2 else "peer-refused"
        elif n > 1:
            self.established(Session(shake.flights, shake.ours), m)

    def established(self, s, last):
        self.sessions[s.id] = s
        self.trust.learn(s.them)
        others = [other for other in self.sessions.values() if other.peer == s.peer and other is not s]
        for old in others:
            if old.id not in s.them.body["sessions"]:
                self.close(old, "unknown")
        if len(others) > 7:
            del self.sessions[min(others, key=lambda other: other.began).id]
        if s.confirmed:  # flight 4 ends the handshake here; on the other side a receipt does, or this side's first message
            del self.handshakes[s.peer]
            self.replies[last.hash], s.until, s.due = s, last.until, self.clock()

    def repeat(self, m, s):
        """V08: what was said to the first copy is said again, once a second at most."""
        reply = self.replies.get(m.hash, s)
        if isinstance(reply, Session):
            reply.due = reply.due or reply.last + SECOND
        elif reply and reply.next <= self.clock() < reply.until:
            reply.next = self.clock() + SECOND
            self.outbox.append((m.sender, reply.raw))

    # Receipts, and what time brings

    def receipted(self, m, s):
        if m.at <= s.told:
            return
        settled = s.settle(m)
        if settled is None:  # one of the two was put back to an older state
            self.close(s, "unknown")
            self.announce(s.peer)
        for sent, reason in settled or []:
            if reason:
                self.result(sent.id, Refused(reason))
        if not s.closed and (m.body.get("except") or m.body.get("given-up") or m.body["through"] + 1 < s.floor):
            s.due = s.due or s.last + SECOND

    def close(self, s, why):
        s.closed = True
        for sent in s.unsettled.values():
            self.result(sent.id, Refused(why))
        s.unsettled = {}

    def result(self, request, outcome):
        future = self.open[request][2] if request in self.open else None
        if future and not future.done():
            (future.set_exception if isinstance(outcome, Refused) else future.set_result)(outcome)

    def tick(self):
        """What is due: receipts, and once more what has no answer yet."""
        now = self.clock()
        for s in list(self.sessions.values()):
            for n, m in list(s.unsettled.items()):
                if now >= m.until + 2 * MINUTE:
                    self.result(s.unsettled.pop(n).id, Refused("expired"))
                    s.due = now
                elif m.next <= now < m.until and not s.closed:
                    self.outbox.append((s.peer, m.raw))
                    m.wait = min(2 * m.wait, 5 * MINUTE)
                    m.next = now + m.wait
            if s.due is not None and s.due <= now and s.confirmed:
                receipt = self.write(s.peer, "agent.receipt", {"body": s.receipt()}, {"session": s.id})
                self.outbox.append((s.peer, receipt.raw))
                s.due, s.last = None, now
            if now > s.ends + 7 * DAY + MINUTE:
                del self.sessions[s.id]
        self.replies = {digest: reply for digest, reply in self.replies.items() if now < reply.until}
        for to, shake in list(self.handshakes.items()):
            if now >= shake.until:
                del self.handshakes[to]
            elif shake.next <= now < shake.flights[-1].until:
                self.outbox.append((to, shake.flights[-1].raw))
                shake.wait *= 2
                shake.next = now + shake.wait


async def run(peer, url):
    """Carries bytes between the agent and a NATS server: core NATS, so what arrives while it is away is sent again."""
    import nats
    bus = await nats.connect(url, inbox_prefix=f"_INBOX_{peer.id}".encode(), max_reconnect_attempts=-1)

    async def arrived(message):
        peer.take(message.data, message.subject)

    await bus.subscribe(f"agent.{peer.id}.inbox", cb=arrived)
    tasks = set()
    while True:
        peer.tick()
        while peer.inbox:
            task = asyncio.create_task(peer.serve(*peer.inbox.pop(0)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        while peer.outbox:
            to, raw = peer.outbox.pop(0)
            await bus.publish(f"agent.{to}.inbox", raw)
        await asyncio.sleep(0.01)


async def work(said):
    async def answer(_, body): return {"you-asked": body}
    trusted = [json.loads(file.read_text()) for file in said.peer]
    peer = Peer(Home.load(said.home), trusted, {name: 4 for name in said.capability}, answer,
                note=lambda *words: print(*words, file=sys.stderr, flush=True))
    carrier = asyncio.create_task(run(peer, said.nats))
    if said.command == "ask":
        print(json.dumps((await peer.ask(trusted[0]["agent-id"], json.loads(said.body), *said.capability, tier=said.tier))[1]))
        await asyncio.sleep(0.1)  # the receipt leaves as well
    else:
        await carrier


def main():
    options = argparse.ArgumentParser(description="An agent of signet/1 without the daemon.")
    options.add_argument("command", choices=["init", "answer", "ask"], nargs="?")
    options.add_argument("--home", type=pathlib.Path, default=pathlib.Path("peer"), help="the directory of its keys")
    options.add_argument("--agent", default="agent-peer-001", help="init: the id of the agent")
    options.add_argument("--principal", default="peer", help="init: the id of its person")
    options.add_argument("--peer", type=pathlib.Path, action="append", default=[], help="the certificate of a trusted agent")
    options.add_argument("--capability", action="append", default=[], help="answer: offered; ask: asked for")
    options.add_argument("--body", default="null", help="ask: JSON")
    options.add_argument("--tier", type=int, default=1, help="ask: 1 to 4; 3 and 4 are sealed")
    options.add_argument("--nats", default="nats://127.0.0.1:4222")
    options.add_argument("--vectors", type=pathlib.Path, help="holds this agent against the folder vectors/")
    said = options.parse_args()
    if said.vectors:
        import vectors
        sys.exit(vectors.check(said.vectors))
    if said.command == "init":
        Home.make(said.home, said.agent, said.principal)
    else:
        asyncio.run(work(said)) if said.command else options.print_help()


if __name__ == "__main__":
    main()
