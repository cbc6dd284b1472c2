#!/usr/bin/env python3
# A reading room as far as the launcher knows one: it takes what comes by the cord, asks what a connection may ask, and notes it.
import array
import json
import os
import select
import socket
import sys

cord = socket.socket(fileno=os.dup(0))
notes = open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "notes"), "a", buffering=1)
# What an attacker in its place does, instead of reading.
captured = os.path.exists(os.path.join(os.path.dirname(os.path.realpath(__file__)), "captured"))


def note(what, value):
    notes.write(json.dumps({what: value}) + "\n")


def take():
    data, control, _, _ = cord.recvmsg(65536, socket.CMSG_SPACE(4))
    brought = None
    for level, kind, value in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            brought = array.array("i", value)[0]
    return (json.loads(data) if data else None), brought


def ask(connection, method):
    connection.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode() + b"\n")
    line = b""
    while not line.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece:
            return None
        line += piece
    return json.loads(line)


note("arguments", sys.argv[1:])
note("environment", dict(os.environ))
homes, wanted, connections = 0, None, {}
while wanted is None or homes < wanted:
    word, brought = take()
    if "listen" in word:
        wanted = word["listen"]["homes"]
        note("listen", {"host": word["listen"]["host"], "bound": socket.socket(fileno=brought).getsockname()[0], "desk": word["listen"].get("desk")})
    if "home" in word:
        homes += 1
        note("home", word["home"])
        if brought is not None:
            connections[word["home"]["name"]] = socket.socket(fileno=brought)
if captured:
    for _ in range(2000):
        for odd in (b"", b"{}", b"[1]", b'{"end": 1}', b'{"lost": {"name": "nobody"}}', b'{"lost": {"name": "alice"}}', b'{"ready": {}}', b"\xff" * 100):
            if odd:
                cord.sendmsg([odd], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))])
cord.send(b'{"ready": {}}')


def look(name):
    for method in ("status", "pause.show", "trust.approve", "reload"):
        answer = ask(connections[name], method)
        note(method, answer.get("error", {}).get("data", {}).get("reason", "shown"))


for name in connections:
    look(name)
while True:
    readable, _, _ = select.select([cord, *connections.values()], [], [])
    for name in [name for name, connection in connections.items() if connection in readable]:
        if connections[name].recv(1) == b"":
            note("lost", name)
            cord.send(json.dumps({"lost": {"name": name}}).encode())
            del connections[name]
    if cord not in readable:
        continue
    word, brought = take()
    if word is None:
        note("end", "cord")
        sys.exit(0)
    if "connection" in word:
        name = word["connection"]["name"]
        note("connection", name)
        connections[name] = socket.socket(fileno=brought)
        look(name)
    if "ticket" in word:
        note("ticket", sorted(word["ticket"]))
