"""signet/1 on the wire: encodings, strict JSON and its canonical form, signatures, and the shape of a message, which is
docs/protocol.md, sections 1 to 3, and checks V01 to V04. It knows nobody and keeps nothing; peer.py is the agent."""
import base64
import copy
import datetime
import hashlib
import json
import pathlib
import re
import secrets
from decimal import Decimal

from nacl.bindings import crypto_core_ed25519_add, crypto_core_ed25519_is_valid_point
from nacl.exceptions import CryptoError
from nacl.signing import VerifyKey

SECOND, MINUTE, DAY, KIB = 10**9, 60 * 10**9, 86_400 * 10**9, 1024
FLIGHTS = ["agent.announce", "agent.verify", "agent.capability", "agent.trust"]
ORDERS = ["agent.revoke", "agent.pause", "agent.resume"]
NEWER = ["agent.progress", "agent.offer"]  # from version 1.1.0 on
TYPES = {"agent.request": "request", "agent.handoff": "handoff", None: "response"}  # all others are notifications
SCHEMAS = {schema["$id"]: schema for schema in (
    json.loads(file.read_text()) for file in pathlib.Path(__file__).resolve().parents[2].glob("schemas/*.schema.json"))}


class Refused(Exception):
    """A reason of section 10: this agent's for what came, or the peer's for what was sent."""


def require(holds, reason):
    if not holds:
        raise Refused(reason)


# Section 1: identifiers and encodings

def b64(raw): return base64.urlsafe_b64encode(raw).decode().rstrip("=")
def unb64(text): return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
def spelt_once(text): return len(text) % 4 != 1 and b64(unb64(text)) == text
def sha(raw): return hashlib.sha256(raw).digest()
def key_id(key): return "ed25519:" + b64(sha(unb64(key)))
def version(text): return tuple(map(int, text.split(".")))


def instant(text):
    """Nanoseconds since 1970: a float has too few digits for what may be sent."""
    seconds, _, fraction = text.rstrip("Z").partition(".")
    day = datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.timezone.utc)
    return int(day.timestamp()) * SECOND + int(fraction.ljust(9, "0"))


def exists(text):
    try:
        return instant(text) >= 0
    except ValueError:
        return False


def written(at):
    day = datetime.datetime.fromtimestamp(at // SECOND, datetime.timezone.utc)
    return f"{day:%Y-%m-%dT%H:%M:%S}.{at % SECOND // 10**6:03}Z"


def uuid7(at):
    bits = f"{at // 10**6 << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62):032x}"
    return "-".join((bits[:8], bits[8:12], bits[12:16], bits[16:20], bits[20:]))


# Section 2: strict JSON and the canonical form

def parse(raw):
    """V01 and V02. Of several faults in one text a stock parser finds another first; these names never travel."""
    require(len(raw) <= 245_760, "too-large")
    try:
        text = raw.decode()
        require(not text.startswith("\ufeff"), "byte-order-mark")
        value = json.loads(text, object_pairs_hook=members, parse_int=number, parse_float=number,
                           parse_constant=lambda _: require(False, "malformed-json"))
    except UnicodeDecodeError:
        raise Refused("invalid-utf8") from None
    except RecursionError:
        raise Refused("too-deep") from None
    except ValueError:
        raise Refused("malformed-json") from None
    level, depth, values = [value], 0, 0
    while level:
        depth, values = depth + 1, values + len(level)
        strings = [part for part in level if type(part) is str] + [n for part in level if type(part) is dict for n in part]
        require(not any(re.search("[\ud800-\udfff]", string) for string in strings), "lone-surrogate")
        require(depth <= 64 or not any(type(part) in (dict, list) for part in level), "too-deep")
        level = [inner for part in level if type(part) in (dict, list)
                 for inner in (part.values() if type(part) is dict else part)]
    require(values <= 10_000, "too-many-values")
    require(len(canonical(value)) <= 245_760, "too-large")
    require(type(value) is not list, "batch-unsupported")
    return value


def members(pairs):
    require(len(dict(pairs)) == len(pairs), "duplicate-name")
    return dict(pairs)


def number(literal):
    if literal.lstrip("-").isdigit():
        require(len(literal) < 18 and abs(int(literal)) < 2**53, "number-out-of-range")
        return int(literal)
    value = float(literal)
    require(abs(value) < float("inf") and Decimal(literal) == Decimal(repr(value)), "number-out-of-range")
    require(not 2**53 <= abs(value) < 10**21, "number-out-of-range")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def canonical(value):
    """RFC 8785: names sorted by UTF-16 code units, numbers as ECMAScript writes them."""
    return spell(value).encode()


def spell(value):
    if type(value) is dict:
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{spell(name)}:{spell(value[name])}" for name in names) + "}"
    if type(value) is list:
        return "[" + ",".join(map(spell, value)) + "]"
    if type(value) is not float:
        return json.dumps(value, ensure_ascii=False)
    if value == 0:
        return "0"  # ECMAScript writes minus zero without its sign
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits, point = "".join(map(str, digits)), len(digits) + exponent
    if 0 < point <= 21:
        plain = digits[:point].ljust(point, "0") + ("." + digits[point:] if digits[point:] else "")
    elif -6 < point <= 0:
        plain = "0." + "0" * -point + digits
    else:
        plain = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1:+d}"
    return "-" * sign + plain


