"""What the least agent may leave out (docs/protocol.md, section 16) and peer.py does: sessions of 1.1.0 with progress and
offers, handoffs (section 14), pause and resume (section 15), and invitations. It judges what comes, and says nothing of these
by itself. Each rule is one condition of a `require`, so that leave_out.py can take it away."""
import re

from peer import Peer
from state import certified
from wire import (DAY, KIB, MINUTE, Refused, b64, canonical, fits, instant, key_id, parse, require, sealing_point, sha,
                  signing_point, spelt_once, stated, unb64)

OPEN = ("offered", "accepted", "working")
INVITATION = "signet:1:"


def controls(c):
    """Whether it is a control certificate, and its own root key signed it (section 4)."""
    return (fits(c, {"$ref": "urn:signet:1:common#/$defs/control"}) and instant(c["not-before"]) < instant(c["not-after"])
            and signing_point(unb64(c["control-key"])) and signing_point(unb64(c["root-key"]))
            and sealing_point(unb64(c["audit-key"][7:])) and stated(c["root-key"], "signet/1 certificate", c))


def controlled(word, kind, control):
    """Whether the control key of that certificate signed this word of its person's, in its time (section 15)."""
    said = {"pause": "issued-at", "approval": "decided-at", "decision": "issued-at"}[kind]
    return (word["principal-id"] == control["principal-id"] and covers(control, instant(word[said]))
            and stated(control["control-key"], f"signet/1 {kind}", word))


def mandated(mandate, key):
    """Whether it is a mandate, under that signing key (section 14)."""
    return (fits(mandate, {"$ref": "urn:signet:1:common#/$defs/mandate"})
            and instant(mandate["issued-at"]) < instant(mandate["not-after"])
            and instant(mandate["not-after"]) <= instant(mandate["issued-at"]) + 30 * DAY
            and stated(key, "signet/1 handoff", mandate))


def covers(c, at):
    return instant(c["not-before"]) <= at <= instant(c["not-after"])


def invited(line, now):
    """Reads an invitation (section 15), or says why it is none. Gives who is reached where."""
    line = line.strip()
    require(len(line) <= 8192, "too-long")
    require(line.startswith(INVITATION), "no-invitation")
    require(spelt_once(line[len(INVITATION):]), "no-invitation")
    said = parse(unb64(line[len(INVITATION):]))
    require(fits(said, {"$ref": "urn:signet:1:invitation"}), "invalid-shape")
    require(certified(said["certificate"]), "certificate-invalid")
    require(stated(said["certificate"]["signing-key"], "signet/1 invitation", said), "signature-invalid")
    require(covers(said["certificate"], now), "certificate-expired")
    require(now <= instant(said["not-after"]), "expired")
    require(instant(said["not-after"]) <= now + 31 * DAY, "lifetime-too-long")
    reached = {way["carrier"]: way["addresses"] for way in said["carriers"]}
    reached |= {"http": list(filter(is_http, reached["http"]))} if "http" in reached else {}
    return said["certificate"]["agent-id"], reached


def is_http(address):
    """What is no address is passed over, and nothing mends it."""
    return address == "poll" or re.match("https?://[^/?]", address)


