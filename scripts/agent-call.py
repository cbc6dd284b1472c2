"""One call on an agent's socket, or over HTTP on a gateway's /rpc, without signet's own clients; prints the result.

    agent-call.py SOCKET METHOD [PARAMS]            agent-call.py SOCKET answer BODY: answers the next request with BODY
    agent-call.py URL METHOD PARAMS TOKEN
"""

import json
import socket
import sys
import urllib.error
import urllib.request


def by_socket(path: str, calls):
    """Makes calls one after the other on one connection; each sees the result of the one before."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(path)
        lines = connection.makefile("rw", encoding="utf-8")
        first = last = None
        for call in calls:
            method, params = call(last)
            lines.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            lines.flush()
            last = result_of(json.loads(lines.readline()))
            first = first or last
        return first


def result_of(answer):
    if "error" in answer:
        sys.exit(json.dumps(answer["error"]))
    return answer["result"]


def by_http(url: str, method: str, params, token: str):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as response:
            return result_of(json.load(response))
    except urllib.error.HTTPError as refused:
        sys.exit(f"{refused.code} {refused.read().decode()}")


where, method = sys.argv[1:3]
params = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
token = sys.argv[4:]
if token:
    result = by_http(where, method, params, token[0])
elif method == "answer":
    receive = ("receive", {"wait": 60})
    respond = lambda got: ("respond", {"lease": got["messages"][0]["lease"], "body": params})
    result = by_socket(where, [lambda _: receive, respond])
else:
    result = by_socket(where, [lambda _: (method, params)])
print(json.dumps(result))
