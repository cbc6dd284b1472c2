"""Writes what the targets begin with: the vectors of this repository, in the forms in which each reader meets them."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz/corpus"

MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}], "metadata": {"signet": {"tier": 1}}}
OLD = {"kind": "message", "messageId": "m", "role": "user", "parts": [
    {"kind": "text", "text": "hi"}, {"kind": "data", "data": {"a": 1}},
    {"kind": "file", "file": {"name": "x", "mimeType": "text/plain", "bytes": "aGk="}}]}
PUSH = {"taskId": "t", "id": "p", "url": "https://example.org/", "authentication": {"scheme": "Bearer", "credentials": "c"}}
A2A = {
    "SendMessage": {"message": MESSAGE, "configuration": {"historyLength": 1, "returnImmediately": True}},
    "message/send": {"message": OLD, "configuration": {"blocking": True, "pushNotificationConfig": PUSH}},
    "GetTask": {"id": "t", "historyLength": 2},
    "ListTasks": {"pageSize": 5, "status": "TASK_STATE_WORKING", "statusTimestampAfter": "2026-01-01T00:00:00Z"},
    "tasks/pushNotificationConfig/set": {"taskId": "t", "pushNotificationConfig": PUSH},
}
TASK = {"id": "t", "contextId": "c", "status": {"state": "completed", "message": MESSAGE}, "history": [OLD],
        "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}]}
TOOL = {"content": [{"type": "text", "text": "done"}], "structuredContent": {"a": 1}, "isError": False}
TOOLS = {"ask_agent": {"agent": "agent-bob", "message": "hi"}, "read_inbox": {"limit": 3}, "agent_status": {}}


def call(method, params, number=1):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answers():
    """What a foreign agent or server says to a call of the id `a/1`."""
    for result in ({"task": TASK}, TASK, {"message": MESSAGE}, OLD, TOOL):
        yield json.dumps({"jsonrpc": "2.0", "id": "a/1", "result": result})
    yield json.dumps({"jsonrpc": "2.0", "id": "a/1", "error": {"code": -32603, "message": "no"}})
    yield json.dumps({"task_id": "a/1", "status": "success", "output": {"a": 1}})
    yield "event: message\ndata: " + json.dumps({"jsonrpc": "2.0", "id": "a/1", "result": TOOL}) + "\n\n"


def seeds():
    envelopes = [json.loads(path.read_text())["input"] for path in sorted((ROOT / "vectors/accepted").glob("*.json"))]
    everything = [json.loads(path.read_text()) for folder in ("accepted", "refused") for path in sorted((ROOT / "vectors" / folder).glob("*.json"))]
    bodies = json.loads((ROOT / "crates/gateway/tests/http/jsonrpc20.json").read_text())
    cases = bodies if isinstance(bodies, list) else next(value for value in bodies.values() if isinstance(value, list))
    written = [case["input"] for case in cases if isinstance(case.get("input"), str) and len(case["input"]) < 4096]
    calls = [json.dumps(call(method, params)) for method, params in A2A.items()]
    yield "inbox_body", [*envelopes, "[" + ",".join(envelopes) + "]", "[]", "[{}"]
    yield "two_readers", [vector["input"] for vector in everything if len(vector.get("input", "")) in range(1, 20_000)]
    yield "peer_answer", ["5\n[" + ",".join(envelopes[:3]) + "]", "Wed, 21 Oct 2026 07:28:00 GMT\n"]
    yield "rpc_body", [*written, json.dumps([call("status", {}), call("send", {"peer": "agent-bob"}, "a")])]
    yield "a2a_body", [*written[:40], *calls]
    yield "mcp_body", [json.dumps(call("tools/call", {"name": name, "arguments": given})) for name, given in TOOLS.items()]
    posts = [{"id": str(at), "content": f"x\n```json\n{text}\n```", "attachments": []} for at, text in enumerate(envelopes)]
    files = [{"id": "9", "attachments": [{"filename": "x.json", "size": 9, "url": "https://example.org/x.json"}]}]
    yield "discord_answer", [json.dumps(posts), json.dumps(files), json.dumps({"retry_after": 1.5, "global": True})]
    yield "discord_text", [words + envelopes[0] for words in ("@everyone *hi*", "<@123>", "```", "https://example.org")]
    yield "address", ["https://[::ffff:127.0.0.1]/", "http://0x7f.1/", "https://169.254.169.254/latest", "https://192.0.2.1:1/",
                      "https://[64:ff9b::a00:1]/", "https://user@8.8.8.8/", "https://[2002:a00:1::]/"]
    yield "foreign_answer", list(answers())
    yield "files", ["[listen]\naddress = \"127.0.0.1:1\"\nhosts = [\"a\"]\n[inbox]\n[a2a]\ndefault = \"agent-bob\"\n",
                    "[[token]]\nname = \"x\"\nhash = \"" + "00" * 32 + "\"\ntier = 2\nmay = \"send\"\nmade = 1\n"]


def main():
    for target, texts in seeds():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(texts):
            (folder / f"seed-{number}").write_text(text, encoding="utf-8", errors="surrogatepass")


main()