class Whole(Peer):
    spoken = ("1.0.0", "1.1.0")

    def __init__(self, *said, **more):
        self.held, self.given, self.paused, self.control = {}, {}, None, 0
        super().__init__(*said, **more)

    def send(self, s, method, content, headers, error=None):
        m = super().send(s, method, content, headers, error)
        if m.method == "agent.handoff":
            self.given[(m.body["task"], s.peer)] = {"state": "offered", "id": m.id, "last": m.body["chain"][-1]["mandate"]}
        for task in self.held.values():
            if m.h.get("in-reply-to") == task["id"]:
                task["state"] = "declined" if m.reason else "accepted"
        return m

    # Orders: pause and resume (V12)

    def ordered(self, m):
        if m.method == "agent.revoke":
            return super().ordered(m)
        word, control, mine, why = m.body["statement"], m.body["control"], self.home.certificate, "statement-invalid"
        require(m.h["principal-id"] == mine["principal-id"], why)
        require(word["paused"] == (m.method == "agent.pause"), why)
        require(controls(control), why)
        require(control["principal-id"] == mine["principal-id"], why)
        require(control["root-key"] == mine["root-key"], why)
        require(control["serial"] >= self.control, why)
        require(covers(control, self.clock()), why)
        require(controlled(word, "pause", control), why)
        require(self.is_news(word, control), "statement-stale")
        return self.obey(word, control)

    def is_news(self, word, control):
        return self.paused in (None, word) or (control["serial"], word["serial"]) > (self.control, self.paused["serial"])

    def obey(self, word, control):
        self.paused, self.control = word, control["serial"]

    # What ends V12: offers, progress, tasks

    def fitting(self, m, s, body):
        if m.method == "agent.offer":
            self.offered(body["capabilities"], [offer["name"] for offer in s.theirs["capabilities"]], len(canonical(body)))
        elif m.method == "agent.progress":
            require(fits(body, {"$ref": "urn:signet:1:progress"}), "body-unfit")
        elif m.method == "agent.handoff":
            self.handed(m, body)
        elif m.method and m.h.get("capability") == "signet.task":
            self.reported(m, body)
        elif not m.method:
            self.decided(m, body)

    def offered(self, offers, settled, size):
        names = [offer["name"] for offer in offers]
        require(len(set(names)) == len(names), "offer-invalid")
        require(not set(names) & set(settled), "offer-invalid")
        require(len(names) + len(settled) <= 64, "offer-invalid")
        require(size <= 160 * KIB, "offer-invalid")

    def handed(self, m, body):
        """The ten rules of a chain, in their order."""
        invalid, now = "mandate-invalid", self.clock()
        require(fits(body, {"$ref": "urn:signet:1:handoff"}), invalid)
        chain, task = [(link["mandate"], link["certificate"]) for link in body["chain"]], body["task"]
        last, signer = chain[-1]
        require(task == last["task"] and m.h.get("conversation-id") == last["task"], invalid)  # 1
        require(last["from"] == m.sender and last["to"] == self.id, invalid)  # 2
        require(key_id(signer["signing-key"]) == m.h["key-id"], invalid)
        for mandate, c in chain:
            self.stands(c, invalid)  # 3
            require(covers(c, instant(mandate["issued-at"])), invalid)  # 4
            require(instant(mandate["issued-at"]) <= now + MINUTE, invalid)
            require(now <= instant(mandate["not-after"]), invalid)
        require(m.until <= instant(last["not-after"]), invalid)
        for mandate, c in chain:
            require(c["agent-id"] == mandate["from"], invalid)  # 5
            require(mandated(mandate, c["signing-key"]), invalid)
        steps = [(before, mandate) for (before, _), (mandate, _) in zip(chain, chain[1:])]
        require("parent" not in chain[0][0], invalid)  # 6
        require(all(mandate.get("parent") == b64(sha(canonical(before))) for before, mandate in steps), invalid)
        require(all(mandate["from"] == before["to"] for before, mandate in steps), invalid)  # 7
        require(all(mandate["task"] == before["task"] for before, mandate in steps), invalid)
        agents = [mandate["from"] for mandate, _ in chain] + [last["to"]]
        require(len(set(agents)) == len(agents), invalid)  # 8
        for before, mandate in steps:  # 9
            require(set(mandate["capabilities"]) <= set(before["capabilities"]), "authority-widened")
            require(mandate["tier"] <= before["tier"], "authority-widened")
            require(mandate["depth"] < before["depth"], "authority-widened")
            require(instant(mandate["not-after"]) <= instant(before["not-after"]), "authority-widened")
        self.new(task, m.sender, last, invalid)  # 10
        self.held[(task, m.sender)] = {"state": "offered", "id": m.id, "last": last}

    def stands(self, c, invalid):
        """Rule 3: of whom a mandate may come."""
        known = self.trust.known.get(c["agent-id"])
        require(certified(c), invalid)
        require(self.trust.pinned().get(c["principal-id"]) == c["root-key"], invalid)
        require(not known or known[0]["principal-id"] == c["principal-id"], invalid)
        require(not self.trust.is_revoked(c), invalid)
        require(c["agent-id"] not in self.trust.withdrawn, invalid)
        require((c["agent-id"], c["root-key"]) not in self.trust.refused, invalid)
        require(not known or c in known or c["serial"] > known[0]["serial"], invalid)

    def new(self, task, giver, last, invalid):
        """Rule 10: whether the mandate is new."""
        open_ones = [held for (name, _), held in self.held.items() if name == task and held["state"] in OPEN
                     and self.clock() <= instant(held["last"]["not-after"])]
        before = self.held.get((task, giver))
        require(not open_ones, invalid)
        require(not any(name == task and "parent" not in given["last"] for (name, _), given in self.given.items()), invalid)
        require(not before or instant(last["issued-at"]) > instant(before["last"]["issued-at"]), invalid)

    def reported(self, m, body):
        """Word of a task that this agent gave."""
        require(fits(body, {"$ref": "urn:signet:1:task"}), "task-unknown")
        given = self.given.get((body["task"], m.sender))
        require(given, "task-unknown")
        may_follow = ("offered", "accepted") if body["state"] == "working" else OPEN
        require(given["state"] in may_follow, "task-unknown")
        require(m.at <= instant(given["last"]["not-after"]), "task-unknown")
        given["state"] = body["state"]

    def decided(self, m, body):
        """The answer to a handoff of this agent's."""
        given = next((given for (_, to), given in self.given.items() if given["id"] == m.h["in-reply-to"] and to == m.sender), None)
        if given:
            task = given["last"]["task"]
            require(m.reason or body == {"task": task, "decision": "accepted"}, "task-unknown")
            given["state"] = "declined" if m.reason else "accepted" if given["state"] == "offered" else given["state"]
