"""What HTTP adds to an agent of signet/1 (docs/protocol.md, section 11): the body of a request, which is one message or an
array of them, and polls, by which a peer that can only dial out gets what is kept for it. A server of HTTP around it is
a library's business: `Inbox.post` is what it calls with each body, and gives the status and the body of the response."""
from wire import MINUTE, Message, Refused, require

MOST, LONGEST, LARGEST = 128, 245_760, 4 * 245_760 + 65_536  # messages of a body, bytes of a message and of a body
WHITE = b" \t\r\n"


class TooMuch(Exception):
    """413: none of it is judged."""


def messages(body):
    """The messages of a body, each byte for byte. What is cut off, or stands behind the array, is one that is none."""
    require_room(len(body) <= LARGEST)
    if not body.lstrip(WHITE).startswith(b"["):
        return [body]
    found, depth, text, escaped = [], 0, False, False
    start = body.index(b"[") + 1
    for at in range(start, len(body)):
        byte = body[at:at + 1]
        if text:
            text, escaped = escaped or byte != b'"', not escaped and byte == b"\\"
        elif byte == b'"':
            text = True
        elif byte in (b"{", b"["):
            depth += 1
        elif depth and byte in (b"}", b"]"):
            depth -= 1
        elif not depth and byte in (b",", b"]"):
            if found or byte == b"," or body[start:at].strip(WHITE):
                found.append(body[start:at].strip(WHITE))
            start = at + 1
            if byte == b"]":
                break
    if body[start:].strip(WHITE):
        found.append(body[start:].strip(WHITE))
    require_room(len(found) <= MOST and all(len(raw) <= LONGEST for raw in found))
    return found


def require_room(holds):
    if not holds:
        raise TooMuch


class Inbox:
    """The inbox of an agent on HTTP, and what it keeps for peers that poll."""

    def __init__(self, peer, started):
        self.peer, self.started, self.polled, self.kept, self.judged = peer, started, {}, {}, []

    def keep(self, raw):
        """For its recipient, until that polls and names it, or receipts it. What is too much pushes out the oldest."""
        m = Message.read(raw)
        kept = self.kept.setdefault(m.h["recipient-id"], {})
        kept.setdefault(m.id, raw)
        while len(kept) > 1024:
            del kept[next(iter(kept))]

    def post(self, body):
        """Status, and body or None: whatever is thought of what came, the status is the same."""
        try:
            found = messages(body)
        except TooMuch:
            return 413, None
        self.judged, given = [], []
        for raw in found:
            given = self.take(raw)
        if len(found) != 1 or not given:  # a poll beside other messages is not answered
            return 202, None
        return 200, b"[" + b",".join(given) + b"]"

    def take(self, raw):
        """Judges one message. Gives what is kept, where it is a poll that is taken."""
        try:
            m = Message.read(raw)
        except Refused:
            m = None
        if m is None or m.method != "agent.poll":
            reason = self.peer.take(raw)
            self.judged.append({"verdict": "rejected", "reason": reason} if reason else {"verdict": "accepted"})
            return []
        try:
            require(m.h["recipient-id"] == self.peer.id, "wrong-recipient")
            require(m.sender != self.peer.id, "reflected")
            late = self.peer.trust.prove(m)
            require(not late, late)
        except Refused as refused:
            self.judged.append({"verdict": "rejected", "reason": str(refused)})
            return []
        if not self.is_due(m):
            self.judged.append({"verdict": "counted"})
            return []
        self.polled[m.sender] = m.at
        self.judged.append({"verdict": "served", "after": m.body.get("after")})
        return self.give(m)

    def is_due(self, m):
        """Whether it is a poll of this moment, by its sender, and no copy of an earlier one."""
        now = self.peer.clock()
        return (m.session is None and m.n is None and m.tier <= 2 and m.at <= now + MINUTE and now < m.until
                and 0 < m.until - m.at <= MINUTE and m.at > self.started and m.at > self.polled.get(m.sender, 0))

    def give(self, m):
        kept = self.kept.setdefault(m.sender, {})
        if m.body.get("after") in kept:
            while next(iter(kept)) != m.body["after"]:
                del kept[next(iter(kept))]
            del kept[m.body["after"]]
        return list(kept.values())[:64]
