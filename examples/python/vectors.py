"""Holds the agent against the folder vectors/, as vectors/README.md says: `peer.py --vectors DIR`. What the least agent has to
know is judged by peer.py alone as well; the rest, which peer.py leaves out, by whole.py."""
import base64
import json

from nacl.exceptions import CryptoError
from nacl.signing import VerifyKey

from carrier import Inbox, messages
from peer import Peer
from state import Home, certified, states, transcript
from whole import Whole, controlled, controls, invited, mandated
from wire import FLIGHTS, Message, Refused, b64, canonical, fits, instant, key_id, proven, sha, stated, unb64


class Past:
    """An agent whose past is told to it: what it said then is what it said, instead of being signed anew."""

    def __init__(self, home, knowledge):
        self.said, self.now, self.outcomes = [], 0, {}
        super().__init__(home, knowledge["certificates"], clock=lambda: self.now)
        for word in knowledge["revocations"]:
            assert self.revoke(word)
        for order in knowledge["orders"]:
            self.obey(order["statement"], order["control"])
        self.trust.withdrawn |= set(knowledge["withdrawn"])
        self.trust.refused |= {(c["agent-id"], c["root-key"]) for c in knowledge["refused"]}
        self.said = [Message(item["sent"]) for item in knowledge["history"] if "sent" in item]
        for item in knowledge["history"]:
            self.now = instant(item["at"])
            if "came" in item:
                reason = self.take(canonical(item["came"]))
                assert reason is None, reason
            elif self.said and item["sent"] == self.said[0].value:  # nothing that came made it say this
                self.begin(self.said[0])

    def begin(self, m):
        if m.method == FLIGHTS[0]:
            self.announce(m.h["recipient-id"])
        elif m.n:
            self.send(self.sessions[m.session], m.method, {}, {})
            self.open[m.id] = (m.h["recipient-id"], m.tier, None)
        else:
            self.said.pop(0)

    def write(self, to, method, *said, **more):
        if self.said and (self.said[0].h["recipient-id"], self.said[0].method) == (to, method):
            return self.said.pop(0)
        return super().write(to, method, *said, **more)

    def result(self, request, outcome):
        self.outcome = self.outcomes[request] = outcome

    def waiting(self):
        return {m.id for s in self.sessions.values() for m in s.unsettled.values()}


class Least(Past, Peer):
    pass


class Told(Past, Whole):
    pass


def judge(folder, vector, home, agent=Told):
    """What the agent says of one input: its verdict, and what was sealed in it."""
    peer = agent(home, json.loads((folder / "knowledge" / f"{vector['knowledge']}.json").read_text()))
    peer.now = instant(vector["now"])
    raw = base64.b64decode(vector["input-base64"]) if "input-base64" in vector else vector["input"].encode()
    waiting, held = peer.waiting(), set(peer.sessions)
    reason = peer.take(raw + b" " * vector.get("pad", 0), vector.get("subject"))
    said = {"reason": reason}
    peer.tick()
    if "receipt" in vector["expect"]:
        said["receipt"] = peer.sessions[Message.read(raw).session].receipt()
    if reason:
        return said
    m = Message.read(raw)
    said["hash"] = m.hash
    if "sealed" in m.envelope:
        said["body"] = peer.inbox[0][1] if m.method else peer.outcome[1]
    if "settles" in vector["expect"]:
        said["settles"] = {name: settled(peer.outcomes.get(name)) for name in waiting - peer.waiting()}
    if "session" in vector["expect"]:
        said["session"] = next(iter(set(peer.sessions) - held), None)
    if "ended" in vector["expect"]:
        said["ended"] = peer.ended.get(m.sender)
    return said


def settled(outcome):
    """What became of a message that no receipt is awaited for any more."""
    if not isinstance(outcome, Refused):
        return {"state": "received"}
    return {"state": "unknown"} if str(outcome) == "unknown" else {"state": "refused", "reason": str(outcome)}


def input_holds(folder, vector, home):
    expected = vector["expect"]
    wanted = {"reason": expected.get("reason")}
    wanted |= {name: expected[name] for name in ("hash", "receipt", "settles", "session", "ended") if name in expected}
    wanted |= {"body": expected["opened"]["body"]} if "opened" in expected else {}
    agents = [Told] if vector.get("needs") else [Told, Least]
    said = [judge(folder, vector, home, agent) for agent in agents]
    return all(one == wanted for one in said) or said


def exchange_holds(folder, vector, home):
    """What is posted to the inbox, one body after the other (section 11)."""
    peer = Told(home, json.loads((folder / "knowledge" / f"{vector['knowledge']}.json").read_text()))
    inbox = Inbox(peer, instant(vector["started"]))
    for kept in vector["kept"]:
        inbox.keep(kept.encode())
    for post in vector["posts"]:
        peer.now, expected = instant(post["now"]), post["expect"]
        status, answer = inbox.post(post["body"].encode())
        said = {"status": status}
        if status != 413:
            said |= {"messages": [raw.decode() for raw in messages(post["body"].encode())], "judged": inbox.judged}
        if answer is not None:
            said["answer"] = [raw.decode() for raw in messages(answer)]
        if said != expected:
            return said
    return True