# Section 3: signatures; and what a sealing key must be (section 4)

def sign(key, label, value):
    return b64(key.sign(label.encode() + b"\n" + canonical(value)).signature)


def proven(key, label, value, signature):
    """libsodium verifies as strictly as section 3 asks, and takes no key of small order or of another encoding."""
    try:
        VerifyKey(unb64(key)).verify(label.encode() + b"\n" + canonical(value), unb64(signature))
    except CryptoError:
        return False
    return True


def stated(key, label, statement):
    """A certificate, key statement or revocation: an object that carries its own signature."""
    bare = {name: member for name, member in statement.items() if name != "signature"}
    return proven(key, label, bare, statement["signature"])


def signing_point(raw):
    """Canonical, on the curve, not of small order."""
    try:
        eightfold = raw
        for _ in range(3):
            eightfold = crypto_core_ed25519_add(eightfold, eightfold)
    except CryptoError:
        return False
    return int.from_bytes(raw, "little") % 2**255 < 2**255 - 19 and eightfold != (1).to_bytes(32, "little")


def sealing_point(raw):
    """Canonical, on the curve, not of small order, without torsion: what libsodium says of the point in Edwards form."""
    u, p = int.from_bytes(raw, "little"), 2**255 - 19
    y = (u - 1) * pow(u + 1, p - 2, p) % p
    return u < p and crypto_core_ed25519_is_valid_point(y.to_bytes(32, "little"))


# V03 and V04: shape and headers

def fits(value, schema, urn=None):
    """JSON Schema, as far as schemas/ goes. Patterns match in full: `$` would also match before a last line feed."""
    if type(schema) is bool:
        return schema
    if "$ref" in schema:
        name, _, path = schema["$ref"].partition("#")
        target = SCHEMAS[name or urn]
        for step in path.split("/")[1:]:
            target = target[step]
        if not fits(value, target, name or urn) or path.endswith("/timestamp") and not exists(value):
            return False
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    rules = {
        "type": lambda c: type(value) is kinds[c], "const": lambda c: value == c, "enum": lambda c: value in c,
        "oneOf": lambda c: sum(fits(value, s, urn) for s in c) == 1,
        "anyOf": lambda c: any(fits(value, s, urn) for s in c), "allOf": lambda c: all(fits(value, s, urn) for s in c)}
    if type(value) is int:
        rules |= {"minimum": lambda c: value >= c, "maximum": lambda c: value <= c}
    if type(value) is str:
        rules |= {"minLength": lambda c: len(value) >= c, "maxLength": lambda c: len(value) <= c,
                  "pattern": lambda c: re.fullmatch(c.removeprefix("^").removesuffix("$"), value)}
    if type(value) is list:
        rules |= {"minItems": lambda c: len(value) >= c, "maxItems": lambda c: len(value) <= c,
                  "uniqueItems": lambda c: len(set(map(spell, value))) == len(value),
                  "items": lambda c: all(fits(v, c, urn) for v in value),
                  "prefixItems": lambda c: all(fits(v, s, urn) for v, s in zip(value, c))}
    if type(value) is dict:
        rules |= {"required": lambda c: value.keys() >= set(c),
                  "properties": lambda c: all(fits(value[n], s, urn) for n, s in c.items() if n in value),
                  "additionalProperties": lambda c: c or value.keys() <= schema["properties"].keys()}
    return all(rule(schema[name]) for name, rule in rules.items() if name in schema)


