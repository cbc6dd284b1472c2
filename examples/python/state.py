"""What an agent of signet/1 holds: its keys, and whom it knows (docs/protocol.md, section 4), handshakes that are under way
(section 5), and sessions with their numbers (sections 6 and 7). peer.py is the agent."""
import json
import os
import secrets
import time

from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox
from nacl.signing import SigningKey

from wire import (DAY, FLIGHTS, MINUTE, SECOND, TYPES, Message, Refused, b64, canonical, fits, instant, key_id, parse,
                  proven, require, sealing_point, sha, sign, signing_point, stated, unb64, uuid7, version, written)


class Home:
    """The keys of one agent, which are all that it keeps (section 4). Only `make` needs the root key: put it elsewhere."""

    def __init__(self, said):
        self.certificate, self.signing = said["certificate"], SigningKey(unb64(said["signing"]))
        self.id, self.sealing = said["certificate"]["agent-id"], PrivateKey(unb64(said["sealing"]))
        self.sealing_key = "x25519:" + b64(bytes(self.sealing.public_key))

    @classmethod
    def load(cls, folder):
        return cls(json.loads((folder / "agent.json").read_text()))

    @staticmethod
    def make(folder, agent, principal):
        root, after, signing, now = SigningKey.generate(), SigningKey.generate(), SigningKey.generate(), time.time_ns()
        certificate = {
            "type": "agent", "agent-id": agent, "principal-id": principal, "signing-key": b64(bytes(signing.verify_key)),
            "layers": [0, 1, 2, 3], "versions": ["1.0.0"], "serial": now // SECOND, "not-before": written(now - 5 * MINUTE),
            "not-after": written(now + 365 * DAY), "root-key": b64(bytes(root.verify_key)),
            "next-root": b64(sha(bytes(after.verify_key)))}
        certificate["signature"] = sign(root, "signet/1 certificate", certificate)
        keys = {"certificate": certificate, "signing": b64(bytes(signing)), "sealing": b64(secrets.token_bytes(32))}
        folder.mkdir(parents=True, mode=0o700)
        for name, value in (("agent", keys), ("root", {"root": b64(bytes(root)), "next-root": b64(bytes(after))}),
                            ("certificate", certificate)):
            with open(os.open(folder / f"{name}.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                json.dump(value, file)

    def statement(self, now):
        keys = {"type": "keys", "agent-id": self.id, "sealing-key": self.sealing_key, "serial": now // SECOND,
                "not-after": written(now + 45 * DAY)}
        return keys | {"signature": sign(self.signing, "signet/1 keys", keys)}

    def write(self, at, to, method, content, headers=None, life=3 * DAY, seal_to=None, error=None):
        """Makes and signs a message. Its two times come from one reading of the clock."""
        mine, kind = self.certificate, TYPES.get(method, "notification")
        headers = {
            "agent-id": self.id, "principal-id": mine["principal-id"], "timestamp": written(at), "message-type": kind,
            "trust-layer-version": "1.0.0", "skill-layers-loaded": mine["layers"], "recipient-id": to,
            "message-id": uuid7(at), "expires-at": written(at + life), "key-id": key_id(mine["signing-key"])
        } | (headers or {})
        if headers.get("data-tier", 1) >= 3 and content.keys() & {"summary", "body"}:
            inner = {name: headers[name] for name in ("data-tier", "message-id", "session")} | {"from": self.id, "to": to}
            inner |= {name: content.pop(name) for name in ("summary", "body") if name in content}
            box = SealedBox(PublicKey(unb64(seal_to[7:]))).encrypt(canonical(inner))
            content["sealed"] = {"to": seal_to, "box": b64(box)}
        envelope = {"headers": headers} | content
        value = {"jsonrpc": "2.0"} | ({"method": method, "params": envelope} if method else {"result": envelope})
        if error:
            value = {"jsonrpc": "2.0", "error": error | {"data": envelope}}
        if kind != "notification":
            value["id"] = headers["message-id" if method else "in-reply-to"]
        envelope["signature"] = sign(self.signing, "signet/1 message", value)
        return Message(value)

    def opened(self, m):
        """What is sealed says for whom and in which message; what says something else was made for another one."""
        box = m.envelope["sealed"]["box"]
        try:
            raw = unb64(box)
            require(m.envelope["sealed"]["to"] == self.sealing_key and sealing_point(raw[:32]), "unsealable")
            raw = SealedBox(self.sealing).decrypt(raw)
        except (CryptoError, ValueError):
            raise Refused("unsealable") from None
        try:
            inner = parse(raw)
        except Refused:
            raise Refused("seal-mismatch") from None
        outer = {"from": m.sender, "to": self.id} | {n: m.h[n] for n in ("data-tier", "message-id", "session")}
        require(type(inner) is dict and outer.items() <= inner.items(), "seal-mismatch")
        require(inner.keys() - outer.keys() <= {"summary", "body"} and (m.reason or "body" in inner), "seal-mismatch")
        summary = inner.get("summary", "")
        require(type(summary) is str and len(summary) <= 500, "seal-mismatch")
        return inner.get("body", summary)


def certified(c):
    """Whether it is a certificate, and its own root key signed it. Whether that key is the person's, only people know."""
    return (fits(c, {"$ref": "urn:signet:1:certificate"}) and c["versions"] == sorted(set(c["versions"]), key=version)
            and instant(c["not-before"]) < instant(c["not-after"])
            and all(signing_point(unb64(c[key])) for key in ("signing-key", "root-key"))
            and stated(c["root-key"], "signet/1 certificate", c))


def states(keys, agent, key):
    """Whether it is a key statement of that agent, under that signing key."""
    return (fits(keys, {"$ref": "urn:signet:1:keys"}) and keys["agent-id"] == agent
            and sealing_point(unb64(keys["sealing-key"][7:])) and stated(key, "signet/1 keys", keys))


class Trust:
    """Whom the agent knows, by certificates that its person handed in (section 4)."""

    def __init__(self, own, trusted):
        self.own, self.known, self.revoked, self.serials, self.lowest = own, {}, {}, {}, {}
        self.withdrawn, self.refused = set(), set()  # agent-ids; agent-ids with the root key that was refused
        for c in trusted:
            require(certified(c), "certificate-invalid")
            self.known[c["agent-id"]] = [c, *self.known.get(c["agent-id"], [])]  # the newest first

    def pinned(self):
        return {c["principal-id"]: c["root-key"] for c in [newest for newest, *_ in self.known.values()] + [self.own]}

    def is_revoked(self, c):
        return c["serial"] <= self.revoked.get((c["principal-id"], c["agent-id"]), 0)

    def named(self, m):
        """The certificate of the key that it names."""
        return next((c for c in self.known[m.sender] if key_id(c["signing-key"]) == m.h["key-id"]), None)

    def prove(self, m):
        """V06 and V07. Gives the reason of a refusal that costs a number all the same, since the signature holds."""
        if m.method in FLIGHTS:
            self.judge(m, c := m.body["certificate"])
        else:
            require(m.sender in self.known, "agent-unknown")
            require(m.sender not in self.withdrawn, "trust-withdrawn")
            c = self.named(m)
            require(c, "key-unknown")
            require(not self.is_revoked(c), "certificate-revoked")
        late = None if instant(c["not-before"]) <= m.at <= instant(c["not-after"]) else "certificate-expired"
        require(m.n or not late, late)
        require(m.h["principal-id"] == c["principal-id"], "principal-mismatch")
        if not set(m.h["skill-layers-loaded"]) <= set(c["layers"]):
            late = late or "layers-exceed-certificate"
        require(m.n or not late, late)
        if m.method in FLIGHTS:
            keys = m.body["keys"]
            require(states(keys, m.sender, c["signing-key"]), "keys-invalid")
            require(m.at <= instant(keys["not-after"]) <= m.at + 45 * DAY + 60 * MINUTE, "keys-invalid")
            require(keys["serial"] >= self.serials.get(c["signing-key"], 0), "serial-rolled-back")
        require(proven(c["signing-key"], "signet/1 message", m.signed(), m.envelope["signature"]), "signature-invalid")
        return late

    def judge(self, m, c):
        """A flight's certificate. The successor of a root key is not followed: its certificate has to be handed in."""
        pinned, known = self.pinned(), self.known.get(m.sender)
        require(c["agent-id"] == m.sender, "certificate-invalid")
        require(pinned.get(c["principal-id"], c["root-key"]) == c["root-key"], "root-changed")
        require((m.sender, c["root-key"]) not in self.refused, "trust-withdrawn")
        require(known, "agent-unknown" if c["principal-id"] in pinned else "principal-unknown")
        require(known[0]["principal-id"] == c["principal-id"], "agent-id-taken")
        require(not self.is_revoked(c), "certificate-revoked")
        require(c == known[0] or c["serial"] > known[0]["serial"], "serial-rolled-back")
        require(m.sender not in self.withdrawn, "trust-withdrawn")
        require(c == known[0] or certified(c), "certificate-invalid")
        require(key_id(c["signing-key"]) == m.h["key-id"], "key-unknown")

    def revoke(self, word):
        """A root key takes certificates back, whoever brings its word (section 15). Gives whether the word holds."""
        agent, root = word["agent-id"], word["root-key"]
        holds = self.pinned().get(word["principal-id"]) == root and stated(root, "signet/1 revocation", word)
        if holds:
            named = (word["principal-id"], agent)
            self.revoked[named] = max(word["serial"], self.revoked.get(named, 0))
        return holds

    def learn(self, flight):
        """Of a handshake that ended in a session."""
        c = flight.body["certificate"]
        if c != self.known[flight.sender][0]:
            self.known[flight.sender] = [c, *self.known[flight.sender]][:4]
        self.serials[c["signing-key"]] = flight.body["keys"]["serial"]
        lowest = version(c["versions"][0])
        self.lowest[flight.sender] = max(lowest, self.lowest.get(flight.sender, lowest))


def opens(m):
    """V11, of flights 1 and 2: what they offer lies within the certificate."""
    body, c = m.body, m.body["certificate"]
    require(body["versions"] == sorted(set(body["versions"]), key=version), "invalid-shape")
    require(set(body["versions"]) <= set(c["versions"]), "version-unsupported")
    require(body["versions"][0] == m.h["trust-layer-version"], "version-mismatch")
    require(set(body["layers"]) <= set(c["layers"]), "layers-exceed-certificate")


class Handshake:
    """The flights so far (section 5). The last one, when it is this agent's, goes out again until it is answered."""

    def __init__(self, ours, flights):
        self.ours, self.flights, self.wait, self.next, self.until = ours, flights, SECOND, 0, 0

    def follows(self, n, body, common):
        """V11, of flights 2 to 4: they are of this handshake, and flight 2 chooses the best common version."""
        require(body["transcript"] == transcript(self.flights), "transcript-mismatch")
        names = [offer["name"] for offer in body.get("capabilities", [])]
        require(len(set(names)) == len(names), "invalid-shape")
        require(n == 1 or all(body[said] == self.flights[n - 2].body[said] for said in ("certificate", "keys")),
                "transcript-mismatch")
        require(n != 1 or common or body["choice"] is None, "version-unsupported")
        require(n != 1 or body["choice"] == common, "version-downgrade")


def transcript(flights):
    h = sha(b"signet/1 handshake")
    for flight in flights:
        h = sha(h + unb64(flight.hash))
    return b64(h)


class Session:
    """What four flights agreed on, and what is known of the numbers in both directions (sections 6 and 7)."""

    def __init__(self, flights, ours):
        first, second, third, last = flights
        self.id, self.version, self.began = transcript(flights), second.body["choice"], last.at
        self.them, mine, theirs = (second, third, last) if ours else (first, last, third)
        self.peer, self.key, self.confirmed, self.closed = self.them.sender, self.them.h["key-id"], ours, False
        self.grant, self.granted, self.theirs = mine.body["grant"], theirs.body["grant"], theirs.body
        self.offers = {offer["name"]: offer["tier"] for offer in mine.body["capabilities"]}
        self.ends = min([self.began + 30 * DAY] + [instant(flight.body[statement]["not-after"])
                                                   for flight in flights[:2] for statement in ("certificate", "keys")])
        self.seen, self.exceptions, self.through, self.their_floor, self.given_up = {}, {}, 0, 1, []  # of what comes
        self.next, self.unsettled, self.settled, self.told, self.due, self.last = 1, {}, 0, -1, None, 0  # of what goes

    @property
    def floor(self): return min(self.unsettled, default=self.next)

    def new(self, m):
        """Whether a number was never judged: that of a refused message is used up as well."""
        return m.n > max(self.through, max(self.seen, default=0) - 8192) and m.n not in self.seen

    def look(self, m):
        """The replay window (V10)."""
        require(m.n > max(self.seen, default=0) - 8192, "sequence-below-window")
        if m.n in self.seen:  # with another hash: a copy of the same message ended at V08
            self.exceptions.setdefault(m.n, {"sequence": m.n, "reason": "sequence-reuse", "hash": self.seen[m.n]})
            raise Refused("sequence-reuse")
        require(m.n > self.through, "expired")

    def judged(self, m, reason=None):
        self.seen[m.n] = m.hash
        if reason:
            self.exceptions[m.n] = {"sequence": m.n, "reason": reason}
        for n in [n for n in self.seen if n <= max(self.seen) - 8192 and n != self.through]:  # that hash is told
            del self.seen[n]
        self.advance()

    def advance(self):
        """Moves `through` over what is judged or given up, while the receipt has room for the exceptions."""
        def gone(n): return any(first <= n <= last for first, last in self.given_up)
        self.exceptions = {n: e for n, e in self.exceptions.items() if "hash" in e or n >= self.their_floor or gone(n)}
        while (n := self.through + 1) in self.seen or gone(n):
            if n not in self.seen:
                self.exceptions[n] = {"sequence": n, "reason": "missing"}
            if sum(other <= n for other in self.exceptions) > 256:
                break
            self.through = n

    def receipt(self):
        body = {"through": self.through, "floor": self.floor}
        if self.through in self.seen:
            body["hash"] = self.seen[self.through]
        if named := [self.exceptions[n] for n in sorted(self.exceptions) if n <= self.through]:
            body["except"] = named
        if self.settled + 1 < self.floor:
            body["given-up"] = [[self.settled + 1, self.floor - 1]]
        return body

    def settle(self, receipt):
        """Takes a receipt: gives each message that it settles with a reason or None, or nothing when it does not fit."""
        body, self.told = receipt.body, receipt.at
        self.their_floor, self.given_up = body.get("floor", self.their_floor), body.get("given-up", [])
        hashes = {e["sequence"]: e["hash"] for e in body.get("except", []) if "hash" in e}
        reasons = {e["sequence"]: e["reason"] for e in body.get("except", []) if "hash" not in e}
        hashes |= {body["through"]: body["hash"]} if "hash" in body else {}
        if not self.settled <= body["through"] < self.next or any(
                n in self.unsettled and self.unsettled[n].hash != digest for n, digest in hashes.items()):
            return None
        self.settled = body["through"]
        self.advance()
        return [(self.unsettled.pop(n), reasons.get(n)) for n in sorted(self.unsettled) if n <= self.settled]