def statement_holds(_, vector, __):
    said, kind = vector["statement"], vector["kind"]
    good = {"certificate": lambda: certified(said), "control": lambda: controls(said),
            "pause": lambda: fits(said, {"$ref": "urn:signet:1:common#/$defs/pause"}) and controlled(said, kind, vector["control"]),
            "approval": lambda: fits(said, {"$ref": "urn:signet:1:common#/$defs/approval"}) and controlled(said, kind, vector["control"]),
            "mandate": lambda: mandated(said, vector["signing-key"]),
            "keys": lambda: states(said, said["agent-id"], vector["signing-key"]),
            "revocation": lambda: fits(said, {"$ref": "urn:signet:1:common#/$defs/revocation"})
            and stated(said["root-key"], "signet/1 revocation", said)}[kind]()
    return good == (vector["expect"] == "good") or ("good" if good else "bad")


def invitation_holds(_, vector, __):
    try:
        reached = invited(vector["line"], instant(vector["now"]))[1]
        said = "good" if reached.get("http") == vector.get("http", reached.get("http")) else reached
    except Refused as refused:
        said = str(refused)
    return (said == "good") == (vector["expect"] == "good") or said


def handshake_holds(_, vector, __):
    flights = [Message.read(canonical(flight)) for flight in vector["flights"]]
    hashes = [b64(sha(b"signet/1 handshake"))] + [transcript(flights[:n]) for n in (1, 2, 3, 4)]
    carried = [flight.body["transcript"] for flight in flights[1:]]
    return (hashes == vector["transcripts"] and carried == hashes[1:4] and hashes[4] == vector["session"]
            and [flight.hash for flight in flights] == vector["hashes"]) or hashes


def log_holds(_, vector, __):
    """A month of a log: the chain, each message under the keys that the log made known, and the checkpoints (section 12)."""
    month = "".join(line + "\n" for line in vector["lines"]) + vector.get("behind", "")
    lines = month.encode().split(b"\n")[:-1]  # what is behind the last line feed is no line
    said = next((fault for fault, holds in (("chain", chained), ("message", signed), ("checkpoint", covered))
                 if not holds(vector, lines)), None)
    return said == vector["expect"].get("fault") or said


def chained(_, lines):
    previous = ["0" * 64] + [sha(line).hex() for line in lines]
    said = [json.loads(line) for line in lines]
    return all((line["seq"], line["prev"]) == (n + 1, previous[n]) for n, line in enumerate(said))


def signed(_, lines):
    known = {}
    for line in map(json.loads, lines):
        if line["kind"] in ("genesis", "trust"):
            known[key_id(line["certificate"]["signing-key"])] = line["certificate"]
        elif "message" in line:
            m = Message(line["message"])
            key = known[m.h["key-id"]]["signing-key"]
            if sha(m.raw).hex() != line["sha256"] or not proven(
                    key, "signet/1 message", m.signed(), m.envelope["signature"]):
                return False
    return True


def covered(vector, lines):
    """A note is three lines, an empty one, and signatures; an empty line ends it."""
    origin, key = f"signet/{vector['agent']}/{vector['month']}", unb64(json.loads(lines[0])["checkpoint-key"])
    parts, name = vector["checkpoints"].split("\n\n"), sha(f"{origin}\n\1".encode() + key)[:4]
    for text, signature in zip(parts[::2], parts[1::2]):
        who, size, root = text.split("\n")
        if not signature.startswith(f"\u2014 {origin} "):
            return False
        raw = base64.b64decode(signature.removeprefix(f"\u2014 {origin} "))
        try:
            VerifyKey(key).verify((text + "\n").encode(), raw[4:])
        except CryptoError:
            return False
        if (who, raw[:4]) != (origin, name) or int(size) > len(lines) or base64.b64decode(root) != tree(lines[:int(size)]):
            return False
    return True


def tree(lines):
    """RFC 6962, 2.1."""
    if len(lines) == 1:
        return sha(b"\0" + lines[0])
    half = 1 << (len(lines) - 1).bit_length() - 1
    return sha(b"\1" + tree(lines[:half]) + tree(lines[half:]))


KINDS = {"refused": input_holds, "accepted": input_holds, "statements": statement_holds, "handshakes": handshake_holds,
         "log": log_holds, "http": exchange_holds, "invitations": invitation_holds}


def recipient(folder):
    return Home(json.loads((folder / "recipient.json").read_text()))


def all_in(folder):
    """Each vector: its folder, its name, and what its file says."""
    for kind in KINDS:
        for file in sorted((folder / kind).glob("*.json")):
            yield kind, file.name, json.loads(file.read_text())


def said_of(folder, kind, vector, home):
    """True, or what this agent says instead of what the file says."""
    try:
        return KINDS[kind](folder, vector, home)
    except (Refused, AssertionError, KeyError) as fault:
        return f"{type(fault).__name__}: {fault}"


def is_taken(folder, kind, vector, home):
    """Whether this agent takes what it has to refuse."""
    try:
        if kind == "refused":
            return judge(folder, vector, home)["reason"] is None
        return KINDS[kind](folder, vector, home) is not True
    except Exception:
        return False


def check(folder):
    """Prints what does not hold; gives the exit code."""
    home, passed, wrong = recipient(folder), 0, 0
    for kind, name, vector in all_in(folder):
        said = said_of(folder, kind, vector, home)
        passed += said is True
        if said is not True:
            wrong += 1
            print(f"{kind}/{name}: expected {json.dumps(vector.get('expect', 'what the file says'))}, said {said}")
    print(f"{passed} hold, {wrong} do not")
    return 1 if wrong or passed < 400 else 0