SHAPE = copy.deepcopy(SCHEMAS["urn:signet:1:message"])  # V03 looks neither into headers nor at a method's name
SHAPE["$defs"]["headers"], SHAPE["properties"]["method"] = {"type": "object"}, {"type": "string"}
SCHEMAS["shape"] = SHAPE
METHODS = SCHEMAS["urn:signet:1:message"]["properties"]["method"]["enum"]
HEADERS = SCHEMAS["urn:signet:1:message"]["$defs"]["headers"]
BODIES = {method: method.removeprefix("agent.") for method in [
    *FLIGHTS, "agent.receipt", "agent.offer", "agent.poll", "agent.revoke", "agent.pause"]}
BODIES["agent.resume"] = "pause"


class Message:
    def __init__(self, value):
        self.value, self.raw, self.method = value, canonical(value), value.get("method")
        self.envelope = value.get("params") or value.get("result") or value["error"]["data"]
        self.h, self.body, self.hash = self.envelope["headers"], self.envelope.get("body"), b64(sha(self.raw))
        self.id, self.sender, self.session, self.n = map(self.h.get, ("message-id", "agent-id", "session", "sequence"))
        self.tier, self.reason, self.wait, self.next = self.h.get("data-tier", 1), self.envelope.get("reason"), 0, 0

    @property
    def at(self): return instant(self.h["timestamp"])

    @property
    def until(self): return instant(self.h["expires-at"])

    def in_time(self, now):
        """V09."""
        require(self.at <= now + MINUTE, "timestamp-in-future")
        if self.method != "agent.receipt":
            require(self.until > now, "expired")
            require(0 < self.until - self.at <= (5 * MINUTE if self.method in FLIGHTS else 7 * DAY), "lifetime-too-long")

    def signed(self):
        """What its signature is over."""
        other = Message(copy.deepcopy(self.value))
        other.envelope.pop("signature", None)
        return other.value

    @classmethod
    def read(cls, raw):
        """V01 to V04: from bytes to a message of which nobody knows yet whose it is."""
        value = parse(raw)
        require(fits(value, SHAPE, "shape"), "invalid-shape")
        m = cls(value)
        require("sealed" not in m.envelope or spelt_once(m.envelope["sealed"]["box"]), "invalid-shape")
        require(m.method not in BODIES or fits(m.body, {"$ref": f"urn:signet:1:{BODIES[m.method]}"}), "invalid-shape")
        require(m.method is None or m.method in METHODS, "method-not-found")
        answers = m.method in (None, "agent.progress")
        require(m.h.keys() >= set(HEADERS["required"] + ["in-reply-to"] * answers), "header-missing")
        require(m.h.keys() <= HEADERS["properties"].keys(), "header-unknown")
        require(fits(m.h, HEADERS, "urn:signet:1:message"), "header-invalid")
        kind = TYPES.get(m.method, "notification")
        require(m.h["message-type"] == kind and ("id" in value) == (kind != "notification"), "message-type-mismatch")
        require(kind == "notification" or value["id"] == m.h["message-id" if m.method else "in-reply-to"], "id-mismatch")
        return m
