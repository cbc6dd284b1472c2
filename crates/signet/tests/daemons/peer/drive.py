"""Drives examples/python/peer.py for a test: one command in JSON a line on standard input, one answer a line on standard
output. It loses what a bus may lose and says what others may say; the agent under test stays as it is."""
import asyncio
import json
import pathlib
import sys

EXAMPLE, HOME, NATS, *TRUSTED = sys.argv[1:]
sys.path.insert(0, EXAMPLE)

from peer import Peer, run  # noqa: E402
from state import Home  # noqa: E402
from wire import Refused, canonical, require  # noqa: E402


class Leaky(list):
    """An outbox that loses the first `lost` receipts, and keeps what was sent."""

    lost, sent = 0, []

    def append(self, item):
        if json.loads(item[1]).get("method") == "agent.receipt" and self.lost > 0:
            self.lost -= 1
            return
        self.sent.append(item)
        super().append(item)


class Driven(Peer):
    deaf, served, verdicts = 0, [], []

    def take(self, raw, subject=None):
        if b'"agent.receipt"' in raw and self.deaf > 0:
            self.deaf -= 1
            return None
        return super().take(raw, subject)


async def obey(peer, said):
    if said["do"] == "ask":
        answer, body = await peer.ask(said["to"], said["body"], said.get("capability"), said.get("tier", 1))
        return {"body": body, "sealed": "sealed" in answer.envelope}
    if said["do"] == "set":
        peer.deaf, peer.outbox.lost = said.get("deaf", 0), said.get("lose", 0)
    if said["do"] in ("again", "forge"):
        to, raw = [item for item in peer.outbox.sent if json.loads(item[1]).get("method") == "agent.request"][-1]
        if said["do"] == "forge":
            value = json.loads(raw)
            value["params"]["body"] = "forged"
            raw = canonical(value)
        peer.outbox.append((to, raw))
    return {"served": peer.served, "verdicts": peer.verdicts, "deaf": peer.deaf, "lost": peer.outbox.lost}


async def main():
    async def handler(m, body):
        peer.served.append({"id": m.id, "body": body})
        require(body != "decline", "Not today.")
        return {"you-asked": body}

    trusted = [json.loads(pathlib.Path(file).read_text()) for file in TRUSTED]
    peer = Driven(Home.load(pathlib.Path(HOME)), trusted, {"calendar.free-busy": 4}, handler,
                  note=lambda *words: Driven.verdicts.append(words))
    peer.outbox = Leaky()
    carrier = asyncio.create_task(run(peer, NATS))
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        try:
            answer = await obey(peer, json.loads(line))
        except (Refused, asyncio.TimeoutError) as refused:
            answer = {"refused": str(refused) or "nothing came"}
        print(json.dumps(answer), flush=True)
        if carrier.done():
            carrier.result()
    carrier.cancel()


asyncio.run(main())
